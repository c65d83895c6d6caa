r"""The joint distribution of a few variables by eliminating all others.

Only the variables asked for and their ancestors matter; each of the others is summed out of the
product of the tables that mention it, the one with the smallest product first:

.. math:: P(q) = \sum_{\text{others}} \prod_i P(x_i \mid \mathrm{pa}_i)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.network.network import Network

__all__ = ["MEMORY_LIMIT", "joint"]

MEMORY_LIMIT = 2**30

Labelled: TypeAlias = tuple[tuple[str, ...], Floats]
"""Names of the axes, and the array."""


def joint(net: Network, names: Sequence[str], *, memory_limit: float = MEMORY_LIMIT) -> Floats:
    """P(names) as an array with one axis for each name, in their order.

    Time and memory grow with the largest product formed on the way; one above the limit is refused.
    """
    _check.known("node", names, net.distributions)
    relevant = {*names, *net.dag.ancestors(names)}
    factors: list[Labelled] = [
        ((*net[name].parents, name), net[name].table) for name in net.dag.nodes if name in relevant
    ]
    remaining = [name for name in net.dag.nodes if name in relevant and name not in names]
    while remaining:
        size, name = min((_product_size(net, factors, name), name) for name in remaining)
        _check.memory(
            f"eliminating {name!r}", 8 * size, memory_limit, "Ask for fewer variables at once."
        )
        remaining.remove(name)
        mentioned = [factor for factor in factors if name in factor[0]]
        kept = tuple(v for v in _scope(mentioned) if v != name)
        factors = [factor for factor in factors if name not in factor[0]]
        factors.append((kept, _product(mentioned, kept)))
    return _product(factors, tuple(names))


def _scope(factors: Sequence[Labelled]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names, _ in factors for name in names))


def _product_size(net: Network, factors: Sequence[Labelled], name: str) -> float:
    scope = _scope([factor for factor in factors if name in factor[0]])
    return reduce(lambda size, v: size * net.variables[v].n_states, scope, 1.0)


def _product(factors: Sequence[Labelled], kept: tuple[str, ...]) -> Floats:
    """Product of the factors, summed over all variables that are not kept."""
    if not factors:
        return np.ones(())
    axis = {name: i for i, name in enumerate(_scope(factors))}
    operands: list[Any] = []
    for names, array in factors:
        operands += [array, [axis[name] for name in names]]
    product: Floats = np.einsum(*operands, [axis[name] for name in kept], optimize="greedy")
    return product
