r"""Means and covariances along sequences: filter and smoother of linear Gaussian nodes.

The message of a row is the mean :math:`m` and a root :math:`S` of the covariance,
:math:`P = S^\top S`, of the continuous variables that later rows depend on and that are missing
somewhere. A row adds its nodes, :math:`x = \beta_0 + h^\top s + \sigma \varepsilon`: each adds a
column :math:`S h` and a row with :math:`\sigma` to the root. With the columns in the order values
(o), kept (k), dropped (d), one triangle

.. math:: Q^\top W = \begin{pmatrix} S_o & S_{ok} & S_{od} \\ & S_k & S_{kd} \\ & & S_d
    \end{pmatrix}

says all: :math:`w = S_o^{-\top} (y - m_o)` are the innovations, :math:`m_k + S_{ok}^\top w` and
:math:`S_k` are the next message, and what is dropped is, given what is kept,
:math:`N(m_d + G (k - m_k), S_d^\top S_d)` with :math:`G = S_{kd}^\top S_k^{-\top}`. Backward, the
smoothed covariance of what was dropped is a sum of squares,
:math:`G P G^\top + S_d^\top S_d`. Nothing is subtracted and no covariance is inverted, so neither
diffuse first laws nor variables that are functions of others cost digits. A column without a
pivot, one that those before it determine, takes no row.

The triangle depends on the pattern of gaps and not on the values. Rows with the same history share
it, and a history that has converged is followed no further.

References
----------
T. Kailath, A. H. Sayed, B. Hassibi (2000). Linear Estimation, chapter 12. Prentice Hall.
H. E. Rauch, F. Tung, C. T. Striebel (1965). Maximum likelihood estimates of linear dynamic systems.
AIAA Journal 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["RowValues", "Slices", "Triangles", "filter_rows", "smooth_rows"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
MATCHES = 1e-9
NO_PIVOT = 1e-14
CONVERGED = 1e-14


class Slices(NamedTuple):
    """The nodes that every kind of slice adds, parents first.

    ``first_node`` has the first of each kind and their number, ``n_before`` the variables that come
    into it; a new node stands behind them. ``column`` has from ``first_column`` on the columns of a
    node's family, its parents and itself: a place, or -1 - c for the given column c.
    ``number`` is where its numbers start (intercept, coefficients, sd for each joint discrete
    state), ``child`` the open variable or -1, ``sums`` where its moments are added. ``kept`` has
    from ``first_kept`` on the places of a kind that stay, in the order of the next message.
    """

    first_node: Integers
    n_before: Integers
    first_column: Integers
    column: Integers
    number: Integers
    child: Integers
    sums: Integers
    first_kept: Integers
    kept: Integers


class RowValues(NamedTuple):
    """What rows have: values (rows, nodes) or NaN, joint discrete states, given columns.

    ``pattern`` is a number for the kind of slice, the gaps and the discrete states.
    """

    y: Floats
    group: Integers
    known: Floats
    pattern: Integers


class Triangles(NamedTuple):
    r"""The triangles of all histories, as many as are needed; the first is that of none.

    ``root`` (triangles, n, n) has the columns in the order of ``order``, with :math:`G^\\top` in
    place of :math:`S_{kd}`; ``variance`` that of every place given the values so far. ``pivot`` is
    the row of each column or -1. ``ends`` has columns of values, of values and kept, and rows of
    values, of values and kept, of all. ``link`` has the first history that goes on from here, the
    next one that goes on from the one before, the pattern, and whether it leads to itself.
    """

    root: Floats
    variance: Floats
    order: Integers
    pivot: Integers
    ends: Integers
    link: Integers


@inner
def _widen(
    slices: Slices, kind: int, row: int, rows: RowValues, numbers: Floats, w: Floats, n_rows: int
) -> int:
    """Add the columns of new nodes to the root of the message; how many rows it has then."""
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k = slices.first_node[kind + 1] - begin
    for c in range(n):
        for i in range(n_rows, n_rows + k):
            w[c, i] = 0.0
    for o in range(k):
        q = begin + o
        first = slices.first_column[q]
        p = slices.first_column[q + 1] - first
        at = slices.number[q] + rows.group[row, o] * (p + 1)
        for i in range(n_rows + k):
            w[n + o, i] = 0.0
        for c in range(p - 1):
            place = slices.column[first + c]
            if place >= 0:
                slope = numbers[at + 1 + c]
                for i in range(n_rows + o):
                    w[n + o, i] += slope * w[place, i]
        w[n + o, n_rows + o] = numbers[at + p]
    return n_rows + k


@inner
def _arrange(
    slices: Slices, kind: int, row: int, rows: RowValues, order: Integers, ends: Integers
) -> None:
    """The places of a row in the order values, kept, dropped."""
    n = slices.n_before[kind]
    k = slices.first_node[kind + 1] - slices.first_node[kind]
    at = 0
    for o in range(k):
        if not np.isnan(rows.y[row, o]):
            order[at] = n + o
            at += 1
    ends[0] = at
    for a in range(slices.first_kept[kind], slices.first_kept[kind + 1]):
        place = slices.kept[a]
        if place < n or np.isnan(rows.y[row, place - n]):
            order[at] = place
            at += 1
    ends[1] = at
    for place in range(n + k):
        is_left = place < n or np.isnan(rows.y[row, place - n])
        for a in range(slices.first_kept[kind], slices.first_kept[kind + 1]):
            is_left = is_left and slices.kept[a] != place
        if is_left:
            order[at] = place
            at += 1


@inner
def _triangulate(r: Floats, n_rows: int, n: int, pivot: Integers) -> None:
    """Turn the rows by reflections until the columns have their pivots."""
    at = 0
    for c in range(n):
        whole, below = 0.0, 0.0
        for i in range(at):
            whole += r[c, i] * r[c, i]
        for i in range(at, n_rows):
            below += r[c, i] * r[c, i]
        if below <= NO_PIVOT * NO_PIVOT * (whole + below):
            pivot[c] = -1
            for i in range(at, n_rows):
                r[c, i] = 0.0
            continue
        length = np.sqrt(below)
        sign = -1.0 if r[c, at] >= 0.0 else 1.0
        r[c, at] -= sign * length
        scale = 1.0 / (length * abs(r[c, at]))
        for j in range(c + 1, n):
            along = 0.0
            for i in range(at, n_rows):
                along += r[c, i] * r[j, i]
            along *= scale
            for i in range(at, n_rows):
                r[j, i] -= along * r[c, i]
            r[j, at] *= sign
        r[c, at] = length
        for i in range(at + 1, n_rows):
            r[c, i] = 0.0
        pivot[c] = at
        at += 1


@inner
def _finish(
    r: Floats, n: int, order: Integers, pivot: Integers, ends: Integers, variance: Floats
) -> None:
    """Variances given the values, and the gains in place of what joins kept and dropped."""
    for c in range(n):
        total = 0.0
        if c >= ends[0]:
            for i in range(ends[2], ends[4]):
                total += r[c, i] * r[c, i]
        variance[order[c]] = total
    for c in range(ends[1], n):
        for back in range(ends[1] - ends[0]):
            k = ends[1] - 1 - back
            i = pivot[k]
            if i < 0:
                continue
            total = r[c, i]
            for later in range(k + 1, ends[1]):
                if pivot[later] >= 0:
                    total -= r[later, i] * r[c, pivot[later]]
            r[c, i] = total / r[k, i]


@inner
def _message(
    slices: Slices, kind: int, r: Floats, order: Integers, ends: Integers, w: Floats
) -> int:
    """The root of what a kind of slice keeps, in the order of the message; its rows."""
    first = slices.first_kept[kind]
    n_rows, c = ends[3] - ends[2], ends[0]
    for a in range(slices.first_kept[kind + 1] - first):
        is_open = c < ends[1] and order[c] == slices.kept[first + a]
        for i in range(n_rows):
            w[a, i] = r[c, ends[2] + i] if is_open else 0.0
        c += is_open
    return n_rows


@inner
def _factor(
    slices: Slices,
    kind: int,
    row: int,
    rows: RowValues,
    numbers: Floats,
    w: Floats,
    n_rows: int,
    into: Triangles,
    t: int,
) -> None:
    """The triangle of a row after the message whose root is in ``w``."""
    wide = _widen(slices, kind, row, rows, numbers, w, n_rows)
    n = slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]
    order, pivot, ends = into.order[t], into.pivot[t], into.ends[t]
    r = into.root[t]
    _arrange(slices, kind, row, rows, order, ends)
    for c in range(n):
        for i in range(wide):
            r[c, i] = w[order[c], i]
    _triangulate(r, wide, n, pivot)
    ends[2], ends[3], ends[4] = 0, 0, 0
    for c in range(n):
        if pivot[c] >= 0:
            ends[4] += 1
            ends[3] += c < ends[1]
            ends[2] += c < ends[0]
    _finish(r, n, order, pivot, ends, into.variance[t])


@inner
def _has_converged(into: Triangles, a: int, b: int) -> bool:
    """Whether two triangles of the same pattern keep the same root."""
    if into.ends[a, 2] != into.ends[b, 2] or into.ends[a, 3] != into.ends[b, 3]:
        return False
    for c in range(into.ends[a, 0], into.ends[a, 1]):
        size = np.sqrt(into.variance[a, into.order[a, c]])
        for i in range(into.ends[a, 2], into.ends[a, 3]):
            if abs(into.root[a, c, i] - into.root[b, c, i]) > CONVERGED * size:
                return False
    return True


@inner
def _add_values(
    slices: Slices,
    kind: int,
    row: int,
    rows: RowValues,
    numbers: Floats,
    triangles: Triangles,
    t: int,
    joint: Floats,
    white: Floats,
) -> float:
    """Means of the new nodes, then of all places given the row's values; its log density."""
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k = slices.first_node[kind + 1] - begin
    for o in range(k):
        q = begin + o
        first = slices.first_column[q]
        p = slices.first_column[q + 1] - first
        at = slices.number[q] + rows.group[row, o] * (p + 1)
        mean = numbers[at]
        for c in range(p - 1):
            place = slices.column[first + c]
            value = joint[place] if place >= 0 else rows.known[row, -1 - place]
            mean += numbers[at + 1 + c] * value
        joint[n + o] = mean
    log, done = 0.0, 0
    order, pivot, ends = triangles.order[t], triangles.pivot[t], triangles.ends[t]
    r = triangles.root[t]
    for c in range(ends[0]):
        place = order[c]
        y = rows.y[row, place - n]
        away = y - joint[place]
        for j in range(done):
            away -= r[c, j] * white[j]
        if pivot[c] >= 0:
            white[done] = away / r[c, done]
            log -= HALF_LOG_2PI + np.log(r[c, done]) + 0.5 * white[done] * white[done]
            done += 1
        elif abs(away) > MATCHES * (abs(y) + abs(joint[place])):
            log = -np.inf
        joint[place] = y
    for c in range(ends[0], n + k):
        total = 0.0
        for i in range(ends[2]):
            total += r[c, i] * white[i]
        joint[order[c]] += total
    return log


