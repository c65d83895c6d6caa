"""Counts of a family whose full table would be mostly empty: only the parent states that occur."""

from __future__ import annotations

import numpy as np

from consilience._typing import Integers
from consilience.data.table import Table
from consilience.statistics.family import Family

__all__ = ["count_seen"]

MOST_CODES = 2**62


def count_seen(
    table: Table, family: Family, weights: Integers | None, *, by_source: bool
) -> tuple[Integers, Integers]:
    """Counts (sources, parent states seen, states), and the states of the parents seen."""
    child = table.column(family.child)
    is_known = child >= 0
    for name in family.parents:
        is_known = is_known & (table.column(name) >= 0)
    kept = np.flatnonzero(is_known)
    columns = [table.column(name)[kept].astype(np.int64) for name in family.parents]
    code = _joint_code(columns, [table.schema[name].n_states for name in family.parents])
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    seen = np.stack([column[first] for column in columns], axis=1)
    source = np.zeros(len(kept), np.int64)
    n_sources = 1
    if by_source and table.source_codes is not None:
        source, n_sources = table.source_codes[kept].astype(np.int64), len(table.sources)
    counts = np.zeros((n_sources, len(first), table.schema[family.child].n_states), np.int64)
    np.add.at(counts, (source, place, child[kept]), 1 if weights is None else weights[kept])
    return counts, seen


def _joint_code(columns: list[Integers], n_states: list[int]) -> Integers:
    """One number for each row, in the lexicographic order of the columns."""
    code, n_codes = np.zeros(len(columns[0]), np.int64), 1
    for column, n in zip(columns, n_states, strict=True):
        if n_codes * n >= MOST_CODES:  # number the codes that occur anew; their order stays
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            n_codes = int(code.max(initial=0)) + 1
        code = code * n + column
        n_codes *= n
    return code
