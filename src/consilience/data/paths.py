"""Tables in files: csv, csv.gz and parquet, read by Arrow.

Every column of a csv file is read as text, letter for letter: which texts are missing and which
columns hold numbers is decided later, on the different texts only. Quoted values may contain commas
and newlines; a byte order mark is allowed. Empty lines are skipped; in a file of one column, where
one could be a gap as well, only those at the end are, and a gap is a quoted nothing, ``""``. Text
in parquet files is read as it lies there, already coded; checksums are verified if there are any.
"""

from __future__ import annotations

import base64
import binascii
import csv
import gzip
import io
import mmap
import re
import zlib
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.ipc
import pyarrow.parquet as arrow_parquet

from consilience import _check
from consilience.data.packed import check_file, unpack
from consilience.data.pieces import is_text
from consilience.errors import DataError, FormatError, InputError

__all__ = ["EXTENSIONS", "column_names", "has_known_extension", "read_path"]

EXTENSIONS = (".csv", ".csv.gz", ".parquet")

UNPACKED_LIMIT = 2**33
"""Bytes that a packed csv file may unfold to."""

_UNPACK_FIRST = "Unpack it first (gunzip), if it is to be trusted, and read the unpacked file."

_Bytes: TypeAlias = bytes | mmap.mmap

_BLOCK = 1 << 23
_LARGEST_BLOCK = (1 << 31) - 1
_OTHER_SEPARATORS = {";": "';'", "\t": "a tab"}
_EMPTY_LINE = re.compile(rb"[\r\n]\r?\n|\r\r")
_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")  # how pandas writes row labels


def has_known_extension(path: object) -> bool:
    """Whether a path or text ends like a file that can be read."""
    return str(path).lower().endswith(EXTENSIONS)


def column_names(path: Path) -> tuple[str, ...]:
    """Names of all columns of a file."""
    return read_path(path, frozenset())[0]


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
    check_file(path)
    if path.name.lower().endswith(".parquet"):
        return _read_parquet(path, wanted)
    content = _content(path)
    header, has_rows = _header(path, content)
    if len(header) == 1:
        _check_separator(path, content)
        _check_empty_lines(path, content)
    names = _chosen(path, header, wanted)
    table = (
        _parse(path, content, names) if has_rows else pa.table({name: _no_text() for name in names})
    )
    return tuple(header), table, frozenset()


def _header(path: Path, content: _Bytes, separator: str = ",") -> tuple[list[str], bool]:
    """Names in the first line that is not empty, and whether anything stands below it."""
    try:
        lines = _lines(content)
        records = csv.reader(lines, delimiter=separator)
        header = next((record for record in records if record), None)
        if header is not None:
            return header, any(line.rstrip("\r\n") for line in lines)
    except (UnicodeDecodeError, csv.Error) as problem:
        raise _explain(path, content, problem) from None
    raise FormatError(
        f"file {str(path)!r} is empty. A line with column names is needed.", file=str(path)
    )


def _check_separator(path: Path, content: _Bytes) -> None:
    """Refuse a single column whose name falls apart at another separator, quoted text apart."""
    for separator, told in _OTHER_SEPARATORS.items():
        names, _ = _header(path, content, separator)
        if len(names) > 1:
            raise DataError(
                f"file {str(path)!r} looks like it is separated by {told}: its first line would "
                f"name {len(names)} columns. Accepted: columns separated by commas; a single name "
                "that holds the sign must stand in quotes.",
                file=str(path),
                separator=separator,
            )


def _check_empty_lines(path: Path, content: _Bytes) -> None:
    """Refuse an empty line between the rows of a single column: it could be a missing value."""
    if _EMPTY_LINE.search(content) is None:
        return
    records = csv.reader(_lines(content))
    is_header_seen, empty = False, 0
    try:
        for record in records:
            if record and empty:
                raise FormatError(
                    f"file {str(path)!r}, line {empty}: the line is empty, which in a file of one "
                    'column could be a missing value or nothing. Write "" for a missing value, or '
                    "delete the line.",
                    file=str(path),
                    line=empty,
                )
            is_header_seen = is_header_seen or bool(record)
            if is_header_seen and not record:
                empty = empty or records.line_num
    except (UnicodeDecodeError, csv.Error) as problem:
        raise _explain(path, content, problem) from None


