r"""Regressions of many families from centred products, by Cholesky factors of the parents.

For a child y with the parents P and the centred products S,

.. math:: S_{PP} = L L^\top, \qquad w = L^{-1} S_{Py}, \qquad
    \mathrm{RSS} = S_{yy} - w^\top w, \qquad \beta = L^{-\top} w .

The rows of L depend on the parents before them alone. Families stand in an order in which the lists
of parents begin alike, so that what a family shares with the one before it is not computed again:
one parent more costs :math:`O(k^2)` for k parents.

Where the parents before it, or the parents of a child, leave a share of a variable's products, the
error of what is left is about 1e-16 divided by that share, and more where means are large. Below
``DIGITS`` it does not do: the family is marked as lost, and is judged by fine moments
(``fine.py``), in which a function of other columns is told from one that only looks like it.

A parent of which less than ``COLLINEAR`` is left has no row of its own: the answers are numbers
whatever the products are.
"""

from __future__ import annotations

import math

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["has_lost", "list_toggles", "log_likelihoods", "misfits", "regress"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

COLLINEAR = 1e-12
"""Share of a variable's products that is rounding, about 1e-15, with room."""

DIGITS = 1e-5
"""Share of a variable's products below which too few digits are left."""

DIGITS_OF_MEANS = 1e-8
"""What a mean of one standard deviation adds to it."""


@kernel
def regress(
    weight: Floats,
    mean: Floats,
    scatter: Floats,
    children: Integers,
    starts: Integers,
    parents: Integers,
    ridge: float,
    residual: Floats,
    rank: Integers,
    log_det: Floats,
    lost: Bools,
) -> int:
    """Fill in the residual sum of squares, the rank of the parents, and the log determinant of
    their block, of each family in each group; return the number of those that are lost.

    Parameters
    ----------
    weight, mean, scatter
        Number of rows, means, and centred products, shape (groups, variables, variables).
    children
        The child of each family, a place among the variables.
    starts, parents
        The parents of family ``f`` are ``parents[starts[f]:starts[f + 1]]``.
    ridge
        Added to the diagonal.
    residual, rank, log_det
        The answers, shape (groups, families).
    lost
        Where the moments have too few digits for the answer, shape (groups, families). With no more
        rows than coefficients, and no ridge, there is none to lose.
    """
    n_families, n_lost = len(children), 0
    most = 1
    for f in range(n_families):
        most = max(most, starts[f + 1] - starts[f])
    root, along, logs = np.zeros((most, most)), np.zeros(most), np.zeros(most)
    least = np.empty(len(mean[0]))
    for g in range(len(scatter)):
        products = scatter[g]
        _least(weight[g], mean[g], products, ridge, least)
        before, n_before, child_before = 0, 0, -1
        for f in range(n_families):
            first, child = starts[f], children[f]
            k = starts[f + 1] - first
            same = 0
            while same < min(k, n_before) and parents[first + same] == parents[before + same]:
                same += 1
            for i in range(same, k):
                logs[i] = _row(products, parents, first, i, ridge, root)
            known = same if child == child_before else 0
            left = _along(products, parents, first, k, child, known, root, along)
            residual[g, f] = max(products[child, child] + ridge - left, 0.0)
            n_kept, total = 0, 0.0
            is_lost = residual[g, f] < least[child]
            for i in range(k):
                is_lost |= root[i, i] * root[i, i] < least[parents[first + i]]
                if root[i, i] > 0.0:
                    n_kept += 1
                    total += logs[i]
            rank[g, f] = n_kept
            log_det[g, f] = total
            lost[g, f] = is_lost and (ridge > 0.0 or weight[g] > k + 1)
            n_lost += lost[g, f]
            before, n_before, child_before = first, k, child
    return n_lost


@kernel
def has_lost(weight: Floats, mean: Floats, scatter: Floats) -> bool:
    """Whether the regression of the last variable on the others is lost in a group of rows."""
    n_groups, d = mean.shape
    left, log_det = np.empty((n_groups, 1)), np.empty((n_groups, 1))
    rank, lost = np.empty((n_groups, 1), np.int64), np.empty((n_groups, 1), np.bool_)
    child, starts, parents = np.array([d - 1]), np.array([0, d - 1]), np.arange(d - 1)
    n_lost = regress(weight, mean, scatter, child, starts, parents, 0.0, left, rank, log_det, lost)
    return n_lost > 0


@kernel
def list_toggles(
    parents: Integers, candidates: Integers, starts: Integers, everyone: Integers
) -> None:
    """Fill in the lists of parents of a family, without each of them, and with each candidate.

    Parameters
    ----------
    parents, candidates
        Those of the family, and those that may be added.
    starts
        Where the parents of a family begin; one entry more than there are families.
    everyone
        The parents of all families.
    """
    k, place = len(parents), 0
    starts[0] = 0
    for f in range(1 + k + len(candidates)):
        for i in range(k):
            if f == 0 or f > k or i != f - 1:
                everyone[place] = parents[i]
                place += 1
        if f > k:
            everyone[place] = candidates[f - 1 - k]
            place += 1
        starts[f + 1] = place


@kernel
def log_likelihoods(
    weight: Floats,
    starts: Integers,
    left: Floats,
    rank: Integers,
    out: Floats,
    poor: Bools,
) -> int:
    r"""Fill in the sum over the groups of

    .. math:: -\frac n2 \log (2 \pi s^2) - \frac{n - p}{2}, \qquad
        s^2 = \frac{\mathrm{RSS}}{n - p}, \quad p = 1 + \mathrm{rank}

    for each family. Groups that have no more rows than coefficients, or whose rows lie on a line,
    are left out and marked in ``poor``; returns how many there are.

    Parameters
    ----------
    weight
        Number of rows of each group.
    starts
        The families, as in :func:`regress`.
    left, rank
        Its answers.
    out, poor
        Shape (families,) and (groups, families).
    """
    n_poor = 0
    out[:] = 0.0
    for g in range(len(weight)):
        n = weight[g]
        for f in range(len(out)):
            is_fine = n > starts[f + 1] - starts[f] + 1 and left[g, f] > 0.0
            poor[g, f] = n > 0.0 and not is_fine
            if is_fine:
                free = n - 1.0 - rank[g, f]
                out[f] -= 0.5 * (n * math.log(2.0 * math.pi * left[g, f] / free) + free)
            elif n > 0.0:
                n_poor += 1
    return n_poor


@kernel
def misfits(
    total: Floats,
    center: Floats,
    scatter: Floats,
    mean: Floats,
    weight: Floats,
    children: Integers,
    starts: Integers,
    parents: Integers,
    wanted: Bools,
    out: Floats,
) -> None:
    r"""Fill in the sum of squares of the rows of a group around the regression of all rows,

    .. math:: v^\top S_g\, v + n_g (v^\top (m_g - m))^2, \qquad v = (1, -\beta)

    for the groups and families that are wanted.

    Parameters
    ----------
    total, center
        Centred products and mean of all rows.
    scatter, mean, weight
        Those of the groups and their weights.
    children, starts, parents
        The families, as in :func:`regress`.
    wanted, out
        Shape (groups, families).
    """
    n_families, n_groups = len(children), len(scatter)
    most = 1
    for f in range(n_families):
        most = max(most, starts[f + 1] - starts[f])
    root, along, slopes = np.zeros((most, most)), np.zeros(most), np.zeros(most)
    for f in range(n_families):
        first, child = starts[f], children[f]
        k = starts[f + 1] - first
        if not wanted[:, f].any():
            continue
        for i in range(k):
            _row(total, parents, first, i, 0.0, root)
        _along(total, parents, first, k, child, 0, root, along)
        for i in range(k - 1, -1, -1):
            slopes[i] = 0.0
            if root[i, i] > 0.0:
                value = along[i]
                for j in range(i + 1, k):
                    value -= root[j, i] * slopes[j]
                slopes[i] = value / root[i, i]
        for g in range(n_groups):
            if not wanted[g, f]:
                continue
            gap = mean[g, child] - center[child]
            spread = scatter[g, child, child]
            for i in range(k):
                one = parents[first + i]
                gap -= slopes[i] * (mean[g, one] - center[one])
                spread -= 2.0 * slopes[i] * scatter[g, child, one]
                for j in range(k):
                    spread += slopes[i] * slopes[j] * scatter[g, one, parents[first + j]]
            out[g, f] = max(spread, 0.0) + weight[g] * gap * gap


@inner
def _least(n: float, mean: Floats, products: Floats, ridge: float, least: Floats) -> None:
    """Fill in what must be left of the products of each variable for its digits to do."""
    for i in range(len(mean)):
        size = products[i, i]
        least[i] = DIGITS * (size + ridge) + DIGITS_OF_MEANS * abs(mean[i]) * math.sqrt(n * size)


@inner
def _row(
    products: Floats, parents: Integers, first: int, i: int, ridge: float, root: Floats
) -> float:
    """Fill row i of the factor; return the log of its pivot, or 0 if the parent is left out."""
    one = parents[first + i]
    size = products[one, one] + ridge
    pivot = size
    for j in range(i):
        value = 0.0
        if root[j, j] > 0.0:
            value = products[one, parents[first + j]]
            for m in range(j):
                value -= root[i, m] * root[j, m]
            value /= root[j, j]
        root[i, j] = value
        pivot -= value * value
    if pivot > COLLINEAR * size:
        root[i, i] = math.sqrt(pivot)
        return math.log(pivot)
    root[i, : i + 1] = 0.0
    return 0.0


@inner
def _along(
    products: Floats,
    parents: Integers,
    first: int,
    k: int,
    child: int,
    known: int,
    root: Floats,
    along: Floats,
) -> float:
    """Fill w from place ``known`` on; return the sum of its squares."""
    explained = 0.0
    for i in range(k):
        if i >= known:
            value = 0.0
            if root[i, i] > 0.0:
                value = products[child, parents[first + i]]
                for j in range(i):
                    value -= root[i, j] * along[j]
                value /= root[i, i]
            along[i] = value
        explained += along[i] * along[i]
    return explained
