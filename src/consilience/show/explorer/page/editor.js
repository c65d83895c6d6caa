// The dialog for findings that a click cannot say: several states, likelihoods, distributions.
import { byId, htmlElement } from "./elements.js";
import { under } from "./texts.js";

const TITLES = {
  any: "one of these states",
  not: "none of these states",
  likelihood: "likelihood of each state",
  soft: "the distribution that comes out",
};

// Ask for a finding about a node; `set` gets it, or undefined if nothing is known.
export function openEditor(name, states, { finding, belief, set }) {
  const editor = byId("editor");
  const kind = typeof finding === "object" ? Object.keys(finding)[0] : "any";
  byId("editor-title").textContent = name;
  byId("editor-problem").textContent = "";
  const draw = (chosen) => drawStates(states, chosen, chosen === kind ? finding : undefined, belief);
  const radios = Object.entries(TITLES).map(([value, title]) => {
    const radio = htmlElement("input", { type: "radio", name: "kind", value, "data-test": `kind-${value}` });
    radio.checked = value === kind;
    radio.addEventListener("change", () => draw(value));
    return htmlElement("label", {}, [radio, ` ${title}`]);
  });
  byId("editor-kinds").replaceChildren(htmlElement("legend", { text: "What is known" }), ...radios);
  draw(kind);
  byId("editor-set").onclick = () => {
    const found = foundFinding(states);
    byId("editor-problem").textContent = found.problem ?? "";
    if (found.problem) return;
    editor.close();
    set(found.finding);
  };
  byId("editor-remove").onclick = () => {
    editor.close();
    set(undefined);
  };
  editor.showModal();
}

function drawStates(states, kind, finding, belief) {
  const isList = kind === "any" || kind === "not";
  const rows = states.map((state, k) => {
    const input = isList ? checkbox(state, finding?.[kind]) : slider(state, finding?.[kind], kind === "soft" ? belief[k] : 1);
    const label = htmlElement("label", { class: "editor-row" });
    const shown = htmlElement("output", { text: isList ? "" : input.value });
    input.addEventListener("input", () => (shown.textContent = isList ? "" : input.value));
    input.setAttribute("data-test", "editor-state");
    input.setAttribute("data-state", state);
    label.append(htmlElement("span", { class: "editor-name", dir: "auto", text: state }), input, shown);
    return label;
  });
  byId("editor-states").replaceChildren(...rows);
}

function checkbox(state, chosen) {
  const input = htmlElement("input", { type: "checkbox" });
  input.checked = Boolean(chosen?.includes(state));
  return input;
}

function slider(state, chosen, usual) {
  const input = htmlElement("input", { type: "range", min: "0", max: "1", step: "0.01" });
  input.value = chosen ? under(chosen, state) ?? 0 : usual;
  return input;
}

function foundFinding(states) {
  const kind = document.querySelector("#editor-kinds input:checked").value;
  const inputs = [...document.querySelectorAll("#editor-states input")];
  if (kind === "any" || kind === "not") {
    const named = states.filter((_, k) => inputs[k].checked);
    if (named.length === 0) return { problem: "Choose at least one state." };
    if (named.length === states.length) return kind === "any" ? {} : { problem: "One state must be left." };
    return { finding: kind === "any" && named.length === 1 ? named[0] : { [kind]: named } };
  }
  const numbers = inputs.map((input) => Number(input.value));
  const total = numbers.reduce((a, b) => a + b, 0);
  if (total === 0) return { problem: "At least one number must be above zero." };
  const scaled = kind === "soft" ? numbers.map((number) => number / total) : numbers;
  return { finding: { [kind]: Object.fromEntries(states.map((state, k) => [state, scaled[k]])) } };
}
