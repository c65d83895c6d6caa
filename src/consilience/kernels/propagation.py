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
logarithms add up to the log probability of the evidence, and so are tables that take in many
messages: nothing underflows however long the tree or crowded a clique is. Only the potential of a
clique, a product of a few tables, is formed as it is.

References: Lauritzen and Spiegelhalter (1988); Jensen, Lauritzen and Olesen (1990).
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel
from consilience.kernels.trees import Likely, Sizes, TreeArrays

__all__ = ["collect", "distribute", "margin", "residual_margins"]

VERSION = "0.1.0"  # numba's cache does not see edits elsewhere: a release must not meet an old one

LEAST = 1e-20
"""A table is rescaled when its largest entry falls below: the others then keep their digits."""

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
    work: Sizes,
) -> None:
    """Fill tables, messages and the log probability of the evidence of each row.

    ``sizes[v]`` is 1 where a variable is observed in state ``states[v]`` in all rows, else its
    number of states; further evidence is in ``likely``. ``table_start`` may be all zeros if only
    messages are wanted: cliques then share one table. A row whose evidence is impossible has minus
    infinity.
    """
    n_cliques = len(tree.parent)
    first = np.zeros(n_cliques + 1, np.int64)  # likelihoods by clique, as a counting sort
    for c in likely.clique:
        first[c + 1] += 1
    for c in range(n_cliques):
        first[c + 1] += first[c]
    slot = first.copy()
    by_clique = np.empty(len(likely.clique), np.int64)
    for k in range(len(likely.clique)):
        c = likely.clique[k]
        by_clique[slot[c]] = k
        slot[c] += 1
    largest, product, rows = np.empty(n_rows), np.ones(n_rows), np.uint64(n_rows)
    log_evidence[:] = 0.0
    for c in range(n_cliques):
        t0 = np.uint64(table_start[c])
        n_cells = _n_cells(tree.start, tree.axes, c, sizes)
        offset = _potential_offset(
            tree.n_states, tree.start, tree.axes, tree.potential_start, c, sizes, states
        )
        n_factors = first[c + 1] - first[c]
        child = tree.first_child[c]
        # A whole potential meets the first message on its way into the table.
        n_whole = np.uint64(tree.potential_start[c + 1] - tree.potential_start[c])
        is_whole = n_rows == 1 and n_cells == n_whole and n_factors == 0 and child >= 0
        if not is_whole:
            k = _potential_axes(tree.n_states, tree.start, tree.axes, c, sizes, rows, work)
            _set(tables, t0, work, k, tree.potential, offset)
        for i in range(first[c], first[c + 1]):
            one = by_clique[i]
            k = _likely_axes(
                tree.start, tree.axes, likely.axes, likely.first, one, c, sizes, rows, work
            )
            _multiply(tables, t0, work, k, likely.values, np.uint64(likely.start[one]))
            _rescale_table(tables, t0, n_cells, n_rows, largest, product, log_evidence)
        child = tree.first_child[c]
        while child >= 0:
            k = _child_axes(
                tree.start,
                tree.axes,
                tree.n_shared,
                tree.place,
                c,
                child,
                sizes,
                np.uint64(n_rows),
                work,
            )
            m0 = np.uint64(message_start[child])
            if is_whole:
                _product(tables, t0, tree.potential, offset, work, k, messages, m0)
                is_whole = False
            else:
                _multiply(tables, t0, work, k, messages, m0)
            _rescale_table(tables, t0, n_cells, n_rows, largest, product, log_evidence)
            child = tree.next_child[child]
        m0 = np.uint64(message_start[c])
        messages[message_start[c] : message_start[c + 1]] = 0.0
        n_shared = (message_start[c + 1] - message_start[c]) // n_rows
        k = _own_separator_axes(n_shared, n_cells, rows, work)
        _add_to(messages, m0, work, k, tables, t0)
        stop = message_start[c + 1]
        _rescale(messages, message_start[c], stop, n_rows, scales, c, product, log_evidence)
    for b in range(n_rows):
        log_evidence[b] += np.log(product[b])


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
    work: Sizes,
) -> None:
    """Turn the tables left by :func:`collect` into joint posteriors of the cliques.

    Those of the roots stay as they are: posteriors up to a factor, which spares a pass through
    tables that are often the largest. ``beliefs`` is working memory as long as ``messages``.
    """
    rows = np.uint64(n_rows)
    for c in range(len(tree.parent) - 1, -1, -1):
        p = tree.parent[c]
        if p < 0:
            continue
        beliefs[message_start[c] : message_start[c + 1]] = 0.0
        k = _child_axes(tree.start, tree.axes, tree.n_shared, tree.place, p, c, sizes, rows, work)
        m0 = np.uint64(message_start[c])
        _add_to(beliefs, m0, work, k, tables, np.uint64(table_start[p]))
        for i in range(message_start[c], message_start[c + 1], n_rows):
            for b in range(n_rows):
                sent = messages[i + b] * scales[c, b]
                total = scales[p, b] if tree.parent[p] < 0 else 1.0
                is_possible = sent > 0.0 and total > 0.0
                messages[i + b] = beliefs[i + b] / total / sent if is_possible else 0.0
        n_shared = (message_start[c + 1] - message_start[c]) // n_rows
        n_cells = _n_cells(tree.start, tree.axes, c, sizes)
        k = _own_separator_axes(n_shared, n_cells, rows, work)
        _multiply(tables, np.uint64(table_start[c]), work, k, messages, m0)


