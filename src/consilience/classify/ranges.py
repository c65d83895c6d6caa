"""The range of each column of numbers in training, and rows brought within it.

A regression goes on for ever, and the densities of two classes far outside the rows they were
learned from differ by any amount: a single number there would decide alone, with certainty, about
what no row has shown. So a classifier takes a number beyond the range of its training rows for the
end of that range, just as it takes a state never seen for missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from consilience._typing import Column, Floats
from consilience.data.table import Table

__all__ = ["Ranges", "inside_others", "ranges_of", "within_ranges"]

Ranges: TypeAlias = dict[str, tuple[float, float]]
"""The smallest and the largest number of each continuous column."""


def ranges_of(table: Table) -> Ranges:
    """The range of each continuous variable that has a number at all."""
    found = {}
    for name, variable in table.variables.items():
        if variable.is_continuous and not np.isnan(column := table.column(name)).all():
            found[name] = float(np.nanmin(column)), float(np.nanmax(column))
    return found


def within_ranges(
    table: Table, ranges: Mapping[str, tuple[float, float]]
) -> tuple[Table, dict[str, int]]:
    """The table with numbers beyond a range at its end, and how many there were by column.

    Examples
    --------
    >>> import consilience as cs
    >>> table, n_outside = within_ranges(cs.read({"age": [20.5, 140.5]}), {"age": (18.0, 96.5)})
    >>> table.column("age").tolist(), n_outside
    ([20.5, 96.5], {'age': 1})
    """
    columns: dict[str, Column] = dict(table.columns)
    n_outside = {}
    for name, (least, most) in ranges.items():
        if name not in columns:
            continue
        column = columns[name]
        is_outside = (column < least) | (column > most)
        if is_outside.any():
            n_outside[name] = int(is_outside.sum())
            columns[name] = np.clip(column, least, most)
    if not n_outside:
        return table, {}
    inside = Table(
        table.schema, columns, table.source_codes, weights=table.weights, origins=table.origins
    )
    return inside, n_outside


def inside_others(values: Floats, weights: Floats) -> Floats:
    """Each row of numbers within the range of the other rows; a weight above one is two rows."""
    found = values.copy()
    if len(values) < 2:
        return found
    for k in range(values.shape[1]):
        for sign in (1.0, -1.0):
            column = sign * values[:, k]
            at_end = column == column.max()
            if weights[at_end].sum() <= 1 and not at_end.all():
                found[at_end, k] = sign * column[~at_end].max()
    return found
