r"""How many votes an arc needs, without knowledge of the truth.

- :class:`Majority`: more than half of the votes that could be cast. It needs graphs only.
- :class:`BestScore`: of the graphs :math:`G_t` that the different thresholds give, the one with the
  best score on the statistics :math:`N_f` of all sources,

  .. math:: \hat t = \arg\max_t \sum_{X} \max\Bigl( \mathrm{score}(X \mid \mathrm{Pa}_t;\,
      N_1 + \dots + N_K),\; \sum_f \mathrm{score}(X \mid \mathrm{Pa}_t;\, N_f) \Bigr) ,

  and of equal ones the highest threshold. Each family is judged with parameters that all sources
  share or with parameters of each source's own, whichever the rows favour: where sources are alike,
  all rows speak together; where they differ, the difference is not taken for an arc. (With shared
  parameters alone, sources that diverge make dense graphs score best.) It needs the statistics of
  the sources, not rows; and all sources must have all variables, since scores on different rows
  cannot be compared.

``experiments/fusion.md`` has how far both are from the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from consilience.data.table import Table
from consilience.errors import InputError
from consilience.fusion.votes import Votes
from consilience.graph.dag import DAG
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.structure.scores.likelihood import BIC
from consilience.structure.scores.score import Score, check_score
from consilience.structure.scores.source_scores import PerSource
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.local import LocalScores

__all__ = ["BestScore", "Majority", "Rule"]

TOLERANCE = 1e-12  # of scores that are equal but for rounding


class Rule(Protocol):
    """How the threshold is chosen."""

    def threshold(
        self, votes: Votes, graph_at: Callable[[float], DAG], rows: Table | None
    ) -> float:
        """The threshold, in votes of all sources.

        ``rows`` are those of all sources together, complete; None if there are none that can be
        scored.
        """
        ...


@dataclass(frozen=True, slots=True)
class Majority:
    """More than half of the votes.

    Examples
    --------
    >>> from consilience.fusion.voters import Voter
    >>> from consilience.fusion.votes import ArcVotes, count_votes
    >>> voters = [Voter(name, DAG([("a", "b")])) for name in "xyz"]
    >>> Majority().threshold(count_votes(voters, ArcVotes(), {"x": 1, "y": 1, "z": 1}))
    2.0
    """

    def threshold(
        self,
        votes: Votes,
        graph_at: Callable[[float], DAG] | None = None,
        rows: Table | None = None,
    ) -> float:
        """The least whole number above half of the sources; where votes are fractions, the lowest
        level above half.
        """
        n_sources = len(votes.weights)
        if all(float(level).is_integer() for level in votes.levels):
            return math.floor(n_sources / 2) + 1.0
        above = [level for level in votes.levels if level > n_sources / 2]
        return min(above, default=float(n_sources))


@dataclass(frozen=True, slots=True)
class BestScore:
    """The threshold whose graph has the best score on the statistics of all sources.

    Parameters
    ----------
    score
        How families are judged. One that keeps the sources apart itself, such as ``BHD()``, is
        taken as it is.
    shared
        Whether all sources must share their parameters; otherwise each family may have parameters
        by source where that scores better (but logistic nodes share theirs).
    """

    score: Score = field(default_factory=BIC)
    shared: bool = False

    def __post_init__(self) -> None:
        check_score("BestScore", self.score)

    def threshold(
        self, votes: Votes, graph_at: Callable[[float], DAG], rows: Table | None
    ) -> float:
        """The highest threshold of those whose graph scores best."""
        if rows is None:
            raise InputError(
                "BestScore: the graphs cannot be scored, since not all sources have rows of all "
                "variables. Use threshold=cs.fusion.Majority() or a number.",
                parameter="threshold",
            )
        judges = self._judges(rows)
        every = float(len(votes.weights))
        best, found = -math.inf, every
        for level in sorted({*votes.levels, every}):
            score = _judged(graph_at(level), judges, rows)
            if score >= best - TOLERANCE * abs(score):
                best, found = max(best, score), level
        return found

    def _judges(self, rows: Table) -> list[LocalScores]:
        """The scores that each family may be judged by."""
        engine, names = engine_of(rows), sorted(rows.variables)
        scores = [self.score]
        if not (self.shared or self.score.by_source):
            scores.append(PerSource(self.score))
        return [
            LocalScores(
                engine,
                score,
                Constraints.of(names),
                max_parents=None,
                memory_limit=MEMORY_LIMIT,
            )
            for score in scores
        ]


def _judged(dag: DAG, judges: Sequence[LocalScores], rows: Table) -> float:
    """Score of a graph, every family by the judge that scores it best."""
    place = {name: i for i, name in enumerate(judges[0].names)}
    total = 0.0
    for node in dag.nodes:
        parents = sum(1 << place[parent] for parent in dag.parents(node))
        able = judges[:1] if _is_logistic(dag, node, rows) else judges
        total += max(judge.one(place[node], parents) for judge in able)
    return total


def _is_logistic(dag: DAG, node: str, rows: Table) -> bool:
    """Whether a discrete node has continuous parents, which no score judges by source."""
    has_continuous = any(rows.variables[p].is_continuous for p in dag.parents(node))
    return has_continuous and not rows.variables[node].is_continuous
