r"""Moments and regressions with twice the digits of a float.

A number is a sum of two floats, its value and what rounding left of it. Sums and products of floats
are had without error in that form (Knuth 1969, Dekker 1971), so that about 32 digits are kept.
Centred products lose the square of what the columns have in common: with :math:`y = x + e\,u` a
share of :math:`e^2` of the variance is left, 1e-16 for :math:`e` of 1e-8, of which products with 16
digits know nothing and products with 32 digits know half.

A regression is the factorisation :math:`S = L D L^\top` of the products of its parents, child last.
A column is a linear function of those before it if what they leave is no more than the rounding of
the values themselves, with the coefficients :math:`\beta` of that function and the sums of squares
:math:`q = S + n m^2` around zero,

.. math:: D_i \le (8 \varepsilon)^2 \Bigl(q_i + \sum_j \beta_j^2 q_j\Bigr) .

References
----------
D. Knuth (1969). The Art of Computer Programming 2: Seminumerical Algorithms.
T. Dekker (1971). A floating-point technique for extending the available precision. Numerische
Mathematik 18.
"""

from __future__ import annotations

import math

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "add_rows_finely",
    "combine_finely",
    "intercepts_finely",
    "merge_finely",
    "misfits_finely",
    "regress_finely",
    "solve_finely",
]

VERSION = "0.1.0"  # numba's cache does not see edits elsewhere

SPLITTER = 134217729.0  # 2^27 + 1
ROUNDING = (8.0 * 2.220446049250313e-16) ** 2
"""Of the sum of squares of values that were rounded a few times, what rounding leaves."""


@kernel
def add_rows_finely(
    values: Floats,
    weights: Floats,
    code: Integers,
    weight: Floats,
    mean: Floats,
    scatter: Floats,
    mean_rest: Floats,
    scatter_rest: Floats,
) -> None:
    """Fill in the moments of each group of rows.

    Parameters
    ----------
    values, weights, code
        The rows, shape (rows, variables), their weights and groups.
    weight, mean
        Of the groups; the means come in near enough, and go out exact.
    scatter, mean_rest, scatter_rest
        The answers; zero at first.
    """
    n_rows, d = values.shape
    center = mean.copy()
    mean[:] = 0.0
    high, low, whigh, wlow = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for r in range(n_rows):
        g, w = code[r], weights[r]
        for i in range(d):
            high[i], low[i] = _sum(values[r, i], -center[g, i])
            whigh[i], wlow[i] = _times(high[i], low[i], w, 0.0)
            mean[g, i], mean_rest[g, i] = _add(mean[g, i], mean_rest[g, i], whigh[i], wlow[i])
        for i in range(d):
            for j in range(i + 1):
                a, b = _times(whigh[i], wlow[i], high[j], low[j])
                scatter[g, i, j], scatter_rest[g, i, j] = _add(
                    scatter[g, i, j], scatter_rest[g, i, j], a, b
                )
    for g in range(len(weight)):
        if weight[g] <= 0.0:
            continue
        for i in range(d):
            for j in range(i + 1):
                a, b = _times(mean[g, i], mean_rest[g, i], mean[g, j], mean_rest[g, j])
                a, b = _over(a, b, -weight[g], 0.0)
                a, b = _add(scatter[g, i, j], scatter_rest[g, i, j], a, b)
                scatter[g, i, j], scatter_rest[g, i, j] = a, b
                scatter[g, j, i], scatter_rest[g, j, i] = a, b
        for i in range(d):
            a, b = _over(mean[g, i], mean_rest[g, i], weight[g], 0.0)
            mean[g, i], mean_rest[g, i] = _add(a, b, center[g, i], 0.0)


