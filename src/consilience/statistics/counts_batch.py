"""Counts of many families in one flat array, so that a score reads all of them in one loop.

The table of a family has four axes, row-major: (sources, outer, states, inner). Its parent states
are the pairs (outer, inner). For counts that stand alone the inner axis has length one; counts of a
family with one more parent have that parent as the inner axis, which is how they come out of a
single pass over all candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError
from consilience.statistics.counts import Counts, check_total, parent_states_of
from consilience.statistics.family import Family

__all__ = ["CountBatch"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountBatch:
    """A sequence of :class:`Counts` over the same rows, held flat.

    Parameters
    ----------
    children, given
        The child and the parents of each family.
    source
        The source variable whose states are the first axis; None if the sources are pooled.
    table
        int64, one table after the other, in units of ``1 / scale``.
    shapes
        Lengths of the four axes of each table, shape (families, 4).
    n_rows
        Weight of all rows of each source, complete for a family or not; in units of ``1 / scale``.
    scale
        What one row counts: 1, or ``FIXED_POINT`` for fractional weights.
    seen
        For each sparse table the parent states that it holds; None for a full one. Empty if all
        tables are full.
    """

    children: tuple[Variable, ...]
    given: Sequence[tuple[Variable, ...]]
    source: Variable | None
    table: Integers
    shapes: Integers
    n_rows: Integers
    scale: int = 1
    seen: Sequence[Integers | None] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def of(cls, counts: Sequence[Counts] | CountBatch, *, by_source: bool) -> CountBatch:
        """The batch of some counts; their sources are summed unless asked for by source."""
        if isinstance(counts, CountBatch):
            if by_source or counts.source is None:
                return counts
            return cls.of(list(counts), by_source=False)
        if not counts:
            raise InputError("a batch of counts needs at least one family.")
        parts = [one if by_source or one.source is None else one.pooled() for one in counts]
        shapes = [(one.table.shape[0], one.table.shape[1], one.table.shape[2], 1) for one in parts]
        if len({(part.scale, tuple(part.n_rows)) for part in parts}) > 1:
            raise InputError("the counts of one batch must come from the same rows.")
        return cls(
            tuple(part.child for part in parts),
            tuple(part.given for part in parts),
            parts[0].source,
            _freeze.read_only(np.concatenate([part.table.ravel() for part in parts])),
            np.array(shapes, np.int64),
            parts[0].n_rows,
            parts[0].scale,
            tuple(part.seen for part in parts),
        )

    @property
    def families(self) -> list[Family]:
        """Names of children and parents."""
        return [
            Family(child.name, tuple(parent.name for parent in given))
            for child, given in zip(self.children, self.given, strict=True)
        ]

    @property
    def n_parent_states(self) -> Floats:
        """Number of joint states of the parents of each family, seen or not."""
        if any(seen is not None for seen in self.seen):
            return np.array([float(parent_states_of(given)) for given in self.given])
        return (self.shapes[:, 1] * self.shapes[:, 3]).astype(np.float64)

    @property
    def n_states(self) -> Integers:
        """Number of states of the child of each family."""
        return self.shapes[:, 2]

    @property
    def n_parents(self) -> Integers:
        """Number of parents of each family."""
        return np.array([len(given) for given in self.given], np.int64)

    def __len__(self) -> int:
        return len(self.children)

    def __iter__(self) -> Iterator[Counts]:
        ends = np.cumsum(self.shapes.prod(axis=1))
        for i, (end, shape) in enumerate(zip(ends, self.shapes, strict=True)):
            sources, outer, states, inner = map(int, shape)
            flat = self.table[end - sources * outer * states * inner : end]
            table = np.moveaxis(flat.reshape(sources, outer, states, inner), 2, 3)
            yield Counts(
                self.children[i],
                self.given[i],
                self.source,
                np.ascontiguousarray(table).reshape(sources, outer * inner, states),
                self.n_rows,
                self.scale,
                self.seen[i] if self.seen else None,
            )

    def merge(self, other: CountBatch) -> CountBatch:
        """The counts of both sets of rows together."""
        is_plain = not self.seen and not other.seen and self.scale == other.scale
        if not is_plain or self.table.size == 0 or other.table.size == 0:
            merged = [one.merge(more) for one, more in zip(self, other, strict=True)]
            return CountBatch.of(merged, by_source=True)
        if (self.children, self.given, self.source) != (other.children, other.given, other.source):
            raise DataError(
                "counts cannot be merged: a variable or the sources differ between the parts. "
                "Read all parts with one schema."
            )
        n_rows = self.n_rows + other.n_rows
        check_total(float(n_rows.sum(dtype=np.float64)))
        return CountBatch(
            self.children,
            self.given,
            self.source,
            _freeze.read_only(self.table + other.table),
            self.shapes,
            n_rows,
            self.scale,
        )

    def __repr__(self) -> str:
        return f"CountBatch({len(self)} families, {self.n_rows.sum() / self.scale:g} rows)"
