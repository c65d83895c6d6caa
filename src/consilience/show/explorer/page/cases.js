// Cases: findings with a name, and a CSV file with one row for each of them.
import { doneText, findingOf, findingText, refuseList } from "./texts.js";

const cell = (text) => (/[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text);

export function csvOf(rows) {
  return rows.map((row) => row.map((text) => cell(String(text))).join(",")).join("\r\n") + "\r\n";
}

export function casesToCsv(cases, model) {
  const nodes = Object.keys(model.nodes);
  const rows = [...cases].map(([name, { given, do: set }]) => [
    name,
    ...nodes.map((node) => {
      const { states } = model.nodes[node];
      if (Object.hasOwn(set, node)) return doneText(set[node], states);
      return Object.hasOwn(given, node) ? findingText(given[node], states) : "";
    }),
  ]);
  return csvOf([["case", ...nodes], ...rows]);
}

export function casesFromCsv(text, model) {
  const [head, ...rows] = csvRows(text);
  const nodes = (head ?? []).slice(1);
  const unknown = nodes.find((node) => !Object.hasOwn(model.nodes, node));
  if (unknown !== undefined) throw new Error(`The file has a column ${unknown}, which is no node.`);
  const told = rows.filter((row) => row.some((text) => text !== "")); // lines that are not empty
  return new Map(told.map(([name, ...cells]) => [name, caseOf(name, nodes, cells, model)]));
}

function caseOf(name, nodes, cells, model) {
  const [given, set] = [[], []];
  nodes.forEach((node, i) => {
    const text = cells[i] ?? "";
    const { states } = model.nodes[node];
    if (text === "" && !states?.includes("")) return;
    const isDone = text.startsWith("do:") && !states?.includes(text);
    try {
      const finding = findingOf(isDone ? text.slice(3) : text, states);
      if (isDone) refuseList(finding);
      (isDone ? set : given).push([node, finding]);
    } catch (problem) {
      throw new Error(`Case ${name}, node ${node}: ${problem.message}`);
    }
  });
  return { given: Object.fromEntries(given), do: Object.fromEntries(set) };
}

// Rows of a CSV text; cells in quotes may hold commas, quotes and line ends.
export function csvRows(text) {
  const rows = [];
  let row = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/gy;
  const body = text.replace(/^\uFEFF/, "");
  while (pattern.lastIndex < body.length) {
    const found = pattern.exec(body);
    if (!found) throw new Error("The file is no CSV: a quote stands where none may.");
    row.push(found[1] === undefined ? found[2] : found[1].replaceAll('""', '"'));
    if (found[3] !== ",") {
      rows.push(row);
      row = [];
    } else if (pattern.lastIndex === body.length) {
      rows.push([...row, ""]);
      row = [];
    }
  }
  return rows;
}
