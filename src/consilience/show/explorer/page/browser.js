// The engine of the file: beliefs by the junction tree, in the browser.
import { storedPanels } from "./stored.js";
import { compiledTree, potentialsOf, propagated } from "./tree.js";

const TOLERANCE = 1e-12;
const ROUNDED = 1e-9; // from one, of what sums to one
const LARGEST_LIKELIHOOD = 1e300;
const MOST_ROUNDS = 1000;
const MOST_KEPT = 4;

export function browserEngine(embedded) {
  const { model, still, first, second } = embedded;
  let network = null; // made when it is first asked, so that the page is seen before
  let other = null; // the same of a second network
  return {
    kind: "browser",
    still,
    model: async () => model,
    panel: storedPanels(model, embedded.panels),
    comparison: second && (async () => second.places),
    beliefs: async (question) => {
      if (!still) {
        const answer = answered((network ??= networkOf(model, embedded.tree)), question);
        if (!question.options?.compare) return answer;
        if (second.tree) other ??= networkOf(second, second.tree);
        return { ...answer, ...ofOther(model, other, question) };
      }
      if (Object.keys({ ...question.given, ...question.do }).length > 0) throw new Error(still);
      return first;
    },
  };
}

// What a second network believes, in the order of the first one's states.
function ofOther(model, other, question) {
  if (!other) return { other: null, other_problem: "This file answers for the first network alone." };
  try {
    const { all } = answered(other, question);
    const shared = Object.keys(model.nodes).filter((name) => Object.hasOwn(all, name));
    return { other: Object.fromEntries(shared.map((name) => [name, inOrder(model, other, name, all[name])])) };
  } catch (problem) {
    return { other: null, other_problem: `The second network: ${problem.message}` };
  }
}

function inOrder(model, other, name, belief) {
  const theirs = other.model.nodes[name].states;
  return model.nodes[name].states.map((state) => belief[theirs.indexOf(state)] ?? 0);
}

// Variables are numbered in the order of `names`; the source is not among them.
export function networkOf(model, stored) {
  return {
    model,
    tree: compiledTree(stored),
    names: stored.names,
    index: new Map(stored.names.map((name, axis) => [name, axis])),
    sources: model.source === null ? [null] : model.nodes[model.source].states,
    kept: new Map(),
  };
}

// Beliefs, all sources together and in each, as the server gives them.
export function answered(network, question) {
  const evidence = evidenceOf(network, question.given ?? {});
  const potentials = potentialsFor(network, question.do ?? {});
  refuseBoth(question.given ?? {}, question.do ?? {});
  const priors = sourcePriors(network, question.do ?? {});
  const weights = priors.map((p, f) => p * (evidence.source?.[f] ?? 1));
  const plain = runs(network, potentials, evidence.likelihoods);
  const together = fitted(evidence, (likelihoods, sourceLikelihood) => {
    const all = likelihoods === evidence.likelihoods ? plain : runs(network, potentials, likelihoods);
    return mixed(network, weights.map((w, f) => w * (sourceLikelihood?.[f] ?? 1)), all);
  });
  if (together === null) throw new Error("what is given has probability zero in every source.");
  const ofSources = network.sources
    .map((source, f) => [source, f])
    .filter(([source]) => source !== null);
  const logs = [
    ["all", logOfAll(weights, plain) + evidence.scale + evidence.sourceScale],
    ...ofSources.map(([source, f]) => [source, priors[f] > 0 ? plain[f].log + evidence.scale : -Infinity]),
  ];
  return {
    all: named(network, together),
    by_source: Object.fromEntries(
      ofSources.map(([source, f]) => [source, inSource(network, f, { evidence, potentials, plain, weights })]),
    ),
    log_probability: Object.fromEntries(logs.map(([name, log]) => [name, Number.isFinite(log) ? log : null])),
  };
}

const runs = (network, potentials, likelihoods) =>
  potentials.map((tables) => propagated(network.tree, tables, likelihoods));

// Beliefs in one source, or null if what is given cannot happen there.
function inSource(network, f, { evidence, potentials, plain, weights }) {
  if (!(weights[f] > 0) || evidence.softSource?.[f] === 0) return null;
  const alone = weights.map((_, g) => Number(g === f));
  const within = { ...evidence, softSource: null };
  try {
    const found = fitted(within, (likelihoods) => {
      const isPlain = likelihoods === evidence.likelihoods;
      const { marginals } = isPlain ? plain[f] : propagated(network.tree, potentials[f], likelihoods);
      return marginals && { marginals, weights: alone };
    });
    return found && named(network, found);
  } catch {
    return null;
  }
}

function named(network, { marginals, weights }) {
  const beliefs = network.names.map((name, axis) => [name, marginals[axis]]);
  if (network.model.source !== null) beliefs.push([network.model.source, weights]);
  return Object.fromEntries(beliefs);
}

// Potentials of every source under an intervention; those asked for last are kept.
function potentialsFor(network, set) {
  const key = JSON.stringify(Object.entries(set).sort());
  if (!network.kept.has(key)) {
    const others = Object.entries(set).filter(([name]) => name !== network.model.source);
    const codes = new Map(
      others.map(([name, state]) => [network.index.get(name), code(network, name, state)]),
    );
    if (network.kept.size >= MOST_KEPT) network.kept.delete(network.kept.keys().next().value);
    network.kept.set(key, network.sources.map((_, f) => potentialsOf(network.tree, f, codes)));
  }
  return network.kept.get(key);
}

