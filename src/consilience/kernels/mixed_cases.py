r"""Missing values of normal rows given the observed ones, and the moments of what is filled in.

Given the states of the discrete variables, the continuous ones leave the standardized residuals

.. math:: r_j = \frac{x_j - \beta_{j0} - \beta_j^\top x_{\mathrm{pa}(j)}}{\sigma_j}, \qquad
    r = r^0 + A\,x_M ,

where :math:`r^0` has the missing values :math:`x_M` at zero and :math:`A` is read off the
regressions. With :math:`A = QR`,

.. math::
    E[x_M \mid x_O] = -R^{-1} Q^\top r^0, \quad
    \mathrm{Cov}(x_M \mid x_O) = W W^\top, \; W = R^{-1}, \quad
    p(x_O) = p(x_O, E[x_M \mid x_O]) \, (2\pi)^{m/2} / \det R .

Neither a covariance nor a precision is inverted, and residuals of very different precision do not
spoil each other: children stand before their parents in A, and each column is made orthogonal
twice. Rows that share the discrete states and the missing variables, a *unit*, share Q and R. It
takes time in proportion to the arcs and the missing values of a row, and to :math:`m^2` times the
touched families for each unit.

References: Björck (1994), Numerics of Gram-Schmidt orthogonalization; Little and Rubin (2002),
Statistical Analysis with Missing Data, chapter 11.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = [
    "NormalRows",
    "Regressions",
    "add_draws",
    "add_moments",
    "add_spread",
    "condition_rows",
    "square_roots",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class NormalRows(NamedTuple):
    """Rows with gaps, each as often as it has joint states of missing discrete parents.

    ``values`` has shape (rows, variables) with parents before children; ``row`` and ``unit`` belong
    to the cases. The cases ``order[bounds[u]:bounds[u + 1]]`` are those of unit ``u``, whose
    missing variables, children first, are ``missing[starts[u]:starts[u + 1]]``, and whose root
    begins at ``root_starts[u]``. ``codes`` has the joint state of the discrete parents of each
    variable, shape (units, variables).
    """

    values: Floats
    row: Integers
    unit: Integers
    order: Integers
    bounds: Integers
    missing: Integers
    starts: Integers
    root_starts: Integers
    codes: Integers


class Regressions(NamedTuple):
    """The regressions of all variables in flat arrays.

    Intercept and sd of variable ``j`` in the joint state ``s`` are at ``offsets[j] + s``, its
    slopes from ``slope_offsets[j] + s * k`` on, for the k parents
    ``parents[parent_starts[j]:parent_starts[j + 1]]``.
    """

    intercept: Floats
    sd: Floats
    slopes: Floats
    offsets: Integers
    slope_offsets: Integers
    parents: Integers
    parent_starts: Integers


@kernel
def condition_rows(
    rows: NormalRows,
    local: Regressions,
    filled: Floats,
    log_density: Floats,
    log_volume: Floats,
    roots: Floats,
) -> None:
    r"""Fill in the values with the missing ones at their mean, the log density of the observed ones
    in each case, and for each unit :math:`\log \sqrt{\det(2\pi\,\mathrm{Cov})}` and the root W.
    """
    c = rows.values.shape[1]
    a, sd, b = np.empty(c), np.empty(c), np.empty(len(local.parents))
    slot, place = np.empty(c, np.int64), np.empty(c, np.int64)
    Q, R, z, r = np.empty((c, c)), np.empty((c, c)), np.empty(c), np.empty(c)
    for u in range(len(rows.bounds) - 1):
        first, m, begin = rows.starts[u], rows.starts[u + 1] - rows.starts[u], rows.root_starts[u]
        log_sd = _parameters(rows, local, u, a, sd, b)
        t = _touched(rows, local, u, slot, place)
        log_det = _decompose(local, m, t, slot, place, sd, b, Q, R)
        _invert(R, m, roots, begin)
        log_volume[u] = m * LOG_ROOT_2PI - log_det
        for h in range(rows.bounds[u], rows.bounds[u + 1]):
            g = rows.order[h]
            for j in range(c):
                filled[g, j] = rows.values[rows.row[g], j] if place[j] < 0 else 0.0
            total = _residuals(local, filled, g, a, sd, b, slot, r)
            _project(Q, m, t, r, z)
            for k in range(t):
                total += r[k] * r[k]
            for i in range(m):
                for k in range(i, m):
                    filled[g, rows.missing[first + i]] -= roots[begin + i * m + k] * z[k]
            log_density[g] = log_volume[u] - 0.5 * total - log_sd - c * LOG_ROOT_2PI


@kernel
def square_roots(rows: NormalRows, roots: Floats) -> None:
    """Replace the root W of each unit by its covariance."""
    for u in range(len(rows.starts) - 1):
        m, begin = rows.starts[u + 1] - rows.starts[u], rows.root_starts[u]
        for i in range(m):
            # Row i needs the rows from i on, which still are roots, and itself from j on.
            for j in range(i, m):
                product = 0.0
                for k in range(j, m):
                    product += roots[begin + i * m + k] * roots[begin + j * m + k]
                roots[begin + i * m + j] = product
        for i in range(m):
            for j in range(i):
                roots[begin + i * m + j] = roots[begin + j * m + i]


@kernel
def add_draws(
    rows: NormalRows, roots: Floats, cases: Integers, noise: Floats, drawn: Floats
) -> None:
    """Add W times a row of standard normal noise, of shape (draws, variables), to the missing
    values of each draw, which comes from one of the cases.
    """
    for i in range(len(cases)):
        u = rows.unit[cases[i]]
        first, m, begin = rows.starts[u], rows.starts[u + 1] - rows.starts[u], rows.root_starts[u]
        for k in range(m):
            for j in range(k, m):
                share = roots[begin + k * m + j] * noise[i, rows.missing[first + j]]
                drawn[i, rows.missing[first + k]] += share


@kernel
def add_moments(
    values: Floats,
    columns: Integers,
    group: Integers,
    weights: Floats,
    total: Floats,
    mean: Floats,
    scatter: Floats,
) -> None:
    """Fill in weight, mean and centred products, all zero before, of some columns by group."""
    n, d = len(values), len(columns)
    for i in range(n):
        if weights[i] > 0.0:
            total[group[i]] += weights[i]
            for k in range(d):
                mean[group[i], k] += weights[i] * values[i, columns[k]]
    for g in range(len(total)):
        if total[g] > 0.0:
            for k in range(d):
                mean[g, k] /= total[g]
    away, slip = np.empty(d), np.zeros((len(total), d))
    for i in range(n):
        if weights[i] > 0.0:
            g = group[i]
            for k in range(d):
                away[k] = values[i, columns[k]] - mean[g, k]
                slip[g, k] += weights[i] * away[k]
            for k in range(d):
                scaled = weights[i] * away[k]
                for j in range(d):
                    scatter[g, k, j] += scaled * away[j]
    for g in range(len(total)):
        if total[g] > 0.0:
            # What rounding left of the first mean, and its share of the products.
            for k in range(d):
                mean[g, k] += slip[g, k] / total[g]
                for j in range(d):
                    scatter[g, k, j] -= slip[g, k] * slip[g, j] / total[g]
                scatter[g, k, k] = max(scatter[g, k, k], 0.0)


@kernel
def add_spread(
    rows: NormalRows,
    covariances: Floats,
    places: Integers,
    group: Integers,
    weights: Floats,
    scatter: Floats,
) -> None:
    """Add the weighted covariance of what is missing in each case to the products of its group.

    ``places`` has the place of each variable among those of the products, or -1.
    """
    for i in range(len(group)):
        u = rows.unit[i]
        first, m, begin = rows.starts[u], rows.starts[u + 1] - rows.starts[u], rows.root_starts[u]
        if weights[i] <= 0.0:
            continue
        for k in range(m):
            row = places[rows.missing[first + k]]
            for j in range(m):
                column = places[rows.missing[first + j]]
                if row >= 0 and column >= 0:
                    scatter[group[i], row, column] += weights[i] * covariances[begin + k * m + j]


@inner
def _parameters(
    rows: NormalRows, local: Regressions, u: int, a: Floats, sd: Floats, b: Floats
) -> float:
    """Copy the parameters of one unit; the sum of its log sds."""
    log_sd = 0.0
    for j in range(len(a)):
        code = rows.codes[u, j]
        a[j] = local.intercept[local.offsets[j] + code]
        sd[j] = local.sd[local.offsets[j] + code]
        log_sd += math.log(sd[j])
        first, after = local.parent_starts[j], local.parent_starts[j + 1]
        begin = local.slope_offsets[j] + code * (after - first)
        for k in range(first, after):
            b[k] = local.slopes[begin + k - first]
    return log_sd


@inner
def _touched(rows: NormalRows, local: Regressions, u: int, slot: Integers, place: Integers) -> int:
    """Number the families that have a missing member, and the missing variables; others get -1."""
    c = len(slot)
    for j in range(c):
        slot[j] = place[j] = -1
    for i in range(rows.starts[u], rows.starts[u + 1]):
        place[rows.missing[i]] = i - rows.starts[u]
    t = 0
    for j in range(c):
        has_missing = place[j] >= 0
        for k in range(local.parent_starts[j], local.parent_starts[j + 1]):
            has_missing = has_missing or place[local.parents[k]] >= 0
        if has_missing:
            slot[j] = t
            t += 1
    return t


@inner
def _decompose(
    local: Regressions,
    m: int,
    t: int,
    slot: Integers,
    place: Integers,
    sd: Floats,
    b: Floats,
    Q: Floats,
    R: Floats,
) -> float:
    """Columns of A made orthonormal, as rows of Q; the log determinant of R."""
    for i in range(m):
        for k in range(t):
            Q[i, k] = 0.0
            R[i, k] = 0.0
    for j in range(len(slot)):
        if place[j] >= 0:
            Q[place[j], slot[j]] = 1.0 / sd[j]
        for k in range(local.parent_starts[j], local.parent_starts[j + 1]):
            if place[local.parents[k]] >= 0:
                Q[place[local.parents[k]], slot[j]] = -b[k] / sd[j]
    log_det = 0.0
    for i in range(m):
        for _ in range(2):
            for h in range(i):
                share = 0.0
                for k in range(t):
                    share += Q[h, k] * Q[i, k]
                for k in range(t):
                    Q[i, k] -= share * Q[h, k]
                R[h, i] += share
        length = 0.0
        for k in range(t):
            length += Q[i, k] * Q[i, k]
        R[i, i] = math.sqrt(length)
        for k in range(t):
            Q[i, k] /= R[i, i]
        log_det += math.log(R[i, i])
    return log_det


@inner
def _invert(R: Floats, m: int, roots: Floats, begin: int) -> None:
    """Write the inverse of an upper triangle, row by row."""
    for j in range(m):
        for i in range(j + 1, m):
            roots[begin + i * m + j] = 0.0
        roots[begin + j * m + j] = 1.0 / R[j, j]
        for i in range(j - 1, -1, -1):
            total = 0.0
            for k in range(i + 1, j + 1):
                total += R[i, k] * roots[begin + k * m + j]
            roots[begin + i * m + j] = -total / R[i, i]


@inner
def _residuals(
    local: Regressions,
    filled: Floats,
    g: int,
    a: Floats,
    sd: Floats,
    b: Floats,
    slot: Integers,
    r: Floats,
) -> float:
    """Residuals of the touched families; the sum of squares of the others."""
    total = 0.0
    for j in range(len(a)):
        left = filled[g, j] - a[j]
        for k in range(local.parent_starts[j], local.parent_starts[j + 1]):
            left -= b[k] * filled[g, local.parents[k]]
        left /= sd[j]
        if slot[j] < 0:
            total += left * left
        else:
            r[slot[j]] = left
    return total


@inner
def _project(Q: Floats, m: int, t: int, r: Floats, z: Floats) -> None:
    """Z = Q' r, and r without its part along Q."""
    for i in range(m):
        z[i] = 0.0
    for _ in range(2):
        for i in range(m):
            share = 0.0
            for k in range(t):
                share += Q[i, k] * r[k]
            for k in range(t):
                r[k] -= share * Q[i, k]
            z[i] += share
