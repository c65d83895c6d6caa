r"""Messages through a junction tree, for one row of evidence or many at once.

Every clique holds a table over its variables, those it shares with its parent (the separator)
first:

    T[separator, residual, row]

*Collect* (children first): T = potential * likelihoods * messages of the children; the message to
the parent is the sum of T over the residual. *Distribute* (parents first): T is multiplied by the
parent's belief about the separator divided by the message that went up. Then T is the joint
posterior of the clique, and 0 / 0 = 0.

Rows are the innermost axis. Variables that are observed in all rows of a call keep one state (size
one), so evidence makes the tables smaller. Messages are divided by their largest entry, whose
logarithms add up to the log probability of the evidence. The least positive entries of the factors
of a table, multiplied, bound its own from below: only where that bound nears the end of the floats
is the table looked at, and divided by its largest entry if that is small. So nothing underflows
however long the tree or crowded a clique is. Only the potential of a clique, a product of a few
tables, is formed as it is; it has only the variables of these, and its strides along others are
zero.

A factor (a potential, a likelihood, a message) has some of the variables of a table. The axes of
the table, with their strides in the factor, stand in ``work``: sizes, strides, counters and strides
in the potential, which is what the three loops at the end walk by. Where the potential is zero for
a whole run of cells, the table is zero already and the run is passed over. All memory comes from
the caller.

References: Lauritzen and Spiegelhalter (1988); Jensen, Lauritzen and Olesen (1990).
"""

from __future__ import annotations

import math

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel
from consilience.kernels.trees import Likely, Room, Sizes, TreeArrays

__all__ = ["collect", "distribute", "margins", "residual_margins"]

VERSION = "0.1.0"  # numba's cache does not see edits elsewhere: a release must not meet an old one

FLOOR = 1e-280
"""A table is looked at when an entry could be below; floats keep their digits down to 2e-308."""

LEAST = 1e-20
"""A table that is looked at is rescaled if its largest entry is below."""

SMALL, LARGE = 1e-100, 1e100
"""Scales are multiplied, and their logarithm is taken when the product leaves these bounds."""


@kernel
def collect(
    tree: TreeArrays,
    sizes: Sizes,
    states: Sizes,
    likely: Likely,
    n_rows: int,
    table_start: Integers,
    tables: Floats,
    message_start: Integers,
    messages: Floats,
    scales: Floats,
    log_evidence: Floats,
    room: Room,
) -> None:
    """Fill tables, messages and the log probability of the evidence of each row.

    ``sizes[v]`` is 1 where a variable is observed in state ``states[v]`` in all rows, else its
    number of states, and ``states[v]`` is 0; further evidence is in ``likely``. ``table_start`` may
    be all zeros if only messages are wanted: cliques then share one table. A row whose evidence is
    impossible has minus infinity.
    """
    work, bounds, rows, one = room.work, room.bounds, np.uint64(n_rows), 0
    zeros = tree.potential
    for b in range(n_rows):
        log_evidence[b] = 0.0
        room.product[b] = 1.0
    for c in range(len(tree.parent)):
        t = np.uint64(table_start[c])
        at, n_cells, k = _place(tree, c, states), np.uint64(1), 0
        for i in range(tree.start[c], tree.start[c + 1]):
            v = tree.axes[i]
            n_cells *= sizes[v]
            k = _push(work, k, sizes[v], tree.stride[i], np.uint64(0))
        k = _push(work, k, rows, np.uint64(0), np.uint64(0))
        child, bound = tree.first_child[c], tree.least[c]
        is_likely = one < len(likely.clique) and likely.clique[one] == c
        _set(tables, t, work, k, tree.potential, at)
        while is_likely or child >= 0:
            if is_likely:
                scope, first, last = likely.axes, likely.first[one], likely.first[one + 1]
                source, s, least = likely.values, np.uint64(likely.start[one]), likely.least[one]
                one += 1
                is_likely = one < len(likely.clique) and likely.clique[one] == c
            else:
                scope, first = tree.axes, tree.start[child]
                last = first + tree.n_shared[child]
                source, s, least = messages, np.uint64(message_start[child]), bounds[child]
                child = tree.next_child[child]
            k = _axes(tree, c, scope, first, last, sizes, rows, room)
            if bound * least < FLOOR:
                bound = _look(tables, t, n_cells, n_rows, room, log_evidence)
            _multiply(tables, t, work, k, source, s, zeros, at, tree.has_zeros[c])
            bound *= least
            if bound < FLOOR:
                bound = _look(tables, t, n_cells, n_rows, room, log_evidence)
        first, last = message_start[c], message_start[c + 1]
        for i in range(first, last):
            messages[i] = 0.0
        m, k = np.uint64(first), _own_axes(tree, c, sizes, rows, room)
        _add_to(messages, m, work, k, tables, t, zeros, at, tree.has_zeros[c])
        bounds[c] = _rescale(messages, first, last, n_rows, scales[c], room.product, log_evidence)
    for b in range(n_rows):
        log_evidence[b] += math.log(room.product[b])


