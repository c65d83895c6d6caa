r"""Covariances along sequences of linear Gaussian nodes: a triangle for each history of rows.

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
pivot, one that those before it determine, has a row of zeros.

The triangle depends on the pattern of gaps and not on the values. Rows with the same history share
it, and a history that has converged is followed no further.

Where no variance shrinks to less than ``CLEAR`` of itself when the columns before it are given, the
triangle is the Cholesky root of the covariance of all places, at a fraction of the cost and with
all but a few of the last digits; elsewhere (diffuse first laws, functions of others) it is found by
reflections. Rows of covariances are handled four numbers at a time, each four read before any is
written, so that nothing waits; they have room for up to three numbers more.

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
from consilience.kernels.compile import bare, inner, kernel

__all__ = [
    "CONVERGED",
    "RowValues",
    "Slices",
    "Triangles",
    "empty_triangles",
    "find_triangles",
    "triangle_bytes",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

NO_PIVOT = 1e-14
CLEAR = 1e-3

CONVERGED = 1e-14
"""By how much of itself a number may change in a step that changes nothing."""

SPILL = 3
"""Numbers that a row of a triangle, written in fours, may take beyond the last one."""


class Slices(NamedTuple):
    """The nodes that every kind of slice adds, parents first.

    ``first_node`` has the first of each kind and their number, ``n_before`` the variables that come
    into it; a new node stands behind them. ``column`` has from ``first_column`` on the columns of a
    node's family, its parents and itself: a place, or -1 - c for the given column c.
    ``number`` is where its numbers start (intercept, coefficients, sd for each joint discrete
    state), ``value`` its column of values and ``group`` that of its joint discrete states, -1
    without one, ``child`` the open variable or -1, ``sums`` where its moments are added. ``kept``
    has from ``first_kept`` on the places of a kind that stay, in the order of the next message.
    """

    first_node: Integers
    n_before: Integers
    first_column: Integers
    column: Integers
    number: Integers
    value: Integers
    group: Integers
    child: Integers
    sums: Integers
    first_kept: Integers
    kept: Integers


class RowValues(NamedTuple):
    """What rows have: values or NaN, joint discrete states, given columns, each (rows, columns).

    ``pattern`` is a number for the kind of slice, the gaps and the discrete states.
    """

    y: Floats
    group: Integers
    known: Floats
    pattern: Integers


class Triangles(NamedTuple):
    r"""The triangles of all histories, as many as are needed; the first is that of none.

    ``root`` has the triangle row after row, each from its diagonal on, columns in the order of
    ``order``, with the gains :math:`G^\top` in place of :math:`S_{kd}` and the covariance
    :math:`S_d^\top S_d` in place of :math:`S_d`. ``ends`` has the number of values, and of values
    and kept. ``link`` has the first history that goes on from here, the next one that goes on from
    the one before, the pattern, and whether it leads to itself. ``start`` is where the first column
    of each row would stand.
    """

    root: Floats
    order: Codes
    ends: Codes
    link: Integers
    start: Integers


def triangle_bytes(n: int) -> float:
    """Memory of one triangle of so many places."""
    return 8.0 * (n * (n + 1) // 2 + SPILL) + 2.0 * n + 36


def empty_triangles(n_triangles: int, n: int) -> Triangles:
    """Room for triangles of at most so many places; memory is used as it is filled."""
    row = np.arange(n)
    return Triangles(
        np.empty((n_triangles, n * (n + 1) // 2 + SPILL)),
        np.empty((n_triangles, n), np.int16),
        np.empty((n_triangles, 2), np.int16),
        np.empty((n_triangles, 4), np.int64),
        row * n - row * (row + 1) // 2,
    )


class Room(NamedTuple):
    """Room for one triangle: a covariance in its order with three rows and columns more, a root in
    its order, the root in that of the places, numbers and rows of columns, and where each place
    stands in the order.
    """

    cov: Floats
    root: Floats
    w: Floats
    line: Floats
    share: Floats
    spot: Integers
    source: Integers


@bare
def _state(slices: Slices, q: int, row: int, rows: RowValues) -> int:
    """The joint state of a node's discrete parents."""
    return rows.group[row, slices.group[q]] if slices.group[q] >= 0 else 0


