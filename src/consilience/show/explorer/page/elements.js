// Elements of the page. Names reach it by textContent and setAttribute alone.

const SVG = "http://www.w3.org/2000/svg";

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

// A text shortened to about this room at a size in pixels, by rough widths of letters.
export function fittedText(text, room, size) {
  const width = (letter) => (/[A-Zmw@%&\u0590-\u{1ffff}]/u.test(letter) ? 0.76 : /[iljtfr.,'|:;!()[\] ]/.test(letter) ? 0.4 : 0.62);
  const letters = [...text];
  let length = 0;
  for (let used = 0; length < letters.length && used <= room / size; length += 1) used += width(letters[length]);
  return shortened(text, length < letters.length ? Math.max(3, length - 1) : letters.length);
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