@kernel
def margin(
    tree: TreeArrays,
    sizes: Sizes,
    n_rows: int,
    clique: int,
    variables: Integers,
    table: Floats,
    out: Floats,
    work: Sizes,
) -> None:
    """Add to ``out``, which is zero, a clique's table summed over all variables but these.

    They keep their order. What comes from a root is made to sum to one in each row.
    """
    strides = np.zeros(len(sizes), np.uint64)
    step = np.uint64(n_rows)
    for i in range(len(variables) - 1, -1, -1):
        strides[variables[i]] = step if sizes[variables[i]] > np.uint64(1) else np.uint64(0)
        step *= sizes[variables[i]]
    k = 0
    for i in range(tree.start[clique], tree.start[clique + 1]):
        v = tree.axes[i]
        k = _push(work, k, sizes[v], strides[v])
    k = _push(work, k, np.uint64(n_rows), np.uint64(1))
    _add_to(out, np.uint64(0), work, k, table, np.uint64(0))
    if tree.parent[clique] < 0:
        for b in range(n_rows):
            _normalize(out[b::n_rows])


@kernel
def residual_margins(
    tree: TreeArrays, sizes: Sizes, table_start: Integers, tables: Floats, margin_start: Integers
) -> Floats:
    """Posteriors of all variables of one row, each from the clique that eliminates it."""
    out = np.zeros(margin_start[-1])
    for c in range(len(tree.parent)):
        first = tree.start[c] + tree.n_shared[c]
        n_shared, n_residual = np.int64(1), np.int64(1)
        for i in range(tree.start[c], tree.start[c + 1]):
            if i < first:
                n_shared *= np.int64(sizes[tree.axes[i]])
            else:
                n_residual *= np.int64(sizes[tree.axes[i]])
        total = tables[table_start[c] : table_start[c] + n_residual]
        if n_shared > 1:
            total = total.copy()
            for s in range(1, n_shared):
                at = table_start[c] + s * n_residual
                row = tables[at : at + n_residual]
                for j in range(n_residual):
                    total[j] += row[j]
        _split_margins(
            tree.n_states, tree.axes, sizes, first, tree.start[c + 1], total, margin_start, out
        )
        if tree.parent[c] < 0:
            for v in tree.axes[first : tree.start[c + 1]]:
                _normalize(out[margin_start[v] : margin_start[v + 1]])
    return out


