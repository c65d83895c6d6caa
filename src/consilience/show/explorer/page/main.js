// The page: a view (what is known, done, chosen), its history, and everything that changes it.
import { browserEngine } from "./browser.js";
import { panelControls } from "./controls.js";
import { casesFromCsv, casesToCsv } from "./cases.js";
import { isCompared } from "./comparing.js";
import { createDrawing, drawAnswer, followArcs, openNode, setOffSource } from "./drawing.js";
import { openEditor } from "./editor.js";
import { byId, fittedTexts, htmlElement, offered } from "./elements.js";
import { createCamera } from "./moving.js";
import { beliefsCsv, pictureText, pngOf } from "./saving.js";
import { serverEngine } from "./server.js";
import { drawPanel, drawTabs } from "./side.js";
import { keepPlace, layOut, lookAround, lookAt, mostConnected, sightOf, walk, walkTo } from "./sight.js";
import { emptyView, findingWords, fragmentOf, shortNumber, under, viewOf } from "./texts.js";

const pristine = document.documentElement.outerHTML;
const CHIP_ROOM = 180; // of the name of a source
const CHIP_HELP = "Show or hide its strokes; Shift + click: only these";
const MOST_TOLD = 12; // sources whose probabilities the status line tells one by one
const PANEL_DELAY = 300; // milliseconds that a panel waits for the next click
const PANEL_PATIENCE = 1500; // milliseconds after which a panel says that it is working
const WORKING = { svg: "", table: { columns: [], rows: [] }, notes: ["The library is working."] };

const app = {
  engine: null,
  model: null,
  view: emptyView(),
  past: [],
  future: [],
  isDoing: false,
  drawing: null,
  camera: null,
  answer: null,
  version: 0,
  asked: 0,
  problem: "",
  cases: new Map(),
  panelTimer: null,
  panelAsked: 0,
  place: null,
  options: new Map(),
};

async function start() {
  const embedded = byId("embedded");
  app.engine = embedded ? browserEngine(JSON.parse(embedded.textContent)) : serverEngine();
  document.body.dataset.engine = app.engine.kind;
  document.body.dataset.busy = "";
  app.model = await app.engine.model();
  const { view, problems } = viewOf(location.hash, app.model);
  app.view = view;
  app.problem = problems.join(" ");
  app.drawing = createDrawing(byId("world"), app.model);
  app.camera = createCamera(byId("canvas"), byId("world"), () => requestAnimationFrame(() => lookAround(app)));
  describe();
  listen();
  await layOut(app);
  await shown();
  await ask(null);
}

// The graph is seen before beliefs are asked for; a page in the background shows no frames.
const shown = () =>
  new Promise((go) => {
    requestAnimationFrame(() => setTimeout(go, 0));
    setTimeout(go, 100);
  });

function describe() {
  byId("name").textContent = app.model.name;
  document.title = `${app.model.name} · consilience`;
  byId("names").replaceChildren(...Object.keys(app.model.nodes).map((value) => htmlElement("option", { value })));
  byId("rows").hidden = !app.model.rows || !app.engine.row;
  if (app.model.rows) byId("row").max = app.model.rows;
  drawSources();
  choosePanel(app.view.panel ?? app.model.panels[0]?.name ?? null, false);
}

// The sources, each with its rows and the look of its strokes.
function drawSources() {
  const { source, sources, nodes } = app.model;
  if (source === null) return;
  const names = nodes[source].states;
  const labels = fittedTexts(names, CHIP_ROOM, "14px");
  const chips = names.map((name, s) => {
    const chip = htmlElement("button", {
      type: "button",
      class: `chip ${names.length <= 8 ? `s${s}` : "many"}`,
      "data-test": "source",
      "data-source": name,
      "aria-pressed": "true",
      title: `${name}\n${CHIP_HELP}`,
    });
    chip.append(htmlElement("span", { class: "sample", "aria-hidden": "true" }), htmlElement("bdi", { text: labels[s] }));
    if (sources[name] !== null) chip.append(htmlElement("span", { class: "count", text: ` ${sources[name]}` }));
    chip.addEventListener("click", (event) => toggleSource(name, event.shiftKey));
    chip.addEventListener("mouseenter", () => setOffSource(app.drawing, name));
    chip.addEventListener("focus", () => setOffSource(app.drawing, name));
    chip.addEventListener("mouseleave", () => setOffSource(app.drawing, null));
    chip.addEventListener("blur", () => setOffSource(app.drawing, null));
    return chip;
  });
  const all = htmlElement("button", { type: "button", "data-test": "all-sources", text: "all" });
  all.addEventListener("click", () => change({ sources: null }));
  byId("sources").replaceChildren(htmlElement("bdi", { class: "label", text: source }), ...chips, all);
}

