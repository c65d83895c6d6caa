r"""Greedy search over equivalence classes (GES).

From the class of the graph without arcs the best insertion is made until none gains, then the best
deletion, then the best turn; and again, until no move of any kind gains. Moves are of a whole class
at once (:mod:`consilience.structure.searches.class_moves`): what one member hides another shows, so
there are far fewer local optima than for single graphs. With a score that is consistent, enough
rows and a distribution that has just the independences of some graph, insertions and deletions
alone end in that graph's class.

The moves at a node are found anew only when something that they depend on has changed: the arcs and
edges at it or, as far as it matters, at a node joined to it. A move that would close a cycle waits
until something changes at a node of the path that it would close. So the work for a move does not
grow with the number of variables, but for the scores.

References
----------
D. M. Chickering (2002). Optimal structure identification with greedy search. JMLR 3.
A. Hauser, P. Bühlmann (2012). Characterization and greedy learning of interventional Markov
equivalence classes of directed acyclic graphs. JMLR 13.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import cycle, islice
from typing import TypeAlias

import numpy as np

from consilience import _check
from consilience.errors import InputError
from consilience.structure.scores.score import is_equivalent_given_source
from consilience.structure.searches import class_moves
from consilience.structure.searches.class_masks import (
    EquivalenceClass,
    bits,
    class_of,
    constrained,
    is_acyclic,
)
from consilience.structure.searches.class_moves import (
    DELETE,
    INSERT,
    TURN,
    ClassMove,
    Kind,
    families,
    has_more_sets,
)
from consilience.structure.searches.climber import TIE
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.starts import start_of
from consilience.structure.searches.task import SearchResult, Step, Task

__all__ = ["GES", "ClassClimber", "can_take", "climb_classes"]

FAMILIES_AT_ONCE = 256
"""Families whose neighbors are scored between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class GES:
    """Greedy equivalence search: the best insertion, deletion or turn of a class until none gains.

    The score must be the same for all graphs of a class, or nearly so: ``BySource`` is, given which
    nodes depend on the source, and is treated as if it were. Each move is judged by the one family
    that it changes, no class is met twice, the best of the graphs met is returned, and a note says
    so. Gains within 1e-9 of the largest local
    score are ties and go to the first arc in the order of the variables' names. Nothing is random.
    Moves differ in a set of neighbors that are all joined; of a node with more than 256 of them the
    smallest are looked at, and a note says so.

    Required and forbidden arcs and tiers leave of each class the members that respect them, which
    Meek's rules complete. All moves are then still between classes that have such members, but some
    that only other members would show may be missed.

    Parameters
    ----------
    max_parents
        Most parents of a node; no limit if None.
    turning
        Whether arcs are turned as well; a wrong direction is often beyond one insertion or
        deletion.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10, "z": list("abab") * 10})
    >>> cs.search(table, search=cs.GES()).cpdag.undirected  # z says nothing about x and y
    (('x', 'y'),)
    """

    max_parents: int | None = None
    turning: bool = True

    def __post_init__(self) -> None:
        if self.max_parents is not None:
            _check.whole("GES", at_least=0, max_parents=self.max_parents)
        if not isinstance(self.turning, bool):
            raise InputError(
                f"GES: turning must be True or False, got {self.turning!r}.", parameter="turning"
            )

    def search(self, task: Task) -> SearchResult:
        """A graph of the best class found."""
        _check_equivalent(task)
        scores = task.local_scores(self.max_parents)
        climber = ClassClimber(task, scores)
        trace: list[Step] = []
        stopped_by = "optimum"
        try:
            climber.place()
            climb_classes(task, climber, trace, turning=self.turning)
            if task.clock.is_over():
                stopped_by = "seconds"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        return task.result(
            scores, climber.best, trace=trace, stopped_by=stopped_by, notes=climber.notes()
        )


def climb_classes(
    task: Task, climber: ClassClimber, trace: list[Step], *, turning: bool = True
) -> None:
    """Insert, delete and turn by turns until nothing gains."""
    kinds = (INSERT, DELETE, TURN) if turning else (INSERT, DELETE)
    in_vain = 0
    for kind in cycle(kinds):
        before = climber.best
        n_moves = climber.climb(kind)
        trace.append(climber.reached(f"{kind.name}: {n_moves} moves"))
        in_vain = in_vain + 1 if climber.best == before else 0
        if in_vain == len(kinds) or task.clock.is_over():
            return


