"""What all studies share: a store of finished cells that can be resumed, and means with errors.

A study is a set of *cells* (a data set, a size, a repeat and so on), each computed by itself from
its key. Finished cells are lines of a JSON-lines file: the first line tells the study's settings,
every other line a key and the rows that it gave. The same call goes on where the last one stopped,
and refuses a file that was made with other settings.

Numbers that only say how many cells there are (repeats, sizes) belong in the keys, not in the
settings, so that a study can grow.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from consilience.errors import InputError, MissingFileError

__all__ = ["finished", "mean_and_error", "paired", "run", "write_csv"]

Key = TypeVar("Key", bound=Hashable)
Row = dict[str, Any]

THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PYTHON_CPU_COUNT",
)

SECONDS_BETWEEN_LINES = 60.0
"""Without a terminal, progress is a line now and then."""


def run(
    path: Path,
    keys: Sequence[Key],
    work: Callable[[Key], Row | list[Row]],
    *,
    processes: int = 1,
    title: str,
    settings: Mapping[str, Any] | None = None,
) -> list[Row]:
    """The rows of all cells, in the order of the keys, each with the fields of its key.

    Cells that the file has are not computed again; the others are appended as they finish. After
    Ctrl-C the finished ones are kept, and the program ends.

    Parameters
    ----------
    path
        The JSON-lines file; its folder is made if need be.
    keys
        Flat dataclasses, named tuples or plain tuples (fields ``key_0``, ``key_1``, ...) of text,
        numbers and truth values. Keys of the file that are not asked for are kept and not returned.
    work
        Makes one cell: a row, or several. With several processes it must be a function of a module
        or a ``partial`` of one.
    processes
        Cells at the same time, a process with one thread each; one means this process.
    title
        Name of the study, shown with the progress; part of the settings.
    settings
        Whatever the numbers depend on besides the keys.
    """
    done = _read(path, _header(title, settings or {}))
    missing = [key for key in dict.fromkeys(keys) if _identity(key) not in done]
    if missing:
        _compute(path, missing, work, done, processes, title)
    return [_fields(key) | row for key in keys for row in done[_identity(key)]]


def finished(path: Path) -> list[Row]:
    """The rows of all finished cells of a file, in the order in which they were finished."""
    if not path.exists():
        raise MissingFileError(f"there are no finished cells: '{path}' does not exist.")
    return [cell["key"] | row for cell in _cells(_lines(path)[1:]) for row in cell["rows"]]


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean and its standard error, which is infinite for a single value.

    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    array = np.asarray(list(values), float)
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else np.inf
    return float(array.mean()), float(error)


def paired(a: Iterable[float], b: Iterable[float]) -> tuple[float, float]:
    """Mean of the differences a - b, taken pair by pair, and its standard error.

    >>> paired([2.0, 5.0], [1.0, 2.0])
    (2.0, 1.0)
    """
    return mean_and_error([one - other for one, other in zip(a, b, strict=True)])


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows as CSV; the columns come in the order in which they first appear."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _header(title: str, settings: Mapping[str, Any]) -> Row:
    plain = json.loads(json.dumps(dict(settings), sort_keys=True, default=repr))
    text = json.dumps([title, plain], sort_keys=True)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {"study": title, "fingerprint": fingerprint, "settings": plain}


def _read(path: Path, header: Row) -> dict[str, list[Row]]:
    """Rows of the finished cells by key; a new file gets its first line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = _lines(path) if path.exists() else []
    if not lines:
        path.write_text(json.dumps(header) + "\n", encoding="utf-8")
        return {}
    _check_header(path, json.loads(lines[0]), header)
    size = sum(len(line.encode()) + 1 for line in lines)
    os.truncate(path, size)  # drops a last line that was cut off while it was written
    return {_text(cell["key"]): cell["rows"] for cell in _cells(lines[1:])}


