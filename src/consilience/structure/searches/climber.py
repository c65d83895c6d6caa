"""A graph on its way uphill, move by move, and the best one so far.

What hill climbing, its restarts and sweeps have in common: the books of a graph
(``kernels/climbing.py``), gains of all moves from the memory of local scores, the way back to the
best graph, and the ways to leave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience._typing import Integers
from consilience.kernels.climbing import (
    ADD,
    DELETE,
    NONE,
    REVERSE,
    make_best_move,
    make_move,
    shake,
)
from consilience.structure.searches.class_masks import bits
from consilience.structure.searches.judge import mask_of
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.starts import start_of
from consilience.structure.searches.task import Step, Task

__all__ = ["TIE", "Climber"]

TIE = 1e-9
"""Gains closer than this share of the largest local score are equal but for rounding."""

FEW_NODES = 64
"""Up to so many nodes all books are copied; beyond, those of the nodes that changed."""

FOREVER = 1 << 62

_Bytes: TypeAlias = npt.NDArray[np.uint8]


class Climber:
    """A graph on its way, and the best one so far.

    Attributes
    ----------
    best, best_score
        The best graph, as sets of parents, and its score.
    tie
        Scores that differ by less are equal.
    """

    def __init__(self, task: Task, scores: LocalScores, max_parents: int | None) -> None:
        p = len(task.names)
        self._task = task
        self._scores = scores
        self._most = p if max_parents is None else max_parents
        self._allowed = scores.allowed.astype(np.uint8)
        self._required = task.constraints.required.astype(np.uint8)
        self._has_required = bool(self._required.any())
        self.arcs = np.zeros((p, p), np.uint8)
        self._parents = np.zeros((p, p), np.int64)
        self._n_parents = np.zeros(p, np.int64)
        self._above = np.zeros((p, p), np.uint8)
        self._spare = np.empty((2, p), np.int64)
        self._gains = np.zeros((p, p))
        self._largest = np.zeros(p)
        self._local = np.zeros(p)
        self._blocked = np.zeros((p, p), np.int64)
        self._children = np.arange(p)
        self._move = np.zeros(3, np.int64)
        self._changed = np.zeros(p, np.uint8)
        self._kept: tuple[npt.NDArray[Any], ...] = ()
        self._moved: set[int] = set()
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
            self.arcs[found, child] = 1
        self._above[:] = _ancestors(self.arcs)
        self._scores.prepare(enumerate(parents))
        for child in range(len(parents)):
            self._refresh(child)
        if np.isneginf(self._local).any():
            self._scores.total(parents)  # raises the refusal of the family that has no score
        self.tie = TIE * max(1.0, float(np.abs(self._local).max(initial=0.0)))
        self._keep_if_better()

    def look_at(self, children: Integers | None) -> None:
        """Climb from now on by moves at some nodes only, in increasing order; at all if None."""
        self._children = np.arange(len(self.best)) if children is None else children

    def climb(self, tabu: int) -> None:
        """Move until nothing gains, then with a tabu list until it has found nothing for long."""
        blocked: list[tuple[int, int]] = []
        now, since_best = 0, 0
        while not self._task.clock.is_over():
            self._task.clock.tell(None, lambda: f"score {self._local.sum():.2f}")
            now += 1
            is_at_loss = since_best > 0
            least = -np.inf if is_at_loss else self.tie
            if self._make_move(now, least, None if tabu else np.inf) == NONE:
                self._keep_if_better()
                if is_at_loss or tabu == 0:
                    break
                since_best = 1  # from an optimum on losses are accepted
                continue
            if tabu:
                _, i, j = self._move.tolist()
                self._blocked[i, j] = self._blocked[j, i] = now + tabu + 1
                blocked += [(i, j), (j, i)]
            if is_at_loss:
                since_best = 0 if self._is_best() else since_best + 1
                if since_best > tabu:
                    break
        for pair in blocked:
            self._blocked[pair] = 0
        self._keep_if_better()

    def climb_around(self, i: int, j: int) -> None:
        """Move until nothing gains, the arc between two nodes as it is."""
        self._blocked[i, j] = self._blocked[j, i] = FOREVER
        while not self._task.clock.is_over() and self._make_move(0, self.tie, np.inf) != NONE:
            pass
        self._blocked[i, j] = self._blocked[j, i] = 0

    def walk(self, rng: np.random.Generator, n_turns: int, n_moves: int) -> None:
        """Turn covered arcs, then move, both at random; :meth:`settle` ends it."""
        numbers = rng.random(3 * (n_turns + n_moves))
        limits = (self._allowed, self._required, self._most)
        shake(*self._graph(), self._spare, *limits, n_turns, n_moves, numbers, self._changed)

    def take_out(self, nodes: Iterable[int]) -> None:
        """Delete all arcs at some nodes but the required ones; :meth:`settle` ends it."""
        for node in nodes:
            ends = np.flatnonzero(self.arcs[node] & ~self._required[node] & 1)
            starts = np.flatnonzero(self.arcs[:, node] & ~self._required[:, node] & 1)
            moves = [(DELETE, start, node) for start in starts.tolist()]
            self._make(moves + [(DELETE, node, end) for end in ends.tolist()])

    def turn(self, i: int, j: int) -> bool:
        """Turn the arc i -> j, and take all other parents from both ends but the required ones.

        Returns whether the arc may be turned; then :meth:`settle` ends it.
        """
        families = self.turned(i, j)
        for child, mask in families.items():
            self._make([(DELETE, k, child) for k in bits(self._mask(child) & ~mask)])
        if families:
            self._make([(ADD, j, i)])
        return bool(families)

    def turned(self, i: int, j: int) -> dict[int, int]:
        """The parents of both ends of an arc i -> j after its turn; none if it may not turn."""
        kept, other = self._required_parents(j), self._required_parents(i)
        is_full = len(other) >= self._most
        if not self._allowed[j, i] or is_full or i in kept or any(self._above[k, i] for k in kept):
            return {}
        return {j: mask_of(kept), i: mask_of(other) | 1 << j}

    def _required_parents(self, child: int) -> list[int]:
        found: list[int] = []
        return np.flatnonzero(self._required[:, child]).tolist() if self._has_required else found

    def settle(self) -> bool:
        """Find the gains anew after a walk or the like; without a score go back, return False."""
        children = np.flatnonzero(self._changed).tolist()
        self._changed[:] = 0
        self._scores.prepare([(child, self._mask(child)) for child in children])
        for child in children:
            self._refresh(child)
        if np.isneginf(self._local).any():
            self.restore()
            return False
        return True

    def look_again(self) -> None:
        """Go back to the best graph and find the gains of all its moves anew."""
        self.restore()
        self._scores.prepare(enumerate(self.best))
        for child in range(len(self.best)):
            self._refresh(child)
        self._copy(self._state(), self._kept)
        self._moved.clear()

    def restore(self) -> None:
        """Go back to the best graph."""
        self._copy(self._kept, self._state())
        self._moved.clear()

    def keep_under_way(self) -> None:
        """Keep the graph of an interrupted climb if it is better than the best so far."""
        graph = [self._mask(child) for child in range(len(self._local))]
        if self._kept and self._scores.total(graph) > self.best_score:
            self.best = graph

    def reached(self, note: str) -> Step:
        """An entry for the trace."""
        return Step(self.best_score, self._scores.n_scored, note)

    def _make(self, moves: Sequence[tuple[int, int, int]]) -> None:
        for kind, i, j in moves:
            make_move(*self._graph(), self._spare, kind, i, j)
            self._changed[j] = 1
            if kind == REVERSE:
                self._changed[i] = 1

    def _make_move(self, now: int, least: float, aspiration: float | None = None) -> int:
        if aspiration is None:
            aspiration = self.loss() + self.tie
        make_best_move(
            *self._graph(),
            self._gains,
            self._largest,
            self._blocked,
            self._children,
            now,
            least,
            aspiration,
            self.tie,
            self._move,
            self._spare,
        )
        kind, start, end = self._move.tolist()
        if kind == REVERSE:
            self._scores.prepare([(child, self._mask(child)) for child in (end, start)])
            self._refresh(start)
        if kind != NONE:
            self._refresh(end)
        return int(kind)

    def _refresh(self, child: int) -> None:
        """Gains of all moves at a node whose parents changed."""
        self._moved.add(child)
        values = self._scores.toggled(child, self._mask(child))
        if values[child] == -np.inf:
            self._gains[child] = self._local[child] = self._largest[child] = -np.inf
            return
        gains = np.subtract(values, values[child], out=self._gains[child])
        if self._has_required:
            gains[np.flatnonzero(self._required[:, child])] = -np.inf
        self._local[child] = values[child]
        self._largest[child] = np.maximum.reduce(gains)

    def _mask(self, child: int) -> int:
        mask = 0
        for i in self._parents[child, : self._n_parents[child]].tolist():
            mask |= 1 << i
        return mask

    def here(self) -> tuple[float, frozenset[tuple[int, int]]]:
        """What tells the graph from others: the best score so far, and where it differs from it."""
        masks = [(child, self._mask(child)) for child in self._moved]
        return self.best_score, frozenset(one for one in masks if self.best[one[0]] != one[1])

    def loss(self) -> float:
        """By how much the best graph is better."""
        return self.best_score - self._score()

    def _score(self) -> float:
        return float(np.add.reduce(self._local))  # by far the quickest sum of few numbers

    def _is_best(self) -> bool:
        return self._score() > self.best_score + self.tie

    def _keep_if_better(self) -> None:
        if self._is_best() or not self._kept:
            self.best_score = self._score()
            if not self._kept:
                self._kept = tuple(array.copy() for array in self._state())
            for child in self._moved:
                self.best[child] = self._mask(child)
            self._copy(self._state(), self._kept)
            self._moved.clear()

    def _copy(self, source: Sequence[npt.NDArray[Any]], target: Sequence[npt.NDArray[Any]]) -> None:
        """Copy the books of a graph, as far as they may differ from those of the best one."""
        is_small = len(self._local) <= FEW_NODES
        nodes: Any = slice(None) if is_small else list(self._moved)
        arcs, above, *rest = zip(source, target, strict=True)
        arcs[1][:, nodes] = arcs[0][:, nodes]
        above[1][...] = above[0]
        for one, other in rest:
            other[nodes] = one[nodes]

    def _graph(self) -> tuple[_Bytes, Integers, Integers, _Bytes]:
        return self.arcs, self._parents, self._n_parents, self._above

    def _state(self) -> tuple[npt.NDArray[Any], ...]:
        books = self._parents, self._n_parents, self._gains, self._largest, self._local
        return (self.arcs, self._above, *books)


def _ancestors(arcs: _Bytes) -> _Bytes:
    """Which node a path leads to, and from which, node by node from the first on."""
    above = np.zeros_like(arcs)
    parents = [np.flatnonzero(column) for column in arcs.T]
    n_left = np.array([len(some) for some in parents])
    ready = np.flatnonzero(n_left == 0).tolist()
    while ready:
        node = ready.pop()
        above[node] = above[parents[node]].any(axis=0)
        above[node, parents[node]] = 1
        children = np.flatnonzero(arcs[node])
        n_left[children] -= 1
        ready += children[n_left[children] == 0].tolist()
    return above
