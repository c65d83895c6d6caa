"""The noun :class:`Table`: rows of many sources, coded by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience._typing import Codes, Column, Floats, Integers
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError

if TYPE_CHECKING:
    import pandas as pd

    from consilience.data.describe import Description

__all__ = ["Table", "code_type"]

LARGEST_TOTAL = 2**62
"""Largest sum of weights: sums of whole numbers beyond it would overflow."""


@cache
def code_type(n_states: int) -> type[np.signedinteger[Any]]:
    """The smallest integer type that holds the codes -1 .. n_states - 1."""
    for dtype in (np.int8, np.int16, np.int32):
        if n_states - 1 <= np.iinfo(dtype).max:
            return dtype
    raise DataError(f"a variable with {n_states:,} states is more than the library can hold.")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Rows of one or many sources; immutable.

    Parameters
    ----------
    schema
        What the columns are.
    columns
        For each variable its column: state codes in the smallest integer type with -1 for missing,
        or float64 with NaN for missing.
    source_codes
        The source of each row as a code of ``schema.source``; None if the table has no source.
    weights
        How many rows each row stands for: int64, or float64 if some are fractional; None if each
        stands for one.
    origins
        For each variable, why it is discrete or continuous, in words; shown by :meth:`describe`.
    remarks
        For some variables what a reader should know, one sentence or two each; see :attr:`notes`.
    of_source
        The variables that belong to the source: they have one value within each source. A search
        makes them no children of the others.
    """

    schema: Schema
    columns: Mapping[str, Column]
    source_codes: Codes | None = None
    weights: Integers | Floats | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_source: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns = {name: np.ascontiguousarray(column) for name, column in self.columns.items()}
        object.__setattr__(self, "columns", columns)
        _freeze.own(self)
        if set(self.columns) != set(self.schema.variables):
            raise DataError("the columns of a table must be the variables of its schema.")
        n_rows = self.n_rows
        for name, variable in self.schema.variables.items():
            _check_column(name, variable, self.columns[name], n_rows)
        if (self.schema.source is None) != (self.source_codes is None):
            raise DataError("a table with a source needs the source of every row.")
        if self.source_codes is not None and self.schema.source is not None:
            _check_column(
                self.schema.source.name, self.schema.source, self.source_codes, self.n_rows
            )
            if self.n_rows and int(self.source_codes.min()) < 0:
                row = int(np.flatnonzero(self.source_codes < 0)[0]) + 1
                raise DataError(
                    f"row {row} has no source (column {self.schema.source.name!r}).", row=row
                )
        if self.weights is not None:
            _check_weights(self.weights, self.n_rows)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name to :class:`Variable`, in column order; the source is not one of them."""
        return self.schema.variables

    @property
    def source(self) -> str | None:
        """Name of the source variable, or None."""
        return None if self.schema.source is None else self.schema.source.name

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources; empty if the table has none."""
        return () if self.schema.source is None else self.schema.source.discrete_states

    @property
    def n_rows(self) -> int:
        """Number of rows held, whatever their weights."""
        columns = chain(self.columns.values(), (self.source_codes, self.weights))
        return next((len(column) for column in columns if column is not None), 0)

    @property
    def total_weight(self) -> float:
        """Number of rows that the table stands for: the sum of the weights."""
        return self.n_rows if self.weights is None else self.weights.sum().item()

    @property
    def missing(self) -> Mapping[str, Mapping[str, float]]:
        """Share missing as ``missing[source][column]``, the one key being ``"all"`` if none."""
        from consilience.data.describe import missing_shares

        return missing_shares(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: identifiers, stray labels, spikes, columns of the source."""
        from consilience.data.notes import notes_of

        return notes_of(self)

    def column(self, name: str) -> Column:
        """The coded column of a variable or of the source."""
        if name in self.columns:
            return self.columns[name]
        if self.source_codes is not None and name == self.source:
            return self.source_codes
        _check.unknown("variable", name, self.columns)

    def take(self, rows: Any) -> Table:
        """The rows at these positions, of a slice or of a mask, in that order."""
        chosen = _positions(rows, self.n_rows)
        return Table(
            schema=self.schema,
            columns={n: _freeze.read_only(column[chosen]) for n, column in self.columns.items()},
            source_codes=None if self.source_codes is None else self.source_codes[chosen],
            weights=None if self.weights is None else self.weights[chosen],
            origins=self.origins,
            remarks=self.remarks,
            of_source=self.of_source,
        )

    def head(self, n_rows: int = 5) -> Table:
        """The first rows."""
        _check.whole("head", at_least=0, n_rows=n_rows)
        return self.take(slice(n_rows))

    def select(self, names: Sequence[str]) -> Table:
        """The table with these variables only, in this order; sources and weights stay."""
        _check.names("select", names=names)
        _check.known("variable", names, self.columns)
        return Table(
            schema=Schema({name: self.variables[name] for name in names}, self.schema.source),
            columns={name: self.columns[name] for name in names},
            source_codes=self.source_codes,
            weights=self.weights,
            origins={name: self.origins[name] for name in names if name in self.origins},
            remarks={name: self.remarks[name] for name in names if name in self.remarks},
            of_source=tuple(name for name in names if name in self.of_source),
        )

    def pooled(self) -> Table:
        """The same rows without their source, as if they all came from one place."""
        return Table(
            schema=Schema(dict(self.variables)),
            columns=self.columns,
            weights=self.weights,
            origins=self.origins,
            remarks=self.remarks,
        )

    def distinct(self) -> Table:
        """Equal rows of one source merged into one row whose weight is the sum of theirs."""
        from consilience.data.distinct import distinct

        return distinct(self)

    def describe(self) -> Description:
        """Kind, states, missing values of every variable and why it is discrete or continuous."""
        from consilience.data.describe import describe

        return describe(self)

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame: categoricals with all states, source and ``weight`` columns included."""
        from consilience.data.frames import to_frame

        return to_frame(self)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Any:
        """The values of a variable by its name, or a table of the rows of a slice.

        States are texts and None where missing; numbers are floats and NaN where missing.

        >>> from consilience.data.read import read
        >>> table = read({"sex": ["F", None, "M"], "age": [71.5, 64.0, 50.5]})
        >>> table["sex"].tolist(), table["age"].tolist(), len(table[1:])
        (['F', None, 'M'], [71.5, 64.0, 50.5], 2)
        """
        if isinstance(key, str):
            return _values(self, key)
        if isinstance(key, slice):
            return self.take(key)
        raise InputError(
            f'a table takes a name, table["age"], or a slice of rows, table[10:20]; got '
            f"one of type {type(key).__name__}. "
            "Several names: table.select(names); rows at positions or of a mask: table.take(rows).",
            key=key,
        )

    __iter__: ClassVar[None] = None  # rows are not walked through one by one

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def __repr__(self) -> str:
        sources = f", {len(self.sources)} sources" if self.sources else ""
        weights = "" if self.weights is None else f", weight {self.total_weight:g}"
        return f"Table({self.n_rows:,} rows, {len(self.columns)} variables{sources}{weights})"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def _values(table: Table, name: str) -> npt.NDArray[Any]:
    column, variable = table.column(name), table.schema[name]
    if variable.is_continuous:
        return column
    return np.array([*variable.discrete_states, None], dtype=object)[column]


def _positions(rows: Any, n_rows: int) -> slice | npt.NDArray[Any]:
    """A slice, or an array of positions or of booleans that fits the number of rows."""
    if isinstance(rows, slice):
        return rows
    chosen = np.asarray(rows)
    if chosen.size == 0 and chosen.dtype != np.bool_:
        chosen = chosen.astype(np.intp)
    is_mask = chosen.dtype == np.bool_ and chosen.shape == (n_rows,)
    is_positions = chosen.ndim == 1 and np.issubdtype(chosen.dtype, np.integer)
    if is_positions and chosen.size and not -n_rows <= chosen.min() <= chosen.max() < n_rows:
        bad = chosen[(chosen < -n_rows) | (chosen >= n_rows)][0]
        raise InputError(f"there is no row at position {bad} of {n_rows} rows.", row=int(bad))
    if not (is_mask or is_positions):
        raise InputError(
            f"rows must be a slice, positions or {n_rows} booleans, got {chosen.dtype.name} of "
            f"shape {chosen.shape}.",
            parameter="rows",
        )
    return chosen


def _check_column(name: str, variable: Variable, column: Column, n_rows: int) -> None:
    wanted = np.float64 if variable.is_continuous else code_type(variable.n_states)
    if column.ndim != 1 or len(column) != n_rows or column.dtype != wanted:
        raise DataError(
            f"column {name!r} must be {n_rows} values of {np.dtype(wanted).name}, "
            f"got {column.dtype.name} of shape {column.shape}.",
            column=name,
        )
    if variable.is_continuous:
        infinite = np.flatnonzero(np.isinf(column))
        if infinite.size:
            raise DataError(
                f"column {name!r}, row {infinite[0] + 1}: a value is infinite.",
                column=name,
                row=int(infinite[0]) + 1,
            )
        return
    if not n_rows:
        return
    if int(column.min()) < -1 or int(column.max()) >= variable.n_states:
        raise DataError(
            f"column {name!r} has codes outside -1 .. {variable.n_states - 1}.", column=name
        )


def _check_weights(weights: Integers | Floats, n_rows: int) -> None:
    if (
        not isinstance(weights, np.ndarray)
        or weights.shape != (n_rows,)
        or weights.dtype not in (np.int64, np.float64)
    ):
        raise DataError(f"weights must be {n_rows} numbers of int64 or float64.", column="weight")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise DataError(
            f"row {bad[0] + 1}: a weight must be zero or more, got {weights[bad[0]]}.",
            row=int(bad[0]) + 1,
        )
    if float(weights.sum(dtype=np.float64)) > LARGEST_TOTAL:
        raise DataError(f"the weights add up to more than {LARGEST_TOTAL:,}.", column="weight")
