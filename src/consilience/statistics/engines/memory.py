"""The engine for rows in memory.

Families are joint counts of sets of variables (``joints.py``), laid out in the family's order.
Tables that would be mostly empty are counted by sorting, and only the parent states that occur are
kept (``Counts.seen``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Integers, Words
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError
from consilience.statistics.counts import (
    FIXED_POINT,
    Counts,
    check_table_size,
    check_total,
    parent_states_of,
    source_axis,
)
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.engines.centered import moments_of
from consilience.statistics.engines.joints import Joint, Joints, Sought
from consilience.statistics.engines.neighbors import MOST_CELLS_KEPT
from consilience.statistics.engines.seen import count_seen
from consilience.statistics.engines.spread import Spread, with_spread
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.plan import Axes, Group, plan
from consilience.statistics.request import Answer, CountRequest, MomentsBySets, Request
from consilience.statistics.toggles import ToggledParents, ToggleRequest

__all__ = ["LEAST_WEIGHT", "Memory", "whole_weights"]

SMALL_TABLE = 1 << 16  # cells; a table of this size is never worth a sparse one

LEAST_WEIGHT = 2.0**-27  # below it the rounding to fixed point exceeds a thousandth


class _Toggle(NamedTuple):
    """A request with the axes of its family, the candidates' states, and what is counted."""

    request: ToggleRequest
    base: Axes
    sizes: Integers
    sought: Sought

    @property
    def n_tables(self) -> int:
        """How many families it stands for."""
        return 1 + self.sought.n_parents + len(self.sizes)


