"""Topics, trials and claims: every trial has a seed of its own, and a failure says it.

A *topic* makes one case of a seed; its *claims* are checked on that case, each by itself, so that
a claim that fails hides none of the others. A claim answers how many inputs it tried.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Claim = Callable[[Any], int]


class Skipped(Exception):  # noqa: N818 - it is no error
    """The claim cannot be tried here; the message says why."""


@dataclass(frozen=True)
class Topic:
    """One case a seed, and what must hold of it.

    ``prepare`` gets a seed and a folder of its own; ``n_trials`` cases are a budget of one.
    """

    name: str
    prepare: Callable[[int, Path], Any]
    claims: Mapping[str, Claim]
    n_trials: int


@dataclass(frozen=True)
class Failure:
    """The seed of a case, the first line of what went wrong, and the whole traceback."""

    seed: int
    reason: str
    trace: str


@dataclass
class Row:
    """What became of one claim of a topic."""

    topic: str
    claim: str
    n_inputs: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    skipped: str = ""


def run(
    topics: Sequence[Topic], *, seed: int, budget: float, only: Sequence[str] = ()
) -> Iterator[Row]:
    """The rows of the table, topic by topic; ``only`` are names ``topic`` or ``topic:claim``."""
    for topic in topics:
        chosen = [c for c in topic.claims if not only or _is_asked(topic.name, c, only)]
        if chosen:
            yield from _run_topic(topic, chosen, seed, max(1, round(topic.n_trials * budget)))


def _is_asked(topic: str, claim: str, only: Iterable[str]) -> bool:
    return any(one in (topic, f"{topic}:{claim}") for one in only)


def _run_topic(topic: Topic, claims: Sequence[str], seed: int, n_trials: int) -> list[Row]:
    rows = {claim: Row(topic.name, claim) for claim in claims}
    for trial_seed in range(seed, seed + n_trials):
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            case = topic.prepare(trial_seed, Path(folder))
            for claim, row in rows.items():
                if not row.skipped:
                    _try(topic.claims[claim], case, row, trial_seed)
    return list(rows.values())


def _try(claim: Claim, case: Any, row: Row, seed: int) -> None:
    start = cpu_seconds()
    try:
        row.n_inputs += claim(case)
    except Skipped as reason:
        row.skipped = str(reason)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure of this seed
        row.n_inputs += 1
        said = " ".join(str(error).split())[:300]
        failure = Failure(seed, f"{type(error).__name__}: {said}", traceback.format_exc())
        row.failures.append(failure)
    row.seconds += cpu_seconds() - start


def cpu_seconds() -> float:
    """Processor time of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def table(rows: Sequence[Row]) -> str:
    """All claims with what was tried, what failed and how long it took."""
    width = max(len(f"{row.topic}:{row.claim}") for row in rows)
    lines = [f"{'topic:claim':{width}}   inputs  failures  CPU seconds"]
    for row in rows:
        note = f"  skipped: {row.skipped}" if row.skipped else ""
        lines.append(
            f"{f'{row.topic}:{row.claim}':{width}}  {row.n_inputs:7,}  {len(row.failures):8,}  "
            f"{row.seconds:11.1f}{note}"
        )
    n_inputs, seconds = sum(r.n_inputs for r in rows), sum(r.seconds for r in rows)
    n_failures = sum(len(r.failures) for r in rows)
    lines.append(f"{'all':{width}}  {n_inputs:7,}  {n_failures:8,}  {seconds:11.1f}")
    return "\n".join(lines)


def story(row: Row, failure: Failure) -> str:
    """One failure: what went wrong and the way to see it again."""
    again = f"python -m torture --only {row.topic}:{row.claim} --seed {failure.seed} --budget 0"
    return f"{row.topic}:{row.claim}, seed {failure.seed}: {failure.reason}\n    again: {again}"