@kernel
def distribute(
    tree: TreeArrays,
    sizes: Sizes,
    states: Sizes,
    n_rows: int,
    table_start: Integers,
    tables: Floats,
    message_start: Integers,
    messages: Floats,
    scales: Floats,
    beliefs: Floats,
    room: Room,
) -> None:
    """Turn the tables left by :func:`collect` into joint posteriors of the cliques.

    Those of the roots stay as they are: posteriors up to a factor, which spares a pass through
    tables that are often the largest. ``beliefs``, as long as ``messages``, gets the posteriors of
    the separators, below roots up to the same factor.
    """
    rows, work, zeros = np.uint64(n_rows), room.work, tree.potential
    for c in range(len(tree.parent) - 1, -1, -1):
        p = tree.parent[c]
        if p < 0:
            continue
        first, last = message_start[c], message_start[c + 1]
        start = tree.start[c]
        k = _axes(tree, p, tree.axes, start, start + tree.n_shared[c], sizes, rows, room)
        for i in range(first, last):
            beliefs[i] = 0.0
        t, at = np.uint64(table_start[p]), _place(tree, p, states)
        _add_to(beliefs, np.uint64(first), work, k, tables, t, zeros, at, tree.has_zeros[p])
        is_below_root = tree.parent[p] < 0
        for i in range(first, last, n_rows):
            for b in range(n_rows):
                sent = messages[i + b] * scales[c, b]
                total = scales[p, b] if is_below_root else 1.0
                is_possible = sent > 0.0 and total > 0.0
                messages[i + b] = beliefs[i + b] / total / sent if is_possible else 0.0
        k, m, at = _own_axes(tree, c, sizes, rows, room), np.uint64(first), _place(tree, c, states)
        t = np.uint64(table_start[c])
        _multiply(tables, t, work, k, messages, m, zeros, at, tree.has_zeros[c])


@kernel
def margins(
    tree: TreeArrays,
    sizes: Sizes,
    states: Sizes,
    n_rows: int,
    clique: Integers,
    axes: Integers,
    first: Integers,
    table_start: Integers,
    tables: Floats,
    start: Integers,
    stop: Integers,
    out: Floats,
    room: Room,
) -> None:
    """Add to ``out``, which is zero, tables of cliques summed over all but some variables each.

    Sum ``k`` is that of ``clique[k]`` over all but the variables ``axes[first[k]:first[k + 1]]``,
    which keep their order, and is written from ``start[k]`` to ``stop[k]``. What comes from a root
    is made to sum to one in each row.
    """
    rows = np.uint64(n_rows)
    for k in range(len(clique)):
        c, s = clique[k], np.uint64(start[k])
        t, at, has_zeros = np.uint64(table_start[c]), _place(tree, c, states), tree.has_zeros[c]
        n_axes = _axes(tree, c, axes, first[k], first[k + 1], sizes, rows, room)
        _add_to(out, s, room.work, n_axes, tables, t, tree.potential, at, has_zeros)
        if tree.parent[c] < 0:
            for b in range(n_rows):
                _normalize(out, start[k] + b, stop[k], n_rows)


