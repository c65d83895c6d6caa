r"""Moves from one equivalence class to another: insert, delete or turn an arc of some member.

A move :math:`x \to y` with a set :math:`C` stands for the members in which, of the neighbors of
:math:`y`, exactly :math:`C` are parents. With :math:`B = \mathrm{pa}(y) \cup C`, the local score
:math:`s` and :math:`N = \mathrm{ne}(y) \cap \mathrm{ad}(x)`, where :math:`C` is always a clique:

insert, for x and y not joined
    gains :math:`s(y, B \cup x) - s(y, B)`; all paths from y to x along arcs or edges meet
    :math:`C`, so :math:`N \subseteq C`.
delete, for :math:`x \to y` or :math:`x - y`
    gains :math:`s(y, B \setminus x) - s(y, B \cup x)`; :math:`C \subseteq N`.
turn, for :math:`y \to x`
    gains :math:`s(y, B \cup x) - s(y, B) + s(x, \mathrm{pa}(x) \setminus y) - s(x,
    \mathrm{pa}(x))`; all paths from y to x but the arc itself meet :math:`C` or a neighbor of x,
    and :math:`N \subseteq C`.
turn, for :math:`y - x`
    gains :math:`s(y, B \cup x) - s(y, B) + s(x, A) - s(x, A \cup y)` with :math:`A =
    \mathrm{pa}(x) \cup (C \cap N)`; :math:`C \not\subseteq N`, and :math:`C \cap N` separates
    :math:`C \setminus N` from :math:`N \setminus C` among the neighbors of y.

Together they lead to exactly the classes of the graphs that one arc more, one less or one turned
makes of any member.

References
----------
D. M. Chickering (2002). Optimal structure identification with greedy search. JMLR 3.
A. Hauser, P. Bühlmann (2012). Characterization and greedy learning of interventional Markov
equivalence classes of directed acyclic graphs. JMLR 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from consilience.structure.searches.class_masks import EquivalenceClass, bits
from consilience.structure.searches.local import LocalScores

__all__ = [
    "DELETE",
    "INSERT",
    "MOST_SETS",
    "TURN",
    "ClassMove",
    "Kind",
    "families",
    "has_more_sets",
]

MOST_SETS = 256
"""Sets C looked at for a node, the smaller first. A tree has as many as the node has neighbors,
and one more; an undirected clique of nine nodes has as many as this for each of them."""


class ClassMove(NamedTuple):
    """An arc x -> y to insert, delete or turn, for members in which ``given`` point to y.

    Moves sort by falling gain, then by number.
    """

    loss: float
    y: int
    x: int
    given: int


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of move.

    Attributes
    ----------
    moves
        The moves at a node y that gain more than a bound; paths are not looked at yet.
    obstacle
        The nodes of a path that would close a cycle; 0 if all such paths are blocked.
    result
        Sets of parents of the graph that the move makes of a member; None if there is no member.
    """

    name: str
    moves: Callable[[EquivalenceClass, LocalScores, int, float], Iterator[ClassMove]]
    obstacle: Callable[[EquivalenceClass, ClassMove], int]
    result: Callable[[EquivalenceClass, ClassMove], list[int] | None]


def families(state: EquivalenceClass, y: int) -> Iterator[tuple[int, int]]:
    """The families whose neighbors the moves at a node need, but for a few of its children."""
    for given in _sets(state, state.neighbors[y]):
        yield y, state.parents[y] | given


def has_more_sets(state: EquivalenceClass, y: int) -> bool:
    """Whether a node has more sets C than are looked at."""
    neighbors = state.neighbors[y]
    if 2 ** neighbors.bit_count() <= MOST_SETS:
        return False
    return next(islice(state.cliques(neighbors), MOST_SETS, None), None) is not None


def _sets(state: EquivalenceClass, within: int) -> Iterator[int]:
    return islice(state.cliques(within), MOST_SETS)


