"""Bundles: several columns in one code, so that one increment counts all of them.

The joint states of a few variables with few states are numbered below 256; the codes of all bundles
of a row are bytes side by side. Counting a row costs one increment a bundle, and the table of each
member is a sum of its bundle's table. Joint states of a base that many rows share are still counted
by bitmaps, so that the cost falls the more the fewer joint states most rows are in. Only variables
that are never missing are bundled.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from consilience._typing import Codes, Integers
from consilience.data.table import Table
from consilience.kernels.counting import BLOCK, STRIDE, count_mixed
from consilience.statistics.engines.bitmaps import MOST_BASE_STATES, Bitmaps

__all__ = ["Bundles"]

# Measured; they only choose between equal answers.
NS_PER_BUNDLE, NS_TO_FIND_PER_ROW, NS_A_FULL_WORD = 0.6, 4.0, 0.3


class Bundles:
    """A cache with one owner, the engine of the table.

    Parameters
    ----------
    table
        The rows.
    n_states
        Number of states of the variables to bundle, none of which is ever missing.
    bitmaps
        Bitmaps of these variables.
    """

    def __init__(self, table: Table, n_states: Mapping[str, int], bitmaps: Bitmaps) -> None:
        members = _bundled(n_states)
        self._bitmaps = bitmaps
        self._names = frozenset(n_states)
        self.ns_a_row = NS_TO_FIND_PER_ROW + NS_PER_BUNDLE * len(members)
        self._start = np.array([0, *accumulate(map(len, members))], np.int64)
        self._member = bitmaps.places([name for names in members for name in names])
        self._codes = np.zeros((table.n_rows, len(members)), np.uint8)
        for b, names in enumerate(members):
            codes, size = np.zeros(table.n_rows, np.uint8), 1
            for name in names:
                codes += table.column(name).astype(np.uint8, copy=False) * np.uint8(size % STRIDE)
                size *= n_states[name]
            self._codes[:, b] = codes

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def count(
        self,
        base: Integers,
        extension: Integers,
        n_rows: Codes,
        left_out: Integers,
        *,
        words: tuple[int, int],
    ) -> Codes:
        """Joint counts of a base with each of the extensions, one table after the other.

        The variables are places in the bitmaps, which must be packed. ``n_rows`` has the rows of
        each joint state of the base, ``left_out`` for each joint state of all but its last variable
        the state of that one whose counts are not asked for, or -1.
        """
        bitmaps = self._bitmaps
        n_states = int(bitmaps.n_states[extension].sum())
        ns_by_bitmap = NS_A_FULL_WORD * bitmaps.n_words * (n_states - len(extension))
        # To spread costs as much as some rows.
        n_frequent = int(ns_by_bitmap / self.ns_a_row) - STRIDE // 4
        if n_frequent <= 0 and len(n_rows) <= MOST_BASE_STATES:  # no joint state is rare
            return bitmaps.count_one(base, extension, *words).astype(np.int32)
        out = np.zeros(len(n_rows) * n_states, np.int32)
        count_mixed(
            bitmaps.bits,
            bitmaps.first,
            bitmaps.n_states,
            base,
            extension,
            n_rows,
            left_out,
            n_frequent,
            self._codes,
            self._start,
            self._member,
            *words,
            np.empty((len(left_out) + 1, BLOCK), np.uint64),
            np.empty((2, len(n_rows)), np.int64),
            np.empty(len(bitmaps.n_states), np.int64),
            np.empty(64 * bitmaps.n_words, np.int32),
            np.zeros(STRIDE * self._codes.shape[1], np.uint32),
            out,
        )
        return out


def _bundled(n_states: Mapping[str, int]) -> list[list[str]]:
    """Variables in bundles of at most 256 joint states, each put where it leaves least room."""
    bundles: list[list[str]] = []
    sizes: list[int] = []
    for name in sorted(n_states, key=lambda name: (-n_states[name], name)):
        r = n_states[name]
        fitting = [b for b, size in enumerate(sizes) if size * r <= STRIDE]
        if not fitting:
            bundles.append([name])
            sizes.append(r)
            continue
        best = max(fitting, key=lambda b: sizes[b])
        bundles[best].append(name)
        sizes[best] *= r
    return bundles
