r"""Greedy search over equivalence classes (GES).

From the class of the graph without arcs the best insertion is made until none gains, then the best
deletion, then the best turn; and again, until no move of any kind gains. Moves are of a whole class
at once (:mod:`consilience.structure.searches.class_moves`): what one member hides another shows, so
there are far fewer local optima than for single graphs. With a score that is consistent, enough
rows and a distribution that has just the independences of some graph, insertions and deletions
alone end in that graph's class.

The moves at a node are found anew only when something that they depend on has changed: the arcs and
edges at it or, as far as it matters, at a node joined to it.

References
----------
D. M. Chickering (2002). Optimal structure identification with greedy search. JMLR 3.
A. Hauser, P. Bühlmann (2012). Characterization and greedy learning of interventional Markov
equivalence classes of directed acyclic graphs. JMLR 13.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import cycle, islice

import numpy as np

from consilience import _check
from consilience.errors import InputError
from consilience.structure.scores.score import is_equivalent_given_source
from consilience.structure.searches import class_moves
from consilience.structure.searches.class_masks import EquivalenceClass, bits, class_of, is_acyclic
from consilience.structure.searches.class_moves import (
    DELETE,
    INSERT,
    TURN,
    ClassMove,
    Kind,
    families,
    has_more_sets,
)
from consilience.structure.searches.hill_climb import TIE
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.starts import start_of
from consilience.structure.searches.task import SearchResult, Step, Task

__all__ = ["GES"]

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
        climber = _ClassClimber(task, scores)
        trace: list[Step] = []
        stopped_by = "optimum"
        try:
            climber.place()
            self._climb(task, climber, trace)
            if task.clock.is_over():
                stopped_by = "seconds"
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        return task.result(
            scores, climber.best, trace=trace, stopped_by=stopped_by, notes=climber.notes()
        )

    def _climb(self, task: Task, climber: _ClassClimber, trace: list[Step]) -> None:
        kinds = (INSERT, DELETE, TURN) if self.turning else (INSERT, DELETE)
        in_vain = 0
        for kind in cycle(kinds):
            before = climber.best
            n_moves = climber.climb(kind)
            trace.append(climber.reached(f"{kind.name}: {n_moves} moves"))
            in_vain = in_vain + 1 if climber.best == before else 0
            if in_vain == len(kinds) or task.clock.is_over():
                return


class _ClassClimber:
    """A class on its way, with the moves known at each node."""

    def __init__(self, task: Task, scores: LocalScores) -> None:
        self._task = task
        self._scores = scores
        self._constraints = None if _is_free(task) else task.constraints
        self.graph = start_of(None, task, scores)
        self._state = class_of(self.graph, self._constraints)
        self._known: dict[str, dict[int, list[ClassMove]]] = {
            kind.name: {} for kind in (INSERT, DELETE, TURN)
        }
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

    def _make_move(self, kind: Kind) -> bool:
        if not self._list_moves(kind):
            return False
        for move in self._candidates(kind):
            graph = kind.result(self._state, move)
            if graph is None or (self._constraints is not None and not is_acyclic(graph)):
                continue
            state = class_of(graph, self._constraints)
            if self._met is None or _identity(state) not in self._met:
                self._accept(graph, state, move)
                return True
        return False

    def _list_moves(self, kind: Kind) -> bool:
        """Find the moves at nodes where they are not known; return whether there was time."""
        known = self._known[kind.name]
        stale = [y for y in range(len(self.graph)) if y not in known]
        asked = iter([family for y in stale for family in families(self._state, y)])
        while some := list(islice(asked, FAMILIES_AT_ONCE)):
            if self._task.clock.is_over():
                return False
            self._scores.prepare(some)
        for y in stale:
            known[y] = self._moves(kind, y)
            if has_more_sets(self._state, y):
                self._cut.add(y)
        return not self._task.clock.is_over()

    def _moves(self, kind: Kind, y: int) -> list[ClassMove]:
        required = self._task.constraints.required
        found = kind.moves(self._state, self._scores, y, self._tie)
        if kind is DELETE and self._constraints is not None:
            return sorted(move for move in found if not required[move.x, y])
        return sorted(found)

    def _candidates(self, kind: Kind) -> Iterator[ClassMove]:
        """Moves by falling gain, those that tie by number."""
        tied: list[ClassMove] = []
        for move in merge(*[moves for moves in self._known[kind.name].values() if moves]):
            if tied and move.loss > tied[0].loss + self._tie:
                yield from sorted(tied, key=lambda move: move[1:])
                tied = []
            if kind.is_blocked(self._state, move):
                tied.append(move)
        yield from sorted(tied, key=lambda move: move[1:])

    def _accept(self, graph: list[int], state: EquivalenceClass, move: ClassMove) -> None:
        before, self._state = self._state, state
        self.graph = graph
        self._score -= move.loss
        if self._met is not None:
            self._met.add(_identity(state))
            self._score = self._scores.total(graph)
        if self._met is None or self._score > self._best_score + self._tie:
            self.best, self._best_score = graph, self._score
        for kind, nodes in _changed(before, self._state).items():
            for y in bits(nodes):
                self._known[kind].pop(y, None)


def _changed(before: EquivalenceClass, after: EquivalenceClass) -> dict[str, int]:
    """The nodes whose moves changed, by kind.

    All moves at a node depend on its arcs and edges; insertions on what its neighbors are joined
    to, deletions on what all nodes joined to it are joined to, turns on the arcs and edges of
    these.
    """
    own = joined = near_new = next_to_new = 0
    for node, adjacent in enumerate(after.adjacent):
        if (
            before.parents[node] != after.parents[node]
            or before.neighbors[node] != after.neighbors[node]
            or before.children[node] != after.children[node]
        ):
            own |= 1 << node
            joined |= adjacent | before.adjacent[node]
            if adjacent != before.adjacent[node]:
                near_new |= after.neighbors[node]
                next_to_new |= adjacent
    return {INSERT.name: own | near_new, DELETE.name: own | next_to_new, TURN.name: own | joined}


def _identity(state: EquivalenceClass) -> tuple[tuple[int, ...], ...]:
    """What tells a class from all others."""
    return tuple(state.parents), tuple(state.neighbors)


def _is_free(task: Task) -> bool:
    """Whether every arc is allowed and none is required."""
    p = len(task.names)
    return int(task.constraints.allowed.sum()) == p * (p - 1)


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
