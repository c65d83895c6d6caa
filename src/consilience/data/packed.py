"""Files of rows: whether they can be read or written, and what unfolds from a packed one.

A packed file may unfold to a thousand times its size, and so does a table of constant columns. So
what unfolds is bounded by the memory it takes and not by how far it unfolds.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from consilience import _check
from consilience.errors import FormatError, MissingFileError

__all__ = ["check_file", "check_rows_path", "unpack"]

WRITTEN = (".csv", ".csv.gz", ".parquet")

PIECE = 2**20  # bytes unpacked at a time, so that a file which unfolds without end is noticed


def check_file(path: Path) -> None:
    """Refuse what is no file: nothing at all, a folder, a pipe, a device."""
    if path.is_file():
        return
    hint = ""
    if path.is_dir():
        hint = " It is a folder: name a file in it."
    elif path.exists():
        hint = " It is a pipe or a device: write what it holds to a file first."
    raise MissingFileError(f"there is no file {str(path)!r}.{hint}", file=str(path))


def check_rows_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path whose extension does not say how rows are written."""
    file = Path(path)
    if not file.name.lower().endswith(WRITTEN):
        raise FormatError(
            f"rows cannot be written to {file.name!r}. Known extensions: {_check.listed(WRITTEN)}.",
            file=str(file),
        )


def unpack(path: Path, limit: float, advice: str) -> bytes:
    """The bytes that a gzip file unfolds to, at most ``limit`` of them.

    Raises
    ------
    MemoryLimitError
        If they are more than the limit; it ends with the advice.
    """
    pieces: list[bytes] = []
    n_bytes = 0
    with gzip.open(path) as stream:
        while piece := stream.read(PIECE):
            pieces.append(piece)
            n_bytes += len(piece)
            _check.memory(f"the unpacked text of {path.name}", n_bytes, limit, advice)
    return b"".join(pieces)
