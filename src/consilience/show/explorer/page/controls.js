// What some panels let people choose: a second source, how much is borrowed, folds.
import { htmlElement } from "./elements.js";

const FOLDS = 5;

// Elements for a panel; `chosen` are its options, and `choose` gets those that are changed.
export function panelControls(name, model, { chosen, choose, position, borrow }) {
  if (name === "differences" && model.source !== null) return [reference(model, chosen, choose)];
  if (name === "borrowing" && model.positions) return [borrowingSlider(model, position, borrow), folds(chosen, choose)];
  return name === "evaluation" ? [folds(chosen, choose)] : [];
}

function reference(model, chosen, choose) {
  const sources = model.nodes[model.source].states;
  const options = ["", ...sources].map((value) => htmlElement("option", { value, text: value || "all sources" }));
  const select = htmlElement("select", { "data-test": "reference" }, options);
  select.value = chosen.reference ?? "";
  select.addEventListener("change", () => choose({ reference: select.value || undefined }));
  return htmlElement("label", { class: "control" }, ["compared with ", select]);
}

function borrowingSlider(model, position, borrow) {
  const last = model.positions.length - 1;
  const at = position === null ? last : Math.max(0, model.positions.indexOf(position));
  const input = htmlElement("input", { type: "range", min: "0", max: String(last), step: "1", "data-test": "borrowing" });
  const words = htmlElement("output", { text: model.positions[at] });
  input.value = at;
  input.setAttribute("aria-valuetext", model.positions[at]);
  input.addEventListener("input", () => {
    const chosen = model.positions[Number(input.value)];
    words.textContent = chosen;
    input.setAttribute("aria-valuetext", chosen);
    borrow(Number(input.value) === last ? null : chosen);
  });
  return htmlElement("label", { class: "control" }, ["from separate to pooled ", input, words]);
}

function folds(chosen, choose) {
  const isOn = Boolean(chosen.folds);
  const text = isOn ? "without folds" : `on rows not learned from (${FOLDS} folds)`;
  const button = htmlElement("button", { type: "button", "data-test": "folds", text });
  button.addEventListener("click", () => choose({ folds: isOn ? undefined : FOLDS }));
  return htmlElement("p", { class: "control" }, [button]);
}