_Known: TypeAlias = tuple[ClassMove, int]
"""A move, and how often the moves at its node had been found anew when it was found."""


class _Moves:
    """The moves of one kind, the best first; those at a node until something changes there.

    In the queue is the best move at each node that was not taken out yet, and what was put back.
    """

    def __init__(self, kind: Kind, n_nodes: int) -> None:
        self.kind = kind
        self.stale = set(range(n_nodes))
        self._queue: list[_Known] = []
        self._age = [0] * n_nodes
        self._rest: list[list[ClassMove]] = [[] for _ in range(n_nodes)]
        self._waiting: dict[int, set[_Known]] = {}

    def know(self, y: int, moves: Iterable[ClassMove]) -> None:
        """Take in all moves at a node."""
        self.stale.discard(y)
        self._rest[y] = sorted(moves, reverse=True)
        self._offer(y)

    def _offer(self, y: int) -> None:
        if self._rest[y]:
            heappush(self._queue, (self._rest[y].pop(), self._age[y]))

    def forget(self, nodes: int) -> None:
        """Let the moves at some nodes be found anew."""
        for y in bits(nodes):
            self._age[y] += 1
            self.stale.add(y)

    def wake(self, nodes: Iterable[int]) -> None:
        """Look anew at the moves that wait for something to change at one of the nodes."""
        for node in nodes:
            for one in self._waiting.pop(node, ()):
                heappush(self._queue, one)

    def best(self, state: EquivalenceClass, tie: float) -> list[_Known]:
        """Take out the moves that gain most, those that tie by number; none if there are none."""
        tied: list[_Known] = []
        while self._queue and not (tied and self._queue[0][0].loss > tied[0][0].loss + tie):
            one = heappop(self._queue)
            if one[1] != self._age[one[0].y] or one in tied:
                continue
            self._offer(one[0].y)
            path = self.kind.obstacle(state, one[0])
            if not path:
                tied.append(one)
            for node in bits(path):
                self._waiting.setdefault(node, set()).add(one)
        return sorted(tied, key=lambda known: known[0][1:])

    def put_back(self, moves: Iterable[_Known]) -> None:
        """Take in moves that were taken out."""
        for one in moves:
            heappush(self._queue, one)


