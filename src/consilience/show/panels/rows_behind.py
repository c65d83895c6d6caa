"""How many rows stand behind each parent state of a node.

A table that was read anew may have its states in another order than the network, or numbers that
the network cut; its columns are brought into the network's own codes.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats
from consilience.data.align import aligned_codes
from consilience.data.table import Table
from consilience.inference.known_sources import source_codes
from consilience.show.panels.question import Subject

__all__ = ["rows_behind"]


def rows_behind(subject: Subject, node: str) -> Floats | None:
    """Weight of the rows in each joint state of a node's discrete parents, in their order.

    Rows without one of these parents, or without the node, do not count. None if there is no
    table, or it does not record the family.
    """
    table, net = subject.table, subject.network
    if table is None:
        return None
    parents = [v for v in net[node].given if not v.is_continuous]
    by_source = net.source in [v.name for v in parents]
    recorded = {*table.variables, *((net.source,) if table.source == net.source else ())}
    if not {*net[node].parents, node} <= recorded or (by_source and net.source not in recorded):
        return None
    known = _is_known(table, node)
    place = np.zeros(table.n_rows, dtype=np.int64)
    for variable in parents:
        is_source = variable.name == net.source
        codes = source_codes(table, variable) if is_source else aligned_codes(table, variable)
        known &= codes >= 0
        place = place * variable.n_states + codes
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    shape = tuple(v.n_states for v in parents)
    n = int(np.prod(shape))
    return np.bincount(place[known], weights[known], minlength=n).astype(np.float64)


def _is_known(table: Table, node: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    column = table.column(node)
    return ~np.isnan(column) if table.schema[node].is_continuous else column >= 0
