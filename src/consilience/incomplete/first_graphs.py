"""Graphs that structural EM begins with: found without completing any row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience._typing import Floats
from consilience.errors import ModelError
from consilience.graph.dag import DAG
from consilience.structure.scores.node_average import PNAL
from consilience.structure.scores.score import Batch, Score, batch_of
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.starts import Start, start_of
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["RESTARTS", "FirstGraphs"]

RESTARTS = 20
"""Restarts in vain of the search for a first graph, and of the default search."""


@dataclass(frozen=True, slots=True, eq=False)
class FirstGraphs:
    """The graphs to begin with: the given one; or that of the complete rows, those found with
    prices of PNAL if all variables are discrete, and the one without arcs.

    Parameters
    ----------
    start
        The given one, if any.
    task
        The task of a search on the rows with gaps, by score.
    of_complete_rows
        The search on the complete rows, if they are enough.
    max_parents
        The most parents.
    is_discrete
        Whether all variables are discrete.
    """

    start: Start | None
    task: Callable[[Score], Task]
    of_complete_rows: Callable[[], SearchResult] | None
    max_parents: int | None
    is_discrete: bool

    def __call__(self, prices: Sequence[float]) -> Iterator[tuple[DAG, bool]]:
        """The graphs in turn, each once, and whether looking for it was interrupted."""
        start = self.start
        if start is not None:
            yield self._begun(_Indifferent() if isinstance(start, DAG) else PNAL()), False
            return
        seen: list[DAG] = []
        for dag, is_cut in self._candidates(prices):
            if dag not in seen:
                seen.append(dag)
                yield dag, is_cut

    def _candidates(self, prices: Sequence[float]) -> Iterator[tuple[DAG, bool]]:
        if self.of_complete_rows is not None:
            result = self.of_complete_rows()
            yield result.dag, result.stopped_by == "interrupt"
        if self.is_discrete:
            yield from map(self._found, prices)
        else:
            yield self._begun(_Indifferent()), False

    def _begun(self, score: Score) -> DAG:
        one = self.task(score)
        return one.to_dag(start_of(self.start, one, one.local_scores(self.max_parents)))

    def _found(self, price: float) -> tuple[DAG, bool]:
        climb = HillClimb(restarts=RESTARTS, max_parents=self.max_parents)
        try:
            result = climb.search(self.task(PNAL(c=price)))
        except ModelError:  # no row is complete for a family that is required, but EM can fit it
            return self._begun(_Indifferent()), False
        return result.dag, result.stopped_by == "interrupt"


@dataclass(frozen=True, slots=True)
class _Indifferent:
    """Every family is as good as any other: for a graph that is taken as it is given."""

    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False
    needs_complete_rows: ClassVar[bool] = False

    def local(self, batch: Batch) -> Floats:
        """Zero for each family."""
        return np.zeros(len(batch_of(batch)))
