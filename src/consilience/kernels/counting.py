"""Counting loops: bitmaps for small tables, one increment a row for the others.

A bitmap holds 64 rows a word, one bitmap for each state of each variable. The number of rows in
which several variables have given states is the number of set bits in the AND of their bitmaps, so
one word operation counts 64 rows. :func:`count_groups` forms the bitmaps of a *base* (all joint
states of a few variables) once for a block of rows and joins them with every *extension*; joint
states that are rare in the block keep a list of their non-zero words, so that the cost for a row is
bounded however many joint states there are. :func:`count_mixed` counts the rows of rare joint
states one by one instead, several columns with one increment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience._typing import Bools, Codes, Integers, Words
from consilience.kernels.compile import inner, instruction, kernel

__all__ = [
    "BLOCK",
    "STRIDE",
    "arrange",
    "count_groups",
    "count_mixed",
    "count_toggles",
    "fold",
    "take_rest",
    "tally",
    "tally_weighted",
    "toggle_sizes",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

BLOCK = 256
"""Words of one block: 2 KiB a bitmap, so that those of a usual base fit the second cache."""

SPARSE = BLOCK // 4
"""A bitmap with fewer non-zero words than this in a block is kept as a list of them."""

STRIDE = 256
"""Codes of a bundle of columns are below this."""


def _set_bits() -> Any:
    from numba.core import types
    from numba.extending import intrinsic

    def set_bits(_: Any, word: Any) -> Any:
        return types.int64(types.uint64), lambda _c, builder, _s, args: builder.ctpop(args[0])

    return intrinsic(set_bits)


@instruction(_set_bits)
def popcount(word: Any) -> int:
    """Number of set bits."""
    return int(word).bit_count()


@kernel
def count_groups(
    bits: Words,
    first: Integers,
    n_states: Integers,
    is_complete: Bools,
    base_start: Integers,
    base: Integers,
    extension_start: Integers,
    extension: Integers,
    out_start: Integers,
    word_from: int,
    word_to: int,
    scratch: Words,
    places: Integers,
    out: Integers,
) -> None:
    """Add to ``out`` the joint counts of each group's base with each of its extensions.

    ``bits[first[v] + s]`` is the bitmap of state ``s`` of variable ``v``. Group ``g`` has the base
    ``base[base_start[g]:base_start[g + 1]]`` and the extensions
    ``extension[extension_start[g]:...]``; the table of extension ``e`` starts at
    ``out[out_start[e]]``, base states in row-major order, the extension's state last. Where
    ``is_complete[v]`` the last state of ``v`` is had by subtraction. Only the words ``word_from``
    to ``word_to`` are read. ``scratch`` has one row of ``BLOCK`` words for each joint state of the
    largest base and one more, ``places`` the room of ``BLOCK``.
    """
    words = scratch[-1]
    for start in range(word_from, word_to, BLOCK):
        n_words = min(BLOCK, word_to - start)
        for g in range(len(base_start) - 1):
            cells = _base_bitmaps(
                bits,
                first,
                n_states,
                base,
                base_start[g],
                base_start[g + 1],
                start,
                n_words,
                scratch,
            )
            for cell in range(cells):
                mine = scratch[cell, :n_words]
                total = 0
                filled = 0
                for w in range(n_words):
                    total += popcount(mine[w])
                    filled += mine[w] != 0
                if total == 0:
                    continue
                is_sparse = filled < SPARSE
                if is_sparse:
                    filled = 0
                    for w in range(n_words):
                        if mine[w] != 0:
                            places[filled] = w
                            words[filled] = mine[w]
                            filled += 1
                for e in range(extension_start[g], extension_start[g + 1]):
                    variable = extension[e]
                    r = n_states[variable]
                    row = out_start[e] + cell * r
                    counted = r - 1 if is_complete[variable] else r
                    rest = total
                    for s in range(counted):
                        other = bits[first[variable] + s, start : start + n_words]
                        n = 0
                        if is_sparse:
                            for i in range(filled):
                                n += popcount(words[i] & other[places[i]])
                        else:
                            for w in range(n_words):
                                n += popcount(mine[w] & other[w])
                        out[row + s] += n
                        rest -= n
                    if is_complete[variable]:
                        out[row + r - 1] += rest


@inner
def _base_bitmaps(
    bits: Words,
    first: Integers,
    n_states: Integers,
    base: Integers,
    base_from: int,
    base_to: int,
    start: int,
    n_words: int,
    scratch: Words,
) -> int:
    """Fill ``scratch`` with one bitmap for each joint state of the base; return how many there are.

    A base of no variable has one joint state, all rows: bitmap 0.
    """
    for w in range(n_words):
        scratch[0, w] = bits[0, start + w]
    cells = 1
    for b in range(base_from, base_to):
        r = n_states[base[b]]
        k = first[base[b]]
        # From the last to the first, so that a bitmap is read before its place is taken.
        for cell in range(cells - 1, -1, -1):
            old = scratch[cell, :n_words]
            for s in range(r - 1, -1, -1):
                new = scratch[cell * r + s, :n_words]
                other = bits[k + s, start : start + n_words]
                for w in range(n_words):
                    new[w] = old[w] & other[w]
        cells *= r
    return cells


@kernel
def count_mixed(
    bits: Words,
    first: Integers,
    n_states: Integers,
    base: Integers,
    extension: Integers,
    n_rows: Codes,
    left_out: Integers,
    n_frequent: int,
    codes: npt.NDArray[np.uint8],
    bundle_start: Integers,
    member: Integers,
    word_from: int,
    word_to: int,
    scratch: Words,
    ends: Integers,
    place: Integers,
    rows: npt.NDArray[np.int32],
    table: npt.NDArray[np.uint32],
    out: Codes,
) -> None:
    """Add to ``out`` the joint counts of a base with each extension, each joint state as is best.

    As :func:`count_groups` for one group of variables that are never missing, the last variable of
    the base varying fastest. ``n_rows`` has the rows of each joint state of the base. With joint
    state ``j`` of the other variables the last one's state ``left_out[j]`` is not counted, unless
    negative. Joint states of ``n_frequent`` rows or more are counted by bitmaps. The rows of others
    are taken from their bitmaps one by one: bundle ``b`` of a row has the code
    ``codes[row, b]``, whose digits, the least significant first, are the states of the variables
    ``member[bundle_start[b]:bundle_start[b + 1]]``.

    Working memory: ``scratch`` as for :func:`count_groups`, for all but the last variable of the
    base; ``ends`` of shape (2, joint states), ``place`` by variable, ``rows`` for all rows of rare
    joint states, and ``table``, all zero, with ``STRIDE`` places for each bundle.
    """
    last = base[-1]
    r = n_states[last]
    mine = scratch[-1]
    begin, end = ends[0], ends[1]  # of the lists of rows of rare joint states
    none = len(base) - len(base)  # a literal would be a type, and its callee be compiled again
    n_rare = 0
    for cell in range(len(n_rows)):
        begin[cell] = end[cell] = n_rare
        if n_rows[cell] < n_frequent and cell % r != left_out[cell // r]:
            n_rare += n_rows[cell]
    _set_starts(extension, n_states, len(n_rows), place)
    for start in range(word_from, word_to, BLOCK):
        n_words = min(BLOCK, word_to - start)
        _base_bitmaps(bits, first, n_states, base, none, len(base) - 1, start, n_words, scratch)
        for cell in range(len(n_rows)):
            if n_rows[cell] == 0 or cell % r == left_out[cell // r]:
                continue
            above = scratch[cell // r]
            state = bits[first[last] + cell % r, start : start + n_words]
            for w in range(n_words):
                mine[w] = above[w] & state[w]
            if n_rows[cell] < n_frequent:
                end[cell] = _list_rows(mine, n_words, 64 * start, rows, end[cell])
            else:
                _count_frequent(
                    mine, n_words, bits, first, n_states, extension, place, start, cell, out
                )
    for cell in range(len(n_rows)):
        if end[cell] > begin[cell]:
            _tally_rows(rows, begin[cell], end[cell], codes, table)
            _spread(table, bundle_start, member, n_states, place, cell, out)


@inner
def _count_frequent(
    mine: Words,
    n_words: int,
    bits: Words,
    first: Integers,
    n_states: Integers,
    extension: Integers,
    place: Integers,
    start: int,
    cell: int,
    out: Codes | Integers,
) -> int:
    """Add the counts of the set bits with each extension; return how many bits are set."""
    total = 0
    for w in range(n_words):
        total += popcount(mine[w])
    if total == 0:
        return total
    for variable in extension:
        r = n_states[variable]
        row = place[variable] + cell * r
        rest = total
        for s in range(r - 1):
            other = bits[first[variable] + s, start : start + n_words]
            n = 0
            for w in range(n_words):
                n += popcount(mine[w] & other[w])
            out[row + s] += n
            rest -= n
        out[row + r - 1] += rest
    return total


@inner
def _list_rows(
    words: Words, n_words: int, first_row: int, rows: npt.NDArray[np.int32], place: int
) -> int:
    """Write the rows with a set bit to ``rows`` from ``place`` on; return where they end."""
    one = np.uint64(1)
    for w in range(n_words):
        word = words[w]
        while word != 0:
            lowest = word & (~word + one)
            rows[place] = first_row + 64 * w + popcount(lowest - one)
            place += 1
            word ^= lowest
    return place


@inner
def _tally_rows(
    rows: npt.NDArray[np.int32],
    begin: int,
    end: int,
    codes: npt.NDArray[np.uint8],
    table: npt.NDArray[np.uint32],
) -> None:
    """Add one to ``table[STRIDE * b + codes[row, b]]`` for each listed row and bundle."""
    one = np.uint32(1)
    for i in range(begin, end):
        mine = codes[rows[i]]
        for b in range(len(mine)):
            table[STRIDE * b + np.int64(mine[b])] += one


@inner
def _spread(
    table: npt.NDArray[np.uint32],
    bundle_start: Integers,
    member: Integers,
    n_states: Integers,
    place: Integers,
    cell: int,
    out: Codes,
) -> None:
    """Move the counts of bundles, for one joint state of the base, to the tables of members.

    Digit by digit from the last, the most significant: its table sums over all others, then it is
    summed out itself.
    """
    for b in range(len(bundle_start) - 1):
        size = 1
        for m in range(bundle_start[b], bundle_start[b + 1]):
            size *= n_states[member[m]]
        mine = table[STRIDE * b : STRIDE * b + size]
        for m in range(bundle_start[b + 1] - 1, bundle_start[b] - 1, -1):
            variable = member[m]
            r = n_states[variable]
            row = place[variable] + cell * r
            size //= r
            lowest = mine[:size]
            for s in range(r):
                part = mine[s * size : (s + 1) * size]
                n = 0
                for i in range(size):
                    n += part[i]
                if place[variable] >= 0:
                    out[row + s] += n
                if s > 0:
                    for i in range(size):
                        lowest[i] += part[i]
    for i in range(len(table)):
        table[i] = 0


@inner
def _set_starts(variables: Integers, n_states: Integers, n_cells: int, start: Integers) -> None:
    """Where the tables of variables begin that stand one after the other, or -1, by variable."""
    for v in range(len(start)):
        start[v] = -1
    n = 0
    for variable in variables:
        start[variable] = n
        n += n_cells * n_states[variable]


@kernel
def take_rest(
    out: Codes,
    others: Integers,
    n_states: Integers,
    left_out: Integers,
    n_inner: int,
    whole: Codes,
    whole_start: Integers,
    start: Integers,
) -> None:
    """Fill in what :func:`count_mixed` left out, and where each variable's table begins.

    The counts are those of ``whole``, the tables without the base's last variable, which has
    ``n_inner`` states, less the counts of its other states. The table of variable ``v`` starts at
    ``whole_start[v]``.
    """
    _set_starts(others, n_states, len(left_out) * n_inner, start)
    for variable in others:
        r = n_states[variable]
        for j in range(len(left_out)):
            if left_out[j] < 0:
                continue
            block = start[variable] + j * n_inner * r
            for s in range(r):
                rest = whole[whole_start[variable] + j * r + s]
                for k in range(n_inner):
                    if k != left_out[j]:
                        rest -= out[block + k * r + s]
                out[block + left_out[j] * r + s] = rest


@kernel
def arrange(
    axes: Integers,
    cells: Codes,
    table: Codes,
    start: Integers,
    wanted: Integers,
    n_parents: int,
    others: Integers,
    n_states: Integers,
    order: Integers,
    out: Integers,
    shapes: Integers,
) -> None:
    """Write to ``out`` the counts of a family, without each parent, and with each of the others.

    ``cells`` are the joint counts of ``axes``; those with variable ``v`` begin at
    ``table[start[v]]``. ``wanted`` is the order of the axes in the output, row-major: the child
    last, before it the parents, and first the source if it is an axis. One table follows the other;
    ``shapes`` has for each the numbers of sources, parent states but for the new parent's, states,
    and states of the new parent. ``order`` is working memory for a number a cell.
    """
    n_cells = len(cells)
    for cell in range(n_cells):
        order[cell] = 0
    step = n_cells
    for variable in wanted:
        stride = 1
        for k in range(len(axes) - 1, -1, -1):
            if axes[k] == variable:
                break
            stride *= n_states[axes[k]]
        r = n_states[variable]
        step //= r
        for cell in range(n_cells):
            order[cell] += cell // step % r * stride
    for cell in range(n_cells):
        out[cell] = cells[order[cell]]
    place = _without_each(wanted, n_parents, others, n_states, n_cells, out, shapes)
    for e in range(len(others)):
        r = n_states[others[e]]
        for cell in range(n_cells):
            first = start[others[e]] + order[cell] * r
            for s in range(r):
                out[place + s] = table[first + s]
            place += r


@kernel
def fold(code: Codes, column: Codes, n_states: int) -> None:
    """Extend joint codes by one more column in place; -1 wherever something is missing."""
    for i in range(len(code)):
        if code[i] < 0 or column[i] < 0:
            code[i] = -1
        else:
            code[i] = code[i] * n_states + column[i]


@kernel
def tally(code: Codes, column: Codes, n_states: int, out: Integers) -> None:
    """Add one to ``out[code, column]`` for each row where both are known."""
    for i in range(len(code)):
        if code[i] >= 0 and column[i] >= 0:
            out[code[i] * n_states + column[i]] += 1


@kernel
def tally_weighted(
    code: Codes, column: Codes, n_states: int, weights: Integers, out: Integers
) -> None:
    """Add the row's weight to ``out[code, column]`` for each row where both are known."""
    for i in range(len(code)):
        if code[i] >= 0 and column[i] >= 0:
            out[code[i] * n_states + column[i]] += weights[i]


