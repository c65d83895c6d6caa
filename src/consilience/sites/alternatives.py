r"""Ranges of small counts that all answers of a site together do not narrow.

Hiding a cell is not enough: a family and its margins, or two families that differ by one variable,
give it away by subtraction. So a site shows what does not tell its rows from other rows. It keeps
*alternatives*: changes :math:`d` of the weights of its rows that sum to zero. Every cell is shown
as the range of what it would be under all of them,

.. math:: \Bigl[\min_d \bigl(N_c + d(c)\bigr),\; \max_d \bigl(N_c + d(c)\bigr)\Bigr], \qquad
    d(c) = \sum_{r \in c} d_r ,

and exactly where they agree. For each cell with :math:`1 \le N_c < k` there is one alternative in
which it is at most 1 and one in which it is at least :math:`k - 1`. A later alternative must agree
with every range that was shown before; where none does, the family is withheld. Since all
alternatives, and the rows themselves, agree with everything ever shown, no sums and differences, no
linear program, and no search through whole tables can narrow a hidden cell: the audit is the
construction.

An alternative adds copies of a row and takes away as many others that agree with it as far as
possible, so cells are touched by less than :math:`k`. A touched cell of :math:`k` or more is shown
in whole steps of :math:`k`, so that the middle of its range does not give it away. No row is
invented, so zeros stay zeros and are shown. Many rows have an alternative before anything is shown:
what is shown first would else leave no room for what comes later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.data.table import Table
from consilience.errors import RefusalError

__all__ = ["Alternatives"]

MOST_CANDIDATES = 128
"""Rows that are looked through for one change."""

MOST_TRIES = 3

MOST_BEGUN = 1000
"""Rows that have an alternative before anything is shown."""

Names: TypeAlias = tuple[str, ...]
Ranges: TypeAlias = tuple[Integers, Integers]


@dataclass(slots=True)
class _Cells:
    """The cells of some families, one table after the other.

    Attributes
    ----------
    shapes, starts
        Numbers of states, and the first cell, of each table.
    of_row
        The cell of each row in each table, shape (tables, rows); the last cell of all stands for
        rows with a gap.
    values, low, high
        Counts, and what they may be.
    """

    shapes: list[tuple[int, ...]]
    starts: Integers
    of_row: Integers
    values: Integers
    low: Integers
    high: Integers

    @classmethod
    def of(cls, table: Table, weights: Integers, families: Sequence[Names]) -> _Cells:
        shapes, starts, rows = [], [0], []
        for names in families:
            shapes.append(tuple(table.schema[name].n_states for name in names))
            code, is_known = np.zeros(table.n_rows, np.int64), np.ones(table.n_rows, bool)
            for name, n_states in zip(names, shapes[-1], strict=True):
                column = table.column(name)
                is_known &= column >= 0
                code = code * n_states + np.maximum(column, 0)
            rows.append(np.where(is_known, code + starts[-1], -1))
            starts.append(starts[-1] + int(np.prod(shapes[-1])))
        of_row = np.array(rows, np.int64).reshape(len(families), table.n_rows)
        of_row[of_row < 0] = starts[-1]
        values = np.zeros(starts[-1] + 1, np.int64)
        np.add.at(values, of_row, np.broadcast_to(weights, of_row.shape))
        values[-1] = 0
        return cls(shapes, np.array(starts), of_row, values, values.copy(), values.copy())

    def touched(self, rows: Integers, change: Integers) -> tuple[Integers, Integers]:
        """The cells that a change of rows touches, and what they are then."""
        cells = self.of_row[:, rows]
        every, place = np.unique(cells, return_inverse=True)
        sums = np.zeros(len(every), np.int64)
        np.add.at(sums, place.reshape(cells.shape), np.broadcast_to(change, cells.shape))
        is_real = (every < len(self.values) - 1) & (sums != 0)
        return every[is_real], (self.values[every] + sums)[is_real]

    def widen(self, rows: Integers, change: Integers) -> None:
        """Let the ranges hold an alternative."""
        cells, values = self.touched(rows, change)
        self.low[cells] = np.minimum(self.low[cells], values)
        self.high[cells] = np.maximum(self.high[cells], values)

    def widen_by_all(self, rows: Integers, change: Integers, which: Integers) -> None:
        """Let the ranges hold many alternatives; ``which`` says to which one a row belongs."""
        n = int(which[-1]) + 1
        for place, (start, end) in enumerate(pairwise(self.starts.tolist())):
            cell = self.of_row[place, rows] - start
            is_real = cell < end - start
            key = which[is_real] * (end - start) + cell[is_real]
            sums = np.bincount(key, change[is_real], n * (end - start)).reshape(n, end - start)
            values = self.values[start:end]
            self.low[start:end] = values + np.minimum(sums.min(axis=0), 0).astype(np.int64)
            self.high[start:end] = values + np.maximum(sums.max(axis=0), 0).astype(np.int64)

    def joined(self, more: _Cells) -> _Cells:
        """These cells, then those of more families."""
        n_mine, n_more = len(self.values) - 1, len(more.values) - 1
        of_row = np.where(self.of_row == n_mine, n_mine + n_more, self.of_row)
        return _Cells(
            [*self.shapes, *more.shapes],
            np.concatenate([self.starts[:-1], more.starts + n_mine]),
            np.concatenate([of_row, more.of_row + n_mine]),
            *(
                np.concatenate([getattr(self, name)[:-1], getattr(more, name)])
                for name in ("values", "low", "high")
            ),
        )

    def agrees(self, rows: Integers, change: Integers) -> bool:
        """Whether an alternative is within the ranges."""
        cells, values = self.touched(rows, change)
        return bool(((values >= self.low[cells]) & (values <= self.high[cells])).all())

    def ranges(self, place: int) -> Ranges:
        """The ranges of one table, in its shape."""
        cells = slice(self.starts[place], self.starts[place + 1])
        shape = self.shapes[place]
        return self.low[cells].reshape(shape), self.high[cells].reshape(shape)


class Alternatives:
    """What a site has shown in ranges, and the changes of its rows that agree with all of it.

    Mutable, with one owner, the site.

    Parameters
    ----------
    table
        The rows.
    least_cell
        The smallest count that is shown.
    """

    def __init__(self, table: Table, least_cell: int) -> None:
        if table.weights is not None and table.weights.dtype != np.int64:
            raise RefusalError(
                "ranges of counts need whole weights, and these are fractional.", code="mode"
            )
        self._table, self._k = table, least_cell
        self._weights: Integers = np.ones(table.n_rows, np.int64)
        if table.weights is not None:
            self._weights = table.weights.astype(np.int64)
        self._rng = np.random.default_rng(0)  # of which rows are looked through, not of a secret
        self._changes: list[tuple[Integers, Integers]] = []
        self._shown = _Cells.of(table, self._weights, [])
        self._prepare()
        self._answers: dict[Names, Ranges | None] = {}

    def _prepare(self) -> None:
        """Begin with an alternative for each of many rows, so that later ones find room.

        What is shown first would else be exact, and hardly anything could be shown after it.
        """
        n_lost = self._k - 2
        present = np.flatnonzero(self._weights)
        if n_lost < 1 or len(present) <= n_lost:
            return
        codes = np.stack([self._table.column(name) for name in self._table.variables])
        n_begun = min(len(present), MOST_BEGUN)
        for row in np.sort(self._rng.choice(present, n_begun, replace=False)).tolist():
            others = present[present != row]
            if len(others) > MOST_CANDIDATES:
                others = self._rng.choice(others, MOST_CANDIDATES, replace=False)
            distance = (codes[:, others] != codes[:, [row]]).sum(axis=0)
            near = others[np.argsort(distance, kind="stable")]
            self._changes += _gained(row, near[: 2 * n_lost], self._weights, n_lost)[:1]

    def show(self, families: Sequence[Names]) -> list[Ranges | None]:
        """For each family the lower and the upper ends of its cells; None if it is withheld.

        What was shown or withheld before is so again.

        Parameters
        ----------
        families
            Sets of variables; the axes of a table are in the order of the names.
        """
        new = [one for one in dict.fromkeys(families) if one not in self._answers]
        if new:
            self._show(new)
        return [self._answers[one] for one in families]

    def _show(self, families: list[Names]) -> None:
        cells = self._widened(families)
        withheld: set[Names] = set()
        for place, family in enumerate(families):
            hidden = self._uncovered(cells, place)
            is_covered = (
                self._cover(cells, place, cell, wanted)
                for cell in hidden[np.argsort(cells.values[hidden], kind="stable")].tolist()
                for wanted in (self._k - 1, 1)
            )
            if not all(is_covered):
                withheld.add(family)
        self._answers |= dict.fromkeys(withheld)
        answered = [one for one in families if one not in withheld]
        if not answered:
            return
        final = self._widened(answered) if withheld else cells
        _align(final, self._k)
        for place, one in enumerate(answered):
            self._answers[one] = final.ranges(place)
        self._shown = self._shown.joined(final)

    def _widened(self, families: Sequence[Names]) -> _Cells:
        """The cells of families with their ranges under all alternatives there are."""
        cells = _Cells.of(self._table, self._weights, families)
        if self._changes:
            rows, changes = (np.concatenate(some) for some in zip(*self._changes, strict=True))
            sizes = [len(one) for one, _ in self._changes]
            cells.widen_by_all(rows, changes, np.repeat(np.arange(len(sizes)), sizes))
        return cells

    def _uncovered(self, cells: _Cells, place: int) -> Integers:
        """Small cells of a table whose ranges are not yet as wide as they should be."""
        start, end = cells.starts[place], cells.starts[place + 1]
        values = cells.values[start:end]
        is_small = (values > 0) & (values < self._k)
        is_narrow = (cells.high[start:end] < self._k - 1) | (cells.low[start:end] > 1)
        return np.flatnonzero(is_small & is_narrow) + start

    def _cover(self, cells: _Cells, place: int, cell: int, wanted: int) -> bool:
        """Find an alternative in which a cell has the wanted count, unless there is one."""
        if cells.high[cell] >= wanted >= cells.low[cell]:
            return True
        is_inside = cells.of_row[place] == cell
        rises = wanted > cells.values[cell]
        amount = abs(wanted - int(cells.values[cell]))
        for rows, change in self._proposals(cells, is_inside, amount, rises=rises):
            if self._shown.agrees(rows, change):
                self._changes.append((rows, change))
                cells.widen(rows, change)
                return True
        return False

    def _proposals(
        self, cells: _Cells, is_inside: Bools, amount: int, *, rises: bool
    ) -> Iterator[tuple[Integers, Integers]]:
        """Changes of the weight of rows in a cell by an amount, the least intrusive first."""
        inside, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
        inside = inside[self._weights[inside] > 0]
        outside = outside[self._weights[outside] > 0]
        if len(outside) > MOST_CANDIDATES:
            outside = np.sort(self._rng.choice(outside, MOST_CANDIDATES, replace=False))
        for first in inside[:MOST_TRIES].tolist():
            cost = self._cost(cells, first, outside, amount, rises=rises)
            order = np.argsort(cost, kind="stable")
            usable = outside[order[cost[order] < np.inf]]
            if rises:
                yield from _gained(first, usable, self._weights, amount)
                continue
            lost, by = _some(inside, self._weights, amount)
            for other in usable[:MOST_TRIES].tolist():
                yield np.append(lost, other), np.append(-by, amount)

    def _cost(
        self, cells: _Cells, row: int, others: Integers, amount: int, *, rises: bool
    ) -> Floats:
        """How many shown cells each exchange of one row for another touches; infinite if it may
        not, for what was shown before.
        """
        cost = np.zeros(len(others))
        is_exact = (cells.low == cells.high) & (cells.values >= self._k)
        mine, theirs = cells.of_row[:, [row]], cells.of_row[:, others]
        cost += ((mine != theirs) * (1e-3 + is_exact[mine] + is_exact[theirs])).sum(axis=0)
        shown = self._shown
        mine, theirs = shown.of_row[:, [row]], shown.of_row[:, others]
        gains, loses = (mine, theirs) if rises else (theirs, mine)
        has_room = shown.high - shown.values >= amount
        has_less = shown.values > shown.low
        has_room[-1] = has_less[-1] = True  # rows with a gap are in no cell
        is_bad = (mine != theirs) & ~(has_room[gains] & has_less[loses])
        cost[is_bad.any(axis=0)] = np.inf
        return cost


def _gained(
    row: int, others: Integers, weights: Integers, amount: int
) -> list[tuple[Integers, Integers]]:
    """One row gains what the first of the others, or those after them, lose."""
    found = []
    for start in range(0, min(len(others), MOST_TRIES * amount), amount):
        lost, by = _some(others[start:], weights, amount)
        if by.sum() == amount:
            found.append((np.append(lost, row), np.append(-by, amount)))
    return found


def _some(rows: Integers, weights: Integers, amount: int) -> tuple[Integers, Integers]:
    """The first rows that weigh an amount together, and how much is taken of each."""
    total = np.cumsum(weights[rows])
    last = int(np.searchsorted(total, amount)) + 1
    taken = weights[rows[:last]].copy()
    taken[-1:] -= max(0, int(total[: len(taken)][-1:].sum()) - amount)
    return rows[:last], taken


def _align(cells: _Cells, k: int) -> None:
    """Widen touched cells of ``k`` or more to whole steps of ``k``; zero stays apart."""
    is_touched = (cells.low < cells.high) & (cells.values > 0)
    ends_high = is_touched & (cells.high >= k)
    cells.high[ends_high] = -(-(cells.high[ends_high] + 1) // k) * k - 1
    begins = is_touched & (cells.low > 0)
    cells.low[begins] = np.maximum(cells.low[begins] // k * k, 1)
