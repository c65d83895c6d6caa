r"""Hill climbing over DAGs, with a tabu list and restarts.

From a start graph the best of all legal moves (add, delete or reverse an arc) is made until none
gains. Only the families of the nodes that a move changed are scored again, and all their neighbors
in one request.

A restart walks away from the best graph and climbs again. The walk first turns covered arcs at
random, which leads to another member of the same equivalence class at no loss (Chickering 1995;
used in this way by Castelo and Kočka 2003): single-arc moves that one member hides are there in
another. Then it makes random moves, or takes all arcs from a few neighboring nodes. Families seen
before cost nothing, so restarts are cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.structure.searches.ceiling import best_possible
from consilience.structure.searches.climber import Climber
from consilience.structure.searches.starts import RandomStart, Start, TreeStart, start_of
from consilience.structure.searches.task import SearchResult, Step, Task

__all__ = ["HillClimb", "climb_repeatedly"]

TURNS_PER_NODE = 4
"""Tries to turn a covered arc, for each node."""

MOST_MOVES = 30
"""Random moves of a restart, at most."""

SHARE_LOCAL = 0.5
"""Share of restarts that take all arcs from a small neighborhood instead of moving at random."""


@dataclass(frozen=True, slots=True)
class HillClimb:
    """Hill climbing: the best single-arc move until none gains, then restarts.

    Gains within 1e-9 of the largest local score are ties and go to the first child, then the first
    parent in the order of the variables' names, so the order of rows, columns and states does not
    matter. An arc that gains nothing is left out.

    Parameters
    ----------
    tabu
        After an optimum, go on with the best move even at a loss until this many moves in a row
        found nothing better; a pair of nodes changed within as many moves is left alone unless that
        gives the best graph so far. 0 stops at the optimum.
    restarts
        How many restarts in a row may find nothing better before the search ends. Over a few
        discrete variables it ends as soon as no graph is better.
    max_parents
        Most parents of a node; no limit if None.
    start
        Where to begin: a graph, ``RandomStart()``, ``TreeStart()`` (the best tree, after Chow and
        Liu), or None for the graph without arcs. Required arcs are added to it and forbidden ones
        left out.
    """

    tabu: int = 10
    restarts: int = 100
    max_parents: int | None = None
    start: DAG | RandomStart | TreeStart | None = None
    has_start: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.whole("HillClimb", at_least=0, tabu=self.tabu, restarts=self.restarts)
        if self.max_parents is not None:
            _check.whole("HillClimb", at_least=0, max_parents=self.max_parents)
        if self.start is not None and not isinstance(self.start, Start):
            raise InputError(
                f"HillClimb: start must be a DAG, RandomStart(), TreeStart() or None, got "
                f"{self.start!r}.",
                parameter="start",
            )

    def search(self, task: Task) -> SearchResult:
        """The best graph of all climbs."""
        scores = task.local_scores(self.max_parents)
        climber = Climber(task, scores, self.max_parents)
        trace: list[Step] = []
        stopped_by = "optimum"
        try:
            climber.place(start_of(self.start, task, scores))
            climber.climb(self.tabu)
            trace.append(climber.reached("first optimum"))
            if self.restarts:
                enough = best_possible(task, scores)
                climb_repeatedly(
                    task, climber, trace, self.tabu, restarts=self.restarts, enough=enough
                )
            if task.clock.is_over():
                stopped_by = "seconds"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
            climber.keep_under_way()
        return task.result(scores, climber.best, trace=trace, stopped_by=stopped_by)


def climb_repeatedly(
    task: Task, climber: Climber, trace: list[Step], tabu: int, *, restarts: int, enough: float
) -> None:
    """Restart until so many restarts in a row were in vain, or a score is reached."""
    in_vain, n_restarts = 0, 0
    while climber.best_score < enough - climber.tie and in_vain < restarts:
        if task.clock.is_over():
            break
        n_restarts += 1
        before = climber.best_score
        _walk_away(climber, task.rng)
        climber.climb(tabu)
        in_vain += 1
        if climber.best_score > before + climber.tie:
            in_vain = 0
            trace.append(climber.reached(f"restart {n_restarts}"))


def _walk_away(climber: Climber, rng: np.random.Generator) -> None:
    """Go back to the best graph and walk away from it at random."""
    climber.restore()
    n_turns = TURNS_PER_NODE * len(climber.best)
    if rng.random() < SHARE_LOCAL:
        climber.walk(rng, n_turns, 0)
        climber.take_out(_neighborhood(climber, rng))
    else:
        climber.walk(rng, n_turns, int(rng.integers(0, MOST_MOVES + 1)))
    climber.settle()


def _neighborhood(climber: Climber, rng: np.random.Generator) -> list[int]:
    """A node and up to two of its neighbors."""
    node = int(rng.integers(len(climber.best)))
    others = rng.permutation(np.array(climber.joined(node), np.int64))
    return [node, *others[: rng.integers(0, 3)].tolist()]
