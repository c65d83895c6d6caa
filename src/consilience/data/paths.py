"""Tables in files: csv, csv.gz and parquet, read by Arrow.

Every column of a csv file is read as text, letter for letter: which texts are missing and which
columns hold numbers is decided later, on the different texts only. Quoted values may contain commas
and newlines; empty lines are skipped, and a gap in a file of one column is a quoted nothing,
``""``; a byte order mark is allowed. Text in parquet files is read as it lies there, already
coded.
"""

from __future__ import annotations

import csv
import gzip
import io
import mmap
import re
import zlib
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from consilience import _check
from consilience.data.pieces import is_text
from consilience.errors import DataError, FormatError, InputError, MissingFileError

__all__ = ["EXTENSIONS", "has_known_extension", "read_path"]

EXTENSIONS = (".csv", ".csv.gz", ".parquet")

_BLOCK = 1 << 23
_LARGEST_BLOCK = (1 << 31) - 1
_OTHER_SEPARATORS = {";": "';'", "\t": "a tab"}
_NOT_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")  # how pandas writes row labels


def has_known_extension(path: object) -> bool:
    """Whether a path or text ends like a file that can be read."""
    return str(path).lower().endswith(EXTENSIONS)


def read_path(
    path: Path, wanted: Collection[str] | None
) -> tuple[tuple[str, ...], Any, frozenset[str]]:
    """Names of all columns of a file, an Arrow table, and the columns with declared states.

    The table holds the columns wanted (None: all), or any one of them if none is wanted.
    """
    if not has_known_extension(path):
        raise InputError(
            f"file {str(path)!r} cannot be read as a table. Accepted: {_check.listed(EXTENSIONS)}.",
            file=str(path),
        )
    if not path.is_file():
        raise MissingFileError(f"there is no file {str(path)!r}.", file=str(path))
    if path.name.lower().endswith(".parquet"):
        return _read_parquet(path, wanted)
    header, has_rows = _header(path)
    if len(header) == 1:
        _check_separator(path)
    names = _chosen(path, header, wanted)
    table = _parse(path, names) if has_rows else pa.table({name: _no_text() for name in names})
    return tuple(header), table, frozenset()


def _header(path: Path, separator: str = ",") -> tuple[list[str], bool]:
    """Names in the first line that is not empty, and whether anything stands below it."""
    try:
        with _open_text(path) as lines:
            records = csv.reader(lines, delimiter=separator)
            header = next((record for record in records if record), None)
            if header is not None:
                return header, any(line.rstrip("\r\n") for line in lines)
    except (UnicodeDecodeError, csv.Error, *_NOT_GZIP) as problem:
        raise _explain(path, problem) from None
    raise FormatError(
        f"file {str(path)!r} is empty. A line with column names is needed.", file=str(path)
    )


def _check_separator(path: Path) -> None:
    """Refuse a single column whose name falls apart at another separator, quoted text apart."""
    for separator, told in _OTHER_SEPARATORS.items():
        names, _ = _header(path, separator)
        if len(names) > 1:
            raise DataError(
                f"file {str(path)!r} looks like it is separated by {told}: its first line would "
                f"name {len(names)} columns. Accepted: columns separated by commas; a single name "
                "that holds the sign must stand in quotes.",
                file=str(path),
                separator=separator,
            )


def _chosen(path: Path, header: list[str], wanted: Collection[str] | None) -> list[str]:
    twice = [name for name, n_times in Counter(header).items() if n_times > 1]
    if twice:
        raise FormatError(
            f"file {str(path)!r} has two columns named {twice[0]!r}.",
            file=str(path),
            column=twice[0],
        )
    return [name for name in header if wanted is None or name in wanted] or header[:1]


def _parse(path: Path, names: list[str]) -> Any:
    try:
        content = _content(path)
    except _NOT_GZIP as unreadable:
        raise _explain(path, unreadable) from None
    has_quotes = content.find(b'"') >= 0
    for block_size in (_BLOCK, max(_BLOCK, min(len(content), _LARGEST_BLOCK))):
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(pa.py_buffer(content)),
                read_options=arrow_csv.ReadOptions(block_size=block_size),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=has_quotes),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.large_string()),
                    include_columns=names,
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowException as found:
            problem = found
            if "straddling" not in str(found):
                break
    raise _explain(path, problem) from None


def _content(path: Path) -> bytes | mmap.mmap:
    if path.name.lower().endswith(".gz"):
        with gzip.open(path) as file:
            return file.read()
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _open_text(path: Path) -> TextIO:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _explain(path: Path, problem: Exception) -> FormatError:
    """The error for a csv file that Arrow or Python could not read, with the line at fault."""
    if isinstance(problem, _NOT_GZIP):
        return FormatError(f"file {str(path)!r} cannot be unpacked: {problem}.", file=str(path))
    try:
        content = bytes(_content(path))
    except _NOT_GZIP as damage:
        return _explain(path, damage)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as found:
        line = content.count(b"\n", 0, found.start) + 1
        return FormatError(
            f"file {str(path)!r}, line {line}: the text is not UTF-8. Save the file as UTF-8.",
            file=str(path),
            line=line,
        )
    return _ragged(path, text) or FormatError(
        f"file {str(path)!r} is not a csv file: {problem}.", file=str(path)
    )


def _ragged(path: Path, text: str) -> FormatError | None:
    reader = csv.reader(io.StringIO(text, newline=""))
    n_columns = 0
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error:
            return None
        if record is None:
            return None
        n_columns = n_columns or len(record)
        if record and len(record) != n_columns:
            return FormatError(
                f"file {str(path)!r}, line {line}: {len(record)} values, but the header names "
                f"{n_columns} columns.",
                file=str(path),
                line=line,
            )


def _read_parquet(
    path: Path, wanted: Collection[str] | None
) -> tuple[tuple[str, ...], Any, frozenset[str]]:
    try:
        schema = arrow_parquet.read_schema(path)
        header = [name for name in schema.names if not _UNNAMED_INDEX.fullmatch(name)]
        names = _chosen(path, header, wanted)
        texts = [name for name in names if is_text(schema.field(name).type)]
        with arrow_parquet.ParquetFile(path, read_dictionary=texts) as file:
            table = file.read(columns=names)
        table.validate(full=True)  # Arrow takes the bytes of text on trust
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise FormatError(
            f"file {str(path)!r} cannot be read as parquet: {problem}.", file=str(path)
        ) from None
    declared = [name for name in names if pa.types.is_dictionary(schema.field(name).type)]
    return tuple(header), table, frozenset(declared)


def _no_text() -> Any:
    return pa.array([], pa.large_string())
