// The graph: arcs, boxes, bars, strokes of the sources, densities.
import { fittedText, fittedTexts, svgElement } from "./elements.js";
import { shortNumber, under } from "./texts.js";

const MOST_ROWS = 8;
const HEAD = 22;
const ROW = 19;
const NAMES = 76; // room of the names of states
const STATE_FONT = "700 11px";
const NUMBERS = 38; // room of the percentages
const CERTAIN = 1e-9; // from 0 or 1
const COLORS = 8; // sources that have colours of their own
export const MANY = 80; // nodes from which on bars are drawn only where the reader looks

export function createDrawing(world, model) {
  const drawing = {
    world,
    model,
    nodes: new Map(),
    arcs: [],
    layout: null,
    answer: null,
    before: null,
    view: null,
    sources: model.source === null ? [] : model.nodes[model.source].states,
    isSparse: false,
  };
  return drawing;
}

// Draw arcs and boxes anew.
export function drawLayout(drawing, layout) {
  const names = Object.keys(layout.boxes);
  drawing.layout = layout;
  drawing.isSparse = names.length > MANY;
  drawing.arcs = layout.routes.map((route) => arc(drawing, ...route));
  drawing.nodes = new Map(
    readingOrder(layout.boxes).map((name) => [name, box(drawing, name, layout.boxes[name])]),
  );
  drawing.world.replaceChildren(
    svgElement("g", { class: "arcs" }, drawing.arcs.map(({ element }) => element)),
    svgElement("g", { class: "boxes" }, [...drawing.nodes.values()].map(({ element }) => element)),
  );
  if (!drawing.isSparse) for (const node of drawing.nodes.values()) openNode(drawing, node);
}

// Names from top to bottom and from left to right.
function readingOrder(boxes) {
  return Object.keys(boxes).sort((a, b) => boxes[a][1] - boxes[b][1] || boxes[a][0] - boxes[b][0]);
}

// `kind` says which of two networks have the arc, if there are two.
function arc(drawing, tail, head, points, kind = "plain") {
  const isStub = tail === drawing.model.source;
  const look = isStub ? (drawing.model.nodes[head].by_source ? "stub" : "stub faint") : kind;
  const parts = [
    svgElement("title", { text: `${tail} → ${head}` }),
    svgElement("path", { class: "line", d: curve(points) }),
    svgElement("path", { class: "tip", d: tip(points) }),
  ];
  if (kind === "turned") parts.push(svgElement("path", { class: "tip hollow", d: tip([...points].reverse()) }));
  const named = { "data-test": "arc", "data-tail": tail, "data-head": head, "data-kind": kind };
  return { tail, head, element: svgElement("g", { class: `arc ${look}`, ...named }, parts) };
}

// The tip at the end of a route, which may come from below.
function tip(points) {
  const [[, before], [x, y]] = points.slice(-2);
  return `M${x} ${y}l-3.6 ${before > y ? 8 : -8}h7.2z`;
}

// Straight down between points of one x, else a curve that begins and ends vertically.
function curve(points) {
  const [[x0, y0], ...rest] = points;
  let [y, path] = [y0, `M${x0} ${y0}`];
  let x = x0;
  rest.forEach(([endX, endY], i) => {
    const end = i === rest.length - 1 ? endY - 6 * Math.sign(endY - y) : endY;
    const bend = 0.52 * (end - y);
    path += x === endX ? `V${end}` : `C${x} ${y + bend} ${endX} ${end - bend} ${endX} ${end}`;
    [x, y] = [endX, end];
  });
  return path;
}

function box(drawing, name, [x, y, width, height]) {
  const { states, by_source: differs } = drawing.model.nodes[name];
  const isSource = name === drawing.model.source;
  const element = svgElement("g", {
    class: isSource ? "node source" : "node",
    "data-test": "node",
    "data-node": name,
    role: "group",
    "aria-label": differs ? `${name}, tables differ by source` : name,
    transform: `translate(${x} ${y})`,
  });
  element.append(
    svgElement("title", { text: differs ? `${name}: its tables differ by source` : name }),
    svgElement("rect", { class: "box", width, height, rx: 6 }),
    svgElement("text", { class: "name", x: 10, y: 16, text: fittedText(name, width - (differs ? 34 : 18), "600 13px") }),
  );
  if (differs) element.append(svgElement("text", { class: "differs", x: width - 10, y: 18, "text-anchor": "end", text: "✱" }));
  return { name, element, x, y, width, height, states, rows: null, shown: [], density: null };
}

