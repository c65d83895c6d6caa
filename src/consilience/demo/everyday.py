"""Everyday work on a few made-up rows, so that its loops are compiled.

Each task is a use of the public interface. What they do not touch (exact searches, hierarchical
posteriors, moments of long tables) is compiled when it is first used.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import consilience as cs
from consilience.demo.hospitals import STATES, save_hospitals
from consilience.kernels.watching import on_compiling

__all__ = ["TASKS", "Warm", "warm_up"]

N_ROWS, NAMES = 400, "abcdef"


@dataclass(frozen=True, slots=True)
class Warm:
    """The kernels that were compiled, in this order, and how long all tasks took."""

    kernels: tuple[str, ...]
    seconds: float


def warm_up(progress: Callable[[float | None, str], None]) -> Warm:
    """Do each of the tasks once; ``progress`` is told the share done and the task at hand."""
    start, names = time.perf_counter(), list[str]()
    with on_compiling(names.append):
        for done, (words, task) in enumerate(TASKS.items()):
            progress(done / len(TASKS), words)
            task()
    return Warm(tuple(dict.fromkeys(names)), time.perf_counter() - start)


def _one_source() -> None:
    table = _rows(gaps=False)
    _ask(cs.fit(cs.learn(table), table), table)


def _several_sources() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in save_hospitals(Path(folder))]
        table = cs.read({path.stem: path for path in paths}, states=STATES)
    _ask(cs.fit(cs.learn(table), table), table)


def _gaps() -> None:
    table = _rows(gaps=True)
    cs.impute(cs.fit(cs.learn(table), table), table)


def _numbers() -> None:
    rng = np.random.default_rng(1)
    ill = rng.integers(0, 2, N_ROWS)
    age = rng.normal(50, 10, N_ROWS)
    pressure = 100 + 0.5 * age + 10 * ill + rng.normal(0, 5, N_ROWS)
    frame = {"ill": np.array(["no", "yes"])[ill], "age": age, "pressure": pressure}
    table = cs.read(frame)
    net = cs.fit(cs.learn(table), table)
    _ask(net, table)


def _classifiers() -> None:
    table = _rows(gaps=False)
    for dag in (cs.naive_bayes(table, target=NAMES[0]), cs.tan(table, target=NAMES[0])):
        cs.fit(dag, table).posteriors(table, NAMES[0])


def _rows(*, gaps: bool) -> cs.Table:
    """A chain of six columns of two and three states, of which a tenth may be missing."""
    rng = np.random.default_rng(1)
    columns: dict[str, list[str | None]] = {}
    codes = rng.integers(0, 6, N_ROWS)
    for i in range(6):
        codes = np.where(rng.random(N_ROWS) < 0.3, rng.integers(0, 6, N_ROWS), codes)
        lost = rng.random(N_ROWS) < (0.1 if gaps else 0.0)
        states = codes % (2 + i % 2)
        columns[NAMES[i]] = [None if gone else str(s) for s, gone in zip(states, lost, strict=True)]
    return cs.read(columns)


def _ask(net: cs.Network, table: cs.Table) -> None:
    name = next(name for name, v in net.variables.items() if not v.is_continuous)
    state = net.variables[name].discrete_states[0]
    other = next(other for other in net.variables if other not in (name, net.source))
    net.marginals(given={name: state})
    net.query(other, given={name: state})
    net.probability({name: state})
    net.mpe(given={name: state})
    net.log_likelihood(table)
    net.posteriors(table, name)
    net.sample(N_ROWS, seed=1)
    net.sample(N_ROWS, given={name: state}, seed=1)


TASKS: dict[str, Callable[[], None]] = {
    "one source": _one_source,
    "several sources": _several_sources,
    "rows with gaps": _gaps,
    "numbers": _numbers,
    "classifiers": _classifiers,
}