@kernel
def residual_margins(
    tree: TreeArrays,
    sizes: Sizes,
    table_start: Integers,
    tables: Floats,
    message_start: Integers,
    beliefs: Floats,
    below: Integers,
    margin_start: Integers,
    rest: Floats,
    out: Floats,
) -> None:
    """Posteriors of all variables of one row, each from the clique that eliminates it.

    They are added to ``out``, which is zero. ``below[v]`` is a child of that clique whose separator
    has the variable, or -1: the child's ``beliefs``, as :func:`distribute` leaves them, are shorter
    than the table. A table is read only for variables of which no child knows. ``rest`` is working
    memory, as long as the longest table of variables that a clique does not share: these are read
    off the first one's axis, which is then summed out, and so on.
    """
    for c in range(len(tree.parent)):
        first, last = tree.start[c] + tree.n_shared[c], tree.start[c + 1]
        is_below = True
        n = np.uint64(1)
        for i in range(first, last):
            v = tree.axes[i]
            n *= sizes[v]
            is_below = is_below and (below[v] >= 0 or sizes[v] < tree.n_states[v])
        if not is_below:
            _residual_table(
                tables, np.uint64(table_start[c]), np.uint64(table_start[c + 1]), rest, n
            )
        for i in range(first, last):
            v = tree.axes[i]
            if sizes[v] == tree.n_states[v]:
                m = margin_start[v]
                if is_below:
                    _separator_margin(tree, below[v], v, sizes, message_start, beliefs, out, m)
                else:
                    n //= sizes[v]
                    for s in range(sizes[v]):
                        out[m + np.int64(s)] = _sum(rest, s * n, n)
                    for s in range(np.uint64(1), sizes[v]):
                        for j in range(n):
                            rest[j] += rest[s * n + j]
                if tree.parent[c] < 0:
                    _normalize(out, m, margin_start[v + 1], 1)


@inner
def _residual_table(
    tables: Floats, t: np.uint64, stop: np.uint64, rest: Floats, n: np.uint64
) -> None:
    """A table summed over its separator: ``n`` numbers for each of its states."""
    for j in range(n):
        rest[j] = tables[t + j]
    t += n
    while t < stop:
        for j in range(n):
            rest[j] += tables[t + j]
        t += n


@inner
def _separator_margin(
    tree: TreeArrays,
    child: int,
    variable: int,
    sizes: Sizes,
    message_start: Integers,
    beliefs: Floats,
    out: Floats,
    m: int,
) -> None:
    """Add up the beliefs about a separator by the states of one of its variables."""
    after = np.uint64(1)
    i = tree.start[child] + tree.n_shared[child] - 1
    while tree.axes[i] != variable:
        after *= sizes[tree.axes[i]]
        i -= 1
    at, stop = np.uint64(message_start[child]), np.uint64(message_start[child + 1])
    while at < stop:
        for s in range(sizes[variable]):
            out[m + np.int64(s)] += _sum(beliefs, at, after)
            at += after


@inner
def _normalize(weights: Floats, first: int, last: int, step: int) -> None:
    """Divide the numbers in some places by their sum, unless all are zero."""
    total = 0.0
    for i in range(first, last, step):
        total += weights[i]
    if total > 0.0:
        for i in range(first, last, step):
            weights[i] /= total


@inner
def _push(work: Sizes, k: int, size: np.uint64, stride: np.uint64, other: np.uint64) -> int:
    """Append an axis; one of a single state is dropped, one that continues the last joins it."""
    if size == np.uint64(1):
        return k
    if k > 0 and work[1, k - 1] == stride * size and work[3, k - 1] == other * size:
        # Both strides are zero or the two axes are adjacent, in the factor and in the potential.
        work[0, k - 1] *= size
        work[1, k - 1] = stride
        work[3, k - 1] = other
        return k
    work[0, k] = size
    work[1, k] = stride
    work[3, k] = other
    return k + 1


@inner
def _place(tree: TreeArrays, c: int, states: Sizes) -> np.uint64:
    """Where the potential of a clique begins, given the states that are known."""
    at = np.uint64(tree.potential_start[c])
    for i in range(tree.start[c], tree.start[c + 1]):
        at += states[tree.axes[i]] * tree.stride[i]
    return at


