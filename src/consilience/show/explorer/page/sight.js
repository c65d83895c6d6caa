// Where the reader looks: places, first sight, and walking through nodes and states.
import { alignedLayout, drawLegend, isCompared } from "./comparing.js";
import { closeNode, drawAnswer, drawLayout, openNode } from "./drawing.js";

const READABLE = 0.4; // the least scale at which bars are drawn in a large graph

// What the layout of a view depends on.
export const sightOf = (app, view) => JSON.stringify([view.focus, isCompared(app, view)]);

// Places: all of the graph, with a second one or not, or the neighborhood of one node.
export async function layOut(app) {
  const { focus } = app.view;
  const sight = sightOf(app, app.view);
  const whole = isCompared(app) ? await alignedLayout(app) : app.model.layout;
  const layout = focus === null ? whole : await neighborhood(app, focus, whole);
  if (sight !== sightOf(app, app.view)) return;
  drawLegend(app, whole);
  drawLayout(app.drawing, layout);
  if (app.answer) drawAnswer(app.drawing, app.answer, app.drawing.before, app.view);
  firstSight(app, layout);
  lookAround(app);
}

// A large graph is first seen where it can be read.
function firstSight(app, layout) {
  app.camera.fit(layout.size);
  const name = app.view.node ?? app.model.target ?? mostConnected(app);
  const box = layout.boxes[name];
  if (app.drawing.isSparse && box) app.camera.center(box[0] + box[2] / 2, box[1] + box[3] / 2, 0.7);
}

export function mostConnected(app) {
  const count = new Map();
  for (const { tail, head } of app.drawing.arcs) {
    if (tail === app.model.source) continue;
    for (const name of [tail, head]) count.set(name, (count.get(name) ?? 0) + 1);
  }
  return [...count].reduce((best, one) => (one[1] > best[1] ? one : best), [null, 0])[0];
}

async function neighborhood(app, focus, whole) {
  if (app.engine.layout && !isCompared(app)) return app.engine.layout(focus);
  const near = new Set([focus]);
  for (let step = 0; step < 2; step += 1) {
    const edge = new Set(near);
    for (const [tail, head] of whole.routes) {
      if (tail === app.model.source) continue;
      if (edge.has(tail)) near.add(head);
      if (edge.has(head)) near.add(tail);
    }
  }
  return cutOut(whole, near);
}

// The part of a layout with these nodes, moved to the corner.
function cutOut({ boxes, routes }, near) {
  const kept = Object.entries(boxes).filter(([name]) => near.has(name));
  const arcs = routes.filter(([tail, head]) => near.has(tail) && near.has(head));
  const corners = kept.flatMap(([, [x, y, w, h]]) => [[x, y], [x + w, y + h]]).concat(arcs.flatMap(([, , points]) => points));
  const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return {
    boxes: Object.fromEntries(kept.map(([name, [x, y, w, h]]) => [name, [x - left, y - top, w, h]])),
    routes: arcs.map(([tail, head, points, ...kind]) => [tail, head, points.map(([x, y]) => [x - left, y - top]), ...kind]),
    size: [Math.max(...xs) - left, Math.max(...ys) - top],
  };
}

// Of a large graph, bars are drawn where the reader looks.
export function lookAround(app) {
  const { drawing, camera } = app;
  if (!drawing.isSparse) return;
  const [left, top, right, bottom] = camera.seen();
  const isNear = camera.scale >= READABLE;
  drawing.world.classList.toggle("far", !isNear);
  for (const node of drawing.nodes.values()) {
    const isSeen = node.x < right && node.x + node.width > left && node.y < bottom && node.y + node.height > top;
    if ((isNear && isSeen) || node.name === app.view.node) openNode(drawing, node);
    else closeNode(node);
  }
  keepPlace(app);
}

export function lookAt(app, name) {
  const node = app.drawing.nodes.get(name);
  if (!node) return;
  app.camera.center(node.x + node.width / 2, node.y + node.height / 2, Math.max(app.camera.scale, 0.7));
  openNode(app.drawing, node);
}

// Arrows up and down go through the states and on to the next node, left and right through nodes.
export function walk(app, key) {
  const order = [...app.drawing.nodes.values()];
  const [name, state] = app.place ?? [null, null];
  const at = order.findIndex((node) => node.name === name);
  if (at < 0) return walkTo(app, order[0], 0);
  const rows = rowsOf(order[at]);
  const k = rows.findIndex((row) => row.getAttribute("data-state") === state);
  const step = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
  const isInside = (key === "ArrowDown" || key === "ArrowUp") && rows[k + step];
  if (isInside) return walkTo(app, order[at], k + step);
  const next = order[(at + step + order.length) % order.length];
  return walkTo(app, next, key === "ArrowUp" ? -1 : 0);
}

export function walkTo(app, node, k) {
  if (!node) return;
  openNode(app.drawing, node);
  const [left, top, right, bottom] = app.camera.seen();
  if (node.x < left || node.y < top || node.x + node.width > right || node.y + node.height > bottom) lookAt(app, node.name);
  const row = rowsOf(node).at(k);
  app.place = [node.name, row?.getAttribute("data-state") ?? null];
  keepPlace(app);
  row?.focus({ preventScroll: true });
}

const rowsOf = (node) => [...(node.rows?.querySelectorAll("[role=button], input") ?? [])];

// One row of the graph can be reached by the tabulator: that of the last place, or the first.
export function keepPlace(app) {
  const world = app.drawing.world;
  const [name, state] = app.place ?? [null, null];
  for (const row of world.querySelectorAll("[role=button][tabindex='0']")) row.setAttribute("tabindex", "-1");
  const node = app.drawing.nodes.get(name);
  const kept = (node && rowsOf(node).find((row) => row.getAttribute("data-state") === state)) ?? world.querySelector("[role=button]");
  if (kept?.getAttribute("role") === "button") kept.setAttribute("tabindex", "0");
}