function toggleSource(name, isOnly) {
  const names = app.model.nodes[app.model.source].states;
  const shown = app.view.sources ?? names;
  const next = isOnly ? [name] : names.filter((one) => (one === name) !== shown.includes(one));
  change({ sources: next.length === names.length ? null : next });
}

// A new view: the old one can be had back by undo and by the browser's back button.
function change(more) {
  app.past.push(app.view);
  app.future = [];
  show({ ...app.view, ...more });
}

function show(view, isNew = true) {
  const isLaidOut = sightOf(app, view) === sightOf(app, app.view);
  const isAsked = question(view) !== question(app.view);
  app.view = view;
  if (isAsked) app.problem = "";
  if (isNew) history.pushState(null, "", `#${fragmentOf(view, app.model)}`);
  if (isAsked) ask(isLaidOut ? app.answer : app.drawing.before); // to compare changes no belief
  else redraw();
  if (!isLaidOut) layOut(app);
  drawTabs(app.model, panelName(), choosePanel);
}

const question = (view) => JSON.stringify(asJson(view));

function undo() {
  if (app.past.length === 0) return;
  app.future.push(app.view);
  show(app.past.pop());
}

function redo() {
  if (app.future.length === 0) return;
  app.past.push(app.view);
  show(app.future.pop());
}

function asJson(view) {
  const options = {};
  if (view.borrowing !== null) options.position = view.borrowing;
  if (isCompared(app, view)) options.compare = true;
  return { given: view.given, do: view.do, options };
}

// Ask for the beliefs of the view and draw them; an answer that comes late is dropped.
async function ask(before) {
  const number = (app.asked += 1);
  const began = performance.now();
  document.body.dataset.busy = "";
  byId("speed").textContent = "asking";
  try {
    const answer = await app.engine.beliefs(asJson(app.view));
    if (number !== app.asked) return;
    app.answer = answer;
    drawAnswer(app.drawing, answer, before, app.view);
    byId("preparing").hidden = true;
    byId("speed").textContent = `${Math.round(performance.now() - began)} ms`;
  } catch (problem) {
    if (number !== app.asked || problem.name === "AbortError") return;
    app.problem = problem.message;
    byId("speed").textContent = "";
    app.answer ??= await app.engine.beliefs({}).catch(() => null);
    if (number !== app.asked) return;
    if (app.answer) drawAnswer(app.drawing, app.answer, null, app.view);
    byId("preparing").hidden = app.answer !== null;
  }
  app.version += 1;
  document.body.dataset.version = app.version;
  delete document.body.dataset.busy;
  redraw(false);
}

function redraw(hasBars = true) {
  if (hasBars && app.answer) drawAnswer(app.drawing, app.answer, app.drawing.before, app.view);
  drawStatus();
  byId("undo").disabled = app.past.length === 0;
  byId("redo").disabled = app.future.length === 0;
  for (const chip of document.querySelectorAll("[data-test=source]")) {
    const isShown = !app.view.sources || app.view.sources.includes(chip.dataset.source);
    chip.setAttribute("aria-pressed", String(isShown));
  }
  byId("focus").setAttribute("aria-pressed", String(app.view.focus !== null));
  byId("do").setAttribute("aria-pressed", String(app.isDoing));
  keepPlace(app);
  clearTimeout(app.panelTimer);
  app.panelTimer = setTimeout(askPanel, PANEL_DELAY);
}

// What is known, how probable that is, and which sources it contradicts.
function drawStatus() {
  const { given, do: set } = app.view;
  const known = Object.entries(given).map(([node, finding]) => `${node} ${findingWords(finding)}`);
  const done = Object.entries(set).map(([node, state]) => `${node} set to ${state}`);
  const all = [...known, ...done];
  const parts = [all.length === 0 ? "nothing is known" : `${all.length} known: ${all.join("; ")}`];
  if (app.problem) parts.push(app.problem);
  else if (app.answer && known.length > 0) parts.push(probabilityWords(app.answer.log_probability));
  if (app.answer?.other_problem) parts.push(app.answer.other_problem);
  if (app.engine.still) parts.push(app.engine.still);
  byId("status").textContent = [...new Set(parts)].join(" · ");
  byId("status").classList.toggle("problem", app.problem !== "");
}

