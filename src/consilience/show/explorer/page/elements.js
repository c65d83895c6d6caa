// Elements of the page. Names reach it by textContent and setAttribute alone.

const SVG = "http://www.w3.org/2000/svg";
const LEAST_LETTERS = 3;

export const byId = (id) => document.getElementById(id);

export function svgElement(tag, attributes = {}, children = []) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function htmlElement(tag, attributes = {}, children = []) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function shortened(text, length) {
  const plain = text.trim() === "" ? JSON.stringify(text) : text;
  const letters = [...plain];
  if (letters.length <= length) return plain;
  const head = Math.ceil((length - 1) * 0.6);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (length - 1 - head)).join("")}`;
}

const ruler = document.createElement("canvas").getContext("2d");

// A text shortened to this room, as it is written in this font.
export function fittedText(text, room, font) {
  ruler.font = `${font} system-ui, sans-serif`;
  const fits = (length) => ruler.measureText(shortened(text, length)).width <= room;
  let [least, most] = [LEAST_LETTERS, [...text].length];
  if (fits(most)) return shortened(text, most);
  while (most - least > 1) {
    const middle = (least + most) >> 1;
    if (fits(middle)) least = middle;
    else most = middle;
  }
  return shortened(text, least);
}

// Texts shortened to this room; those that would read alike, without their common beginning.
export function fittedTexts(texts, room, font) {
  const shown = new Map(texts.map((text) => [text, fittedText(text, room, font)]));
  const alike = new Map();
  for (const [text, short] of shown) alike.set(short, [...(alike.get(short) ?? []), text]);
  for (const group of alike.values()) {
    const start = group.length > 1 ? commonStart(group) : 0;
    if (start === 0) continue;
    const rests = fittedTexts(group.map((text) => text.slice(start)), room - 10, font);
    group.forEach((text, i) => shown.set(text, `…${rests[i]}`));
  }
  return texts.map((text) => shown.get(text));
}

// Where the word starts in which texts begin to differ.
function commonStart([first, ...others]) {
  let end = 0;
  while (end < first.length && others.every((other) => other[end] === first[end])) end += 1;
  const word = /[\p{L}\p{N}]*$/u.exec(first.slice(0, end))[0];
  return end - word.length || end;
}

// Offer a text or blob as a file.
export function offered(name, content, kind) {
  const blob = content instanceof Blob ? content : new Blob([content], { type: kind });
  const link = htmlElement("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
