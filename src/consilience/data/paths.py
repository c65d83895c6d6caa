"""Tables in files: csv, tsv and parquet, read by Arrow.

Every column of a text file is read as text, letter for letter: which texts are missing and which
columns hold numbers is decided later, on the different texts only. Quoted values may contain
separators and newlines; a byte order mark is allowed. Empty lines are skipped; in a file of one
column, where one could be a gap as well, only those at the end are, and a gap is a quoted nothing,
``""``. Text in parquet files is read as it lies there, already coded; checksums are verified if
there are any.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.ipc
import pyarrow.parquet as arrow_parquet

from consilience import _check
from consilience.data.packed import check_file
from consilience.data.pieces import is_text
from consilience.data.text_content import Bytes, TextForm, content_of, is_stdin
from consilience.errors import ConsilienceError, DataError, FormatError, InputError

__all__ = [
    "EXTENSIONS",
    "column_names",
    "has_known_extension",
    "opened_parquet",
    "read_path",
    "row_group_batches",
    "text_batches",
]

EXTENSIONS = (".csv", ".csv.gz", ".parquet", ".tsv", ".tsv.gz")

_BLOCK = 1 << 23
_LARGEST_BLOCK = (1 << 31) - 1
_SEPARATORS = {",": "','", ";": "';'", "\t": "a tab"}
_EMPTY_LINE = re.compile(rb"[\r\n]\r?\n|\r\r")
_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")  # how pandas writes row labels
_PACKED = {b"PAR1": "a parquet file", b"\x1f\x8b": "a gzip file"}


def has_known_extension(path: object) -> bool:
    """Whether a path or text ends like a file that can be read, or is standard input."""
    return is_stdin(path) or str(path).lower().endswith(EXTENSIONS)


def column_names(
    path: str | os.PathLike[str], *, sep: str | None = None, encoding: str = "utf-8"
) -> tuple[str, ...]:
    """Names of all columns of a file."""
    return read_path(path, frozenset(), TextForm(sep, encoding))[0]


def read_path(
    path: str | os.PathLike[str], wanted: Collection[str] | None, form: TextForm
) -> tuple[tuple[str, ...], Any, frozenset[str]]:
    """Names of all columns of a file, an Arrow table, and the columns with declared states.

    The table holds the columns wanted (None: all), or any one of them if none is wanted. A file
    whose name does not tell what it is is a text file if its separator is given.
    """
    if not has_known_extension(path) and form.sep is None:
        raise InputError(
            f"file {str(path)!r} cannot be read as a table. Accepted: {_check.listed(EXTENSIONS)}, "
            "or text of any name with its separator, sep=.",
            file=str(path),
        )
    if not is_stdin(path):
        check_file(Path(path))
    if str(path).lower().endswith(".parquet"):
        return _read_parquet(Path(path), wanted)
    text, header, has_rows = _checked_text(path, form)
    names = _chosen(text.name, header, wanted)
    table = _parse(text, names) if has_rows else pa.table({name: _no_text() for name in names})
    return tuple(header), table, frozenset()


def _checked_text(path: str | os.PathLike[str], form: TextForm) -> tuple[_Text, list[str], bool]:
    """A text file, its columns, and whether it has rows; a single column is looked at closely."""
    text = _Text.of(path, form)
    header, has_rows = _header(text)
    if len(header) == 1:
        if form.sep is None:
            _check_separator(text)
        _check_empty_lines(text)
    return text, header, has_rows


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """A text file in UTF-8, its name and the sign between two values."""

    name: str
    content: Bytes
    separator: str

    @classmethod
    def of(cls, path: str | os.PathLike[str], form: TextForm) -> _Text:
        name = "<stdin>" if is_stdin(path) else str(path)
        content = content_of(path, form)
        for magic, what in _PACKED.items():
            if content[: len(magic)] == magic:
                raise FormatError(
                    f"file {name!r} is {what}, and text is expected here. Accepted: rows as text, "
                    "or a file whose extension says what it is.",
                    file=name,
                )
        return cls(name, content, form.separator(Path(path)))

    def lines(self) -> TextIO:
        """The content as lines of text, decoded as far as they are read."""
        raw: Any = pa.BufferReader(pa.py_buffer(self.content))
        return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _header(text: _Text) -> tuple[list[str], bool]:
    """Names in the first line that is not empty, and whether anything stands below it."""
    try:
        lines = text.lines()
        records = csv.reader(lines, delimiter=text.separator)
        header = next((record for record in records if record), None)
        if header is not None:
            return header, any(line.rstrip("\r\n") for line in lines)
    except (UnicodeDecodeError, csv.Error) as problem:
        raise _explain(text, problem) from None
    raise FormatError(
        f"file {text.name!r} is empty. A line with column names is needed.", file=text.name
    )


def _check_separator(text: _Text) -> None:
    """Refuse a single column whose name falls apart at another separator, quoted text apart."""
    for separator, called in _SEPARATORS.items():
        names, _ = _header(replace(text, separator=separator))
        if len(names) > 1:
            raise DataError(
                f"file {text.name!r} looks like it is separated by {called}: its first line would "
                f"name {len(names)} columns. Read it with sep={separator!r}, or separate its "
                "columns by commas; a single name that holds the sign must stand in quotes.",
                file=text.name,
                separator=separator,
            )


def _check_empty_lines(text: _Text) -> None:
    """Refuse an empty line between the rows of a single column: it could be a missing value."""
    if _EMPTY_LINE.search(text.content) is None:
        return
    records = csv.reader(text.lines(), delimiter=text.separator)
    is_header_seen, empty = False, 0
    try:
        for record in records:
            if record and empty:
                raise FormatError(
                    f"file {text.name!r}, line {empty}: the line is empty, which in a file of one "
                    'column could be a missing value or nothing. Write "" for a missing value, or '
                    "delete the line.",
                    file=text.name,
                    line=empty,
                )
            is_header_seen = is_header_seen or bool(record)
            if is_header_seen and not record:
                empty = empty or records.line_num
    except (UnicodeDecodeError, csv.Error) as problem:
        raise _explain(text, problem) from None


def _chosen(file: str, header: list[str], wanted: Collection[str] | None) -> list[str]:
    twice = [name for name, n_times in Counter(header).items() if n_times > 1]
    if twice:
        raise FormatError(
            f"file {file!r} has two columns named {twice[0]!r}.", file=file, column=twice[0]
        )
    return [name for name in header if wanted is None or name in wanted] or header[:1]


def _parse(text: _Text, names: list[str]) -> Any:
    for block_size in (_BLOCK, max(_BLOCK, min(len(text.content), _LARGEST_BLOCK))):
        try:
            return _csv(arrow_csv.read_csv, text, names, block_size)
        except pa.ArrowException as found:
            problem = found
            if "straddling" not in str(found):
                break
    raise _explain(text, problem) from None


def _csv(read: Callable[..., Any], text: _Text, names: list[str], block_size: int) -> Any:
    """What one of Arrow's readers makes of a text, every column as text."""
    has_quotes = text.content.find(b'"') >= 0
    return read(
        pa.BufferReader(pa.py_buffer(text.content)),
        read_options=arrow_csv.ReadOptions(block_size=block_size),
        parse_options=arrow_csv.ParseOptions(
            delimiter=text.separator, newlines_in_values=has_quotes
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()),
            include_columns=names,
            null_values=[],
            strings_can_be_null=False,
        ),
    )