function probabilityWords({ all, ...bySource }) {
  const isDensity = Object.keys(app.view.given).some((node) => app.model.nodes[node].states === null);
  const words = [`${isDensity ? "density" : "probability"} of this ${shortNumber(Math.exp(all))}`];
  const told = Object.entries(bySource).filter(([, log]) => log !== null).sort(([, a], [, b]) => a - b);
  const each = app.drawing.sources.filter((name) => told.some(([one]) => one === name));
  const likely = (name) => `${name} ${shortNumber(Math.exp(bySource[name]))}`;
  if (each.length > MOST_TOLD) words.push(`(from ${likely(told[0][0])} to ${likely(told.at(-1)[0])})`);
  else if (each.length) words.push(`(${each.map(likely).join(", ")})`);
  const absent = app.drawing.sources.filter((name) => app.answer.by_source[name] === null);
  const n = absent.length - MOST_TOLD;
  const more = n > 0 ? ` and ${n} more sources` : "";
  if (absent.length) words.push(`· cannot happen in ${absent.slice(0, MOST_TOLD).join(", ")}${more}`);
  return words.join(" ");
}

// Findings. The node that is looked at stays while others become known.
const chosenOr = (name) => app.view.node ?? app.model.target ?? name;

function setState(name, state, { isNot = false } = {}) {
  const { given, do: set } = app.view;
  const node = chosenOr(name);
  if (app.isDoing) return change({ do: toggled(set, name, state), given: without(given, name), node });
  const old = under(given, name);
  const rest = { given, do: without(set, name), node };
  if (!isNot) return change({ ...rest, given: toggled(given, name, state) });
  const named = old?.not ?? [];
  const not = named.includes(state) ? named.filter((one) => one !== state) : [...named, state];
  if (not.length === 0) return change({ ...rest, given: without(given, name) });
  if (not.length === app.model.nodes[name].states.length) return undefined;
  return change({ ...rest, given: withOne(given, name, { not }) });
}

const without = (values, name) => Object.fromEntries(Object.entries(values).filter(([one]) => one !== name));
const withOne = (values, name, value) => Object.fromEntries([...Object.entries(without(values, name)), [name, value]]);
const toggled = (values, name, state) => (Object.hasOwn(values, name) && values[name] === state ? without(values, name) : withOne(values, name, state));

function clearNode(name) {
  if (!Object.hasOwn(app.view.given, name) && !Object.hasOwn(app.view.do, name)) return;
  change({ given: without(app.view.given, name), do: without(app.view.do, name) });
}

function editNode(name) {
  const { states } = app.model.nodes[name];
  if (states === null || !app.answer) return;
  openEditor(name, states, {
    finding: under(app.view.given, name),
    belief: app.answer.all[name],
    set: (finding) => {
      if (finding === undefined) clearNode(name);
      else change({ given: withOne(app.view.given, name, finding), do: without(app.view.do, name), node: chosenOr(name) });
    },
  });
}

function setNumber(name, text) {
  if (text.trim() === "" || !Number.isFinite(Number(text))) return clearNode(name);
  const [key, other] = app.isDoing ? ["do", "given"] : ["given", "do"];
  return change({
    [key]: withOne(app.view[key], name, Number(text)),
    [other]: without(app.view[other], name),
    node: chosenOr(name),
  });
}

function chooseNode(name) {
  app.view = { ...app.view, node: name };
  history.replaceState(null, "", `#${fragmentOf(app.view, app.model)}`);
  redraw();
}

// Panels.
const panelName = () => app.view.panel ?? app.model.panels[0]?.name ?? null;

function choosePanel(name, isNew = true) {
  drawTabs(app.model, name, choosePanel);
  if (!isNew) return;
  show({ ...app.view, panel: name });
  clearTimeout(app.panelTimer);
  askPanel();
}

