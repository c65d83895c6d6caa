r"""Elimination with a backward pass: how a sum of products changes with every entry of its factors.

.. math:: N_k = \sum_x a_k(x) \prod_i f_i(x), \qquad
    \frac{\partial N_k}{\partial f_i(y)} = \sum_{x:\, x_i = y} a_k(x) \prod_{j \ne i} f_j(x)

for some functions :math:`a_k` of what is kept. Variables are eliminated forwards, each step is the
product of the factors that mention one; then every step hands what it got back to its factors,
for all k at once (Darwiche 2003). An entry of zero has its derivative like any other, since nothing
is divided by it: the product of the others is formed from both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from consilience._typing import Floats
from consilience.inference.elimination import Labeled

__all__ = ["Backward", "differentiate"]


@dataclass(frozen=True, slots=True, eq=False)
class Backward:
    """Sums, and their derivatives by factor; all of them scaled by one common number.

    Parameters
    ----------
    kept
        The product of everything over what is kept.
    sums
        N of the formula, shape (k,).
    slopes
        For each factor, shape (k, states...).
    """

    kept: Floats
    sums: Floats
    slopes: tuple[Floats, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A product of some factors over a scope, the last variable of which is summed out."""

    inputs: tuple[int, ...]
    scope: tuple[str, ...]
    scale: float


def differentiate(
    factors: Sequence[Labeled], order: Sequence[str], kept: Sequence[str], functions: Floats
) -> Backward:
    """The sums of ``functions`` (k, kept states...) times the factors, and all their derivatives.

    >>> coin = Labeled(("coin",), np.array([0.25, 0.75]))
    >>> found = differentiate([coin], ["coin"], ["coin"], np.eye(2))
    >>> found.sums, found.slopes[0].tolist()
    (array([0.25, 0.75]), [[1.0, 0.0], [0.0, 1.0]])
    """
    nodes, pool, steps = list(factors), list(range(len(factors))), []
    for name in order:
        if name in kept:
            continue
        inputs = tuple(i for i in pool if name in nodes[i].names)
        rest = dict.fromkeys(v for i in inputs for v in nodes[i].names if v != name)
        product = _product([nodes[i] for i in inputs], (*rest, name)).sum(axis=-1)
        largest = float(product.max())
        scale = largest if largest > 0 else 1.0
        steps.append(_Step(inputs, (*rest, name), scale))
        pool = [i for i in pool if i not in inputs]
        pool.append(len(nodes))
        nodes.append(Labeled(tuple(rest), product / scale))
    sizes = functions.shape[1:]
    result = np.broadcast_to(_product([nodes[i] for i in pool], tuple(kept)), sizes)
    slopes: list[Floats | None] = [None] * len(nodes)
    _hand_back(slopes, nodes, pool, tuple(kept), slope=functions)
    for number in reversed(range(len(steps))):
        step, slope = steps[number], slopes[len(factors) + number]
        assert slope is not None  # every product is used later
        down = slope[..., None] / step.scale
        _hand_back(slopes, nodes, step.inputs, step.scope, slope=down)
    found = [slope for slope in slopes[: len(factors)] if slope is not None]
    axes = tuple(range(1, functions.ndim))
    return Backward(result, (functions * result).sum(axis=axes), tuple(found))


def _hand_back(
    slopes: list[Floats | None],
    nodes: Sequence[Labeled],
    inputs: Sequence[int],
    scope: tuple[str, ...],
    *,
    slope: Floats,
) -> None:
    """Give each factor of a product its part: the slope times the product of the others."""
    tables = [_aligned(nodes[i], scope) for i in inputs]
    one = np.ones((1,) * len(scope))
    before = accumulate(tables[:-1], np.multiply, initial=one)
    after = [*accumulate(tables[:0:-1], np.multiply, initial=one)][::-1]
    for i, left, right in zip(inputs, before, after, strict=bool(inputs)):
        names = nodes[i].names
        shape = [nodes[i].values.shape[names.index(name)] if name in names else 1 for name in scope]
        others = tuple(a + 1 for a, name in enumerate(scope) if name not in names)
        full = slope * (left * right)
        full = np.broadcast_to(full, (len(slope), *np.broadcast_shapes(full.shape[1:], shape)))
        own = full.sum(axis=others)
        order = [name for name in scope if name in names]
        slopes[i] = own.transpose(0, *(order.index(name) + 1 for name in names))


def _product(factors: Sequence[Labeled], scope: tuple[str, ...]) -> Floats:
    product = np.ones((1,) * len(scope))
    for factor in factors:
        product = product * _aligned(factor, scope)
    return product


def _aligned(factor: Labeled, scope: tuple[str, ...]) -> Floats:
    """The values with their axes in the order of the scope, of length one where there is none."""
    order = sorted(range(len(factor.names)), key=lambda i: scope.index(factor.names[i]))
    sizes = dict(zip(factor.names, factor.values.shape, strict=True))
    turned = factor.values.transpose(order)
    return turned.reshape([sizes.get(name, 1) for name in scope])