export function openNode(drawing, node) {
  if (node.rows) return;
  node.element.classList.add("open");
  node.rows = svgElement("g", { class: "rows" });
  node.element.append(node.rows);
  node.shown = [];
  if (drawing.answer) drawNode(drawing, node);
}

export function closeNode(node) {
  node.rows?.remove();
  node.rows = null;
  node.density = null;
  node.shown = [];
  node.element.classList.remove("open");
}

// Draw what is believed; `before` is what was believed before the last change.
export function drawAnswer(drawing, answer, before, view) {
  Object.assign(drawing, { answer, before, view });
  for (const node of drawing.nodes.values()) drawNode(drawing, node);
  for (const { element, head } of drawing.arcs) {
    element.classList.toggle("cut", Object.hasOwn(view.do, head));
  }
}

function drawNode(drawing, node) {
  const { view } = drawing;
  const isDone = Object.hasOwn(view.do, node.name);
  const isKnown = isDone || Object.hasOwn(view.given, node.name);
  node.element.classList.toggle("known", isKnown);
  node.element.classList.toggle("done", isDone);
  node.element.classList.toggle("chosen", view.node === node.name);
  if (!node.rows) return;
  if (node.states === null) drawDensity(drawing, node);
  else drawRows(drawing, node);
}

// The states that have a row: all, or the most probable and those that findings name.
function shownStates(drawing, node) {
  const { states } = node;
  if (states.length <= MOST_ROWS) return states.map((_, k) => k);
  const belief = drawing.answer.all[node.name];
  const finding = findingAt(drawing.view, node.name);
  const first = (k) => (typeof finding === "object" || states[k] !== finding ? belief[k] : 2);
  const likely = states.map((_, k) => k).sort((a, b) => first(b) - first(a) || a - b);
  return likely.slice(0, MOST_ROWS - 1).sort((a, b) => a - b);
}

function drawRows(drawing, node) {
  const shown = shownStates(drawing, node);
  if (String(shown) !== String(node.shown.map(({ k }) => k))) {
    node.shown = shown.map((k, i) => stateRow(drawing, node, k, i));
    node.rows.replaceChildren(...node.shown.map(({ element }) => element));
    if (shown.length < node.states.length) {
      node.others = othersRow(node, shown.length);
      node.rows.append(node.others.element);
    }
  }
  for (const row of node.shown) updateRow(drawing, node, row);
  if (shown.length < node.states.length) {
    const rest = node.shown.reduce((p, { k }) => p - drawing.answer.all[node.name][k], 1);
    node.others.bar.setAttribute("width", Math.max(0, rest) * barWidth(node));
    node.others.number.textContent = percent(Math.max(0, rest));
  }
}

const barWidth = (node) => node.width - NAMES - NUMBERS - 14;

function rowParts(node, label, i) {
  const width = barWidth(node);
  const ground = svgElement("rect", { class: "ground", x: NAMES, y: 3, width, height: 8, rx: 2 });
  const bar = svgElement("rect", { class: "bar", x: NAMES, y: 3, height: 8, rx: 2, width: 0 });
  const number = svgElement("text", { class: "number", x: node.width - 10, y: 11, "text-anchor": "end" });
  const hit = svgElement("rect", { class: "hit", x: 3, y: 0, width: node.width - 6, height: ROW - 1, rx: 4 });
  const name = svgElement("text", { class: "state-name", x: 10, y: 11, text: label });
  const attributes = { class: "state", transform: `translate(0 ${HEAD + i * ROW})`, role: "button", tabindex: "-1" };
  return { element: svgElement("g", attributes, [hit, name, ground, bar, number]), bar, number };
}

function stateRow(drawing, node, k, i) {
  const state = node.states[k];
  node.labels ??= fittedTexts(node.states, NAMES - 14, STATE_FONT);
  const row = { ...rowParts(node, node.labels[k], i), k, marks: [], drawn: [] };
  row.element.setAttribute("data-test", "state");
  row.element.setAttribute("data-node", node.name);
  row.element.setAttribute("data-state", state);
  row.tick = svgElement("path", { class: "tick", d: "" });
  row.element.append(row.tick);
  if (node.name !== drawing.model.source) {
    row.marks = drawing.sources.map((source, s) => strokeOf(drawing, source, s));
    row.element.append(...row.marks);
  }
  return row;
}

