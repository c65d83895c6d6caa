r"""The best graph of all, by dynamic programming over sets of variables.

Some node of a graph has no children. In a best graph over the variables S it is the X for which

.. math:: \max_{X \in S} \; \mathrm{best}(S \setminus X)
    + \max_{P \subseteq S \setminus X} \mathrm{score}(X \mid P)

is reached, where best(S) is the score of the best graph over S. Both maxima are filled in from the
smallest sets up, for all :math:`2^p` sets.

References
----------
T. Silander, P. Myllymäki (2006). A simple approach for finding the globally optimal Bayesian
network structure. Proceedings of UAI 22.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import ModelError
from consilience.kernels.lattice import best_of_sets, best_of_subsets
from consilience.structure.searches.family_sets import scores_by_set
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.interruption import Story, beat, begin_with, told
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.parent_sets import required_sets, tie_of
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["Exact"]

MEMORY = 2**32
"""Bytes; enough for 25 variables."""

SETS_PER_STEP = 1 << 20

FEW_VARIABLES = 10
"""Up to so many the search is over so soon that it need not begin with another one."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The graph of the best score; time and memory double with every variable, up to 25.

    Among graphs of equal score (within 1e-9 of the largest local score) late names are children
    rather than parents and parents are few. If time runs out or the search is interrupted, the
    result is the graph that hill climbing found at the beginning; up to ten variables, where the
    whole search takes no longer than that, the graph of the required arcs.

    Parameters
    ----------
    max_parents
        Most parents of a node; no limit if None. A limit makes scoring faster.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("abab") * 5, "z": list("abba") * 5})
    >>> cs.learn(table, search=cs.Exact()).arcs  # z tells whether x and y are equal
    (('x', 'z'), ('y', 'z'))
    """

    max_parents: int | None = None

    def __post_init__(self) -> None:
        if self.max_parents is not None:
            _check.whole("Exact", at_least=0, max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """A graph that no other one beats."""
        p = len(task.names)
        _check.memory(
            f"exact search over {p} variables",
            8.0 * ((p + 5) * 2.0 ** (p - 1)),
            MEMORY,
            "Use fewer variables, or cs.searches.AStar(max_parents=3), cs.searches.OrderSearch() "
            "or cs.HillClimb().",
        )
        scores = task.local_scores(self.max_parents)
        story = Story(required_sets(task))
        return told(task, scores, story, lambda: self._work(task, scores, story))

    def _work(self, task: Task, scores: LocalScores, story: Story) -> None:
        if len(task.names) > FEW_VARIABLES:
            climb = HillClimb(restarts=0, max_parents=self.max_parents)
            begin_with(climb, task, scores, story, note="hill climbing")
        story.keep(_best_graph(task, scores), scores, "best of all")


def _best_graph(task: Task, scores: LocalScores) -> list[int]:
    p = len(task.names)
    tie = tie_of(task, scores)
    of_child = np.empty((p, 1 << p - 1))
    for child, values in enumerate(scores_by_set(task, scores)):
        best_of_subsets(values)
        of_child[child] = values
        beat(task.clock, None, lambda: "looking for the best parents")
    best = np.empty(1 << p)
    for start in range(0, 1 << p, SETS_PER_STEP):
        best_of_sets(of_child, best, start, min(start + SETS_PER_STEP, 1 << p))
        beat(task.clock, start / (1 << p), lambda: "looking for the best order")
    parents = _traced(of_child, best, tie)
    _check_equivalence(task, best[-1], scores.total(parents))
    return parents


def _traced(of_child: Floats, best: Floats, tie: float) -> list[int]:
    """Sets of parents of the best graph, from its last node to its first."""
    p = len(of_child)
    parents = [0] * p
    members = len(best) - 1
    while members:
        child = next(
            x
            for x in reversed(range(p))
            if members >> x & 1
            and _score_as_last(of_child, best, members, x) >= best[members] - tie
        )
        members ^= 1 << child
        least = of_child[child, _place(members, child)] - tie
        kept = members
        for x in reversed(range(p)):
            if kept >> x & 1 and of_child[child, _place(kept ^ 1 << x, child)] >= least:
                kept ^= 1 << x
        parents[child] = kept
    return parents


def _score_as_last(of_child: Floats, best: Floats, members: int, child: int) -> float:
    others = members ^ 1 << child
    return float(best[others] + of_child[child, _place(others, child)])


def _place(members: int, child: int) -> int:
    """The mask without the child's bit."""
    below = (1 << child) - 1
    return (members & below) | (members >> 1 & ~below)


def _check_equivalence(task: Task, expected: float, found: float) -> None:
    if abs(expected - found) > 1e-6 * max(1.0, abs(expected)):
        raise ModelError(
            f"the score {task.score!r} says that it is the same for equivalent graphs, but it is "
            f"not: {expected!r} and {found!r}. Set its score_equivalent to False."
        )