@bare
def _subtract(m: Floats, to: int, row: int, factor: float, begin: int, n: int) -> None:
    """Subtract a multiple of a row from another, from column ``begin`` on."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    i, j, b = np.uint64(to), np.uint64(row), np.uint64(begin)
    for _ in range((n - begin + 3) >> 2):
        x0 = m[i, b] - factor * m[j, b]
        x1 = m[i, b + one] - factor * m[j, b + one]
        x2 = m[i, b + two] - factor * m[j, b + two]
        x3 = m[i, b + three] - factor * m[j, b + three]
        m[i, b], m[i, b + one], m[i, b + two], m[i, b + three] = x0, x1, x2, x3
        b = b + four


@bare
def _combine(m: Floats, to: int, rows: Integers, factors: Floats, k: int, n: int) -> None:
    """Set a row to the sum of multiples of ``k`` others."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    i = np.uint64(to)
    for block in range((n + 3) >> 2):
        b, x0, x1, x2, x3 = np.uint64(block << 2), 0.0, 0.0, 0.0, 0.0
        for a in range(k):
            j, factor = np.uint64(rows[a]), factors[a]
            x0 += factor * m[j, b]
            x1 += factor * m[j, b + one]
            x2 += factor * m[j, b + two]
            x3 += factor * m[j, b + three]
        m[i, b], m[i, b + one], m[i, b + two], m[i, b + three] = x0, x1, x2, x3


@bare
def _mirror(m: Floats, row: int, n: int) -> None:
    """Write a row of a symmetric matrix into its column."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    i, b = np.uint64(row), np.uint64(0)
    for _ in range((n + 3) >> 2):
        x0, x1, x2, x3 = m[i, b], m[i, b + one], m[i, b + two], m[i, b + three]
        m[b, i], m[b + one, i], m[b + two, i], m[b + three, i] = x0, x1, x2, x3
        b = b + four


@bare
def _scale(m: Floats, row: int, factor: float, begin: int, n: int) -> None:
    """Multiply a row by a number, from column ``begin`` on."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    i, b = np.uint64(row), np.uint64(begin)
    for _ in range((n - begin + 3) >> 2):
        x0, x1 = factor * m[i, b], factor * m[i, b + one]
        x2, x3 = factor * m[i, b + two], factor * m[i, b + three]
        m[i, b], m[i, b + one], m[i, b + two], m[i, b + three] = x0, x1, x2, x3
        b = b + four


@bare
def _write(into: Triangles, t: int, row: int, begin: int, m: Floats, scale: float, n: int) -> None:
    """Write a row of a triangle, times a number, from column ``begin`` on; what is written beyond
    it, the next one covers.
    """
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    root, new, i = into.root, np.uint64(t), np.uint64(row)
    at, b = np.uint64(into.start[row] + begin), np.uint64(begin)
    for _ in range((n - begin + 3) >> 2):
        x0, x1 = scale * m[i, b], scale * m[i, b + one]
        x2, x3 = scale * m[i, b + two], scale * m[i, b + three]
        root[new, at], root[new, at + one] = x0, x1
        root[new, at + two], root[new, at + three] = x2, x3
        at, b = at + four, b + four


@bare
def _arrange(
    slices: Slices, kind: int, row: int, rows: RowValues, into: Triangles, t: int, spot: Integers
) -> None:
    """The places of a row in the order values, kept, dropped, and where each stands there."""
    begin, n, order = slices.first_node[kind], slices.n_before[kind], into.order
    k, at = slices.first_node[kind + 1] - begin, 0
    for place in range(n + k):
        spot[place] = -1
    for o in range(k):
        column = slices.value[begin + o]
        if column >= 0 and not np.isnan(rows.y[row, column]):
            order[t, at], spot[n + o] = n + o, at
            at += 1
    into.ends[t, 0] = at
    for a in range(slices.first_kept[kind], slices.first_kept[kind + 1]):
        place = slices.kept[a]
        if spot[place] < 0:
            order[t, at], spot[place] = place, at
            at += 1
    into.ends[t, 1] = at
    for place in range(n + k):
        if spot[place] < 0:
            order[t, at], spot[place] = place, at
            at += 1


@bare
def _begin(slices: Slices, before: int, triangles: Triangles, t: int, room: Room) -> None:
    """The covariance of the message of triangle ``t``, where its places stand in the next order."""
    start, root, cov, spot = triangles.start, triangles.root, room.cov, room.spot
    first, begin, end = slices.first_kept[before], triangles.ends[t, 0], triangles.ends[t, 1]
    n, c, at = slices.first_kept[before + 1] - first, int(begin), room.source
    for a in range(n):
        is_open = c < end and triangles.order[t, c] == slices.kept[first + a]
        at[a] = c if is_open else -1
        c += is_open
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            if at[a] >= 0 and at[b] >= 0:
                for i in range(begin, at[b] + 1):
                    line = start[i]
                    total += root[t, np.uint64(line + at[a])] * root[t, np.uint64(line + at[b])]
            cov[np.uint64(spot[a]), np.uint64(spot[b])] = total
            cov[np.uint64(spot[b]), np.uint64(spot[a])] = total


