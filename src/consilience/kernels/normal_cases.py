r"""Hidden values of normal rows given the known ones, and the moments of what is filled in.

A *piece* of a row are continuous nodes that hidden ones connect: what is known of the others does
not matter. Given the states of the discrete parents of its nodes, they leave the standardized
residuals

.. math:: r_j = \frac{x_j - \beta_{j0} - \beta_j^\top x_{\mathrm{pa}(j)}}{\sigma_j}, \qquad
    r = r^0 + A\,x_H ,

where :math:`r^0` has the hidden values :math:`x_H` at zero and :math:`A` is read off the
regressions. With :math:`A = QR`,

.. math::
    E[x_H \mid x_O] = -R^{-1} Q^\top r^0, \quad
    \mathrm{Cov}(x_H \mid x_O) = W W^\top, \; W = R^{-1}, \quad
    p(x_O) = p(x_O, E[x_H \mid x_O]) \, (2\pi)^{m/2} / \det R .

Neither a covariance nor a precision is inverted, and residuals of very different precision do not
spoil each other: children stand before their parents in A, and each column is made orthogonal
twice. A *case* is a piece of a row in one joint state of its discrete parents; cases that share the
state, the nodes and which of them are hidden, a *unit*, share Q and R. It takes time in proportion
to the arcs and the hidden values of a case, and to :math:`m^2` times the nodes for each unit.

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
    "Arcs",
    "NormalArrays",
    "Offsets",
    "Regressions",
    "add_draws",
    "add_moments",
    "condition_cases",
    "square_roots",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class NormalArrays(NamedTuple):
    """Pieces of rows, each as often as it has joint states of hidden discrete parents.

    ``values`` has shape (rows, variables); ``row``, ``unit`` and ``mean_starts`` belong to the
    cases, whose hidden values stand from ``mean_starts[g]`` on in one vector. The cases
    ``order[bounds[u]:bounds[u + 1]]`` are those of unit ``u``. Its nodes, parents first, are
    ``members[member_starts[u]:member_starts[u + 1]]``, ``codes`` has the joint state of the
    discrete parents of each, its hidden nodes, children first, are
    ``hidden[starts[u]:starts[u + 1]]``, and its root begins at ``root_starts[u]``.
    """

    values: Floats
    row: Integers
    unit: Integers
    mean_starts: Integers
    order: Integers
    bounds: Integers
    members: Integers
    member_starts: Integers
    codes: Integers
    hidden: Integers
    starts: Integers
    root_starts: Integers


class Arcs(NamedTuple):
    """The continuous parents of variable ``j`` are ``parents[starts[j]:starts[j + 1]]``."""

    parents: Integers
    starts: Integers


class Regressions(NamedTuple):
    """The regressions of all variables in flat arrays.

    Intercept and sd of variable ``j`` in the joint state ``s`` are at ``offsets[j] + s``, its
    slopes from ``slope_offsets[j] + s * k`` on, for its k continuous parents.
    """

    intercept: Floats
    sd: Floats
    slopes: Floats
    offsets: Integers
    slope_offsets: Integers
    arcs: Arcs


class Offsets(NamedTuple):
    """Where the moments of each variable's family start: in weights, means and products."""

    groups: Integers
    means: Integers
    products: Integers