@inner
def _successor(
    slices: Slices,
    kind: int,
    row: int,
    rows: RowValues,
    numbers: Floats,
    triangles: Triangles,
    t: int,
    before: int,
    used: int,
    w: Floats,
) -> int:
    """The triangle that follows another at a row: one that is there, ``used`` if it is new, or -1
    if there is no room.
    """
    link, pattern = triangles.link, rows.pattern[row]
    found = link[t, 0]
    while found > 0:
        if link[found, 2] == pattern:
            return found
        found = link[found, 1]
    if link[t, 3] == 1 and link[t, 2] == pattern:
        return t
    if used >= len(triangles.root):
        return -1
    n_rows = 0
    if t > 0:
        n_rows = _message(
            slices, before, triangles.root[t], triangles.order[t], triangles.ends[t], w
        )
    _factor(slices, kind, row, rows, numbers, w, n_rows, triangles, used)
    link[used, 0] = 0
    link[used, 2] = pattern
    link[used, 3] = t > 0 and link[t, 2] == pattern and _has_converged(triangles, t, used)
    link[used, 1] = link[t, 0]
    link[t, 0] = used
    return used


@inner
def _composed(
    slices: Slices,
    kind: int,
    row: int,
    rows: RowValues,
    numbers: Floats,
    triangles: Triangles,
    t: int,
    run: Floats,
) -> float:
    """What a row does to means as a matrix, and the constant of its log density.

    Its rows are the message, the values, the given columns and one. Its columns follow the order
    of the triangle: the innovations, then the means of all places that have no value.
    """
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k, n_known = slices.first_node[kind + 1] - begin, rows.known.shape[1]
    order, ends, r = triangles.order[t], triangles.ends[t], triangles.root[t]
    wide = n + ends[0] + n_known + 1
    all_places, white = np.zeros((n + k, wide)), np.zeros((ends[0], wide))
    for a in range(n):
        all_places[a, a] = 1.0
    for o in range(k):
        q = begin + o
        first = slices.first_column[q]
        p = slices.first_column[q + 1] - first
        at = slices.number[q] + rows.group[row, o] * (p + 1)
        all_places[n + o, wide - 1] = numbers[at]
        for c in range(p - 1):
            place = slices.column[first + c]
            if place >= 0:
                all_places[n + o] += numbers[at + 1 + c] * all_places[place]
            else:
                all_places[n + o, n + ends[0] - 1 - place] += numbers[at + 1 + c]
    constant = 0.0
    for c in range(ends[0]):
        white[c] = -all_places[order[c]]
        white[c, n + c] += 1.0
        for j in range(c):
            white[c] -= r[c, j] * white[j]
        white[c] /= r[c, c]
        constant -= HALF_LOG_2PI + np.log(r[c, c])
        run[:wide, c] = white[c]
    for c in range(ends[0], n + k):
        run[:wide, c] = all_places[order[c]]
        for j in range(ends[0]):
            run[:wide, c] += r[c, j] * white[j]
    return constant


