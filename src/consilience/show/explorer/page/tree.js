// Exact beliefs of a discrete network: two passes through its junction tree.
// In each clique the variables that its parent has too come first, so that the message of a cell is
// found by one division. Messages are scaled to a largest entry of 1; the logarithms are added up.

export function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}

// Where each cell of a clique stands in a table over some of its variables.
function cellMap(clique, scope, sizes) {
  const strides = new Map();
  let stride = 1;
  for (const axis of [...scope].reverse()) {
    strides.set(axis, stride);
    stride *= sizes[axis];
  }
  let map = new Int32Array(1);
  for (const axis of clique) {
    const step = strides.get(axis) ?? 0;
    const next = new Int32Array(map.length * sizes[axis]);
    let at = 0;
    for (const start of map) {
      for (let state = 0; state < sizes[axis]; state += 1) next[at++] = start + state * step;
    }
    map = next;
  }
  return map;
}

const product = (axes, sizes) => axes.reduce((n, axis) => n * sizes[axis], 1);

export function compiledTree(stored) {
  const { sizes, cliques, shared, parent, tables } = stored;
  const prior = decoded(stored.prior);
  const numbers = decoded(stored.numbers);
  const cells = cliques.map((clique) => product(clique, sizes));
  const home = new Int32Array(sizes.length);
  cliques.forEach((clique, c) => clique.slice(shared[c]).forEach((axis) => (home[axis] = c)));
  let start = 0;
  const factors = tables.map(([scope, bySource], child) => {
    const first = scope.reduce((best, axis) => (home[axis] < home[best] ? axis : best));
    const clique = home[first];
    const size = product(scope, sizes);
    const factor = { child, clique, size, start, bySource, map: cellMap(cliques[clique], scope, sizes) };
    start += bySource ? size * prior.length : size;
    return factor;
  });
  const links = cliques.map((clique, c) => {
    const separator = clique.slice(0, shared[c]);
    const size = product(separator, sizes);
    const map = parent[c] < 0 ? null : cellMap(cliques[parent[c]], separator, sizes);
    return { size, map, behind: cells[c] / size };
  });
  const own = sizes.map((_, axis) => cellMap(cliques[home[axis]], [axis], sizes));
  return { sizes, parent, cells, home, factors, links, own, numbers, prior };
}

// Joint tables of all cliques of one source before evidence; nodes that are set have a certain state.
export function potentialsOf(tree, source, set) {
  const tables = tree.cells.map((n) => new Float64Array(n).fill(1));
  for (const { child, clique, size, start, bySource, map } of tree.factors) {
    const table = tables[clique];
    if (set.has(child)) {
      const own = tree.own[child];
      const home = tables[tree.home[child]];
      for (let i = 0; i < home.length; i += 1) if (own[i] !== set.get(child)) home[i] = 0;
      continue;
    }
    const at = start + (bySource ? source * size : 0);
    for (let i = 0; i < table.length; i += 1) table[i] *= tree.numbers[at + map[i]];
  }
  return tables;
}

// Marginals of all variables under likelihoods, and the log probability of these.
export function propagated(tree, potentials, likelihoods) {
  const tables = potentials.map((table) => table.slice());
  for (const [axis, vector] of likelihoods) {
    const table = tables[tree.home[axis]];
    const own = tree.own[axis];
    for (let i = 0; i < table.length; i += 1) table[i] *= vector[own[i]];
  }
  const up = [];
  const least = tables.map(() => 1); // bounds what messages have made of positive entries
  let log = 0;
  for (let c = 0; c < tables.length; c += 1) {
    const { size, map, behind } = tree.links[c];
    const message = new Float64Array(size);
    const table = tables[c];
    for (let s = 0, i = 0; s < size; s += 1) {
      let sum = 0;
      for (const end = i + behind; i < end; i += 1) sum += table[i];
      message[s] = sum;
    }
    const largest = message.reduce((a, b) => (a > b ? a : b), 0);
    if (!(largest > 0)) return { log: -Infinity, marginals: null };
    log += Math.log(largest);
    let smallest = 1;
    for (let s = 0; s < size; s += 1) {
      message[s] /= largest;
      if (message[s] > 0 && message[s] < smallest) smallest = message[s];
    }
    up.push(message);
    if (map) {
      const above = tables[tree.parent[c]];
      for (let i = 0; i < above.length; i += 1) above[i] *= message[map[i]];
      least[tree.parent[c]] *= smallest;
      if (least[tree.parent[c]] < 1e-100) {
        log += rescued(above);
        least[tree.parent[c]] = 1;
      }
    }
  }
  for (let c = tables.length - 1; c >= 0; c -= 1) distribute(tree, tables, up, c);
  return { log, marginals: tree.sizes.map((_, axis) => marginal(tree, tables, axis)) };
}

// A table whose entries may come near the end of the floats is scaled up; the log of what it lost.
function rescued(table) {
  let largest = 0;
  for (let i = 0; i < table.length; i += 1) if (table[i] > largest) largest = table[i];
  if (!(largest > 0)) return 0;
  for (let i = 0; i < table.length; i += 1) table[i] /= largest;
  return Math.log(largest);
}

// Make the table of a clique agree with that of its parent, which is final.
function distribute(tree, tables, up, c) {
  const { size, map, behind } = tree.links[c];
  const table = tables[c];
  if (map) {
    const above = tables[tree.parent[c]];
    const down = new Float64Array(size);
    for (let i = 0; i < above.length; i += 1) down[map[i]] += above[i];
    for (let s = 0, i = 0; s < size; s += 1) {
      const factor = up[c][s] > 0 ? down[s] / up[c][s] : 0;
      for (const end = i + behind; i < end; i += 1) table[i] *= factor;
    }
  }
  let total = 0;
  for (let i = 0; i < table.length; i += 1) total += table[i];
  for (let i = 0; i < table.length; i += 1) table[i] /= total;
}

function marginal(tree, tables, axis) {
  const belief = new Array(tree.sizes[axis]).fill(0);
  const table = tables[tree.home[axis]];
  const own = tree.own[axis];
  for (let i = 0; i < table.length; i += 1) belief[own[i]] += table[i];
  const total = belief.reduce((a, b) => a + b, 0);
  return belief.map((p) => p / total);
}