@bare
def _covariance(
    slices: Slices, kind: int, row: int, rows: RowValues, numbers: Floats, room: Room
) -> None:
    """Add the new nodes of a row to the covariance of its message."""
    begin, n, cov, spot = slices.first_node[kind], slices.n_before[kind], room.cov, room.spot
    column, slopes, source = slices.column, room.share, room.source
    k = slices.first_node[kind + 1] - begin
    for o in range(k):
        now, q = np.uint64(spot[n + o]), begin + o
        first = slices.first_column[q]
        p = slices.first_column[q + 1] - first
        at, m = slices.number[q] + _state(slices, q, row, rows) * (p + 1), 0
        for c in range(p - 1):
            if column[first + c] >= 0:
                slopes[m], source[m] = numbers[at + 1 + c], spot[np.uint64(column[first + c])]
                m += 1
        _combine(cov, spot[n + o], source, slopes, m, n + k)
        total = numbers[at + p] * numbers[at + p]
        for i in range(m):
            total += slopes[i] * cov[now, np.uint64(source[i])]
        cov[now, now] = total
        _mirror(cov, spot[n + o], n + k)


@bare
def _eliminate(n: int, end: int, room: Room) -> bool:
    r"""Turn the upper half of the covariance into the rows of :math:`D L^\top`, values and kept
    eliminated; False if a variance is nearly lost.
    """
    cov, whole, share = room.cov, room.line, room.share
    for c in range(n):
        whole[c] = CLEAR * cov[c, c]
    for c in range(end):
        if not cov[c, c] > whole[c]:
            return False
        share[c] = np.divide(1.0, cov[c, c])
        for r in range(c + 1, n):
            _subtract(cov, r, c, cov[c, r] * share[c], r, n)
    is_clear = True
    for c in range(end, n):
        is_clear = is_clear and cov[c, c] > whole[c]
    return is_clear


@bare
def _keep(n: int, triangles: Triangles, new: int, room: Room) -> None:
    """Write the triangle that :func:`_eliminate` found."""
    cov, share = room.cov, room.share
    begin, end = int(triangles.ends[new, 0]), int(triangles.ends[new, 1])
    for k in range(end - 1, begin - 1, -1):
        _scale(cov, k, share[k], end, n)
        for j in range(begin, k):
            _subtract(cov, j, k, cov[j, k], end, n)
    for c in range(end):
        scale = share[c] * np.sqrt(cov[c, c])
        _write(triangles, new, c, c, cov, scale, n if c < begin else end)
        if c >= begin:
            _write(triangles, new, c, end, cov, 1.0, n)
    for c in range(end, n):
        _write(triangles, new, c, c, cov, 1.0, n)


@bare
def _message(slices: Slices, kind: int, triangles: Triangles, t: int, w: Floats) -> int:
    """The root of what a kind of slice keeps, in the order of the message; its rows."""
    first, begin, end = slices.first_kept[kind], triangles.ends[t, 0], triangles.ends[t, 1]
    root, start, c = triangles.root, triangles.start, int(begin)
    for a in range(slices.first_kept[kind + 1] - first if t > 0 else 0):
        is_open = c < end and triangles.order[t, c] == slices.kept[first + a]
        for i in range(begin, end):
            w[a, i - begin] = root[t, start[i] + c] if is_open and i <= c else 0.0
        c += is_open
    return end - begin


@bare
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
        at = slices.number[q] + _state(slices, q, row, rows) * (p + 1)
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


@bare
def _triangulate(r: Floats, n_rows: int, n: int, pivot: Integers) -> None:
    """Turn the rows by reflections until the columns have their pivots, -1 for none."""
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
        pivot[c] = at
        at += 1


