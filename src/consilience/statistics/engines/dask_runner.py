"""The engine on a Dask cluster, and Dask frames as rows.

A task is sent with the place of its rows, never with rows: workers read files themselves, and the
partitions of a Dask frame stay where Dask has them. Dask begins the work of a worker that died anew
elsewhere; it gives up on a part after some deaths (``allowed-failures``, three unless configured),
and the error names the part. A cluster without workers would wait for ever; so a request ends with
an error, too, when no part has come back for some time.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from consilience import _check
from consilience.data.extents import Extent
from consilience.data.parts import Part, parts_of
from consilience.errors import ConsilienceError, InputError, WorkerError
from consilience.statistics.engines.ledger import Returned
from consilience.statistics.engines.runners import PATIENCE, check_sendable, late
from consilience.statistics.engines.tasks import Task

__all__ = ["Dask", "current_dask", "dask_partitions"]


@dataclass(frozen=True, slots=True)
class Dask:
    """Workers of a Dask cluster.

    Parameters
    ----------
    client
        A ``distributed.Client``; its workers must see the files under the same paths, and have
        this library installed.
    patience
        Seconds for which no part may come back before the request ends with an error that names
        those that are missing.
    """

    client: Any
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        _check.positive("Dask", patience=self.patience)
        distributed = _check.extra("distributed", "dask", "cs.engines.Dask")
        if not isinstance(self.client, distributed.Client):
            raise InputError(
                "Dask: client must be a distributed.Client, got one of type "
                f"{type(self.client).__name__}.",
                parameter="client",
            )

    @classmethod
    def at(cls, address: str) -> Dask:
        """The workers of the cluster whose scheduler has this address."""
        return cls(_check.extra("distributed", "dask", "cs.engines.Dask").Client(address))

    def run(self, task: Task[Any], extents: list[Extent]) -> Iterator[Returned[Any]]:
        """The answers of a task for all extents, in the order in which they are ready."""
        distributed = _check.extra("distributed", "dask", "cs.engines.Dask")
        futures = self._begun(task, extents)
        left = {future: extent.id for future, extent in zip(futures, extents, strict=True)}
        arriving = distributed.as_completed(futures, loop=self.client.loop, with_results=True)
        try:
            while left:
                for future, answer in self._ready(arriving, left.values()):
                    part = left.pop(future)
                    is_there = isinstance(answer, Returned)
                    yield answer if is_there else self._result(distributed, future, part)
        finally:
            self.client.cancel(futures)

    def _ready(self, arriving: Any, left: Iterable[str]) -> Any:
        """The futures that are done, at least one, and what came of them."""
        last = monotonic() + self.patience
        with arriving.thread_condition:  # none can be done between a look and the wait
            while not arriving.has_ready():
                if monotonic() > last:
                    raise late("Dask", self.patience, left)
                arriving.thread_condition.wait(min(1.0, self.patience))
        return arriving.next_batch(block=False)

    def _result(self, distributed: Any, future: Any, part: str) -> Returned[Any]:
        try:
            returned: Returned[Any] = future.result(timeout=self.patience)
        except ConsilienceError:
            raise
        except TimeoutError as problem:
            raise late("Dask", self.patience, [part]) from problem
        except (distributed.KilledWorker, distributed.CancelledError, OSError) as problem:
            raise WorkerError(
                f"the part {part!r} did not come back: {type(problem).__name__}. Workers died "
                "while they had it, or the scheduler did; give workers more memory, or the cluster "
                "more patience (distributed.scheduler.allowed-failures).",
                part=part,
            ) from problem
        return returned

    def _begun(self, task: Task[Any], extents: list[Extent]) -> list[Any]:
        """The work on all extents, sent together so that the task travels once."""
        # Not pure, or Dask would answer a request from an earlier one.
        frames = [one for one in extents if isinstance(one, DaskPartition)]
        if frames:
            dask = _check.extra("dask", "dask", "cs.engines.Dask")
            work = dask.delayed(_work, pure=False)
            return list(self.client.compute([work(task, one.id, one.delayed) for one in frames]))
        check_sendable("Dask", extents)
        return list(self.client.map(task, extents, pure=False))


@dataclass(frozen=True, slots=True, eq=False)
class DaskPartition:
    """One partition of a Dask frame; ``delayed`` stands for its rows on the cluster."""

    id: str
    delayed: Any

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        """The rows, computed in this process."""
        yield from parts_of(self.delayed.compute(scheduler="sync"), None)


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """A partition where it is: a pandas frame."""

    id: str
    frame: Any

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        yield from parts_of(self.frame, None)


def current_dask() -> Dask | None:
    """The engine on the cluster that this process is connected to, or None."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else Dask(distributed.get_client())
    except ValueError:
        return None


def dask_partitions(frame: Any) -> list[Extent]:
    """The partitions of a Dask frame."""
    delayed = frame.to_delayed()
    return [
        DaskPartition(f"partition {k + 1} of {len(delayed)}", one) for k, one in enumerate(delayed)
    ]


def _work(task: Task[Any], name: str, frame: Any) -> Returned[Any]:
    return task(_Frame(name, frame))
