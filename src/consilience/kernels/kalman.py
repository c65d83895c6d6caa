r"""Means along sequences: the filter of linear Gaussian nodes.

The module :mod:`consilience.kernels.triangles` has the idea. Where rows of one triangle follow each
other, all that a row does to means is one matrix, found once.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import bare, inner, kernel
from consilience.kernels.triangles import RowValues, Slices, Triangles

__all__ = ["filter_rows"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
MATCHES = 1e-9
SMALL = 1e-150

LONG = 8
"""So many rows more of one triangle are worth a matrix."""


@bare
def _state(slices: Slices, q: int, row: int, rows: RowValues) -> int:
    """The joint state of a node's discrete parents."""
    return rows.group[row, slices.group[q]] if slices.group[q] >= 0 else 0


@bare
def _predict(
    slices: Slices, kind: int, row: int, rows: RowValues, numbers: Floats, joint: Floats
) -> None:
    """Means of the new nodes of a row given the rows before it."""
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k = slices.first_node[kind + 1] - begin
    for o in range(k):
        q = begin + o
        first = slices.first_column[q]
        p = slices.first_column[q + 1] - first
        at = slices.number[q] + _state(slices, q, row, rows) * (p + 1)
        mean = numbers[at]
        for c in range(p - 1):
            place = slices.column[first + c]
            value = joint[row, place] if place >= 0 else rows.known[row, -1 - place]
            mean += numbers[at + 1 + c] * value
        joint[row, n + o] = mean


@bare
def _add_values(
    slices: Slices,
    kind: int,
    row: int,
    rows: RowValues,
    triangles: Triangles,
    t: int,
    joint: Floats,
    white: Floats,
) -> float:
    """Means of all places given the row's values; their log density."""
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k = slices.first_node[kind + 1] - begin
    log, size, n_values = 0.0, 1.0, triangles.ends[t, 0]
    order, start, r = triangles.order, triangles.start, triangles.root
    for c in range(n_values):
        place = np.uint64(order[t, c])
        y = rows.y[row, slices.value[begin + order[t, c] - n]]
        away, pivot = y - joint[row, place], r[t, np.uint64(start[c] + c)]
        for i in range(c):
            away -= r[t, np.uint64(start[i] + c)] * white[i]
        white[c] = 0.0
        if pivot > 0.0:
            white[c] = np.divide(away, pivot)
            log -= HALF_LOG_2PI + 0.5 * white[c] * white[c]
            size *= pivot
            if not SMALL < size < 1.0 / SMALL:
                log -= np.log(size)
                size = 1.0
        elif abs(away) > MATCHES * (abs(y) + abs(joint[row, place])):
            log = -np.inf
        joint[row, place] = y
    for c in range(n_values, n + k):
        total = 0.0
        for i in range(n_values):
            total += r[t, np.uint64(start[i] + c)] * white[i]
        joint[row, np.uint64(order[t, c])] += total
    return log - np.log(size)


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

    Its rows are the values, the given columns, one and the message. Its columns follow the order
    of the triangle: the innovations, then the means of all places that have no value.
    """
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k, n_known = slices.first_node[kind + 1] - begin, rows.known.shape[1]
    order, n_values, r = triangles.order[t], triangles.ends[t, 0], triangles.root[t]
    come, start = n_values + n_known + 1, triangles.start
    all_places, white = np.zeros((n + k, come + n)), np.zeros((n_values, come + n))
    for a in range(n):
        all_places[a, come + a] = 1.0
    for o in range(k):
        q = begin + o
        first = slices.first_column[q]
        p = slices.first_column[q + 1] - first
        at = slices.number[q] + _state(slices, q, row, rows) * (p + 1)
        all_places[n + o, come - 1] = numbers[at]
        for c in range(p - 1):
            place = slices.column[first + c]
            if place >= 0:
                all_places[n + o] += numbers[at + 1 + c] * all_places[place]
            else:
                all_places[n + o, n_values - 1 - place] += numbers[at + 1 + c]
    constant = 0.0
    for c in range(n_values):
        pivot = r[start[c] + c]
        white[c] = -all_places[order[c]]
        white[c, c] += 1.0
        for i in range(c):
            white[c] -= r[start[i] + c] * white[i]
        white[c] *= np.divide(1.0, pivot)
        constant -= HALF_LOG_2PI + np.log(pivot)
        run[: come + n, c] = white[c]
    for c in range(n_values, n + k):
        run[: come + n, c] = all_places[order[c]]
        for i in range(n_values):
            run[: come + n, c] += r[start[i] + c] * white[i]
    return constant


@bare
def _multiply(run: Floats, come: Floats, k: int, found: Floats, n: int) -> None:
    """Set the first ``n`` numbers to the sum of ``k`` rows of a matrix, each times a number."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for block in range((n + 3) >> 2):
        b, x0, x1, x2, x3 = np.uint64(block << 2), 0.0, 0.0, 0.0, 0.0
        for j in range(k):
            factor = come[j]
            x0 += factor * run[j, b]
            x1 += factor * run[j, b + one]
            x2 += factor * run[j, b + two]
            x3 += factor * run[j, b + three]
        found[b], found[b + one], found[b + two], found[b + three] = x0, x1, x2, x3


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
    """Filter rows from this one on as long as the triangle stays; the first row not done."""
    begin, n = slices.first_node[kind], slices.n_before[kind]
    k, n_known = slices.first_node[kind + 1] - begin, rows.known.shape[1]
    n_values = triangles.ends[t, 0]
    order = triangles.order[t].astype(np.uint64)
    columns = slices.value[begin + triangles.order[t, :n_values] - n].astype(np.uint64)
    kept = slices.kept[slices.first_kept[kind] :].astype(np.uint64)
    first = n_values + n_known + 1
    come, found = np.ones(first + n), np.zeros(run.shape[1])
    while row < end and which[row] == t:
        for c in range(n_values):
            come[c] = rows.y[row, columns[c]]
            joint[row, order[c]] = come[c]
        for c in range(n_known):
            come[n_values + c] = rows.known[row, c]
        for a in range(n):
            come[first + a] = joint[row - 1, kept[a]]
        _multiply(run, come, first + n, found, n + k)
        total = 0.0
        for c in range(n_values):
            total += found[c] * found[c]
        for c in range(n_values, n + k):
            joint[row, order[c]] = found[c]
        log_likelihood[row] = constant - 0.5 * total
        row += 1
    return row