@inner
def _run_steadily(
    slices: Slices,
    kind: int,
    row: int,
    end: int,
    rows: RowValues,
    triangles: Triangles,
    t: int,
    run: Floats,
    constant: float,
    which: Integers,
    joint: Floats,
    log_likelihood: Floats,
) -> int:
    """Filter rows from this one on as long as the pattern stays; the first row not done."""
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k, n_known = slices.first_node[kind + 1] - begin, rows.known.shape[1]
    n_values = triangles.ends[t, 0]
    order, kept = triangles.order[t].copy(), slices.kept[slices.first_kept[kind] :].copy()
    wide = n + n_values + n_known + 1
    come, found, pattern = np.ones(wide), np.zeros(n + k), rows.pattern[row]
    while row < end and rows.pattern[row] == pattern:
        for a in range(n):
            come[a] = joint[row - 1, kept[a]]
        for c in range(n_values):
            y = rows.y[row, order[c] - n]
            come[n + c] = y
            joint[row, order[c]] = y
        for c in range(n_known):
            come[n + n_values + c] = rows.known[row, c]
        found[:] = 0.0
        for j in range(wide):
            for c in range(n + k):
                found[c] += run[j, c] * come[j]
        total = 0.0
        for c in range(n_values):
            total += found[c] * found[c]
        for c in range(n_values, n + k):
            joint[row, order[c]] = found[c]
        which[row] = t
        log_likelihood[row] = constant - 0.5 * total
        row += 1
    return row