@kernel
def toggle_sizes(
    n_states: Integers, members: Integers, begin: Integers, n_base: Integers, n_parents: Integers
) -> tuple[int, int]:
    """How many counts :func:`count_toggles` writes, and the joint states of the largest family."""
    n_counts = most = 0
    for f in range(len(n_base)):
        n_cells = _n_cells(n_states, members, begin[f], n_base[f])
        n_counts += _end_of_family(n_states, members, begin[f], n_base[f], n_parents[f], n_cells)
        for variable in members[begin[f] + n_base[f] : begin[f + 1]]:
            n_counts += n_cells * n_states[variable]
        most = max(most, n_cells)
    return n_counts, most


@kernel
def count_toggles(
    bits: Words,
    first: Integers,
    n_states: Integers,
    members: Integers,
    begin: Integers,
    n_base: Integers,
    n_parents: Integers,
    n_words: int,
    scratch: Words,
    place: Integers,
    out: Integers,
    shapes: Integers,
) -> None:
    """Add to ``out`` the counts of families, each also without each parent and with each other.

    The variables of family ``f``, none of which has gaps, are ``members[begin[f]:begin[f + 1]]``:
    the source if it is an axis, its ``n_parents[f]`` parents and the child, ``n_base[f]`` in all,
    then the others. Tables and ``shapes`` are laid out as by :func:`arrange`, one family after the
    other. ``scratch`` has a row of ``BLOCK`` words for each joint state of the largest family,
    ``place`` the room of a number for each variable.
    """
    table = shape = 0
    for f in range(len(n_base)):
        wanted = members[begin[f] : begin[f] + n_base[f]]
        others = members[begin[f] + n_base[f] : begin[f + 1]]
        n_cells = _n_cells(n_states, members, begin[f], n_base[f])
        end = _end_of_family(n_states, members, begin[f], n_base[f], n_parents[f], n_cells)
        for variable in others:
            place[variable] = end
            end += n_cells * n_states[variable]
        mine = out[table : table + end]
        for start in range(0, n_words, BLOCK):
            n = min(BLOCK, n_words - start)
            _base_bitmaps(bits, first, n_states, wanted, 0, n_base[f], start, n, scratch)
            for cell in range(n_cells):
                mine[cell] += _count_frequent(
                    scratch[cell], n, bits, first, n_states, others, place, start, cell, mine
                )
        n_shapes = 1 + n_parents[f] + len(others)
        _without_each(
            wanted, n_parents[f], others, n_states, n_cells, mine, shapes[shape : shape + n_shapes]
        )
        table += end
        shape += n_shapes


