r"""Variable elimination: sum or maximize variables out of a product of tables, one at a time.

.. math:: P(q, e) = \sum_{\text{others}} \prod_i P(x_i \mid \mathrm{pa}_i)\, \lambda_i(x_i)

Every product is divided by its largest entry, whose logarithms are kept apart, so nothing
underflows however many there are.

References: Zhang and Poole (1994); Dechter (1999).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._typing import Floats

__all__ = ["Elimination", "Labeled", "eliminate"]

FEW_FACTORS = 12
"""Factors multiplied in one go, which NumPy limits."""
LEAST = 1e-20
"""A product whose largest entry is smaller is formed anew, scaled after each factor."""
FEW_CELLS = 2000
"""Joint states up to which a plain loop over them is done before the best way would be found."""


@dataclass(frozen=True, slots=True, eq=False)
class Labeled:
    """An array with a name for each axis."""

    names: tuple[str, ...]
    values: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """What is left after eliminating, with products that were formed on the way.

    ``values``, of which the largest is one, times ``exp(log_scale)`` is the result over ``names``.
    ``steps`` has, for each variable that was maximized, or for all if they were to be kept, the
    product in which it was, the variable last, in the order of elimination. If the result is zero
    everywhere, ``log_scale`` is minus infinity and the rest says nothing.
    """

    names: tuple[str, ...]
    values: Floats
    log_scale: float
    steps: tuple[Labeled, ...]


def eliminate(
    factors: Sequence[Labeled],
    order: Sequence[str],
    *,
    kept: Sequence[str] = (),
    maximize: Collection[str] = (),
    keeps_steps: bool = False,
) -> Elimination:
    """Sum out, or maximize, the variables in this order; the result has the axes ``kept``."""
    log_scale = sum(_log(float(f.values)) for f in factors if not f.names)
    pool = [factor for factor in factors if factor.names]
    steps: list[Labeled] = []
    for name in order:
        if log_scale == -math.inf:
            return Elimination(tuple(kept), np.zeros(()), log_scale, ())
        if name in kept:
            continue
        mentioned = [factor for factor in pool if name in factor.names]
        pool = [factor for factor in pool if name not in factor.names]
        rest = tuple(v for v in _scope(mentioned) if v != name)
        if keeps_steps or name in maximize:
            table, log_part = _product(mentioned, (*rest, name))
            steps.append(Labeled((*rest, name), table))
            table = table.max(axis=-1) if name in maximize else table.sum(axis=-1)
        else:
            table, log_part = _product(mentioned, rest)
        log_scale += log_part
        if rest:
            pool.append(Labeled(rest, table))
        else:
            log_scale += _log(float(table))
    values, log_part = _product(pool, tuple(kept))
    return Elimination(tuple(kept), values, log_scale + log_part, tuple(steps))


def _product(factors: Sequence[Labeled], kept: tuple[str, ...]) -> tuple[Floats, float]:
    """Product of the factors summed over all variables but ``kept``, and the log of what it lacks.

    Many factors are multiplied a few at a time, each product divided by its largest entry.
    """
    pool, log_scale = list(factors), 0.0
    while len(pool) > FEW_FACTORS:
        some, pool = pool[:FEW_FACTORS], pool[FEW_FACTORS:]
        scope = _scope(some)
        values, log_part = _multiplied(some, scope)
        pool.append(Labeled(scope, values))
        log_scale += log_part
    values, log_part = _multiplied(pool, kept)
    return values, log_scale + log_part


def _multiplied(factors: Sequence[Labeled], kept: tuple[str, ...]) -> tuple[Floats, float]:
    """A product of a few factors, divided by its largest entry, and the logarithm of that."""
    values = _einsum(factors, kept)
    if len(factors) < 3 or values.max() >= LEAST:
        return _scaled(values)
    first, *others = factors
    log_scale = 0.0
    for factor in others[:-1]:
        scope = _scope([first, factor])
        values, log_part = _scaled(_einsum([first, factor], scope))
        first, log_scale = Labeled(scope, values), log_scale + log_part
    values, log_part = _scaled(_einsum([first, others[-1]], kept))
    return values, log_scale + log_part


def _einsum(factors: Sequence[Labeled], kept: tuple[str, ...]) -> Floats:
    if not factors:
        return np.ones(())
    size = {name: r for f in factors for name, r in zip(f.names, f.values.shape, strict=True)}
    axis = {name: i for i, name in enumerate(size)}
    operands: list[Any] = []
    for factor in factors:
        operands += [factor.values, [axis[name] for name in factor.names]]
    way = "greedy" if math.prod(size.values()) > FEW_CELLS else False
    return np.einsum(*operands, [axis[name] for name in kept], optimize=way)


def _scaled(values: Floats) -> tuple[Floats, float]:
    largest = float(values.max())
    return (values / largest, math.log(largest)) if largest > 0 else (values, -math.inf)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _scope(factors: Sequence[Labeled]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for factor in factors for name in factor.names))
