r"""Log probabilities and densities of families in rows that know them, and what they leave a node.

.. math:: P(t \mid \text{all others}) \propto P(t \mid \mathrm{pa})
    \prod_{\text{children } c} P(c \mid t, \dots)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from consilience._typing import Column, Floats, Integers
from consilience.network.network import Network

__all__ = ["codes_together", "given_blanket", "log_family", "log_given_blanket"]


def given_blanket(net: Network, target: str, columns: Mapping[str, Column]) -> Floats:
    """P(target | its Markov blanket) in each row; zero everywhere if that is impossible."""
    log_weight = _log_weights(net, target, columns)
    largest = log_weight.max(axis=1, keepdims=True)
    weight = np.where(largest > -np.inf, np.exp(log_weight - np.maximum(largest, -1e300)), 0.0)
    total = weight.sum(axis=1, keepdims=True)
    return np.divide(weight, total, out=weight, where=total > 0)


def log_given_blanket(net: Network, target: str, columns: Mapping[str, Column]) -> Floats:
    """Its logarithm, also where no float holds it; minus infinity everywhere if impossible."""
    log_weight = _log_weights(net, target, columns)
    total = np.logaddexp.reduce(log_weight, axis=1, keepdims=True)
    return log_weight - np.where(total > -np.inf, total, 0.0)


def _log_weights(net: Network, target: str, columns: Mapping[str, Column]) -> Floats:
    families = [target, *net.dag.children(target)]
    return reduce(np.add, (_log_rows(net, name, target, columns) for name in families))


def _log_rows(net: Network, name: str, target: str, columns: Mapping[str, Column]) -> Floats:
    """Log of a family's probability or density in each row, for every state of the target."""
    if name not in net.tables:
        n = len(next(iter(columns.values())))
        each = [
            log_family(net, name, {**columns, target: np.full(n, state)})
            for state in range(net.variables[target].n_states)
        ]
        return np.stack(each, axis=1)
    axes = (*net.tables[name].parents, name)
    others = [axis for axis in axes if axis != target]
    with np.errstate(divide="ignore"):
        log_table = np.log(np.moveaxis(net.tables[name].table, axes.index(target), -1))
    code = codes_together(net, others, columns)
    return log_table.reshape(-1, log_table.shape[-1])[code]


def log_family(net: Network, name: str, columns: Mapping[str, Column]) -> Floats:
    """Log probability or density of a node in rows that know it and its parents."""
    local = net.distributions[name]
    if name in net.tables:
        with np.errstate(divide="ignore"):
            log_table = np.log(net.tables[name].table.ravel())
        return log_table[codes_together(net, (*local.parents, name), columns)]
    discrete = [v.name for v in local.given if not v.is_continuous]
    states = codes_together(net, discrete, columns)
    parents = [columns[v.name] for v in local.given if v.is_continuous]
    values = np.stack(parents, axis=1) if parents else np.zeros((1, 0))
    if name in net.regressions:
        return net.regressions[name].log_densities(states, values, columns[name])
    log = net.logistic[name].log_probabilities(states, values)
    return log[np.arange(len(log)), columns[name]]


def codes_together(net: Network, names: Sequence[str], columns: Mapping[str, Column]) -> Integers:
    """One number for the states of several nodes in each row, the last varying fastest."""
    n_rows = len(next(iter(columns.values()))) if columns else 1
    code = np.zeros(n_rows, np.int64)
    for name in names:
        code = code * net.variables[name].n_states + columns[name]
    return code