function strokeOf(drawing, source, s) {
  const color = drawing.sources.length <= COLORS ? `s${s}` : "many";
  return svgElement("path", { class: `mark ${color}`, "data-test": "mark", "data-source": source, d: "M0 12.5v5" });
}

function othersRow(node, i) {
  const row = rowParts(node, fittedText(`${node.states.length - i} others`, NAMES - 14, STATE_FONT), i);
  row.element.classList.add("others");
  row.element.setAttribute("data-test", "others");
  row.element.setAttribute("data-node", node.name);
  row.element.setAttribute("aria-label", `${node.name}: other states`);
  return row;
}

function updateRow(drawing, node, row) {
  const { answer, before, view } = drawing;
  const p = answer.all[node.name][row.k];
  const width = barWidth(node);
  const { element } = row;
  const old = before?.all?.[node.name]?.[row.k];
  const hasMoved = old !== undefined && Math.abs(old - p) > 0.002;
  setOnce(row.tick, "d", hasMoved ? `M${(NAMES + old * width).toFixed(2)} 1v13` : "");
  setOnce(element, "aria-pressed", pressed(view, node.name, node.states[row.k]));
  element.classList.toggle("excluded", isExcluded(under(view.given, node.name), node.states[row.k]));
  if (element.getAttribute("data-value") !== p.toFixed(6)) {
    element.setAttribute("data-value", p.toFixed(6));
    element.setAttribute("aria-label", `${node.name} ${node.states[row.k]} ${percent(p)}`);
    row.bar.setAttribute("width", p * width);
    row.number.textContent = percent(p);
  }
  drawOther(row, answer.other?.[node.name]?.[row.k], width);
  row.marks.forEach((mark, s) => {
    const own = answer.by_source[drawing.sources[s]]?.[node.name]?.[row.k];
    const isShown = own !== undefined && (!view.sources || view.sources.includes(drawing.sources[s]));
    mark.classList.toggle("absent", !isShown);
    moveMark(mark, row.drawn, s, own === undefined ? null : [own.toFixed(6), NAMES + own * width]);
  });
}

// The hollow bar of a second network, in the lower half of the row; none without one.
function drawOther(row, p, width) {
  if (p === undefined && !row.other) return;
  row.other ??= svgElement("rect", { class: "other", x: NAMES, y: 7.5, height: 4 });
  if (p === undefined) row.other.remove();
  else row.bar.after(row.other);
  row.other.setAttribute("width", (p ?? 0) * width);
  row.bar.setAttribute("height", p === undefined ? 8 : 4);
  if (p === undefined) row.element.removeAttribute("data-other");
  else row.element.setAttribute("data-other", p.toFixed(6));
}

