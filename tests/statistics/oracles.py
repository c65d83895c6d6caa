"""Slow and plain judges of the statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.statistics.family import Family


def make_table(
    n_states: Sequence[int],
    rows: np.ndarray,
    *,
    sources: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    n_sources: int = 3,
) -> Table:
    """A table with variables a, b, c, ... from a matrix of codes (rows, variables)."""
    names = [chr(ord("a") + i) for i in range(len(n_states))]
    variables = {
        name: Variable(name, tuple(f"{name}{k}" for k in range(r)))
        for name, r in zip(names, n_states, strict=True)
    }
    source = None
    if sources is not None:
        source = Variable("site", tuple(f"s{k}" for k in range(n_sources)))
        sources = sources.astype(code_type(n_sources))
    columns = {name: rows[:, i].astype(code_type(n_states[i])) for i, name in enumerate(names)}
    return Table(Schema(variables, source), columns, sources, weights)


def count_slowly(table: Table, family: Family, *, by_source: bool) -> np.ndarray:
    """Counts as float, one row of the table at a time."""
    shape = [table.schema[name].n_states for name in family.variables]
    n_sources = max(1, len(table.sources)) if by_source else 1
    counts = np.zeros((n_sources, *shape))
    for i in range(table.n_rows):
        codes = [int(table.column(name)[i]) for name in family.variables]
        if min(codes) >= 0:
            keeps = by_source and table.source_codes is not None
            f = int(table.source_codes[i]) if keeps else 0
            counts[(f, *codes)] += 1.0 if table.weights is None else float(table.weights[i])
    return counts.reshape(n_sources, -1, shape[-1])