@inner
def _n_cells(n_states: Integers, members: Integers, start: int, n_base: int) -> int:
    """Joint states of a family."""
    n = 1
    for variable in members[start : start + n_base]:
        n *= n_states[variable]
    return n


@inner
def _end_of_family(
    n_states: Integers, members: Integers, start: int, n_base: int, n_parents: int, n_cells: int
) -> int:
    """How many counts a family has, and those without each parent."""
    n = n_cells
    for parent in members[start + n_base - 1 - n_parents : start + n_base - 1]:
        n += n_cells // n_states[parent]
    return n


@inner
def _without_each(
    wanted: Integers,
    n_parents: int,
    others: Integers,
    n_states: Integers,
    n_cells: int,
    out: Integers,
    shapes: Integers,
) -> int:
    """Write the counts without each parent behind those of the family, and all shapes.

    Returns where these counts end.
    """
    n_sources = 1
    for k in range(len(wanted) - 1 - n_parents):
        n_sources *= n_states[wanted[k]]
    n_child = n_states[wanted[-1]]
    for e in range(len(shapes)):
        shapes[e, 0] = n_sources
        shapes[e, 1] = n_cells // (n_sources * n_child)
        shapes[e, 2] = n_child
        shapes[e, 3] = 1
    for e in range(len(others)):
        shapes[1 + n_parents + e, 3] = n_states[others[e]]
    place = step = n_cells
    for k in range(len(wanted) - 1):
        r = n_states[wanted[k]]
        step //= r
        parent = k - (len(wanted) - 1 - n_parents)
        if parent >= 0:
            shapes[1 + parent, 1] //= r
            for i in range(place, place + n_cells // r):
                out[i] = 0
            for cell in range(n_cells):
                out[place + cell // (step * r) * step + cell % step] += out[cell]
            place += n_cells // r
    return place
