"""Processes of one machine, which may die: each works on one part at a time behind its own pipe.

A process is started anew and never forked, so it waits for nothing that threads of this one hold.
No queue is shared and no thread minds the processes: who asks waits for all pipes at once, and a
process that dies closes its pipe. Those with nothing to do are kept for the next request of any
thread; a fork of this process leaves them to its parent.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from traceback import format_exception
from typing import Any

from consilience import _check
from consilience.data.extents import Extent
from consilience.errors import ConsilienceError, InputError, WorkerError
from consilience.statistics.engines.ledger import Returned
from consilience.statistics.engines.runners import MOST_DEATHS, PATIENCE, check_sendable, late
from consilience.statistics.engines.tasks import Task

__all__ = ["Processes"]

READY = "ready"

MOST_WAIT = 1e6
"""Seconds of one wait: the system counts its milliseconds in 32 bits."""


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
        _check_may_start()
        return _answers(_packed(task), extents, self.n or os.cpu_count() or 1, self.patience)


@dataclass(frozen=True, slots=True)
class _Failed:
    """What a process says when its part raises an error: that, and the lines that led to it."""

    error: Exception
    lines: str = ""


@dataclass(eq=False, slots=True)
class _Worker:
    """A process, and this end of its pipe."""

    process: BaseProcess
    pipe: Connection
    is_ready: bool = False

    def send(self, packed: bytes, extent: Extent) -> None:
        """Hand over a part; that the process is dead is found when its answer is read."""
        with suppress(OSError):
            self.pipe.send_bytes(packed)
            self.pipe.send(extent)

    def read(self) -> Any:
        """What the process says; None if it is dead."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


_IDLE: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)


def _check_may_start() -> None:
    if current_process().daemon:
        raise InputError(
            "Processes cannot be started here: this is a process of a pool itself. Use "
            "cs.engines.Threads(n).",
            parameter="engine",
        )


def _packed(task: Task[Any]) -> bytes:
    try:
        return pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"Processes: what is asked of the rows cannot be sent to another process ({error}). "
            "Classes and functions of your own must stand at the top of a module.",
            parameter="engine",
        ) from None


def _answers(
    packed: bytes, extents: list[Extent], n: int, patience: float
) -> Iterator[Returned[Any]]:
    left, busy, n_deaths = deque(extents), dict[_Worker, Extent](), Counter[str]()
    due = time.monotonic() + patience
    try:
        while left or busy:
            while left and len(busy) < n:
                worker, extent = _taken(), left.popleft()
                busy[worker] = extent
                if worker.is_ready:
                    worker.send(packed, extent)
            for worker in _heard(busy, due):
                said = worker.read()
                if said == READY:
                    worker.is_ready = True
                    worker.send(packed, busy[worker])
                elif said is None:
                    lost = busy.pop(worker)
                    worker.end()
                    n_deaths[lost.id] += 1
                    left.append(lost)
                    _check_deaths(n_deaths, [*left, *busy.values()])
                else:
                    del busy[worker]
                    _IDLE.append(worker)
                    yield _answer(said)
                    due = time.monotonic() + patience
            if time.monotonic() >= due:
                raise late("Processes", patience, sorted(one.id for one in [*busy.values(), *left]))
    finally:
        for worker in busy:
            worker.end()


def _taken() -> _Worker:
    """A process with nothing to do, or a new one."""
    while True:
        try:
            worker = _IDLE.pop()
        except IndexError:
            return _started()
        if worker.process.is_alive():
            return worker
        worker.end()


def _started() -> _Worker:
    """A new process, which says when it is ready."""
    spawning = get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(there,), daemon=True)
    with _interrupts_held():
        process.start()
    there.close()
    return _Worker(process, here)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """What is started meanwhile is deaf to Ctrl-C, which a terminal sends to all processes."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _heard(busy: dict[_Worker, Extent], due: float) -> list[_Worker]:
    """The processes that have said something or have died, as soon as there is one."""
    seconds = min(max(due - time.monotonic(), 0.0), MOST_WAIT)
    ready = wait([worker.pipe for worker in busy], seconds)
    return [worker for worker in busy if worker.pipe in ready]


def _check_deaths(n_deaths: Counter[str], missing: list[Extent]) -> None:
    ((part, n),) = n_deaths.most_common(1)
    if n > MOST_DEATHS:
        names = _check.listed([one.id for one in missing])
        raise WorkerError(
            f"processes died {n} times; parts that did not come back: {names}. A script must keep "
            'its own work below if __name__ == "__main__":',
            part=part,
        )


def _answer(said: Any) -> Returned[Any]:
    if isinstance(said, _Failed):
        if said.lines:
            said.error.add_note(f"In a process of cs.engines.Processes:\n{said.lines}")
        raise said.error
    return said


def _serve(pipe: Connection) -> None:
    """The life of a process: parts come in, answers go out, until nobody holds the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        pipe.send(READY)
        while True:
            pipe.send(_worked(pipe.recv_bytes(), pipe.recv()))


def _worked(packed: bytes, extent: Extent) -> Returned[Any] | _Failed:
    try:
        return pickle.loads(packed)(extent)
    except ConsilienceError as error:
        return _Failed(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where it was asked for
        return _Failed(_sendable(error), "".join(format_exception(error)))


def _sendable(error: Exception) -> Exception:
    """The error if it can be packed, else one that tells of it."""
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - a class may do anything there
        return WorkerError(f"a process failed: {error!r}.")
