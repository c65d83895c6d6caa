r"""Means and covariances along sequences, from the last row back: the smoother.

The module :mod:`consilience.kernels.triangles` has the idea. The covariance of all places of a row
stands in the order of its triangle, upper half only: that of what is kept comes from the row after
it, and with the gains :math:`G` of what is dropped and its own covariance :math:`D`

.. math:: \operatorname{Cov}(k, d) = P G^\top, \qquad \operatorname{Cov}(d) = D + G P G^\top.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import bare, instruction, kernel
from consilience.kernels.triangles import CONVERGED, RowValues, Slices, Triangles

__all__ = ["Expected", "smooth_rows", "spread_rows"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

STRETCH = 256
"""Rows whose means are smoothed before they are read again: they stay close at hand."""


AHEAD = 8
"""So many rows before it is wanted, a triangle is called for: reading it takes as long."""


class Expected(NamedTuple):
    """Moments of families by joint discrete state: weights, sums and the lower half of the sums of
    products of the columns less their ``centers``; no rows if they are not wanted.
    """

    centers: Floats
    counts: Floats
    sums: Floats
    squares: Floats


class Spread(NamedTuple):
    """The covariances of a row's places in the order of its triangle, and for each place where it
    stands there; both twice, for a row and the one after it.
    """

    cov: Floats
    spot: Integers


def _prefetch() -> Any:
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, (held, *place) = signature.args[0], args
        array = context.make_array(kind)(context, builder, held)
        cell = cgutils.get_item_pointer(context, builder, kind, array, place)
        byte, word = cgutils.voidptr_t, cgutils.int32_t
        shape = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [byte, word, word, word])
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
        options = [word(0), word(3), word(1)]  # to read, to keep close, data
        builder.call(call, [builder.bitcast(cell, byte), *options])
        return context.get_dummy_value()

    def fetch(_: Any, array: Any, i: Any, j: Any) -> Any:
        return types.void(array, i, j), code

    return intrinsic(fetch)


@instruction(_prefetch)
def fetch(_array: Floats, _i: int, _j: int) -> None:
    """Call for a number of a matrix that will be wanted soon."""


@bare
def _call_for(triangles: Triangles, t: int) -> None:
    """Call for a triangle that will be wanted soon."""
    for at in range(0, triangles.root.shape[1], 8):
        fetch(triangles.root, t, at)
    fetch(triangles.root, t, triangles.root.shape[1] - 1)


@bare
def _n_places(slices: Slices, kind: int) -> int:
    return slices.n_before[kind] + slices.first_node[kind + 1] - slices.first_node[kind]


@bare
def _find(n: int, triangles: Triangles, t: int, spread: Spread, now: int) -> None:
    """Where each place stands in the order of a triangle."""
    for c in range(n):
        spread.spot[now, np.uint64(triangles.order[t, c])] = c


@bare
def _square(triangles: Triangles, t: int, spread: Spread, now: int) -> None:
    """The covariance of what a row keeps given the values so far."""
    begin, end, root = triangles.ends[t, 0], triangles.ends[t, 1], triangles.root
    for a in range(begin, end):
        for b in range(a, end):
            total = 0.0
            for i in range(begin, a + 1):
                at = triangles.start[i]
                total += root[t, at + a] * root[t, at + b]
            spread.cov[now, a, b] = total


@bare
def _take_back(
    slices: Slices, kind: int, triangles: Triangles, t: int, spread: Spread, now: int
) -> None:
    """The covariance of what a row keeps, from that of the row after it, whose first places are
    these.
    """
    first, order, spot, later = slices.first_kept[kind], triangles.order, spread.spot, 1 - now
    begin, end, m = int(triangles.ends[t, 0]), int(triangles.ends[t, 1]), 0
    for a in range(begin, end):
        while slices.kept[first + m] != order[t, a]:
            m += 1
        x, other = spot[later, m], m
        for b in range(a, end):
            while slices.kept[first + other] != order[t, b]:
                other += 1
            y = spot[later, other]
            low, high = np.uint64(min(x, y)), np.uint64(max(x, y))
            spread.cov[now, a, b] = spread.cov[later, low, high]


@bare
def _spread(n: int, triangles: Triangles, t: int, cov: Floats, now: int) -> None:
    """The covariance of all places of a row from that of what it keeps."""
    begin, end = int(triangles.ends[t, 0]), int(triangles.ends[t, 1])
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    root, start = triangles.root, triangles.start
    for c in range(begin):
        for d in range(c, n):
            cov[now, c, d] = 0.0
    for a in range(begin, end):
        for d in range(end, n, 4):
            b, x0, x1, x2, x3 = np.uint64(d), 0.0, 0.0, 0.0, 0.0
            for k in range(begin, end):
                at = np.uint64(start[k] + d)
                factor = cov[now, min(a, k), max(a, k)]
                x0 += factor * root[t, at]
                x1 += factor * root[t, at + one]
                x2 += factor * root[t, at + two]
                x3 += factor * root[t, at + three]
            cov[now, a, b], cov[now, a, b + one] = x0, x1
            cov[now, a, b + two], cov[now, a, b + three] = x2, x3
    for e in range(end, n):
        for d in range(e, n, 4):
            b, at = np.uint64(d), np.uint64(start[e] + d)
            x0, x1 = root[t, at], root[t, at + one]
            x2, x3 = root[t, at + two], root[t, at + three]
            for k in range(begin, end):
                factor = root[t, np.uint64(start[k] + e)]
                x0 += factor * cov[now, k, b]
                x1 += factor * cov[now, k, b + one]
                x2 += factor * cov[now, k, b + two]
                x3 += factor * cov[now, k, b + three]
            cov[now, e, b], cov[now, e, b + one] = x0, x1
            cov[now, e, b + two], cov[now, e, b + three] = x2, x3


@bare
def _is_the_same(begin: int, end: int, cov: Floats) -> bool:
    """Whether the covariances of what two rows keep agree."""
    for a in range(begin, end):
        for b in range(a, end):
            size = np.sqrt(max(cov[0, a, a], 0.0) * max(cov[0, b, b], 0.0))
            if abs(cov[0, a, b] - cov[1, a, b]) > CONVERGED * size:
                return False
    return True


@bare
def _by_place(n: int, spread: Spread, now: int, whole: Floats) -> None:
    """The covariance in the order of the places, both halves."""
    for a in range(n):
        for b in range(n):
            x, y = spread.spot[now, a], spread.spot[now, b]
            whole[a, b] = spread.cov[now, min(x, y), max(x, y)]


@bare
def _run_back(
    slices: Slices,
    kind: int,
    row: int,
    end: int,
    triangles: Triangles,
    which: Integers,
    joint: Floats,
    gains: Floats,
    come: Integers,
) -> int:
    """Smooth the means of rows from this one back while the triangle stays, down to ``end``; the
    first row not done. ``gains`` has room for them and two rows more.
    """
    t, n = which[row], _n_places(slices, kind)
    first, stop, order = int(triangles.ends[t, 0]), int(triangles.ends[t, 1]), triangles.order
    one, two, three, moved = np.uint64(1), np.uint64(2), np.uint64(3), gains.shape[0] - 1
    begin, found, a = slices.first_kept[kind], moved - 1, 0
    for c in range(first, stop):
        while slices.kept[begin + a] != order[t, c]:
            a += 1
        come[c] = a
        for d in range(stop, n):
            gains[c, d] = triangles.root[t, np.uint64(triangles.start[c] + d)]
    while row >= end and which[row] == t:
        for c in range(first, stop):
            place, smoothed = np.uint64(order[t, c]), joint[row + 1, np.uint64(come[c])]
            gains[moved, c] = smoothed - joint[row, place]
            joint[row, place] = smoothed
        for d in range(stop, n, 4):
            b, x0, x1, x2, x3 = np.uint64(d), 0.0, 0.0, 0.0, 0.0
            for c in range(first, stop):
                factor = gains[moved, c]
                x0 += factor * gains[c, b]
                x1 += factor * gains[c, b + one]
                x2 += factor * gains[c, b + two]
                x3 += factor * gains[c, b + three]
            gains[found, b], gains[found, b + one] = x0, x1
            gains[found, b + two], gains[found, b + three] = x2, x3
        for d in range(stop, n):
            joint[row, np.uint64(order[t, d])] += gains[found, d]
        row -= 1
    return row


@bare
def _add_moments(
    slices: Slices,
    kind: int,
    begin: int,
    end: int,
    rows: RowValues,
    weight: float,
    joint: Floats,
    cov: Floats,
    into: Expected,
) -> None:
    """Add the smoothed moments of the families of rows that have the same covariance."""
    for q in range(slices.first_node[kind], slices.first_node[kind + 1]):
        for row in range(begin, end):
            _add_family(slices, q, row, rows, weight, joint, cov, into)


@bare
def _add_family(
    slices: Slices,
    q: int,
    row: int,
    rows: RowValues,
    weight: float,
    joint: Floats,
    cov: Floats,
    into: Expected,
) -> None:
    """Add the smoothed moments of a family; ``cov`` is that of all places."""
    first, g = slices.first_column[q], slices.sums[q]
    p = slices.first_column[q + 1] - first
    if slices.group[q] >= 0:
        g += rows.group[row, slices.group[q]]
    into.counts[g] += weight
    for i in range(p):
        a = slices.column[first + i]
        x = (rows.known[row, -1 - a] if a < 0 else joint[row, a]) - into.centers[g, i]
        into.sums[g, i] += weight * x
        for j in range(i + 1):
            b = slices.column[first + j]
            y = (rows.known[row, -1 - b] if b < 0 else joint[row, b]) - into.centers[g, j]
            c = cov[a, b] if a >= 0 and b >= 0 else 0.0
            into.squares[g, i, j] += weight * (x * y + c)


@bare
def _tell(
    slices: Slices,
    kind: int,
    begin: int,
    end: int,
    joint: Floats,
    spread: Spread,
    now: int,
    believed: Floats,
    sd: Floats,
) -> None:
    """Write mean and sd of the open variables of rows that have the same covariance."""
    first = slices.first_node[kind]
    for q in range(first, slices.first_node[kind + 1]):
        if slices.child[q] >= 0:
            child, place = np.uint64(slices.child[q]), np.uint64(slices.n_before[kind] + q - first)
            at = np.uint64(spread.spot[now, place])
            size = np.sqrt(spread.cov[now, at, at])
            for row in range(begin, end):
                believed[child, row] = joint[row, place]
                sd[child, row] = size


@bare
def _step_back(
    slices: Slices,
    kind: int,
    row: int,
    is_last: bool,
    triangles: Triangles,
    which: Integers,
    spread: Spread,
    now: int,
) -> bool:
    """The covariance of a row from that of the row after it; whether rows before it that have its
    triangle have the same.
    """
    t, n, is_steady = which[row], _n_places(slices, kind), False
    _find(n, triangles, t, spread, now)
    if is_last:
        _square(triangles, t, spread, now)
    else:
        _take_back(slices, kind, triangles, t, spread, now)
        if which[row + 1] == t:
            is_steady = _is_the_same(triangles.ends[t, 0], triangles.ends[t, 1], spread.cov)
    _spread(n, triangles, t, spread.cov, now)
    return is_steady


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
    sd: Floats,
    expected: Expected,
) -> None:
    """Fill mean and sd of each open variable (open variables, rows), and add the moments of the
    families. ``joint`` has the filtered means, and the smoothed ones afterwards.
    """
    wide, wants_moments = triangles.order.shape[1], len(expected.counts) > 0
    spread, now = Spread(np.zeros((2, wide, wide + 4)), np.zeros((2, wide), np.int64)), 0
    whole, gains = np.zeros((wide, wide)), np.zeros((wide + 2, wide + 4))
    come = np.zeros(wide, np.int64)
    for s in range(len(first) - 1):
        row, last, is_steady = first[s + 1] - 1, first[s + 1] - 1, False
        while row >= first[s]:
            kind, back = min(row - first[s], order), row - 1
            is_steady = is_steady and which[row + 1] == which[row]
            if not is_steady:
                now = 1 - now
                _call_for(triangles, which[max(row - AHEAD, first[s])])
                is_steady = _step_back(
                    slices, kind, row, row == last, triangles, which, spread, now
                )
                if wants_moments:
                    _by_place(_n_places(slices, kind), spread, now, whole)
            if row < last:
                end = max(first[s] + order, row - STRETCH) if is_steady else row
                back = _run_back(
                    slices, kind, row, min(end, row), triangles, which, joint, gains, come
                )
            _tell(slices, kind, back + 1, row + 1, joint, spread, now, believed, sd)
            if wants_moments:
                _add_moments(
                    slices, kind, back + 1, row + 1, rows, weights[s], joint, whole, expected
                )
            row = back


@kernel
def spread_rows(
    slices: Slices,
    first: Integers,
    order: int,
    triangles: Triangles,
    which: Integers,
    sd: Floats,
) -> None:
    """Fill the sd of each open variable (open variables, rows) given the values so far."""
    wide = triangles.order.shape[1]
    along, variance = np.zeros(wide), np.zeros(wide)
    for s in range(len(first) - 1):
        last = -1
        for row in range(first[s], first[s + 1]):
            kind, t = min(row - first[s], order), which[row]
            if t != last:
                _variances(_n_places(slices, kind), triangles, t, along, variance)
                last = t
            begin = slices.first_node[kind]
            for q in range(begin, slices.first_node[kind + 1]):
                if slices.child[q] >= 0:
                    place = slices.n_before[kind] + q - begin
                    sd[slices.child[q], row] = np.sqrt(variance[place])


@bare
def _variances(n: int, triangles: Triangles, t: int, along: Floats, variance: Floats) -> None:
    """The variance of every place of a triangle: sums of squares, so that none loses digits."""
    root, order, start = triangles.root, triangles.order, triangles.start
    begin, end = triangles.ends[t, 0], triangles.ends[t, 1]
    for c in range(n):
        total = root[t, start[c] + c] if c >= end else 0.0
        for i in range(begin, end):
            at = start[i]
            along[i] = root[t, at + c] if begin <= i <= c < end else 0.0
            for k in range(i, end if c >= end else 0):
                along[i] += root[t, start[k] + c] * root[t, at + k]
        for i in range(begin, end):
            total += along[i] * along[i]
        variance[order[t, c]] = total