// What has not changed is left alone: the browser lays out anew whatever is set.
function setOnce(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// Put a stroke where it belongs; `drawn` has the values that stand, which most clicks leave alone.
function moveMark(mark, drawn, s, place) {
  const value = place === null ? null : place[0];
  if (drawn[s] === value) return;
  drawn[s] = value;
  if (place === null) return mark.removeAttribute("data-value");
  mark.setAttribute("data-value", value);
  return mark.setAttribute("transform", `translate(${place[1].toFixed(2)} 0)`);
}

export function percent(p) {
  if (p > CERTAIN && p < 0.0005) return "<0.1%";
  if (p > 0.9995 && p < 1 - CERTAIN) return ">99.9%";
  return `${(100 * p).toFixed(p < 0.0995 && p > CERTAIN ? 1 : 0)}%`;
}

function pressed(view, node, state) {
  const finding = findingAt(view, node);
  if (finding === undefined || typeof finding !== "object") return String(finding === state);
  if (finding.any) return finding.any.includes(state) ? "mixed" : "false";
  return finding.not ? "false" : "mixed";
}

const findingAt = (view, name) => under(view.do, name) ?? under(view.given, name);

const isExcluded = (finding, state) => Boolean(finding?.not?.includes(state));

function drawDensity(drawing, node) {
  if (!node.density) densityParts(drawing, node);
  const { answer, before, view } = drawing;
  const belief = answer.all[node.name];
  const { density: parts } = node;
  const old = before?.all?.[node.name];
  parts.words.textContent = belief.sd === 0 ? `= ${shortNumber(belief.mean)}` : `${shortNumber(belief.mean)} ± ${shortNumber(belief.sd)}`;
  node.rows.setAttribute("data-mean", belief.mean);
  node.rows.setAttribute("data-sd", belief.sd);
  const other = answer.other?.[node.name]?.density ?? [];
  const points = [...(belief.density.length ? belief.density : old?.density ?? []), ...other];
  const scale = densityScale(node, points, belief);
  parts.other.setAttribute("d", other.length ? areaPath(other, scale) : "");
  parts.area.setAttribute("d", belief.density.length ? areaPath(belief.density, scale) : "");
  parts.mean.setAttribute("d", `M${scale.x(belief.mean)} 0v34`);
  parts.tick.setAttribute("d", old && Math.abs(old.mean - belief.mean) > 1e-9 ? `M${scale.x(old.mean)} 26v8` : "");
  drawing.sources.forEach((source, s) => {
    const own = answer.by_source[source]?.[node.name];
    const isShown = own && (!view.sources || view.sources.includes(source));
    parts.marks[s].classList.toggle("absent", !isShown);
    if (own) {
      parts.marks[s].setAttribute("data-value", own.mean.toFixed(6));
      parts.marks[s].setAttribute("transform", `translate(${scale.x(own.mean)} 22)`);
    }
  });
  const known = findingAt(view, node.name);
  if (document.activeElement !== parts.input) parts.input.value = known ?? "";
}

function densityParts(drawing, node) {
  const g = svgElement("g", { transform: `translate(0 ${HEAD})`, class: "density" });
  const parts = {
    area: svgElement("path", { class: "area" }),
    other: svgElement("path", { class: "other" }),
    mean: svgElement("path", { class: "mean" }),
    tick: svgElement("path", { class: "tick" }),
    words: svgElement("text", { class: "number", x: 10, y: 55 }),
    marks: drawing.sources.map((source, s) => strokeOf(drawing, source, s)),
    input: document.createElement("input"),
  };
  const holder = svgElement("foreignObject", { x: node.width - 82, y: 40, width: 74, height: 21 });
  parts.input.type = "number";
  parts.input.step = "any";
  parts.input.className = "value";
  parts.input.setAttribute("data-test", "number");
  parts.input.setAttribute("data-node", node.name);
  parts.input.setAttribute("aria-label", `Value of ${node.name}`);
  parts.input.placeholder = "value";
  holder.append(parts.input);
  g.append(parts.area, parts.other, parts.mean, parts.tick, ...parts.marks, parts.words, holder);
  node.rows.append(g);
  node.density = parts;
}

function densityScale(node, points, belief) {
  const xs = points.length ? points.map(([x]) => x) : [belief.mean - 1, belief.mean + 1];
  const [low, high] = [Math.min(...xs, belief.mean), Math.max(...xs, belief.mean)];
  const top = Math.max(...points.map(([, y]) => y), 1e-300);
  const clamp = (x) => Math.min(node.width - 8, Math.max(8, x));
  return {
    x: (x) => clamp(10 + ((x - low) / (high - low || 1)) * (node.width - 20)).toFixed(2),
    y: (y) => (34 - (32 * y) / top).toFixed(2),
  };
}

function areaPath(points, { x, y }) {
  const inner = points.map(([a, b]) => `${x(a)} ${y(b)}`).join("L");
  return `M${x(points[0][0])} 34L${inner}L${x(points.at(-1)[0])} 34z`;
}

// Set off the arcs of a node, or none.
export function followArcs(drawing, name) {
  for (const { tail, head, element } of drawing.arcs) {
    element.classList.toggle("follow", name !== null && (tail === name || head === name));
  }
}

export function setOffSource(drawing, source) {
  drawing.world.classList.toggle("one-source", source !== null);
  for (const mark of drawing.world.querySelectorAll(".mark")) {
    mark.classList.toggle("set-off", mark.getAttribute("data-source") === source);
  }
}
