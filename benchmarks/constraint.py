"""How fast and how exact is PC-stable? Alarm, 100,000 rows, alpha 0.01, the peers in the same run.

Columns are shuffled and renamed, another sample each seed. Everybody gets the same frame and gives
a partially directed graph, which is held against the class of the true one: the structural Hamming
distance counts pairs that are joined otherwise. CPU seconds are of one thread. Ours runs as users
would choose it for tables with impossible states, Pearson's X² with adjusted degrees of freedom,
which is what pgmpy and pyAgrum test by; G² stands beside it.
"""

from __future__ import annotations

import argparse
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from bench import data_dir, peer
from graph_peers import shuffled_sample

import consilience as cs
from consilience.statistics.engines.memory import Memory

ALPHA = 0.01

TARGET = 5.0
"""Times faster than the fastest peer, at a mean distance no worse than the best peer's."""

PEER_SECONDS = 240
"""A peer that takes longer is stopped and left out from then on, and the output says so."""

Marks = dict[frozenset[str], frozenset[tuple[str, str]]]
"""For each pair that is joined its arcs; both directions for an edge."""

OURS = {
    "PC, X² adjusted": cs.independence.PearsonX2(alpha=ALPHA, adjusted=True),
    "PC, G² adjusted": cs.independence.GSquare(alpha=ALPHA, adjusted=True),
}
"""The judged one first."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--network", default="alarm")
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--peers", default=",".join(PEERS))
    asked = arguments.parse_args()
    contestants = [p for p in asked.peers.split(",") if p and peer(PEERS[p][0]) is not None]
    net = cs.load(data_dir() / "networks" / f"{asked.network}.bif")
    seconds: dict[str, list[float]] = {}
    distances: dict[str, list[int]] = {}
    for seed in range(1, asked.seeds + 1):
        frame, table, dag = shuffled_sample(net, asked.rows, seed)
        truth = marks_of(cs.CPDAG.of(dag))
        warm(table)
        for label in [*OURS, *contestants]:
            start = time.process_time()
            found = ours(table, label) if label in OURS else in_time(PEERS[label][1], frame)
            if found is None:
                print(f"seed {seed}: {label:<18} stopped after {PEER_SECONDS} s", flush=True)
                contestants.remove(label)
                continue
            seconds.setdefault(label, []).append(time.process_time() - start)
            distances.setdefault(label, []).append(distance(found, truth))
            shown = f"{seconds[label][-1]:8.3f} s, distance {distances[label][-1]}"
            print(f"seed {seed}: {label:<18} {shown}", flush=True)
    report(f"{asked.network}, {asked.rows:,} rows", seconds, distances, contestants)


def report(
    title: str,
    seconds: dict[str, list[float]],
    distances: dict[str, list[int]],
    contestants: list[str],
) -> None:
    """Means over the seeds, and whether the target is met."""
    mean = {label: float(np.mean(values)) for label, values in seconds.items()}
    far = {label: float(np.mean(values)) for label, values in distances.items()}
    print(f"\n{title}, alpha {ALPHA}: mean CPU seconds, times the judged, mean distance")
    judged = next(iter(OURS))
    for label in mean:
        ratio = mean[label] / mean[judged]
        print(f"  {label:<18} {mean[label]:8.3f} s   {ratio:6.1f} x   {far[label]:5.1f}")
    if contestants:
        fastest = min(mean[label] for label in contestants)
        best = min(far[label] for label in contestants)
        is_met = fastest >= TARGET * mean[judged] and far[judged] <= best
        print(f"  target {TARGET:g} x at no worse a distance: {'met' if is_met else 'NOT met'}")


def in_time(peer_of: Callable[[Any], Marks], frame: Any) -> Marks | None:
    """What a peer finds; None if it takes too long."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(PEER_SECONDS)
    try:
        return peer_of(frame)
    except TimeoutError:
        return None
    finally:
        signal.alarm(0)


def _stop(*_: Any) -> None:
    raise TimeoutError


def warm(table: cs.Table) -> None:
    """Compile what a search needs, on few rows."""
    ours(table.take(slice(0, 2000)), next(iter(OURS)))


def ours(table: cs.Table, label: str) -> Marks:
    """The class that our search finds, on an engine that knows nothing yet."""
    engine = Memory(table, threads=1)
    return marks_of(cs.search(engine, search=cs.PC(test=OURS[label])).cpdag)


def pgmpy(frame: Any) -> Marks:
    warnings.simplefilter("ignore", FutureWarning)  # one for each test
    from pgmpy.estimators import PC

    found = PC(frame).estimate(
        variant="stable",
        ci_test="chi_square",
        significance_level=ALPHA,
        return_type="pdag",
        n_jobs=1,
        show_progress=False,
    )
    return marks(found.directed_edges, found.undirected_edges)


def causal_learn(frame: Any) -> Marks:
    from causallearn.search.ConstraintBased.PC import pc

    codes = np.column_stack([frame[name].cat.codes for name in frame.columns]).astype(int)
    found = pc(codes, ALPHA, "chisq", stable=True, show_progress=False).G.graph
    names = list(frame.columns)
    arcs = [(names[j], names[i]) for i, j in np.argwhere((found == 1) & (found.T == -1))]
    edges = [(names[i], names[j]) for i, j in np.argwhere((found == -1) & (found.T == -1))]
    clashes = [(names[i], names[j]) for i, j in np.argwhere((found == 1) & (found.T == 1))]
    return marks(arcs, [*edges, *clashes])


def pyagrum(frame: Any) -> Marks:
    import pyagrum as gum

    learner = gum.BNLearner(frame)
    learner.usePC()
    learner.useChi2Test()
    learner.setPCAlpha(ALPHA)
    learner.setPCStable(True)
    learner.setNumberOfThreads(1)
    found = learner.learnPDAG()
    names = learner.names()
    return marks(
        [(names[a], names[b]) for a, b in found.arcs()],
        [(names[a], names[b]) for a, b in found.edges()],
    )


def bnlearn_port(frame: Any) -> Marks:
    import pybnlearn

    found = pybnlearn.pc_stable(frame, test="x2-adf", alpha=ALPHA)
    return marks([tuple(arc) for arc in pybnlearn.arcs(found)], [])


def marks_of(graph: cs.CPDAG) -> Marks:
    return marks(graph.directed, graph.undirected)


def marks(arcs: Any, edges: Any) -> Marks:
    """The arcs of each joined pair; a pair with arcs both ways is an edge."""
    found: dict[frozenset[str], set[tuple[str, str]]] = {}
    for a, b in [*arcs, *edges, *((b, a) for a, b in edges)]:
        found.setdefault(frozenset((a, b)), set()).add((a, b))
    return {pair: frozenset(ways) for pair, ways in found.items()}


def distance(found: Marks, truth: Marks) -> int:
    """Pairs that are joined in one graph only, or otherwise."""
    return sum(found.get(pair) != truth.get(pair) for pair in {*found, *truth})


PEERS: dict[str, tuple[str, Callable[[Any], Marks]]] = {
    "bnlearn-port": ("pybnlearn", bnlearn_port),
    "pgmpy": ("pgmpy", pgmpy),
    "causal-learn": ("causallearn", causal_learn),
    "pyAgrum": ("pyagrum", pyagrum),
}
"""Name, the module it needs, and its PC-stable by the test nearest to ours."""

if __name__ == "__main__":
    main()
