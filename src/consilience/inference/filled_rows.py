"""Rows with gaps as the rows that a network lets expect: complete, with fractional weights.

Every joint completion of a row's missing states is a row of its own, weighted by its posterior
probability; missing values of continuous variables are their expectations, and their covariances
are kept beside them. The counts and moments of such rows are the expected ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from consilience._typing import Column, Floats
from consilience.data.table import Table, code_type
from consilience.inference.completion import completions, expected_values
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.statistics.engines.memory import LEAST_WEIGHT, Memory
from consilience.statistics.engines.spread import Spread

__all__ = ["LEAST_SHARE", "filled_rows", "filled_table"]

LEAST_SHARE = 1e-6
"""Completions that are less probable than this, given their row, are cut."""


def filled_rows(net: Network, table: Table, *, memory_limit: float = MEMORY_LIMIT) -> Memory:
    """The expected rows under a network with all variables of the table; none of it is missing."""
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(float)
    found = completions(net, table, LEAST_SHARE, memory_limit=memory_limit)
    shares = found.shares * weights[found.rows]
    kept = np.flatnonzero(shares >= LEAST_WEIGHT)
    columns = {name: codes[kept] for name, codes in found.codes.items()}
    if not net.regressions:
        return Memory(filled_table(table, columns, shares[kept]).distinct())
    known = {name: table.column(name)[found.rows[kept]] for name in net.regressions}
    values, spread = expected_values(net, {**columns, **known}, memory_limit=memory_limit)
    filled = filled_table(table, {**columns, **values}, shares[kept])
    return Memory(filled, spread=[Spread(*one) for one in spread])


def filled_table(table: Table, columns: Mapping[str, Column], weights: Floats) -> Table:
    """Completed rows as a table with the schema of another."""
    given = table.schema.source
    every = [*table.variables.values(), *([] if given is None else [given])]
    if given is not None and given.name not in columns:  # the only source is no node
        columns = {**columns, given.name: np.zeros(len(weights), np.int32)}
    coded: dict[str, Column] = {}
    for one in every:
        kind = np.float64 if one.is_continuous else code_type(one.n_states)
        coded[one.name] = columns[one.name].astype(kind)
    source = None if given is None else coded.pop(given.name)
    return Table(table.schema, coded, source, weights.astype(np.float64))
