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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Integers
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.kernels.climbing import NONE, REVERSE, isolate, shake, step
from consilience.structure.searches.ceiling import best_possible
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.starts import RandomStart, Start, TreeStart, start_of
from consilience.structure.searches.task import SearchResult, Step, Task

__all__ = ["HillClimb"]

TIE = 1e-9
"""Gains closer than this share of the largest local score are equal but for rounding."""

TURNS_A_NODE = 4
"""Tries to turn a covered arc, for each node."""

MOST_MOVES = 30
"""Random moves of a restart, at most."""

SHARE_LOCAL = 0.5
"""Share of restarts that take all arcs from a small neighborhood instead of moving at random."""

_Bytes: TypeAlias = npt.NDArray[np.uint8]


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
        climber = _Climber(task, scores, self.max_parents)
        trace: list[Step] = []
        stopped_by = "optimum"
        try:
            climber.place(start_of(self.start, task, scores))
            self._climb_repeatedly(task, climber, trace, scores)
            if task.clock.is_over():
                stopped_by = "seconds"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
            climber.keep_under_way()
        return task.result(scores, climber.best, trace=trace, stopped_by=stopped_by)

    def _climb_repeatedly(
        self, task: Task, climber: _Climber, trace: list[Step], scores: LocalScores
    ) -> None:
        climber.climb(self.tabu)
        trace.append(climber.reached("first optimum"))
        in_vain, n_restarts = 0, 0
        enough = best_possible(task, scores) if self.restarts else -np.inf
        while climber.best_score < enough - climber.tie and in_vain < self.restarts:
            if task.clock.is_over():
                break
            n_restarts += 1
            before = climber.best_score
            climber.restart(task.rng)
            climber.climb(self.tabu)
            in_vain += 1
            if climber.best_score > before + climber.tie:
                in_vain = 0
                trace.append(climber.reached(f"restart {n_restarts}"))


