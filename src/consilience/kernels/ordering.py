"""Greedy elimination orders of an undirected graph.

Eliminating a node joins all its neighbors. The node to go next is the one with the least cost:

- *fill*: the number of neighbors that have to be joined (min-fill);
- *weighted fill*: the same, each new edge weighted by the product of the two numbers of states;
- *weight*: the size of the table that the elimination forms (min-weight).

Ties are broken by a second cost, then at random (seed 0: by position), so that several tries give
several orders.

References: Rose (1970); Kjaerulff (1990); Fishelson and Geiger (2003).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["FILL", "WEIGHT", "WEIGHTED_FILL", "greedy_order"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

FILL, WEIGHTED_FILL, WEIGHT = 0, 1, 2


@kernel
def greedy_order(
    adjacency: npt.NDArray[np.uint8],
    log_sizes: Floats,
    group: Integers,
    heuristic: int,
    seed: int,
    most: float,
    order: Integers,
    marks: npt.NDArray[np.uint8],
    costs: Floats,
    neighbors: Integers,
) -> float:
    """Fill in an elimination order; the cells of all tables it forms.

    ``adjacency`` is overwritten. Nodes of a smaller ``group`` go before those of a larger one. As
    soon as the tables have ``most`` cells or more the order is given up, and says nothing.
    ``marks`` and ``costs``, of two rows each, and ``neighbors`` are working memory.
    """
    n = len(log_sizes)
    is_gone, is_stale, cost, second = marks[0], marks[1], costs[0], costs[1]
    for v in range(n):
        is_gone[v], is_stale[v] = 0, 1
    state = np.uint64(seed)
    total = 0.0
    for step in range(n):
        best = _simplicial(group, is_gone, is_stale, cost, second) if heuristic != WEIGHT else -1
        ties = 0
        for v in range(n if best < 0 else 0):
            if is_gone[v]:
                continue
            if is_stale[v]:
                cost[v], second[v] = _costs(adjacency, log_sizes, is_gone, v, heuristic, neighbors)
                is_stale[v] = 0
            if best >= 0 and group[v] > group[best]:
                continue
            if (
                best < 0
                or group[v] < group[best]
                or cost[v] < cost[best]
                or (cost[v] == cost[best] and second[v] < second[best])
            ):
                best = v
                ties = 1
            elif seed > 0 and cost[v] == cost[best] and second[v] == second[best]:
                ties += 1
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                if (state >> np.uint64(33)) % np.uint64(ties) == 0:
                    best = v
        order[step] = best
        total += _eliminate(adjacency, log_sizes, is_gone, is_stale, best, neighbors)
        if total >= most:
            break
    return total


@inner
def _simplicial(
    group: Integers,
    is_gone: npt.NDArray[np.uint8],
    is_stale: npt.NDArray[np.uint8],
    cost: Floats,
    second: Floats,
) -> int:
    """A node of the first group whose elimination is known to join nothing, or -1.

    Such a node may always go first; taking it spares the costs of all that are stale, so that a
    hub is not looked at again after each of its neighbors.
    """
    first = -1
    for v in range(len(group)):
        if not is_gone[v] and (first < 0 or group[v] < first):
            first = group[v]
    best = -1
    for v in range(len(group)):
        is_free = not is_gone[v] and not is_stale[v] and group[v] == first and cost[v] == 0.0
        if is_free and (best < 0 or second[v] < second[best]):
            best = v
    return best


@inner
def _costs(
    adjacency: npt.NDArray[np.uint8],
    log_sizes: Floats,
    is_gone: npt.NDArray[np.uint8],
    v: int,
    heuristic: int,
    neighbors: Integers,
) -> tuple[float, float]:
    n_neighbors = 0
    weight = log_sizes[v]
    for u in range(len(log_sizes)):
        if adjacency[v, u] and not is_gone[u]:
            neighbors[n_neighbors] = u
            n_neighbors += 1
            weight += log_sizes[u]
    if heuristic == WEIGHT:
        return weight, float(n_neighbors)
    fill = 0.0
    for i in range(n_neighbors):
        u = neighbors[i]
        for j in range(i):
            w = neighbors[j]
            if not adjacency[u, w]:
                fill += math.exp(log_sizes[u] + log_sizes[w]) if heuristic == WEIGHTED_FILL else 1.0
    return fill, weight


@inner
def _eliminate(
    adjacency: npt.NDArray[np.uint8],
    log_sizes: Floats,
    is_gone: npt.NDArray[np.uint8],
    is_stale: npt.NDArray[np.uint8],
    v: int,
    neighbors: Integers,
) -> float:
    """Join the neighbors of a node, take it out, mark what changed; the size of its table."""
    n_neighbors = 0
    weight = log_sizes[v]
    for u in range(len(log_sizes)):
        if adjacency[v, u] and not is_gone[u]:
            neighbors[n_neighbors] = u
            n_neighbors += 1
            weight += log_sizes[u]
    is_gone[v] = 1
    for i in range(n_neighbors):
        u = neighbors[i]
        is_stale[u] = 1
        is_new = False
        for j in range(n_neighbors):
            w = neighbors[j]
            if u != w and not adjacency[u, w]:
                adjacency[u, w] = 1
                is_new = True
        if is_new:
            # A new edge changes the fill of the common neighbors of its ends.
            for w in range(len(log_sizes)):
                if adjacency[u, w]:
                    is_stale[w] = 1
    return math.exp(weight)
