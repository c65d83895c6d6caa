"""Counts of a child given any of its candidate parents, as sums of one joint table.

A search that looks at very many sets of parents of one child asks an engine once, for the joint
counts of the child and all its candidates, and sums them here. The joint table has no more rows
than the data, however many candidates there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload

import numpy as np

from consilience import _freeze
from consilience._typing import Integers
from consilience.data.variable import Variable
from consilience.kernels.marginals import number_classes, sum_tables
from consilience.statistics.counts import Counts, parent_states_of
from consilience.statistics.counts_batch import CountBatch

__all__ = ["Marginals"]

CELLS_PER_BATCH = 1 << 20
"""Counts in one batch; a single table may need more."""

FAMILIES_PER_BATCH = 4096

ROOM = 8
"""Cells of working memory for each row; more of it joins more rows, but slower."""


class Marginals:
    """All tables of one child; holds the joint table and working memory, for one owner.

    Bit ``v`` of a set of parents stands for ``joint.given[v]``.

    Parameters
    ----------
    joint
        Counts of the child given all its candidates.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb"), "y": list("abab"), "z": list("aabb")})
    >>> (joint,) = cs.count(table, cs.Family("z", ("x", "y")))
    >>> [batch.table.tolist() for batch in Marginals(joint).batches([0b00, 0b01])]
    [[2, 2, 2, 0, 0, 2]]
    """

    def __init__(self, joint: Counts) -> None:
        self._joint = joint
        n_sources, _, self._r = joint.table.shape
        source, state, child = np.nonzero(joint.table)
        n_rows, n_candidates = max(1, len(child)), len(joint.given)
        self._n_states = np.array([one.n_states for one in joint.given], np.int64)
        self._columns = np.zeros((n_candidates, n_rows), np.int32)
        self._columns[:, : len(child)] = _states_of(joint, state)
        self._child, self._source = np.zeros((2, n_rows), np.int32)
        self._child[: len(child)], self._source[: len(child)] = child, source
        number = np.empty(max([ROOM, *self._n_states]) * n_rows, np.int32)
        self._classes = np.empty((n_candidates + 1, n_rows), np.int32)
        self._n_classes = np.empty(n_candidates + 1, np.int64)
        ends, self._classes[0] = np.unique(
            self._source * np.int64(self._r) + self._child, return_inverse=True
        )
        self._n_classes[0] = len(ends)
        number_classes(self._columns, self._n_states, self._classes, self._n_classes, number)
        self._number = number
        self._states = np.empty((n_candidates + 1, n_rows), np.int32)
        self._examples = np.empty((n_candidates + 1, n_rows), np.int32)
        self._counts = np.empty((n_candidates + 1, n_rows), np.int64)
        self._depths = np.zeros((n_candidates + 1, 4), np.int64)
        self._depths[0] = n_rows, 1, 0, n_candidates
        self._states[0], self._examples[0], self._counts[0] = 0, np.arange(n_rows), 0
        self._counts[0, : len(child)] = joint.table[source, state, child]
        self._out = np.empty(max(CELLS_PER_BATCH, n_sources * n_rows * self._r), np.int64)
        self._given_of = lru_cache(maxsize=1 << 16)(self._given)

    def batches(self, sets: Sequence[int] | Integers) -> Iterator[CountBatch]:
        """Tables of the child with these sets of parents, in batches of moderate size.

        The sets must be increasing. The parents of a family are those of the set from the last
        candidate to the first. Parent states that no row shows are left out (``CountBatch.seen``).
        """
        masks = np.asarray(sets, np.int64)
        for start in range(0, len(masks), FAMILIES_PER_BATCH):
            part = masks[start : start + FAMILIES_PER_BATCH]
            first = 0
            while first < len(part):
                n_seen = np.empty(len(part), np.int64)
                end = self._sum(part, first, n_seen)
                yield self._batch(part[first:end], n_seen[first:end])
                first = end

    def _sum(self, masks: Integers, first: int, n_seen: Integers) -> int:
        return int(
            sum_tables(
                self._columns,
                self._n_states,
                self._child,
                self._source,
                self._classes,
                self._n_classes,
                self._r,
                len(self._joint.n_rows),
                masks,
                first,
                self._states,
                self._examples,
                self._counts,
                self._depths,
                self._number,
                n_seen,
                self._out,
            )
        )

    def _batch(self, masks: Integers, n_seen: Integers) -> CountBatch:
        joint, n_sources = self._joint, len(self._joint.n_rows)
        shapes = np.ones((len(masks), 4), np.int64)
        shapes[:, 0], shapes[:, 1], shapes[:, 2] = n_sources, n_seen, self._r
        size = int(n_seen.sum()) * n_sources * self._r
        half = len(joint.given) // 2
        low = (1 << half) - 1
        given_of = self._given_of
        given = tuple(given_of(mask & ~low) + given_of(mask & low) for mask in masks.tolist())
        return CountBatch(
            (joint.child,) * len(masks),
            given,
            joint.source,
            _freeze.read_only(self._out[:size].copy()),
            _freeze.read_only(shapes),
            joint.n_rows,
            joint.scale,
            _Seen(self._columns, given, masks, n_seen),
        )

    def _given(self, mask: int) -> tuple[Variable, ...]:
        given = self._joint.given
        return tuple(given[v] for v in reversed(range(len(given))) if mask >> v & 1)


class _Seen(Sequence[Integers | None]):
    """The parent states of the tables of a batch, made when somebody asks, which few scores do."""

    def __init__(
        self,
        columns: np.ndarray[tuple[int, int], np.dtype[np.int32]],
        given: Sequence[tuple[Variable, ...]],
        masks: Integers,
        n_seen: Integers,
    ) -> None:
        self._columns, self._given, self._masks, self._n_seen = columns, given, masks, n_seen

    def __len__(self) -> int:
        return len(self._given)

    @overload
    def __getitem__(self, i: int) -> Integers | None: ...
    @overload
    def __getitem__(self, i: slice) -> list[Integers | None]: ...
    def __getitem__(self, i: int | slice) -> Integers | list[Integers | None] | None:
        if isinstance(i, slice):
            return [self[k] for k in range(len(self))[i]]
        if self._n_seen[i] == parent_states_of(self._given[i]):
            return None
        mask = int(self._masks[i])
        bits = [v for v in reversed(range(len(self._columns))) if mask >> v & 1]
        return np.unique(self._columns[bits].T.astype(np.int64), axis=0)


def _states_of(joint: Counts, rows: Integers) -> Integers:
    """States of the parents in the given rows of the table, one row of the answer a parent."""
    if joint.seen is not None:
        return joint.seen[rows].T
    shape = tuple(one.n_states for one in joint.given)
    return np.stack(np.unravel_index(rows, shape)) if shape else np.empty((0, len(rows)), np.int64)
