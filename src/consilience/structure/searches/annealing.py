r"""Simulated annealing over DAGs.

A climb to a first optimum, a random walk, and a climb from the best graph of the walk. The walk
adds, deletes and reverses arcs. A move that gains is made; one that loses :math:`d` is made with
probability :math:`\exp(-d / T)`, and the temperature :math:`T` falls geometrically, so that the
walk first crosses valleys of the score and then settles.

The gains of all moves at a node stand ready, so a refused move costs nanoseconds; only a move that
is made asks for the scores around the new families.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi (1983). Optimization by simulated annealing. Science 220.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.kernels.annealing import NUMBERS_PER_STEP, walk
from consilience.structure.searches.class_masks import bits
from consilience.structure.searches.climber import TIE
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.task import SearchResult, Step, Task

__all__ = ["SimulatedAnnealing"]

N_TEMPERATURES = 100
"""Temperatures of a walk, each for the same number of steps."""

STEPS_PER_PAIR = 200

STEPS_PER_DRAW = 4096

COLDEST = 1e-100
"""No loss is accepted at this temperature; losses can still be divided by it."""


@dataclass(frozen=True, slots=True)
class SimulatedAnnealing:
    """A random walk that accepts losses less and less, between two climbs.

    The same seed gives the same graph.

    Parameters
    ----------
    start_temperature
        Loss in log score that is accepted with probability 1/e at first. More rows make all losses
        larger and want more.
    cooling
        Factor of the temperature after each of the hundred equal parts of the walk.
    steps
        Proposed moves in all; 200 for each ordered pair of variables if None.
    max_parents
        Most parents of a node; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> cs.search(table, search=cs.searches.SimulatedAnnealing()).cpdag.undirected
    (('x', 'y'),)
    """

    start_temperature: float = 100.0
    cooling: float = 0.95
    steps: int | None = None
    max_parents: int | None = None

    def __post_init__(self) -> None:
        _check.positive("SimulatedAnnealing", start_temperature=self.start_temperature)
        _check.positive("SimulatedAnnealing", cooling=self.cooling)
        if self.cooling > 1:
            raise InputError(
                f"SimulatedAnnealing: cooling must be at most 1, got {self.cooling!r}.",
                parameter="cooling",
            )
        if self.steps is not None:
            _check.whole("SimulatedAnnealing", at_least=0, steps=self.steps)
        if self.max_parents is not None:
            _check.whole("SimulatedAnnealing", at_least=0, max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """The best graph of the walk, climbed from."""
        climb = HillClimb(tabu=0, restarts=0, max_parents=self.max_parents)
        first = climb.search(task)
        if first.stopped_by != "optimum":
            return first
        scores = task.local_scores(self.max_parents)
        walker = _Walker(task, scores, first)
        stopped_by = "optimum"
        try:
            self._cool(task, walker)
            if task.clock.is_over():
                stopped_by = "seconds"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        if stopped_by == "optimum":
            last = replace(climb, start=task.to_dag(walker.best)).search(task)
            n_climbed = first.n_scored + last.n_scored
        else:
            last = task.result(scores, walker.best, trace=(), stopped_by=stopped_by)
            n_climbed = first.n_scored
        n_scored = n_climbed + scores.n_scored
        return replace(
            last,
            trace=(*first.trace, walker.reached("walk"), Step(last.score, n_scored, "end")),
            n_scored=n_scored,
            notes=scores.notes(),
        )

    def _cool(self, task: Task, walker: _Walker) -> None:
        walker.place()
        n_pairs = len(task.names) * (len(task.names) - 1)
        n_steps = STEPS_PER_PAIR * n_pairs if self.steps is None else self.steps
        if n_pairs == 0:
            return
        for k in range(N_TEMPERATURES):
            share = n_steps * (k + 1) // N_TEMPERATURES - n_steps * k // N_TEMPERATURES
            walker.walk(share, max(self.start_temperature * self.cooling**k, COLDEST))
            if task.clock.is_over():
                return
            task.clock.tell(k / N_TEMPERATURES, lambda: f"score {walker.best_score:.2f}")


class _Walker:
    """A graph on its way, and the best one so far."""

    def __init__(self, task: Task, scores: LocalScores, start: SearchResult) -> None:
        p = len(task.names)
        self._task = task
        self._scores = scores
        self._arcs = np.zeros((p, p), np.uint8)
        self._parents = np.zeros((p, p), np.int64)
        self._n_parents = np.zeros(p, np.int64)
        self._gains = np.zeros((p, p))
        self._local = np.zeros(p)
        self._move = np.zeros(3, np.int64)
        self._required = [np.flatnonzero(column) for column in task.constraints.required.T]
        self._masks = task.to_parents(start.dag)
        self._n_before = start.n_scored
        self._tie = 0.0
        self.best = list(self._masks)
        self.best_score = start.score

    def place(self) -> None:
        """Begin at the start."""
        self._scores.prepare(enumerate(self._masks))
        for child, mask in enumerate(self._masks):
            found = list(bits(mask))
            self._parents[child, : len(found)] = found
            self._n_parents[child] = len(found)
            self._arcs[child, found] = 1
            self._refresh(child)
        self._tie = TIE * max(1.0, float(np.abs(self._local).max(initial=0.0)))

    def walk(self, n_steps: int, temperature: float) -> None:
        """Propose this many moves."""
        while n_steps > 0 and not self._task.clock.is_over():
            n_drawn = min(n_steps, STEPS_PER_DRAW)
            n_steps -= n_drawn
            self._walk_some(self._task.rng.random(NUMBERS_PER_STEP * n_drawn), temperature)

    def reached(self, note: str) -> Step:
        """An entry for the trace."""
        return Step(self.best_score, self._n_before + self._scores.n_scored, note)

    def _walk_some(self, numbers: Floats, temperature: float) -> None:
        done, n_steps = 0, len(numbers) // NUMBERS_PER_STEP
        while done < n_steps and not self._task.clock.is_over():
            done = walk(
                self._arcs,
                self._parents,
                self._n_parents,
                self._gains,
                temperature,
                numbers,
                done,
                self._move,
            )
            is_turned, start, end = map(int, self._move)
            if is_turned < 0:
                break
            self._masks[end] ^= 1 << start
            self._refresh(end)
            if is_turned:
                self._masks[start] ^= 1 << end
                self._refresh(start)
            score = float(self._local.sum())
            if score > self.best_score + self._tie:
                self.best_score, self.best = score, list(self._masks)

    def _refresh(self, child: int) -> None:
        """Gains of all moves at a node whose parents changed."""
        values = self._scores.toggled(child, self._masks[child])
        if values[child] == -np.inf:  # too large with all around it: no way on from here
            self._gains[child] = self._local[child] = -np.inf
            return
        np.subtract(values, values[child], out=self._gains[child])
        self._gains[child, self._required[child]] = -np.inf
        self._local[child] = values[child]