@inner
def _axes(
    tree: TreeArrays,
    c: int,
    scope: Integers,
    first: int,
    last: int,
    sizes: Sizes,
    rows: np.uint64,
    room: Room,
) -> int:
    """Axes of a clique's table with their strides in a factor over some of the variables, and in
    the potential if that has zeros.

    The variables of the factor are ``first`` to ``last`` of ``scope``, row-major, rows innermost.
    """
    stride, step, k = room.strides, rows, 0
    for i in range(last - 1, first - 1, -1):
        stride[scope[i]] = step
        step *= sizes[scope[i]]
    for i in range(tree.start[c], tree.start[c + 1]):
        v, other = tree.axes[i], tree.stride[i] if tree.has_zeros[c] else np.uint64(0)
        k = _push(room.work, k, sizes[v], stride[v], other)
    for i in range(first, last):
        stride[scope[i]] = np.uint64(0)
    return _push(room.work, k, rows, np.uint64(1), np.uint64(0))


@inner
def _own_axes(tree: TreeArrays, c: int, sizes: Sizes, rows: np.uint64, room: Room) -> int:
    """Axes of a clique's table with their strides in its own message."""
    first = tree.start[c]
    return _axes(tree, c, tree.axes, first, first + tree.n_shared[c], sizes, rows, room)


@inner
def _look(
    tables: Floats, t: np.uint64, n_cells: np.uint64, n_rows: int, room: Room, log_evidence: Floats
) -> float:
    """Divide a table by its largest entry where that is small; the least positive entry of all."""
    largest, rows, least = room.largest, np.uint64(n_rows), 1.0
    for b in range(rows):
        largest[b] = 0.0
    for i in range(n_cells):
        for b in range(rows):
            largest[b] = max(largest[b], tables[t + i * rows + b])
    for b in range(n_rows):
        if 0.0 < largest[b] < LEAST:
            _take_in(largest[b], b, room.product, log_evidence)
        else:
            largest[b] = 1.0
    for i in range(n_cells):
        for b in range(rows):
            x = tables[t + i * rows + b] / largest[b]
            tables[t + i * rows + b] = x
            least = min(least, x if x > 0.0 else 1.0)
    return least


@inner
def _rescale(
    messages: Floats,
    start: int,
    stop: int,
    n_rows: int,
    scales: Floats,
    product: Floats,
    log_evidence: Floats,
) -> float:
    """Divide a message by its largest entry, row by row, and count that for the evidence.

    The least positive entry of all is returned.
    """
    least = 1.0
    for b in range(n_rows):
        scales[b] = 0.0
    for i in range(start, stop, n_rows):
        for b in range(n_rows):
            scales[b] = max(scales[b], messages[i + b])
    for b in range(n_rows):
        if scales[b] > 0.0:
            _take_in(scales[b], b, product, log_evidence)
        else:
            log_evidence[b] = -np.inf
    for i in range(start, stop, n_rows):
        for b in range(n_rows):
            if messages[i + b] > 0.0:
                messages[i + b] /= scales[b]
                least = min(least, messages[i + b])
    return least


@inner
def _take_in(scale: float, b: int, product: Floats, log_evidence: Floats) -> None:
    """Multiply the scales of a row by one more, or add its logarithm if a float would not hold."""
    if not SMALL < scale < LARGE:
        log_evidence[b] += math.log(scale)
        return
    product[b] *= scale
    if not SMALL < product[b] < LARGE:
        log_evidence[b] += math.log(product[b])
        product[b] = 1.0


@inner
def _advance(
    work: Sizes, outer: int, s: np.uint64, z: np.uint64
) -> tuple[np.uint64, np.uint64, int]:
    """Step the counters of the outer axes; the new places in the factor and in the potential, and
    -1 at the end.
    """
    axis = outer - 1
    while axis >= 0:
        work[2, axis] += np.uint64(1)
        s += work[1, axis]
        z += work[3, axis]
        if work[2, axis] < work[0, axis]:
            return s, z, axis
        s -= work[0, axis] * work[1, axis]
        z -= work[0, axis] * work[3, axis]
        work[2, axis] = np.uint64(0)
        axis -= 1
    return s, z, axis