async function askPanel() {
  const found = app.model.panels.find(({ name }) => name === panelName());
  if (!found || !app.answer) return;
  const number = (app.panelAsked += 1);
  const { name, title, needs, ready } = found;
  const draw = (notes, more = {}) => drawPanel(name, title, { svg: "", table: { columns: [], rows: [] }, ...more, notes }, controls(name));
  if (!ready) return draw(needs);
  const asked = asJson(app.view);
  asked.options = { ...asked.options, ...app.options.get(name) };
  if (app.view.node) asked.node = app.view.node;
  if (app.view.sources) asked.sources = app.view.sources;
  byId("panel").setAttribute("aria-busy", "true");
  const patience = setTimeout(() => drawPanel(name, title, WORKING, [cancelButton()]), PANEL_PATIENCE);
  try {
    const answer = await app.engine.panel(name, asked);
    if (number === app.panelAsked) drawPanel(name, title, answer, controls(name), app.engine.row && openRow);
  } catch (problem) {
    const words = problem.name === "AbortError" ? "This was cancelled." : problem.message;
    if (number === app.panelAsked) draw([words]);
  }
  clearTimeout(patience);
  if (number === app.panelAsked) byId("panel").setAttribute("aria-busy", "false");
  return undefined;
}

function cancelButton() {
  const button = htmlElement("button", { type: "button", "data-test": "cancel", text: "cancel" });
  button.addEventListener("click", () => app.engine.cancel());
  return htmlElement("p", { class: "control" }, [button]);
}

// A file has its panels as they are.
function controls(name) {
  if (app.engine.kind !== "server") return [];
  const chosen = app.options.get(name) ?? {};
  return panelControls(name, app.model, {
    chosen,
    choose: (more) => {
      app.options.set(name, { ...chosen, ...more });
      askPanel();
    },
    position: app.view.borrowing,
    borrow: (position) => change({ borrowing: position }),
  });
}

// Cases.
function keepCase() {
  const name = byId("case-name").value.trim() || `case ${app.cases.size + 1}`;
  app.cases.set(name, { given: app.view.given, do: app.view.do });
  byId("case-name").value = "";
  listCases();
}

function listCases() {
  const options = [...app.cases.keys()].map((name) => htmlElement("option", { value: `=${name}`, text: name }));
  byId("cases").replaceChildren(htmlElement("option", { value: "", text: `cases (${app.cases.size})` }), ...options);
}

async function loadCases(file) {
  try {
    const found = casesFromCsv(await file.text(), app.model);
    app.cases = new Map([...app.cases, ...found]);
    listCases();
  } catch (problem) {
    tell(problem);
  }
}

function tell(problem) {
  app.problem = problem.message;
  drawStatus();
}

// A row of the table as findings; what is predicted of it is left open.
async function openRow(number) {
  const row = Math.min(app.model.rows, Math.max(1, Math.round(Number(number)) || 1));
  byId("row").value = row;
  try {
    const { given } = await app.engine.row(row - 1);
    change({ given: without(given, app.model.target), do: {} });
  } catch (problem) {
    tell(problem);
  }
}

// What is saved.
const fileName = (ending) => `${app.model.name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 60) || "model"}.${ending}`;

function wholePicture() {
  const { drawing } = app;
  for (const node of drawing.nodes.values()) openNode(drawing, node);
  const picture = pictureText(drawing.world, drawing.layout.size);
  lookAround(app);
  return picture;
}

const SAVING = {
  "export-svg": () => offered(fileName("svg"), wholePicture().text, "image/svg+xml"),
  "export-png": async () => offered(fileName("png"), await pngOf(wholePicture()), "image/png"),
  "export-csv": () => offered(fileName("csv"), beliefsCsv(app.answer, app.model), "text/csv"),
  "export-html": async () => {
    const text = app.engine.page ? await app.engine.page() : `<!doctype html>\n${pristine}\n`;
    offered(fileName("html"), text, "text/html");
  },
  link: async () => {
    const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    byId("speed").textContent = isCopied ? "link copied" : "copy the address";
  },
};