@kernel
def merge_finely(
    weight: Floats,
    mean: Floats,
    scatter: Floats,
    mean_rest: Floats,
    scatter_rest: Floats,
    other_weight: Floats,
    other_mean: Floats,
    other_scatter: Floats,
    other_mean_rest: Floats,
    other_scatter_rest: Floats,
) -> None:
    """Add the moments of other rows to those of the same groups, in place."""
    d = mean.shape[1]
    gap, gap_rest = np.empty(d), np.empty(d)
    for g in range(len(weight)):
        n, m = weight[g], other_weight[g]
        if m <= 0.0:
            continue
        if n <= 0.0:
            weight[g], mean[g], mean_rest[g] = m, other_mean[g], other_mean_rest[g]
            scatter[g], scatter_rest[g] = other_scatter[g], other_scatter_rest[g]
            continue
        for i in range(d):
            gap[i], gap_rest[i] = _add(
                other_mean[g, i], other_mean_rest[g, i], -mean[g, i], -mean_rest[g, i]
            )
        all_high, all_low = _sum(n, m)
        share, share_rest = _over(m, 0.0, all_high, all_low)
        cross, cross_rest = _times(share, share_rest, n, 0.0)
        for i in range(d):
            a, b = _times(share, share_rest, gap[i], gap_rest[i])
            mean[g, i], mean_rest[g, i] = _add(mean[g, i], mean_rest[g, i], a, b)
            a, b = _times(cross, cross_rest, gap[i], gap_rest[i])
            for j in range(d):
                high, low = _times(a, b, gap[j], gap_rest[j])
                high, low = _add(high, low, other_scatter[g, i, j], other_scatter_rest[g, i, j])
                scatter[g, i, j], scatter_rest[g, i, j] = _add(
                    scatter[g, i, j], scatter_rest[g, i, j], high, low
                )
        weight[g] = n + m


@kernel
def regress_finely(
    weight: Floats,
    mean: Floats,
    scatter: Floats,
    scatter_rest: Floats,
    children: Integers,
    starts: Integers,
    parents: Integers,
    ridge: float,
    wanted: Bools,
    residual: Floats,
    rank: Integers,
    log_det: Floats,
) -> None:
    """Fill in the answers of :func:`regressions.regress` for the wanted groups and families.

    A residual sum of squares that is nothing but rounding is zero.
    """
    d = mean.shape[1]
    factor, pivots, slopes = np.empty((2, 2, d, d)), np.empty((2, d)), np.empty((2, d))
    square, members = np.empty(d), np.empty(d, np.int64)
    for g in range(len(scatter)):
        for i in range(d):
            square[i] = scatter[g, i, i] + weight[g] * mean[g, i] ** 2
        for f in range(len(children)):
            if not wanted[g, f]:
                continue
            k = _listed(children, starts, parents, f, members)
            products, rest = scatter[g], scatter_rest[g]
            _factorise(products, rest, square, members[: k + 1], ridge, factor, pivots, slopes)
            n_kept, total = 0, 0.0
            for i in range(k):
                if pivots[0, i] > 0.0:
                    n_kept += 1
                    total += math.log(pivots[0, i])
            residual[g, f], rank[g, f], log_det[g, f] = pivots[0, k], n_kept, total


@kernel
def misfits_finely(
    total_weight: float,
    center: Floats,
    total: Floats,
    center_rest: Floats,
    total_rest: Floats,
    weight: Floats,
    mean: Floats,
    scatter: Floats,
    mean_rest: Floats,
    scatter_rest: Floats,
    children: Integers,
    starts: Integers,
    parents: Integers,
    wanted: Bools,
    out: Floats,
) -> None:
    """Fill in the answers of :func:`regressions.misfits` for the wanted groups and families."""
    d = mean.shape[1]
    factor, pivots, slopes = np.empty((2, 2, d, d)), np.empty((2, d)), np.empty((2, d))
    square, members = np.empty(d), np.empty(d, np.int64)
    for i in range(d):
        square[i] = total[i, i] + total_weight * center[i] ** 2
    for f in range(len(children)):
        if not wanted[:, f].any():
            continue
        k = _listed(children, starts, parents, f, members)
        _factorise(total, total_rest, square, members[: k + 1], 0.0, factor, pivots, slopes)
        slopes[0, k], slopes[1, k] = -1.0, 0.0
        for g in range(len(scatter)):
            if not wanted[g, f]:
                continue
            gap, gap_rest, spread, spread_rest = 0.0, 0.0, 0.0, 0.0
            for i in range(k + 1):
                one = members[i]
                a, b = _add(mean[g, one], mean_rest[g, one], -center[one], -center_rest[one])
                a, b = _times(a, b, slopes[0, i], slopes[1, i])
                gap, gap_rest = _add(gap, gap_rest, a, b)
                a, b = 0.0, 0.0
                for j in range(k + 1):
                    c, e = _times(
                        slopes[0, j],
                        slopes[1, j],
                        scatter[g, one, members[j]],
                        scatter_rest[g, one, members[j]],
                    )
                    a, b = _add(a, b, c, e)
                a, b = _times(a, b, slopes[0, i], slopes[1, i])
                spread, spread_rest = _add(spread, spread_rest, a, b)
            out[g, f] = max(spread, 0.0) + weight[g] * gap * gap


