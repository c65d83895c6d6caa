"""Hill climbing in other libraries, on one data frame, for the benchmarks of structure learning."""

from __future__ import annotations

from typing import Any

import numpy as np

import consilience as cs


def shuffled_sample(net: cs.Network, n_rows: int, seed: int) -> tuple[Any, cs.Table, cs.DAG]:
    """Rows of a network, columns shuffled and renamed: a frame, a table, and the graph."""
    import pandas as pd

    rows = net.sample(n_rows, seed=seed)
    rng = np.random.default_rng(seed)
    names = list(rows.variables)
    renamed = {old: f"v{i:04d}" for old, i in zip(names, rng.permutation(len(names)), strict=True)}
    order = [names[i] for i in rng.permutation(len(names))]
    frame = pd.DataFrame(
        {
            renamed[name]: pd.Categorical.from_codes(
                np.asarray(rows.columns[name]),
                pd.Index([f"s{k}" for k in range(rows.variables[name].n_states)], dtype=object),
            )
            for name in order
        }
    )
    arcs = [(renamed[start], renamed[end]) for start, end in net.dag.arcs]
    return frame, cs.read(frame), cs.DAG(arcs, nodes=[renamed[name] for name in order])


def pybnesian(frame: Any, _: cs.Table) -> cs.DAG:
    import pybnesian as pbn

    found = pbn.hc(frame, bn_type=pbn.DiscreteBNType(), score="bic", operators=["arcs"])
    return cs.DAG(found.arcs(), nodes=list(frame.columns))


def pyagrum(frame: Any, _: cs.Table) -> cs.DAG:
    import pyagrum as gum

    learner = gum.BNLearner(frame)
    learner.useScoreBIC()
    learner.useNoPrior()
    learner.useGreedyHillClimbing()
    learner.setNumberOfThreads(1)
    names = learner.names()
    arcs = learner.learnDAG().arcs()
    return cs.DAG([(names[a], names[b]) for a, b in arcs], nodes=list(frame.columns))


def bnlearn_port(frame: Any, _: cs.Table) -> cs.DAG:
    import pybnlearn

    found = pybnlearn.hc(frame, score="bic")
    return cs.DAG([tuple(arc) for arc in pybnlearn.arcs(found)], nodes=list(frame.columns))


PEERS = {
    "PyBNesian": ("pybnesian", pybnesian),
    "pyAgrum": ("pyagrum", pyagrum),
    "bnlearn-port": ("pybnlearn", bnlearn_port),
}
"""Name, the module it needs, and its hill climbing with BIC."""
