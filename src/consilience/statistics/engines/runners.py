"""Threads of this process, and what engines of several processes share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from consilience import _check
from consilience.data.extents import Extent, RowGroups, TextRows
from consilience.errors import InputError, WorkerError
from consilience.statistics.engines.ledger import Returned
from consilience.statistics.engines.tasks import Task

__all__ = [
    "MOST_DEATHS",
    "PATIENCE",
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
