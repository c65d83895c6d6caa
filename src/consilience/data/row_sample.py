r"""A sample of rows that does not depend on how the rows are cut into parts.

Each row has a number, its place among all rows. The sample has the rows whose numbers have the
smallest hashes,

.. math:: S_n = \{\, i : h(i) \text{ is among the } n \text{ smallest of } h(0), h(1), \dots \},

so samples of parts merge into that of all rows, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from consilience import _freeze
from consilience._typing import Integers
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable

__all__ = ["RowSample", "appended"]

_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class RowSample:
    """Some rows with their numbers, in the order of the numbers.

    Parameters
    ----------
    numbers
        Place of each row among all rows, increasing.
    rows
        The rows.
    """

    numbers: Integers
    rows: Table

    @classmethod
    def empty(cls, schema: Schema) -> RowSample:
        """The sample of no rows."""
        columns = {
            name: np.empty(0, _type(variable)) for name, variable in schema.variables.items()
        }
        source = None if schema.source is None else np.empty(0, _type(schema.source))
        return cls(np.empty(0, np.int64), Table(schema, columns, source))

    @classmethod
    def of(cls, part: Table, first: int, size: int) -> RowSample:
        """The sample of a part whose first row has this number."""
        hashes = _hashes(first + np.arange(part.n_rows))
        chosen = _smallest(hashes, size)
        return cls(_freeze.read_only(first + chosen), part.take(chosen))

    def merge(self, other: RowSample, size: int) -> RowSample:
        """The sample of the rows of both."""
        numbers = np.concatenate([self.numbers, other.numbers])
        order = np.argsort(numbers, kind="stable")
        kept = order[_smallest(_hashes(numbers[order]), size)]
        both = self.rows, other.rows
        rows = appended([table for table in both if table.n_rows] or [self.rows])
        return RowSample(_freeze.read_only(numbers[kept]), rows.take(kept))


def _type(variable: Variable) -> type[np.generic]:
    return np.float64 if variable.is_continuous else code_type(variable.n_states)


def _smallest(hashes: _Hashes, size: int) -> Integers:
    """Places of the smallest hashes, increasing."""
    if len(hashes) <= size:
        return np.arange(len(hashes))
    return np.sort(np.argpartition(hashes, size - 1)[:size])


def _hashes(numbers: Integers) -> _Hashes:
    """Numbers that look random, all different (the finalizer of SplitMix64)."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def appended(tables: Sequence[Table]) -> Table:
    """The rows of tables of one schema, one after the other."""
    first = tables[0]
    if len(tables) == 1:
        return first
    weights = None
    if any(table.weights is not None for table in tables):
        weights = np.concatenate(
            [np.ones(t.n_rows, np.int64) if t.weights is None else t.weights for t in tables]
        )
    sources = [table.source_codes for table in tables if table.source_codes is not None]
    return Table(
        first.schema,
        {name: np.concatenate([t.columns[name] for t in tables]) for name in first.columns},
        np.concatenate(sources) if sources else None,
        weights,
        first.origins,
        first.remarks,
        first.of_source,
    )