@kernel
def solve_finely(
    weight: Floats,
    mean: Floats,
    scatter: Floats,
    scatter_rest: Floats,
    slopes: Floats,
    root: Floats,
    null: Floats,
) -> None:
    r"""Fill in the regression of the last variable on the others, in each group.

    Parameters
    ----------
    weight, mean, scatter, scatter_rest
        The moments of the groups.
    slopes
        Shape (groups, parents); zero for a parent that is a function of those before it.
    root
        Upper triangular factor R of the products, :math:`R^\top R = S`, shape (groups, variables,
        variables); zero rows for variables that are functions of those before them.
    null
        In row i, if parent i is such a function, the combination of the parents that is zero, with
        coefficient -1 for parent i; zero otherwise. Shape (groups, parents, parents).
    """
    d = mean.shape[1]
    factor, pivots, found = np.empty((2, 2, d, d)), np.empty((2, d)), np.empty((2, d))
    square, members = np.empty(d), np.arange(d)
    for g in range(len(scatter)):
        for i in range(d):
            square[i] = scatter[g, i, i] + weight[g] * mean[g, i] ** 2
        _factorise(scatter[g], scatter_rest[g], square, members, 0.0, factor, pivots, found)
        slopes[g, :] = found[0, : d - 1]
        root[g, :, :] = 0.0
        null[g, :, :] = 0.0
        for j in range(d):
            if pivots[0, j] > 0.0:
                size = math.sqrt(pivots[0, j])
                root[g, j, j] = size
                for i in range(j + 1, d):
                    root[g, j, i] = factor[1, 0, i, j] * size
            elif j < d - 1:
                _slopes(factor, pivots, j, found)
                null[g, j, :j] = found[0, :j]
                null[g, j, j] = -1.0


@kernel
def intercepts_finely(mean: Floats, mean_rest: Floats, slopes: Floats, out: Floats) -> None:
    """Fill in the mean of the last variable less the slopes times those of the others."""
    k = slopes.shape[1]
    for g in range(len(mean)):
        high, low = mean[g, k], mean_rest[g, k]
        for i in range(k):
            a, b = _times(mean[g, i], mean_rest[g, i], -slopes[g, i], 0.0)
            high, low = _add(high, low, a, b)
        out[g] = high


@kernel
def combine_finely(
    mean: Floats,
    scatter: Floats,
    mean_rest: Floats,
    scatter_rest: Floats,
    center: Floats,
    combination: Floats,
    level: Floats,
    error: Floats,
    along: Floats,
    spread: Floats,
) -> None:
    r"""Fill in what a combination v of the variables is in each group.

    Parameters
    ----------
    mean, scatter, mean_rest, scatter_rest
        The moments m and S of the groups.
    center, combination, level
        c of the variables, v and a number l of each group.
    error, along, spread
        The answers :math:`v^\top (m - c) - l`, :math:`S v` and :math:`v^\top S v`.
    """
    d = mean.shape[1]
    for g in range(len(mean)):
        gap, gap_rest, total, total_rest = -level[g], 0.0, 0.0, 0.0
        for i in range(d):
            a, b = _add(mean[g, i], mean_rest[g, i], -center[i], 0.0)
            a, b = _times(a, b, combination[g, i], 0.0)
            gap, gap_rest = _add(gap, gap_rest, a, b)
            high, low = 0.0, 0.0
            for j in range(d):
                a, b = _times(scatter[g, i, j], scatter_rest[g, i, j], combination[g, j], 0.0)
                high, low = _add(high, low, a, b)
            along[g, i] = high
            high, low = _times(high, low, combination[g, i], 0.0)
            total, total_rest = _add(total, total_rest, high, low)
        error[g], spread[g] = gap, total


