"""Networks in time against static inference on the unrolled network.

Orders one to three, several hidden nodes, arcs inside the slice, ragged panels with gaps, inputs,
and a source that is known or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sequences_made_up import (
    counts_apart,
    family_beliefs,
    panel_of,
    random_dynamic,
    worst_difference,
)

import consilience as cs
from torture.harness import Topic

TOLERANCE = {"discrete": 1e-10, "linear": 1e-8, "emissions": 1e-10}
"""Of all answers, by what the nodes are; of linear ones relative to their size."""


@dataclass(frozen=True)
class TimeCase:
    """A network in time and a panel of it."""

    kind: str
    net: cs.dynamic.DynamicNetwork
    panel: cs.dynamic.Panel


def prepare(seed: int, folder: Path) -> TimeCase:
    """A case of 2 to 4 nodes and 4 sequences, some of them shorter than the order."""
    rng = np.random.default_rng((seed, 14))
    kind, order = list(TOLERANCE)[seed % 3], 1 + seed // 3 % 3
    n = int(rng.integers(2, 5 if order < 3 else 4))
    n_hidden = int(rng.integers(0, n))
    net = random_dynamic(
        rng,
        kind=kind,
        order=order,
        n_nodes=n,
        n_hidden=max(n_hidden, 1) if kind == "emissions" else n_hidden,
        inputs=int(rng.integers(0, 2)),
        sources=int(rng.integers(0, 2)),
    )
    lengths = [order + int(rng.integers(1, 4)), 1, order, int(rng.integers(1, order + 2))]
    return TimeCase(kind, net, panel_of(rng, net, lengths, knows_source=rng.random() < 0.5))


def unrolled(case: TimeCase) -> int:
    """Filter, smooth, log_likelihood and mpe are those of the unrolled network."""
    apart = worst_difference(case.net, case.panel)
    assert apart <= TOLERANCE[case.kind], f"{apart:.2g} apart"
    return 4 * case.panel.n_sequences


def counts(case: TimeCase) -> int:
    """The expected counts of a step of EM are the sums over the slices."""
    if case.kind != "discrete" or (case.net.source and case.panel.rows.source is None):
        return 0
    apart = counts_apart(case.net, case.panel, family_beliefs)
    assert apart <= TOLERANCE[case.kind], f"{apart:.2g} apart"
    return case.panel.n_sequences


TOPIC = Topic("in_time", prepare, {"unrolled": unrolled, "counts": counts}, n_trials=300)
