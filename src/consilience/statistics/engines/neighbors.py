r"""Joint counts of a set of variables with each of many others, from those of smaller sets.

With :math:`N(v, y)` the joint counts of a set :math:`V` and another variable :math:`Y`, one more
variable :math:`Z` splits each joint state :math:`v`, and

.. math:: N(v, z^*, y) = N(v, y) - \sum_{z \ne z^*} N(v, z, y) ,

so that where :math:`V` is known the rows with the most frequent state :math:`z^*` of each :math:`v`
need not be looked at (Moore and Lee 1998). Sets are kept: a family and the same variables with
another one as the child, which searches ask for one after the other, are one set.

References
----------
A. Moore, M. S. Lee (1998). Cached sufficient statistics for efficient machine learning with large
datasets. JAIR 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from consilience._typing import Codes, Integers
from consilience.kernels.counting import arrange, take_rest

__all__ = ["MOST_CELLS_KEPT", "Neighbors"]

MOST_CELLS_KEPT = 1 << 25
"""Counts that an engine keeps (128 MiB); its parts share them."""

MANY_ROWS = 1 << 15
"""From so many rows on it pays to find out which known set leaves fewest rows to look at."""


class Counter(Protocol):
    """Who counts rows. It is handed over with each question and not kept: it holds the rows, which
    must go when it does, and not when the collector of cycles next looks.
    """

    def joint(self, places: Integers) -> Codes:
        """Joint counts of some variables, row-major."""
        ...

    def extended(
        self, base: Integers, extension: Integers, n_rows: Codes, left_out: Integers
    ) -> Codes:
        """Joint counts of a base with each of some other variables, one table after the other.

        ``n_rows`` has the rows of each joint state of the base; for each joint state of all but the
        base's last variable a state of that one is left out (-1 for none).
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Joint counts of ``axes``, and of them with each variable whose table has a ``start``."""

    axes: Integers
    cells: Codes
    start: Integers  # by place, -1 where there is no table
    table: Codes

    is_full: bool = False  # tables for all variables but the axes

    def has(self, places: Integers) -> bool:
        """Whether there are tables for all these variables."""
        return self.is_full or bool(self.start[places].min() >= 0)


class Neighbors:
    """A cache with one owner, the joint counts of an engine; variables are places in its bitmaps.

    Parameters
    ----------
    n_rows
        Number of rows.
    n_states
        Number of states by place.
    most_cells
        Counts that are kept; the oldest sets go first.
    """

    def __init__(self, n_rows: int, n_states: Integers, *, most_cells: int) -> None:
        self._most_cells = most_cells
        self._n_states = n_states
        self._known: dict[frozenset[int], _Known] = {}
        self._n_kept = 0
        self._single: _Known | None = None
        self._n_rows = np.array([n_rows], np.int32)

    def of(
        self, base: Integers, n_parents: int, others: Integers, n_more: int, *, counter: Counter
    ) -> tuple[Integers, Integers]:
        """Counts of a family, without each parent, and with each of the others, and their shapes.

        The base is the source if it is an axis, the parents and the child. The others have
        ``n_more`` states in all. For the shapes see :class:`CountBatch`.
        """
        members = base.tolist()
        key = frozenset(members)
        known = self._known.get(key)
        if known is None or not known.has(others):
            known = self._counted(key, base, others, counter)
            self._keep(key, known)
        n_cells, n_states = len(known.cells), self._n_states
        parents = members[len(members) - 1 - n_parents : -1]
        n_fewer = sum([n_cells // int(n_states[place]) for place in parents])
        out = np.empty(n_cells * (1 + n_more) + n_fewer, np.int64)
        shapes = np.empty((1 + n_parents + len(others), 4), np.int64)
        of = known.axes, known.cells, known.table, known.start
        order = np.empty(n_cells, np.int64)
        arrange(*of, base, n_parents, others, n_states, order, out, shapes)
        return out, shapes

    def _counted(
        self, key: frozenset[int], base: Integers, others: Integers, counter: Counter
    ) -> _Known:
        smaller = self._smaller(key, base, others, counter)
        if smaller is None:
            axes, cells = base, counter.joint(base)
            left_out = np.full(len(cells) // self._n_states[base[-1]], -1)
            whole = cells, self._n_states  # not looked at
        else:
            last, known = smaller
            split = self._split(known, last)
            axes = np.array([*known.axes.tolist(), last], np.int64)
            cells, left_out = split.flatten(), split.argmax(axis=1)
            whole = known.table, known.start
        table = counter.extended(axes, others, cells, left_out)
        n_inner = len(cells) // len(left_out)
        start = np.empty(len(self._n_states), np.int64)
        take_rest(table, others, self._n_states, left_out, n_inner, *whole, start)
        is_full = len(axes) + len(others) == len(self._n_states)
        return _Known(axes, cells, start, table, is_full)

    def _smaller(
        self, key: frozenset[int], base: Integers, others: Integers, counter: Counter
    ) -> tuple[int, _Known] | None:
        """The variable to split by last, and what is known without it: fewest rows are left."""
        if len(base) == 1:
            return int(base[0]), self._alone(np.append(others, base), counter)
        options = []
        for place in base.tolist():
            known = self._known.get(key - {place})
            if known is not None and known.start[place] >= 0 and known.has(others):
                options.append((place, known))
        if len(options) < 2 or self._n_rows[0] < MANY_ROWS:
            return options[0] if options else None
        return max(options, key=lambda one: self._split(one[1], one[0]).max(axis=1).sum())

    def _alone(self, places: Integers, counter: Counter) -> _Known:
        """Counts of single variables: of these, and of those that are known already."""
        known = self._single
        if known is None or not known.has(places):
            if known is not None:
                places = np.union1d(np.flatnonzero(known.start >= 0), places)
            none, start = np.zeros(0, np.int64), np.full(len(self._n_states), -1)
            sizes = self._n_states[places]
            start[places] = np.cumsum(sizes) - sizes
            table = counter.extended(none, places, self._n_rows, none)
            known = self._single = _Known(none, self._n_rows, start, table)
        return known

    def _split(self, known: _Known, place: int) -> Codes:
        """Joint counts of what is known and one variable, shape (joint states, states)."""
        first, n, r = known.start[place], len(known.cells), int(self._n_states[place])
        return known.table[first : first + n * r].reshape(n, r)

    def _keep(self, key: frozenset[int], known: _Known) -> None:
        before = self._known.pop(key, None)
        self._n_kept += known.table.size - (0 if before is None else before.table.size)
        self._known[key] = known
        if self._n_kept > self._most_cells:
            for old in [*self._known][:-1]:
                gone = self._known.pop(old, None)  # another thread may have been faster
                self._n_kept -= 0 if gone is None else gone.table.size
                if self._n_kept <= self._most_cells:
                    break
