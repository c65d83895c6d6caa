"""What every search is given, and what it gives back.

Variables are numbered in the order of their names, so that ties, which are broken by number, do not
depend on the order of the columns. A set of parents is a whole number whose bit ``i`` stands for
variable ``i``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from consilience import _check, _freeze
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.scores.score import Score
from consilience.structure.searches.class_masks import bits
from consilience.structure.searches.constraint_record import ConstraintRecord
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.judge import Ahead
from consilience.structure.searches.local import LocalScores

__all__ = ["Clock", "Progress", "Search", "SearchResult", "Step", "Task"]

Progress: TypeAlias = Callable[[float | None, str], None]
"""Called now and then with the share that is done (None if nobody knows) and what was reached."""

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a trace: what was reached, after how much work."""

    score: float
    n_scored: int
    note: str


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What a search found, and how.

    Attributes
    ----------
    dag
        The best graph; nodes in the order of the table's variables.
    cpdag
        Its equivalence class; of a search by tests what the tests and background knowledge found,
        which may leave more open.
    score
        Score of the graph: the sum over its families. For structural EM that of what was observed.
    trace
        What was reached on the way, best last.
    n_scored
        Number of families that were scored.
    stopped_by
        Why the search ended: ``"optimum"`` (of its kind: local or exact), ``"seconds"``,
        ``"interrupt"``, ``"effort"`` (of :class:`Sweep`), or ``"iterations"`` of structural EM.
    seconds
        Time it took.
    notes
        What the reader should know, such as families left out because they were too large.
    searched_by
        The search: the one that was chosen, or the default one, ``Exact()`` or ``Sweep()``.
    judged_by
        The score in words, and how rows with gaps were dealt with if there are any.
    n_rows
        For each node, the weight of the rows by which its family was judged.
    by_source
        For each node how its family depends on the source, if the score is :class:`BySource` and
        there are several sources: ``"pooled"``, ``"by source"``, ``"tied"`` or ``"intercepts by
        source"``. Empty otherwise.
    tests
        Of a search by tests of independence: which test removed which edge, and what is open.
    passes
        How often the rows were read, if they are not in memory; the sample of them included.
    n_fetched
        Number of families whose statistics were asked for in these passes.
    plays
        How often the search was played, with guesses but for the last time.
    """

    dag: DAG
    cpdag: CPDAG
    score: float
    trace: tuple[Step, ...]
    n_scored: int
    stopped_by: str
    seconds: float
    notes: tuple[str, ...] = ()
    searched_by: str = ""
    judged_by: str = ""
    n_rows: Mapping[str, float] = field(default_factory=dict)
    by_source: Mapping[str, str] = field(default_factory=dict)
    tests: ConstraintRecord | None = None
    passes: int = 0
    n_fetched: int = 0
    plays: int = 1

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"SearchResult(score {self.score:.6g}, {len(self.dag.arcs)} arcs, "
            f"{self.n_scored} families scored, stopped by {self.stopped_by})"
        )


class Clock:
    """The budget of one search and its line to whoever watches."""

    def __init__(self, seconds: float | None = None, progress: Progress | None = None) -> None:
        self._start = time.monotonic()
        self._end = float("inf") if seconds is None else self._start + seconds
        self._progress = progress
        self._last = 0.0
        self._guard: Callable[[], None] | None = None

    def guarded(self, guard: Callable[[], None]) -> Clock:
        """The same clock, which calls the guard whenever something is told."""
        other = copy(self)
        other._guard = guard  # noqa: SLF001 - its own kind
        return other

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._start

    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() >= self._end

    def tell(self, share: float | None, reached: Callable[[], str]) -> None:
        """Report progress, but not more often than a person can read."""
        if self._guard is not None:
            self._guard()
        if self._progress is None:
            return
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_REPORTS:
            self._last = now
            self._progress(share, reached())


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The question a search has to answer: rows, score, constraints, chance and time.

    ``n_rows`` is the weight of all rows, ``strata`` the moments of the continuous variables, and
    ``logistic`` whether continuous variables may have discrete children. ``ahead`` gives the scores
    of tables while the search is played with guesses.
    """

    engine: Engine
    score: Score
    constraints: Constraints
    rng: np.random.Generator
    clock: Clock
    memory_limit: float
    n_rows: float
    strata: Strata
    logistic: bool = False
    ahead: Ahead | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, sorted; positions in it are the numbers that searches work with."""
        return self.constraints.names

    @property
    def has_one_kind(self) -> bool:
        """Whether all variables are discrete or all are continuous."""
        return len(self.strata.names) in (0, len(self.names))

    @property
    def is_equivalent(self) -> bool:
        """Whether all graphs of an equivalence class have the same score.

        The logistic regression of a discrete child is not the same model as the regressions of its
        continuous parent turned round.
        """
        return self.score.score_equivalent and (self.has_one_kind or not self.logistic)

    def local_scores(self, max_parents: int | None = None) -> LocalScores:
        """A fresh cache of local scores for one search."""
        return LocalScores(
            self.engine,
            self.score,
            self.constraints,
            max_parents=max_parents,
            memory_limit=self.memory_limit,
            strata=self.strata,
            ahead=self.ahead,
        )

    def result(
        self,
        scores: LocalScores,
        parents: Sequence[int],
        *,
        trace: Sequence[Step],
        stopped_by: str,
        notes: Sequence[str] = (),
    ) -> SearchResult:
        """The record of a search that ends at the graph with these sets of parents."""
        dag = self.to_dag(parents)
        return SearchResult(
            dag,
            CPDAG.of(dag),
            scores.total(parents),
            tuple(trace),
            scores.n_scored,
            stopped_by,
            self.clock.seconds,
            (*self._notes(), *scores.notes(), *notes),
        )

    def _notes(self) -> list[str]:
        if self.has_one_kind or self.logistic:
            return []
        names = _check.listed(self.strata.names)
        return [
            f"Arcs from continuous variables ({names}) to discrete ones were left out; "
            "logistic=True lets them in, by logistic regression."
        ]

    def to_dag(self, parents: Sequence[int]) -> DAG:
        """The graph with these sets of parents; nodes in the order of the table."""
        names = self.names
        family = {
            names[child]: [names[i] for i in bits(mask)] for child, mask in enumerate(parents)
        }
        nodes = [name for name in self.engine.schema.variables if name in family]
        return DAG([(parent, node) for node in nodes for parent in family[node]], nodes)

    def to_parents(self, dag: DAG) -> list[int]:
        """Sets of parents of a graph over the same variables."""
        place = {name: i for i, name in enumerate(self.names)}
        return [sum(1 << place[parent] for parent in dag.parents(name)) for name in self.names]


class Search(Protocol):
    """How graphs are looked through."""

    def search(self, task: Task) -> SearchResult:
        """The best graph found, with the story of the search."""
        ...