@kernel
def condition_cases(
    cases: NormalArrays, local: Regressions, means: Floats, log_density: Floats, roots: Floats
) -> None:
    """Fill in the means of the hidden values, the log density of the known ones of each case, and
    the root W of each unit.
    """
    c = cases.values.shape[1]
    longest = 1
    for u in range(len(cases.starts) - 1):
        longest = max(longest, cases.member_starts[u + 1] - cases.member_starts[u])
    place = np.full(c, -1)
    Q, R = np.empty((longest, longest)), np.empty((longest, longest))
    z, r = np.empty(longest), np.empty(longest)
    for u in range(len(cases.bounds) - 1):
        first, m, begin = (
            cases.starts[u],
            cases.starts[u + 1] - cases.starts[u],
            cases.root_starts[u],
        )
        start, t = cases.member_starts[u], cases.member_starts[u + 1] - cases.member_starts[u]
        for i in range(m):
            place[cases.hidden[first + i]] = i
        log_sd = 0.0
        for i in range(t):
            j = cases.members[start + i]
            log_sd += math.log(local.sd[local.offsets[j] + cases.codes[start + i]])
        log_det = _decompose(cases, local, u, m, t, place, Q, R)
        _invert(R, m, roots, begin)
        constant = m * LOG_ROOT_2PI - log_det - log_sd - t * LOG_ROOT_2PI
        for h in range(cases.bounds[u], cases.bounds[u + 1]):
            g = cases.order[h]
            _residuals(cases, local, u, t, cases.row[g], place, r)
            _project(Q, m, t, r, z)
            total = 0.0
            for k in range(t):
                total += r[k] * r[k]
            at = cases.mean_starts[g]
            for i in range(m):
                means[at + i] = 0.0
                for k in range(i, m):
                    means[at + i] -= roots[begin + i * m + k] * z[k]
            log_density[g] = constant - 0.5 * total
        for i in range(m):
            place[cases.hidden[first + i]] = -1


@kernel
def square_roots(cases: NormalArrays, roots: Floats) -> None:
    """Replace the root W of each unit by its covariance."""
    for u in range(len(cases.starts) - 1):
        m, begin = cases.starts[u + 1] - cases.starts[u], cases.root_starts[u]
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
    cases: NormalArrays,
    roots: Floats,
    chosen: Integers,
    starts: Integers,
    noise: Floats,
    drawn: Floats,
) -> None:
    """Add W times standard normal noise to the hidden values of draws.

    Draw ``i`` is of case ``chosen[i]``; its values, and its noise, stand from ``starts[i]`` on.
    """
    for i in range(len(chosen)):
        u = cases.unit[chosen[i]]
        m, begin = cases.starts[u + 1] - cases.starts[u], cases.root_starts[u]
        for k in range(m):
            for j in range(k, m):
                drawn[starts[i] + k] += roots[begin + k * m + j] * noise[starts[i] + j]


@kernel
def add_moments(
    cases: NormalArrays,
    arcs: Arcs,
    chosen: Integers,
    starts: Integers,
    means: Floats,
    weights: Floats,
    covariances: Floats,
    offsets: Offsets,
    total: Floats,
    mean: Floats,
    products: Floats,
) -> None:
    """Fill in weight, mean and centred products, all zero before, of the families of all nodes.

    Item ``i`` is of case ``chosen[i]`` with its hidden values from ``means[starts[i]]`` on. A
    family's variables are its continuous parents and the child, its groups the joint states of its
    discrete parents. The covariance of hidden values is added, unless there is none.
    """
    c, has_spread = cases.values.shape[1], len(covariances) > 0
    place, x = np.full(c, -1), np.empty(c + 1)
    for i in range(len(chosen)):
        if weights[i] <= 0.0:
            continue
        u = cases.unit[chosen[i]]
        first, m = cases.starts[u], cases.starts[u + 1] - cases.starts[u]
        for k in range(m):
            place[cases.hidden[first + k]] = k
        for e in range(cases.member_starts[u], cases.member_starts[u + 1]):
            d = _family(cases, arcs, chosen[i], e, place, means, starts[i], x)
            j, code = cases.members[e], cases.codes[e]
            total[offsets.groups[j] + code] += weights[i]
            at = offsets.means[j] + code * d
            for k in range(d):
                mean[at + k] += weights[i] * x[k]
        for k in range(m):
            place[cases.hidden[first + k]] = -1
    for j in range(c):
        d = arcs.starts[j + 1] - arcs.starts[j] + 1
        for code in range(offsets.groups[j + 1] - offsets.groups[j]):
            if total[offsets.groups[j] + code] > 0.0:
                for k in range(d):
                    mean[offsets.means[j] + code * d + k] /= total[offsets.groups[j] + code]
    slip = np.zeros(len(mean))
    for i in range(len(chosen)):
        if weights[i] <= 0.0:
            continue
        u = cases.unit[chosen[i]]
        first, m, begin = (
            cases.starts[u],
            cases.starts[u + 1] - cases.starts[u],
            cases.root_starts[u],
        )
        for k in range(m):
            place[cases.hidden[first + k]] = k
        for e in range(cases.member_starts[u], cases.member_starts[u + 1]):
            d = _family(cases, arcs, chosen[i], e, place, means, starts[i], x)
            j, code = cases.members[e], cases.codes[e]
            at, out = offsets.means[j] + code * d, offsets.products[j] + code * d * d
            for k in range(d):
                x[k] -= mean[at + k]
                slip[at + k] += weights[i] * x[k]
            for k in range(d):
                for q in range(d):
                    products[out + k * d + q] += weights[i] * x[k] * x[q]
            if has_spread and m > 0:
                for k in range(d):
                    a = place[_variable(arcs, j, k, d)]
                    if a >= 0:
                        for q in range(d):
                            b = place[_variable(arcs, j, q, d)]
                            if b >= 0:
                                spread = covariances[begin + a * m + b]
                                products[out + k * d + q] += weights[i] * spread
        for k in range(m):
            place[cases.hidden[first + k]] = -1
    for j in range(c):
        d = arcs.starts[j + 1] - arcs.starts[j] + 1
        for code in range(offsets.groups[j + 1] - offsets.groups[j]):
            weight = total[offsets.groups[j] + code]
            if weight > 0.0:
                # What rounding left of the first mean, and its share of the products.
                at, out = offsets.means[j] + code * d, offsets.products[j] + code * d * d
                for k in range(d):
                    mean[at + k] += slip[at + k] / weight
                    for q in range(d):
                        products[out + k * d + q] -= slip[at + k] * slip[at + q] / weight
                    products[out + k * d + k] = max(products[out + k * d + k], 0.0)


