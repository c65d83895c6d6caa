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

Where no variance shrinks to less than ``CLEAR`` of itself when the columns before it are given, the
same triangle is the Cholesky root of the covariance of all places, at a third of the cost and with
all but a few of the last digits; elsewhere (diffuse first laws, functions of others) it is found by
reflections.

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

from consilience._typing import Codes, Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["RowValues", "Slices", "Triangles", "filter_rows", "smooth_rows", "spread_rows"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
MATCHES = 1e-9
NO_PIVOT = 1e-14
CLEAR = 1e-3
CONVERGED = 1e-14
SMALL = 1e-150


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

    ``root`` (triangles, n (n + 1) / 2) has the lower half of the transposed triangle, column after
    column in the order of ``order``, with the gains :math:`G^\top` in place of :math:`S_{kd}` and
    the covariance :math:`S_d^\top S_d` in place of :math:`S_d`. ``pivot`` is the row of each
    column or -1. ``ends`` has columns of values, of values and kept, and rows of values, of values
    and kept. ``link`` has the first history that goes on from here, the next one that goes on from
    the one before, the pattern, and whether it leads to itself.
    """

    root: Floats
    order: Codes
    pivot: Codes
    ends: Codes
    link: Integers


class Room(NamedTuple):
    """Room for one triangle: roots, a covariance, its factor, two columns, and marks of places."""

    w: Floats
    cov: Floats
    lower: Floats
    line: Floats
    share: Floats
    seen: Integers


@inner
def _at(c: int) -> int:
    """Where a column of a triangle starts."""
    return c * (c + 1) // 2


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
    slices: Slices, kind: int, row: int, rows: RowValues, into: Triangles, t: int, seen: Integers
) -> None:
    """The places of a row in the order values, kept, dropped; ``seen`` is room for marks."""
    n, order = slices.n_before[kind], into.order
    k, at = slices.first_node[kind + 1] - slices.first_node[kind], 0
    for place in range(n):
        seen[place] = 0
    for o in range(k):
        is_value = not np.isnan(rows.y[row, o])
        seen[n + o] = is_value
        if is_value:
            order[t, at] = n + o
            at += 1
    into.ends[t, 0] = at
    for a in range(slices.first_kept[kind], slices.first_kept[kind + 1]):
        place = slices.kept[a]
        if not seen[place]:
            order[t, at] = place
            seen[place] = 1
            at += 1
    into.ends[t, 1] = at
    for place in range(n + k):
        if not seen[place]:
            order[t, at] = place
            at += 1


@inner
def _triangulate(r: Floats, n_rows: int, n: int, into: Triangles, new: int) -> None:
    """Turn the rows by reflections until the columns have their pivots."""
    at = 0
    for c in range(n):
        whole, below = 0.0, 0.0
        for i in range(at):
            whole += r[c, i] * r[c, i]
        for i in range(at, n_rows):
            below += r[c, i] * r[c, i]
        if below <= NO_PIVOT * NO_PIVOT * (whole + below):
            into.pivot[new, c] = -1
            for i in range(at, n_rows):
                r[c, i] = 0.0
            continue
        length = np.sqrt(below)
        sign = -1.0 if r[c, at] >= 0.0 else 1.0
        r[c, at] -= sign * length
        scale = np.divide(1.0, length * abs(r[c, at]))
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
        into.pivot[new, c] = at
        at += 1


@inner
def _message(slices: Slices, kind: int, triangles: Triangles, t: int, w: Floats) -> int:
    """The root of what a kind of slice keeps, in the order of the message; its rows."""
    first, top = slices.first_kept[kind], int(triangles.ends[t, 2])
    n_rows, c = triangles.ends[t, 3] - top, int(triangles.ends[t, 0])
    for a in range(slices.first_kept[kind + 1] - first if t > 0 else 0):
        is_open = c < triangles.ends[t, 1] and triangles.order[t, c] == slices.kept[first + a]
        at = np.uint64(_at(c) + top)
        n = min(n_rows, c + 1 - top) if is_open else 0
        for i in range(n_rows):
            w[a, i] = triangles.root[t, at + np.uint64(i)] if i < n else 0.0
        c += is_open
    return n_rows


@inner
def _covariance(
    slices: Slices, kind: int, n_rows: int, row: int, rows: RowValues, numbers: Floats, room: Room
) -> None:
    """The covariance of all places of a row, from the root of the message in ``room.w``.

    Loops run over products and not over columns: they are too short to be worth a vector.
    """
    begin, n, cov, w = slices.first_node[kind], slices.n_before[kind], room.cov, room.w
    column, line, slopes, places = slices.column, room.line, room.share, room.seen
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for i in range(min(n_rows, b + 1)):
                total += w[a, i] * w[b, i]
            cov[a, b] = total
            cov[b, a] = total
    for o in range(slices.first_node[kind + 1] - begin):
        now, first = n + o, slices.first_column[begin + o]
        p = slices.first_column[begin + o + 1] - first
        at = slices.number[begin + o] + rows.group[row, o] * (p + 1)
        m = 0
        for c in range(p - 1):
            if column[first + c] >= 0:
                slopes[m], places[m] = numbers[at + 1 + c], column[first + c]
                m += 1
        for b in range(now):
            total = 0.0
            for i in range(m):
                total += slopes[i] * cov[np.uint64(places[i]), b]
            line[b] = total
        total = numbers[at + p] * numbers[at + p]
        for i in range(m):
            total += slopes[i] * line[np.uint64(places[i])]
        cov[now, now] = total
        for b in range(now):
            cov[now, b] = line[b]
            cov[b, now] = line[b]


@inner
def _eliminate(n: int, triangles: Triangles, new: int, room: Room) -> bool:
    r"""The factors :math:`L D L^\top` of the covariance in the order of a triangle, values and
    kept eliminated, :math:`D` in ``room.line``; False if a variance is nearly lost.
    """
    cov, lower, line, order = room.cov, room.lower, room.line, triangles.order
    end, is_clear = int(triangles.ends[new, 1]), True
    for c in range(n):
        place = np.uint64(order[new, c])
        for j in range(c):
            total, stop = cov[place, np.uint64(order[new, j])], min(j, end)
            for i in range(stop):
                total -= lower[c, i] * lower[j, i] * line[i]
            lower[c, j] = total * room.share[j] if j < end else total
        total = cov[place, place]
        for i in range(min(c, end)):
            total -= lower[c, i] * lower[c, i] * line[i]
        is_clear = is_clear and total > CLEAR * cov[place, place]
        lower[c, c], line[c], room.share[c] = total, total, np.divide(1.0, total)
    return is_clear


@inner
def _keep(n: int, triangles: Triangles, new: int, room: Room) -> None:
    """Write the triangle that :func:`_eliminate` found."""
    lower, line, share, root = room.lower, room.line, room.share, triangles.root
    begin, end = int(triangles.ends[new, 0]), int(triangles.ends[new, 1])
    triangles.ends[new, 2], triangles.ends[new, 3] = begin, end
    for d in range(end, n):
        for j in range(end - 2, begin - 1, -1):
            total = lower[d, j]
            for k in range(j + 1, end):
                total -= lower[d, k] * lower[k, j]
            lower[d, j] = total
    for j in range(n):
        line[j] = np.sqrt(line[j])
        share[j] = line[j] if j < begin else 1.0
        triangles.pivot[new, j] = j
    at = np.uint64(0)
    for c in range(n):
        for i in range(c):
            root[new, at] = lower[c, i] * (line[i] if c < end else share[i])
            at += np.uint64(1)
        root[new, at] = line[c] if c < end else lower[c, c]
        at += np.uint64(1)


@inner
def _reflect(
    slices: Slices,
    kind: int,
    n_rows: int,
    row: int,
    rows: RowValues,
    numbers: Floats,
    triangles: Triangles,
    new: int,
    room: Room,
) -> None:
    """The triangle of a row after the message whose root is in ``room.w``, by reflections."""
    wide = _widen(slices, kind, row, rows, numbers, room.w, n_rows)
    n = slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]
    r, pivot, root, w = room.lower, triangles.pivot, triangles.root, room.w
    for c in range(n):
        for i in range(wide):
            r[c, i] = w[triangles.order[new, c], i]
    _triangulate(r, wide, n, triangles, new)
    begin, end, top, bottom = triangles.ends[new, 0], triangles.ends[new, 1], 0, 0
    for c in range(end):
        bottom += pivot[new, c] >= 0
        top += c < begin and pivot[new, c] >= 0
    triangles.ends[new, 2], triangles.ends[new, 3] = top, bottom
    for k in range(end - 1, begin - 1, -1):
        i = pivot[new, k]
        if i >= 0:
            for d in range(end, n):
                r[d, i] = np.divide(r[d, i], r[k, i])
                for j in range(top, i):
                    r[d, j] -= r[k, j] * r[d, i]
    for c in range(n):
        at = _at(c)
        for i in range(min(c, end - 1) + 1):
            root[new, at + i] = r[c, i] if i < bottom else 0.0
        for e in range(end, c + 1):
            total = 0.0
            for i in range(bottom, wide):
                total += r[c, i] * r[e, i]
            root[new, at + e] = total


@inner
def _factor(
    slices: Slices,
    kind: int,
    before: int,
    row: int,
    rows: RowValues,
    numbers: Floats,
    triangles: Triangles,
    t: int,
    new: int,
    room: Room,
) -> None:
    """The triangle of a row that follows triangle ``t``."""
    n = slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]
    _arrange(slices, kind, row, rows, triangles, new, room.seen)
    n_rows = _message(slices, before, triangles, t, room.w)
    _covariance(slices, kind, n_rows, row, rows, numbers, room)
    if _eliminate(n, triangles, new, room):
        _keep(n, triangles, new, room)
    else:
        _reflect(slices, kind, n_rows, row, rows, numbers, triangles, new, room)


@inner
def _has_converged(into: Triangles, a: int, b: int) -> bool:
    """Whether two triangles of the same pattern keep the same root."""
    top, bottom = into.ends[a, 2], into.ends[a, 3]
    if top != into.ends[b, 2] or bottom != into.ends[b, 3]:
        return False
    for c in range(into.ends[a, 0], into.ends[a, 1]):
        at, size = _at(c), 0.0
        for i in range(top, min(c + 1, bottom)):
            size += into.root[a, at + i] * into.root[a, at + i]
        size = CONVERGED * np.sqrt(size)
        for i in range(top, min(c + 1, bottom)):
            if abs(into.root[a, at + i] - into.root[b, at + i]) > size:
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
            value = joint[row, place] if place >= 0 else rows.known[row, -1 - place]
            mean += numbers[at + 1 + c] * value
        joint[row, n + o] = mean
    log, done, size = 0.0, 0, 1.0
    order, top, r = triangles.order, triangles.ends[t, 2], triangles.root
    for c in range(triangles.ends[t, 0]):
        place, at = order[t, c], _at(c)
        y = rows.y[row, place - n]
        away = y - joint[row, place]
        for j in range(done):
            away -= r[t, at + j] * white[j]
        if triangles.pivot[t, c] >= 0:
            white[done] = np.divide(away, r[t, at + done])
            log -= HALF_LOG_2PI + 0.5 * white[done] * white[done]
            size *= r[t, at + done]
            if not SMALL < size < 1.0 / SMALL:
                log -= np.log(size)
                size = 1.0
            done += 1
        elif abs(away) > MATCHES * (abs(y) + abs(joint[row, place])):
            log = -np.inf
        joint[row, place] = y
    for c in range(triangles.ends[t, 0], n + k):
        total, at = 0.0, _at(c)
        for i in range(top):
            total += r[t, at + i] * white[i]
        joint[row, order[t, c]] += total
    return log - np.log(size)


@inner
def _successor(link: Integers, t: int, pattern: int) -> int:
    """The triangle that follows another in a row of this pattern, or -1 if there is none yet."""
    found = link[t, 0]
    while found > 0 and link[found, 2] != pattern:
        found = link[found, 1]
    if found > 0:
        return found
    return t if link[t, 3] == 1 and link[t, 2] == pattern else -1


@inner
def _append(triangles: Triangles, t: int, new: int, pattern: int) -> None:
    """Enter a triangle as one that follows another."""
    link = triangles.link
    link[new, 0] = 0
    link[new, 2] = pattern
    link[new, 3] = t > 0 and link[t, 2] == pattern and _has_converged(triangles, t, new)
    link[new, 1] = link[t, 0]
    link[t, 0] = new


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
    order, n_values, r = triangles.order[t], triangles.ends[t, 0], triangles.root[t]
    wide = n + n_values + n_known + 1
    all_places, white = np.zeros((n + k, wide)), np.zeros((n_values, wide))
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
                all_places[n + o, n + n_values - 1 - place] += numbers[at + 1 + c]
    constant = 0.0
    for c in range(n_values):
        at = _at(c)
        white[c] = -all_places[order[c]]
        white[c, n + c] += 1.0
        for j in range(c):
            white[c] -= r[at + j] * white[j]
        white[c] *= np.divide(1.0, r[at + c])
        constant -= HALF_LOG_2PI + np.log(r[at + c])
        run[:wide, c] = white[c]
    for c in range(n_values, n + k):
        run[:wide, c] = all_places[order[c]]
        for j in range(n_values):
            run[:wide, c] += r[_at(c) + j] * white[j]
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
    order = triangles.order[t].astype(np.int64)
    kept = slices.kept[slices.first_kept[kind] :].copy()
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


@inner
def _room(n: int) -> Room:
    """Room for triangles of so many places."""
    square, column = (n, n), np.zeros(n)
    return Room(
        np.zeros(square),
        np.zeros(square),
        np.zeros(square),
        column,
        column.copy(),
        np.zeros(n, np.int64),
    )


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
    wide = triangles.order.shape[1]
    room, white = _room(wide), np.zeros(wide)
    run = np.zeros((2 * wide + rows.known.shape[1] + 1, wide))
    used = 1
    triangles.link[0] = 0
    triangles.link[0, 2] = -1
    triangles.ends[0] = 0
    for s in range(len(first) - 1):
        t, before, row = 0, 0, first[s]
        while row < first[s + 1]:
            kind = min(row - first[s], order)
            last, t = t, _successor(triangles.link, t, rows.pattern[row])
            if t < 0 and used < len(triangles.root):
                t = used
                _factor(slices, kind, before, row, rows, numbers, triangles, last, t, room)
                _append(triangles, last, t, rows.pattern[row])
                used += 1
            if t < 0:
                return -1
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
                slices, kind, row, rows, numbers, triangles, t, joint, white
            )
            before = kind
            row += 1
    return used


@kernel
def spread_rows(
    slices: Slices,
    first: Integers,
    order: int,
    triangles: Triangles,
    which: Integers,
    spread: Floats,
) -> None:
    """Fill the variance of each open variable (open variables, rows) given the values so far."""
    wide = triangles.order.shape[1]
    w, along, variance = np.zeros((wide, wide)), np.zeros(wide), np.zeros(wide)
    for s in range(len(first) - 1):
        last = -1
        for row in range(first[s], first[s + 1]):
            kind, t = min(row - first[s], order), which[row]
            if t != last:
                _variances(slices, kind, triangles, t, w, along, variance)
                last = t
            begin = slices.first_node[kind]
            for q in range(begin, slices.first_node[kind + 1]):
                if slices.child[q] >= 0:
                    spread[slices.child[q], row] = variance[slices.n_before[kind] + q - begin]


@inner
def _variances(
    slices: Slices,
    kind: int,
    triangles: Triangles,
    t: int,
    w: Floats,
    along: Floats,
    variance: Floats,
) -> None:
    """The variance of every place of a triangle."""
    n = slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]
    root, pivot, order = triangles.root, triangles.pivot, triangles.order
    begin, end = triangles.ends[t, 0], triangles.ends[t, 1]
    top, bottom = triangles.ends[t, 2], triangles.ends[t, 3]
    for c in range(n):
        total = root[t, _at(c) + c] if c >= end else 0.0
        for i in range(top, bottom):
            along[i] = root[t, _at(c) + i] if begin <= c < end and i <= c else 0.0
        for k in range(begin, end if c >= end else 0):
            if pivot[t, k] >= 0:
                for i in range(top, min(k + 1, bottom)):
                    along[i] += root[t, _at(c) + pivot[t, k]] * root[t, _at(k) + i]
        for i in range(top, bottom):
            total += along[i] * along[i]
        variance[order[t, c]] = total


@inner
def _spread_back(
    slices: Slices,
    kind: int,
    triangles: Triangles,
    t: int,
    kept: Floats,
    cov: Floats,
    gains: Floats,
    work: Floats,
) -> None:
    """The smoothed covariance of all places of a row from that of what it keeps (in the order of
    the message), whose values have no covariance.
    """
    n = slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]
    order, pivot, root = triangles.order, triangles.pivot, triangles.root
    begin, end = triangles.ends[t, 0], triangles.ends[t, 1]
    for c in range(begin):
        at = np.uint64(order[t, c])
        for b in range(n):
            cov[at, b] = 0.0
            cov[b, at] = 0.0
    first = slices.first_kept[kind]
    n_kept = slices.first_kept[kind + 1] - first
    for a in range(n_kept):
        at = np.uint64(slices.kept[first + a])
        for b in range(n_kept):
            cov[at, np.uint64(slices.kept[first + b])] = kept[a, b]
    a = 0
    for k in range(begin, end):
        while slices.kept[first + a] != order[t, k]:
            a += 1
        for d in range(end, n):
            p = pivot[t, k]
            gains[d, a] = root[t, np.uint64(_at(d) + p)] if p >= 0 else 0.0
        a += 1
    for d in range(end, n):
        place = np.uint64(order[t, d])
        for b in range(n_kept):
            total = 0.0
            for a in range(n_kept):
                total += gains[d, a] * kept[a, b]
            work[b] = total
        for b in range(n_kept):
            other = np.uint64(slices.kept[first + b])
            cov[place, other] = work[b]
            cov[other, place] = work[b]
        for e in range(end, d + 1):
            total, other = root[t, np.uint64(_at(d) + e)], np.uint64(order[t, e])
            for a in range(n_kept):
                total += work[a] * gains[e, a]
            cov[place, other] = total
            cov[other, place] = total


@inner
def _square(
    slices: Slices, kind: int, triangles: Triangles, t: int, w: Floats, kept: Floats
) -> None:
    """The covariance of what a row keeps given the values so far, in the order of the message."""
    n_rows = _message(slices, kind, triangles, t, w)
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
    order, pivot, r, kept = triangles.order, triangles.pivot, triangles.root, slices.kept
    begin, n_kept = slices.first_kept[kind], slices.first_kept[kind + 1] - slices.first_kept[kind]
    for c in range(first, stop):
        for d in range(stop, n):
            work[c, d] = r[t, _at(d) + pivot[t, c]] if pivot[t, c] >= 0 else 0.0
    while row >= end and which[row] == t:
        for a in range(n_kept):
            place = np.uint64(kept[begin + a])
            work[n, place] = joint[row + 1, a] - joint[row, place]
            joint[row, place] = joint[row + 1, a]
        for d in range(stop, n):
            work[n + 1, d] = 0.0
        for c in range(first, stop):
            moved = work[n, np.uint64(order[t, c])]
            for d in range(stop, n):
                work[n + 1, d] += work[c, d] * moved
        for d in range(stop, n):
            joint[row, np.uint64(order[t, d])] += work[n + 1, d]
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
    wide = triangles.order.shape[1]
    w, cov = np.zeros((wide, wide)), np.zeros((wide, wide))
    kept, last = np.zeros((wide, wide)), np.zeros((wide, wide))
    gains, line, work = np.zeros((wide, wide)), np.zeros(wide), np.zeros((wide + 2, wide))
    for s in range(len(first) - 1):
        row, is_steady = first[s + 1] - 1, False
        while row >= first[s]:
            kind, t, back = min(row - first[s], order), which[row], row - 1
            k = slices.first_kept[kind + 1] - slices.first_kept[kind]
            if row + 1 == first[s + 1]:
                _square(slices, kind, triangles, t, w, kept)
                _spread_back(slices, kind, triangles, t, kept, cov, gains, line)
                is_steady = False
            else:
                is_steady = is_steady and which[row + 1] == t
                end = first[s] + order if is_steady else row
                if not is_steady:
                    for a in range(k):
                        for b in range(k):
                            last[a, b] = kept[a, b]
                            kept[a, b] = cov[a, b]
                    _spread_back(slices, kind, triangles, t, kept, cov, gains, line)
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
                    for at in range(back + 1, row + 1):
                        believed[slices.child[q], at] = joint[at, place]
                        spread[slices.child[q], at] = cov[place, place]
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