@bare
def _is_full(triangles: Triangles, t: int) -> bool:
    """Whether all values of a triangle have a pivot."""
    smallest = 1.0
    for c in range(triangles.ends[t, 0]):
        smallest = min(smallest, triangles.root[t, triangles.start[c] + c])
    return smallest > 0.0


@bare
def _step(
    slices: Slices,
    kind: int,
    before: int,
    row: int,
    rows: RowValues,
    numbers: Floats,
    triangles: Triangles,
    t: int,
    joint: Floats,
    white: Floats,
) -> float:
    """The means of a row; its log density."""
    first = slices.first_kept[before]
    for a in range(slices.n_before[kind]):
        joint[row, a] = joint[row - 1, np.uint64(slices.kept[first + a])]
    _predict(slices, kind, row, rows, numbers, joint)
    return _add_values(slices, kind, row, rows, triangles, t, joint, white)


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
) -> None:
    """Fill the means of all places (rows, places) given the values so far, and what each row adds
    to the log-likelihood; ``which`` says what triangle it has.
    """
    wide = triangles.order.shape[1]
    white, run = np.zeros(wide), np.zeros((2 * wide + rows.known.shape[1] + 1, wide + 3))
    for s in range(len(first) - 1):
        begin, end = first[s], first[s + 1]
        row = begin
        while row < end:
            kind, t = min(row - begin, order), which[row]
            is_long = row > begin + order and row + LONG < end and which[row + LONG] == t
            if is_long and which[row - 1] == t and _is_full(triangles, t):
                constant = _composed(slices, kind, row, rows, numbers, triangles, t, run)
                row = _run_steadily(
                    slices,
                    kind,
                    row,
                    end,
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
            before = min(max(row - begin - 1, 0), order)
            log_likelihood[row] = _step(
                slices, kind, before, row, rows, numbers, triangles, t, joint, white
            )
            row += 1
