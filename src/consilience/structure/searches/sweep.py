r"""Greedy search over classes, then sweeps that mend what it got wrong.

A greedy search makes early mistakes that no single arc mends: with a wrong direction come arcs that
make up for it, and each of them alone is right. Two ways lead out of nearly all such optima:

- a node is taken out, with all its arcs, and the graph climbs again (Moore and Wong 2003 put it
  back by an exhaustive search);
- an arc is turned, all other parents are taken from both its ends (as in the walks of Grzegorczyk
  and Husmeier 2008), and the graph climbs, first around the new arc, which must stay, then freely.

Each node and each arc is tried in turn, a few at the same time, so that the scores that they need
are asked for together; what is better is kept. A node or an arc that was tried in vain is tried
again only after something has changed at it or next to it. Parents that are not near a child in the
graph are not looked at; after each sweep they are, once. The sweeps end when there is nothing left
to try. Most families that they meet were scored before, so they cost about as much as that search.

References
----------
M. Grzegorczyk, D. Husmeier (2008). Improving the structure MCMC sampler for Bayesian networks by
introducing a new edge reversal move. Machine Learning 71.
A. Moore, W. Wong (2003). Optimal reinsertion: a new search operator for accelerated and more
accurate Bayesian network structure learning. ICML 20.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

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

AT_ONCE = 16
"""Nodes and arcs that are tried at the same time."""

DONE = object()

FAR = 100.0
"""A graph at which nothing gains is left if it is so much worse than the best one."""


_Trial: TypeAlias = tuple[int, ...]
"""A node to take out, or an arc to turn."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Greedy search over classes (:class:`GES`), then every node is taken out and every arc turned.

    With a score that differs between the graphs of a class it begins with hill climbing. Ties are
    those of :class:`GES` and :class:`HillClimb`; but for restarts nothing is random.

    Parameters
    ----------
    effort
        The sweeps end when they have looked around (at all parents more or less) this many times
        the families that the search before them had, if they have not ended before; 0 for no
        sweeps. ``stopped_by`` is then ``"effort"``.
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
        most = scores.n_looked_around * (1 + self.effort)
        sweeps = _Sweeps(task, climber, lambda: scores.n_looked_around < most)
        before = -np.inf
        while climber.best_score > before + climber.tie and not task.clock.is_over():
            before = climber.best_score
            sweeps.look_around()
            trace.append(climber.reached(f"{sweeps.nodes()} nodes taken out"))
            trace.append(climber.reached(f"{sweeps.arcs()} arcs turned"))
            sweeps.look_everywhere()
            trace.append(climber.reached("all candidates looked at"))
            if scores.n_looked_around >= most:
                break
        return scores.n_looked_around < most or sweeps.is_done()


class _Attempt(NamedTuple):
    """A node that was taken out, or an arc that was turned, and the climb from there."""

    trial: _Trial
    climber: Climber
    steps: Iterator[None]


class _Sweeps:
    """What was tried since something changed nearby.

    Several climbers try at the same time, so that what they do not know is asked for together. When
    one has found a better graph the others begin again from there.
    """

    def __init__(self, task: Task, climber: Climber, may_go_on: Callable[[], bool]) -> None:
        self._is_near = _within(climber.best, STEPS)
        self._task = task
        self._climber = climber
        self._may_go_on = may_go_on
        self._is_free = task.is_equivalent and task.constraints.is_free
        self._idle = [climber.beside() for _ in range(AT_ONCE)]
        self._tried: set[_Trial] = set()
        self._met = {climber.here()}  # optima from which the tabu list has led nowhere

    def look_around(self) -> None:
        """Look at parents near a child only."""
        self._is_near = _within(self._climber.best, STEPS)
        self._climber.narrow(self._is_near)

    def look_everywhere(self) -> None:
        """Climb by moves of all kinds, whatever parents they need."""
        before = list(self._climber.best)
        self._climber.widen()
        self._climber.climb(0)
        self._try_again(before)

    def nodes(self) -> int:
        """Take out each node that was not tried; return how many."""
        return self._try_all([(node,) for node in range(len(self._climber.best))])

    def arcs(self) -> int:
        """Turn each arc that was not tried; return how many."""
        return self._try_all(self._all_arcs())

    def is_done(self) -> bool:
        """Whether nothing is left to try."""
        nodes = [(node,) for node in range(len(self._climber.best))]
        return self._tried.issuperset([*nodes, *self._all_arcs()])

    def _all_arcs(self) -> list[_Trial]:
        """The arcs to turn; of equivalent graphs those that all have, since others turn freely."""
        best = self._climber.best
        parents = class_of(best).parents if self._is_free else best
        return [(i, j) for j, mask in enumerate(parents) for i in bits(mask)]

    def _try_all(self, trials: Iterable[_Trial]) -> int:
        """Try all that was not tried; return how many."""
        waiting = deque(trial for trial in trials if trial not in self._tried)
        under_way: list[_Attempt] = []
        n_begun = 0
        while (waiting or under_way) and self._may_go_on() and not self._task.clock.is_over():
            while waiting and self._idle:
                begun = self._begun(waiting.popleft())
                under_way += begun
                n_begun += len(begun)
            under_way, stopped = self._round(under_way)
            waiting.extendleft(reversed(stopped))
            n_begun -= len(stopped)
            self._climber.fetch(key for one in under_way for key in one.climber.missing())
        self._stop(under_way)
        return n_begun

    def _begun(self, trial: _Trial) -> list[_Attempt]:
        """The attempt; none if the arc is not there any more or may not be turned."""
        climber = self._idle[-1]
        climber.restore()
        self._tried.add(trial)
        if len(trial) == 1:
            climber.take_out(trial)
        elif not climber.has_arc(*trial) or not climber.turn(*trial):
            return []
        climber.look_at(np.flatnonzero(self._is_near[list(trial)].any(axis=0)))
        return [_Attempt(trial, self._idle.pop(), self._steps(climber, trial))]

    def _steps(self, climber: Climber, trial: _Trial) -> Iterator[None]:
        if len(trial) == 1:
            yield from climber.climbing(0)
            return
        yield from climber.climbing_around(*trial)
        if climber.loss() > FAR:
            return
        yield from climber.climbing(0)
        if (met := climber.here()) not in self._met:
            self._met.add(met)
            yield from climber.climbing(TABU_SWEEPING)

    def _round(self, under_way: Sequence[_Attempt]) -> tuple[list[_Attempt], list[_Trial]]:
        """Let each attempt go on until it pauses; return those, and which ones have to begin again.

        These are all others if one has found a better graph.
        """
        paused: list[_Attempt] = []
        for place, one in enumerate(under_way):
            before, score = list(self._climber.best), self._climber.best_score
            if next(one.steps, DONE) is DONE:
                self._idle.append(one.climber)
            else:
                paused.append(one)
            if self._climber.best_score > score:
                self._try_again(before)
                others = [*(p for p in paused if p is not one), *under_way[place + 1 :]]
                return [p for p in paused if p is one], self._stop(others)
        return paused, []

    def _try_again(self, before: list[int]) -> None:
        """Let be tried again what lies near a change."""
        near = _near(before, self._climber.best)
        self._tried = {trial for trial in self._tried if near.isdisjoint(trial)}

    def _stop(self, attempts: Sequence[_Attempt]) -> list[_Trial]:
        """End attempts that have not ended; return what they were."""
        self._idle += [one.climber for one in attempts]
        trials = [one.trial for one in attempts]
        self._tried.difference_update(trials)
        return trials


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
