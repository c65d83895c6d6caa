"""Searches over rows whose passes are dear: played with guesses until none is left.

See ``look_ahead.py`` for what is guessed. The graph, its score and the whole record of the last
play are those of the plain search, bit for bit; only the number of passes depends on the sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.errors import ConsilienceError
from consilience.statistics.engines.memory import Memory
from consilience.statistics.gather import bytes_guessed, notes_on
from consilience.statistics.request import Answer, DearEngine, Request, is_dear
from consilience.structure.family_scores import family_scores
from consilience.structure.searches.judge import Grounds
from consilience.structure.searches.look_ahead import EnoughGuessed, LookAhead
from consilience.structure.searches.task import Search, SearchResult, Task

__all__ = ["Passes", "found_by"]


class Passes:
    """An engine whose passes are counted.

    Parameters
    ----------
    engine
        Where the rows are.
    """

    def __init__(self, engine: DearEngine) -> None:
        self.engine = engine
        self.n_passes = 0
        self._scout: Table | None = None

    @property
    def schema(self) -> Schema:
        """What the rows are about."""
        return self.engine.schema

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows."""
        self.n_passes += 1
        return self.engine.gather(request)

    def notes_on(self, names: Iterable[str]) -> tuple[str, ...]:
        """What a reader should know about these columns."""
        return notes_on(self.engine, names)

    @property
    def bytes_guessed(self) -> float:
        """How much a search may ask for on a guess."""
        return bytes_guessed(self.engine)

    def scout(self) -> Table:
        """The sample of the rows, taken once."""
        if self._scout is None:
            self.n_passes += 1
            self._scout = self.engine.scout()
        return self._scout


def found_by(search: Search, task: Task) -> SearchResult:
    """The record of a search; over rows whose passes are dear played until nothing was guessed.

    Tests of independence, regressions and logistic fits are not guessed: they ask for the rows.
    """
    is_tables = len(task.strata.names) < len(task.names) and not task.logistic
    by_tests = getattr(search, "by_tests", False)
    if not is_dear(task.engine) or by_tests or not is_tables:
        return search.search(task)
    grounds = Grounds(task.engine, task.strata, task.score, task.names, task.memory_limit)
    scout = Memory(task.engine.scout())
    ahead = LookAhead(grounds, scout, task.n_rows, bytes_guessed(task.engine))
    guarded = replace(task, ahead=ahead, clock=task.clock.guarded(ahead.step))
    found = _played(search, guarded, ahead)
    return replace(found, plays=ahead.n_plays, n_fetched=ahead.n_families)


def _played(search: Search, task: Task, ahead: LookAhead) -> SearchResult:
    chance = task.rng.bit_generator.state
    while True:
        task.rng.bit_generator.state = chance
        ahead.begin()
        try:
            found = search.search(task)
        except EnoughGuessed:
            ahead.fetch()
            continue
        except ConsilienceError:
            if not ahead.has_guessed:
                raise
            ahead.fetch()  # what was guessed may have led to it
            continue
        if not ahead.has_guessed:
            return found
        if found.stopped_by in ("seconds", "interrupt"):
            return _ended_early(found, task)
        ahead.fetch()


def _ended_early(found: SearchResult, task: Task) -> SearchResult:
    """The graph of a play that was cut off, with its exact score and a note."""
    exact = family_scores(task.engine, found.dag, task.score, memory_limit=task.memory_limit)
    note = (
        "The search ended while some scores were guesses from a sample of the rows; the score of "
        "the graph is exact."
    )
    return replace(found, score=float(sum(exact.values())), notes=(*found.notes, note))