@inner
def _listed(
    children: Integers, starts: Integers, parents: Integers, f: int, members: Integers
) -> int:
    """Fill in the parents of a family, then its child; return the number of parents."""
    k = starts[f + 1] - starts[f]
    members[:k] = parents[starts[f] : starts[f + 1]]
    members[k] = children[f]
    return k


@inner
def _factorise(
    products: Floats,
    rest: Floats,
    square: Floats,
    members: Integers,
    ridge: float,
    factor: Floats,
    pivots: Floats,
    slopes: Floats,
) -> None:
    """Fill in L D and L (in ``factor``), D (in ``pivots``) and the slopes of the last member.

    The pivot of a member that is a function of those before it is zero.
    """
    for i in range(len(members)):
        one = members[i]
        pivot, low = _add(products[one, one], rest[one, one], ridge, 0.0)
        for j in range(i):
            a, b = 0.0, 0.0
            if pivots[0, j] > 0.0:
                a, b = products[one, members[j]], rest[one, members[j]]
                for m in range(j):
                    c, e = _times(
                        factor[0, 0, i, m],
                        factor[0, 1, i, m],
                        -factor[1, 0, j, m],
                        -factor[1, 1, j, m],
                    )
                    a, b = _add(a, b, c, e)
                c, e = _over(a, b, pivots[0, j], pivots[1, j])
                factor[1, 0, i, j], factor[1, 1, i, j] = c, e
                c, e = _times(-a, -b, c, e)
                pivot, low = _add(pivot, low, c, e)
            else:
                factor[1, 0, i, j], factor[1, 1, i, j] = 0.0, 0.0
            factor[0, 0, i, j], factor[0, 1, i, j] = a, b
        _slopes(factor, pivots, i, slopes)
        bound = square[one]
        for j in range(i):
            bound += (slopes[0, j] * math.sqrt(square[members[j]])) ** 2  # no overflow
        if ridge > 0.0:
            pivot = max(pivot, ridge)
        elif pivot <= ROUNDING * bound:
            pivot, low = 0.0, 0.0
        pivots[0, i], pivots[1, i] = pivot, low


@inner
def _slopes(factor: Floats, pivots: Floats, i: int, slopes: Floats) -> None:
    """Fill in the coefficients of member i as a function of those before it."""
    for j in range(i - 1, -1, -1):
        a, b = 0.0, 0.0
        if pivots[0, j] > 0.0:
            a, b = factor[1, 0, i, j], factor[1, 1, i, j]
            for m in range(j + 1, i):
                c, e = _times(factor[1, 0, m, j], factor[1, 1, m, j], -slopes[0, m], -slopes[1, m])
                a, b = _add(a, b, c, e)
        slopes[0, j], slopes[1, j] = a, b


@inner
def _sum(a: float, b: float) -> tuple[float, float]:
    """The sum of two floats, and what rounding leaves of it."""
    total = a + b
    there = total - a
    return total, (a - (total - there)) + (b - there)


@inner
def _product(a: float, b: float) -> tuple[float, float]:
    """The product of two floats, and what rounding leaves of it."""
    total = a * b
    wide = SPLITTER * a
    a_high = wide - (wide - a)
    wide = SPLITTER * b
    b_high = wide - (wide - b)
    a_low, b_low = a - a_high, b - b_high
    return total, ((a_high * b_high - total) + a_high * b_low + a_low * b_high) + a_low * b_low


@inner
def _add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    high, low = _sum(a, b)
    more, least = _sum(a_low, b_low)
    high, low = _sum(high, low + more)
    return _sum(high, low + least)


@inner
def _times(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    high, low = _product(a, b)
    return _sum(high, low + (a * b_low + a_low * b))


@inner
def _over(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    first = a / b
    high, low = _times(b, b_low, -first, 0.0)
    high, low = _add(a, a_low, high, low)
    second = high / b
    more, least = _times(b, b_low, -second, 0.0)
    high, low = _add(high, low, more, least)
    top, rest = _sum(first, second)
    return _add(top, rest, high / b, 0.0)