@inner
def _inner(work: Sizes, k: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, int]:
    """Sizes and strides of the two innermost axes, and how many others there are."""
    one, none = np.uint64(1), np.uint64(0)
    n, d = (work[0, k - 1], work[1, k - 1]) if k > 0 else (one, none)
    n_2, d_2 = (work[0, k - 2], work[1, k - 2]) if k > 1 else (one, none)
    outer = max(k - 2, 0)
    for axis in range(outer):
        work[2, axis] = none
    return n, d, n_2, d_2, outer


@inner
def _step(work: Sizes, k: int, has_zeros: bool) -> tuple[bool, np.uint64]:
    """Whether the innermost axis is one along which the potential is constant and may be zero, and
    the stride of the next one in the potential.
    """
    is_run = has_zeros and k > 0 and work[3, k - 1] == np.uint64(0)
    return is_run, work[3, k - 2] if is_run and k > 1 else np.uint64(0)


@inner
def _set(table: Floats, t: np.uint64, work: Sizes, k: int, source: Floats, s: np.uint64) -> None:
    """Table, contiguous from ``t``, = source, strided from ``s``."""
    n, d, n_2, d_2, outer = _inner(work, k)
    going = 0
    while going >= 0:
        for i in range(n_2):
            if d == np.uint64(0):
                x = source[s + i * d_2]
                for j in range(n):
                    table[t + j] = x
            else:
                for j in range(n):
                    table[t + j] = source[s + i * d_2 + j * d]
            t += n
        s, _, going = _advance(work, outer, s, s)


@inner
def _multiply(
    table: Floats,
    t: np.uint64,
    work: Sizes,
    k: int,
    source: Floats,
    s: np.uint64,
    zeros: Floats,
    z: np.uint64,
    has_zeros: bool,
) -> None:
    """Table, contiguous from ``t``, *= source, strided from ``s``, but where ``zeros`` is zero."""
    n, d, n_2, d_2, outer = _inner(work, k)
    is_run, z_2 = _step(work, k, has_zeros)
    going = 0
    while going >= 0:
        for i in range(n_2):
            if is_run and zeros[z + i * z_2] == 0.0:
                t += n
                continue
            if d == np.uint64(0):
                x = source[s + i * d_2]
                for j in range(n):
                    table[t + j] *= x
            elif d == np.uint64(1):
                for j in range(n):
                    table[t + j] *= source[s + i * d_2 + j]
            else:
                for j in range(n):
                    table[t + j] *= source[s + i * d_2 + j * d]
            t += n
        s, z, going = _advance(work, outer, s, z)


@inner
def _add_to(
    out: Floats,
    s: np.uint64,
    work: Sizes,
    k: int,
    table: Floats,
    t: np.uint64,
    zeros: Floats,
    z: np.uint64,
    has_zeros: bool,
) -> None:
    """Out, strided from ``s``, += table, contiguous from ``t``, but where ``zeros`` is zero."""
    n, d, n_2, d_2, outer = _inner(work, k)
    is_run, z_2 = _step(work, k, has_zeros)
    going = 0
    while going >= 0:
        for i in range(n_2):
            if is_run and zeros[z + i * z_2] == 0.0:
                t += n
                continue
            if d == np.uint64(0):
                out[s + i * d_2] += _sum(table, t, n)
            elif d == np.uint64(1):
                for j in range(n):
                    out[s + i * d_2 + j] += table[t + j]
            else:
                for j in range(n):
                    out[s + i * d_2 + j * d] += table[t + j]
            t += n
        s, z, going = _advance(work, outer, s, z)


@inner
def _sum(table: Floats, t: np.uint64, n: np.uint64) -> float:
    """Sum of ``n`` numbers from ``t`` on, in four lanes that need not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    last = t + n
    while t + np.uint64(4) <= last:
        a += table[t]
        b += table[t + np.uint64(1)]
        c += table[t + np.uint64(2)]
        d += table[t + np.uint64(3)]
        t += np.uint64(4)
    while t < last:
        a += table[t]
        t += np.uint64(1)
    return (a + b) + (c + d)