def _insertions(
    state: EquivalenceClass, scores: LocalScores, y: int, least: float
) -> Iterator[ClassMove]:
    neighbors = state.neighbors[y]
    for given in _sets(state, neighbors):
        excluded = state.adjacent[y] | 1 << y
        for other in bits(neighbors & ~given):
            excluded |= state.adjacent[other]
        for x, gain in scores.gaining(y, state.parents[y] | given, least):
            if not excluded >> x & 1:
                yield ClassMove(-gain, y, x, given)


def _deletions(
    state: EquivalenceClass, scores: LocalScores, y: int, least: float
) -> Iterator[ClassMove]:
    for x in bits(state.parents[y] | state.neighbors[y]):
        near = state.neighbors[y] & state.adjacent[x]
        for given in _sets(state, near):
            values = scores.toggled(y, state.parents[y] | given | 1 << x)
            gain = float(values[x] - values[y])
            if gain > least:
                yield ClassMove(-gain, y, x, given)


def _turns(
    state: EquivalenceClass, scores: LocalScores, y: int, least: float
) -> Iterator[ClassMove]:
    neighbors = state.neighbors[y]
    for given in _sets(state, neighbors):
        values = scores.toggled(y, state.parents[y] | given)
        for x in bits((state.children[y] | neighbors) & ~given):
            if not np.isfinite(values[x]) or not _may_turn(state, given, x, y):
                continue
            before = scores.toggled(x, state.parents[x] | _pointing(state, given, x, y))
            gain = float(values[x] - values[y] + before[y] - before[x])
            if gain > least:
                yield ClassMove(-gain, y, x, given)


def _may_turn(state: EquivalenceClass, given: int, x: int, y: int) -> bool:
    near = state.neighbors[y] & state.adjacent[x]
    if state.children[y] >> x & 1:
        return not near & ~given
    reached = waiting = given & ~near
    while waiting:
        lowest = waiting & -waiting
        joined = state.adjacent[lowest.bit_length() - 1] & state.neighbors[y]
        new = joined & ~reached & ~(given & near) & ~(1 << x)
        reached |= new
        waiting = waiting ^ lowest | new
    return reached != 0 and not reached & near


def _pointing(state: EquivalenceClass, given: int, x: int, y: int) -> int:
    """Of the neighbors of x those that point to it before the arc is turned."""
    return (given | 1 << y) & state.neighbors[x] if state.neighbors[y] >> x & 1 else 0


def _inserted(state: EquivalenceClass, move: ClassMove) -> list[int] | None:
    parents = state.member({move.y: move.given})
    if parents is not None:
        parents[move.y] |= 1 << move.x
    return parents


def _deleted(state: EquivalenceClass, move: ClassMove) -> list[int] | None:
    parents = state.member({move.y: move.given | 1 << move.x})
    if parents is not None:
        parents[move.y] &= ~(1 << move.x)
    return parents


def _turned(state: EquivalenceClass, move: ClassMove) -> list[int] | None:
    _, y, x, given = move
    parents = state.member({y: given, x: _pointing(state, given, x, y)})
    if parents is not None:
        parents[x] &= ~(1 << y)
        parents[y] |= 1 << x
    return parents


def _before_insertion(state: EquivalenceClass, move: ClassMove) -> int:
    return state.path(move.y, 1 << move.x, move.given)


def _before_turn(state: EquivalenceClass, move: ClassMove) -> int:
    _, y, x, given = move
    if state.neighbors[y] >> x & 1:
        return 0
    return state.path(y, state.parents[x] & ~(1 << y), given | state.neighbors[x] | 1 << x)


def _before_deletion(state: EquivalenceClass, move: ClassMove) -> int:
    return 0


INSERT = Kind("insert", _insertions, _before_insertion, _inserted)
DELETE = Kind("delete", _deletions, _before_deletion, _deleted)
TURN = Kind("turn", _turns, _before_turn, _turned)