def _explain(text: _Text, problem: Exception) -> FormatError:
    """The error for a text file that Arrow or Python could not read, with the line at fault."""
    data = bytes(text.content)
    try:
        decoded = data.decode("utf-8-sig")
    except UnicodeDecodeError as found:
        line = data.count(b"\n", 0, found.start) + 1
        likely = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "latin-1"
        return FormatError(
            f"file {text.name!r}, line {line}: the text is not UTF-8. Save the file as UTF-8, or "
            f"name its encoding: encoding={likely!r}.",
            file=text.name,
            line=line,
        )
    return _ragged(text, decoded) or FormatError(
        f"file {text.name!r} is not a csv file: {problem}.", file=text.name
    )


def _ragged(text: _Text, decoded: str) -> FormatError | None:
    reader = csv.reader(io.StringIO(decoded, newline=""), delimiter=text.separator)
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
                f"file {text.name!r}, line {line}: {len(record)} values, but the header names "
                f"{n_columns} columns.",
                file=text.name,
                line=line,
            )


def _read_parquet(
    path: Path, wanted: Collection[str] | None
) -> tuple[tuple[str, ...], Any, frozenset[str]]:
    with opened_parquet(path, wanted) as opened:
        table = opened.file.read(columns=opened.names)
        _check_rows(path, opened.file.metadata.num_rows, table.num_rows)
        table.validate(full=True)  # Arrow takes the bytes of text on trust
    return opened.header, table, opened.declared