class ClassClimber:
    """A class on its way, with the moves known at each node."""

    def __init__(self, task: Task, scores: LocalScores) -> None:
        self._task = task
        self._scores = scores
        self._constraints = None if task.constraints.is_free else task.constraints
        self.graph = start_of(None, task, scores)
        self._class = class_of(self.graph)
        self._state = self._within(self._class)
        kinds = INSERT, DELETE, TURN
        self._known = {kind.name: _Moves(kind, len(self.graph)) for kind in kinds}
        self._cut: set[int] = set()
        self._met = None if task.is_equivalent else {_identity(self._state)}
        self.best, self._score, self._best_score = self.graph, 0.0, 0.0
        self._tie = TIE

    def place(self) -> None:
        """Begin at the class of the graph of the required arcs."""
        self._scores.prepare(enumerate(self.graph))
        local = [self._scores.toggled(y, mask)[y] for y, mask in enumerate(self.graph)]
        self._score = self._best_score = float(sum(local))
        self._tie = TIE * max(1.0, float(np.abs(local).max(initial=0.0)))

    def climb(self, kind: Kind) -> int:
        """Make the best move of a kind until none gains; return how many there were."""
        n_moves = 0
        while self._make_move(kind):
            n_moves += 1
            self._task.clock.tell(None, lambda: f"score {self._score:.2f}")
        return n_moves

    def reached(self, note: str) -> Step:
        """An entry for the trace."""
        return Step(self._best_score, self._scores.n_scored, note)

    def notes(self) -> list[str]:
        """Where moves may have been missed, and what the score is not."""
        found = []
        if self._met is not None:
            found.append(
                "GES took the score for the same in all graphs of a class, which it is but for the "
                "arcs from the source: each move was judged by the family that it changes, and the "
                "graph is the best of those met."
            )
        if not self._cut:
            return found
        names = [self._task.names[y] for y in sorted(self._cut)]
        return [
            *found,
            f"Only the {class_moves.MOST_SETS} smallest sets of neighbors were looked at for nodes "
            f"with more of them, so a better move may have been missed: {_check.listed(names)}.",
        ]

    def _within(self, found: EquivalenceClass) -> EquivalenceClass:
        """What the constraints leave of a class."""
        return found if self._constraints is None else constrained(found, self._constraints)

    def _make_move(self, kind: Kind) -> bool:
        if not self._list_moves(kind):
            return False
        known = self._known[kind.name]
        taken: list[_Known] = []
        is_made = False
        while not is_made and (tied := known.best(self._state, self._tie)):
            is_made = any(self._try(kind, move) for move, _ in tied)
            taken += tied
        known.put_back(taken)
        return is_made

    def _try(self, kind: Kind, move: ClassMove) -> bool:
        """Make a move, unless it leads to no graph, or to a class that was met."""
        graph = kind.result(self._state, move)
        if graph is None or (self._constraints is not None and not is_acyclic(graph)):
            return False
        found, changed = self._class.to(graph)
        state = self._within(found)
        if self._met is not None and _identity(state) in self._met:
            return False
        if self._constraints is not None:
            changed = [node for node in range(len(graph)) if self._state.differs(state, node)]
        self._class = found
        self._accept(graph, state, move, changed)
        return True

    def _list_moves(self, kind: Kind) -> bool:
        """Find the moves at nodes where they are not known; return whether there was time."""
        known = self._known[kind.name]
        stale = sorted(known.stale)
        asked = iter([family for y in stale for family in families(self._state, y)])
        while some := list(islice(asked, FAMILIES_AT_ONCE)):
            if self._task.clock.is_over():
                return False
            self._scores.prepare(some)
        for y in stale:
            known.know(y, self._moves(kind, y))
            if has_more_sets(self._state, y):
                self._cut.add(y)
        return not self._task.clock.is_over()

    def _moves(self, kind: Kind, y: int) -> Iterator[ClassMove]:
        found = kind.moves(self._state, self._scores, y, self._tie)
        if kind is DELETE and self._constraints is not None:
            required = self._task.constraints.required
            return (move for move in found if not required[move.x, y])
        return found

    def _accept(
        self, graph: list[int], state: EquivalenceClass, move: ClassMove, changed: list[int]
    ) -> None:
        before, self._state = self._state, state
        self.graph = graph
        self._score -= move.loss
        if self._met is not None:
            self._met.add(_identity(state))
            self._score = self._scores.total(graph)
        if self._met is None or self._score > self._best_score + self._tie:
            self.best, self._best_score = graph, self._score
        for kind, nodes in _changed(before, self._state, changed).items():
            self._known[kind].forget(nodes)
            self._known[kind].wake(changed)


def _changed(
    before: EquivalenceClass, after: EquivalenceClass, changed: Iterable[int]
) -> dict[str, int]:
    """The nodes whose moves changed, by kind, if the arcs and edges of some nodes have.

    All moves at a node depend on its arcs and edges; insertions on what its neighbors are joined
    to, deletions on what all nodes joined to it are joined to, turns on the arcs and edges of
    these.
    """
    own = joined = near_new = next_to_new = 0
    for node in changed:
        adjacent = after.adjacent[node]
        own |= 1 << node
        joined |= adjacent | before.adjacent[node]
        if adjacent != before.adjacent[node]:
            near_new |= after.neighbors[node]
            next_to_new |= adjacent
    return {INSERT.name: own | near_new, DELETE.name: own | next_to_new, TURN.name: own | joined}


def _identity(state: EquivalenceClass) -> tuple[tuple[int, ...], ...]:
    """What tells a class from all others."""
    return tuple(state.parents), tuple(state.neighbors)


def can_take(task: Task) -> bool:
    """Whether graphs of a class have the same score, or nearly so."""
    return is_equivalent_given_source(task.score) and (task.has_one_kind or not task.logistic)


def _check_equivalent(task: Task) -> None:
    score = task.score
    if not is_equivalent_given_source(score):
        raise InputError(
            f"GES goes from one equivalence class to another, and {score!r} differs between the "
            "graphs of a class. Use a score that does not, such as BIC() or BDeu(), or the search "
            "HillClimb().",
            score=score,
        )
    if task.logistic and not task.has_one_kind:
        raise InputError(
            "GES goes from one equivalence class to another, and logistic regressions differ "
            "between the graphs of a class. Leave out logistic=True, or use the search "
            "HillClimb().",
            parameter="logistic",
        )
