"""Engines of one machine: threads, and processes that may die."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from threading import TIMEOUT_MAX
from typing import Any

from consilience import _check
from consilience.data.extents import Extent, RowGroups, TextRows
from consilience.errors import InputError, WorkerError
from consilience.statistics.engines.ledger import Returned
from consilience.statistics.engines.tasks import Task

__all__ = [
    "MOST_DEATHS",
    "PATIENCE",
    "Processes",
    "Threads",
    "check_sendable",
    "late",
]

MOST_DEATHS = 3
"""How often the work on a part is begun anew after workers died."""

PATIENCE = 600.0
"""Seconds for which no part of a request may come back."""


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process, each at work on one part of the rows.

    Parameters
    ----------
    n
        Number of threads; by default one for each core. Memory grows with it: each holds a part
        of at most 131,072 rows.

    Examples
    --------
    >>> Threads(2)
    Threads(n=2)
    """

    n: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            _check.whole("Threads", at_least=1, n=self.n)

    def run(self, task: Task[Any], extents: list[Extent]) -> Iterator[Returned[Any]]:
        """The answers of a task for all extents, in their order."""
        n = min(self.n or os.cpu_count() or 1, len(extents))
        if n <= 1:
            yield from map(task, extents)
            return
        with ThreadPoolExecutor(n) as pool:
            try:
                yield from pool.map(task, extents)
            finally:
                pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes of this machine, which read the files themselves; a dead one is replaced.

    They are started at the first request and kept. As with all processes of Python, a script that
    uses them keeps its own work below ``if __name__ == "__main__":``.

    Parameters
    ----------
    n
        Number of processes; by default one for each core.
    patience
        Seconds for which no part may come back before the request ends with an error that names
        those that are missing.
    """

    n: int | None = None
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        if self.n is not None:
            _check.whole("Processes", at_least=1, n=self.n)
        _check.positive("Processes", patience=self.patience)

    def run(self, task: Task[Any], extents: list[Extent]) -> Iterator[Returned[Any]]:
        """The answers of a task for all extents, in the order in which they are ready."""
        check_sendable("Processes", extents)
        left = {extent.id: extent for extent in extents}
        n_deaths = 0
        while left:
            try:
                for one in _answers(_pool(self.n), task, list(left.values()), self.patience):
                    for part in one.ids:
                        del left[part]
                    yield one
            except BrokenProcessPool:
                _pool.cache_clear()
                n_deaths += 1
                if n_deaths > MOST_DEATHS:
                    raise WorkerError(
                        f"processes died {n_deaths} times; parts that did not come back: "
                        f"{_check.listed(left)}. A script must keep its own work below "
                        'if __name__ == "__main__":',
                        part=next(iter(left)),
                    ) from None


def late(engine: str, patience: float, parts: Iterable[str]) -> WorkerError:
    """The error of a request whose parts do not come back."""
    lost = list(parts)
    return WorkerError(
        f"for {patience:g} seconds no part came back from {engine}; missing: "
        f"{_check.listed(lost)}. Are there workers, and do they have time? Say patience=... to "
        "wait longer.",
        part=lost[0],
    )


def check_sendable(engine: str, extents: list[Extent]) -> None:
    """Refuse rows that only this process has; workers get paths and never rows."""
    for extent in extents:
        is_path = isinstance(extent, RowGroups | TextRows) or hasattr(extent, "memory")
        if not is_path:
            raise InputError(
                f"{engine} reads rows in other processes, and {extent.id!r} is not in a file. Give "
                "paths of files or a store, or leave out engine=.",
                parameter="engine",
            )


@cache
def _pool(n: int | None) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(n or os.cpu_count() or 1, mp_context=get_context("spawn"))


def _answers(
    pool: ProcessPoolExecutor, task: Task[Any], extents: list[Extent], patience: float
) -> Iterator[Returned[Any]]:
    left = {pool.submit(task, extent): extent.id for extent in extents}
    try:
        while left:
            done = wait(left, min(patience, TIMEOUT_MAX), return_when=FIRST_COMPLETED).done
            if not done:
                _give_up(pool)
                raise late("Processes", patience, left.values())
            for future in done:
                del left[future]
                yield future.result()
    finally:
        for future in left:
            future.cancel()


def _give_up(pool: ProcessPoolExecutor) -> None:
    """End processes that do not answer, so that the next request gets others."""
    stuck = list(pool._processes.values())  # noqa: SLF001 - no other way before Python 3.14
    _pool.cache_clear()
    pool.shutdown(wait=False, cancel_futures=True)
    for process in stuck:
        process.terminate()
