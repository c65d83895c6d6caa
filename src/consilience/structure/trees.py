"""Trees: the spanning tree of largest weight, and its arcs away from a root.

Shared by the structures whose likelihood is a sum over the edges of a tree. Kruskal's algorithm
(1956) takes the edges from the heaviest to the lightest and leaves out those that close a cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from consilience._typing import Floats

__all__ = ["arcs_from_root", "spanning_tree"]

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
