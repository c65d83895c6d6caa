r"""The statistic of a discrete family: how many rows show each state with each parent state.

.. math:: N_{fjk} = \sum_{\text{rows of source } f} w \,[\mathrm{Pa} = j, X = k]

Counts are int64 and add, so the answer has the same bits for any partition of the rows, any order
and any number of threads. Whole-number weights are counts. Fractional weights are held in fixed
point: one row counts :math:`2^{36}`, a weight is rounded to the nearest multiple of
:math:`2^{-36}`, and a total weight above :math:`2^{26}` is refused, so that no sum can overflow.

A row counts for a family if all variables of the family are known in it; ``n_rows`` has the rows
whether they counted or not, so that nothing is dropped silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.data.table import LARGEST_TOTAL
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError
from consilience.statistics.family import Family

__all__ = ["FIXED_POINT", "MEMORY_LIMIT", "Counts", "parent_states_of"]

FIXED_POINT = 2**36
MEMORY_LIMIT = 2**30


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counts:
    """Counts of one family, by source or pooled.

    Parameters
    ----------
    child, given
        The variables of the family; ``given`` are the parents in the order of the family.
    source
        The source variable, whose states are the first axis; None if the sources are pooled and the
        axis has length one.
    table
        int64, shape (sources, parent states, states), row-major; the last parent varies fastest. In
        units of ``1 / scale``.
    n_rows
        Weight of all rows of each source, complete for the family or not; in units of ``1 /
        scale``.
    scale
        What one row counts: 1, or ``FIXED_POINT`` for fractional weights.
    seen
        For a sparse table, the states of the parents that its rows stand for, shape (rows of the
        table, parents) in lexicographic order; all other parent states were not seen. None for a
        full table.
    """

    child: Variable
    given: tuple[Variable, ...]
    source: Variable | None
    table: Integers
    n_rows: Integers
    scale: int = 1
    seen: Integers | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def empty(cls, schema: Schema, family: Family, *, by_source: bool = False) -> Counts:
        """The counts of no rows: merging them changes nothing."""
        given = tuple(schema[name] for name in family.parents)
        child = schema[family.child]
        source = source_axis(schema, by_source=by_source)
        n_sources = 1 if source is None else source.n_states
        return cls(
            child,
            given,
            source,
            np.zeros((n_sources, 0, child.n_states), np.int64),
            np.zeros(n_sources, np.int64),
            seen=np.zeros((0, len(given)), np.int64),
        )

    @property
    def family(self) -> Family:
        """The names of child and parents."""
        return Family(self.child.name, tuple(parent.name for parent in self.given))

    @property
    def sources(self) -> tuple[str, ...]:
        """Names along the first axis; empty if pooled."""
        return () if self.source is None else self.source.discrete_states

    @property
    def n_parent_states(self) -> int:
        """Number of joint states of the parents, seen or not."""
        return parent_states_of(self.given)

    @property
    def values(self) -> Floats:
        """The table as numbers of rows: shape (sources, parent states, states)."""
        return self.table / self.scale

    @property
    def n_complete(self) -> Floats:
        """Weight of the rows of each source that are complete for the family."""
        return self.table.sum(axis=(1, 2)) / self.scale

    @property
    def n_incomplete(self) -> Floats:
        """Weight of the rows of each source in which a variable of the family is missing."""
        return (self.n_rows - self.table.sum(axis=(1, 2))) / self.scale

    def merge(self, other: Counts) -> Counts:
        """The counts of both sets of rows together."""
        _check_same_variables(self, other)
        scale = max(self.scale, other.scale)
        mine, theirs = self._at_scale(scale), other._at_scale(scale)
        table, seen = _sum_tables(mine, theirs)
        n_rows = mine.n_rows + theirs.n_rows
        check_total(mine.total() + theirs.total())
        return Counts(self.child, self.given, self.source, table, n_rows, scale, seen)

    def total(self) -> int:
        """Weight of all rows in units of ``1 / scale``, as a whole number of any size."""
        return sum(map(int, self.n_rows))

    def pooled(self) -> Counts:
        """The counts of all sources together: a sum over the first axis."""
        return Counts(
            self.child,
            self.given,
            None,
            self.table.sum(axis=0, keepdims=True),
            self.n_rows.sum(keepdims=True),
            self.scale,
            self.seen,
        )

    def to_dense(self, memory_limit: float = MEMORY_LIMIT) -> Counts:
        """The same counts with every parent state in the table, seen or not."""
        if self.seen is None:
            return self
        self.check_dense(memory_limit)
        n_sources, _, r = self.table.shape
        q = self.n_parent_states
        table = np.zeros((n_sources, q, r), np.int64)
        if len(self.seen):
            shape = tuple(parent.n_states for parent in self.given)
            rows = np.ravel_multi_index(tuple(self.seen.T), shape) if shape else np.zeros(1, int)
            table[:, rows] = self.table
        return Counts(self.child, self.given, self.source, table, self.n_rows, self.scale)

    def check_dense(self, memory_limit: float = MEMORY_LIMIT) -> None:
        """Refuse counts whose full table would need more; a table that is full has its place."""
        if self.seen is None:
            return
        n_sources, _, r = self.table.shape
        check_table_size(self.family, n_sources * self.n_parent_states * r, memory_limit)

    def _at_scale(self, scale: int) -> Counts:
        if scale == self.scale:
            return self
        factor = scale // self.scale
        check_total(self.total() * factor)
        return Counts(
            self.child,
            self.given,
            self.source,
            self.table * factor,
            self.n_rows * factor,
            scale,
            self.seen,
        )

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        given = f" | {', '.join(self.family.parents)}" if self.given else ""
        sources = f", {len(self.sources)} sources" if self.sources else ""
        return f"Counts({self.child.name}{given}: {self.n_complete.sum():g} rows{sources})"


def check_total(total: float) -> None:
    """Refuse a total, in the units of a table, that sums could overflow."""
    if total > LARGEST_TOTAL:
        raise DataError(
            f"the total weight is more than can be counted exactly: at most {2**26:,} for "
            f"fractional weights and {LARGEST_TOTAL:,} for whole ones. Divide the weights by a "
            "constant, or round them to whole numbers."
        )


def _check_same_variables(mine: Counts, theirs: Counts) -> None:
    named = [*zip(mine.given, theirs.given, strict=False), (mine.child, theirs.child)]
    differ = [one for one, other in [*named, (mine.source, theirs.source)] if one != other]
    if differ or len(mine.given) != len(theirs.given):
        what = "the parents" if not differ or differ[0] is None else f"{differ[0].name!r}"
        raise DataError(
            f"counts of {mine.child.name!r} cannot be merged: {what} differs between the parts. "
            "Read all parts with one schema.",
            child=mine.child.name,
        )


def _sum_tables(mine: Counts, theirs: Counts) -> tuple[Integers, Integers | None]:
    """Sum of two tables of one scale and the parent states that its rows stand for."""
    if mine.seen is not None and not len(mine.seen):
        return theirs.table, theirs.seen
    if theirs.seen is not None and not len(theirs.seen):
        return mine.table, mine.seen
    if mine.seen is None or theirs.seen is None:
        limit = float("inf")  # one of them is a full table already
        return mine.to_dense(limit).table + theirs.to_dense(limit).table, None
    both = np.concatenate([mine.seen, theirs.seen])
    seen, place = np.unique(both, axis=0, return_inverse=True)
    table = np.zeros((mine.table.shape[0], len(seen), mine.table.shape[2]), np.int64)
    table[:, place[: len(mine.seen)]] += mine.table
    table[:, place[len(mine.seen) :]] += theirs.table
    return table, seen


def source_axis(schema: Schema, *, by_source: bool) -> Variable | None:
    """The variable along the source axis of a request that keeps the sources; None if it pools."""
    return schema.source if by_source else None


def parent_states_of(given: Sequence[Variable]) -> int:
    """Number of joint states of some variables; one if there are none."""
    product = 1
    for variable in given:
        product *= variable.n_states
    return product


def check_table_size(family: Family, n_cells: float, limit: float) -> None:
    """Refuse a table of counts before it is allocated."""
    _check.memory(
        f"family {family.child!r} with {len(family.parents)} parents",
        8 * n_cells,
        limit,
        "Use fewer parents or states, or raise memory_limit.",
    )
