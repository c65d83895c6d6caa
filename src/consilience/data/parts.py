"""From whatever the user has to parts: tables whose rows are appended.

A dict is a table of columns or a table for each source, told apart by its values: a list, array or
series of scalars is a column; a path, a list of paths, a frame or a dict is a table. Frames come in
through Arrow's stream interface, which keeps declared states and their order; pandas frames column
by column for the same reason; lazy frames and the rest through narwhals. The row labels (index) of
a pandas frame are not read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from consilience.data.labels import is_null, label
from consilience.data.paths import has_known_extension, read_path
from consilience.data.pieces import (
    Markers,
    Piece,
    from_arrow,
    from_values,
    is_declared_dictionary,
)
from consilience.data.place import Place
from consilience.data.text_content import TextForm
from consilience.errors import DataError, InputError

__all__ = ["Part", "arrow_part", "parts_of", "source_name"]

_ACCEPTED = (
    "Accepted: a path to a .csv, .tsv (.gz) or .parquet file, a list of such paths, a data frame, "
    "a dict of columns, or a dict with one of these for each source."
)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One table of the data.

    Parameters
    ----------
    names
        All columns that the table has, whether read or not.
    columns
        The columns that were read, in whatever form they came.
    n_rows
        Number of rows.
    declared
        Arrow columns whose type declares their states.
    source, path
        Key of the table in a dict of sources, and the file it came from; None if there is none.
    first_row, row_group
        Where in its file a part of one begins; see :class:`Place`.
    """

    names: tuple[str, ...]
    columns: Mapping[str, Any]
    n_rows: int
    declared: frozenset[str] = frozenset()
    source: str | None = None
    path: str | None = None
    first_row: int = 0
    row_group: int | None = None

    def piece(self, name: str, markers: Markers, place: Place) -> Piece | None:
        """The column of that name, or None if the part never recorded it."""
        if name not in self.columns:
            return None
        values = self.columns[name]
        if isinstance(values, pa.ChunkedArray):
            return from_arrow(values, markers, place, is_declared=name in self.declared)
        return from_values(values, markers, place)


def parts_of(data: Any, wanted: Collection[str] | None, form: TextForm | None = None) -> list[Part]:
    """The parts of the data in order; only the columns wanted are read from files (None: all)."""
    form = form or TextForm()
    if isinstance(data, Mapping) and _is_dict_of_sources(data):
        parts = []
        sources = [source_name(key) for key in data]
        for source, table in zip(sources, data.values(), strict=True):
            if sources.count(source) > 1:
                raise DataError(f"two sources are named {source!r}.", source=source)
            parts += [replace(part, source=source) for part in _tables(table, wanted, form)]
        return parts
    return _tables(data, wanted, form)


def source_name(key: Any) -> str:
    """The name of a source; numbers are taken as their text."""
    is_name = isinstance(key, str | int | float | np.integer | np.floating)
    if not is_name or key == "" or is_null(key):
        raise DataError(
            f"a source's name must be text that is not empty, or a number; got {key!r}.",
            source=key,
        )
    return label(key)


def _is_dict_of_sources(data: Mapping[Any, Any]) -> bool:
    tables = [key for key, value in data.items() if _is_table(value)]
    columns = [key for key, value in data.items() if _is_column(value)]
    neither = [key for key in data if key not in tables and key not in columns]
    if neither or (tables and columns):
        key = neither[0] if neither else tables[0]
        fact = (
            f"the value of {key!r}, of type {type(data[key]).__name__}, is neither"
            if neither
            else f"{key!r} holds a table and {columns[0]!r} a column"
        )
        raise InputError(
            f"a dict must hold columns (lists, arrays, series) or a table for each source: {fact}.",
            key=key,
        )
    return bool(tables)


def _is_table(value: Any) -> bool:
    return isinstance(value, str | os.PathLike | Mapping) or _is_paths(value) or _is_frame(value)


def _is_paths(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return is_list and all(
        isinstance(item, os.PathLike) or (isinstance(item, str) and has_known_extension(item))
        for item in value
    )


def _is_frame(value: Any) -> bool:
    """Frames of every library know their columns; series and arrays do not."""
    kind = type(value)
    return hasattr(kind, "columns") or (
        hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "schema")
    )


def _is_column(value: Any) -> bool:
    if _is_table(value):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    is_array = hasattr(type(value), "__len__") and hasattr(type(value), "__getitem__")
    return is_array and not isinstance(value, bytes)


def _tables(data: Any, wanted: Collection[str] | None, form: TextForm) -> list[Part]:
    if isinstance(data, str | os.PathLike):
        return [_from_path(data, wanted, form)]
    if isinstance(data, list | tuple):
        if not data or not all(isinstance(item, str | os.PathLike) for item in data):
            raise InputError(f"a list must hold paths, at least one. {_ACCEPTED}")
        return [_from_path(path, wanted, form) for path in data]
    if isinstance(data, Mapping):
        if data and _is_dict_of_sources(data):
            raise InputError(f"a dict of sources cannot hold a dict of sources. {_ACCEPTED}")
        return [_from_columns(data)]
    if not _is_frame(data):
        raise InputError(f"data of type {type(data).__name__} cannot be read. {_ACCEPTED}")
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return [_from_pandas(data)]
    return [arrow_part(_arrow_table(data))]


def _from_path(path: Any, wanted: Collection[str] | None, form: TextForm) -> Part:
    names, table, declared = read_path(path, wanted, form)
    columns = {name: table.column(name) for name in table.column_names}
    return Part(names, columns, table.num_rows, declared, path=os.fspath(path))


def _from_columns(data: Mapping[Any, Any]) -> Part:
    names = _names(data)
    columns = dict(zip(names, data.values(), strict=True))
    lengths = {name: len(column) for name, column in columns.items()}
    n_rows = next(iter(lengths.values()))
    for name, length in lengths.items():
        if length != n_rows:
            raise DataError(
                f"column {name!r} has {length} values and column {names[0]!r} has {n_rows}.",
                column=name,
            )
    return Part(names, columns, n_rows)


def _from_pandas(frame: Any) -> Part:
    names = _names(frame.columns)
    columns = {name: frame.iloc[:, k] for k, name in enumerate(names)}
    return Part(names, columns, len(frame))


def arrow_part(table: Any) -> Part:
    """The part that an Arrow table is."""
    names = _names(table.column_names)
    declared = [field.name for field in table.schema if is_declared_dictionary(field)]
    columns = dict(zip(names, table.columns, strict=True))
    return Part(names, columns, table.num_rows, frozenset(declared))


def _arrow_table(frame: Any) -> Any:
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame).read_all()
    import narwhals

    try:
        wrapped = narwhals.from_native(frame)
    except TypeError:
        raise InputError(
            f"data of type {type(frame).__name__} cannot be read. {_ACCEPTED}"
        ) from None
    if isinstance(wrapped, narwhals.LazyFrame):
        wrapped = wrapped.collect()
    native = wrapped.to_native()
    return _arrow_table(native) if hasattr(native, "__arrow_c_stream__") else wrapped.to_arrow()


def _names(columns: Collection[Any]) -> tuple[str, ...]:
    """Names of columns; whole numbers are taken as their text."""
    for name in columns:
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool):
            raise DataError(f"a column's name must be text, got {name!r}.", column=name)
    names = tuple(map(label, columns))
    if not names:
        raise DataError(f"there are no columns to read. {_ACCEPTED}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns are named {twice!r}.", column=twice)
    return names
