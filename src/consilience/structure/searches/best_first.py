r"""Best-first search over DAGs with a bounded frontier.

The frontier holds graphs that were seen and not yet looked around from. The best of them is taken
away and all graphs that one move makes of it (an arc added, deleted or reversed) enter the
frontier, unless they were seen before; of too many the worst are forgotten. Where hill climbing
stops, at a graph without better neighbors, this search goes on with the next best graph, so it
leaves shallow optima and crosses plateaus such as an equivalence class.

A graph is known by a number that is the exclusive or of random numbers, one for each of its arcs,
so a graph that was seen is known before it is built (Zobrist 1970).

References
----------
J. Pearl (1984). Heuristics. Addison-Wesley.
A. L. Zobrist (1970). A new hashing method with application for game playing. Technical report 88,
University of Wisconsin.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.structure.searches.class_masks import bit_matrix, bits, topological_order
from consilience.structure.searches.climber import TIE
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.starts import start_of
from consilience.structure.searches.task import SearchResult, Step, Task

__all__ = ["BestFirst"]


@dataclass(frozen=True, slots=True)
class BestFirst:
    """Best-first search: look around from the best graph not yet looked around from.

    Scores within 1e-9 of the largest local score are ties and go to the graph seen first; of
    those seen together to additions and deletions before reversals, then to the first arc in the
    order of the variables' names. Nothing is random.

    Parameters
    ----------
    frontier
        How many graphs wait at most.
    patience
        After how many graphs in a row that led to nothing better the search ends.
    max_parents
        Most parents of a node; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> cs.search(table, search=cs.searches.BestFirst()).cpdag.undirected  # z is apart
    (('x', 'y'),)
    """

    frontier: int = 100
    patience: int = 500
    max_parents: int | None = None

    def __post_init__(self) -> None:
        _check.whole("BestFirst", at_least=1, frontier=self.frontier, patience=self.patience)
        if self.max_parents is not None:
            _check.whole("BestFirst", at_least=0, max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """The best graph seen."""
        scores = task.local_scores(self.max_parents)
        explorer = _Explorer(task, scores, self.frontier)
        trace: list[Step] = []
        stopped_by = "optimum"
        try:
            explorer.place()
            self._explore(task, explorer, trace)
            if task.clock.is_over():
                stopped_by = "seconds"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        return task.result(scores, explorer.best, trace=trace, stopped_by=stopped_by)

    def _explore(self, task: Task, explorer: _Explorer, trace: list[Step]) -> None:
        in_vain, n_graphs = 0, 0
        while in_vain < self.patience and explorer.waiting and not task.clock.is_over():
            n_graphs += 1
            in_vain = 0 if explorer.advance() else in_vain + 1
            if in_vain == 1:
                trace.append(explorer.reached(f"graph {n_graphs}"))
            task.clock.tell(None, lambda: f"score {explorer.best_score:.2f}")
        trace.append(explorer.reached("end"))


class _Waiting(NamedTuple):
    """A graph to come: one move away from another. The best sorts last, of equals the oldest."""

    rank: int
    age: int
    key: int
    parents: tuple[int, ...]
    is_turned: bool
    child: int
    parent: int


class _Explorer:
    """The frontier, and the best graph so far."""

    def __init__(self, task: Task, scores: LocalScores, frontier: int) -> None:
        p = len(task.names)
        self._scores = scores
        self._most = frontier
        self._required = task.constraints.required.T
        random = np.random.default_rng(p)
        self._number = random.integers(1 << 63, size=(p, p)).tolist()
        self._seen: set[int] = set()
        self._n_seen = 0
        self._tie = TIE
        self.waiting: list[_Waiting] = []
        self.best = start_of(None, task, scores)
        self.best_score = -np.inf

    def place(self) -> None:
        """Begin at the graph of the required arcs."""
        self._scores.prepare(enumerate(self.best))
        local = [self._scores.toggled(child, mask)[child] for child, mask in enumerate(self.best)]
        self._tie = TIE * max(1.0, float(np.abs(local).max(initial=0.0)))
        self.best_score = float(sum(local))
        self._look_around(tuple(self.best), 0)

    def advance(self) -> bool:
        """Look around from the best graph that waits; return whether it is the best of all."""
        taken = self.waiting.pop()
        parents = list(taken.parents)
        parents[taken.child] ^= 1 << taken.parent
        if taken.is_turned:
            parents[taken.parent] ^= 1 << taken.child
        score = self._look_around(tuple(parents), taken.key)
        if score <= self.best_score + self._tie:
            return False
        self.best, self.best_score = parents, score
        return True

    def reached(self, note: str) -> Step:
        """An entry for the trace."""
        return Step(self.best_score, self._scores.n_scored, note)

    def _look_around(self, parents: tuple[int, ...], key: int) -> float:
        """Let the neighbors of a graph wait; return its score."""
        values = np.array([self._scores.toggled(*family) for family in enumerate(parents)])
        score = float(values.diagonal().sum())
        gains = values - values.diagonal()[:, None]
        np.fill_diagonal(gains, -np.inf)
        gains[self._required] = -np.inf
        above = _ancestors(parents)
        is_parent, is_above = (bit_matrix(sets, len(parents)) for sets in (parents, above))
        turns = np.where(is_parent, gains + gains.T, -np.inf)
        gains[is_above.T & ~is_parent] = -np.inf
        neighbors = np.concatenate([gains.ravel(), turns.ravel()]) + score
        for place, rank in self._ranked(neighbors):
            is_turned, pair = divmod(place, len(parents) ** 2)
            child, parent = divmod(pair, len(parents))
            if not (is_turned and _has_detour(parents, above, child, parent)):
                self._let_wait(parents, key, rank, bool(is_turned), child=child, parent=parent)
        return score

    def _ranked(self, scores: Floats) -> Iterator[tuple[int, int]]:
        """Places and ranks of the scores that may wait, best first."""
        k = max(0, len(scores) - self._most)
        least = float(np.partition(scores, k)[k]) - self._tie if len(scores) else -np.inf
        if len(self.waiting) == self._most:
            least = max(least, self.waiting[0].rank * self._tie)
        places = np.flatnonzero((scores > least) & np.isfinite(scores))
        ranks = np.rint(scores[places] / self._tie)
        order = np.argsort(-ranks, kind="stable")[: self._most]
        yield from zip(places[order].tolist(), map(int, ranks[order]), strict=True)

    def _let_wait(
        self,
        parents: tuple[int, ...],
        key: int,
        rank: int,
        is_turned: bool,
        *,
        child: int,
        parent: int,
    ) -> None:
        key ^= self._number[child][parent]
        if is_turned:
            key ^= self._number[parent][child]
        if key in self._seen:
            return
        self._n_seen += 1
        self._seen.add(key)
        insort(self.waiting, _Waiting(rank, -self._n_seen, key, parents, is_turned, child, parent))
        if len(self.waiting) > self._most:
            self._seen.discard(self.waiting.pop(0).key)


def _ancestors(parents: Sequence[int]) -> list[int]:
    above = [0] * len(parents)
    for node in topological_order(parents):
        above[node] = parents[node]
        for parent in bits(parents[node]):
            above[node] |= above[parent]
    return above


def _has_detour(parents: Sequence[int], above: Sequence[int], child: int, parent: int) -> bool:
    """Whether a path other than the arc itself leads from the parent to the child."""
    others = parents[child] & ~(1 << parent)
    return any(above[other] >> parent & 1 for other in bits(others))
