"""A graph on its way uphill, move by move, and the best one so far.

What hill climbing, its restarts and sweeps have in common: the books of a graph and the rows of
scores that its moves are read from (``kernels/climbing.py``), the way back to the best graph, and
the ways to leave it. Several climbers may share the best graph and the rows, so that what they all
do not know is asked for together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience._typing import Bools, Integers, Words
from consilience.kernels import climbing
from consilience.structure.scores.score import may_refuse
from consilience.structure.searches.class_masks import bits, row_masks, topological_order
from consilience.structure.searches.family_rows import FamilyRows, mask_from, words_of
from consilience.structure.searches.judge import Key
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.starts import start_of
from consilience.structure.searches.task import Step, Task

__all__ = ["TIE", "Climber"]

TIE = 1e-9
"""Gains closer than this share of the largest local score are equal but for rounding."""

FEW_NODES = 64
"""Up to so many nodes all books are copied; beyond, those of the nodes that changed."""

FOREVER = 1 << 62

MOVES_AT_ONCE = 1000
"""Moves between two looks at the clock."""

FEW_VALUES = 1 << 17
"""Rows times variables up to which to ask for a family takes longer than to count it."""

Bytes: TypeAlias = npt.NDArray[np.uint8]

ABOVE, PARENTS, ROW = 0, 1, 2
"""Places in the books of a graph."""


class _Camp:
    """What climbers share: the best graph so far with its books, and the rows of scores.

    ``n_kept`` grows with every better graph, ``age`` whenever rows are forgotten.
    """

    def __init__(self, task: Task, scores: LocalScores) -> None:
        p = len(task.names)
        self.best = start_of(None, task, scores)
        self.score, self.tie = -np.inf, 0.0
        self.books: tuple[npt.NDArray[Any], ...] = ()
        self.rows = FamilyRows(np.ones((p, p), bool))
        self.near_rows: FamilyRows | None = None
        self.n_kept = self.age = 0


class Climber:
    """A graph on its way, and the best one so far.

    :meth:`settle` ends every change but a climb.
    """

    def __init__(self, task: Task, scores: LocalScores, max_parents: int | None) -> None:
        p = len(task.names)
        n_words = (p + 63) // 64
        self._task = task
        self._scores = scores
        self._most = p if max_parents is None else max_parents
        self._allowed = scores.allowed.astype(np.uint8)
        self._required = row_masks(task.constraints.required.T)
        self._required_words = _words(self._required, n_words)
        self._spare = np.empty((4, p + 1), np.int64)
        self._children = np.arange(p)
        is_cheap = task.n_rows * p <= FEW_VALUES and not may_refuse(task.score)
        self._looks_ahead = is_cheap and not task.strata.names
        self._camp = _Camp(task, scores)
        self._begin(p, n_words)

    def _begin(self, p: int, n_words: int) -> None:
        self._parents = np.zeros((p, n_words), np.uint64)
        self._above = np.zeros((p, n_words), np.uint64)
        self._changed = np.zeros(p, np.uint8)
        self._row = np.full(p, -1)
        self._local = np.zeros(p)
        self._blocked = np.zeros((2, 3), np.int64)
        self._state = np.zeros(6, np.int64)
        self._levels = np.zeros(3)
        self._n_kept = self._age = -1

    def beside(self) -> Climber:
        """Another climber with the same best graph, which it begins at."""
        other = copy(self)
        other._begin(*self._parents.shape)  # noqa: SLF001 - its own kind
        other.restore()
        return other

    @property
    def best(self) -> list[int]:
        """The best graph, as sets of parents."""
        return self._camp.best

    @property
    def best_score(self) -> float:
        """Its score."""
        return self._camp.score

    @property
    def tie(self) -> float:
        """Scores that differ by less are equal."""
        return self._camp.tie

    def place(self, parents: Sequence[int]) -> None:
        """Begin at a graph; it is the best one until a better one is found.

        One with a family that has no score is refused: no gain could be told from there.
        """
        self._parents[:] = _words(parents, self._parents.shape[1])
        self._above[:] = _words(_ancestors(parents), self._above.shape[1])
        self._changed[:] = 1
        self._row[:] = -1
        self._local[:] = self._levels[:] = 0.0
        self._camp.best = list(parents)
        if not self._is_settled():
            self._scores.total(parents)  # raises the refusal of the family that has no score
        self._camp.tie = TIE * max(1.0, float(np.abs(self._local).max(initial=0.0)))
        self._camp.books = tuple(array.copy() for array in self._books())
        self._keep()

    def look_at(self, children: Integers | None) -> None:
        """Climb from now on by moves at some nodes only, in increasing order; at all if None."""
        self._children = np.arange(len(self.best)) if children is None else children

    def narrow(self, is_near: Bools) -> None:
        """Look from now on only at parents that are near; all that are joined must be."""
        self._scores.narrow(is_near)
        if self._camp.near_rows is None:
            self._camp.near_rows = FamilyRows(is_near)
        else:
            self._camp.near_rows.change(is_near)
        self._begin_rows(self._camp.near_rows)

    def widen(self) -> None:
        """Go back to the best graph, and look at all parents of all nodes again."""
        self._scores.widen()
        self._begin_rows(FamilyRows(np.ones((len(self.best), len(self.best)), bool)))
        self.look_at(None)

    def climb(self, tabu: int) -> None:
        """Move until nothing gains, then with a tabu list until it has found nothing for long.

        Over few rows the families that the next moves are likely to lead to are asked for together
        with those that are missing.
        """
        for _ in self.climbing(tabu):
            self.fetch([*self.missing(), *self._likely()])

    def climbing(self, tabu: int) -> Iterator[None]:
        """A climb that pauses where families have no row: :meth:`missing` says which."""
        clock, state = self._task.clock, self._state
        self._blocked = np.zeros((tabu + 2, 3), np.int64)
        state[:] = 0
        while not clock.is_over():
            clock.tell(None, lambda: f"score {self._score():.2f}")
            status = self._go(tabu, MOVES_AT_ONCE)
            if status == climbing.MISSING:
                yield
            elif status == climbing.OPTIMUM:
                self._keep_if_better()
                if state[climbing.SINCE_BEST] or tabu == 0:
                    return
                state[climbing.SINCE_BEST] = 1  # from an optimum on losses are accepted
            elif status == climbing.TIRED:
                break
        if self._is_settled():  # the clock may be over before scores that were fetched are taken
            self._keep_if_better()

    def climbing_around(self, i: int, j: int) -> Iterator[None]:
        """Move until nothing gains, the arc between two nodes as it is; pauses as a climb does."""
        self._blocked = np.array([[i, j, FOREVER], [0, 0, 0]])
        self._state[:] = 0
        while not self._task.clock.is_over():
            status = self._go(0, MOVES_AT_ONCE)
            if status == climbing.OPTIMUM:
                return
            if status == climbing.MISSING:
                yield

    def walk(self, rng: np.random.Generator, n_turns: int, n_moves: int) -> None:
        """Turn covered arcs, then move, both at random."""
        numbers = rng.random(3 * (n_turns + n_moves))
        limits = (self._allowed, self._required_words, self._most)
        climbing.shake(*self._graph(), self._spare, *limits, n_turns, n_moves, numbers)

    def take_out(self, nodes: Iterable[int]) -> None:
        """Delete all arcs at some nodes but the required ones."""
        for node in nodes:
            self._rewire(node, self._required[node])
            for child in self._children_of(node):
                self._rewire(child, self._mask(child) & (~(1 << node) | self._required[child]))

    def turn(self, i: int, j: int) -> bool:
        """Turn the arc i -> j, and take all other parents from both ends but the required ones.

        Returns whether the arc may be turned; else the graph is not one to go on with.
        """
        kept, other = self._required[j], self._required[i]
        is_full = other.bit_count() >= self._most
        if not self._allowed[j, i] or is_full or kept >> i & 1:
            return False
        return self._rewire(j, kept) and self._rewire(i, other | 1 << j)

    def settle(self) -> bool:
        """Find the scores after a walk or the like; without one go back, return False."""
        if self._is_settled():
            return True
        self.restore()
        return False

    def restore(self) -> None:
        """Go back to the best graph."""
        if self._n_kept != self._camp.n_kept:
            self._changed[:] = 1
        self._copy(self._camp.books, self._books())
        self._levels[:] = self._camp.score, self._camp.score, self._camp.tie

    def keep_under_way(self) -> None:
        """Keep the graph of an interrupted climb if it is better than the best so far."""
        graph = [self._mask(child) for child in range(len(self.best))]
        if self._camp.books and self._scores.total(graph) > self.best_score:
            self._camp.best = graph

    def reached(self, note: str) -> Step:
        """An entry for the trace."""
        return Step(self.best_score, self._scores.n_scored, note)

    def fetch(self, families: Iterable[Key]) -> None:
        """Ask for the scores of families and their neighbors, together."""
        rows = self._camp.rows
        if rows.is_full:
            rows.clear()
            self._camp.age += 1
            self._camp.books[ROW][:] = -1
        rows.keep(self._scores.around(rows.new(families)))

    def missing(self) -> list[Key]:
        """The families of the graph whose scores were not found."""
        return [(child, self._mask(child)) for child in np.flatnonzero(self._row < 0).tolist()]

    def _likely(self) -> list[Key]:
        """The families that the best move at each node leads to, if it is worth while to guess."""
        if not self._looks_ahead:
            return []
        near, _, _, starts, largest, values = self._camp.rows.arrays()
        chosen = np.empty(len(self._local), np.int64)
        climbing.likely(
            self._parents,
            self._above,
            self._row,
            self._local,
            near,
            starts,
            largest,
            values,
            self._required_words,
            self._children,
            self.tie,
            chosen,
        )
        moved = np.flatnonzero(chosen >= 0).tolist()
        return [(child, self._mask(child) ^ 1 << int(chosen[child])) for child in moved]

    def has_arc(self, i: int, j: int) -> bool:
        """Whether the graph has the arc i -> j."""
        return bool(self._mask(j) >> i & 1)

    def joined(self, node: int) -> list[int]:
        """The parents and children of a node, in increasing order."""
        return sorted([*bits(self._mask(node)), *self._children_of(node)])

    def here(self) -> tuple[float, bytes, bytes]:
        """What tells the graph from others: the best score so far, and where it differs from it."""
        nodes = np.flatnonzero(self._changed)
        nodes = nodes[(self._parents[nodes] != self._camp.books[PARENTS][nodes]).any(axis=1)]
        return self.best_score, nodes.tobytes(), self._parents[nodes].tobytes()

    def loss(self) -> float:
        """By how much the best graph is better."""
        return self.best_score - self._score()

    def _begin_rows(self, rows: FamilyRows) -> None:
        self.restore()
        self._camp.rows = rows
        self._camp.age += 1
        self._is_settled()
        self._camp.books[ROW][:] = self._row

    def _is_settled(self) -> bool:
        """Find the scores of all families of the graph; return whether they have one."""
        while self._go(0, 0) == climbing.MISSING:
            self.fetch(self.missing())
        return self._score() > -np.inf

    def _go(self, tabu: int, n_moves: int) -> int:
        """Move on; return why that ended."""
        if self._age != self._camp.age:
            self._age = self._camp.age
            self._row[:] = -1
        books = (*self._graph(), self._local, *self._camp.rows.arrays())
        limits = (self._required_words, self._blocked, self._children)
        state = (self._spare, self._state, self._levels)
        return int(climbing.climb(*books, *limits, *state, tabu, n_moves))

    def _rewire(self, child: int, parents: int) -> bool:
        """Give a node other parents; return whether they close no cycle."""
        words = words_of(parents, self._parents.shape[1])
        return bool(climbing.rewire(*self._graph(), self._spare, child, words))

    def _mask(self, child: int) -> int:
        return mask_from(self._parents[child])

    def _children_of(self, node: int) -> list[int]:
        found = self._parents[:, node >> 6] >> np.uint64(node & 63) & np.uint64(1)
        return np.flatnonzero(found).tolist()

    def _score(self) -> float:
        return float(self._levels[climbing.SCORE])

    def _keep_if_better(self) -> None:
        if self.loss() < -self.tie:
            self._keep()

    def _keep(self) -> None:
        """Take the graph for the best one."""
        camp = self._camp
        if self._n_kept != camp.n_kept:
            self._changed[:] = 1
        camp.score = float(np.add.reduce(self._local))
        self._levels[:] = camp.score, camp.score, camp.tie
        for child in np.flatnonzero(self._changed).tolist():
            camp.best[child] = self._mask(child)
        self._copy(self._books(), camp.books)
        camp.n_kept += 1
        self._n_kept = camp.n_kept

    def _copy(self, source: Sequence[npt.NDArray[Any]], target: Sequence[npt.NDArray[Any]]) -> None:
        """Copy the books of a graph, as far as they may differ from those of the best one."""
        is_small = len(self._local) <= FEW_NODES
        nodes: Any = slice(None) if is_small else np.flatnonzero(self._changed)
        target[ABOVE][...] = source[ABOVE]
        for one, other in zip(source[PARENTS:], target[PARENTS:], strict=True):
            other[nodes] = one[nodes]
        self._changed[:] = 0
        self._n_kept = self._camp.n_kept

    def _graph(self) -> tuple[Words, Words, Bytes, Integers]:
        return self._parents, self._above, self._changed, self._row

    def _books(self) -> tuple[npt.NDArray[Any], ...]:
        return self._above, self._parents, self._row, self._local


def _words(sets: Sequence[int], n_words: int) -> Words:
    """Sets as rows of words."""
    packed = b"".join(mask.to_bytes(8 * n_words, "little") for mask in sets)
    return np.frombuffer(packed, "<u8").reshape(len(sets), n_words)


def _ancestors(parents: Sequence[int]) -> list[int]:
    """The nodes that a path leads from, for each node of a graph."""
    above = [0] * len(parents)
    for node in topological_order(parents):
        for parent in bits(parents[node]):
            above[node] |= above[parent] | 1 << parent
    return above
