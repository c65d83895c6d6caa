r"""Variable elimination with logarithms, for factors whose entries are densities.

.. math:: \log \sum_v \prod_i f_i = \operatorname{logsumexp}_v \sum_i \log f_i

Densities of long evidence differ by factors that no float holds, so that products are sums of
logarithms here, at some cost in speed. Each entry also has a *rank*: how many values have a point
mass there rather than a density. A point mass beats any density, so ranks add in products, and in
sums only the entries of the highest rank count.

The first axis of every factor are rows, or one entry that stands for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from consilience._typing import Floats, Integers

__all__ = ["LogElimination", "LogFactor", "eliminate_logs"]


@dataclass(frozen=True, slots=True, eq=False)
class LogFactor:
    """Logarithms with a name for each axis after the rows; no ranks are ranks of zero."""

    names: tuple[str, ...]
    log: Floats
    rank: Integers | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LogElimination:
    """What is left after eliminating: ``result`` over the kept names.

    ``steps`` has, for each variable that was eliminated, the product in which it was, the variable
    last, in the order of elimination: going back through them gives the most probable states, or
    draws of them.
    """

    result: LogFactor
    steps: tuple[LogFactor, ...]


def eliminate_logs(
    factors: Sequence[LogFactor],
    order: Sequence[str],
    *,
    kept: Sequence[str] = (),
    maximize: Collection[str] = (),
) -> LogElimination:
    """Sum out, or maximize, the variables in this order; the result has the axes ``kept``."""
    pool, steps = list(factors), []
    for name in order:
        if name in kept:
            continue
        mentioned = [factor for factor in pool if name in factor.names]
        pool = [factor for factor in pool if name not in factor.names]
        scope = dict.fromkeys(v for factor in mentioned for v in factor.names if v != name)
        product = _product(mentioned, (*scope, name))
        steps.append(product)
        pool.append(_reduced(product, is_maximum=name in maximize))
    return LogElimination(_product(pool, tuple(kept)), tuple(steps))


def _product(factors: Sequence[LogFactor], scope: tuple[str, ...]) -> LogFactor:
    log = np.zeros((1,) * (len(scope) + 1))
    for factor in factors:
        log = log + _aligned(factor.log, factor.names, scope)
    ranks = [_aligned(f.rank, f.names, scope) for f in factors if f.rank is not None]
    rank = np.asarray(sum(ranks)) if ranks else None
    return LogFactor(scope, log, rank)


def _aligned(array: Floats | Integers, names: Sequence[str], scope: Sequence[str]) -> Floats:
    """The array with its axes in the order of the scope, and axes of one where it has none."""
    order = sorted(range(len(names)), key=lambda i: scope.index(names[i]))
    turned = array.transpose(0, *(i + 1 for i in order))
    sizes = iter(turned.shape[1:])
    shape = [next(sizes) if name in names else 1 for name in scope]
    return np.asarray(turned.reshape(len(array), *shape))


def _reduced(factor: LogFactor, *, is_maximum: bool) -> LogFactor:
    """The factor without its last axis."""
    log, rank, names = factor.log, factor.rank, factor.names[:-1]
    if rank is not None:
        possible = np.where(log > -np.inf, rank, -1)
        highest = possible.max(axis=-1, keepdims=True)
        log = np.where(possible == highest, log, -np.inf)
        rank = np.maximum(highest[..., 0], 0)
    largest = log.max(axis=-1)
    if is_maximum:
        return LogFactor(names, largest, rank)
    safe = np.where(largest > -np.inf, largest, 0.0)
    total = np.exp(log - safe[..., None]).sum(axis=-1)
    with np.errstate(divide="ignore"):
        return LogFactor(names, safe + np.log(total), rank)
