r"""Counterfactuals of complete rows of continuous nodes, many rows at once.

A node keeps its standardised residual (:mod:`consilience.causal.twins`), so that a row in which the
nodes between what is set and y are recorded, with their parents, has one answer,

.. math:: v^* = \mu^*(\mathrm{pa}^*) + \frac{\sigma^*}{\sigma} \bigl(v - \mu(\mathrm{pa})\bigr),

computed from the top down. The twin network says the same of each row, and answers the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience._typing import Bools, Floats
from consilience.causal.twins import copied_nodes
from consilience.data.table import Table
from consilience.distributions import LinearGaussian
from consilience.distributions.local_distribution import kinds
from consilience.inference.evidence import Soft
from consilience.network.network import Network

__all__ = ["kept_residuals"]


def kept_residuals(
    net: Network, table: Table, y: str, do: Mapping[str, Any]
) -> tuple[Floats, Bools] | None:
    """The value of y in the other world for each row, and which rows determine it.

    None if a node that leads to y is discrete, or a distribution is set.
    """
    follows = (copied_nodes(net, do) - frozenset(do)) & (net.dag.ancestors(y) | {y})
    nodes = [name for name in net.dag.topological_order() if name in follows]
    needed = {*nodes, *(parent for name in nodes for parent in net.dag.parents(name))} - {*do}
    recorded = {*table.variables, *([] if table.source is None else [table.source])}
    moved = [name for name in do if any(name in net.dag.parents(node) for node in nodes)]
    is_soft = any(isinstance(state, Soft) for state in do.values())
    if y not in nodes or is_soft or any(name not in net.regressions for name in nodes):
        return None
    if not {*needed, *moved} <= recorded:
        return None
    columns = {name: np.asarray(table.column(name)) for name in (*needed, *moved)}
    is_known = np.ones(table.n_rows, dtype=bool)
    for column in columns.values():
        is_known &= ~np.isnan(column) if column.dtype.kind == "f" else column >= 0
    there: dict[str, Any] = {
        name: float(state) if net.variables[name].is_continuous else net.variables[name].code(state)
        for name, state in do.items()
    }
    for name in nodes:
        there[name] = _moved(net.regressions[name], columns, there)
    return np.asarray(there[y]), is_known


def _moved(
    local: LinearGaussian, here: Mapping[str, Any], there: Mapping[str, Any]
) -> Floats | Any:
    """The value of a node whose parents are others in the other world."""
    discrete, continuous = kinds(local.given)
    value = here[local.child.name]
    before = tuple(here[parent.name] for parent in discrete)
    if not any(parent.name in there for parent in discrete):
        slopes = local.coefficients[before]
        for k, parent in enumerate(continuous):
            if parent.name in there:
                value = value + slopes[..., k] * (there[parent.name] - here[parent.name])
        return value
    after = tuple(there.get(parent.name, here[parent.name]) for parent in discrete)
    sd = local.sd[before]
    scale = np.divide(local.sd[after], sd, out=np.zeros(np.shape(sd)), where=sd > 0)
    residual = value - _mean(local, before, continuous, here)
    return _mean(local, after, continuous, {**here, **there}) + scale * residual


def _mean(local: LinearGaussian, place: Any, continuous: Any, values: Mapping[str, Any]) -> Any:
    slopes = local.coefficients[place]
    return local.intercept[place] + sum(
        slopes[..., k] * values[parent.name] for k, parent in enumerate(continuous)
    )