@inner
def _variable(arcs: Arcs, j: int, k: int, d: int) -> int:
    """Variable ``k`` of the family of ``j``: a parent, or the child as the last."""
    return j if k == d - 1 else arcs.parents[arcs.starts[j] + k]


@inner
def _family(
    cases: NormalArrays,
    arcs: Arcs,
    g: int,
    e: int,
    place: Integers,
    means: Floats,
    start: int,
    x: Floats,
) -> int:
    """The values of a member's family in a case, hidden ones filled in; how many they are."""
    j = cases.members[e]
    d = arcs.starts[j + 1] - arcs.starts[j] + 1
    for k in range(d):
        v = _variable(arcs, j, k, d)
        if place[v] >= 0:
            x[k] = means[start + place[v]]
        else:
            x[k] = cases.values[cases.row[g], v]
    return d


@inner
def _decompose(
    cases: NormalArrays,
    local: Regressions,
    u: int,
    m: int,
    t: int,
    place: Integers,
    Q: Floats,
    R: Floats,
) -> float:
    """Columns of A made orthonormal, as rows of Q; the log determinant of R."""
    for i in range(m):
        for k in range(t):
            Q[i, k] = 0.0
            R[i, k] = 0.0
    if m == 0:
        return 0.0
    for i in range(t):
        e = cases.member_starts[u] + i
        j, code = cases.members[e], cases.codes[e]
        sd = local.sd[local.offsets[j] + code]
        if place[j] >= 0:
            Q[place[j], i] = 1.0 / sd
        first, after = local.arcs.starts[j], local.arcs.starts[j + 1]
        slopes = local.slope_offsets[j] + code * (after - first)
        for k in range(first, after):
            if place[local.arcs.parents[k]] >= 0:
                Q[place[local.arcs.parents[k]], i] = -local.slopes[slopes + k - first] / sd
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
    cases: NormalArrays,
    local: Regressions,
    u: int,
    t: int,
    row: int,
    place: Integers,
    r: Floats,
) -> None:
    """Standardized residuals of the members, hidden values at zero."""
    for i in range(t):
        e = cases.member_starts[u] + i
        j, code = cases.members[e], cases.codes[e]
        left = -local.intercept[local.offsets[j] + code]
        if place[j] < 0:
            left += cases.values[row, j]
        first, after = local.arcs.starts[j], local.arcs.starts[j + 1]
        slopes = local.slope_offsets[j] + code * (after - first)
        for k in range(first, after):
            if place[local.arcs.parents[k]] < 0:
                left -= local.slopes[slopes + k - first] * cases.values[row, local.arcs.parents[k]]
        r[i] = left / local.sd[local.offsets[j] + code]


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
