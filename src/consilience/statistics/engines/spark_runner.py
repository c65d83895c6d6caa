"""The engine on Spark, and Spark frames as rows.

Files are read by Spark's Python workers, which get paths and never rows. A frame that lives only in
Spark is mapped partition by partition (``mapInArrow``); what comes back are statistics. What a task
itself refuses comes back as a value, so that an error of Spark is one of its workers: the parts
that are missing are then asked for again, at most three times. While a request is under way its
finished parts are looked at, and it is ended when none has come for some time.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any
from uuid import uuid4

import pyarrow as pa

from consilience import _check
from consilience.data.extents import Extent
from consilience.data.parts import Part, arrow_part
from consilience.errors import ConsilienceError, InputError, WorkerError
from consilience.statistics.engines.ledger import Returned
from consilience.statistics.engines.runners import (
    MOST_DEATHS,
    PATIENCE,
    check_sendable,
    late,
)
from consilience.statistics.engines.tasks import Task

__all__ = ["Spark", "spark_partitions"]

_FAILURE = re.compile(r"\w+(Error|Exception): ")


@dataclass(frozen=True, slots=True)
class Spark:
    """Workers of Spark.

    Parameters
    ----------
    session
        A ``SparkSession``; its workers must see the files under the same paths, and have this
        library installed.
    patience
        Seconds for which no part may be finished before the request ends with an error that names
        those that are missing.
    """

    session: Any
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        _check.positive("Spark", patience=self.patience)
        sql = _check.extra("pyspark.sql", "spark", "cs.engines.Spark")
        if not isinstance(self.session, sql.SparkSession):
            raise InputError(
                "Spark: session must be a SparkSession, got one of type "
                f"{type(self.session).__name__}.",
                parameter="session",
            )

    @classmethod
    def at(cls, master: str) -> Spark:
        """The workers of this master, ``"local[4]"`` or the address of one."""
        sql = _check.extra("pyspark.sql", "spark", "cs.engines.Spark")
        return cls(sql.SparkSession.builder.master(master).getOrCreate())

    def run(self, task: Task[Any], extents: list[Extent]) -> Iterator[Returned[Any]]:
        """The answers of a task for all extents, when all of them are ready."""
        errors = _check.extra("pyspark.errors", "spark", "cs.engines.Spark")
        bridge = _check.extra("py4j.protocol", "spark", "cs.engines.Spark")
        n_deaths = 0
        while True:
            watch = _Watch(self.session.sparkContext, self.patience)
            try:
                with watch:
                    found = self._answers(task, extents)
                yield from map(_checked, found)
            except (errors.PySparkException, bridge.Py4JError) as problem:
                if watch.is_late:
                    raise late("Spark", self.patience, [one.id for one in extents]) from problem
                _check_failure(str(problem))
                n_deaths += 1
                if n_deaths > MOST_DEATHS:
                    raise WorkerError(
                        f"workers of Spark died {n_deaths} times; parts that did not come back: "
                        f"{_check.listed(one.id for one in extents)}.",
                        part=extents[0].id,
                    ) from problem
            else:
                return

    def _answers(self, task: Task[Any], extents: list[Extent]) -> list[Any]:
        first = extents[0] if extents else None
        if isinstance(first, SparkPartition):
            rows = first.frame.mapInArrow(_OnPartition(task, len(extents)), "answer binary")
            return [pickle.loads(row.answer) for row in rows.collect()]
        check_sendable("Spark", extents)
        context = self.session.sparkContext
        return list(context.parallelize(extents, max(1, len(extents))).map(_Safely(task)).collect())


@dataclass(frozen=True, slots=True, eq=False)
class SparkPartition:
    """One partition of a Spark frame, which only Spark's workers can read."""

    id: str
    frame: Any

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        """Refused: rows stay in Spark."""
        raise InputError(
            "the rows of a Spark frame stay in Spark. Write them to parquet first, or take "
            "cs.read(frame.toArrow())."
        )


def spark_partitions(frame: Any) -> list[Extent]:
    """The partitions of a Spark frame."""
    n = frame.rdd.getNumPartitions()
    return [SparkPartition(_name(k, n), frame) for k in range(n)]


def _name(k: int, n: int) -> str:
    return f"partition {k + 1} of {n}"


@dataclass(frozen=True, slots=True)
class _Safely:
    """A task whose refusals are values."""

    task: Task[Any]

    def __call__(self, extent: Extent) -> Returned[Any] | ConsilienceError:
        try:
            return self.task(extent)
        except ConsilienceError as problem:
            return problem


@dataclass(frozen=True, slots=True)
class _OnPartition:
    """A task on the record batches of the partition that a worker is at."""

    task: Task[Any]
    n_partitions: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        extent = _SparkBatches(_name(context.partitionId(), self.n_partitions), batches)
        answer = pickle.dumps(_Safely(self.task)(extent))
        yield pa.RecordBatch.from_arrays([pa.array([answer], pa.binary())], ["answer"])


@dataclass(frozen=True, slots=True, eq=False)
class _SparkBatches:
    """A partition where it is: record batches."""

    id: str
    batches: Iterable[Any]

    def parts(self, wanted: Collection[str] | None) -> Iterator[Part]:
        for batch in self.batches:
            yield arrow_part(pa.Table.from_batches([batch]))


class _Watch:
    """Cancels what Spark does for a block if it finishes nothing for some time."""

    def __init__(self, context: Any, patience: float) -> None:
        self.is_late = False
        self._context, self._patience = context, patience
        self._tag = f"consilience-{uuid4().hex}"
        self._is_done = Event()
        self._thread = Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._context.addJobTag(self._tag)
        self._thread.start()

    def __exit__(self, *problem: object) -> None:
        self._is_done.set()
        self._thread.join()
        self._context.removeJobTag(self._tag)

    def _look(self) -> None:
        last, before = monotonic() + self._patience, self._finished()
        while not self._is_done.wait(min(1.0, self._patience)):
            now = self._finished()
            if now != before:
                last, before = monotonic() + self._patience, now
            elif monotonic() > last:
                self.is_late = True
                self._context.cancelJobsWithTag(self._tag)
                return

    def _finished(self) -> list[tuple[int, int]]:
        """The stages under way and how many tasks each has finished."""
        tracker = self._context.statusTracker()
        stages = [(stage, tracker.getStageInfo(stage)) for stage in tracker.getActiveStageIds()]
        return [(stage, info.numCompletedTasks) for stage, info in stages if info is not None]


def _check_failure(said: str) -> None:
    """Refuse to begin anew what did not die but fails in Python."""
    if "Traceback (most recent call last)" not in said:
        return
    lines = [line for line in said.splitlines() if _FAILURE.match(line)]
    raise WorkerError(
        f"a worker of Spark failed: {lines[0] if lines else 'no reason was given'}. Workers need "
        "this library and the Python of this process; the variable PYSPARK_PYTHON names theirs."
    )


def _checked(answer: Returned[Any] | ConsilienceError) -> Returned[Any]:
    if isinstance(answer, ConsilienceError):
        raise answer
    return answer
