// The panels at the side: a picture, a plain table, sentences; drawn by the library.
import { byId, htmlElement, offered } from "./elements.js";
import { csvOf } from "./cases.js";

const FIRST_NOTES = 3; // stand above the picture
const ROUNDING = 1e-14; // numbers below it are shown as none

export function drawTabs(model, chosen, choose) {
  const tabs = model.panels.map(({ name, title, ready }) => {
    const isChosen = name === chosen;
    const tab = htmlElement("button", {
      type: "button",
      role: "tab",
      id: `tab-${name}`,
      "data-test": "tab",
      "data-panel": name,
      "aria-selected": String(isChosen),
      "aria-controls": "panel",
      tabindex: isChosen ? "0" : "-1",
      class: ready ? "" : "lacking",
      text: title,
    });
    tab.addEventListener("click", () => choose(name));
    tab.addEventListener("keydown", (event) => walkTabs(event, tab));
    return tab;
  });
  byId("tabs").replaceChildren(...tabs);
}

function walkTabs(event, tab) {
  const next = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[event.key];
  if (!next || !tab[next]) return;
  event.preventDefault();
  event.stopPropagation();
  tab[next].focus();
  tab[next].click();
  byId(tab[next]?.id)?.focus();
}

// `openRow` gets the number of a row of the table whose cell is clicked.
export function drawPanel(name, title, answer, more, openRow = null) {
  const panel = htmlElement("div", { "data-test": "panel", "data-panel": name });
  panel.append(htmlElement("h2", { text: title }), ...more);
  const notes = answer.notes.map((text) => htmlElement("p", { class: "note" }, unbroken(text)));
  panel.append(...notes.slice(0, FIRST_NOTES));
  if (answer.svg) panel.append(htmlElement("div", { class: "picture" }, [pictureOf(answer.svg)]));
  panel.append(...notes.slice(FIRST_NOTES));
  if (answer.table.rows.length) panel.append(...savingButtons(name, answer), tableOf(answer.table, openRow));
  byId("panel").replaceChildren(panel);
}

// SVG text is parsed as what it is, never as HTML, and nothing in it can run.
function pictureOf(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  if (parsed.querySelector("parsererror")) return htmlElement("p", { text: "The picture cannot be read." });
  for (const element of parsed.querySelectorAll("script, foreignObject, a, use, image, style")) element.remove();
  for (const element of parsed.querySelectorAll("*")) {
    for (const { name } of [...element.attributes]) if (/^on|^style$|href$/i.test(name)) element.removeAttribute(name);
  }
  return document.importNode(parsed.documentElement, true);
}

function savingButtons(name, answer) {
  const csv = htmlElement("button", { type: "button", "data-test": "panel-csv", text: "CSV" });
  csv.addEventListener("click", () => {
    const rows = answer.table.rows.map((row) => row.map((cell) => cell ?? ""));
    offered(`${name}.csv`, csvOf([answer.table.columns, ...rows]), "text/csv");
  });
  const svg = htmlElement("button", { type: "button", "data-test": "panel-svg", text: "SVG" });
  svg.addEventListener("click", () => offered(`${name}.svg`, answer.svg, "image/svg+xml"));
  return [htmlElement("p", { class: "buttons" }, answer.svg ? [csv, svg] : [csv])];
}

function tableOf({ columns, rows }, openRow) {
  const kinds = columns.map((_, k) => (rows.every((row) => typeof (row[k] ?? 0) === "number") ? "numeric" : ""));
  const head = htmlElement("tr", {}, columns.map((text, k) => htmlElement("th", { scope: "col", dir: "auto", class: kinds[k], text })));
  const lines = rows.map((row) => {
    const cells = row.map((value, k) => {
      const row = openRow && /^row (\d+)(?: \(.*\))?$/s.exec(value);
      if (row) return htmlElement("td", {}, [rowButton(row, openRow)]);
      const kind = typeof value === "number" ? "numeric" : "";
      return htmlElement("td", { class: kinds[k] || kind, dir: "auto" }, unbroken(cellText(value)));
    });
    return htmlElement("tr", {}, cells);
  });
  return htmlElement("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Table" }, [
    htmlElement("table", {}, [htmlElement("thead", {}, [head]), htmlElement("tbody", {}, lines)]),
  ]);
}

// A text in which no line ends inside a number such as 1e-7.
function unbroken(text) {
  const parts = text.split(/(-?[\d.]*\de-\d+)/);
  return parts.map((part, i) => (i % 2 ? htmlElement("span", { class: "whole", text: part }) : part));
}

function rowButton([text, number], openRow) {
  const button = htmlElement("button", { type: "button", "data-test": "open-row", text, title: "Open this row as a case" });
  button.addEventListener("click", () => openRow(number));
  return button;
}

function cellText(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return Math.abs(value) < ROUNDING ? "0" : String(Number(value.toPrecision(4)));
}
