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
tables, is formed as it is.

A factor (a potential, a likelihood, a message) has some of the variables of a table. The axes of
the table, with their strides in the factor, stand in ``work``: sizes, strides and counters, which
is what the four loops at the end walk by. All memory comes from the caller.

References: Lauritzen and Spiegelhalter (1988); Jensen, Lauritzen and Olesen (1990).
"""

from __future__ import annotations

import math

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel
from consilience.kernels.trees import Likely, Room, Sizes, TreeArrays

__all__ = ["collect", "distribute", "margin", "residual_margins"]

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
    for b in range(n_rows):
        log_evidence[b] = 0.0
        room.product[b] = 1.0
    for c in range(len(tree.parent)):
        t = np.uint64(table_start[c])
        at, n_cells, k = np.uint64(tree.potential_start[c]), np.uint64(1), 0
        for i in range(tree.start[c], tree.start[c + 1]):
            v = tree.axes[i]
            at += states[v] * tree.stride[i]
            n_cells *= sizes[v]
            k = _push(work, k, sizes[v], tree.stride[i])
        k = _push(work, k, rows, np.uint64(0))
        child, bound = tree.first_child[c], tree.least[c]
        is_likely = one < len(likely.clique) and likely.clique[one] == c
        # A whole potential meets the first factor on its way into the table.
        n_whole = np.uint64(tree.potential_start[c + 1] - tree.potential_start[c])
        is_whole = n_rows == 1 and n_cells == n_whole and (is_likely or child >= 0)
        if not is_whole:
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
            k = _axes(
                tree.axes, tree.start[c], tree.start[c + 1], scope, first, last, sizes, rows, room
            )
            if is_whole:
                _product(tables, t, tree.potential, at, work, k, source, s)
                is_whole = False
            else:
                if bound * least < FLOOR:
                    bound = _look(tables, t, n_cells, n_rows, room, log_evidence)
                _multiply(tables, t, work, k, source, s)
            bound *= least
            if bound < FLOOR:
                bound = _look(tables, t, n_cells, n_rows, room, log_evidence)
        first, last = message_start[c], message_start[c + 1]
        _sum_out(messages, first, last, tables, t, n_cells, rows, work)
        bounds[c] = _rescale(messages, first, last, n_rows, scales[c], room.product, log_evidence)
    for b in range(n_rows):
        log_evidence[b] += math.log(room.product[b])


@kernel
def distribute(
    tree: TreeArrays,
    sizes: Sizes,
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
    tables that are often the largest. ``beliefs`` is working memory as long as ``messages``.
    """
    rows, work = np.uint64(n_rows), room.work
    for c in range(len(tree.parent) - 1, -1, -1):
        p = tree.parent[c]
        if p < 0:
            continue
        first, last = message_start[c], message_start[c + 1]
        k = _axes(
            tree.axes,
            tree.start[p],
            tree.start[p + 1],
            tree.axes,
            tree.start[c],
            tree.start[c] + tree.n_shared[c],
            sizes,
            rows,
            room,
        )
        for i in range(first, last):
            beliefs[i] = 0.0
        _add_to(beliefs, np.uint64(first), work, k, tables, np.uint64(table_start[p]))
        is_below_root = tree.parent[p] < 0
        for i in range(first, last, n_rows):
            for b in range(n_rows):
                sent = messages[i + b] * scales[c, b]
                total = scales[p, b] if is_below_root else 1.0
                is_possible = sent > 0.0 and total > 0.0
                messages[i + b] = beliefs[i + b] / total / sent if is_possible else 0.0
        n_cells = np.uint64(table_start[c + 1] - table_start[c]) // rows
        k = _separator_axes(np.uint64(last - first) // rows, n_cells, rows, work)
        _multiply(tables, np.uint64(table_start[c]), work, k, messages, np.uint64(first))


@kernel
def margin(
    tree: TreeArrays,
    sizes: Sizes,
    n_rows: int,
    clique: int,
    variables: Integers,
    table: Floats,
    out: Floats,
    room: Room,
) -> None:
    """Add to ``out``, which is zero, a clique's table summed over all variables but these.

    They keep their order. What comes from a root is made to sum to one in each row.
    """
    first, last, rows = tree.start[clique], tree.start[clique + 1], np.uint64(n_rows)
    k = _axes(tree.axes, first, last, variables, 0, len(variables), sizes, rows, room)
    _add_to(out, np.uint64(0), room.work, k, table, np.uint64(0))
    if tree.parent[clique] < 0:
        for b in range(n_rows):
            _normalize(out, b, len(out), n_rows)


@kernel
def residual_margins(
    tree: TreeArrays,
    sizes: Sizes,
    table_start: Integers,
    tables: Floats,
    margin_start: Integers,
    rest: Floats,
    out: Floats,
) -> None:
    """Posteriors of all variables of one row, each from the clique that eliminates it.

    They are added to ``out``, which is zero. ``rest`` is working memory, as long as the longest
    table of variables that a clique does not share: these are read off the first one's axis, which
    is then summed out, and so on.
    """
    for c in range(len(tree.parent)):
        first, last = tree.start[c] + tree.n_shared[c], tree.start[c + 1]
        n = np.uint64(1)
        for i in range(first, last):
            n *= sizes[tree.axes[i]]
        stop = np.uint64(table_start[c + 1])
        t = np.uint64(table_start[c])
        for j in range(n):
            rest[j] = tables[t + j]
        t += n
        while t < stop:
            for j in range(n):
                rest[j] += tables[t + j]
            t += n
        for i in range(first, last):
            v = tree.axes[i]
            if sizes[v] == tree.n_states[v]:
                n //= sizes[v]
                m = margin_start[v]
                for s in range(sizes[v]):
                    out[m + np.int64(s)] = _sum(rest, s * n, n)
                for s in range(np.uint64(1), sizes[v]):
                    for j in range(n):
                        rest[j] += rest[s * n + j]
                if tree.parent[c] < 0:
                    _normalize(out, m, margin_start[v + 1], 1)


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
def _push(work: Sizes, k: int, size: np.uint64, stride: np.uint64) -> int:
    """Append an axis; one of a single state is dropped, one that continues the last joins it."""
    if size == np.uint64(1):
        return k
    if k > 0 and work[1, k - 1] == stride * size:
        # Either both strides are zero or the two axes are adjacent in the source.
        work[0, k - 1] *= size
        work[1, k - 1] = stride
        return k
    work[0, k] = size
    work[1, k] = stride
    return k + 1


@inner
def _axes(
    axes: Integers,
    start: int,
    stop: int,
    scope: Integers,
    first: int,
    last: int,
    sizes: Sizes,
    rows: np.uint64,
    room: Room,
) -> int:
    """Axes ``start`` to ``stop`` of a table with their strides in a factor over some of them.

    Those of the factor are ``first`` to ``last`` of ``scope``, row-major, rows innermost.
    """
    stride, step, k = room.strides, rows, 0
    for i in range(last - 1, first - 1, -1):
        stride[scope[i]] = step
        step *= sizes[scope[i]]
    for i in range(start, stop):
        k = _push(room.work, k, sizes[axes[i]], stride[axes[i]])
    for i in range(first, last):
        stride[scope[i]] = np.uint64(0)
    return _push(room.work, k, rows, np.uint64(1))


@inner
def _separator_axes(n_shared: np.uint64, n_cells: np.uint64, rows: np.uint64, work: Sizes) -> int:
    """Axes of a clique's table with their strides in its own message: the first ones are shared."""
    none = len(work) - len(work)  # a literal would be a type, and its callee be compiled again
    k = _push(work, none, n_shared, rows)
    k = _push(work, k, n_cells // n_shared, np.uint64(0))
    return _push(work, k, rows, np.uint64(1))


@inner
def _sum_out(
    messages: Floats,
    first: int,
    last: int,
    tables: Floats,
    t: np.uint64,
    n_cells: np.uint64,
    rows: np.uint64,
    work: Sizes,
) -> None:
    """The message of a clique: its table summed over what it does not share."""
    for i in range(first, last):
        messages[i] = 0.0
    k = _separator_axes(np.uint64(last - first) // rows, n_cells, rows, work)
    _add_to(messages, np.uint64(first), work, k, tables, t)


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
def _advance(work: Sizes, outer: int, position: np.uint64) -> tuple[np.uint64, int]:
    """Step the counters of the outer axes; the new position in the source, and -1 at the end."""
    axis = outer - 1
    while axis >= 0:
        work[2, axis] += np.uint64(1)
        position += work[1, axis]
        if work[2, axis] < work[0, axis]:
            return position, axis
        position -= work[0, axis] * work[1, axis]
        work[2, axis] = np.uint64(0)
        axis -= 1
    return position, axis


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
        s, going = _advance(work, outer, s)


@inner
def _product(
    table: Floats,
    t: np.uint64,
    left: Floats,
    a: np.uint64,
    work: Sizes,
    k: int,
    source: Floats,
    s: np.uint64,
) -> None:
    """Table = left * source; table from ``t`` and left from ``a`` on are contiguous."""
    n, d, n_2, d_2, outer = _inner(work, k)
    going = 0
    while going >= 0:
        for i in range(n_2):
            if d == np.uint64(0):
                x = source[s + i * d_2]
                for j in range(n):
                    table[t + j] = left[a + j] * x
            else:
                for j in range(n):
                    table[t + j] = left[a + j] * source[s + i * d_2 + j * d]
            t += n
            a += n
        s, going = _advance(work, outer, s)


@inner
def _multiply(
    table: Floats, t: np.uint64, work: Sizes, k: int, source: Floats, s: np.uint64
) -> None:
    """Table, contiguous from ``t``, *= source, strided from ``s``."""
    n, d, n_2, d_2, outer = _inner(work, k)
    going = 0
    while going >= 0:
        for i in range(n_2):
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
        s, going = _advance(work, outer, s)


@inner
def _add_to(out: Floats, s: np.uint64, work: Sizes, k: int, table: Floats, t: np.uint64) -> None:
    """Out, strided from ``s``, += table, contiguous from ``t``."""
    n, d, n_2, d_2, outer = _inner(work, k)
    going = 0
    while going >= 0:
        for i in range(n_2):
            if d == np.uint64(0):
                out[s + i * d_2] += _sum(table, t, n)
            elif d == np.uint64(1):
                for j in range(n):
                    out[s + i * d_2 + j] += table[t + j]
            else:
                for j in range(n):
                    out[s + i * d_2 + j * d] += table[t + j]
            t += n
        s, going = _advance(work, outer, s)


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
