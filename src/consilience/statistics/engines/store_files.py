"""The format of a store: rows in a folder of plain arrays that are mapped into memory.

::

    visits.store/
      manifest.json        format, version, schema, segments, checksums of every block, inputs
      segment-.../
        column-000.int8    codes of the first column, -1 for missing (int8, int16, int32), or
                           numbers (float64, NaN for missing); the source comes first
        weights.int64      if the rows have weights (or float64)
        bitmaps.uint64     (bitmaps, words): a bitmap of all rows, then one for each state of each
                           column with at most 64 states; row 64 w + b is bit b of word w

All numbers are little-endian. Each call of :func:`consilience.store` writes one segment, whole or
not at all: the manifest names a segment when everything in it is on disk. Every block of 4 MiB of
every file has its CRC-32 in the manifest, and is checked when the store is opened.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from consilience._freeze import read_only
from consilience._typing import Words
from consilience.data.extents import BATCH, Fingerprint
from consilience.data.parts import Part, arrow_part
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.data.write import to_arrow
from consilience.errors import ConsilienceError, FormatError
from consilience.statistics.engines.bitmaps import MOST_STATES
from consilience.statistics.engines.memory import Memory

__all__ = [
    "MANIFEST",
    "ROWS",
    "Manifest",
    "Segment",
    "StoredRows",
    "checksums",
    "is_store",
    "read_manifest",
    "segment_files",
]

FORMAT, VERSION = "consilience store", 1
MANIFEST = "manifest.json"
BLOCK = 1 << 22  # bytes with a checksum of their own
ROWS = 1 << 20  # rows that a worker takes at a time


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows that were written together.

    Parameters
    ----------
    folder
        Name of the folder within the store.
    n_rows
        Number of rows.
    weights
        Type of the weights, or None.
    blocks
        For each file the checksums of its blocks.
    inputs
        Fingerprints of the files that the rows come from.
    """

    folder: str
    n_rows: int
    weights: str | None
    blocks: Mapping[str, tuple[int, ...]]
    inputs: tuple[Fingerprint, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a store holds."""

    schema: Schema
    origins: Mapping[str, str]
    of_source: tuple[str, ...]
    segments: tuple[Segment, ...]

    def to_json(self) -> str:
        """The text of the manifest."""
        source = self.schema.source
        content = {
            "format": FORMAT,
            "version": VERSION,
            "variables": [asdict(one) for one in self.schema.variables.values()],
            "source": None if source is None else asdict(source),
            "origins": dict(self.origins),
            "of_source": self.of_source,
            "segments": [asdict(one) for one in self.segments],
        }
        return json.dumps(content, indent=1, ensure_ascii=True)


def is_store(path: Any) -> bool:
    """Whether a path names a folder with a manifest, or one that is called a store."""
    if not isinstance(path, str | os.PathLike):
        return False
    folder = Path(path)
    return (folder / MANIFEST).is_file() or (folder.is_dir() and folder.suffix == ".store")


def read_manifest(path: str) -> Manifest:
    """The manifest of a store; another version, or what is none, is an error that names it."""
    file = Path(path) / MANIFEST
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(
            f"folder {path!r} is no store: it has no {MANIFEST}. Write one with cs.store(rows, "
            f"{path!r}).",
            file=path,
        ) from None
    except ValueError as problem:
        raise _damaged(file, str(problem)) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _damaged(file, "it does not say that it is one of a store")
    if content.get("version") != VERSION:
        raise FormatError(
            f"store {path!r} has version {content.get('version')!r}, and this release reads "
            f"version {VERSION}. Write it anew from its rows.",
            file=path,
        )
    try:
        return _manifest(content)
    except (KeyError, TypeError, ValueError, ConsilienceError) as problem:
        raise _damaged(file, f"{type(problem).__name__} {problem}") from None


def segment_files(schema: Schema, n_rows: int, weights: str | None) -> dict[str, tuple[str, int]]:
    """The files of a segment: their types and how many numbers each has."""
    columns = [*([schema.source] if schema.source else []), *schema.variables.values()]
    files = {}
    for k, variable in enumerate(columns):
        kind = np.dtype(np.float64 if variable.is_continuous else code_type(variable.n_states)).name
        files[f"column-{k:03d}.{kind}"] = kind, n_rows
    if weights is not None:
        files[f"weights.{weights}"] = weights, n_rows
    few = [v.n_states for v in columns if not v.is_continuous and v.n_states <= MOST_STATES]
    files["bitmaps.uint64"] = "uint64", (1 + sum(few)) * -(-n_rows // 64)
    return files


def checksums(path: Path) -> tuple[int, ...]:
    """CRC-32 of each block of a file."""
    with path.open("rb") as file:
        return tuple(zlib.crc32(block) for block in iter(lambda: file.read(BLOCK), b""))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Some rows of a segment of a store, a multiple of 64 from its start; an extent.

    ``time`` is that of the manifest, so that a store which was written anew is another one.
    """

    path: str
    segment: int
    first_row: int
    n_rows: int
    time: int

    @property
    def id(self) -> str:
        """The store, the segment and the rows."""
        last = self.first_row + self.n_rows
        return f"{self.path}, segment {self.segment + 1}, rows {self.first_row + 1} to {last}"

    def table(self) -> Table:
        """The rows, mapped."""
        whole, _ = opened(self.path, self.segment, self.time)
        if self.n_rows == whole.n_rows:
            return whole
        return whole.take(slice(self.first_row, self.first_row + self.n_rows))

    def memory(self) -> Memory:
        """The rows as an engine, which is kept for later requests."""
        return _held(self)

    def tables(self) -> Iterator[Table]:
        """The rows in order, as tables of bounded size."""
        table = self.table()
        for start in range(0, table.n_rows, BATCH):
            yield table.take(slice(start, start + BATCH))

    def parts(self, wanted: Any) -> Iterator[Part]:
        """The rows as they would come from a file."""
        for table in self.tables():
            yield arrow_part(to_arrow(table))

    @classmethod
    def of(cls, path: str, manifest: Manifest, n_rows: int = ROWS) -> list[StoredRows]:
        """The rows of a store in extents."""
        time = (Path(path) / MANIFEST).stat().st_mtime_ns
        return [
            cls(path, k, start, min(n_rows, segment.n_rows - start), time)
            for k, segment in enumerate(manifest.segments)
            for start in range(0, segment.n_rows, n_rows)
        ]


@lru_cache(maxsize=64)
def _held(rows: StoredRows) -> Memory:
    table, bitmaps = opened(rows.path, rows.segment, rows.time)
    if rows.n_rows == table.n_rows:
        return Memory(table, bitmaps=bitmaps)
    return Memory(rows.table(), threads=1)


@lru_cache(maxsize=8)
def opened(path: str, segment: int, time: int) -> tuple[Table, Words]:
    """The rows of a segment and their bitmaps, mapped and checked; kept as long as it is asked."""
    manifest = read_manifest(path)
    if (Path(path) / MANIFEST).stat().st_mtime_ns != time:
        raise FormatError(
            f"store {path!r} was changed after it was opened. Scan it anew.", file=path
        )
    one, schema = manifest.segments[segment], manifest.schema
    arrays = {}
    for name, (kind, size) in segment_files(schema, one.n_rows, one.weights).items():
        arrays[name] = _mapped(Path(path) / one.folder / name, kind, size, one.blocks.get(name))
    bitmaps = arrays.pop("bitmaps.uint64").reshape(-1, -(-one.n_rows // 64) or 1)
    weights = arrays.pop(f"weights.{one.weights}", None)
    columns = list(arrays.values())
    source = columns.pop(0) if schema.source else None
    table = Table(
        schema,
        dict(zip(schema.variables, columns, strict=True)),
        source,
        weights,
        manifest.origins,
        of_source=manifest.of_source,
    )
    return table, bitmaps


def _mapped(file: Path, kind: str, size: int, blocks: tuple[int, ...] | None) -> Any:
    """A file as an array, its checksums verified."""
    dtype = np.dtype(kind).newbyteorder("<")
    if not file.is_file():
        raise FormatError(f"file {str(file)!r} of the store is not there.", file=str(file))
    if file.stat().st_size != size * dtype.itemsize:
        raise _damaged(file, f"{file.stat().st_size:,} bytes, not {size * dtype.itemsize:,}")
    found = checksums(file)
    for k, (checksum, expected) in enumerate(zip(found, blocks or (), strict=False)):
        if checksum != expected:
            raise _damaged(file, f"the checksum of block {k + 1} is wrong")
    if blocks is None or len(blocks) != len(found):
        raise _damaged(file, "it has no checksums")
    if not size:
        return read_only(np.zeros(0, np.dtype(kind)))
    # Mapped as if it could be written: the kernels are compiled for bitmaps of such a type.
    mode: Any = "c" if kind == "uint64" else "r"
    return np.asarray(np.memmap(file, dtype=dtype, mode=mode, shape=(size,)))


def _manifest(content: dict[str, Any]) -> Manifest:
    source = content["source"]
    variables = [_variable(one) for one in content["variables"]]
    segments = [
        Segment(
            str(one["folder"]),
            int(one["n_rows"]),
            one["weights"],
            {str(name): tuple(map(int, sums)) for name, sums in one["blocks"].items()},
            tuple(Fingerprint(**each) for each in one["inputs"]),
        )
        for one in content["segments"]
    ]
    if any(Path(one.folder).name != one.folder for one in segments):
        raise ValueError("a segment is not in the store")
    return Manifest(
        Schema({v.name: v for v in variables}, None if source is None else _variable(source)),
        dict(content["origins"]),
        tuple(content["of_source"]),
        tuple(segments),
    )


def _variable(content: dict[str, Any]) -> Variable:
    states, cuts = content["states"], content["cuts"]
    return Variable(
        content["name"],
        None if states is None else tuple(states),
        bool(content["ordered"]),
        None if cuts is None else tuple(cuts),
    )


def _damaged(file: Path, problem: str) -> FormatError:
    return FormatError(f"file {str(file)!r} of a store is damaged: {problem}.", file=str(file))
