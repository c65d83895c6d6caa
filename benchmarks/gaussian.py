"""How fast is hill climbing on continuous columns? BIC, one thread, CPU seconds, peers beside us.

Random sparse linear Gaussian networks, columns shuffled. A faster search that ends lower is no
gain, so all graphs are judged by one function, ``cs.score`` with BIC. Last comes the memory that a
search takes once the moments are there: it must not depend on the rows.
"""

# ruff: noqa: E402 - the number of threads must be known before NumPy is imported

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # one thread for everybody

import argparse
import time
import tracemalloc
from typing import Any

import numpy as np
from bench import peer

import consilience as cs
from consilience.statistics.engines.memory import Memory

CASES = ((50, 100_000), (200, 10_000))
"""Variables and rows."""

SEARCHES = {
    "HillClimb(0, 0)": cs.HillClimb(tabu=0, restarts=0),
    "HillClimb(10, 0)": cs.HillClimb(tabu=10, restarts=0),
    "HillClimb(10, 3)": cs.HillClimb(tabu=10, restarts=3),
    "HillClimb()": cs.HillClimb(),
}
"""tabu, restarts: the first optimum, as the peers do it; with a tabu list; with a few restarts, to
end no lower than the peers; the default."""

SEEDS = 3
"""Networks for each case: a single climb is a matter of luck, for everybody."""

MOST_CPU = 300.0
"""Seconds of a peer's first run in a case above which it is left out from then on."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--cases", default="", help="such as 50:100000,200:10000")
    arguments.add_argument("--seeds", type=int, default=SEEDS)
    arguments.add_argument("--peers", default=",".join(PEERS))
    asked = arguments.parse_args()
    wanted = [c.split(":") for c in asked.cases.split(",") if c]
    contestants = [p for p in asked.peers.split(",") if p and peer(PEERS[p][0]) is not None]
    for n_variables, n_rows in [(int(p), int(n)) for p, n in wanted] or CASES:
        print(f"\n{n_variables} variables, {n_rows:,} rows, {2 * n_variables} arcs")
        runs = [contest(n_variables, n_rows, k, contestants) for k in range(1, asked.seeds + 1)]
        summarize(runs)
    if not wanted:
        remember()


def sample(n_variables: int, n_rows: int, seed: int) -> tuple[Any, cs.Table, cs.DAG]:
    """Rows of a random network, two parents a node on average: a frame, a table, the graph."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    names = [f"v{i:03d}" for i in rng.permutation(n_variables)]
    dag = cs.random_dag(names, n_arcs=2 * n_variables, max_parents=4, seed=rng)
    columns: dict[str, Any] = {}
    for node in dag.topological_order():
        slopes = rng.uniform(0.3, 1.2, len(dag.parents(node)))
        signs = rng.choice([-1.0, 1.0], len(slopes))
        columns[node] = rng.normal(rng.normal(0, 10), rng.uniform(0.5, 2.0), n_rows)
        for parent, slope in zip(dag.parents(node), slopes * signs, strict=True):
            columns[node] += slope * columns[parent]
    frame = pd.DataFrame({name: columns[name] for name in rng.permutation(names)})
    return frame, cs.read(frame), dag


def contest(
    n_variables: int, n_rows: int, seed: int, contestants: list[str]
) -> dict[str, tuple[float, float, int]]:
    """CPU seconds, score and distance to the truth of everybody on one network."""
    frame, table, truth = sample(n_variables, n_rows, seed)
    cs.learn(table.take(slice(0, 500)), search=cs.HillClimb(tabu=0, restarts=0))  # compiles
    found = {
        label: timed(lambda s=search: cs.learn(Memory(table, threads=1), search=s), 3)
        for label, search in SEARCHES.items()
    }
    for label in list(contestants):
        found[label] = timed(lambda c=PEERS[label][1]: c(frame), 1)
        if found[label][0] > MOST_CPU:
            contestants.remove(label)
            print(f"  skipped from here on: {label} took {found[label][0]:.0f} s")
    return {
        label: (seconds, cs.score(dag, table, cs.BIC()), cs.shd(dag, truth))
        for label, (seconds, dag) in found.items()
    }


def summarize(runs: list[dict[str, tuple[float, float, int]]]) -> None:
    """Means over the networks; scores are differences to PyBNesian's, or to our first search's."""
    rival = "PyBNesian" if "PyBNesian" in runs[0] else next(iter(SEARCHES))
    seconds = {label: np.mean([run[label][0] for run in runs if label in run]) for label in runs[0]}
    print(f"  CPU seconds, times faster than {rival}, score less its score, SHD: means; each score")
    for label in runs[0]:
        leads = [run[label][1] - run[rival][1] for run in runs if label in run]
        shd = np.mean([run[label][2] for run in runs if label in run])
        each = "  ".join(f"{lead:+.0f}" for lead in leads)
        print(
            f"  {label:<18} {seconds[label]:9.4f} s   {seconds[rival] / seconds[label]:7.1f} x   "
            f"{np.mean(leads):+9.1f}   {shd:6.1f}   ({each})",
            flush=True,
        )


def timed(work: Any, repeats: int) -> tuple[float, cs.DAG]:
    """Median CPU seconds and the graph."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        dag = work()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), dag


def remember() -> None:
    """Peak memory of a search after the pass over the rows."""
    print("\npeak memory of the default search after the moments, 50 variables")
    for n_rows in (1_000, 10_000, 100_000):
        _, table, _ = sample(50, n_rows, 1)
        rows = Once(table)
        cs.learn(rows)
        tracemalloc.start()
        cs.learn(rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"  {n_rows:>9,} rows   {peak / 2**20:6.2f} MiB", flush=True)


class Once:
    """An engine that reads the rows for its first answer only, and gives it again."""

    def __init__(self, table: cs.Table) -> None:
        self.schema = table.schema
        self._rows = Memory(table, threads=1)
        self._known: dict[Any, Any] = {}

    def gather(self, request: Any) -> Any:
        if request not in self._known:
            self._known[request] = self._rows.gather(request)
        return self._known[request]


def pybnesian(frame: Any) -> cs.DAG:
    import pybnesian as pbn

    found = pbn.hc(frame, bn_type=pbn.GaussianNetworkType(), score="bic", operators=["arcs"])
    return cs.DAG(found.arcs(), nodes=list(frame.columns))


def bnlearn_port(frame: Any) -> cs.DAG:
    import pybnlearn

    found = pybnlearn.hc(frame, score="bic-g")
    return cs.DAG([tuple(arc) for arc in pybnlearn.arcs(found)], nodes=list(frame.columns))


PEERS = {
    "PyBNesian": ("pybnesian", pybnesian),
    "bnlearn-port": ("pybnlearn", bnlearn_port),
}
"""Name, the module it needs, and its hill climbing with BIC."""


if __name__ == "__main__":
    main()
