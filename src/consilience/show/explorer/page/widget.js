// The graph in a notebook: the kernel answers, the page's own modules draw; findings go both ways.
import { createDrawing, drawAnswer, drawLayout } from "./drawing.js";
import { htmlElement, svgElement } from "./elements.js";
import { keepPlace, lookAround, mostConnected, walk } from "./sight.js";
import { emptyView } from "./texts.js";

const EDGE = 4; // around the graph, for the edges of its boxes

export function renderWidget({ model, el }) {
  const facts = model.get("facts");
  const [width, height] = facts.layout.size.map((length) => length + 2 * EDGE);
  const world = svgElement("g", { id: "world" });
  const seen = { viewBox: `${-EDGE} ${-EDGE} ${width} ${height}`, width, height };
  const canvas = svgElement("svg", { role: "group", "aria-label": "Graph with beliefs", ...seen }, [world]);
  const status = htmlElement("p", { role: "status", "aria-live": "polite", "data-test": "status" });
  const scroll = htmlElement("div", { class: "scroll", tabindex: "0" });
  const root = el.attachShadow({ mode: "open" });
  scroll.append(canvas);
  root.append(htmlElement("style", { text: model.get("style") }), scroll, status);
  el.setAttribute("data-theme", surroundings());
  const app = { model: facts, drawing: createDrawing(world, facts), camera: scrolling(scroll), place: null, view: emptyView() };
  const { drawing } = app;
  drawLayout(drawing, facts.layout);
  let before = null;
  const redraw = () => {
    const answer = model.get("answer");
    status.textContent = model.get("problem");
    if (!answer.all) return;
    app.view = { ...emptyView(), given: model.get("given") };
    drawAnswer(drawing, answer, before, app.view);
    before = answer;
    lookAround(app);
    keepPlace(app);
  };
  const say = (given) => {
    model.set("given", given);
    model.save_changes();
  };
  const press = (target) => {
    const state = target.closest("[data-test=state]");
    if (!state) return false;
    app.place = [state.getAttribute("data-node"), state.getAttribute("data-state")];
    say(pressedState(model.get("given"), ...app.place));
    return true;
  };
  world.addEventListener("click", (event) => press(event.target));
  world.addEventListener("change", ({ target }) => {
    if (target.dataset.test === "number") say(withNumber(model.get("given"), target.dataset.node, target.value));
  });
  world.addEventListener("keydown", (event) => {
    if (event.target.closest("input")) return;
    const isPressed = (event.key === "Enter" || event.key === " ") && press(event.target);
    const isWalked = event.key.startsWith("Arrow");
    if (isWalked) walk(app, event.key);
    if (!isPressed && !isWalked) return;
    event.preventDefault();
    event.stopPropagation(); // notebooks walk through their cells by the same keys
  });
  scroll.addEventListener("scroll", () => lookAround(app));
  const sized = new ResizeObserver(() => firstLook(app, scroll));
  sized.observe(scroll);
  model.on("change:answer", redraw);
  model.on("change:problem", redraw);
  redraw();
  return () => {
    sized.disconnect();
    model.off("change:answer", redraw);
    model.off("change:problem", redraw);
  };
}

// What the page's camera tells, for a graph that is scrolled and not zoomed.
function scrolling(scroll) {
  return {
    scale: 1,
    seen: () => [scroll.scrollLeft, scroll.scrollTop, scroll.scrollLeft + scroll.clientWidth, scroll.scrollTop + scroll.clientHeight],
    center: (x, y) => scroll.scrollTo(x - scroll.clientWidth / 2, y - scroll.clientHeight / 2),
  };
}

// A large graph is first seen where most arcs meet.
function firstLook(app, scroll) {
  const box = app.drawing.layout.boxes[mostConnected(app)];
  const isNew = !app.hasLooked && scroll.clientWidth > 0;
  if (isNew && app.drawing.isSparse && box) app.camera.center(box[0] + box[2] / 2, box[1] + box[3] / 2);
  app.hasLooked ||= isNew;
  lookAround(app);
}

// The theme of the notebook, by the letters on its page.
function surroundings() {
  const [red, green, blue] = (getComputedStyle(document.body).color.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  return red + green + blue > 1.5 * 255 ? "dark" : "light";
}

// The state is known; again: it is not.
function pressedState(given, name, state) {
  const rest = Object.fromEntries(Object.entries(given).filter(([one]) => one !== name));
  return Object.hasOwn(given, name) && given[name] === state ? rest : { ...rest, [name]: state };
}

// The number is known; without one nothing is.
function withNumber(given, name, text) {
  const rest = Object.fromEntries(Object.entries(given).filter(([one]) => one !== name));
  return text.trim() === "" ? rest : { ...rest, [name]: Number(text) };
}
