"""The text of a file or of standard input: how it is stored, and its bytes as UTF-8."""

from __future__ import annotations

import codecs
import gzip
import mmap
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from consilience.data.packed import unpack
from consilience.errors import FormatError, InputError

__all__ = ["STDIN", "Bytes", "TextForm", "content_of", "is_stdin"]

STDIN = "-"
"""The path that stands for standard input."""

UNPACKED_LIMIT = 2**33
"""Bytes that a packed csv file may unfold to."""

Bytes: TypeAlias = bytes | mmap.mmap

_UNPACK_FIRST = "Unpack it first (gunzip), if it is to be trusted, and read the unpacked file."
_UTF_8 = ("utf-8", "utf-8-sig")
_NO_SEPARATORS = '"\r\n'

# Standard input can be read once, but its columns are looked at before its rows are.
_read_streams: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class TextForm:
    """How text files are written.

    Parameters
    ----------
    sep
        The sign between two values; None for a comma, or a tab in a ``.tsv`` file.
    encoding
        The encoding of the text, by any name that Python knows.
    """

    sep: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        sep: Any = self.sep
        is_sign = isinstance(sep, str) and len(sep) == 1 and sep.isascii()
        if sep is not None and not (is_sign and sep not in _NO_SEPARATORS):
            raise InputError(
                f"sep must be one ASCII character such as ';' or '\\t', got {sep!r}.",
                parameter="sep",
            )
        try:
            " ".encode(self.encoding).decode(self.encoding)
        except (LookupError, TypeError):
            raise InputError(
                f"encoding must name an encoding of text, such as 'utf-8', 'latin-1' or 'utf-16'; "
                f"got {self.encoding!r}.",
                parameter="encoding",
            ) from None

    def separator(self, path: Path) -> str:
        """The sign between two values in a file."""
        if self.sep is not None:
            return self.sep
        return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


def is_stdin(path: object) -> bool:
    """Whether a path stands for standard input; a file of that name is ``./-``."""
    return isinstance(path, str) and path == STDIN


def content_of(path: str | os.PathLike[str], form: TextForm) -> Bytes:
    """The text as UTF-8, whatever its encoding; a byte order mark may come first."""
    content = _stdin() if is_stdin(path) else _file(Path(path))
    if codecs.lookup(form.encoding).name in _UTF_8:
        return content
    data = bytes(content)
    try:
        return data.decode(form.encoding).encode()
    except UnicodeError as problem:
        start = getattr(problem, "start", 0)
        line = data[:start].decode(form.encoding, errors="ignore").count("\n") + 1
        raise FormatError(
            f"file {str(path)!r}, line {line}: the text is not {form.encoding}. Name its encoding "
            "with encoding=, or save it as UTF-8.",
            file=str(path),
            line=line,
        ) from None


def _file(path: Path) -> Bytes:
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


def _stdin() -> bytes:
    stream = sys.stdin
    if stream not in _read_streams:
        _read_streams[stream] = stream.buffer.read()
    return _read_streams[stream]
