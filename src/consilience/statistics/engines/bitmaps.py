"""Bitmaps of the states of a table's discrete variables, made when first asked for and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import prod

import numpy as np

from consilience._typing import Integers, Words
from consilience.data.table import Table
from consilience.kernels.counting import BLOCK, count_groups
from consilience.statistics.plan import Group

__all__ = ["MOST_BASE_STATES", "MOST_STATES", "Bitmaps"]

MOST_STATES = 64
"""Variables with more states than this are counted by increments."""

MOST_BASE_STATES = 512
"""Larger bases are counted by increments: their bitmaps would leave the cache."""


class Bitmaps:
    """A cache with one owner, the engine of the table.

    ``bits`` is one array for all variables with few states; its pages are touched, and so cost
    memory, only for variables that were packed. Row 0 has a set bit for every row of the table.
    """

    def __init__(self, table: Table, n_states: Mapping[str, int]) -> None:
        self._table = table
        self._names = [name for name, n in n_states.items() if n <= MOST_STATES]
        self._index = {name: i for i, name in enumerate(self._names)}
        self._size = dict(n_states)
        sizes = [n_states[name] for name in self._names]
        self._n_states = np.array(sizes, np.int64)
        self._first = np.array([1, *accumulate(sizes, initial=1)][1 : len(sizes) + 1], np.int64)
        self._is_complete = np.zeros(len(sizes), np.int64)
        self._packed: set[str] = set()
        self.n_words = -(-table.n_rows // 64)
        self._bits: Words = np.empty((1 + sum(sizes), self.n_words), np.uint64)
        self._bits[0] = _words(np.ones(table.n_rows, bool), self.n_words)

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def pack(self, names: Iterable[str]) -> None:
        """Make the bitmaps of these variables if they are not there yet."""
        for name in names:
            if name not in self._packed:
                variable = self._index[name]
                codes = self._table.column(name)
                for state in range(self._n_states[variable]):
                    self._bits[self._first[variable] + state] = _words(codes == state, self.n_words)
                self._is_complete[variable] = not (codes.size and codes.min() < 0)
                self._packed.add(name)

    def count(self, groups: Sequence[Group], word_from: int, word_to: int) -> Integers:
        """Joint counts of all groups over a range of words, one table after the other.

        The tables follow the order of the groups and of their extensions; within a table the base's
        states are in row-major order and the extension's state varies fastest. The variables must
        be packed.
        """
        base_start, base = self._flat([group.base for group in groups])
        extension_start, extension = self._flat([group.extensions for group in groups])
        base_cells = [prod([self._size[name] for name in group.base]) for group in groups]
        cells = np.repeat(base_cells, np.diff(extension_start)) * self._n_states[extension]
        out_start = np.zeros(len(cells) + 1, np.int64)
        np.cumsum(cells, out=out_start[1:])
        out = np.zeros(out_start[-1], np.int64)
        count_groups(
            self._bits,
            self._first,
            self._n_states,
            self._is_complete,
            base_start,
            base,
            extension_start,
            extension,
            out_start,
            word_from,
            word_to,
            np.empty((max(base_cells), BLOCK), np.uint64),
            out,
        )
        return out

    def _flat(self, lists: Sequence[Sequence[str]]) -> tuple[Integers, Integers]:
        starts = np.array([0, *accumulate(map(len, lists))], np.int64)
        return starts, np.array([self._index[name] for names in lists for name in names], np.int64)


def _words(mask: np.ndarray[tuple[int], np.dtype[np.bool_]], n_words: int) -> Words:
    packed = np.packbits(mask, bitorder="little")
    if packed.size < 8 * n_words:
        packed = np.concatenate([packed, np.zeros(8 * n_words - packed.size, np.uint8)])
    return packed.view("<u8")
