// Findings and views as texts: cells of a CSV file and the fragment of a URL.
// A name stands as it is, or in double quotes, in which two double quotes are one.

export const KINDS = ["any", "not", "likelihood", "soft"];

// What stands under a name, which may be one that every object has, such as "constructor".
export const under = (values, name) => (Object.hasOwn(values, name) ? values[name] : undefined);

export function quoted(name, signs) {
  const isPlain = name !== "" && name === name.trim() && !name.startsWith('"');
  if (isPlain && ![...signs].some((sign) => name.includes(sign))) return name;
  return inQuotes(name);
}

const inQuotes = (name) => `"${name.replaceAll('"', '""')}"`;

// A state that a node is set to, in a cell.
export function doneText(state, states) {
  const plain = `do:${state}`;
  return states?.includes(plain) ? `do:${inQuotes(state)}` : plain;
}

// The name before the first sign, and the rest after it.
export function nameBefore(text, sign) {
  const found = /^\s*"((?:[^"]|"")*)"\s*/.exec(text);
  if (found && (found[0].length === text.length || text.startsWith(sign, found[0].length))) {
    return [found[1].replaceAll('""', '"'), text.slice(found[0].length + sign.length)];
  }
  const at = text.indexOf(sign);
  return at < 0 ? [text.trim(), ""] : [text.slice(0, at).trim(), text.slice(at + sign.length)];
}

export function namesBetween(text, sign) {
  const names = [];
  let rest = text;
  while (rest !== "") {
    const [name, more] = nameBefore(rest, sign);
    names.push(name);
    rest = more;
  }
  return names;
}

// A list that reads like one of the node's states has its names in quotes.
export function findingText(finding, states = null) {
  if (typeof finding !== "object") return String(finding);
  const [[kind, values]] = Object.entries(finding);
  if (Array.isArray(values)) {
    const written = (name) => (kind === "not" ? "not:" : "") + values.map(name).join("|");
    if (kind === "any" && values.length === 1) return values[0];
    const plain = written((state) => quoted(state, "|:"));
    return states?.includes(plain) ? written(inQuotes) : plain;
  }
  const parts = Object.entries(values).map(([state, number]) => `${quoted(state, "|:")}:${number}`);
  return `${kind}:${parts.join("|")}`;
}

// The finding that a text says about a node with these states; none for a continuous node.
export function findingOf(text, states) {
  if (states === null) {
    const number = Number(text);
    if (text.trim() === "" || !Number.isFinite(number)) throw new Error(`${text} is not a number.`);
    return number;
  }
  if (states.includes(text)) return text;
  const [, kind, rest] = /^(not|likelihood|soft):(.*)$/s.exec(text) ?? [null, "any", text];
  if (kind === "likelihood" || kind === "soft") return { [kind]: numbersOf(rest, states) };
  const named = namesBetween(rest, "|").map((name) => stateOf(name, states));
  return kind === "any" && named.length === 1 ? named[0] : { [kind]: named };
}

function numbersOf(text, states) {
  const numbers = [];
  let rest = text;
  while (rest !== "") {
    const [name, more] = nameBefore(rest, ":");
    const [number, after] = nameBefore(more, "|");
    numbers.push([stateOf(name, states), Number(number)]);
    rest = after;
  }
  return Object.fromEntries(numbers);
}

function stateOf(name, states) {
  if (!states.includes(name)) throw new Error(`There is no state ${name}.`);
  return name;
}

// A finding as people read it.
export function findingWords(finding) {
  if (typeof finding !== "object") return `= ${finding}`;
  const [[kind, values]] = Object.entries(finding);
  if (kind === "any") return `one of ${values.join(", ")}`;
  if (kind === "not") return `not ${values.join(", ")}`;
  const numbers = Object.entries(values).map(([state, p]) => `${state} ${shortNumber(p)}`);
  return `${kind} ${numbers.join(", ")}`;
}

export function shortNumber(number) {
  if (number === 0 || !Number.isFinite(number)) return String(number);
  const size = Math.abs(number);
  return size < 0.001 || size >= 1e6 ? number.toExponential(1) : String(Number(number.toPrecision(3)));
}

export function fragmentOf(view, model) {
  const encode = (text) =>
    encodeURIComponent(text).replace(/%(3D|3A|2C|2F)/g, (code) => decodeURIComponent(code));
  const parts = [];
  for (const key of ["given", "do"]) {
    for (const [node, finding] of Object.entries(view[key])) {
      parts.push(`${key}=${encode(`${quoted(node, "=")}=${findingText(finding, model.nodes[node].states)}`)}`);
    }
  }
  if (view.sources) {
    parts.push(`sources=${encode(view.sources.map((name) => quoted(name, "|")).join("|"))}`);
  }
  for (const key of ["panel", "node", "focus", "borrowing"]) {
    if (view[key] !== null) parts.push(`${key}=${encode(String(view[key]))}`);
  }
  return parts.join("&");
}

// The view of a fragment; what names things that do not exist is left out and told.
export function viewOf(fragment, model) {
  const view = emptyView();
  const problems = [];
  for (const part of fragment.replace(/^#/, "").split("&").filter(Boolean)) {
    try {
      const [key, rest] = nameBefore(part, "=");
      readPart(view, key, decodeURIComponent(rest), model);
    } catch (problem) {
      problems.push(`${part}: ${problem.message}`);
    }
  }
  return { view, problems };
}

export function emptyView() {
  return { given: {}, do: {}, sources: null, panel: null, node: null, focus: null, borrowing: null };
}

function readPart(view, key, text, model) {
  if (key === "given" || key === "do") {
    const [node, rest] = nameBefore(text, "=");
    const finding = findingOf(rest, known(model, node).states);
    if (key === "do") refuseList(finding);
    if (Object.hasOwn(view[key === "do" ? "given" : "do"], node)) throw new Error("the node is both given and set.");
    const joined = [node, joinedFindings(under(view[key], node), finding)];
    view[key] = Object.fromEntries([...Object.entries(view[key]), joined]);
  } else if (key === "sources") {
    view.sources = namesBetween(text, "|").filter((name) => Object.hasOwn(model.sources, name));
  } else if (key === "node" || key === "focus") {
    known(model, text);
    view[key] = text;
  } else if (key === "panel" || key === "borrowing") {
    view[key] = text;
  } else {
    throw new Error("this is no part of a view.");
  }
}

// A node is set to one state or number.
export function refuseList(finding) {
  if (typeof finding === "object") throw new Error("a node is set to one state.");
}

// A node that is given again may have those states too.
function joinedFindings(first, second) {
  const states = (finding) => (typeof finding === "string" ? [finding] : finding.any);
  if (first === undefined) return second;
  const both = [states(first), states(second)];
  if (both.includes(undefined)) throw new Error("the node is given twice.");
  return { any: [...new Set(both.flat())] };
}

function known(model, node) {
  if (!Object.hasOwn(model.nodes, node)) throw new Error(`There is no node ${node}.`);
  return model.nodes[node];
}
