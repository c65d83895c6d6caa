"""The one door through which files are written: whole or not at all.

The content goes to a draft beside the file, which takes the file's place when everything is on
disk. A writer that fails, or is killed, leaves the old file as it was; only a killed one leaves its
draft, ``.*.part``. A file keeps its mode and, as far as the system lets it, its owner; a symbolic
link stays and the file it names is written; a new file has the mode of the umask. The draft of a
file that is there can be read by its writer alone. What is no file, such as ``/dev/stdout``, is
written as it is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from consilience.errors import MissingFileError, ModelError, WriteError

__all__ = ["SEPARATORS", "check_target", "encoded", "told", "write_text", "written"]

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
SEPARATORS = tuple(one for one in (os.sep, os.altsep) if one)


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream of bytes that becomes the file when the block ends without an error.

    Raises
    ------
    MissingFileError
        If the folder does not exist.
    WriteError
        If the file cannot be written, at any stage; it names the file.
    """
    target = check_target(path)
    with told(path):
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
            return
        old = target.stat() if target.exists() else None
        draft = target.with_name(f".{uuid4().hex}.part")
        try:
            with _opened(draft, 0o666 if old is None else 0o600) as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())  # some disks say only now that they are full
            if old is not None:
                _take_over(draft, old)
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text as UTF-8."""
    data = encoded(text, os.fspath(path))
    with written(path) as stream:
        stream.write(data)


def check_target(path: str | os.PathLike[str]) -> Path:
    """The file that a path leads to, or the error that says why it cannot be written."""
    file = Path(path)
    with told(path):
        if file.is_dir():
            raise _unwritable(path, "it is a folder", errno.EISDIR)
        if file.exists() and not file.is_file():
            return file  # a device or a pipe, which may have no path of its own
        if os.fspath(path).endswith(SEPARATORS):
            raise _unwritable(path, "a name that ends so is that of a folder", errno.EISDIR)
        target = Path(os.path.realpath(file))
        if target.is_symlink():
            raise _unwritable(path, "it is a link that leads nowhere", errno.ELOOP)
        if not target.parent.is_dir():
            folder = target.parent if file.is_symlink() else file.parent
            raise MissingFileError(
                f"{os.fspath(path)!r} cannot be written: there is no folder {str(folder)!r}.",
                file=os.fspath(path),
            )
        for needed in (target.parent, target):
            if needed.exists() and not os.access(needed, os.W_OK):
                raise _unwritable(path, "permission denied", errno.EACCES)
    return target


@contextmanager
def told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the system says about writing a file into one error that names the file."""
    try:
        yield
    except (WriteError, MissingFileError):
        raise
    except OSError as problem:
        said = problem.strerror or str(problem)
        raise _unwritable(path, said[:1].lower() + said[1:], problem.errno) from problem


def encoded(text: str, file: str) -> bytes:
    """The text as UTF-8, or the error that names the letter that has none."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise ModelError(
            f"{file}: a name holds {text[problem.start]!r}, half of a surrogate pair, which cannot "
            "be written.",
            file=file,
        ) from problem


def _opened(draft: Path, mode: int) -> BinaryIO:
    return os.fdopen(os.open(draft, _NEW, mode), "wb")


def _take_over(draft: Path, old: os.stat_result) -> None:
    """Give the draft the owner, if the system lets us, and the mode of the file it replaces."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(draft, old.st_uid, old.st_gid)
    draft.chmod(stat.S_IMODE(old.st_mode))


def _unwritable(path: str | os.PathLike[str], reason: str, number: int | None = None) -> WriteError:
    file = os.fspath(path)
    return WriteError(f"{file!r} cannot be written: {reason}.", file=file, errno=number)
