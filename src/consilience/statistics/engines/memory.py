"""The engine for rows in memory.

Three ways to count, chosen for each set of variables by what it costs:

- *bitmaps* (``kernels/counting.py``) for rows of weight one and joint tables of moderate size: all
  extensions of a
  base in one pass, about 0.25 ns for 64 rows, joint state and extension state;
- *increments*, about 1 ns for a row and set, for larger tables and for weighted rows;
- *sorting* for tables that would be mostly empty: only the parent states that occur are kept
  (``Counts.seen``).

Threads take separate ranges of rows and write to separate tables, whose sum is exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TypeAlias

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Codes, Integers
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.errors import DataError, InputError
from consilience.kernels.counting import fold, tally, tally_weighted
from consilience.kernels.threads import each_part
from consilience.statistics.counts import (
    FIXED_POINT,
    Counts,
    check_table_size,
    check_total,
    parent_states_of,
    source_axis,
)
from consilience.statistics.engines.bitmaps import MOST_BASE_STATES, Bitmaps
from consilience.statistics.engines.centered import moments_of
from consilience.statistics.engines.seen import count_seen
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.plan import Axes, Group, Plan, plan
from consilience.statistics.request import Answer, CountRequest, MomentRequest, Request

__all__ = ["Memory"]

ROWS_A_BLOCK = 1 << 16
ROWS_FOR_THREADS = 1 << 17  # below this a thread costs more than it saves
SMALL_TABLE = 1 << 16  # cells; a table of this size is never worth a sparse one

LEAST_WEIGHT = 2.0**-27  # below it the rounding to fixed point exceeds a thousandth

NS_A_WORD, NS_AN_INCREMENT = 0.25, 1.2  # measured; they only choose between two equal answers

Joint: TypeAlias = tuple[Axes, Integers]
"""Names of the axes of a joint count, and the count with one axis each."""


class Memory:
    """All rows of a table in memory; holds a private cache of bitmaps, made when first needed.

    Parameters
    ----------
    table
        The rows.
    threads
        Number of threads; by default one for each core. The answer does not depend on it.
    """

    def __init__(self, table: Table, *, threads: int | None = None) -> None:
        if threads is not None:
            _check.whole("Memory", at_least=1, threads=threads)
        self.table = table
        self.threads = threads or os.cpu_count() or 1
        discrete = [v for v in table.variables.values() if not v.is_continuous]
        source = [] if table.schema.source is None else [table.schema.source]
        self._n_states = {v.name: v.n_states for v in [*source, *discrete]}
        self._position = {name: i for i, name in enumerate(self._n_states)}
        self._weights, self._scale = _whole_weights(table)
        self._bitmaps: Bitmaps | None = None
        self._complete: dict[str, bool] = {}
        self._rows: Integers | None = None

    @property
    def schema(self) -> Schema:
        """What the rows are about."""
        return self.table.schema

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows."""
        return request.work(self)

    def moments(self, request: MomentRequest) -> Moments:
        """Centred moments; see :class:`MomentRequest`."""
        return moments_of(self.table, request, self.threads)

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
        joints = self._joints(sets)
        return [
            self._sparse(family, request)
            if sparse
            else self._counts(family, request, _arranged(joints[frozenset(names)], names))
            for family, names, sparse in zip(families, axes, is_sparse, strict=True)
        ]

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

    def _n_cells(self, names: Sequence[str] | frozenset[str]) -> float:
        return reduce(lambda n, name: n * self._n_states[name], names, 1.0)

    def _is_mostly_empty(self, names: Axes) -> bool:
        return self._n_cells(names) > max(SMALL_TABLE, 2 * self.table.n_rows)

    def _check_memory(
        self, request: CountRequest, axes: Sequence[Axes], is_sparse: Sequence[bool]
    ) -> None:
        total = 0.0
        for family, names, sparse in zip(request.families, axes, is_sparse, strict=True):
            cells = self._n_cells(names)
            if sparse:
                parents = self._n_cells(family.parents)
                cells *= min(parents, self.table.n_rows) / parents
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
        return self._rows if by_source else self._rows.sum(keepdims=True)

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

    # Joint counts of sets of variables.

    def _joints(self, sets: Sequence[frozenset[str]]) -> dict[frozenset[str], Joint]:
        complete = [name for name in {v for one in sets for v in one} if self._is_complete(name)]
        planned = plan(sets, complete=complete, n_cells=self._n_cells, position=self._position)
        joints = {frozenset(axes): (axes, counts) for axes, counts in self._counted(planned)}
        for one, larger in planned.sums.items():
            axes, counts = joints[larger]
            (extra,) = larger - one
            joints[one] = (
                tuple(name for name in axes if name != extra),
                counts.sum(axis=axes.index(extra)),
            )
        return joints

    def _is_complete(self, name: str) -> bool:
        if name not in self._complete:
            codes = self.table.column(name)
            self._complete[name] = not (codes.size and codes.min() < 0)
        return self._complete[name]

    def _counted(self, planned: Plan) -> list[Joint]:
        by_bitmap: list[Group] = []
        by_increment: list[Group] = []
        for group in planned.groups:
            fast = tuple(name for name in group.extensions if self._prefers_bitmaps(group, name))
            slow = tuple(name for name in group.extensions if name not in fast)
            by_bitmap += [Group(group.base, fast)] if fast else []
            by_increment += [Group(group.base, slow)] if slow else []
        return [*self._by_bitmaps(by_bitmap), *self._by_increments(by_increment)]

    def _prefers_bitmaps(self, group: Group, extension: str) -> bool:
        bitmaps = self._packed()
        if self._weights is not None or not all(name in bitmaps for name in group.axes(extension)):
            return False
        base = self._n_cells(group.base)
        words_a_row = min(base / 64, 1.0) * max(1, self._n_states[extension] - 1)
        return base <= MOST_BASE_STATES and words_a_row * NS_A_WORD <= NS_AN_INCREMENT

    def _packed(self) -> Bitmaps:
        if self._bitmaps is None:
            self._bitmaps = Bitmaps(self.table, self._n_states)
        return self._bitmaps

    def _by_bitmaps(self, groups: Sequence[Group]) -> list[Joint]:
        if not groups:
            return []
        bitmaps = self._packed()
        bitmaps.pack({name for g in groups for name in (*g.base, *g.extensions)})
        flat = self._sum_over_parts(bitmaps.n_words, lambda a, b: bitmaps.count(groups, a, b))
        joints, place = [], 0
        for group in groups:
            for extension in group.extensions:
                axes = group.axes(extension)
                shape = self._shape(axes)
                size = int(np.prod(shape))
                joints.append((axes, flat[place : place + size].reshape(shape)))
                place += size
        return joints

    def _by_increments(self, groups: Sequence[Group]) -> list[Joint]:
        joints: list[Joint] = []
        for group in groups:
            tables = self._sum_over_parts(self.table.n_rows, partial(self._increment, group))
            for extension in group.extensions:
                axes = group.axes(extension)
                size = int(self._n_cells(axes))
                joints.append((axes, tables[:size].reshape(self._shape(axes))))
                tables = tables[size:]
        return joints

    def _increment(self, group: Group, row_from: int, row_to: int) -> Integers:
        sizes = [int(self._n_cells(group.axes(extension))) for extension in group.extensions]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        out = np.zeros(starts[-1], np.int64)
        for start in range(row_from, row_to, ROWS_A_BLOCK):
            rows = slice(start, min(start + ROWS_A_BLOCK, row_to))
            code = self._base_code(group.base, rows)
            for extension, a, b in zip(group.extensions, starts, starts[1:], strict=False):
                column, n = self.table.column(extension)[rows], self._n_states[extension]
                if self._weights is None:
                    tally(code, column, n, out[a:b])
                else:
                    tally_weighted(code, column, n, self._weights[rows], out[a:b])
        return out

    def _base_code(self, base: Axes, rows: slice) -> Codes:
        code = np.zeros(rows.stop - rows.start, np.int32)
        for name in base:
            fold(code, self.table.column(name)[rows], self._n_states[name])
        return code

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self._n_states[name] for name in axes)

    def _sum_over_parts(self, n_units: int, work: Callable[[int, int], Integers]) -> Integers:
        n_parts = self.threads if self.table.n_rows >= ROWS_FOR_THREADS else 1
        return reduce(np.add, each_part(n_units, n_parts, work))


def _arranged(joint: Joint, names: Axes) -> Integers:
    """The joint count with its axes in the order of ``names``."""
    axes, counts = joint
    return np.ascontiguousarray(counts.transpose([axes.index(name) for name in names]))


def _whole_weights(table: Table) -> tuple[Integers | None, int]:
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
