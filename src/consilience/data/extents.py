"""Rows where they are: stretches of files and streams that are read again at every pass.

An *extent* is some row groups of a parquet file, a text file, or a stream that starts anew when it
is asked. It says where rows are and never holds them, so it can be sent to a worker; its rows come
as parts of bounded size. A file is fingerprinted when its extents are made (size, time, and a
checksum of its end, where parquet keeps its footer), and a file that is another one at a later pass
is refused: an answer is never a mixture of two states of the data.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from consilience.data.packed import check_file
from consilience.data.parts import Part, arrow_part, parts_of, source_name
from consilience.data.paths import has_known_extension, read_path, row_group_batches, text_batches
from consilience.data.text_content import TextForm
from consilience.errors import DataError, FormatError, InputError, MissingFileError

__all__ = [
    "BATCH",
    "Extent",
    "Fingerprint",
    "HeldRows",
    "RowGroups",
    "Stream",
    "TextRows",
    "extents_of",
    "files_of",
]

BATCH = 1 << 17
"""Most rows of a part."""

_END = 1 << 16  # bytes at the end of a file that its fingerprint covers


class Extent(Protocol):
    """Some rows in one place; ``id`` names it in messages and in the merge of its statistics."""

    @property
    def id(self) -> str:
        """A name that no other extent of the same data has."""
        ...

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        """The rows in order, in parts of bounded size: the columns wanted (None: all)."""
        ...


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells whether a file is still the same.

    Parameters
    ----------
    path
        The file.
    size, time
        Bytes, and the time of the last change in nanoseconds.
    end
        Checksum of the last 64 KiB.
    """

    path: str
    size: int
    time: int
    end: int

    @classmethod
    def of(cls, path: str) -> Fingerprint:
        """The fingerprint of a file as it is now."""
        check_file(Path(path))
        with Path(path).open("rb") as file:
            found = os.fstat(file.fileno())
            file.seek(max(0, found.st_size - _END))
            return cls(path, found.st_size, found.st_mtime_ns, zlib.crc32(file.read(_END)))

    def check(self) -> None:
        """Refuse a file that was changed."""
        if Fingerprint.of(self.path) != self:
            raise DataError(
                f"file {self.path!r} was changed after it was first looked at. Scan the data anew.",
                file=self.path,
            )


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some neighboring row groups of a parquet file, which has ``first_row`` rows before them."""

    fingerprint: Fingerprint
    groups: tuple[int, ...]
    first_row: int
    n_rows: int
    source: str | None = None

    @property
    def id(self) -> str:
        """The file and the row groups, counted from one."""
        many = len(self.groups) > 1
        which = (
            f"{self.groups[0] + 1} to {self.groups[-1] + 1}" if many else f"{self.groups[0] + 1}"
        )
        return f"{self.fingerprint.path}, row group{'s' * many} {which}"

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        """The rows of the row groups, in order."""
        self.fingerprint.check()
        path, first = self.fingerprint.path, self.first_row
        for group, header, table, declared in row_group_batches(
            Path(path), self.groups, wanted, BATCH
        ):
            columns = dict(zip(table.column_names, table.columns, strict=True))
            part = Part(header, columns, table.num_rows, declared, self.source, path)
            yield replace(part, first_row=first, row_group=group)
            first += table.num_rows
        self.fingerprint.check()


@dataclass(frozen=True, slots=True)
class TextRows:
    """The rows of a text file, or of a file that has none."""

    fingerprint: Fingerprint
    form: TextForm
    source: str | None = None

    @property
    def id(self) -> str:
        """The file."""
        return self.fingerprint.path

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        """The rows of the file, in order."""
        self.fingerprint.check()
        path, first = self.fingerprint.path, 0
        for header, table in self._tables(wanted):
            for start in range(0, max(table.num_rows, 1), BATCH):
                piece = table.slice(start, BATCH)
                columns = dict(zip(piece.column_names, piece.columns, strict=True))
                part = Part(header, columns, piece.num_rows, source=self.source, path=path)
                yield replace(part, first_row=first)
                first += piece.num_rows
        self.fingerprint.check()

    def _tables(self, wanted: Collection[str] | None) -> Iterator[tuple[tuple[str, ...], Any]]:
        path = Path(self.fingerprint.path)
        if path.name.lower().endswith(".parquet"):
            header, table, _ = read_path(path, wanted, self.form)
            yield header, table
        else:
            yield from text_batches(path, wanted, self.form)


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Record batches of Arrow that ``open`` gives anew at every pass."""

    id: str
    open: Callable[[Collection[str] | None], Iterable[Any]]
    source: str | None = None

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        """The rows of the stream, in order."""
        first = 0
        for batch in self.open(wanted):
            for start in range(0, max(batch.num_rows, 1), BATCH):
                part = arrow_part(pa.Table.from_batches([batch.slice(start, BATCH)]))
                yield replace(part, source=self.source, path=self.id, first_row=first)
                first += part.n_rows


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """Rows in memory: a frame, or a dict of columns."""

    id: str
    part: Part

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        """The one part."""
        yield self.part


def extents_of(data: Any, form: TextForm) -> list[Extent]:
    """The extents of data in files, of a dataset, of a relation, or in memory, in order."""
    if isinstance(data, Mapping) and any(map(_names_files, data.values())):
        found: list[Extent] = []
        for key, value in data.items():
            named = source_name(key)
            found += [_of_source(one, named) for one in _located(value, form)]
        return found
    return _located(data, form)


