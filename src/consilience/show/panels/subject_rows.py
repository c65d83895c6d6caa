"""The rows of a subject in the states of its network, and how many stand behind each parent state.

A table that was read anew may have its states in another order than the network, or numbers that
the network cut; here its columns are in the network's own codes.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats
from consilience.data.align import aligned_codes
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.inference.known_sources import source_codes
from consilience.network.network import Network
from consilience.show.panels.question import Subject

__all__ = ["aligned_rows", "can_refit", "joint_states", "rows_behind", "user_dag_nodes"]


def aligned_rows(net: Network, table: Table) -> Table:
    """The columns that the network knows, in its codes; sources and weights stay."""
    names = [n for n in net.variables if n in table.variables and n != net.source]
    columns = {
        n: table.columns[n]
        if net.variables[n].is_continuous
        else aligned_codes(table, net.variables[n])
        for n in names
    }
    return Table(
        schema=Schema({n: net.variables[n] for n in names}, table.schema.source),
        columns=columns,
        source_codes=table.source_codes,
        weights=table.weights,
    )


def can_refit(subject: Subject) -> bool:
    """Whether the rows record every node, so that the network can be fitted to some of them."""
    table = subject.table
    return table is not None and set(user_dag_nodes(subject.network)) <= set(table.variables)


def user_dag_nodes(net: Network) -> tuple[str, ...]:
    """The nodes but for the source."""
    return tuple(name for name in net.dag.nodes if name != net.source)


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


def joint_states(net: Network, node: str) -> int:
    """Number of joint states of a node's discrete parents."""
    return int(np.prod([v.n_states for v in net[node].given if not v.is_continuous]))


def _is_known(table: Table, node: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    column = table.column(node)
    return ~np.isnan(column) if table.schema[node].is_continuous else column >= 0