class _Climber:
    """A graph on its way, and the best one so far."""

    def __init__(self, task: Task, scores: LocalScores, max_parents: int | None) -> None:
        p = len(task.names)
        self._task = task
        self._scores = scores
        self._most = p if max_parents is None else max_parents
        self._allowed = scores.allowed.astype(np.uint8)
        self._required = task.constraints.required.astype(np.uint8)
        self._arcs = np.zeros((p, p), np.uint8)
        self._parents = np.zeros((p, p), np.int64)
        self._n_parents = np.zeros(p, np.int64)
        self._reach = np.zeros((p, p), np.uint8)
        self._gains = np.zeros((p, p))
        self._largest = np.zeros(p)
        self._local = np.zeros(p)
        self._blocked = np.zeros((p, p), np.int64)
        self._move = np.zeros(3, np.int64)
        self._kept: tuple[npt.NDArray[Any], ...] = ()
        self.tie = 0.0
        self.best = start_of(None, task, scores)
        self.best_score = -np.inf

    def place(self, parents: Sequence[int]) -> None:
        """Begin at a graph; it is the best one until a better one is found.

        One with a family that has no score is refused: no gain could be told from there.
        """
        self.best = list(parents)
        for child, mask in enumerate(parents):
            found = [i for i in range(len(parents)) if mask >> i & 1]
            self._parents[child, : len(found)] = found
            self._n_parents[child] = len(found)
            self._arcs[found, child] = 1
        self._reach[:] = _reachability(self._arcs)
        self._scores.prepare(enumerate(parents))
        for child in range(len(parents)):
            self._refresh(child)
        if np.isneginf(self._local).any():
            self._scores.total(parents)  # raises the refusal of the family that has no score
        self.tie = TIE * max(1.0, float(np.abs(self._local).max(initial=0.0)))
        self._keep_if_better()

    def climb(self, tabu: int) -> None:
        """Move until nothing gains, then with a tabu list until it has found nothing for long."""
        self._blocked[:] = 0
        now, since_best = 0, 0
        while not self._task.clock.is_over():
            self._task.clock.tell(None, lambda: f"score {self._local.sum():.2f}")
            now += 1
            is_at_loss = since_best > 0
            if self._make_move(now, -np.inf if is_at_loss else self.tie) == NONE:
                self._keep_if_better()
                if is_at_loss or tabu == 0:
                    break
                since_best = 1  # from an optimum on losses are accepted
                continue
            _, i, j = self._move
            self._blocked[i, j] = self._blocked[j, i] = now + tabu + 1
            if is_at_loss:
                since_best = 0 if self._is_best() else since_best + 1
                if since_best > tabu:
                    break
        self._keep_if_better()

    def restart(self, rng: np.random.Generator) -> None:
        """Go back to the best graph and walk away from it at random."""
        self._restore()
        changed = np.zeros(len(self._local), np.uint8)
        is_local = rng.random() < SHARE_LOCAL
        self._shake(rng, 0 if is_local else int(rng.integers(0, MOST_MOVES + 1)), changed)
        if is_local:
            nodes = self._neighborhood(rng)
            isolate(*self._graph(), self._required, nodes, changed)
        children = np.flatnonzero(changed).tolist()
        self._scores.prepare([(child, self._mask(child)) for child in children])
        for child in children:
            self._refresh(child)
        if np.isneginf(self._local).any():  # a family that has no score: the walk was in vain
            self._restore()

    def _shake(
        self, rng: np.random.Generator, n_moves: int, changed: npt.NDArray[np.uint8]
    ) -> None:
        n_turns = TURNS_A_NODE * len(self._local)
        numbers = rng.random(3 * (n_turns + n_moves))
        limits = (self._allowed, self._required, self._most)
        shake(*self._graph(), *limits, n_turns, n_moves, numbers, changed)

    def _neighborhood(self, rng: np.random.Generator) -> Integers:
        """A node and up to two of its neighbors."""
        node = int(rng.integers(len(self._local)))
        others = rng.permutation(np.flatnonzero(self._arcs[node] | self._arcs[:, node]))
        return np.array([node, *others[: rng.integers(0, 3)]], np.int64)

    def keep_under_way(self) -> None:
        """Keep the graph of an interrupted climb if it is better than the best so far."""
        graph = [self._mask(child) for child in range(len(self._local))]
        if self._kept and self._scores.total(graph) > self.best_score:
            self.best = graph

    def reached(self, note: str) -> Step:
        """An entry for the trace."""
        return Step(self.best_score, self._scores.n_scored, note)

    def _make_move(self, now: int, least: float) -> int:
        aspiration = self.best_score - float(self._local.sum()) + self.tie
        step(
            *self._graph(),
            self._gains,
            self._largest,
            self._blocked,
            now,
            least,
            aspiration,
            self.tie,
            self._move,
        )
        kind, start, end = map(int, self._move)
        if kind != NONE:
            self._refresh(end)
        if kind == REVERSE:
            self._refresh(start)
        return kind

    def _refresh(self, child: int) -> None:
        """Gains of all moves at a node whose parents changed."""
        values = self._scores.toggled(child, self._mask(child))
        if values[child] == -np.inf:
            self._gains[child] = self._local[child] = self._largest[child] = -np.inf
            return
        np.subtract(values, values[child], out=self._gains[child])
        required = np.flatnonzero(self._required[:, child])
        if required.size:
            self._gains[child, required] = -np.inf
        self._local[child] = values[child]
        self._largest[child] = self._gains[child].max()

    def _mask(self, child: int) -> int:
        mask = 0
        for i in self._parents[child, : self._n_parents[child]].tolist():
            mask |= 1 << i
        return mask

    def _is_best(self) -> bool:
        return float(self._local.sum()) > self.best_score + self.tie

    def _keep_if_better(self) -> None:
        if self._is_best() or not self._kept:
            self.best = [self._mask(child) for child in range(len(self._local))]
            self.best_score = float(self._local.sum())
            self._kept = tuple(array.copy() for array in self._state())

    def _restore(self) -> None:
        for array, kept in zip(self._state(), self._kept, strict=True):
            array[...] = kept

    def _graph(self) -> tuple[_Bytes, Integers, Integers, _Bytes]:
        return self._arcs, self._parents, self._n_parents, self._reach

    def _state(self) -> tuple[npt.NDArray[Any], ...]:
        return (*self._graph(), self._gains, self._largest, self._local)


def _reachability(arcs: _Bytes) -> _Bytes:
    """Which node a path leads to from which, by squaring until nothing is added."""
    reach = arcs.astype(np.float32)
    while True:
        longer = ((reach + reach @ reach) > 0).astype(np.float32)
        if np.array_equal(longer, reach):
            return reach.astype(np.uint8)
        reach = longer
