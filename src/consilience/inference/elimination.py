r"""Variable elimination: sum or maximize variables out of a product of tables, one at a time.

.. math:: P(q, e) = \sum_{\text{others}} \prod_i P(x_i \mid \mathrm{pa}_i)\, \lambda_i(x_i)

What cannot matter is left out first: nodes that neither are asked for or observed nor lead to such
a node (barren), and, for a posterior, all that the evidence cuts off from the query. Known states
select slices of the tables. Every product is divided by its largest entry, whose logarithms are
kept apart, so nothing underflows.

References: Zhang and Poole (1994); Dechter (1999).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._typing import Floats
from consilience.inference.evidence import Evidence
from consilience.inference.triangulation import Triangulation, interaction, triangulate
from consilience.network.network import Network

__all__ = [
    "Elimination",
    "Labeled",
    "connected",
    "eliminate",
    "factors_of",
    "log_evidence",
    "shape_of",
]

FEW_FACTORS = 12
"""Factors multiplied in one go: few enough for NumPy's limit and for products not to underflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Labeled:
    """An array with a name for each axis."""

    names: tuple[str, ...]
    values: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """What is left after eliminating, with the tables that were maximized on the way.

    ``values``, of which the largest is one, times ``exp(log_scale)`` is the result over ``names``.
    ``maximized`` has, for each variable that was maximized, the product in which it was, the
    variable last, in the order of elimination. If the result is zero everywhere, ``log_scale`` is
    minus infinity and the rest says nothing.
    """

    names: tuple[str, ...]
    values: Floats
    log_scale: float
    maximized: tuple[Labeled, ...]


def factors_of(net: Network, evidence: Evidence, names: Collection[str]) -> list[Labeled]:
    """Tables and likelihoods that matter for the variables and evidence, known states sliced."""
    wanted = [*names, *evidence.names]
    relevant = {*wanted, *net.dag.ancestors(wanted)}
    factors = []
    for name in net.dag.nodes:
        if name in relevant:
            axes = (*net.tables[name].parents, name)
            at = tuple(evidence.known.get(axis, slice(None)) for axis in axes)
            free = tuple(axis for axis in axes if axis not in evidence.known)
            factors.append(Labeled(free, net.tables[name].table[at]))
    for name, vector in evidence.likelihoods.items():
        if name in evidence.known:
            factors.append(Labeled((), vector[evidence.known[name]]))
        else:
            factors.append(Labeled((name,), vector))
    return factors


def connected(factors: Sequence[Labeled], names: Collection[str]) -> list[Labeled]:
    """The factors that a chain of shared variables joins to the names."""
    neighbors = interaction(factor.names for factor in factors)
    reached, frontier = set(names), list(names)
    while frontier:
        for other in neighbors.get(frontier.pop(), ()):
            if other not in reached:
                reached.add(other)
                frontier.append(other)
    return [factor for factor in factors if reached.intersection(factor.names)]


def shape_of(
    net: Network,
    factors: Sequence[Labeled],
    *,
    kept: Sequence[str] = (),
    last: Sequence[str] = (),
) -> Triangulation:
    """How the factors would be eliminated, with ``last`` and then ``kept`` at the end."""
    n_states = {name: variable.n_states for name, variable in net.variables.items()}
    graph = interaction((*(factor.names for factor in factors), tuple(kept)))
    return triangulate(graph, n_states, last=(*last, *kept))


def eliminate(
    factors: Sequence[Labeled],
    order: Sequence[str],
    *,
    kept: Sequence[str] = (),
    maximize: Collection[str] = (),
) -> Elimination:
    """Sum out, or maximize, the variables in this order; the result has the axes ``kept``."""
    log_scale = sum(_log(float(f.values)) for f in factors if not f.names)
    pool = [factor for factor in factors if factor.names]
    maximized: list[Labeled] = []
    for name in order:
        if log_scale == -math.inf:
            return Elimination(tuple(kept), np.zeros(()), log_scale, ())
        if name in kept:
            continue
        mentioned = [factor for factor in pool if name in factor.names]
        pool = [factor for factor in pool if name not in factor.names]
        rest = tuple(v for v in _scope(mentioned) if v != name)
        if name in maximize:
            table, log_part = _product(mentioned, (*rest, name))
            maximized.append(Labeled((*rest, name), table))
            table = table.max(axis=-1)
        else:
            table, log_part = _product(mentioned, rest)
        log_scale += log_part
        if rest:
            pool.append(Labeled(rest, table))
        else:
            log_scale += _log(float(table))
    values, log_part = _product(pool, tuple(kept))
    return Elimination(tuple(kept), values, log_scale + log_part, tuple(maximized))


def log_evidence(net: Network, evidence: Evidence, memory_limit: float) -> float:
    """Log probability of the evidence by variable elimination."""
    factors = factors_of(net, evidence, ())
    shape = shape_of(net, factors)
    shape.cost.check(memory_limit)
    return eliminate(factors, shape.order).log_scale + evidence.log_scale


def _product(factors: Sequence[Labeled], kept: tuple[str, ...]) -> tuple[Floats, float]:
    """Product of the factors summed over all variables but ``kept``, and the log of what it lacks.

    Many factors are multiplied a few at a time, each product divided by its largest entry.
    """
    pool, log_scale = list(factors), 0.0
    while len(pool) > FEW_FACTORS:
        some, pool = pool[:FEW_FACTORS], pool[FEW_FACTORS:]
        scope = _scope(some)
        values, log_part = _scaled(_einsum(some, scope))
        pool.append(Labeled(scope, values))
        log_scale += log_part
    values, log_part = _scaled(_einsum(pool, kept))
    return values, log_scale + log_part


def _einsum(factors: Sequence[Labeled], kept: tuple[str, ...]) -> Floats:
    if not factors:
        return np.ones(())
    axis = {name: i for i, name in enumerate(_scope(factors))}
    operands: list[Any] = []
    for factor in factors:
        operands += [factor.values, [axis[name] for name in factor.names]]
    return np.einsum(*operands, [axis[name] for name in kept], optimize="greedy")


def _scaled(values: Floats) -> tuple[Floats, float]:
    largest = float(values.max())
    return (values / largest, math.log(largest)) if largest > 0 else (values, -math.inf)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _scope(factors: Sequence[Labeled]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for factor in factors for name in factor.names))
