r"""Means and covariances along sequences: the filter and smoother of linear Gaussian nodes.

The message of a row is the mean :math:`m` and the covariance :math:`P` of the continuous variables
that later rows depend on and that are missing somewhere. A row adds its nodes one after the other,

.. math:: x = \beta_0 + h^\top s + \varepsilon, \qquad m_x = \beta_0 + h^\top m, \qquad
    P_{xx} = h^\top P h + \sigma^2,

conditions on the value if there is one (:math:`v = y - m_x`, :math:`F = P_{xx}`,
:math:`K = P_{\cdot x} / F`: one number at a time, so nothing is inverted), and leaves out what
nothing needs any more. Backward, :math:`r` and :math:`N` collect what later values say (de Jong
1989): a value gives

.. math:: r \leftarrow e_x \frac{v}{F} + (I - K e_x^\top)^\top r, \qquad
    N \leftarrow \frac{e_x e_x^\top}{F} + (I - K e_x^\top)^\top N (I - K e_x^\top),

a node :math:`r \leftarrow G^\top r`, :math:`N \leftarrow G^\top N G` with :math:`G` stacking
:math:`I` and :math:`h^\top`, and at every point the smoothed mean and covariance are
:math:`m + P r` and :math:`P - P N P`. No predicted covariance is inverted, so lagged copies of a
variable, which make it singular, do no harm.

References
----------
P. de Jong (1989). Smoothing and interpolation with the state-space model. J. of the American
Statistical Association 84.
S. J. Koopman, J. Durbin (2000). Fast filtering and smoothing for multivariate state space models.
J. of Time Series Analysis 21.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["Additions", "RowNumbers", "filter_rows", "smooth_rows"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LOG_2PI = float(np.log(2 * np.pi))
MATCHES = 1e-9


class Additions(NamedTuple):
    """The nodes that every kind of slice adds, one after the other.

    ``of_slice`` has the first of each kind and their number; ``size`` the variables before it.
    ``parent`` has from ``first_parent`` on the places of its open parents, ``kept`` from
    ``first_kept`` on the places that stay, the new one being the last. ``column`` has, from
    ``first_column`` on, for each column of its family the place or -1 if it is given. ``child`` is
    the open variable, or -1, and ``place`` where its moments are added.
    """

    of_slice: Integers
    size: Integers
    first_parent: Integers
    parent: Integers
    first_kept: Integers
    kept: Integers
    first_column: Integers
    column: Integers
    child: Integers
    place: Integers


class RowNumbers(NamedTuple):
    """What each row has for the nodes of its slice; shape (rows, nodes of a slice).

    ``base`` is what given parents and the intercept add up to, ``slopes`` (rows, nodes, parents)
    the coefficients of the open parents, ``y`` the value or NaN. ``group`` is the joint discrete
    state, and ``known`` (rows, columns) has the given columns of the families.
    """

    base: Floats
    slopes: Floats
    variance: Floats
    y: Floats
    group: Integers
    known: Floats


@inner
def _add(
    additions: Additions, q: int, row: int, o: int, rows: RowNumbers, m: Floats, p: Floats
) -> None:
    """Append a node to the means and covariances; what conditioning on its value needs."""
    n = additions.size[q]
    first = additions.first_parent[q]
    mean = rows.base[row, o]
    for j in range(n):
        p[n, j] = 0.0
    for a in range(first, additions.first_parent[q + 1]):
        h, at = rows.slopes[row, o, a - first], additions.parent[a]
        mean += h * m[at]
        for j in range(n):
            p[n, j] += h * p[at, j]
    spread = rows.variance[row, o]
    for a in range(first, additions.first_parent[q + 1]):
        spread += rows.slopes[row, o, a - first] * p[n, additions.parent[a]]
    for j in range(n):
        p[j, n] = p[n, j]
    m[n], p[n, n] = mean, spread


@inner
def _condition(n: int, y: float, m: Floats, p: Floats) -> float:
    """Condition on the value of the last variable; its log density."""
    spread, away = p[n, n], y - m[n]
    if spread <= 0.0:
        return 0.0 if abs(away) <= MATCHES * (abs(y) + abs(m[n])) else -np.inf
    for i in range(n):
        gain = p[i, n] / spread
        m[i] += gain * away
        for j in range(i + 1):
            p[i, j] -= gain * p[j, n]
            p[j, i] = p[i, j]
    for i in range(n + 1):
        p[i, n] = 0.0
        p[n, i] = 0.0
    m[n] = y
    return -0.5 * (LOG_2PI + np.log(spread) + away * away / spread)


@inner
def _keep(additions: Additions, q: int, m: Floats, p: Floats, thin: Floats, thinner: Floats) -> int:
    """Leave out what nothing needs; how many variables stay."""
    first = additions.first_kept[q]
    n = additions.first_kept[q + 1] - first
    for i in range(n):
        a = additions.kept[first + i]
        thin[i] = m[a]
        for j in range(n):
            thinner[i, j] = p[a, additions.kept[first + j]]
    for i in range(n):
        m[i] = thin[i]
        for j in range(n):
            p[i, j] = thinner[i, j]
    return n


@kernel
def filter_rows(
    additions: Additions,
    rows: RowNumbers,
    first: Integers,
    order: int,
    means: Floats,
    covariances: Floats,
    log_likelihood: Floats,
) -> None:
    """Fill the messages of all rows and what each adds to the log-likelihood."""
    wide = means.shape[1] + len(additions.size) + 1
    m, p = np.zeros(wide), np.zeros((wide, wide))
    thin, thinner = np.zeros(wide), np.zeros((wide, wide))
    for s in range(len(first) - 1):
        n = 0
        for row in range(first[s], first[s + 1]):
            total = 0.0
            kind = min(row - first[s], order)
            begin = additions.of_slice[kind]
            for q in range(begin, additions.of_slice[kind + 1]):
                _add(additions, q, row, q - begin, rows, m, p)
                if not np.isnan(rows.y[row, q - begin]):
                    total += _condition(additions.size[q], rows.y[row, q - begin], m, p)
                n = _keep(additions, q, m, p, thin, thinner)
            for i in range(n):
                means[row, i] = m[i]
                for j in range(n):
                    covariances[row, i, j] = p[i, j]
            log_likelihood[row] = total


@inner
def _undo_value(n: int, y: float, m: Floats, p: Floats, r: Floats, big: Floats) -> None:
    """What a value says, given what later ones say; ``m`` and ``p`` are those before it."""
    spread = p[n, n]
    if spread <= 0.0:
        return
    along, twice = 0.0, 0.0
    for i in range(n + 1):
        along += p[i, n] / spread * r[i]
    r[n] += (y - m[n]) / spread - along
    # N K, its last entry counted with the rest: L' N L = N - e (NK)' - (NK) e' + e e' K'NK
    for i in range(n + 1):
        total = 0.0
        for j in range(n + 1):
            total += big[i, j] * p[j, n] / spread
        big[i, n + 1] = total
    for i in range(n + 1):
        twice += p[i, n] / spread * big[i, n + 1]
    for i in range(n):
        big[i, n] -= big[i, n + 1]
        big[n, i] = big[i, n]
    big[n, n] += -2.0 * big[n, n + 1] + twice + 1.0 / spread


@inner
def _undo_addition(
    additions: Additions, q: int, row: int, o: int, rows: RowNumbers, r: Floats, big: Floats
) -> None:
    """Hand what is said about a node over to its parents."""
    n = additions.size[q]
    first, last = additions.first_parent[q], additions.first_parent[q + 1]
    for a in range(first, last):
        h, at = rows.slopes[row, o, a - first], additions.parent[a]
        r[at] += h * r[n]
    for a in range(first, last):
        h, at = rows.slopes[row, o, a - first], additions.parent[a]
        for j in range(n):
            big[at, j] += h * big[n, j]
            big[j, at] += h * big[j, n]
        for b in range(first, last):
            other = additions.parent[b]
            big[at, other] += h * rows.slopes[row, o, b - first] * big[n, n]


@inner
def _undo_keep(
    additions: Additions, q: int, r: Floats, big: Floats, thin: Floats, thinner: Floats
) -> None:
    """Give what was left out its place again; nothing later speaks of it."""
    first = additions.first_kept[q]
    n, wide = additions.first_kept[q + 1] - first, additions.size[q] + 1
    for i in range(n):
        thin[i] = r[i]
        for j in range(n):
            thinner[i, j] = big[i, j]
    for i in range(wide):
        r[i] = 0.0
        for j in range(wide):
            big[i, j] = 0.0
    for i in range(n):
        a = additions.kept[first + i]
        r[a] = thin[i]
        for j in range(n):
            big[a, additions.kept[first + j]] = thinner[i, j]


@inner
def _add_moments(
    additions: Additions,
    q: int,
    row: int,
    o: int,
    rows: RowNumbers,
    weight: float,
    mean: Floats,
    cov: Floats,
    centers: Floats,
    sums: Floats,
    squares: Floats,
    counts: Floats,
) -> None:
    """Add the smoothed moments of a family; ``mean`` and ``cov`` are those of all variables."""
    first = additions.first_column[q]
    p = additions.first_column[q + 1] - first
    g = additions.place[q] + rows.group[row, o]
    counts[g] += weight
    for i in range(p):
        a = additions.column[first + i]
        x = rows.known[row, first - additions.first_column[q - o] + i] if a < 0 else mean[a]
        x -= centers[g, i]
        sums[g, i] += weight * x
        for j in range(p):
            b = additions.column[first + j]
            y = rows.known[row, first - additions.first_column[q - o] + j] if b < 0 else mean[b]
            c = cov[a, b] if a >= 0 and b >= 0 else 0.0
            squares[g, i, j] += weight * (x * (y - centers[g, j]) + c)


@kernel
def smooth_rows(
    additions: Additions,
    rows: RowNumbers,
    first: Integers,
    order: int,
    is_filter: bool,
    means: Floats,
    covariances: Floats,
    weights: Floats,
    believed: Floats,
    spread: Floats,
    centers: Floats,
    counts: Floats,
    sums: Floats,
    squares: Floats,
) -> None:
    """Fill mean and variance of each open variable (rows, open variables), and add the moments of
    the families: weights, sums and sums of products of the columns less their ``centers``.

    A filter forgets at every row what later rows say.
    """
    widest = means.shape[1] + len(additions.size) + 1
    most = 0
    for kind in range(len(additions.of_slice) - 1):
        most = max(most, additions.of_slice[kind + 1] - additions.of_slice[kind])
    m, p = np.zeros((most + 1, widest)), np.zeros((most + 1, widest, widest))
    r, big = np.zeros(widest), np.zeros((widest, widest + 1))
    thin, thinner = np.zeros(widest), np.zeros((widest, widest))
    mean, cov = np.zeros(widest), np.zeros((widest, widest))
    for s in range(len(first) - 1):
        r[:] = 0.0
        big[:] = 0.0
        for row in range(first[s + 1] - 1, first[s] - 1, -1):
            if is_filter:
                r[:] = 0.0
                big[:] = 0.0
            kind = min(row - first[s], order)
            begin, end = additions.of_slice[kind], additions.of_slice[kind + 1]
            if row > first[s] and begin < end:
                n = additions.size[begin]
                m[0, :n] = means[row - 1, :n]
                p[0, :n, :n] = covariances[row - 1, :n, :n]
            for q in range(begin, end):
                o = q - begin
                n = additions.size[q]
                _add(additions, q, row, o, rows, m[o], p[o])
                m[o + 1, : n + 1] = m[o, : n + 1]
                p[o + 1, : n + 1, : n + 1] = p[o, : n + 1, : n + 1]
                if not np.isnan(rows.y[row, o]):
                    _condition(n, rows.y[row, o], m[o + 1], p[o + 1])
                _keep(additions, q, m[o + 1], p[o + 1], thin, thinner)
            for q in range(end - 1, begin - 1, -1):
                o = q - begin
                n = additions.size[q]
                y = rows.y[row, o]
                _undo_keep(additions, q, r, big, thin, thinner)
                if not np.isnan(y):
                    _undo_value(n, y, m[o], p[o], r, big)
                for i in range(n + 1):
                    total = m[o, i]
                    for j in range(n + 1):
                        total += p[o, i, j] * r[j]
                        product = 0.0
                        for k in range(n + 1):
                            product += big[j, k] * p[o, k, i]
                        thinner[j, i] = product
                    mean[i] = total
                for i in range(n + 1):
                    for j in range(n + 1):
                        total = p[o, i, j]
                        for k in range(n + 1):
                            total -= p[o, i, k] * thinner[k, j]
                        cov[i, j] = total
                if not np.isnan(y):
                    mean[n] = y
                    for i in range(n + 1):
                        cov[i, n] = 0.0
                        cov[n, i] = 0.0
                if additions.child[q] >= 0:
                    believed[row, additions.child[q]] = mean[n]
                    spread[row, additions.child[q]] = max(cov[n, n], 0.0)
                if len(counts) > 0:
                    _add_moments(
                        additions,
                        q,
                        row,
                        o,
                        rows,
                        weights[s],
                        mean,
                        cov,
                        centers,
                        sums,
                        squares,
                        counts,
                    )
                _undo_addition(additions, q, row, o, rows, r, big)
