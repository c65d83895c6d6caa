"""Do beliefs about graphs keep what they promise? Predictions, calibration, graphs that differ.

- ``predict NAME``: held-out log loss per row of predictions averaged over graphs, beside that of
  the single best graph with the same prior (``BDeu(ess=1)``, ``Dirichlet(ess=1)``), paired. Rows
  are drawn from asia, sachs or insurance. The best graph is exact for the first two; insurance is
  averaged by chains and searched by hill climbing.
- ``calibration``: 200 networks of eight nodes. How often arcs are there that are believed in with a
  probability of 0 to 0.1, 0.1 to 0.2 and so on. First graphs and tables are drawn from the very
  prior that the beliefs assume, which makes exact beliefs calibrated; then from others.
- ``multinets [FIRST]``: four sources of 1,000 rows, one with two arcs more or none, 20 seeds each,
  from 0 on or as told.

    CONSILIENCE_DATA=folder python experiments/averaging.py predict asia
    python experiments/averaging.py calibration
    python experiments/averaging.py multinets
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

import consilience as cs
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.graph.random import uniform_dag

SIZES = (100, 250, 500, 1000)
REPEATS = 20
N_TEST = 2000
N_NETWORKS = 200
CHAINS = cs.averaging.PartitionMCMC(draws=250, chains=2, warmup=200, thin=2, candidates=6)


def main() -> None:
    command, *rest = sys.argv[1:]
    {"predict": predict, "calibration": calibration, "multinets": multinets}[command](*rest)


def predict(name: str) -> None:
    """The learning curve of one network."""
    net = cs.load(Path(os.environ["CONSILIENCE_DATA"]) / "networks" / f"{name}.bif")
    print("| network | rows | best graph | averaged | difference | its standard error |")
    print("|---|---|---|---|---|---|")
    for n_rows in SIZES:
        losses = np.array([losses_of(net, n_rows, seed) for seed in range(REPEATS)])
        away = losses[:, 1] - losses[:, 0]
        error = away.std(ddof=1) / np.sqrt(REPEATS)
        print(
            f"| {name} | {n_rows:,} | {losses[:, 0].mean():.4f} | {losses[:, 1].mean():.4f} | "
            f"{away.mean():+.4f} | {error:.4f} |",
            flush=True,
        )


def losses_of(net: cs.Network, n_rows: int, seed: int) -> tuple[float, float]:
    """Held-out log loss of the best graph and of the average over graphs."""
    rng = np.random.default_rng([n_rows, seed])
    rows, test = net.sample(n_rows, seed=rng), net.sample(N_TEST, seed=rng)
    is_small = len(net.dag.nodes) <= 12
    score = cs.BDeu(ess=1.0)
    search = cs.Exact() if is_small else cs.HillClimb(restarts=20)
    best = cs.fit(cs.learn(rows, score=score, search=search), rows, cs.Dirichlet(ess=1.0))
    belief = cs.average(rows, score=score, by=None if is_small else CHAINS)
    return -float(best.log_likelihood(test).mean()), -float(belief.log_likelihood(test).mean())


def calibration() -> None:
    """Beliefs in arcs beside how often they are there."""
    sparse = cs.scores.MAP(cs.BDeu(ess=10), cs.scores.VariableSelection(0.3))
    by_orders = cs.averaging.Subsets(prior=cs.averaging.OrderModular(), draws=1)
    uniform = cs.averaging.Subsets(draws=1)
    table("all graphs equally likely", uniform_dag, cs.BDeu(ess=10), uniform)
    table("sparse graphs along orders", sparse_dag, sparse, by_orders)
    table("sparse graphs, but all taken to be likely", sparse_dag, cs.BDeu(ess=10), uniform)
    table("rows uniform instead of BDeu's", sparse_dag, sparse, by_orders, is_flat=True)


def sparse_dag(n_nodes: int, rng: np.random.Generator) -> cs.DAG:
    return cs.random_dag(n_nodes, p_arc=0.3, seed=rng)


def table(words, graph_of, score, by, *, is_flat=False) -> None:  # type: ignore[no-untyped-def]
    """One table: ten bins of beliefs and how often the arcs of each were there."""
    beliefs, there = [], []
    for seed in range(N_NETWORKS):
        rng = np.random.default_rng([8, seed])
        dag = graph_of(8, rng)
        net = cs.random_network(dag, seed=rng) if is_flat else drawn_network(dag, 10.0, rng)
        belief = cs.average(net.sample(500, seed=rng), score=score, by=by)
        off = ~np.eye(8, dtype=bool)
        beliefs.append(belief.arcs.matrix[off])
        has = [[(a, b) in dag.arcs for b in belief.nodes] for a in belief.nodes]
        there.append(np.array(has)[off])
    p, is_there = np.concatenate(beliefs), np.concatenate(there)
    bins = np.minimum((10 * p).astype(int), 9)
    print(f"\n{words}: {score!r}, {by!r}\n")
    print("| believed | arcs | mean belief | there |\n|---|---|---|---|")
    away = []
    for k in range(10):
        mine = bins == k
        if mine.any():
            away.append(abs(p[mine].mean() - is_there[mine].mean()))
            print(
                f"| {k / 10:.1f} to {(k + 1) / 10:.1f} | {mine.sum():,} | {p[mine].mean():.3f} | "
                f"{is_there[mine].mean():.3f} |"
            )
    print(f"\nmean distance over the bins {np.mean(away):.4f}", flush=True)


def drawn_network(dag: cs.DAG, ess: float, rng: np.random.Generator) -> cs.Network:
    """Binary tables drawn from the prior of BDeu."""
    variables = {node: cs.Variable(node, ("0", "1")) for node in dag.nodes}
    local = []
    for node in dag.nodes:
        given = tuple(variables[parent] for parent in dag.parents(node))
        shape = (2,) * (len(given) + 1)
        cells = DirichletPosterior(np.full(shape, ess / 2 ** len(shape)))
        local.append(cs.Categorical(variables[node], given, cells.draw(rng)))
    return cs.Network.of(local)


def multinets(first: str = "0") -> None:
    """Evidence for graphs that differ, where one of four sources has two arcs more, and where not.

    The tables of a child with a parent more are turned round in one of its states; the other tables
    are the same in all sources.
    """
    print("| seed | log Bayes factor | arcs found of 2 | arcs invented | alike: log Bayes factor |")
    print("|---|---|---|---|---|")
    began, found, invented, both = time.process_time(), 0, 0, 0
    for seed in range(int(first), int(first) + 20):
        rows, new = four_sources(seed, extra=True)
        result = cs.averaging.multinets(rows)
        seen = {(one.source, frozenset((one.start, one.end))) for one in result.differences()}
        wanted = {("s3", frozenset(arc)) for arc in new}
        alike = cs.averaging.multinets(four_sources(seed, extra=False)[0])
        found += result.probability > 0.5
        both += result.probability > 0.5 and wanted <= seen
        invented += alike.probability > 0.5
        print(
            f"| {seed} | {result.log_bayes_factor:.1f} | {len(wanted & seen)} | "
            f"{len(seen - wanted)} | {alike.log_bayes_factor:.1f} |"
        )
    print(
        f"\nfound {found} of 20 (both arcs {both}), invented {invented} of 20; "
        f"{time.process_time() - began:.0f} s"
    )


def four_sources(seed: int, *, extra: bool) -> tuple[cs.Table, list[tuple[str, str]]]:
    """Rows of four sources over eight binary variables, and the arcs that the last has more."""
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(8, n_arcs=9, max_parents=2, seed=rng)
    net = cs.random_network(dag, total=1.0, seed=rng)
    order = dag.topological_order()
    free = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if (a, b) not in dag.arcs]
    new = [free[i] for i in rng.choice(len(free), 2, replace=False)] if extra else []
    other = cs.Network.of([widened(net, x, [a for a, b in new if b == x]) for x in dag.nodes])
    drawn = {f"s{k}": one.sample(1000, seed=rng) for k, one in enumerate([net, net, net, other])}
    return cs.read({name: one.to_frame() for name, one in drawn.items()}), new


def widened(net: cs.Network, node: str, more: list[str]) -> cs.Categorical:
    """The table of a node with parents more, each of which turns its states round."""
    local, values = net[node], net[node].table
    for _ in more:
        values = np.stack([values, values[..., ::-1]])
    given = (*(net.variables[name] for name in reversed(more)), *local.given)
    return cs.Categorical(local.child, given, values)


if __name__ == "__main__":
    main()