def _lines(path: Path) -> list[str]:
    """Whole lines of the file; one that is being written, or was cut off, is left out."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _cells(lines: Iterable[str]) -> list[Row]:
    return [json.loads(line) for line in lines]


def _check_header(path: Path, found: Row, header: Row) -> None:
    if found["fingerprint"] == header["fingerprint"]:
        return
    old, new = ({"study": one["study"], **one["settings"]} for one in (found, header))
    other = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    raise InputError(
        f"'{path}' has cells of other settings; they differ in {', '.join(map(repr, other))}. "
        "Give another folder, or remove the file."
    )


def _compute(
    path: Path,
    missing: Sequence[Key],
    work: Callable[[Key], Row | list[Row]],
    done: dict[str, list[Row]],
    processes: int,
    title: str,
) -> None:
    """Compute the missing cells; each goes to the file and to ``done`` as soon as it is there."""
    n_finished = 0
    try:
        with _Story(title, len(missing)) as story:
            for key, rows in _made(missing, work, processes):
                _append(path, {"key": key, "rows": rows})
                done[_text(key)] = rows
                n_finished += 1
                story.tell(n_finished)
    except KeyboardInterrupt:
        print(f"stopped; {len(done)} cells are kept in '{path}', the same command goes on.")
        sys.exit(130)


def _made(
    missing: Sequence[Key], work: Callable[[Key], Row | list[Row]], processes: int
) -> Iterator[tuple[Row, list[Row]]]:
    cell = partial(_cell, work)
    if processes == 1:
        with threadpool_limits(1):
            yield from map(cell, missing)
        return
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        # Not forked: threads of numba and of BLAS do not survive a fork.
        with multiprocessing.get_context("spawn").Pool(processes, _leave_interrupts) as pool:
            yield from pool.imap_unordered(cell, missing)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _cell(work: Callable[[Key], Row | list[Row]], key: Key) -> tuple[Row, list[Row]]:
    rows = work(key)
    # Through JSON, so that a cell just computed and a cell read back are the same.
    made = json.loads(json.dumps(rows if isinstance(rows, list) else [rows], default=_plain))
    return _fields(key), made


def _leave_interrupts() -> None:
    """Ctrl-C is for the parent, which ends its children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Story:
    """Progress: a bar on a terminal, lines elsewhere."""

    def __init__(self, title: str, n_cells: int) -> None:
        self.title, self.n_cells = title, n_cells
        self.begun = self.told = time.monotonic()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        console = Console()
        self.bar = Progress(*columns, console=console) if console.is_terminal else None

    def __enter__(self) -> _Story:
        if self.bar:
            self.bar.start()
            self.bar.add_task(self.title, total=self.n_cells)
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def tell(self, n_finished: int) -> None:
        if self.bar:
            self.bar.update(self.bar.task_ids[0], completed=n_finished)
            return
        now = time.monotonic()
        if now - self.told < SECONDS_BETWEEN_LINES and n_finished < self.n_cells:
            return
        self.told = now
        spent = (now - self.begun) / 60
        left = spent * (self.n_cells - n_finished) / n_finished
        print(
            f"{self.title}: {n_finished} of {self.n_cells} cells in {spent:.1f} min, "
            f"about {left:.1f} min left",
            flush=True,
        )


def _append(path: Path, line: Row) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _fields(key: Hashable) -> Row:
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        names = [field.name for field in dataclasses.fields(key)]
        return {name: _plain(getattr(key, name)) for name in names}
    if isinstance(key, tuple):
        names = getattr(key, "_fields", None) or [f"key_{i}" for i in range(len(key))]
        return {name: _plain(value) for name, value in zip(names, key, strict=True)}
    raise InputError(f"a key must be a flat dataclass or a tuple, got {key!r}.")


def _identity(key: Hashable) -> str:
    return _text(_fields(key))


def _text(fields: Row) -> str:
    return json.dumps(fields, sort_keys=True)


def _plain(value: Any) -> Any:
    """NumPy's numbers and truth values as Python's."""
    return value.item() if isinstance(value, np.generic) else value
