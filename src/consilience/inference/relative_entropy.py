r"""Entropy of a network and divergence between two networks over the same variables.

.. math::
    H(P) = -\sum_i \sum_{\mathrm{pa}_i} P(\mathrm{pa}_i)
        \sum_{x_i} P(x_i \mid \mathrm{pa}_i) \log P(x_i \mid \mathrm{pa}_i)

    \mathrm{KL}(P \,\|\, Q) = -H(P)
        - \sum_i \sum_{x_i, \mathrm{pa}^Q_i} P(x_i, \mathrm{pa}^Q_i) \log Q(x_i \mid
          \mathrm{pa}^Q_i)

Both need only the joint distribution of one family at a time, which is exact; a family whose joint
is out of reach is refused before anything is allocated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np
from scipy.special import entr

from consilience import _check
from consilience._typing import Floats
from consilience.errors import ModelError
from consilience.inference.queries import joint
from consilience.inference.ways import Exact
from consilience.network.network import Network, check_network, discrete_only

__all__ = ["entropy", "kl_divergence"]


def entropy(net: Network, *, by: Exact | None = None) -> float:
    """Entropy of the joint distribution in nats; of discrete nodes only."""
    check_network("entropy", net)
    discrete_only("entropy", net)
    total = 0.0
    for name in _dearest_first(net, {name: local.parents for name, local in net.tables.items()}):
        local = net.tables[name]
        parents = joint(net, local.parents, by=by)
        total += float((parents * entr(local.table).sum(axis=-1)).sum())
    return total


def kl_divergence(p: Network, q: Network, *, by: Exact | None = None) -> float:
    """Divergence of ``q`` from ``p`` in nats; infinite if ``q`` excludes what ``p`` allows.

    Both networks must have the same variables with the same states, each state in whatever order.
    """
    check_network("kl_divergence", p, "p")
    check_network("kl_divergence", q, "q")
    discrete_only("kl_divergence", p)
    discrete_only("kl_divergence", q)
    _check_same_variables(p, q)
    cross = 0.0
    families = {name: (*local.parents, name) for name, local in q.tables.items()}
    for name in _dearest_first(p, families):
        names = families[name]
        weight = joint(p, names, by=by)
        cross -= float(_expected_log(weight, _in_states_of(p, q, names, q.tables[name].table)))
    return max(0.0, cross - entropy(p, by=by))


def _dearest_first(net: Network, scopes: Mapping[str, Sequence[str]]) -> list[str]:
    """The scopes by how many nodes they and their ancestors are, the most first.

    What is out of reach is then refused at once, not after all that is easier.
    """
    behind: dict[str, int] = {}  # a node and its ancestors, a bit each
    for i, name in enumerate(net.dag.topological_order()):
        behind[name] = reduce(or_, (behind[parent] for parent in net.dag.parents(name)), 1 << i)
    n_behind = {
        key: reduce(or_, (behind[name] for name in names), 0).bit_count()
        for key, names in scopes.items()
    }
    return sorted(scopes, key=lambda key: -n_behind[key])


def _check_same_variables(p: Network, q: Network) -> None:
    for name in {*p.variables, *q.variables}:
        if name not in p.variables or name not in q.variables:
            raise ModelError(
                f"the networks must have the same variables; {name!r} is in one only.",
                variable=name,
            )
        if set(p.variables[name].discrete_states) != set(q.variables[name].discrete_states):
            raise ModelError(
                f"the networks must have the same states; those of {name!r} are "
                f"{_check.listed(p.variables[name].discrete_states)} and "
                f"{_check.listed(q.variables[name].discrete_states)}.",
                variable=name,
            )


def _in_states_of(p: Network, q: Network, names: tuple[str, ...], table: Floats) -> Floats:
    orders = [
        [q.variables[name].code(state) for state in p.variables[name].discrete_states]
        for name in names
    ]
    return table[np.ix_(*orders)]


def _expected_log(weight: Floats, table: Floats) -> float:
    if np.any((table == 0) & (weight > 0)):
        return -np.inf
    log = np.log(table, out=np.zeros_like(table), where=table > 0)
    return float((weight * log).sum())