// Listening.
function listen() {
  for (const [id, act] of Object.entries({
    ...SAVING,
    undo,
    redo,
    clear: () => change({ given: {}, do: {} }),
    fit: () => app.camera.fit(app.drawing.layout.size),
    focus: toggleFocus,
    do: toggleDo,
    theme: nextTheme,
    help: () => byId("keys").showModal(),
    "case-save": keepCase,
    "cases-save": () => offered("cases.csv", casesToCsv(app.cases, app.model), "text/csv"),
    "row-before": () => openRow(Number(byId("row").value || 2) - 1),
    "row-after": () => openRow(Number(byId("row").value || 0) + 1),
  })) {
    byId(id).addEventListener("click", async () => {
      try {
        await act();
      } catch (problem) {
        tell(problem);
      }
    });
  }
  byId("row").addEventListener("change", () => openRow(byId("row").value));
  byId("cases").addEventListener("change", openCase);
  byId("cases-load").addEventListener("change", async (event) => {
    await loadCases(event.target.files[0]);
    event.target.value = ""; // the same file can be read again
  });
  byId("find").addEventListener("change", () => findNode(byId("find").value));
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") findNode(byId("find").value);
  });
  const world = byId("world");
  world.addEventListener("click", onClick);
  world.addEventListener("change", (event) => {
    if (event.target.dataset.test === "number") setNumber(event.target.dataset.node, event.target.value);
  });
  world.addEventListener("mouseover", (event) => followArcs(app.drawing, nodeAt(event.target)));
  world.addEventListener("mouseleave", () => followArcs(app.drawing, null));
  world.addEventListener("focusin", (event) => followArcs(app.drawing, nodeAt(event.target)));
  document.addEventListener("keydown", onKey);
  window.addEventListener("popstate", walkHistory);
}

// The browser's back button, or another fragment in the address, is a change that undo takes back.
function walkHistory() {
  const { view, problems } = viewOf(location.hash, app.model);
  app.past.push(app.view);
  app.future = [];
  show(view, false);
  app.problem = problems.join(" ");
  drawStatus();
}

const nodeAt = (element) => element.closest("[data-test=node]")?.getAttribute("data-node") ?? null;

function openCase() {
  const name = byId("cases").value.slice(1);
  byId("cases").value = "";
  if (app.cases.has(name)) change(app.cases.get(name));
}

function onClick(event) {
  if (event.timeStamp - app.camera.draggedAt < 60 || event.target.closest("input")) return;
  const row = event.target.closest("[data-test=state], [data-test=others]");
  const name = nodeAt(event.target);
  if (name === null) return;
  if (row === null) chooseNode(name);
  else act(row, event);
}

// A click or Enter on the row of a state.
function act(row, event) {
  const [name, state] = [row.getAttribute("data-node"), row.getAttribute("data-state")];
  app.place = [name, state];
  if (event.altKey || state === null) editNode(name);
  else setState(name, state, { isNot: event.shiftKey });
}

function toggleFocus() {
  change({ focus: app.view.focus === null ? app.view.node ?? app.place?.[0] ?? mostConnected(app) : null });
}

function toggleDo() {
  app.isDoing = !app.isDoing;
  redraw();
}

function findNode(text) {
  const wanted = text.trim().toLowerCase();
  const names = Object.keys(app.model.nodes);
  const name = names.find((one) => one === text) ?? names.find((one) => one.toLowerCase() === wanted) ??
    names.find((one) => one.toLowerCase().includes(wanted));
  if (wanted === "" || name === undefined) return;
  lookAt(app, name);
  chooseNode(name);
  walkTo(app, app.drawing.nodes.get(name), 0);
}

const THEMES = ["light dark", "light", "dark"];

function nextTheme() {
  const now = document.documentElement.dataset.theme ?? THEMES[0];
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  if (next === THEMES[0]) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  byId("theme").textContent = next === THEMES[0] ? "theme" : next;
}

// Keys.
const ACTS = {
  u: undo,
  U: redo,
  d: toggleDo,
  f: toggleFocus,
  0: () => app.camera.fit(app.drawing.layout.size),
  "+": () => app.camera.zoom(1.25),
  "-": () => app.camera.zoom(0.8),
  "?": () => byId("keys").showModal(),
  "/": () => byId("find").focus(),
};

function onKey(event) {
  const isTyping = event.target.closest?.("input, select, textarea, dialog");
  if (isTyping || event.ctrlKey || event.metaKey) return;
  const row = event.target.closest?.("[data-test=state], [data-test=others]");
  if (row && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    act(row, event);
  } else if (event.key === "Delete" || event.key === "Backspace") {
    if (row) clearNode(row.getAttribute("data-node"));
  } else if (event.key.startsWith("Arrow") && (row || event.target === document.body || event.target.closest?.("svg"))) {
    event.preventDefault();
    walk(app, event.key);
  } else if (ACTS[event.key] && !event.altKey) {
    event.preventDefault();
    ACTS[event.key]();
  }
}

start().catch((problem) => {
  byId("preparing").textContent = problem.message;
  throw problem;
});