def files_of(data: Any) -> list[str]:
    """The files that a path, a glob, a folder or a list of them names, each list sorted by name."""
    if isinstance(data, list | tuple):
        return [file for one in data for file in files_of(one)]
    text = os.fspath(data)
    path = Path(text)
    if path.is_dir():
        return _known_files(text, [str(file) for file in path.rglob("*") if file.is_file()])
    if has_magic(text) and not path.exists():
        return _known_files(text, glob(text, recursive=True))  # noqa: PTH207 - from a root
    check_file(path)
    return [text]


def _known_files(named: str, found: list[str]) -> list[str]:
    files = sorted(file for file in found if has_known_extension(file))
    if not files:
        raise MissingFileError(f"there is no .parquet, .csv or .tsv file in {named!r}.", file=named)
    return files


def _names_files(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_names_files, value))
    is_path = isinstance(value, str | os.PathLike)
    return is_path and (has_known_extension(value) or has_magic(str(value)) or Path(value).is_dir())


def _located(data: Any, form: TextForm) -> list[Extent]:
    if isinstance(data, str | os.PathLike) or _names_files(data):
        return [extent for file in files_of(data) for extent in _in_file(file, form)]
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(data, "get_fragments"):
        return _fragments(data)
    if library in ("duckdb", "_duckdb"):
        return [Stream("the relation", lambda wanted: _relation_batches(data, wanted))]
    if library == "ibis":
        return [Stream("the table", lambda wanted: _ibis_batches(data, wanted))]
    held = parts_of(data, None, form)
    return [HeldRows(part.source or f"the rows ({k + 1})", part) for k, part in enumerate(held)]


def _of_source(extent: Extent, source: str) -> Extent:
    if isinstance(extent, HeldRows):
        return HeldRows(source, replace(extent.part, source=source))
    return replace(extent, source=source)  # type: ignore[type-var]


def _in_file(path: str, form: TextForm) -> list[Extent]:
    fingerprint = Fingerprint.of(path)
    if not path.lower().endswith(".parquet"):
        if not has_known_extension(path) and form.sep is None:
            read_path(path, frozenset(), form)  # which says what could be read
        return [TextRows(fingerprint, form)]
    try:
        metadata = arrow_parquet.read_metadata(path)
    except (pa.ArrowException, OSError) as problem:
        raise FormatError(
            f"file {path!r} cannot be read as parquet: {problem}.", file=path
        ) from None
    sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    return [*_grouped(fingerprint, sizes)] or [TextRows(fingerprint, form)]


def _grouped(fingerprint: Fingerprint, sizes: list[int]) -> Iterator[RowGroups]:
    """Neighboring row groups together until they have as many rows as a batch."""
    groups: list[int] = []
    first = n_rows = 0
    for group, size in enumerate(sizes):
        groups.append(group)
        n_rows += size
        if n_rows >= BATCH or group == len(sizes) - 1:
            yield RowGroups(fingerprint, tuple(groups), first, n_rows)
            first, n_rows, groups = first + n_rows, 0, []


def _fragments(dataset: Any) -> list[Extent]:
    found: list[Extent] = []
    for k, fragment in enumerate(dataset.get_fragments()):
        path = str(getattr(fragment, "path", f"fragment {k + 1}"))
        found.append(Stream(path, _FragmentRows(fragment, dataset.schema, _fingerprint(path))))
    if not found:
        raise InputError("the dataset has no file.", parameter="data")
    return found


def _fingerprint(path: str) -> Fingerprint | None:
    return Fingerprint.of(path) if Path(path).is_file() else None


@dataclass(frozen=True, slots=True, eq=False)
class _FragmentRows:
    """The batches of a dataset's fragment, with the columns that its folders name."""

    fragment: Any
    schema: Any
    fingerprint: Fingerprint | None

    def __call__(self, wanted: Collection[str] | None) -> Iterator[Any]:
        import pyarrow.dataset as arrow_dataset

        if self.fingerprint is not None:
            self.fingerprint.check()
        options = {}
        if str(self.fragment.format.default_extname) == "parquet":
            options["fragment_scan_options"] = arrow_dataset.ParquetFragmentScanOptions(
                pre_buffer=False, page_checksum_verification=True
            )
        scanner = self.fragment.scanner(
            schema=self.schema,
            columns=_chosen(self.schema.names, wanted),
            batch_size=BATCH,
            batch_readahead=1,
            **options,
        )
        try:
            yield from scanner.to_batches()
        except (pa.ArrowException, OSError) as problem:
            file = str(getattr(self.fragment, "path", "of the dataset"))
            raise FormatError(f"file {file!r} cannot be read: {problem}.", file=file) from None


def _relation_batches(relation: Any, wanted: Collection[str] | None) -> Iterator[Any]:
    chosen = relation.select(*map(_identifier, _chosen(relation.columns, wanted)))
    read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_record_batch  # older ones
    yield from read(BATCH)


def _ibis_batches(table: Any, wanted: Collection[str] | None) -> Iterator[Any]:
    yield from table.select(*_chosen(table.columns, wanted)).to_pyarrow_batches(chunk_size=BATCH)


def _chosen(names: Iterable[str], wanted: Collection[str] | None) -> list[str]:
    listed = list(names)
    return [name for name in listed if wanted is None or name in wanted] or listed[:1]


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