class Memory:
    """All rows of a table in memory.

    Holds a private cache: bitmaps, made when first needed, and up to 128 MiB of counts of families
    with all their neighbors, from which those of larger families are had.

    Parameters
    ----------
    table
        The rows.
    threads
        Number of threads; by default one for each core. The answer does not depend on it.
    spread
        Covariances of values that stand for a distribution, which moments take in.
    bitmaps
        Bitmaps of the rows that are there already, as :func:`consilience.store` writes them.
    most_cells
        Counts of neighbors that are kept; engines of many parts share them out.
    """

    def __init__(
        self,
        table: Table,
        *,
        threads: int | None = None,
        spread: Sequence[Spread] = (),
        bitmaps: Words | None = None,
        most_cells: int = MOST_CELLS_KEPT,
    ) -> None:
        if threads is not None:
            _check.whole("Memory", at_least=1, threads=threads)
        self.table = table
        self._spread = tuple(spread)
        self.threads = threads or os.cpu_count() or 1
        discrete = [v for v in table.variables.values() if not v.is_continuous]
        source = [] if table.schema.source is None else [table.schema.source]
        self._variables = {v.name: v for v in [*source, *discrete]}
        self._n_states = {name: v.n_states for name, v in self._variables.items()}
        self._position = {name: i for i, name in enumerate(self._n_states)}
        self._sizes = np.array([*self._n_states.values()], np.int64)
        self._most_states = max(self._n_states.values(), default=1)
        self._weights, self._scale = whole_weights(table)
        self._n_rows = table.n_rows
        self._joints = Joints(
            table,
            self._n_states,
            self._weights,
            self.threads,
            bitmaps=bitmaps,
            most_cells=most_cells,
        )
        self._rows: Integers | None = None
        self._has_toggled = False

    @property
    def schema(self) -> Schema:
        """What the rows are about."""
        return self.table.schema

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows."""
        return request.work(self)

    def moments(self, request: MomentsBySets) -> list[Moments]:
        """Centred moments; see :class:`MomentsBySets`."""
        found = moments_of(self.table, request, self.threads)
        if not self._spread:
            return found
        return [with_spread(one, self.table, self._spread) for one in found]

    def count(self, request: CountRequest) -> list[Counts]:
        """Counts of all families of a request; see :class:`CountRequest`."""
        families = request.families
        for family in families:
            self._check_family(family, by_source=request.by_source)
        axes = [self._axes(family, by_source=request.by_source) for family in families]
        is_sparse = [
            bool(family.parents) and self._is_mostly_empty(names)
            for family, names in zip(families, axes, strict=True)
        ]
        self._check_memory(request, axes, is_sparse)
        sets = [frozenset(a) for a, sparse in zip(axes, is_sparse, strict=True) if not sparse]
        joints = self._joint(sets)
        return [
            self._sparse(family, request)
            if sparse
            else self._counts(family, request, _arranged(joints[frozenset(names)], names))
            for family, names, sparse in zip(families, axes, is_sparse, strict=True)
        ]

    def toggle(self, requests: Sequence[ToggleRequest]) -> CountBatch:
        """Counts of families and of all their neighbors; see :class:`ToggleRequest`."""
        asked = [self._toggle(request) for request in requests]
        if any(map(self._is_toggle_mostly_empty, asked)):
            families = tuple(family for request in requests for family in request.families)
            first = requests[0]
            one = CountRequest(families, first.by_source, first.memory_limit)
            return CountBatch.of(self.count(one), by_source=True)
        self._check_toggle_memory(asked)
        return self._toggled(asked)

    def _toggle(self, request: ToggleRequest) -> _Toggle:
        base = self._axes(request.family, by_source=request.by_source)
        names = (*base, *request.candidates)
        if len(set(names)) < len(names) or not self._position.keys() >= set(names):
            for family in request.families:  # one of them is refused
                self._check_family(family, by_source=request.by_source)
        places = np.fromiter(map(self._position.__getitem__, names), np.int64, len(names))
        sizes = self._sizes[places[len(base) :]]
        n_cells, n_parents = self._n_cells(base), len(request.family.parents)
        sought = Sought(places, len(base), n_parents, n_cells, int(sizes.sum()))
        return _Toggle(request, base, sizes, sought)

    def _is_toggle_mostly_empty(self, asked: _Toggle) -> bool:
        most, n_cells = max(SMALL_TABLE, 2 * self._n_rows), asked.sought.n_cells
        if n_cells * self._most_states <= most:
            return False
        return n_cells * int(asked.sizes.max(initial=1)) > most

    def _check_toggle_memory(self, asked: Sequence[_Toggle]) -> None:
        first = asked[0].request
        _check.memory(
            f"the family of {first.family.child!r} with each of {len(first.candidates)} more "
            f"parents (one of {len(asked)} requests)",
            8 * sum(one.sought.n_cells * (1 + one.sought.n_more) for one in asked),
            first.memory_limit,
            "Use fewer parents or states, or raise memory_limit.",
        )

    def _toggled(self, asked: Sequence[_Toggle]) -> CountBatch:
        requests = [one.request for one in asked]
        by_source = requests[0].by_source
        rows = self._rows_by_source(by_source=by_source)
        table, shapes = self._toggled_counts(asked, len(rows))
        children: list[Variable] = []
        for one in asked:
            children += [self._variables[one.request.family.child]] * one.n_tables
        return CountBatch(
            tuple(children),
            ToggledParents(requests, self._variables),
            source_axis(self.schema, by_source=by_source),
            _freeze.read_only(table),
            _freeze.read_only(shapes),
            rows,
            self._scale,
        )

    def _toggled_counts(
        self, asked: Sequence[_Toggle], n_sources: int
    ) -> tuple[Integers, Integers]:
        """Tables of each family, without each parent and with each candidate, and their shapes."""
        is_first, self._has_toggled = not self._has_toggled, True
        at_once = self._joints.at_once([one.sought for one in asked])
        if at_once is not None:
            return at_once
        # An engine that is asked only once, as for rows in batches, need not remember anything.
        remembers = len(asked) > 1 or not is_first
        found = [self._joints.neighbors(one.sought) if remembers else None for one in asked]
        slow = [one for one, tables in zip(asked, found, strict=True) if tables is None]
        if slow:
            flat = self._joints.flat([group for one in slow for group in _groups(one)])
            shapes = [self._shapes(one, n_sources) for one in slow]
            ends = np.cumsum([each.prod(axis=1).sum() for each in shapes])
            rest = zip(np.split(flat, ends[:-1]), shapes, strict=True)
            found = [next(rest) if tables is None else tables for tables in found]
        counted = [tables for tables in found if tables is not None]
        return _joined([table for table, _ in counted]), _joined([shapes for _, shapes in counted])

    def _shapes(self, one: _Toggle, n_sources: int) -> Integers:
        r = self._n_states[one.request.family.child]
        fewer = [self._n_states[name] for name in one.request.family.parents]
        q = int(one.sought.n_cells) // (n_sources * r)
        return np.array(
            [
                (n_sources, q, r, 1),
                *((n_sources, q // n, r, 1) for n in fewer),
                *((n_sources, q, r, n) for n in one.sizes.tolist()),
            ],
            np.int64,
        )

    def _check_family(self, family: Family, *, by_source: bool) -> None:
        for name in family.variables:
            if self.schema[name].is_continuous:
                raise InputError(
                    f"family {family.child!r}: {name!r} is continuous and cannot be counted. "
                    "Read it with discretize=, or ask for moments.",
                    variable=name,
                )
        if by_source and self.table.source in family.variables:
            raise InputError(
                f"family {family.child!r} names the source {self.table.source!r}, which is an axis "
                "of its own when sources are kept apart.",
                variable=self.table.source,
            )

    def _axes(self, family: Family, *, by_source: bool) -> Axes:
        keeps_source = by_source and self.table.source is not None
        source = (self.table.source,) if keeps_source and self.table.source else ()
        return (*source, *family.variables)

    def _n_cells(self, names: Iterable[str]) -> float:
        return self._joints.n_cells(names)

    def _is_mostly_empty(self, names: Axes) -> bool:
        return self._n_cells(names) > max(SMALL_TABLE, 2 * self._n_rows)

    def _check_memory(
        self, request: CountRequest, axes: Sequence[Axes], is_sparse: Sequence[bool]
    ) -> None:
        total = 0.0
        for family, names, sparse in zip(request.families, axes, is_sparse, strict=True):
            cells = self._n_cells(names)
            if sparse:
                parents = self._n_cells(family.parents)
                cells *= min(parents, self._n_rows) / parents
            check_table_size(family, cells, request.memory_limit)
            total += cells
        _check.memory(
            f"the request for {len(axes)} families",
            8 * total,
            request.memory_limit,
            "Ask for fewer families at once, or raise memory_limit.",
        )

    def _rows_by_source(self, *, by_source: bool) -> Integers:
        if self._rows is None:
            source = self.table.source_codes
            rows = np.zeros(max(1, len(self.table.sources)), np.int64)
            np.add.at(
                rows,
                np.zeros(self.table.n_rows, np.int8) if source is None else source,
                1 if self._weights is None else self._weights,
            )
            self._rows = rows  # assigned when complete: another thread may look
        return self._rows if by_source or len(self._rows) == 1 else self._rows.sum(keepdims=True)

    def _sparse(self, family: Family, request: CountRequest) -> Counts:
        table, seen = count_seen(self.table, family, self._weights, by_source=request.by_source)
        return self._counts(family, request, table, seen)

    def _counts(
        self, family: Family, request: CountRequest, table: Integers, seen: Integers | None = None
    ) -> Counts:
        child = self.schema[family.child]
        given = tuple(self.schema[name] for name in family.parents)
        source = source_axis(self.schema, by_source=request.by_source)
        rows = self._rows_by_source(by_source=request.by_source)
        shape = (len(rows), parent_states_of(given) if seen is None else len(seen), child.n_states)
        counts = _freeze.read_only(table.reshape(shape))
        return Counts(child, given, source, counts, rows, self._scale, seen)

    def _joint(self, sets: Sequence[frozenset[str]]) -> dict[frozenset[str], Joint]:
        """Joint counts of sets of variables; those that others contain are sums where possible."""
        names = {name for one in sets for name in one}
        complete = [name for name in names if self._joints.is_complete(name)]
        planned = plan(sets, complete=complete, n_cells=self._n_cells, position=self._position)
        counted = self._joints.count(planned.groups)
        joints = {frozenset(axes): (axes, counts) for axes, counts in counted}
        for one, larger in planned.sums.items():
            axes, counts = joints[larger]
            (extra,) = larger - one
            joints[one] = (
                tuple(name for name in axes if name != extra),
                counts.sum(axis=axes.index(extra)),
            )
        return joints


def _joined(arrays: Sequence[Integers]) -> Integers:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _groups(one: _Toggle) -> list[Group]:
    """The family, without each parent, and with each candidate, as groups to be counted."""
    parents = one.request.family.parents
    fewer = [tuple(name for name in one.base if name != parent) for parent in parents]
    alone = [Group(axes[:-1], axes[-1:]) for axes in (one.base, *fewer)]
    return [*alone, Group(one.base, one.request.candidates)] if one.sizes.size else alone


def _arranged(joint: Joint, names: Axes) -> Integers:
    """The joint count with its axes in the order of ``names``."""
    axes, counts = joint
    return np.ascontiguousarray(counts.transpose([axes.index(name) for name in names]))


def whole_weights(table: Table) -> tuple[Integers | None, int]:
    """Weights as whole multiples of ``1 / scale``, and the scale."""
    if table.weights is None:
        return None, 1
    total = float(table.weights.sum(dtype=np.float64))
    if table.weights.dtype == np.int64:
        check_total(total)
        return table.weights, 1  # type: ignore[return-value]
    check_total(total * FIXED_POINT)
    tiny = np.flatnonzero((table.weights > 0) & (table.weights < LEAST_WEIGHT))
    if tiny.size:
        raise DataError(
            f"row {tiny[0] + 1}: the weight {table.weights[tiny[0]]:g} is too small to be counted; "
            f"fractional weights go down to {LEAST_WEIGHT:.1g}. Multiply them by a constant.",
            row=int(tiny[0]) + 1,
        )
    return np.rint(table.weights * FIXED_POINT).astype(np.int64), FIXED_POINT
