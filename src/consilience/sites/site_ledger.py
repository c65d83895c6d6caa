"""The ledger of a site: every request before it is answered, and what became of it.

One line of JSON an entry, each with the hash of the line before it, so that a line that was changed
or taken out is found. An entry is on disk before the site acts on it; a line that was cut off by a
crash was never acted on and is dropped. What a study may still ask follows from the entries alone,
so budgets and rounds hold across restarts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import finalize

from consilience._write import told
from consilience.errors import FormatError, MissingFileError, WriteError
from consilience.sites.message import canonical, digest

__all__ = ["Ledger", "StudyState", "read_ledger"]

BEGIN = "0" * 64


@dataclass(slots=True)
class StudyState:
    """What a ledger knows of one study.

    Attributes
    ----------
    content
        What was agreed on: sites, variables, mode; None before that.
    rounds
        For each round the hashes of its request and, once it was answered, of its reply.
    n_families
        Families that were asked for.
    """

    content: Mapping[str, Any] | None = None
    rounds: dict[int, tuple[str, str]] = field(default_factory=dict)
    n_families: int = 0


class Ledger:
    """The entries of a site; mutable, with one owner, the site.

    Parameters
    ----------
    path
        The file; it is made if there is none. None keeps the entries in memory.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.studies: dict[str, StudyState] = {}
        self.shown: list[tuple[tuple[str, ...], ...]] = []
        self.modes: set[str] = set()
        self.fingerprint = ""
        self.entries: list[Mapping[str, Any]] = []
        self._last = BEGIN
        self._file: int | None = None
        if self.path is not None:
            self._open(self.path)

    def study(self, name: str) -> StudyState:
        """What is known of a study, nothing at first."""
        return self.studies.get(name, StudyState())

    def record(self, what: str, **entry: Any) -> None:
        """Write an entry; it is on disk when this returns."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        full = {"what": what, "time": now, **entry}
        line = canonical({**full, "before": self._last})
        if self._file is not None:
            try:
                _append(self._file, line + b"\n")
            except OSError as problem:
                raise WriteError(
                    f"the ledger {str(self.path)!r} cannot be written, so nothing is answered: "
                    f"{problem.strerror}.",
                    file=str(self.path),
                    errno=problem.errno,
                ) from problem
        self._last = digest(line)
        self._take(full)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._closing()
            self._file = None

    def _open(self, path: Path) -> None:
        if not path.parent.is_dir():
            raise MissingFileError(f"there is no folder {str(path.parent)!r}.", file=str(path))
        with told(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._closing = finalize(self, os.close, self._file)  # also when nobody calls close
        _lock(self._file, path)
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for entry, line in _entries(data[:whole], path):
            self._last = digest(line)
            self._take(entry)
        os.ftruncate(self._file, whole)

    def _take(self, entry: Mapping[str, Any]) -> None:
        """Draw the conclusions of an entry."""
        self.entries.append(entry)
        what = entry["what"]
        if what == "rows":
            self.fingerprint = entry["fingerprint"]
        if what not in ("agreed", "asked", "answered"):
            return
        state = self.studies.setdefault(entry["study"], StudyState())
        if what == "agreed":
            state.content = entry["content"]
        elif what == "asked":
            state.rounds[entry["round"]] = (entry["request"], "")
            state.n_families += len(entry["families"])
        else:
            state.rounds[entry["round"]] = (entry["request"], entry["reply"])
            if entry["mode"]:
                self.modes.add(entry["mode"])
            if entry["mode"] == "intervals":
                self.shown.append(tuple(map(tuple, entry["families"])))


def read_ledger(path: str | os.PathLike[str]) -> list[Mapping[str, Any]]:
    """The entries of a ledger, checked; nothing is written."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as problem:
        raise MissingFileError(f"there is no file {str(path)!r}.", file=str(path)) from problem
    return [entry for entry, _ in _entries(data[: data.rfind(b"\n") + 1], Path(path))]


def _entries(data: bytes, path: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    last = BEGIN
    for place, line in enumerate(data.splitlines(), 1):
        try:
            entry = json.loads(line)
            before = entry.pop("before")
        except (ValueError, KeyError, AttributeError, RecursionError) as problem:
            raise _damaged(path, place) from problem
        if before != last or not isinstance(entry.get("what"), str):
            raise _damaged(path, place)
        last = digest(line)
        yield entry, line


def _damaged(path: Path, line: int) -> FormatError:
    return FormatError(
        f"{path}, line {line}: this is not what the site wrote; the line, or the one before it, "
        "was changed. A site does not answer with a ledger that cannot be trusted.",
        file=str(path),
        line=line,
    )


def _append(file: int, data: bytes) -> None:
    """Write all of it, to the disk itself."""
    while data:
        data = data[os.write(file, data) :]
    os.fsync(file)


def _lock(file: int, path: Path) -> None:
    """Keep other processes off the ledger, where the system has locks of this kind."""
    try:
        import fcntl
    except ImportError:  # Windows keeps a file that is open for writing to itself
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        raise WriteError(
            f"the ledger {str(path)!r} is in use by another process. One site has one ledger.",
            file=str(path),
            errno=problem.errno,
        ) from problem
