r"""The value of an expression, from the tables of its families.

Variables are summed out one at a time, the one that leaves the smallest table first. Tables may
have one more axis, of posterior draws: then so has the value.

A row of a table whose parent state has probability zero is *undefined*. It does no harm where its
weight is zero. Whether it matters is found by counting: with :math:`s` the indicator of entries
that are undefined or not zero and :math:`d` the indicator of entries that are defined and not zero,
a sum of products is undefined exactly where :math:`\sum \prod s > \sum \prod d`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.causal.expression import (
    Conditional,
    Expression,
    Fixed,
    Product,
    Ratio,
    Sum,
)
from consilience.data.variable import Variable
from consilience.inference.elimination import Labeled
from consilience.statistics.family import Family

__all__ = ["DRAW", "Value", "value_of"]

DRAW = ""
"""The axis of posterior draws; no variable has this name."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """Numbers over some variables; ``undefined`` marks those that nothing determines, if any."""

    names: tuple[str, ...]
    values: Floats
    undefined: Floats | None = None

    @property
    def has_gaps(self) -> bool:
        """Whether some number is undefined."""
        return self.undefined is not None and bool(np.any(self.undefined))


def value_of(
    expression: Expression,
    tables: Mapping[Family, Value],
    variables: Mapping[str, Variable],
    *,
    memory_limit: float,
) -> Value:
    """The value of an expression over the names it depends on; ``variables`` know the states."""

    def value(part: Expression) -> Value:
        match part:
            case Conditional(family):
                return tables[family]
            case Sum(over, body):
                factors = body.factors if isinstance(body, Product) else (body,)
                return _contracted([value(one) for one in factors], over, memory_limit)
            case Ratio(numerator, denominator):
                return _divided(value(numerator), value(denominator))
            case Fixed(name, state, body):
                return _taken(value(body), name, variables[name].code(state))
        return _contracted([value(one) for one in part.factors], (), memory_limit)

    return value(expression)


def _taken(whole: Value, name: str, code: int) -> Value:
    """The numbers at one state of a variable."""
    if name not in whole.names:
        return whole
    axis = whole.names.index(name)
    gaps = None if whole.undefined is None else np.take(whole.undefined, code, axis=axis)
    names = whole.names[:axis] + whole.names[axis + 1 :]
    return Value(names, np.take(whole.values, code, axis=axis), gaps)


def _contracted(factors: Sequence[Value], over: Sequence[str], limit: float) -> Value:
    """The product of the factors, summed over some variables."""
    result = _sum_product([Labeled(f.names, f.values) for f in factors], over, limit)
    if not any(factor.has_gaps for factor in factors):
        return Value(result.names, result.values)
    support, defined = [], []
    for factor in factors:
        is_open = np.zeros(factor.values.shape) if factor.undefined is None else factor.undefined
        support.append(Labeled(factor.names, ((factor.values != 0) | (is_open > 0)) * 1.0))
        defined.append(Labeled(factor.names, ((factor.values != 0) & (is_open == 0)) * 1.0))
    most = _sum_product(support, over, limit)
    least = _sum_product(defined, over, limit)
    return Value(
        result.names, result.values, np.array(most.values > least.values + 0.5, np.float64)
    )


def _sum_product(factors: Sequence[Labeled], over: Sequence[str], limit: float) -> Labeled:
    pool = list(factors)
    waiting = list(over)
    while waiting:
        name = min(waiting, key=lambda one: _size_without(pool, one))
        waiting.remove(name)
        mentioned = [factor for factor in pool if name in factor.names]
        pool = [factor for factor in pool if name not in factor.names]
        pool.append(_multiplied(mentioned, name, limit))
    return _multiplied(pool, None, limit)


def _multiplied(factors: Sequence[Labeled], without: str | None, limit: float) -> Labeled:
    """The product of some factors, summed over one variable if one is named."""
    sizes = _sizes(factors)
    cells = prod(sizes.values(), start=8.0)
    _check.memory(
        f"a table over {_check.listed(name for name in sizes if name != DRAW)}",
        cells,
        limit,
        "Use fewer states or draws, or raise memory_limit.",
    )
    names = tuple(sizes)
    values = np.ones([1] * len(names))
    for factor in factors:
        values = values * _aligned(factor, names)
    values = np.broadcast_to(values, tuple(sizes.values()))
    if without is None:
        return Labeled(names, values)
    axis = names.index(without)
    return Labeled(names[:axis] + names[axis + 1 :], values.sum(axis=axis))


def _divided(above: Value, below: Value) -> Value:
    names = tuple(dict.fromkeys((*above.names, *below.names)))
    numerator, denominator = (_aligned(Labeled(v.names, v.values), names) for v in (above, below))
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    values = np.zeros(shape)
    np.divide(numerator, denominator, out=values, where=np.broadcast_to(denominator > 0, shape))
    flags = [
        _aligned(Labeled(value.names, value.undefined), names)
        for value in (above, below)
        if value.undefined is not None
    ]
    undefined = np.array(np.broadcast_to(denominator <= 0, shape), np.float64)
    for flag in flags:
        undefined = np.maximum(undefined, flag)
    return Value(names, values, undefined if np.any(undefined) else None)


def _aligned(factor: Labeled, names: Sequence[str]) -> Floats:
    """The array with one axis for each name, of length one where the factor has none."""
    order = [factor.names.index(name) for name in names if name in factor.names]
    shape = [
        factor.values.shape[factor.names.index(name)] if name in factor.names else 1
        for name in names
    ]
    return factor.values.transpose(order).reshape(shape)


def _sizes(factors: Sequence[Labeled]) -> dict[str, int]:
    return {n: r for f in factors for n, r in zip(f.names, f.values.shape, strict=True)}


def _size_without(pool: Sequence[Labeled], name: str) -> int:
    sizes = _sizes([factor for factor in pool if name in factor.names])
    return prod(size for other, size in sizes.items() if other != name)
