"""Counting loops: bitmaps for small tables, one increment a row for the others.

A bitmap holds 64 rows a word, one bitmap for each state of each variable. The number of rows in
which several variables have given states is the number of set bits in the AND of their bitmaps, so
one word operation counts 64 rows. :func:`count_groups` forms the bitmaps of a *base* (all joint
states of a few variables) once for a block of rows and joins them with every *extension*; joint
states that are rare in the block keep a list of their non-zero words, so that the cost for a row is
bounded however many joint states there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience._typing import Codes, Integers, Words
from consilience.kernels.compile import IS_COMPILED, inner, kernel

__all__ = [
    "BLOCK",
    "STRIDE",
    "count_groups",
    "fold",
    "spread_bundles",
    "tally",
    "tally_bundles",
    "tally_weighted",
]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

BLOCK = 256
"""Words of one block: 2 KiB a bitmap, so that those of a usual base fit the second cache."""

SPARSE = BLOCK // 4
"""A bitmap with fewer non-zero words than this in a block is kept as a list of them."""

STRIDE = 64
"""Codes of a bundle of columns are below this."""

ROWS_A_SWEEP = 4096
"""Rows whose base codes stay in the first cache while all bundles pass over them."""

if IS_COMPILED:
    from numba.core import types
    from numba.extending import intrinsic

    def _set_bits(_: Any, word: Any) -> Any:
        return types.int64(types.uint64), lambda _c, builder, _s, args: builder.ctpop(args[0])

    popcount = intrinsic(_set_bits)
else:

    def popcount(word: Any) -> int:
        """Number of set bits."""
        return int(word).bit_count()


@kernel
def count_groups(
    bits: Words,
    first: Integers,
    n_states: Integers,
    is_complete: Integers,
    base_start: Integers,
    base: Integers,
    extension_start: Integers,
    extension: Integers,
    out_start: Integers,
    word_from: int,
    word_to: int,
    scratch: Words,
    out: Integers,
) -> None:
    """Add to ``out`` the joint counts of each group's base with each of its extensions.

    ``bits[first[v] + s]`` is the bitmap of state ``s`` of variable ``v``. Group ``g`` has the base
    ``base[base_start[g]:base_start[g + 1]]`` and the extensions
    ``extension[extension_start[g]:...]``; the table of extension ``e`` starts at
    ``out[out_start[e]]``, base states in row-major order, the extension's state last. Where
    ``is_complete[v]`` the last state of ``v`` is had by subtraction. Only the words ``word_from``
    to ``word_to`` are read. ``scratch`` has one row of ``BLOCK`` words for each joint state of the
    largest base.
    """
    places = np.empty(BLOCK, dtype=np.int64)
    words = np.empty(BLOCK, dtype=np.uint64)
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
def tally_bundles(
    code: npt.NDArray[np.uint32],
    bundles: npt.NDArray[np.uint8],
    which: Integers,
    first_row: int,
    out: npt.NDArray[np.uint32],
) -> None:
    """Add one to ``out[b, code + bundles[which[b]]]`` for each row.

    Row ``i`` of ``code`` is row ``first_row + i`` of the bundles. Four bundles pass together: their
    increments do not wait for each other.
    """
    one = np.uint32(1)
    n = len(which)
    for start in range(0, len(code), ROWS_A_SWEEP):
        stop = min(start + ROWS_A_SWEEP, len(code))
        b = 0
        while b + 4 <= n:
            column_0, column_1 = bundles[which[b]], bundles[which[b + 1]]
            column_2, column_3 = bundles[which[b + 2]], bundles[which[b + 3]]
            out_0, out_1, out_2, out_3 = out[b], out[b + 1], out[b + 2], out[b + 3]
            for i in range(start, stop):
                k = code[i]
                row = first_row + i
                out_0[k + column_0[row]] += one
                out_1[k + column_1[row]] += one
                out_2[k + column_2[row]] += one
                out_3[k + column_3[row]] += one
            b += 4
        while b < n:
            column, mine = bundles[which[b]], out[b]
            for i in range(start, stop):
                mine[code[i] + column[first_row + i]] += one
            b += 1


@kernel
def spread_bundles(
    tables: npt.NDArray[np.uint32],
    place: Integers,
    state: npt.NDArray[np.uint8],
    n_states: Integers,
    out: Integers,
) -> None:
    """Sum the tables of bundles to those of their members, one after the other.

    Variable ``v`` stands in ``tables[place[v]]``; a code ``c`` of its bundle means its state
    ``state[v, c]``.
    """
    start = 0
    n_base = tables.shape[1] // STRIDE
    for v in range(len(place)):
        table, mine, r = tables[place[v]], state[v], n_states[v]
        for j in range(n_base):
            for c in range(STRIDE):
                out[start + j * r + mine[c]] += table[j * STRIDE + c]
        start += n_base * r


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