class OpenedParquet(NamedTuple):
    """A parquet file with all its columns, those to read, and those with declared states."""

    file: Any
    header: tuple[str, ...]
    names: list[str]
    declared: frozenset[str]


@contextmanager
def opened_parquet(path: Path, wanted: Collection[str] | None) -> Iterator[OpenedParquet]:
    """A parquet file that is read within the block; what is damaged is told by its name."""
    try:
        schema = arrow_parquet.read_schema(path)
        _check_as_written(path, schema)
        header = [name for name in schema.names if not _UNNAMED_INDEX.fullmatch(name)]
        names = _chosen(str(path), header, wanted)
        texts = [name for name in names if is_text(schema.field(name).type)]
        declared = [name for name in names if pa.types.is_dictionary(schema.field(name).type)]
        with arrow_parquet.ParquetFile(
            path, read_dictionary=texts, page_checksum_verification=True, pre_buffer=False
        ) as file:
            yield OpenedParquet(file, tuple(header), names, frozenset(declared))
    except (pa.ArrowException, OSError, UnicodeDecodeError, binascii.Error) as problem:
        if isinstance(problem, ConsilienceError):
            raise
        raise _damaged(path, problem) from None


def row_group_batches(
    path: Path, groups: Sequence[int], wanted: Collection[str] | None, n_rows: int
) -> Iterator[tuple[int, tuple[str, ...], Any, frozenset[str]]]:
    """The rows of some row groups of a parquet file, in batches of at most ``n_rows`` of them.

    Each comes with its row group, all columns of the file and those with declared states.
    """
    with opened_parquet(path, wanted) as opened:
        for group in groups:
            n_found = 0
            for batch in opened.file.iter_batches(n_rows, [group], columns=opened.names):
                batch.validate(full=True)
                n_found += batch.num_rows
                yield group, opened.header, pa.Table.from_batches([batch]), opened.declared
            _check_rows(path, opened.file.metadata.row_group(group).num_rows, n_found)


def text_batches(
    path: Path, wanted: Collection[str] | None, form: TextForm
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The rows of a text file in batches of some megabytes, each with all columns of the file."""
    check_file(path)
    text, header, has_rows = _checked_text(path, form)
    names = _chosen(text.name, header, wanted)
    if not has_rows:
        yield tuple(header), pa.table({name: _no_text() for name in names})
        return
    try:
        with _csv(arrow_csv.open_csv, text, names, _BLOCK) as reader:
            for batch in reader:
                yield tuple(header), pa.Table.from_batches([batch])
    except pa.ArrowException as problem:
        raise _explain(text, problem) from None


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


def _check_rows(path: Path, n_announced: int, n_rows: int) -> None:
    """Refuse a file whose parts do not add up to the rows that it announces."""
    if n_rows != n_announced:
        raise _damaged(path, f"{n_announced:,} rows are announced and {n_rows:,} are there")


def _is_texts(kind: Any) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _damaged(path: Path, problem: object) -> FormatError:
    return FormatError(f"file {str(path)!r} cannot be read as parquet: {problem}.", file=str(path))


def _no_text() -> Any:
    return pa.array([], pa.large_string())
