r"""Greedy search over classes, then sweeps that mend what it got wrong.

A greedy search makes early mistakes that no single arc mends: with a wrong direction come arcs that
make up for it, and each of them alone is right. Two ways lead out of nearly all such optima:

- a node is taken out, with all its arcs, and the graph climbs again (Moore and Wong 2003 put it
  back by an exhaustive search);
- an arc is turned, all other parents are taken from both its ends (as in the walks of Grzegorczyk
  and Husmeier 2008), and the graph climbs, first around the new arc, which must stay, then freely.

Each node and each arc is tried in turn; what is better is kept. A node or an arc that was tried in
vain is tried again only after something has changed at it or next to it. The sweeps end when there
is nothing left to try. Parents that are not near a child in the graph are not looked at; at the end
they are, once more. Most families that the sweeps meet were scored before, so they cost about as
much as that search.

References
----------
M. Grzegorczyk, D. Husmeier (2008). Improving the structure MCMC sampler for Bayesian networks by
introducing a new edge reversal move. Machine Learning 71.
A. Moore, W. Wong (2003). Optimal reinsertion: a new search operator for accelerated and more
accurate Bayesian network structure learning. ICML 20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Bools
from consilience.structure.searches.class_masks import bits, class_of
from consilience.structure.searches.climber import Climber
from consilience.structure.searches.ges import ClassClimber, can_take, climb_classes
from consilience.structure.searches.hill_climb import climb_repeatedly
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.starts import start_of
from consilience.structure.searches.task import SearchResult, Step, Task

__all__ = ["Sweep"]

STEPS = 2
"""Only nodes that so many arcs or fewer join are looked at as parents while sweeping."""

TABU, TABU_SWEEPING = 10, 5
"""Moves at a loss, without finding anything, after which a climb ends; after an arc was turned."""

FAR = 300.0
"""An optimum that is so much worse than the best graph is left at once."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Greedy search over classes (:class:`GES`), then every node is taken out and every arc turned.

    With a score that differs between the graphs of a class it begins with hill climbing. Ties are
    those of :class:`GES` and :class:`HillClimb`; but for restarts nothing is random.

    Parameters
    ----------
    effort
        The sweeps end when they have scored this many times the families that the search before
        them had, if they have not ended before; 0 for no sweeps. ``stopped_by`` is then
        ``"effort"``.
    restarts
        After the sweeps, how many restarts in a row may find nothing better (:class:`HillClimb`).
    max_parents
        Most parents of a node; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> cs.search(table, search=cs.searches.Sweep()).cpdag.undirected  # z says nothing of x and y
    (('x', 'y'),)
    """

    effort: float = 4.0
    restarts: int = 0
    max_parents: int | None = None

    def __post_init__(self) -> None:
        _check.non_negative("Sweep", effort=self.effort)
        _check.whole("Sweep", at_least=0, restarts=self.restarts)
        if self.max_parents is not None:
            _check.whole("Sweep", at_least=0, max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """The best graph met."""
        scores = task.local_scores(self.max_parents)
        climber = Climber(task, scores, self.max_parents)
        trace: list[Step] = []
        stopped_by = "optimum"
        try:
            _begin(task, scores, climber, trace)
            if not self._sweep(task, scores, climber, trace):
                stopped_by = "effort"
            if self.restarts:
                climb_repeatedly(task, climber, trace, TABU, restarts=self.restarts, enough=np.inf)
            if task.clock.is_over():
                stopped_by = "seconds"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
            climber.keep_under_way()
        return task.result(scores, climber.best, trace=trace, stopped_by=stopped_by)

    def _sweep(self, task: Task, scores: LocalScores, climber: Climber, trace: list[Step]) -> bool:
        """Sweep until nothing is left to try; whether it came to that."""
        is_near = _within(climber.best, STEPS)
        sweeps = _Sweeps(task, scores, climber, is_near)
        most = scores.n_scored * (1 + self.effort)
        scores.narrow(is_near)
        before = -np.inf
        while climber.best_score > before + climber.tie and not task.clock.is_over():
            before = climber.best_score
            n_tried = sweeps.nodes(lambda: scores.n_scored < most)
            trace.append(climber.reached(f"{n_tried} nodes taken out"))
            n_tried = sweeps.arcs(lambda: scores.n_scored < most)
            trace.append(climber.reached(f"{n_tried} arcs turned"))
            if scores.n_scored >= most:
                break
        scores.widen()
        climber.look_at(None)
        climber.look_again()
        climber.climb(0)
        trace.append(climber.reached("all candidates looked at"))
        return scores.n_scored < most or sweeps.is_done()


class _Sweeps:
    """What was tried in vain since something changed nearby."""

    def __init__(self, task: Task, scores: LocalScores, climber: Climber, is_near: Bools) -> None:
        self._is_near = is_near
        self._task = task
        self._scores = scores
        self._climber = climber
        self._is_free = task.is_equivalent and task.constraints.is_free
        self._nodes: set[int] = set()
        self._arcs: set[tuple[int, int]] = set()
        self._met = {climber.here()}  # optima from which the tabu list has led nowhere

    def nodes(self, may_go_on: Callable[[], bool]) -> int:
        """Take out each node that was not tried; return how many."""
        n_tried = 0
        fewer = [(j, m & ~(1 << i)) for j, m in enumerate(self._climber.best) for i in bits(m)]
        self._scores.prepare([key for key in fewer if key[0] not in self._nodes])
        for node in range(len(self._climber.best)):
            if node in self._nodes or not may_go_on() or self._task.clock.is_over():
                continue
            n_tried += 1
            self._nodes.add(node)
            self._climber.restore()
            self._climber.take_out([node])
            self._climber.look_at(np.flatnonzero(self._is_near[node]))
            self._climb(None)
        return n_tried

    def arcs(self, may_go_on: Callable[[], bool]) -> int:
        """Turn each arc that was not tried; return how many."""
        n_tried = 0
        self._climber.restore()
        arcs = self._all_arcs()
        new = [arc for arc in arcs if arc not in self._arcs and self._climber.arcs[arc]]
        self._scores.prepare(key for arc in new for key in self._climber.turned(*arc).items())
        for i, j in arcs:
            if (i, j) in self._arcs or not may_go_on() or self._task.clock.is_over():
                continue
            self._arcs.add((i, j))
            self._climber.restore()
            if self._climber.arcs[i, j] and self._climber.turn(i, j):
                n_tried += 1
                self._climber.look_at(np.flatnonzero(self._is_near[i] | self._is_near[j]))
                self._climb((i, j))
        return n_tried

    def is_done(self) -> bool:
        """Whether nothing is left to try."""
        is_every_node = len(self._nodes) == len(self._climber.best)
        return is_every_node and self._arcs.issuperset(self._all_arcs())

    def _all_arcs(self) -> list[tuple[int, int]]:
        """The arcs to turn; of equivalent graphs those that all have, since others turn freely."""
        best = self._climber.best
        parents = class_of(best).parents if self._is_free else best
        return [(i, j) for j, mask in enumerate(parents) for i in bits(mask)]

    def _climb(self, around: tuple[int, int] | None) -> None:
        """Climb, and if it was not in vain let what lies near be tried again."""
        climber = self._climber
        if not climber.settle():
            return
        before, score = list(climber.best), climber.best_score
        if around is None:
            climber.climb(0)
        else:
            climber.climb_around(*around)
            climber.climb(0)
            if climber.loss() < FAR and (met := climber.here()) not in self._met:
                self._met.add(met)
                climber.climb(TABU_SWEEPING)
        if climber.best_score > score + climber.tie:
            near = _near(before, climber.best)
            self._nodes -= near
            self._arcs = {(i, j) for i, j in self._arcs if i not in near and j not in near}


def _within(graph: list[int], n_steps: int) -> Bools:
    """Which nodes are joined by so many arcs or fewer, whatever their directions."""
    joined = np.eye(len(graph), dtype=bool)
    for j, parents in enumerate(graph):
        near = list(bits(parents))
        joined[near, j] = joined[j, near] = True
    reached = joined
    for _ in range(n_steps - 1):
        reached = np.stack([joined[row].any(axis=0) for row in reached])
    return reached


def _near(before: list[int], after: list[int]) -> set[int]:
    """The nodes whose parents changed, and all that are joined to one of them."""
    changed = [j for j, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    mask = sum([1 << j for j in changed])
    near = set(changed)
    for graph in (before, after):
        for j in changed:
            near.update(bits(graph[j]))
        near.update(j for j, parents in enumerate(graph) if parents & mask)
    return near


def _begin(task: Task, scores: LocalScores, climber: Climber, trace: list[Step]) -> None:
    """Place the climber at the graph of a greedy search."""
    if not can_take(task):
        climber.place(start_of(None, task, scores))
        climber.climb(TABU)
        trace.append(climber.reached("hill climbing"))
        return
    classes = ClassClimber(task, scores)
    try:
        classes.place()
        climb_classes(task, classes, trace)
    finally:
        climber.place(classes.best)
    climber.climb(0)
