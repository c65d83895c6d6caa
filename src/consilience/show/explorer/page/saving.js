// What is saved: the picture as SVG and PNG, and the beliefs as CSV.
import { csvOf } from "./cases.js";

const COPIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "font-family", "opacity", "text-anchor"];
const MARGIN = 16;

// The graph as a text that stands alone: all of it, at its own size, in the colours of the theme.
export function pictureText(world, [width, height]) {
  const copy = world.cloneNode(true);
  const originals = world.querySelectorAll("*");
  const copies = copy.querySelectorAll("*");
  const unseen = [];
  originals.forEach((original, i) => {
    const style = getComputedStyle(original);
    if (style.display === "none" || style.visibility === "hidden" || original.closest("foreignObject")) unseen.push(copies[i]);
    for (const name of COPIED) {
      const value = style.getPropertyValue(name);
      if (value && value !== "none" || name === "fill") copies[i].setAttribute(name, value);
    }
    for (const name of ["class", "tabindex", "role"]) copies[i].removeAttribute(name);
  });
  unseen.forEach((element) => element.remove());
  copy.setAttribute("transform", `translate(${MARGIN} ${MARGIN})`);
  const [w, h] = [width + 2 * MARGIN, height + 2 * MARGIN];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const page = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  svg.setAttribute("width", w);
  svg.setAttribute("height", h);
  page.setAttribute("width", w);
  page.setAttribute("height", h);
  page.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  svg.append(page, copy);
  return { text: new XMLSerializer().serializeToString(svg), width: w, height: h };
}

export async function pngOf({ text, width, height }) {
  const scale = Math.min(2, 8000 / Math.max(width, height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// A row for each state, a column for all sources together and for each.
export function beliefsCsv(answer, model) {
  const sources = model.source === null ? [] : model.nodes[model.source].states;
  const rows = [["node", "state", "all", ...sources]];
  for (const [name, { states }] of Object.entries(model.nodes)) {
    const lines = states === null ? ["mean", "sd"] : states;
    lines.forEach((line, k) => {
      const key = states === null ? line : k;
      const own = sources.map((source) => answer.by_source[source]?.[name]?.[key] ?? "");
      rows.push([name, line, answer.all[name][key], ...own]);
    });
  }
  return csvOf(rows);
}