@inner
def _split_margins(
    n_states: Sizes,
    axes: Integers,
    sizes: Sizes,
    first: int,
    last: int,
    table: Floats,
    margin_start: Integers,
    out: Floats,
) -> None:
    """Margins of the axes ``first`` to ``last`` of a table: halve the axes, sum each half out."""
    if last - first == 1:
        v = axes[first]
        if sizes[v] == n_states[v]:
            out[margin_start[v] : margin_start[v] + len(table)] = table
        return
    middle = (first + last) // 2
    n_inner = np.int64(1)
    for i in range(middle, last):
        n_inner *= np.int64(sizes[axes[i]])
    outer, inner = np.zeros(len(table) // n_inner), np.zeros(n_inner)
    for s in range(len(outer)):
        row = table[s * n_inner : (s + 1) * n_inner]
        outer[s] = _sum(row, np.uint64(0), np.uint64(n_inner))
        for j in range(n_inner):
            inner[j] += row[j]
    _split_margins(n_states, axes, sizes, first, middle, outer, margin_start, out)
    _split_margins(n_states, axes, sizes, middle, last, inner, margin_start, out)


@inner
def _normalize(weights: Floats) -> None:
    """Divide numbers by their sum, unless all are zero."""
    total = weights.sum()
    if total > 0.0:
        weights /= total


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
def _potential_axes(
    n_states: Sizes,
    start: Integers,
    axes: Integers,
    c: int,
    sizes: Sizes,
    n_rows: np.uint64,
    work: Sizes,
) -> int:
    step = np.uint64(1)
    for i in range(start[c], start[c + 1]):
        step *= n_states[axes[i]]
    k = 0
    for i in range(start[c], start[c + 1]):
        v = axes[i]
        step //= n_states[v]
        k = _push(work, k, sizes[v], step)
    return _push(work, k, n_rows, np.uint64(0))


@inner
def _potential_offset(
    n_states: Sizes,
    start: Integers,
    axes: Integers,
    potential_start: Integers,
    c: int,
    sizes: Sizes,
    states: Sizes,
) -> np.uint64:
    offset = np.uint64(0)
    for i in range(start[c], start[c + 1]):
        v = axes[i]
        offset *= n_states[v]
        if sizes[v] != n_states[v]:
            offset += states[v]
    return offset + np.uint64(potential_start[c])


@inner
def _likely_axes(
    start: Integers,
    axes: Integers,
    likely_axes: Integers,
    likely_first: Integers,
    one: int,
    c: int,
    sizes: Sizes,
    n_rows: np.uint64,
    work: Sizes,
) -> int:
    """Axes of a clique's table with their strides in a likelihood over some of its variables."""
    k = 0
    for i in range(start[c], start[c + 1]):
        stride, step = np.uint64(0), n_rows
        for j in range(likely_first[one + 1] - 1, likely_first[one] - 1, -1):
            if likely_axes[j] == axes[i]:
                stride = step
            step *= sizes[likely_axes[j]]
        k = _push(work, k, sizes[axes[i]], stride)
    return _push(work, k, n_rows, np.uint64(1))


@inner
def _child_axes(
    start: Integers,
    axes: Integers,
    n_shared: Integers,
    place: Integers,
    c: int,
    child: int,
    sizes: Sizes,
    n_rows: np.uint64,
    work: Sizes,
) -> int:
    """Axes of a clique's table with their strides in the message between it and a child."""
    n_shared = n_shared[child]
    step = n_rows
    for i in range(n_shared):
        step *= sizes[axes[start[child] + i]]
    k = 0
    shared = 0
    for i in range(start[c], start[c + 1]):
        size = sizes[axes[i]]
        if shared < n_shared and place[start[child] + shared] == i - start[c]:
            step //= size
            k = _push(work, k, size, step)
            shared += 1
        else:
            k = _push(work, k, size, np.uint64(0))
    return _push(work, k, n_rows, np.uint64(1))


@inner
def _own_separator_axes(n_shared: int, n_cells: np.uint64, n_rows: np.uint64, work: Sizes) -> int:
    """Axes of a clique's table with their strides in its own message: the first ones are shared."""
    shared = np.uint64(n_shared)
    k = _push(work, 0, shared, n_rows)
    k = _push(work, k, n_cells // shared, np.uint64(0))
    return _push(work, k, n_rows, np.uint64(1))


@inner
def _n_cells(start: Integers, axes: Integers, c: int, sizes: Sizes) -> np.uint64:
    """Cells of a clique's table for one row."""
    cells = np.uint64(1)
    for i in range(start[c], start[c + 1]):
        cells *= sizes[axes[i]]
    return cells


@inner
def _rescale_table(
    tables: Floats,
    t: np.uint64,
    n_cells: np.uint64,
    n_rows: int,
    largest: Floats,
    product: Floats,
    log_evidence: Floats,
) -> None:
    """Divide a table by its largest entry where that is small, so that factors do not underflow."""
    rows = np.uint64(n_rows)
    largest[:] = 0.0
    for i in range(n_cells):
        for b in range(rows):
            largest[b] = max(largest[b], tables[t + i * rows + b])
    if largest.min() >= LEAST:
        return
    for b in range(n_rows):
        if 0.0 < largest[b] < LEAST:
            _take_in(largest[b], b, product, log_evidence)
        else:
            largest[b] = 1.0
    for i in range(n_cells):
        for b in range(rows):
            tables[t + i * rows + b] /= largest[b]


@inner
def _rescale(
    messages: Floats,
    start: int,
    stop: int,
    n_rows: int,
    scales: Floats,
    c: int,
    product: Floats,
    log_evidence: Floats,
) -> None:
    """Divide a message by its largest entry, row by row, and count it for the evidence."""
    for b in range(n_rows):
        scales[c, b] = 0.0
    for i in range(start, stop, n_rows):
        for b in range(n_rows):
            scales[c, b] = max(scales[c, b], messages[i + b])
    for b in range(n_rows):
        if scales[c, b] > 0.0:
            _take_in(scales[c, b], b, product, log_evidence)
        else:
            log_evidence[b] = -np.inf
    for i in range(start, stop, n_rows):
        for b in range(n_rows):
            if scales[c, b] > 0.0:
                messages[i + b] /= scales[c, b]


@inner
def _take_in(scale: float, b: int, product: Floats, log_evidence: Floats) -> None:
    """Multiply the scales of a row by one more, or add its logarithm if a float would not hold."""
    if not SMALL < scale < LARGE:
        log_evidence[b] += np.log(scale)
        return
    product[b] *= scale
    if not SMALL < product[b] < LARGE:
        log_evidence[b] += np.log(product[b])
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
