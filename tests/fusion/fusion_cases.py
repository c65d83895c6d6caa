"""Graphs and rows that the tests of fusion share."""

from __future__ import annotations

import numpy as np

import consilience as cs
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.fusion.voters import Voter
from consilience.fusion.votes import ArcVotes, Votes, count_votes

NAMES = tuple("ABCDEFG")
TRUE = cs.DAG(
    [("A", "C"), ("B", "C"), ("B", "D"), ("A", "F"), ("D", "F"), ("E", "F"), ("G", "F")], NAMES
)
"""The network of Córdoba-Sánchez et al. (2015): bnlearn's gaussian.test."""

FALSE_ARCS = ("ED BG", "BG", "EB EA", "EG", "EA EG", "", "", "GA GC BF")
TURNED = (1, 3, 7)
"""A split of the 67 votes of the paper's eight sources: false arcs, and who has F -> D."""


def paper_sources() -> dict[str, cs.DAG]:
    sources = {}
    for k, false in enumerate(FALSE_ARCS):
        true = [("F", "D") if arc == ("D", "F") and k in TURNED else arc for arc in TRUE.arcs]
        arcs = [*true, *((pair[0], pair[1]) for pair in false.split())]
        sources[f"{k + 1}"] = cs.DAG(arcs, NAMES)
    return sources


def votes_of(dags, weights=None, ballots=None) -> Votes:
    named = dags if isinstance(dags, dict) else {f"s{i}": dag for i, dag in enumerate(dags)}
    voters = [Voter(name, dag) for name, dag in named.items()]
    weights = dict.fromkeys(named, 1.0) if weights is None else weights
    return count_votes(voters, ArcVotes() if ballots is None else ballots, weights)


def gaussian_rows(n_rows: int, rng: np.random.Generator, *, shift: float = 0.0) -> Table:
    """Three continuous variables, z the child of x and y, and the discrete w its third parent."""
    w = rng.integers(0, 2, n_rows).astype(np.int8)
    x = shift + rng.normal(size=n_rows)
    y = shift + 0.5 * (x - shift) + rng.normal(size=n_rows)
    z = 1 + 2 * w + x * (1 + w) - 0.5 * y + 0.7 * rng.normal(size=n_rows)
    variables = {
        "w": Variable("w", ("no", "yes")),
        **{name: Variable(name) for name in ("x", "y", "z")},
    }
    return Table(Schema(variables), {"w": w, "x": x, "y": y, "z": z})


def slices(table: Table, sizes: list[int]) -> dict[str, Table]:
    ends = np.cumsum([0, *sizes])
    return {f"s{k}": table.take(slice(ends[k], ends[k + 1])) for k in range(len(sizes))}