function code(network, name, state) {
  if (!Object.hasOwn(network.model.nodes, name)) throw new Error(`unknown node '${name}'.`);
  const at = network.model.nodes[name].states.indexOf(String(state));
  if (at < 0) throw new Error(`unknown state of '${name}' '${state}'.`);
  return at;
}

function refuseBoth(given, set) {
  const both = Object.keys(given).find((name) => Object.hasOwn(set, name));
  if (both !== undefined) throw new Error(`'${both}' is both given and set from outside.`);
}

// Likelihoods and soft distributions by the number of the variable; those of the source apart.
// The largest entry of a likelihood is 1; the logarithms of what they lost are added up.
function evidenceOf(network, given) {
  const evidence = { likelihoods: new Map(), soft: new Map(), source: null, softSource: null, scale: 0, sourceScale: 0 };
  for (const [name, finding] of Object.entries(given)) {
    const isSource = name === network.model.source;
    const isSoft = typeof finding === "object" && Object.hasOwn(finding, "soft");
    const found = vectorOf(network, name, finding);
    const largest = isSoft ? 1 : Math.max(...found);
    const vector = found.map((number) => number / largest);
    evidence[isSource ? "sourceScale" : "scale"] += Math.log(largest);
    if (isSource) evidence[isSoft ? "softSource" : "source"] = vector;
    else evidence[isSoft ? "soft" : "likelihoods"].set(network.index.get(name), vector);
  }
  return evidence;
}

function vectorOf(network, name, finding) {
  const [[kind, values]] = Object.entries(typeof finding === "object" ? finding : { any: [finding] });
  const isList = kind === "any" || kind === "not";
  const codes = (isList ? values : Object.keys(values)).map((state) => code(network, name, state));
  const vector = network.model.nodes[name].states.map(() => Number(kind === "not"));
  codes.forEach((k, i) => (vector[k] = isList ? Number(kind === "any") : Object.values(values)[i]));
  if (!vector.every((number) => number >= 0 && number < LARGEST_LIKELIHOOD)) {
    throw new Error(`given '${name}': numbers of zero or more are wanted.`);
  }
  const total = vector.reduce((a, b) => a + b, 0);
  if (!(total > 0)) throw new Error(`given '${name}': no state is left.`);
  if (kind !== "soft") return vector;
  if (Math.abs(total - 1) > ROUNDED) throw new Error(`given '${name}': soft evidence must sum to one, got ${total}.`);
  return vector.map((p) => p / total);
}

// P(F = f), or 1 for the source that is set.
function sourcePriors(network, set) {
  const { source } = network.model;
  const prior = Array.from(network.tree.prior);
  if (source === null || !Object.hasOwn(set, source)) return prior;
  const chosen = code(network, source, set[source]);
  return prior.map((_, f) => Number(f === chosen));
}

function logOfAll(weights, all) {
  const logs = all.map(({ log }, f) => (weights[f] > 0 ? log + Math.log(weights[f]) : -Infinity));
  const largest = Math.max(...logs);
  if (largest === -Infinity) return largest;
  return largest + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - largest), 0));
}

// P(x | e) = sum over f of P(f | e) P(x | e, f); null if no source allows the evidence.
function mixed(network, weights, all) {
  const whole = logOfAll(weights, all);
  if (whole === -Infinity) return null;
  const shares = all.map(({ log }, f) => (weights[f] > 0 ? weights[f] * Math.exp(log - whole) : 0));
  const marginals = network.tree.sizes.map((n, axis) => {
    const belief = new Array(n).fill(0);
    shares.forEach((share, f) => {
      if (share > 0) all[f].marginals[axis].forEach((p, k) => (belief[k] += share * p));
    });
    return belief;
  });
  return { marginals, weights: shares };
}

// The beliefs in which the soft distributions come out, by iterative proportional fitting.
function fitted({ likelihoods, soft, softSource }, believed) {
  const wanted = [...soft, ...(softSource ? [[null, softSource]] : [])];
  if (wanted.length === 0) return believed(likelihoods, null);
  const factors = new Map(wanted.map(([axis, vector]) => [axis, vector.map((p) => Number(p > 0))]));
  const ask = () => {
    const fitting = [...factors].filter(([axis]) => axis !== null);
    return believed(new Map([...likelihoods, ...fitting]), factors.get(null) ?? null);
  };
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    let error = 0;
    for (const [axis, vector] of wanted) {
      const found = ask();
      if (found === null) return null;
      const now = axis === null ? found.weights : found.marginals[axis];
      error = Math.max(error, ...vector.map((p, k) => Math.abs(p - now[k])));
      factors.set(axis, nearer(factors.get(axis), vector, now));
    }
    if (error < TOLERANCE) return ask();
  }
  throw new Error("the soft findings cannot hold at once, or only in the limit.");
}

function nearer(factor, wanted, now) {
  if (wanted.some((p, k) => p > 0 && now[k] === 0)) {
    throw new Error("a soft finding wants states that other findings exclude.");
  }
  const next = factor.map((old, k) => (now[k] > 0 ? (old * wanted[k]) / now[k] : 0));
  const largest = Math.max(...next);
  return next.map((number) => number / largest);
}