@kernel
def filter_rows(
    slices: Slices,
    rows: RowValues,
    numbers: Floats,
    first: Integers,
    order: int,
    triangles: Triangles,
    which: Integers,
    joint: Floats,
    log_likelihood: Floats,
) -> int:
    """Fill the means of all places (rows, places) given the values so far, which triangle each row
    has, and what each adds to the log-likelihood; the number of triangles, or -1 if there is no
    room for all.
    """
    wide = triangles.root.shape[1]
    w, white = np.zeros((wide, wide)), np.zeros(wide)
    run = np.zeros((2 * wide + rows.known.shape[1] + 1, wide))
    used = 1
    triangles.link[0] = 0
    triangles.link[0, 2] = -1
    for s in range(len(first) - 1):
        t, before, row = 0, 0, first[s]
        while row < first[s + 1]:
            kind = min(row - first[s], order)
            last = t
            t = _successor(slices, kind, row, rows, numbers, triangles, t, before, used, w)
            if t < 0:
                return -1
            used += t == used
            which[row] = t
            if t == last and triangles.ends[t, 0] == triangles.ends[t, 2]:
                constant = _composed(slices, kind, row, rows, numbers, triangles, t, run)
                row = _run_steadily(
                    slices,
                    kind,
                    row,
                    first[s + 1],
                    rows,
                    triangles,
                    t,
                    run,
                    constant,
                    which,
                    joint,
                    log_likelihood,
                )
                continue
            if row > first[s]:
                for a in range(slices.n_before[kind]):
                    joint[row, a] = joint[row - 1, slices.kept[slices.first_kept[before] + a]]
            log_likelihood[row] = _add_values(
                slices, kind, row, rows, numbers, triangles, t, joint[row], white
            )
            before = kind
            row += 1
    return used


