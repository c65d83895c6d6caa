// A second network: one layout for both graphs, arcs by kind, hollow bars for what it believes.
import { byId, htmlElement, svgElement } from "./elements.js";

export const COMPARE = "compare";

export const isCompared = (app, view = app.view) =>
  app.model.compared && Boolean(app.engine.comparison) && view.panel === COMPARE;

// The layout of both; it is asked for once.
export async function alignedLayout(app) {
  app.comparison ??= app.engine.comparison();
  return app.comparison;
}

export function drawLegend(app, layout) {
  const words = {
    shared: "in both",
    extra: `only in ${app.model.name}`,
    missing: "only in the second",
    turned: "turned: filled tip as here, hollow as in the second",
  };
  const lines = Object.entries(layout?.counts ?? {})
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => line(sample(kind), `${words[kind]} (${n})`));
  if (layout?.counts) lines.push(line(hollow(), "bars of the second"));
  byId("legend").replaceChildren(...lines);
  byId("legend").hidden = lines.length === 0;
}

const line = (sign, text) => htmlElement("span", { class: "legend-line" }, [sign, htmlElement("bdi", { text })]);

function sample(kind) {
  const path = svgElement("path", { class: "line", d: "M1 5h30" });
  return svgElement("svg", { width: 32, height: 10, class: `arc ${kind}`, "aria-hidden": "true" }, [path]);
}

function hollow() {
  const bar = svgElement("rect", { class: "other", x: 1, y: 3, width: 30, height: 4 });
  return svgElement("svg", { width: 32, height: 10, "aria-hidden": "true" }, [bar]);
}
