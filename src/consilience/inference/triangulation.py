"""From an undirected graph to the cliques of a junction tree, and what they will cost.

A greedy elimination order is found several times, with different costs and different ties, and the
cheapest tree is kept. Eliminating a node v forms the table of v and its neighbors at that time;
the next of these to be eliminated is the parent of v. Nodes whose table is their only child's
without one variable join that child's clique (Blair and Peyton 1993), which leaves the maximal
cliques. In each clique the variables that are eliminated last come first, so that what it shares
with its parent is a prefix. A clique that shares few variables with a large parent is hung under
a smaller clique that has them too: its message then meets a smaller table.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience.errors import MemoryLimitError
from consilience.kernels.compile import at_hand
from consilience.kernels.ordering import FILL, WEIGHT, WEIGHTED_FILL, greedy_order

__all__ = ["MORE_MEMORY", "Cost", "Held", "Triangulation", "cells_of", "interaction", "triangulate"]

TRIES = ((1e5, 1), (2e7, 2), (1e10, 24), (1e12, 6), (math.inf, 1))
"""Cells of the best tree so far, and how many tries of each cost are worth it.

A small tree needs no better one, and one that no memory holds gets none that is small enough.
"""

MORE_MEMORY = "or raise memory_limit (of a query: by=cs.inference.Exact(memory_limit=...))."
"""The end of what a refusal advises; a fit has the parameter itself."""

LARGE = 1000.0  # cells: below it no other parent is looked for

SMALL = 24
"""Nodes up to which an order is found sooner in Python than numba is loaded."""


class Held(NamedTuple):
    """What a method holds at the worst time: how many tables of the size of every clique, of what
    every clique shares with its parent, of every variable with those it is eliminated from, and of
    the largest of these.
    """

    cliques: float = 0.0
    messages: float = 0.0
    steps: float = 0.0
    largest: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What inference would take, known before anything is allocated.

    Parameters
    ----------
    largest_table
        Cells of the largest clique.
    total_cells
        Cells of all cliques together.
    operations
        Multiplications and additions of one pass through all tables, roughly.
    bytes
        Memory at the worst time. Of all marginals it is within some percent of what is used; a
        query sums its products while it forms them, and can take much less.
    cliques
        The variables of the largest cliques, the largest first (at most five).
    """

    largest_table: float
    total_cells: float
    operations: float
    bytes: float
    cliques: tuple[tuple[str, ...], ...]

    def check(self, memory_limit: float) -> None:
        """Refuse what would need more than the limit, naming the largest clique."""
        if not self.bytes <= memory_limit:
            raise MemoryLimitError(
                f"exact inference would need {_check.bytes_text(self.bytes)}; the limit is "
                f"{_check.bytes_text(memory_limit)}. The largest clique has "
                f"{self.largest_table:.3g} cells: {_check.listed(self.cliques[0])}. Ask for less, "
                f"give more, estimate the answer (by=cs.inference.Best()), {MORE_MEMORY}",
                cliques=self.cliques,
                needed=self.bytes,
                limit=memory_limit,
            )


@dataclass(frozen=True, slots=True)
class Triangulation:
    """An elimination order and its maximal cliques, children before their parents.

    Parameters
    ----------
    order
        All variables, in the order of elimination.
    cliques
        Variables of each clique; those shared with the parent first.
    n_shared
        How many of them are shared with the parent.
    parent
        Number of the parent clique, -1 for a root.
    cost
        What the tree takes.
    """

    order: tuple[str, ...]
    cliques: tuple[tuple[str, ...], ...]
    n_shared: tuple[int, ...]
    parent: tuple[int, ...]
    cost: Cost


def interaction(
    scopes: Iterable[Sequence[str]], names: Iterable[str] = ()
) -> dict[str, tuple[str, ...]]:
    """The graph in which two variables are neighbors if a scope has both.

    ``names`` come first, in their order, whether a scope has them or not.
    """
    neighbors: dict[str, dict[str, None]] = {name: {} for name in names}
    for scope in scopes:
        together = dict.fromkeys(scope)
        for name in scope:
            neighbors.setdefault(name, {}).update(together)
    return {name: tuple(o for o in others if o != name) for name, others in neighbors.items()}


def triangulate(
    neighbors: Mapping[str, Sequence[str]],
    n_states: Mapping[str, int],
    *,
    last: Sequence[str] = (),
    held: Held,
) -> Triangulation:
    """The cheapest of several greedy triangulations of a graph.

    Parameters
    ----------
    neighbors
        Each node's neighbors.
    n_states
        Number of states of each node.
    last
        Nodes to be eliminated after all others (a constrained order).
    held
        What the method holds; it enters the predicted memory only.
    """
    names = list(neighbors)
    order = [names[i] for i in _best_order(neighbors, n_states, frozenset(last))]
    later = _tables(neighbors, order)
    return _tree(order, later, n_states, held)


def _best_order(
    neighbors: Mapping[str, Sequence[str]], n_states: Mapping[str, int], last: frozenset[str]
) -> npt.NDArray[np.int64]:
    names = list(neighbors)
    if not names:
        return np.zeros(0, np.int64)
    adjacency = _adjacency(neighbors)
    log_sizes = np.log([float(n_states[name]) for name in names])
    group = np.array([name in last for name in names], np.int64)
    order_of = at_hand(greedy_order, is_small=len(names) <= SMALL)
    n = len(names)
    best, least, seed = np.zeros(0, np.int64), math.inf, 0
    room = np.empty((2, n), np.uint8), np.empty((2, n)), np.empty(n, np.int64)
    while seed < next(tries for cells, tries in TRIES if least <= cells or cells == math.inf):
        for heuristic in (FILL, WEIGHTED_FILL, WEIGHT):
            order, way = np.empty(n, np.int64), (heuristic, seed, least)
            total = order_of(adjacency.copy(), log_sizes, group, *way, order, *room)
            if total < least:
                best, least = order, total
        seed += 1
    return best