@inner
def _spread_back(
    slices: Slices, kind: int, triangles: Triangles, t: int, kept: Floats, cov: Floats
) -> None:
    """The smoothed covariance of all places of a row from that of what it keeps (in the order of
    the message).
    """
    n = slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]
    order, pivot, ends = triangles.order[t], triangles.pivot[t], triangles.ends[t]
    r = triangles.root[t]
    for a in range(n):
        for b in range(n):
            cov[a, b] = 0.0
    first = slices.first_kept[kind]
    for a in range(slices.first_kept[kind + 1] - first):
        for b in range(slices.first_kept[kind + 1] - first):
            cov[slices.kept[first + a], slices.kept[first + b]] = kept[a, b]
    for d in range(ends[1], n):
        at = order[d]
        for c in range(ends[0], ends[1]):
            total = 0.0
            for k in range(ends[0], ends[1]):
                if pivot[k] >= 0:
                    total += r[d, pivot[k]] * cov[order[k], order[c]]
            cov[at, order[c]] = total
            cov[order[c], at] = total
    for d in range(ends[1], n):
        for e in range(ends[1], d + 1):
            total = 0.0
            for k in range(ends[0], ends[1]):
                if pivot[k] >= 0:
                    total += cov[order[d], order[k]] * r[e, pivot[k]]
            for i in range(ends[3], ends[4]):
                total += r[d, i] * r[e, i]
            cov[order[d], order[e]] = total
            cov[order[e], order[d]] = total


@inner
def _square(
    slices: Slices, kind: int, triangles: Triangles, t: int, w: Floats, kept: Floats
) -> None:
    """The covariance of what a row keeps given the values so far, in the order of the message."""
    n_rows = _message(slices, kind, triangles.root[t], triangles.order[t], triangles.ends[t], w)
    n = slices.first_kept[kind + 1] - slices.first_kept[kind]
    for a in range(n):
        for b in range(n):
            total = 0.0
            for i in range(n_rows):
                total += w[a, i] * w[b, i]
            kept[a, b] = total


@inner
def _is_the_same(n: int, kept: Floats, last: Floats) -> bool:
    for a in range(n):
        for b in range(n):
            size = np.sqrt(max(last[a, a], 0.0) * max(last[b, b], 0.0))
            if abs(kept[a, b] - last[a, b]) > CONVERGED * size:
                return False
    return True


@inner
def _add_moments(
    slices: Slices,
    q: int,
    row: int,
    o: int,
    rows: RowValues,
    weight: float,
    mean: Floats,
    cov: Floats,
    centers: Floats,
    sums: Floats,
    squares: Floats,
    counts: Floats,
) -> None:
    """Add the smoothed moments of a family; ``mean`` and ``cov`` are those of all places."""
    first = slices.first_column[q]
    p = slices.first_column[q + 1] - first
    g = slices.sums[q] + rows.group[row, o]
    counts[g] += weight
    for i in range(p):
        a = slices.column[first + i]
        x = (rows.known[row, -1 - a] if a < 0 else mean[a]) - centers[g, i]
        sums[g, i] += weight * x
        for j in range(i + 1):
            b = slices.column[first + j]
            y = (rows.known[row, -1 - b] if b < 0 else mean[b]) - centers[g, j]
            c = cov[a, b] if a >= 0 and b >= 0 else 0.0
            squares[g, i, j] += weight * (x * y + c)


