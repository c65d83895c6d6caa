"""Bitmaps of the states of a table's discrete variables, made when first asked for and kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np

from consilience._typing import Codes, Integers, Words
from consilience.data.table import Table
from consilience.kernels.counting import BLOCK, count_groups, count_toggles, toggle_sizes
from consilience.statistics.plan import Axes, Group

__all__ = ["MOST_BASE_STATES", "MOST_STATES", "Bitmaps", "words_of"]

MOST_STATES = 64
"""Variables with more states than this are counted by increments."""

MOST_BASE_STATES = 512
"""Larger bases are counted by increments: their bitmaps would leave the cache."""


class Bitmaps:
    """A cache with one owner, the engine of the table.

    ``bits`` is one array for all variables with few states; its pages are touched, and so cost
    memory, only for variables that were packed. Row 0 has a set bit for every row of the table;
    state ``s`` of the variable in place ``v``, its place in ``n_states``, has row ``first[v] + s``.
    ``is_complete[v]`` is known when the variable is packed. Bitmaps of this layout that are there
    already, in a file, take the place of those that would be made.
    """

    def __init__(
        self, table: Table, n_states: Mapping[str, int], made: Words | None = None
    ) -> None:
        self._table = table
        self._names = tuple(n_states)
        self._place = {name: i for i, name in enumerate(n_states)}
        self.n_states = np.array([*n_states.values()], np.int64)
        self.has_few = self.n_states <= MOST_STATES
        self._has_all: dict[str, bool] = {}
        self.is_complete = np.zeros(len(n_states), np.bool_)
        self._is_packed = np.zeros(len(n_states), np.bool_)
        self._is_whole = np.zeros(len(n_states), np.bool_)
        ends = 1 + np.cumsum(np.where(self.has_few, self.n_states, 0))
        self.first = np.concatenate([[1], ends])[:-1]
        self.n_words = -(-table.n_rows // 64)
        self._is_made = made is not None
        if made is None:
            made = np.empty((ends.max(initial=1), self.n_words), np.uint64)
            made[0] = words_of(np.ones(table.n_rows, bool), self.n_words)
        self.bits: Words = made

    def __contains__(self, name: str) -> bool:
        return bool(self.has_few[self._place[name]])

    def places(self, names: Iterable[str]) -> Integers:
        """Places of variables in the arrays."""
        return np.array([self._place[name] for name in names], np.int64)

    def names(self, places: Integers) -> Axes:
        """The variables in some places."""
        return tuple(self._names[place] for place in places.tolist())

    def pack(self, places: Integers) -> None:
        """Make the bitmaps of the variables in these places if they are not there yet."""
        if self._is_packed[places].all():
            return
        for variable in np.unique(places[~self._is_packed[places]]).tolist():
            codes = self._table.column(self._names[variable])
            n_made = self.n_states[variable] if not self._is_made else 0
            for state in range(n_made):
                self.bits[self.first[variable] + state] = words_of(codes == state, self.n_words)
            self.is_complete[variable] = self.has_all(self._names[variable])
            self._is_whole[variable] = self.is_complete[variable]
            self._is_packed[variable] = True

    def has_all(self, name: str) -> bool:
        """Whether a variable is never missing."""
        if name not in self._has_all:
            codes = self._table.column(name)
            self._has_all[name] = not (codes.size and codes.min() < 0)
        return self._has_all[name]

    def are_whole(self, places: Integers) -> bool:
        """Whether these variables have few states and no gaps; they are then packed."""
        if self._is_whole[places].all():
            return True
        if not self.has_few[places].all():
            return False
        self.pack(places)
        return bool(self._is_whole[places].all())

    def count(self, groups: Sequence[Group], word_from: int, word_to: int) -> Integers:
        """Joint counts of all groups over a range of words, one table after the other.

        The tables follow the order of the groups and of their extensions; within a table the base's
        states are in row-major order and the extension's state varies fastest. The variables must
        be packed.
        """
        bases = self._flat([group.base for group in groups])
        extensions = self._flat([group.extensions for group in groups])
        return self._counted(*bases, *extensions, word_from=word_from, word_to=word_to)

    def count_one(
        self, base: Integers, extension: Integers, word_from: int, word_to: int
    ) -> Integers:
        """The same for one group, whose variables are in these places."""
        starts = np.array([[0, len(base)], [0, len(extension)]], np.int64)
        return self._counted(
            starts[0], base, starts[1], extension, word_from=word_from, word_to=word_to
        )

    def count_toggles(
        self, members: Sequence[Integers], n_base: Sequence[int], n_parents: Sequence[int]
    ) -> tuple[Integers, Integers]:
        """Counts of families, without each parent and with each other variable, and their shapes.

        Of the members of each the first are the source if kept apart, the parents and the child.
        All must be packed and have no gaps.
        """
        begin = np.array([0, *accumulate(map(len, members))], np.int64)
        places, bases, parents = np.concatenate(members), np.array(n_base), np.array(n_parents)
        n_counts, most_cells = toggle_sizes(self.n_states, places, begin, bases, parents)
        n_tables = len(places) + len(bases) + int((parents - bases).sum())
        out, shapes = np.zeros(n_counts, np.int64), np.empty((n_tables, 4), np.int64)
        count_toggles(
            self.bits,
            self.first,
            self.n_states,
            places,
            begin,
            bases,
            parents,
            self.n_words,
            np.empty((most_cells, min(BLOCK, self.n_words)), np.uint64),
            np.empty(len(self.n_states), np.int64),
            out,
            shapes,
        )
        return out, shapes

    def _counted(
        self,
        base_start: Integers,
        base: Integers,
        extension_start: Integers,
        extension: Integers,
        *,
        word_from: int,
        word_to: int,
    ) -> Integers:
        sizes, starts = self.n_states[base].tolist(), base_start.tolist()
        base_cells = np.array([math.prod(sizes[a:b]) for a, b in pairwise(starts)], np.int64)
        cells = np.repeat(base_cells, np.diff(extension_start)) * self.n_states[extension]
        out_start = np.zeros(len(cells) + 1, np.int64)
        np.cumsum(cells, out=out_start[1:])
        out = np.zeros(out_start[-1], np.int64)
        count_groups(
            self.bits,
            self.first,
            self.n_states,
            self.is_complete,
            base_start,
            base,
            extension_start,
            extension,
            out_start,
            word_from,
            word_to,
            np.empty((base_cells.max() + 1, BLOCK), np.uint64),
            np.empty(BLOCK, np.int64),
            out,
        )
        return out

    def n_rows_by_state(self, places: Integers) -> Codes:
        """Rows of each state of variables, one after another; they must be packed."""
        return np.concatenate(
            [
                np.bitwise_count(self.bits[self.first[v] : self.first[v] + self.n_states[v]]).sum(
                    axis=1, dtype=np.int32
                )
                for v in places.tolist()
            ]
        )

    def _flat(self, lists: Sequence[Sequence[str]]) -> tuple[Integers, Integers]:
        starts = np.array([0, *accumulate(map(len, lists))], np.int64)
        return starts, self.places(name for names in lists for name in names)


def words_of(mask: np.ndarray[tuple[int], np.dtype[np.bool_]], n_words: int) -> Words:
    """The bits of some rows, 64 in a word, the first row in the lowest bit; the rest are zero."""
    packed = np.packbits(mask, bitorder="little")
    if packed.size < 8 * n_words:
        packed = np.concatenate([packed, np.zeros(8 * n_words - packed.size, np.uint8)])
    return packed.view("<u8")
