"""Rows written to a file: labels, not codes; the source first; a missing value as nothing."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from consilience import _write
from consilience.data.frames import WEIGHT
from consilience.data.packed import check_rows_path
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.errors import DataError

__all__ = ["to_arrow", "write_csv", "write_rows", "write_tables"]

_STRUCTURAL = frozenset(',"\r\n')


def write_rows(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a ``.csv``, ``.csv.gz`` or ``.parquet`` file.

    The file appears whole or not at all. Its columns are the source, the variables and, if the rows
    have weights, ``weight``. Parquet keeps all states of a variable and whether they are ordered;
    csv keeps those that occur. In a csv file of one column a missing value is ``""``.
    """
    check_rows_path(path)
    with _write.written(path) as stream:
        _write_as(table, stream, os.fspath(path).lower())


def write_tables(tables: Iterable[Table], path: str | os.PathLike[str]) -> int:
    """Write tables of one schema, one after the other, holding one at a time; the rows written.

    The file is that of :func:`write_rows`, and appears whole or not at all.
    """
    check_rows_path(path)
    name = os.fspath(path).lower()
    with _write.written(path) as stream, ExitStack() as stack:
        packed: Any = stream
        if name.endswith(".gz"):
            packed = stack.enter_context(gzip.GzipFile("", "wb", fileobj=stream, mtime=0))
        put = _put_parquet(stack, packed) if name.endswith(".parquet") else _put_csv(packed)
        return sum(put(table) for table in tables)


def _put_parquet(stack: ExitStack, stream: Any) -> Callable[[Table], int]:
    opened: list[Any] = []

    def put(table: Table) -> int:
        rows = to_arrow(table)
        if not opened:
            writer = arrow_parquet.ParquetWriter(stream, rows.schema, write_page_checksum=True)
            opened.append(stack.enter_context(writer))
        opened[0].write_table(rows)
        return table.n_rows

    return put


def _put_csv(stream: Any) -> Callable[[Table], int]:
    is_first = True

    def put(table: Table) -> int:
        nonlocal is_first
        write_csv(table, stream, has_header=is_first)
        is_first = False
        return table.n_rows

    return put


def write_csv(table: Table, stream: Any, *, has_header: bool = True) -> None:
    """Write a table as UTF-8 csv to a stream of bytes, without quotes if no label needs them."""
    rows = to_arrow(table)
    header = io.StringIO()
    csv.writer(
        header,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if _is_ambiguous(rows.column_names) else csv.QUOTE_MINIMAL,
    ).writerow(rows.column_names)
    if has_header:
        stream.write(header.getvalue().encode())
    if rows.num_columns == 1 and rows.column(0).null_count:
        _write_gaps(rows.column(0), stream)
        return
    labels = (state for v in _written(table) for state in v.states or ())
    is_plain = all(_STRUCTURAL.isdisjoint(state) for state in labels)
    options = arrow_csv.WriteOptions(
        include_header=False, quoting_style="none" if is_plain else "needed"
    )
    arrow_csv.write_csv(rows, stream, options)


def to_arrow(table: Table) -> Any:
    """An Arrow table: a dictionary with all states for each discrete variable, null for missing."""
    names = [variable.name for variable in _written(table)]
    columns = [_arrow_column(table, variable) for variable in _written(table)]
    if table.weights is not None:
        if WEIGHT in names:
            raise DataError(
                f"the table has weights and a column {WEIGHT!r}; both would have that name.",
                column=WEIGHT,
            )
        names.append(WEIGHT)
        columns.append(pa.array(table.weights))
    return pa.table(columns, names=names)


def _write_as(table: Table, stream: BinaryIO, name: str) -> None:
    if name.endswith(".parquet"):
        arrow_parquet.write_table(to_arrow(table), stream, write_page_checksum=True)
    elif name.endswith(".gz"):
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            write_csv(table, packed)
    else:
        write_csv(table, stream)


def _is_ambiguous(names: list[str]) -> bool:
    """Whether a single name could be taken for several with another separator."""
    return len(names) == 1 and not frozenset(";\t").isdisjoint(names[0])


def _write_gaps(column: Any, stream: Any) -> None:
    """Write a single column with gaps, each as a quoted nothing: an empty line is no row."""
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([value] for value in column.to_pylist())
    stream.write(lines.getvalue().encode())


def _written(table: Table) -> list[Variable]:
    source = table.schema.source
    return [*([] if source is None else [source]), *table.variables.values()]


def _arrow_column(table: Table, variable: Variable) -> Any:
    column = table.column(variable.name)
    if variable.is_continuous:
        return pa.array(column, from_pandas=True)
    codes = pa.array(column, mask=column < 0)
    return pa.DictionaryArray.from_arrays(
        codes, pa.array(variable.discrete_states), ordered=variable.ordered
    )
