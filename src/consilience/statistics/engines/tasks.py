"""What a worker does with one part of the rows: plain data that can be sent to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

from consilience.data.extents import BATCH, Extent
from consilience.data.fixed_rows import FixedRows
from consilience.data.reading_request import ReadRequest
from consilience.data.row_sample import RowSample
from consilience.data.sketch import Sketch, sketch_of
from consilience.data.table import Table, code_type
from consilience.data.value_tally import merged, tallied
from consilience.data.variable import Schema
from consilience.statistics.engines.ledger import Returned, schema_hash
from consilience.statistics.engines.memory import Memory
from consilience.statistics.request import Answer, Request

__all__ = [
    "Asking",
    "Runner",
    "Sampling",
    "Sketching",
    "Tallying",
    "Task",
    "n_bytes_a_row",
    "tables_of",
]

Out = TypeVar("Out", covariant=True)

MOST_ROWS, MOST_BYTES = 1 << 20, 1 << 26
"""Rows that are counted together, and bytes of their codes."""


class Task(Protocol[Out]):
    """Work on one extent of the rows."""

    def __call__(self, extent: Extent) -> Returned[Any]:
        """What came of it, with the id of the extent."""
        ...


class Runner(Protocol):
    """Who does the work: ``cs.engines.Threads(4)`` and the like."""

    def run(self, task: Task[Any], extents: list[Extent]) -> Iterator[Returned[Any]]:
        """The answers of a task for all extents, in any order."""
        ...


@dataclass(frozen=True, slots=True)
class Asking(Generic[Answer]):
    """A request for statistics."""

    rows: FixedRows
    request: Request[Answer]
    threads: int | None = None

    def __call__(self, extent: Extent) -> Returned[Answer]:
        """The answer for the rows of one extent, part by part."""
        n_rows, total = 0, None
        for memory in self._memories(extent):
            n_rows += memory.table.n_rows
            answer = self.request.work(memory)
            total = answer if total is None else self.request.merge(total, answer)
        if total is None:
            total = self.request.empty(self.rows.schema)
        return Returned(frozenset({extent.id}), n_rows, schema_hash(self.rows.schema), total)

    def _memories(self, extent: Extent) -> Iterator[Memory]:
        held = getattr(extent, "memory", None)
        if held is not None:
            yield held()
        else:
            for table in tables_of(extent, self.rows, self._rows_at_once()):
                yield Memory(table, threads=self.threads)

    def _rows_at_once(self) -> int:
        """Rows that are counted together: many, since each request costs time by itself."""
        return max(BATCH, min(MOST_ROWS, MOST_BYTES // n_bytes_a_row(self.rows.schema)))


@dataclass(frozen=True, slots=True)
class Sketching:
    """The first look at rows whose states are not known yet."""

    request: ReadRequest

    def __call__(self, extent: Extent) -> Returned[Sketch]:
        """The sketch of one extent."""
        parts = extent.parts(self.request.wanted)
        sketches = (sketch_of(part, self.request) for part in parts)
        sketch = reduce(Sketch.merge, sketches, Sketch.empty())
        return Returned(frozenset({extent.id}), int(sketch.n_rows.sum()), "", sketch)


@dataclass(frozen=True, slots=True)
class Tallying:
    """The different values of columns that are to be cut, each with those it is cut by."""

    rows: FixedRows
    columns: Mapping[str, tuple[str, ...]]
    memory_limit: float

    def __call__(self, extent: Extent) -> Returned[dict[str, Table]]:
        """The tallies of one extent."""
        found = self.of(RowSample.empty(self.rows.schema).rows)
        n_rows = 0
        for table in tables_of(extent, self.rows):
            found = self.merge(found, self.of(table))
            n_rows += table.n_rows
        return Returned(frozenset({extent.id}), n_rows, schema_hash(self.rows.schema), found)

    def of(self, table: Table) -> dict[str, Table]:
        """The tallies of a table."""
        return {name: tallied(table, names) for name, names in self.columns.items()}

    def merge(self, left: dict[str, Table], right: dict[str, Table]) -> dict[str, Table]:
        """The tallies of both."""
        return {name: merged(left[name], right[name], self.memory_limit) for name in left}


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sample of the rows; ``first`` has the number of the first row of each extent."""

    rows: FixedRows
    first: Mapping[str, int]
    size: int

    def __call__(self, extent: Extent) -> Returned[RowSample]:
        """The sample of one extent."""
        found, first = RowSample.empty(self.rows.schema), self.first[extent.id]
        n_rows = 0
        for table in tables_of(extent, self.rows):
            found = found.merge(RowSample.of(table, first + n_rows, self.size), self.size)
            n_rows += table.n_rows
        return Returned(frozenset({extent.id}), n_rows, schema_hash(self.rows.schema), found)


def tables_of(extent: Extent, rows: FixedRows, n_rows: int = 1) -> Iterator[Table]:
    """The rows of an extent as tables of bounded size, of about so many rows."""
    held = getattr(extent, "tables", None)
    if held is not None:
        yield from held()
    else:
        yield from rows.tables(extent.parts(rows.request.wanted), n_rows)


def n_bytes_a_row(schema: Schema) -> int:
    """Bytes of a row of a table without weights."""
    source = [] if schema.source is None else [schema.source]
    return sum(
        8 if one.is_continuous else code_type(one.n_states)().itemsize
        for one in [*schema.variables.values(), *source]
    )
