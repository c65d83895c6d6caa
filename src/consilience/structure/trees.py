"""Trees: the spanning tree of largest weight, its arcs away from a root, the best branching.

Shared by the structures whose likelihood is a sum over the edges of a tree. Kruskal's algorithm
(1956) takes the edges from the heaviest to the lightest and leaves out those that close a cycle.
Where an arc and its reverse differ, or one of them must not be, the best tree is a branching: every
node but the root takes the heaviest arc that leads into it; a cycle becomes a single node, whose
arcs are worth what they gain over the arc of the cycle that they replace; and so on until there is
no cycle (Chu and Liu 1965, Edmonds 1967). Time grows with the cube of the nodes at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from consilience._typing import Floats

__all__ = ["arcs_from_root", "best_branching", "rooted_tree", "spanning_tree"]

TIE = 1e-9  # weights closer than this share of the largest finite one are equal but for rounding

Edge = tuple[int, int]


def spanning_tree(weights: Floats) -> list[Edge]:
    """Edges ``(i, j)``, ``i < j``, of the spanning tree of largest total weight.

    Edges of equal weight (within 1e-9 of the largest) are taken in the order of ``(i, j)``, so that
    the tree depends on nothing but the weights.

    Parameters
    ----------
    weights
        Symmetric matrix; what stands below or on its diagonal is not read.

    Examples
    --------
    >>> spanning_tree(np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], float))
    [(0, 2), (1, 2)]
    """
    leader = list(range(len(weights)))
    tree = []
    for i, j in _heaviest_first(weights):
        one, other = _leader(leader, i), _leader(leader, j)
        if one != other:
            leader[other] = one
            tree.append((i, j))
    return sorted(tree)


def arcs_from_root(edges: Sequence[Edge], root: int) -> list[Edge]:
    """The edges of a tree as arcs ``(parent, child)`` that lead away from the root."""
    neighbors: dict[int, list[int]] = {}
    for i, j in edges:
        neighbors.setdefault(i, []).append(j)
        neighbors.setdefault(j, []).append(i)
    arcs: list[Edge] = []
    reached, waiting = {root}, deque([root])
    while waiting:
        parent = waiting.popleft()
        children = [node for node in neighbors.get(parent, ()) if node not in reached]
        arcs += [(parent, child) for child in children]
        reached.update(children)
        waiting.extend(children)
    return arcs


def rooted_tree(weights: Floats, root: int | None = None) -> list[Edge]:
    """Arcs ``(parent, child)`` of the tree of largest weight, of which some arcs must not be.

    Where every arc weighs as much as its reverse the tree is that of :func:`spanning_tree`, else it
    is the best branching. Without a root it is the first node that may have every other for a child
    (or failing that a child at all), unless another leads to a tree of larger weight.

    Examples
    --------
    >>> rooted_tree(np.array([[0, 1, 0.1], [1, 0, 0.1], [5, 0.2, 0]]), root=1)
    [(2, 0), (1, 2)]
    """
    off = ~np.eye(len(weights), dtype=bool)
    start = root
    if start is None:
        may = np.isfinite(weights) & off
        start = int(may.sum(axis=1).argmax()) if len(weights) else 0
    if _is_symmetric(weights):
        return arcs_from_root(spanning_tree(weights), start)
    tree = best_branching(weights, start)
    if root is not None:
        return tree
    other = best_branching(weights)
    return other if _is_heavier(weights, other, tree) else tree


def best_branching(weights: Floats, root: int | None = None) -> list[Edge]:
    """Arcs ``(parent, child)``, by child, of the tree of largest weight away from a root.

    Arcs of equal weight (within 1e-9 of the largest) go to the first parent. A node that no arcs
    lead to from the root has no parent in the answer, and is the root of a tree of its own.

    Parameters
    ----------
    weights
        ``weights[i, j]`` is that of the arc from i to j, minus infinity where there must be none;
        the diagonal and the arcs into the root are not read.
    root
        If not given, the one whose tree has the largest weight.

    Examples
    --------
    >>> weights = np.array([[0, 2, 2], [0, 0, 4], [0, 5, 0]], float)
    >>> best_branching(weights, root=0)
    [(2, 1), (0, 2)]
    """
    weights = np.asarray(weights, float).copy()
    np.fill_diagonal(weights, -np.inf)
    if root is not None:
        weights[:, root] = -np.inf
    scale = _scale(weights)
    # A root of all roots, dearer than any tree, stands in where a node cannot be reached.
    n, cost = len(weights), (len(weights) + 1) * (scale + 1.0)
    whole = np.full((n + 1, n + 1), -np.inf)
    whole[:n, :n] = weights
    whole[n, :n] = -cost
    if root is not None:
        whole[n, root] = 0.0
    parents = _parents(whole, n, TIE * scale)
    return [(parent, child) for child, parent in enumerate(parents[:n]) if parent != n]


def _is_symmetric(weights: Floats) -> bool:
    """Whether every arc weighs as much as its reverse, but for rounding."""
    i, j = np.triu_indices(len(weights), k=1)
    there, back = weights[i, j], weights[j, i]
    may = np.isfinite(there)
    if (may != np.isfinite(back)).any():
        return False
    tolerance = TIE * max(_scale(there), _scale(back))
    return bool((np.abs(there[may] - back[may]) <= tolerance).all())


def _is_heavier(weights: Floats, one: Sequence[Edge], other: Sequence[Edge]) -> bool:
    """Whether a tree has more arcs than another, or as many of a larger weight."""
    if len(one) != len(other):
        return len(one) > len(other)
    gain = sum(weights[arc] for arc in one) - sum(weights[arc] for arc in other)
    return bool(gain > TIE * _scale(weights))


def _scale(weights: Floats) -> float:
    return float(np.abs(weights[np.isfinite(weights)]).max(initial=0.0))


def _parents(weights: Floats, root: int, tolerance: float) -> list[int]:
    """The parent of every node in the best branching, -1 for the root; all can be reached."""
    best = weights.max(axis=0)
    parents = [int(p) for p in (weights >= best - tolerance).argmax(axis=0)]
    parents[root] = -1
    cycle = _cycle(parents)
    if not cycle:
        return parents
    others = [node for node in range(len(weights)) if node not in set(cycle)]
    place = {node: k for k, node in enumerate(others)}
    held = weights[[parents[node] for node in cycle], cycle]
    into = weights[np.ix_(others, cycle)] - held  # what an arc gains over that of the cycle
    out = weights[np.ix_(cycle, others)]
    small = np.full((len(others) + 1, len(others) + 1), -np.inf)
    small[:-1, :-1] = weights[np.ix_(others, others)]
    small[:-1, -1], small[-1, :-1] = into.max(axis=1), out.max(axis=0)
    found = _parents(small, place[root], tolerance)
    entered = cycle[int(into[found[-1]].argmax())]
    parents[entered] = others[found[-1]]
    for k, node in enumerate(others):
        if found[k] == len(others):
            parents[node] = cycle[int(out[:, k].argmax())]
        else:
            parents[node] = -1 if found[k] < 0 else others[found[k]]
    return parents


def _cycle(parents: Sequence[int]) -> list[int]:
    """The nodes of one cycle, or none."""
    color = [0] * len(parents)
    for start in range(len(parents)):
        node = start
        while node >= 0 and color[node] == 0:
            color[node] = start + 1
            node = parents[node]
        if node >= 0 and color[node] == start + 1:
            cycle, last = [node], parents[node]
            while last != node:
                cycle.append(last)
                last = parents[last]
            return cycle
    return []


def _heaviest_first(weights: Floats) -> list[Edge]:
    rows, columns = np.triu_indices(len(weights), k=1)
    values = weights[rows, columns]
    if not values.size:
        return []
    order = np.argsort(-values, kind="stable")
    tolerance = TIE * float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    group, rank = np.empty(len(values), np.int64), -1
    first = np.inf
    for k in order:  # a group of ties begins with its heaviest edge
        if values[k] < first - tolerance:
            first, rank = values[k], rank + 1
        group[k] = rank
    # Edges stand in the order of (i, j) already, which a stable sort keeps within a group.
    return [(int(rows[k]), int(columns[k])) for k in np.argsort(group, kind="stable")]


def _leader(leader: list[int], node: int) -> int:
    while leader[node] != node:
        leader[node] = leader[leader[node]]
        node = leader[node]
    return node
