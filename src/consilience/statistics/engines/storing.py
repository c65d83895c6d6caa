"""The verb :func:`store`: rows into a folder of plain arrays, in bounded memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np

from consilience import _write
from consilience.data.door import Rows, as_table
from consilience.data.extents import BATCH
from consilience.data.row_sample import appended
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.errors import DataError, WriteError
from consilience.statistics.engines.bitmaps import MOST_STATES, words_of
from consilience.statistics.engines.scans import Scan, scan
from consilience.statistics.engines.store_files import (
    MANIFEST,
    Manifest,
    Segment,
    checksums,
    read_manifest,
    segment_files,
)

__all__ = ["store"]


def store(rows: Rows | Scan, path: str | os.PathLike[str], *, append: bool = False) -> Scan:
    """Write rows to a store, a folder of plain arrays, and open it.

    A store has a column of codes for each variable and a bitmap for each state, which are mapped
    into memory where they are used: learning from it is as fast as from a table in memory, and its
    pages are the system's to drop. It is written in bounded memory and appears whole or not at all.

    Parameters
    ----------
    rows
        A scan, a table, or what :func:`read` takes.
    path
        The folder to write; it must not be there yet unless rows are appended.
    append
        Whether to append the rows to a store that is there; they must have its variables and
        states.

    Returns
    -------
    Scan
        The rows of the store, as ``cs.scan(path)`` opens them.

    Examples
    --------
    >>> import consilience as cs
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rows = cs.store({"x": ["a", "b", "b"]}, f"{folder}/visits.store")
    ...     rows.n_rows, cs.count(rows, cs.Family("x"))[0].table.tolist()
    (3, [[[1, 2]]])
    """
    given: Any = rows
    held = given if isinstance(given, Scan) else as_table(given)
    target = Path(path)
    if append:
        _append(held, target)
    else:
        _write_new(held, target)
    return scan(target)


def _write_new(rows: Table | Scan, target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise WriteError(
            f"{str(target)!r} is there already. Choose another name, delete it first, or say "
            "append=True.",
            file=str(target),
        )
    _write.check_target(target)
    draft = target.with_name(f".{uuid4().hex}.part")
    with _write.told(target), _removed_on_failure(draft):
        draft.mkdir()
        segment = _written(rows, rows.schema, draft)
        manifest = Manifest(rows.schema, rows.origins, rows.of_source, (segment,))
        _write.write_text(manifest.to_json(), draft / MANIFEST)
        draft.replace(target)


def _append(rows: Table | Scan, target: Path) -> None:
    manifest = read_manifest(str(target))
    if rows.schema != manifest.schema:
        differ = _difference(rows.schema, manifest.schema)
        raise DataError(
            f"the rows cannot be appended to {str(target)!r}: {differ}. Scan them with "
            f"schema=cs.scan({str(target)!r}).schema.",
            file=str(target),
        )
    with _write.told(target):
        segment = _written(rows, manifest.schema, target)
        both = replace(manifest, segments=(*manifest.segments, segment))
        _write.write_text(both.to_json(), target / MANIFEST)


def _difference(mine: Schema, theirs: Schema) -> str:
    named = {**mine.variables, **theirs.variables}
    for name in named:
        if mine.variables.get(name) != theirs.variables.get(name):
            return f"{name!r} has other states, or is in one of them only"
    return "their sources or the order of their columns differ"


@contextmanager
def _removed_on_failure(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _written(rows: Table | Scan, schema: Schema, folder: Path) -> Segment:
    """A segment with these rows, on disk."""
    n_rows = rows.n_rows
    weights = _weight_type(rows)
    name = f"segment-{uuid4().hex[:12]}"
    draft = folder / f".{name}.part"
    with _removed_on_failure(draft):
        draft.mkdir()
        files = segment_files(schema, n_rows, weights)
        with ExitStack() as stack:
            opened = {file: stack.enter_context((draft / file).open("wb")) for file in files}
            n_found = 0
            for first, block in _blocks(_tables(rows)):
                _write_block(block, first, n_rows, opened)
                n_found += block.n_rows
            for file in opened.values():
                file.flush()
                os.fsync(file.fileno())
        if n_found != n_rows:
            raise DataError(f"{n_found:,} rows were read, and there were {n_rows:,} before.")
        blocks = {file: checksums(draft / file) for file in files}
        draft.replace(folder / name)
    inputs = tuple(rows.inputs) if isinstance(rows, Scan) else ()
    return Segment(name, n_rows, weights, blocks, inputs)


def _tables(rows: Table | Scan) -> Iterator[Table]:
    if isinstance(rows, Scan):
        yield from rows.tables()
        return
    for start in range(0, rows.n_rows, BATCH):
        yield rows.take(slice(start, start + BATCH))


def _weight_type(rows: Table | Scan) -> str | None:
    """The type of weights that holds all of them; whole numbers stay whole."""
    if isinstance(rows, Scan) and not rows.has_weights:
        return None
    kinds = {"int64" if t.weights is None else t.weights.dtype.name for t in _tables(rows)}
    is_weighted = isinstance(rows, Scan) or rows.weights is not None
    return None if not is_weighted else ("float64" if "float64" in kinds else "int64")


def _blocks(tables: Iterable[Table]) -> Iterator[tuple[int, Table]]:
    """The same rows in tables of multiples of 64 rows but for the last, each with its first row."""
    first, rest = 0, None
    for table in tables:
        whole = table if rest is None else appended([rest, table])
        n_rows = whole.n_rows // 64 * 64
        if n_rows:
            yield first, whole.take(slice(n_rows))
            first += n_rows
        rest = whole.take(slice(n_rows, None)) if n_rows < whole.n_rows else None
    if rest is not None:
        yield first, rest


def _write_block(block: Table, first: int, n_rows: int, files: Mapping[str, BinaryIO]) -> None:
    """Write some rows to all files."""
    columns: list[Any] = [block.source_codes] if block.source_codes is not None else []
    columns += [block.columns[name] for name in block.variables]
    if block.weights is not None:
        columns.append(block.weights)
    plain = [name for name in files if name != "bitmaps.uint64"]
    for name, column in zip(plain, columns, strict=True):
        kind = np.dtype(name.rpartition(".")[2]).newbyteorder("<")
        files[name].write(column.astype(kind, copy=False).data)
    _write_bitmaps(block, first, n_rows, files["bitmaps.uint64"])


def _write_bitmaps(block: Table, first: int, n_rows: int, file: BinaryIO) -> None:
    n_words, n_here = -(-n_rows // 64), -(-block.n_rows // 64)
    source = [] if block.schema.source is None else [block.schema.source]
    place = 0

    def put(is_set: Any) -> None:
        nonlocal place
        file.seek(8 * (place * n_words + first // 64))
        file.write(words_of(is_set, n_here).astype("<u8", copy=False).data)
        place += 1

    put(np.ones(block.n_rows, np.bool_))
    for variable in [*source, *block.variables.values()]:
        if not variable.is_continuous and variable.n_states <= MOST_STATES:
            codes = block.column(variable.name)
            for state in range(variable.n_states):
                put(codes == state)
