"""The different values of some columns with their weights: what cut points are found from.

Tallies of parts merge, and grow with the different values and not with the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience import _check
from consilience._typing import Integers
from consilience.data.row_sample import appended
from consilience.data.table import Table
from consilience.data.variable import Schema

__all__ = ["merged", "tallied"]


def tallied(table: Table, names: Sequence[str]) -> Table:
    """The different rows of some columns, each with the weight of all rows like it."""
    ids: Integers = np.zeros(table.n_rows, np.int64)
    for name in names:
        distinct, inverse = np.unique(table.columns[name], return_inverse=True)
        ids = ids * max(1, len(distinct)) + inverse
    _, first, group = np.unique(ids, return_index=True, return_inverse=True)
    return Table(
        Schema({name: table.variables[name] for name in names}),
        {name: table.columns[name][first] for name in names},
        weights=np.bincount(group, table.weights, minlength=len(first)).astype(np.float64),
    )


def merged(one: Table, other: Table, memory_limit: float) -> Table:
    """The tally of the rows of both; refused if it needs more memory than the limit."""
    names = tuple(one.variables)
    both = tallied(appended([one, other]), names)
    _check.memory(
        f"the different values of column {names[0]!r}",
        8.0 * both.n_rows * (1 + len(names)),
        memory_limit,
        "Find cut points on a sample, cs.discretize(rows.scout(), ...), and give cs.Cuts(points).",
    )
    return both
