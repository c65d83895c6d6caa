"""Files that are there to be read, and what unfolds from a packed one, within bounds.

A packed file may unfold to a thousand times its size. Text of a table or of a network becomes a
tenth of it or less when packed, seldom a hundredth, so what unfolds much further is refused before
it fills the memory, unless it is small.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from consilience import _check
from consilience.errors import FormatError, MissingFileError

__all__ = ["check_file", "unpack"]

MOST_UNFOLDED = 200
"""Bytes that one packed byte may stand for, on average."""

NEVER_TOO_LARGE = 2**26
"""Bytes that a packed file may unfold to in any case."""

PIECE = 2**20  # bytes unpacked at a time, so that a file which unfolds without end is noticed


def check_file(path: Path) -> None:
    """Refuse what is no file: nothing at all, a folder, a pipe, a device."""
    if path.is_file():
        return
    told = ""
    if path.is_dir():
        told = " It is a folder: name a file in it."
    elif path.exists():
        told = " It is a pipe or a device: write what it holds to a file first."
    raise MissingFileError(f"there is no file {str(path)!r}.{told}", file=str(path))


def unpack(path: Path, limit: float = float("inf")) -> bytes:
    """The bytes that a gzip file unfolds to, at most ``limit`` of them.

    Raises
    ------
    FormatError
        If they are many and more than 200 times as many as the file has.
    MemoryLimitError
        If they are more than the limit.
    """
    most = max(NEVER_TOO_LARGE, MOST_UNFOLDED * path.stat().st_size)
    pieces: list[bytes] = []
    n_bytes = 0
    with gzip.open(path) as stream:
        while piece := stream.read(PIECE):
            pieces.append(piece)
            n_bytes += len(piece)
            _check.memory(f"the text of {path.name}", n_bytes, limit, "Split it.")
            if n_bytes > most:
                raise FormatError(
                    f"file {str(path)!r} unfolds to more than {_check.bytes_text(most)}, over "
                    f"{MOST_UNFOLDED} times its size, as no usual text does. If it is to be "
                    "trusted, unpack it (gunzip) and read the unpacked file.",
                    file=str(path),
                )
    return b"".join(pieces)
