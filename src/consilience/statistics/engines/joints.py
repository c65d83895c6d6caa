"""Joint counts of groups of variables, by the way that costs least.

- *Bitmaps* (``kernels/counting.py``) for rows of weight one and bases of few joint states: all
  extensions of a base in one pass, about half a nanosecond for 64 rows, joint state and state of
  the extension;
- *toggles*, the same for families with their neighbors where few words are looked at: many
  families in one call;
- *bundles*, at most about 0.7 ns for a row and three or more variables at once, for larger bases;
- *increments*, about 1.2 ns for a row and variable, for the rest: weighted rows, variables with
  gaps or with many states.

All ways give the same counts. Threads take separate ranges of rows and write to separate tables,
whose sum is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from consilience._typing import Codes, Integers, Words
from consilience.data.table import Table
from consilience.kernels.counting import STRIDE, fold, tally, tally_weighted
from consilience.kernels.threads import each_part
from consilience.statistics.engines.bitmaps import MOST_BASE_STATES, MOST_STATES, Bitmaps
from consilience.statistics.engines.bundles import Bundles
from consilience.statistics.engines.neighbors import MOST_CELLS_KEPT, Neighbors
from consilience.statistics.plan import Axes, Group

__all__ = ["Joint", "Joints", "Sought"]

ROWS_PER_BLOCK = 1 << 16
ROWS_FOR_THREADS = 1 << 17  # below this a thread costs more than it saves
MOST_ROWS = 1 << 31  # more rows need larger counts than bundles have

FEW_LOOKS = 1 << 16
"""Words that are looked at for a family sooner than what is known of smaller ones is looked up."""

# Measured; they only choose between equal answers.
NS_PER_WORD, NS_AN_INCREMENT = 0.45, 1.2

ADVANTAGE = 1.5  # that bundles must have: bitmaps pass over empty words, which is not reckoned with

Joint: TypeAlias = tuple[Axes, Integers]
"""Names of the axes of a joint count, and the count with one axis each."""


Counted = TypeVar("Counted", Integers, Codes)


class Sought(NamedTuple):
    """A family to be counted as it is, without each parent, and with each of other variables.

    The first ``n_base`` places are of the source if it is kept apart, the parents and the child;
    then come the others. ``n_cells`` are the joint states of the first, ``n_more`` the states of
    the others together.
    """

    places: Integers
    n_base: int
    n_parents: int
    n_cells: float
    n_more: int


class Joints:
    """Counts over the rows of one table; a private cache of bitmaps and bundles.

    Parameters
    ----------
    table
        The rows.
    n_states
        Number of states of each discrete variable, the source included.
    weights
        Whole weights of the rows, None if each counts one.
    threads
        Number of threads.
    bitmaps
        Bitmaps that are there already, in the layout of :class:`Bitmaps`.
    most_cells
        Counts of neighbors that are kept.
    """

    def __init__(
        self,
        table: Table,
        n_states: dict[str, int],
        weights: Integers | None,
        threads: int,
        *,
        bitmaps: Words | None = None,
        most_cells: int = MOST_CELLS_KEPT,
    ) -> None:
        self._made, self._most_cells = bitmaps, most_cells
        self._table = table
        self._n_rows = table.n_rows
        self._n_states = n_states
        self._weights = weights
        self._threads = threads
        self._most_states = max(n_states.values(), default=1)
        self._bitmaps: Bitmaps | None = None
        self._bundles: Bundles | None = None
        self._neighbors: Neighbors | None = None

    def n_cells(self, names: Iterable[str]) -> float:
        """Number of joint states, as a float that cannot overflow."""
        return reduce(lambda n, name: n * self._n_states[name], names, 1.0)

    def is_complete(self, name: str) -> bool:
        """Whether a variable is never missing."""
        return self._packed().has_all(name)

    def at_once(self, sought: Sequence[Sought]) -> tuple[Integers, Integers] | None:
        """Counts of several families with their neighbors, and their shapes, in one pass.

        None where few words need not be looked at, or :meth:`neighbors` has no answer.
        """
        if self._weights is not None or max(one.n_cells for one in sought) > MOST_BASE_STATES:
            return None
        bitmaps = self._packed()
        looks = bitmaps.n_words * max(one.n_cells * one.n_more for one in sought)
        members = [one.places for one in sought]
        if looks > FEW_LOOKS or not bitmaps.are_whole(np.concatenate(members)):
            return None
        return bitmaps.count_toggles(
            members, [one.n_base for one in sought], [one.n_parents for one in sought]
        )

    def neighbors(self, one: Sought) -> tuple[Integers, Integers] | None:
        """Counts of a family, without each parent, and with each of the others, and their shapes.

        None where there are gaps, weights, or too many states: such families are for :meth:`flat`.
        """
        if self._weights is not None or self._n_rows >= MOST_ROWS or one.n_cells > MOST_BASE_STATES:
            return None
        bitmaps, n_base = self._packed(), one.n_base
        if not one.n_more or not bitmaps.are_whole(one.places):
            return None
        if self._neighbors is None:
            self._neighbors = Neighbors(self._n_rows, bitmaps.n_states, most_cells=self._most_cells)
        base, others = one.places[:n_base], one.places[n_base:]
        return self._neighbors.of(base, one.n_parents, others, one.n_more, counter=self)

    def flat(self, groups: Sequence[Group]) -> Integers:
        """Joint counts of all groups, one table after the other in their order."""
        routed = [self._routed(group) for group in groups]
        fast = [
            group for group, (_, *others) in zip(groups, routed, strict=True) if not any(others)
        ]
        counted = self._bitmap_counts(fast) if fast else np.zeros(0, np.int64)
        if len(fast) == len(groups):
            return counted
        pieces = []
        for group, (bitmaps, bundled, slow) in zip(groups, routed, strict=True):
            if not bundled and not slow:
                size = self._size(group)
                pieces.append(counted[:size])
                counted = counted[size:]
            elif not bitmaps and not slow:
                pieces.append(self._bundle_counts(group))
            else:
                joints = dict(self._by_route([group], [(bitmaps, bundled, slow)]))
                pieces += [joints[group.axes(name)].ravel() for name in group.extensions]
        return np.concatenate(pieces)

    def count(self, groups: Sequence[Group]) -> list[Joint]:
        """Joint counts of the base of each group with each of its extensions, in any order."""
        return self._by_route(groups, [self._routed(group) for group in groups])

    def joint(self, places: Integers) -> Codes:
        """Joint counts of some variables with few states, row-major."""
        names = self._packed().names(places)
        return self._bitmap_counts([Group(names[:-1], names[-1:])]).astype(np.int32)

    def extended(
        self, base: Integers, extension: Integers, n_rows: Codes, left_out: Integers
    ) -> Codes:
        """Joint counts of a base with each extension; see :class:`Counter`."""
        bitmaps = self._packed()
        if not base.size:
            return bitmaps.n_rows_by_state(extension)
        bundles = self._bundled()
        return self._over_units(
            bitmaps.n_words,
            lambda a, b: bundles.count(base, extension, n_rows, left_out, words=(a, b)),
        )

    def _by_route(
        self, groups: Sequence[Group], routed: Sequence[tuple[Axes, Axes, Axes]]
    ) -> list[Joint]:
        ways: list[list[Group]] = [[], [], []]
        for group, extensions in zip(groups, routed, strict=True):
            for way, names in zip(ways, extensions, strict=True):
                if names:
                    way.append(Group(group.base, names))
        by_bitmap, by_bundle, by_increment = ways
        flat = self._bitmap_counts(by_bitmap) if by_bitmap else np.zeros(0, np.int64)
        joints = self._split(by_bitmap, flat)
        for group in by_bundle:
            joints += self._split([group], self._bundle_counts(group))
        for group in by_increment:
            joints += self._split([group], self._over_rows(partial(self._increment, group)))
        return joints

    def _routed(self, group: Group) -> tuple[Axes, Axes, Axes]:
        """The extensions to count by bitmaps, by bundles and by increments."""
        base = self.n_cells(group.base)
        bitmaps = self._packed()
        is_plain = self._weights is None and all(name in bitmaps for name in group.base)
        if not is_plain or base > MOST_BASE_STATES:
            return (), (), group.extensions
        cost = min(base / 64, 1.0) * NS_PER_WORD
        is_whole = bool(group.base) and all(map(self.is_complete, group.base))
        if is_whole and self._bundling_pays(group, base, cost):
            bundled = tuple(name for name in group.extensions if name in self._bundled())
            rest = tuple(name for name in group.extensions if name not in bundled)
            fast, slow = self._by_cost(rest, cost)
            return fast, bundled, slow
        fast, slow = self._by_cost(group.extensions, cost)
        return fast, (), slow

    def _by_cost(self, names: Axes, cost: float) -> tuple[Axes, Axes]:
        bitmaps, most = self._packed(), 1 + NS_AN_INCREMENT / cost
        if self._most_states <= min(most, MOST_STATES):
            return names, ()
        fast = tuple(n for n in names if n in bitmaps and self._n_states[n] <= most)
        return fast, tuple(name for name in names if name not in fast)

    def _bundling_pays(self, group: Group, base: float, cost: float) -> bool:
        if base < 8 or len(group.extensions) < 3 or self._n_rows >= MOST_ROWS:
            return False
        bundles = self._bundled()
        states = sum(self._n_states[name] - 1 for name in group.extensions if name in bundles)
        bundled = (self._n_rows + base * STRIDE) * bundles.ns_a_row
        return bundled * ADVANTAGE < states * min(cost, NS_AN_INCREMENT) * self._n_rows

    def _packed(self) -> Bitmaps:
        if self._bitmaps is None:
            self._bitmaps = Bitmaps(self._table, self._n_states, self._made)
        return self._bitmaps

    def _bundled(self) -> Bundles:
        if self._bundles is None:
            bitmaps = self._packed()
            names = [name for name in self._n_states if name in bitmaps and self.is_complete(name)]
            whole = {name: self._n_states[name] for name in names}
            self._bundles = Bundles(self._table, whole, bitmaps)
        return self._bundles

    def _bitmap_counts(self, groups: Sequence[Group]) -> Integers:
        bitmaps = self._packed()
        bitmaps.pack(bitmaps.places({name for g in groups for name in (*g.base, *g.extensions)}))
        return self._over_units(bitmaps.n_words, lambda a, b: bitmaps.count(groups, a, b))

    def _bundle_counts(self, group: Group) -> Integers:
        bitmaps = self._packed()
        base, extension = bitmaps.places(group.base), bitmaps.places(group.extensions)
        bitmaps.pack(extension)
        n_rows = self.joint(base)
        none = np.full(len(n_rows) // bitmaps.n_states[base[-1]], -1, np.int64)
        return self.extended(base, extension, n_rows, none).astype(np.int64)

    def _increment(self, group: Group, row_from: int, row_to: int) -> Integers:
        sizes = [int(self.n_cells(group.axes(extension))) for extension in group.extensions]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        out = np.zeros(starts[-1], np.int64)
        for start in range(row_from, row_to, ROWS_PER_BLOCK):
            rows = slice(start, min(start + ROWS_PER_BLOCK, row_to))
            code = self._base_code(group.base, rows)
            for extension, a, b in zip(group.extensions, starts, starts[1:], strict=False):
                column, n = self._table.column(extension)[rows], self._n_states[extension]
                if self._weights is None:
                    tally(code, column, n, out[a:b])
                else:
                    tally_weighted(code, column, n, self._weights[rows], out[a:b])
        return out

    def _base_code(self, base: Axes, rows: slice) -> Codes:
        code = np.zeros(rows.stop - rows.start, np.int32)
        for name in base:
            fold(code, self._table.column(name)[rows], self._n_states[name])
        return code

    def _split(self, groups: Sequence[Group], flat: Integers) -> list[Joint]:
        joints, place = [], 0
        for group in groups:
            for extension in group.extensions:
                axes = group.axes(extension)
                shape = tuple(self._n_states[name] for name in axes)
                size = int(self.n_cells(axes))
                joints.append((axes, flat[place : place + size].reshape(shape)))
                place += size
        return joints

    def _size(self, group: Group) -> int:
        return int(self.n_cells(group.base)) * sum(self._n_states[n] for n in group.extensions)

    def _over_rows(self, work: Callable[[int, int], Integers]) -> Integers:
        return self._over_units(self._n_rows, work)

    def _over_units(self, n_units: int, work: Callable[[int, int], Counted]) -> Counted:
        n_parts = self._threads if self._n_rows >= ROWS_FOR_THREADS else 1
        if n_parts == 1:
            return work(0, n_units)
        return reduce(np.add, each_part(n_units, n_parts, work))