def _adjacency(neighbors: Mapping[str, Sequence[str]]) -> npt.NDArray[np.uint8]:
    n, position = len(neighbors), {name: i for i, name in enumerate(neighbors)}
    matrix = np.zeros((n, n), np.uint8)
    each = zip(position.values(), neighbors.values(), strict=True)
    matrix.reshape(-1)[[n * i + position[other] for i, others in each for other in others]] = 1
    return matrix


def _tables(neighbors: Mapping[str, Sequence[str]], order: Sequence[str]) -> dict[str, set[str]]:
    """For each node, its neighbors at the time of its elimination."""
    position = {name: i for i, name in enumerate(order)}
    later: dict[str, set[str]] = {}
    joined: dict[str, set[str]] = {name: set() for name in order}
    for name in order:
        later[name] = {o for o in neighbors[name] if position[o] > position[name]} | joined[name]
        if later[name]:
            parent = min(later[name], key=position.__getitem__)
            joined[parent] |= later[name] - {parent}
    return later


def _tree(
    order: Sequence[str],
    later: Mapping[str, set[str]],
    n_states: Mapping[str, int],
    held: Held,
) -> Triangulation:
    position = {name: i for i, name in enumerate(order)}
    first_of: dict[str, str] = {}  # the node whose table is the clique that a node belongs to
    last_of: dict[str, str] = {}
    for name in order:
        first_of.setdefault(name, name)
        last_of[first_of[name]] = name
        if later[name]:
            parent = min(later[name], key=position.__getitem__)
            if len(later[name]) == len(later[parent]) + 1 and parent not in first_of:
                first_of[parent] = first_of[name]
    firsts = sorted(last_of, key=lambda first: position[last_of[first]])
    number = {first: i for i, first in enumerate(firsts)}
    cliques, n_shared, parents = [], [], []
    for first in firsts:
        above = later[last_of[first]]
        members = sorted({first, *later[first]}, key=position.__getitem__, reverse=True)
        cliques.append(tuple(members))
        n_shared.append(len(above))
        next_one = min(above, key=position.__getitem__, default=None)
        parents.append(-1 if next_one is None else number[first_of[next_one]])
    cells = [cells_of(clique, n_states) for clique in cliques]
    shared = [frozenset(clique[:n]) for clique, n in zip(cliques, n_shared, strict=True)]
    parents = _smaller_parents(parents, shared, cells)
    new = _children_first(parents)
    place = {c: i for i, c in enumerate(new)}
    return Triangulation(
        tuple(order),
        tuple(cliques[c] for c in new),
        tuple(n_shared[c] for c in new),
        tuple(place.get(parents[c], -1) for c in new),
        _cost(cliques, cells, _cells_held(held, cells, shared, later, n_states=n_states)),
    )


def _smaller_parents(
    parents: Sequence[int], shared: Sequence[frozenset[str]], cells: Sequence[float]
) -> list[int]:
    """Each clique under a sibling of at most half its parent's cells, while one has what it shares.

    What a clique and its sibling have in common is in their parent, so the separator stays.
    """
    above = list(parents)
    children: dict[int, list[int]] = {}
    for c, parent in enumerate(above):
        children.setdefault(parent, []).append(c)
    for c in range(len(above)):
        while above[c] >= 0 and cells[above[c]] > LARGE:
            others = (d for d in children[above[c]] if 2 * cells[d] <= cells[above[c]] and d != c)
            best = min(
                (d for d in others if shared[c] <= shared[d]), key=cells.__getitem__, default=-1
            )
            if best < 0:
                break
            children[above[c]].remove(c)
            children.setdefault(best, []).append(c)
            above[c] = best
    return above


def _children_first(parents: Sequence[int]) -> list[int]:
    """The cliques, each after its children and the last of them still last."""
    children: dict[int, list[int]] = {}
    for c, parent in enumerate(parents):
        children.setdefault(parent, []).append(c)
    order, waiting = [], list(children.get(-1, ()))
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(order[-1], ())
    return order[::-1]


def _cells_held(
    held: Held,
    cells: Sequence[float],
    shared: Sequence[Collection[str]],
    later: Mapping[str, set[str]],
    *,
    n_states: Mapping[str, int],
) -> float:
    """Cells of all that is held."""
    total = held.cliques * sum(cells) + held.largest * max(cells, default=1.0)
    if held.messages:
        total += held.messages * sum(cells_of(names, n_states) for names in shared)
    if held.steps:
        formed = (n_states[name] * cells_of(others, n_states) for name, others in later.items())
        total += held.steps * sum(formed)
    return total


def cells_of(names: Iterable[str], n_states: Mapping[str, int]) -> float:
    """Cells of a table over some variables: a float, which does not overflow."""
    cells = 1.0
    for name in names:
        cells *= n_states[name]
    return cells


def _cost(cliques: Sequence[tuple[str, ...]], cells: Sequence[float], cells_held: float) -> Cost:
    largest = sorted(range(len(cliques)), key=lambda c: (-cells[c], c))[:5]
    return Cost(
        largest_table=max(cells, default=1.0),
        total_cells=sum(cells),
        operations=sum(size * len(c) for size, c in zip(cells, cliques, strict=True)),
        bytes=8 * cells_held,
        cliques=tuple(cliques[c] for c in largest),
    )