def _chosen(path: Path, header: list[str], wanted: Collection[str] | None) -> list[str]:
    twice = [name for name, n_times in Counter(header).items() if n_times > 1]
    if twice:
        raise FormatError(
            f"file {str(path)!r} has two columns named {twice[0]!r}.",
            file=str(path),
            column=twice[0],
        )
    return [name for name in header if wanted is None or name in wanted] or header[:1]


def _parse(path: Path, content: _Bytes, names: list[str]) -> Any:
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
    raise _explain(path, content, problem) from None


def _content(path: Path) -> _Bytes:
    if path.name.lower().endswith(".gz"):
        try:
            return unpack(path, UNPACKED_LIMIT, _UNPACK_FIRST)
        except (gzip.BadGzipFile, EOFError, zlib.error) as damage:
            raise FormatError(
                f"file {str(path)!r} cannot be unpacked: {damage}.", file=str(path)
            ) from None
    with path.open("rb") as file:
        is_empty = path.stat().st_size == 0
        return b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _lines(content: _Bytes) -> TextIO:
    """The content as lines of text, decoded as far as they are read."""
    raw: Any = pa.BufferReader(pa.py_buffer(content))
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _explain(path: Path, content: _Bytes, problem: Exception) -> FormatError:
    """The error for a csv file that Arrow or Python could not read, with the line at fault."""
    data = bytes(content)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as found:
        line = data.count(b"\n", 0, found.start) + 1
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
        _check_as_written(path, schema)
        header = [name for name in schema.names if not _UNNAMED_INDEX.fullmatch(name)]
        names = _chosen(path, header, wanted)
        texts = [name for name in names if is_text(schema.field(name).type)]
        with arrow_parquet.ParquetFile(
            path, read_dictionary=texts, page_checksum_verification=True
        ) as file:
            table = file.read(columns=names)
            _check_rows(path, file.metadata, table.num_rows)
        table.validate(full=True)  # Arrow takes the bytes of text on trust
    except (pa.ArrowException, OSError, UnicodeDecodeError, binascii.Error) as problem:
        raise _damaged(path, problem) from None
    declared = [name for name in names if pa.types.is_dictionary(schema.field(name).type)]
    return tuple(header), table, frozenset(declared)


def _check_as_written(path: Path, schema: Any) -> None:
    """Refuse columns other than those that Arrow noted down when it wrote the file.

    No checksum guards the part of the file that names the columns; but Arrow writes it twice.
    """
    written = arrow_parquet.read_metadata(path)
    note = (written.metadata or {}).get(b"ARROW:schema")
    if note is None or not written.created_by.startswith("parquet-cpp-arrow"):
        return
    noted = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(note)))
    of_file, of_note = ([(f.name, _is_texts(f.type)) for f in one] for one in (schema, noted))
    for found, expected in zip(of_file, of_note, strict=False):
        if found != expected:
            raise _damaged(path, f"column {expected[0]!r} is not as it was written")


def _check_rows(path: Path, metadata: Any, n_rows: int) -> None:
    """Refuse a file whose parts do not add up to the rows that it is said to have."""
    if n_rows != metadata.num_rows:
        raise _damaged(path, f"{metadata.num_rows:,} rows are announced and {n_rows:,} are there")


def _is_texts(kind: Any) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _damaged(path: Path, problem: object) -> FormatError:
    return FormatError(f"file {str(path)!r} cannot be read as parquet: {problem}.", file=str(path))


def _no_text() -> Any:
    return pa.array([], pa.large_string())