@bare
def _reflect(
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
    """The triangle of a row that follows triangle ``t``, by reflections."""
    r, root, w, pivot = room.root, triangles.root, room.w, room.source
    n_rows = _widen(slices, kind, row, rows, numbers, w, _message(slices, before, triangles, t, w))
    n = slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]
    for c in range(n):
        for i in range(n_rows):
            r[c, i] = w[triangles.order[new, c], i]
    _triangulate(r, n_rows, n, pivot)
    begin, end, bottom = triangles.ends[new, 0], triangles.ends[new, 1], 0
    for c in range(end):
        bottom += pivot[c] >= 0
    for k in range(end - 1, begin - 1, -1):
        i = pivot[k]
        if i >= 0:
            for d in range(end, n):
                r[d, i] = np.divide(r[d, i], r[k, i])
                for j in range(begin, k):
                    if pivot[j] >= 0:
                        r[d, pivot[j]] -= r[k, pivot[j]] * r[d, i]
    for i in range(n):
        line = triangles.start[i]
        for c in range(i, n):
            total = r[c, pivot[i]] if i < end and pivot[i] >= 0 else 0.0
            for j in range(bottom, n_rows if i >= end else 0):
                total += r[c, j] * r[i, j]
            root[new, line + c] = total


@bare
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
    _arrange(slices, kind, row, rows, triangles, new, room.spot)
    if t > 0:
        _begin(slices, before, triangles, t, room)
    _covariance(slices, kind, row, rows, numbers, room)
    if _eliminate(n, int(triangles.ends[new, 1]), room):
        _keep(n, triangles, new, room)
    else:
        _reflect(slices, kind, before, row, rows, numbers, triangles, t, new, room)
    _append(triangles, t, new, rows.pattern[row])


@bare
def _has_converged(into: Triangles, a: int, b: int) -> bool:
    """Whether two triangles of the same pattern keep the same root."""
    begin, end, start, root = into.ends[a, 0], into.ends[a, 1], into.start, into.root
    for c in range(begin, end):
        size = 0.0
        for i in range(begin, c + 1):
            at = np.uint64(start[i] + c)
            size += root[a, at] * root[a, at]
        size = CONVERGED * np.sqrt(size)
        for i in range(begin, c + 1):
            at = np.uint64(start[i] + c)
            if abs(root[a, at] - root[b, at]) > size:
                return False
    return True


@bare
def _successor(link: Integers, t: int, pattern: int) -> int:
    """The triangle that follows another in a row of this pattern, or -1 if there is none yet."""
    found = link[t, 0]
    while found > 0 and link[found, 2] != pattern:
        found = link[found, 1]
    if found > 0:
        return found
    return t if link[t, 3] == 1 and link[t, 2] == pattern else -1


@bare
def _append(triangles: Triangles, t: int, new: int, pattern: int) -> None:
    """Enter a triangle as one that follows another."""
    link = triangles.link
    link[new, 0] = 0
    link[new, 2] = pattern
    link[new, 3] = t > 0 and link[t, 2] == pattern and _has_converged(triangles, t, new)
    link[new, 1] = link[t, 0]
    link[t, 0] = new


@inner
def _room(n: int) -> Room:
    """Room for triangles of so many places."""
    wide = ((n + 6) >> 2) << 2
    return Room(
        np.zeros((wide, wide)),
        np.zeros((n, n)),
        np.zeros((n, n)),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )


@bare
def _follow(
    slices: Slices,
    rows: RowValues,
    numbers: Floats,
    begin: int,
    end: int,
    order: int,
    triangles: Triangles,
    used: int,
    room: Room,
    which: Integers,
) -> int:
    """The triangles of one sequence; how many there are then, or -1 if there is no room."""
    t, before = 0, 0
    for row in range(begin, end):
        kind = min(row - begin, order)
        last, t = t, _successor(triangles.link, t, rows.pattern[row])
        if t < 0:
            if used == len(triangles.root):
                return -1
            t = used
            _factor(slices, kind, before, row, rows, numbers, triangles, last, t, room)
            used += 1
        which[row] = t
        before = kind
    return used


@kernel
def find_triangles(
    slices: Slices,
    rows: RowValues,
    numbers: Floats,
    first: Integers,
    order: int,
    triangles: Triangles,
    which: Integers,
) -> int:
    """Fill which triangle each row has; the number of triangles, or -1 without room for all."""
    room, used = _room(triangles.order.shape[1]), 1
    triangles.link[0] = 0
    triangles.link[0, 2] = -1
    triangles.ends[0] = 0
    for s in range(len(first) - 1):
        begin, end = first[s], first[s + 1]
        used = _follow(slices, rows, numbers, begin, end, order, triangles, used, room, which)
        if used < 0:
            break
    return used
