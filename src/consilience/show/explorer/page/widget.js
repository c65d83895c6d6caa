// The graph in a notebook: the kernel answers, the page's own modules draw; findings go both ways.
import { createDrawing, drawAnswer, drawLayout } from "./drawing.js";
import { htmlElement, svgElement } from "./elements.js";
import { emptyView } from "./texts.js";

export function renderWidget({ model, el }) {
  const facts = model.get("facts");
  const [width, height] = facts.layout.size;
  const world = svgElement("g", { id: "world" });
  const canvas = svgElement("svg", { role: "group", "aria-label": "Graph with beliefs", viewBox: `0 0 ${width} ${height}`, width, height }, [world]);
  const status = htmlElement("p", { role: "status", "aria-live": "polite", "data-test": "status" });
  const scroll = htmlElement("div", { class: "scroll", tabindex: "0" });
  const root = el.attachShadow({ mode: "open" });
  scroll.append(canvas);
  root.append(htmlElement("style", { text: model.get("style") }), scroll, status);
  const drawing = createDrawing(world, facts);
  drawLayout(drawing, facts.layout);
  let before = null;
  const redraw = () => {
    const answer = model.get("answer");
    status.textContent = model.get("problem");
    if (!answer.all) return;
    drawAnswer(drawing, answer, before, { ...emptyView(), given: model.get("given") });
    before = answer;
  };
  const press = (target) => {
    const state = target.closest("[data-test=state]");
    if (!state) return false;
    model.set("given", pressedState(model.get("given"), state.dataset.node, state.dataset.state));
    model.save_changes();
    return true;
  };
  world.addEventListener("click", (event) => press(event.target));
  world.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && press(event.target)) event.preventDefault();
  });
  model.on("change:answer", redraw);
  model.on("change:problem", redraw);
  redraw();
  return () => {
    model.off("change:answer", redraw);
    model.off("change:problem", redraw);
  };
}

// The state is known; again: it is not.
function pressedState(given, name, state) {
  const rest = Object.fromEntries(Object.entries(given).filter(([one]) => one !== name));
  return Object.hasOwn(given, name) && given[name] === state ? rest : { ...rest, [name]: state };
}