@inner
def _run_back(
    slices: Slices,
    kind: int,
    row: int,
    end: int,
    triangles: Triangles,
    which: Integers,
    joint: Floats,
    work: Floats,
) -> int:
    """Smooth the means of rows from this one back while the triangle stays, down to ``end``; the
    first row not done.
    """
    t, n = which[row], slices.n_before[kind]
    n += slices.first_node[kind + 1] - slices.first_node[kind]
    first, stop = triangles.ends[t, 0], triangles.ends[t, 1]
    order, pivot, r = triangles.order[t], triangles.pivot[t], triangles.root[t]
    kept = slices.kept[slices.first_kept[kind] : slices.first_kept[kind + 1]]
    for c in range(first, stop):
        for d in range(stop, n):
            work[c, d] = r[d, pivot[c]] if pivot[c] >= 0 else 0.0
    away, found = work[n], work[n + 1]
    while row >= end and which[row] == t:
        for a in range(len(kept)):
            away[kept[a]] = joint[row + 1, a] - joint[row, kept[a]]
            joint[row, kept[a]] = joint[row + 1, a]
        for d in range(stop, n):
            found[d] = 0.0
        for c in range(first, stop):
            moved = away[order[c]]
            for d in range(stop, n):
                found[d] += work[c, d] * moved
        for d in range(stop, n):
            joint[row, order[d]] += found[d]
        row -= 1
    return row


@kernel
def smooth_rows(
    slices: Slices,
    rows: RowValues,
    first: Integers,
    order: int,
    triangles: Triangles,
    which: Integers,
    joint: Floats,
    weights: Floats,
    believed: Floats,
    spread: Floats,
    centers: Floats,
    counts: Floats,
    sums: Floats,
    squares: Floats,
) -> None:
    """Fill mean and variance of each open variable (open variables, rows), and add the moments of
    the families: weights, sums and the lower half of the sums of products of the columns less
    their ``centers``. ``joint`` has the filtered means, and the smoothed ones afterwards.
    """
    wide = triangles.root.shape[1]
    w, cov = np.zeros((wide, wide)), np.zeros((wide, wide))
    kept, last = np.zeros((wide, wide)), np.zeros((wide, wide))
    work = np.zeros((wide + 2, wide))
    for s in range(len(first) - 1):
        row, is_steady = first[s + 1] - 1, False
        while row >= first[s]:
            kind, t, back = min(row - first[s], order), which[row], row - 1
            k = slices.first_kept[kind + 1] - slices.first_kept[kind]
            if row + 1 == first[s + 1]:
                _square(slices, kind, triangles, t, w, kept)
                _spread_back(slices, kind, triangles, t, kept, cov)
                is_steady = False
            else:
                is_steady = is_steady and which[row + 1] == t
                end = first[s] + order if is_steady else row
                if not is_steady:
                    for a in range(k):
                        for b in range(k):
                            last[a, b] = kept[a, b]
                            kept[a, b] = cov[a, b]
                    _spread_back(slices, kind, triangles, t, kept, cov)
                    is_steady = which[row + 1] == t and _is_the_same(k, kept, last)
                back = _run_back(
                    slices,
                    kind,
                    row,
                    min(end, row),
                    triangles,
                    which,
                    joint,
                    work,
                )
            begin = slices.first_node[kind]
            for q in range(begin, slices.first_node[kind + 1]):
                place = slices.n_before[kind] + q - begin
                if slices.child[q] >= 0:
                    believed[slices.child[q], back + 1 : row + 1] = joint[back + 1 : row + 1, place]
                    spread[slices.child[q], back + 1 : row + 1] = cov[place, place]
                if len(counts) > 0:
                    for at in range(back + 1, row + 1):
                        _add_moments(
                            slices,
                            q,
                            at,
                            q - begin,
                            rows,
                            weights[s],
                            joint[at],
                            cov,
                            centers,
                            sums,
                            squares,
                            counts,
                        )
            row = back
