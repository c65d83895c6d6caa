"""In which order the nodes of each row stand, so that few arcs cross.

The rows are swept down and up: each is sorted by the barycentre or the median of its neighbors in
the row just passed, then neighbors in a row are exchanged while that removes crossings. Finding
the least number of crossings is NP-hard, so a few starting orders are tried; those that are
shuffled are shuffled the same way each time.

References
----------
K. Sugiyama, S. Tagawa, M. Toda (1981). Methods for visual understanding of hierarchical system
structures. IEEE Transactions on Systems, Man, and Cybernetics 11(2), 109-125.
E. Gansner, E. Koutsofios, S. North, K.-P. Vo (1993). A technique for drawing directed graphs. IEEE
Transactions on Software Engineering 19(3), 214-230.
"""

from __future__ import annotations

import random
from bisect import bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from consilience.show.layers import Adjacency

__all__ = ["n_crossings", "order_layers"]

Rows = list[list[int]]
Ends = tuple[list[int], list[int]]
EFFORT = 200_000  # arcs and bends times sweeps over all starts; about two seconds
N_STARTS = 12


def order_layers(layers: Sequence[int], neighbors: Adjacency) -> list[Rows]:
    """Good orders, fewest crossings first; each has the nodes of every row from left to right.

    Parameters
    ----------
    layers
        The row of every node.
    neighbors
        Parents and children of every node, all of them in the rows next to its own.
    """
    size = sum(map(len, neighbors[1])) + len(layers)
    n_sweeps = max(4, min(24, EFFORT // (4 * size)))
    n_starts = max(2, min(N_STARTS, EFFORT // (size * n_sweeps)))
    tries = [_improve(rows, neighbors, n_sweeps) for rows in _starts(layers, neighbors)[:n_starts]]
    return [rows for _, rows in sorted(tries, key=lambda found: found[0])]


def n_crossings(rows: Rows, neighbors: Adjacency) -> int:
    """Number of pairs of arcs that cross."""
    children = neighbors[1]
    total = 0
    for row, below in pairwise(rows):
        place = {node: i for i, node in enumerate(below)}
        passed: list[int] = []
        for node in row:
            ends = sorted(place[child] for child in children[node])
            total += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return total


def _starts(layers: Sequence[int], neighbors: Adjacency) -> list[Rows]:
    """Depth-first orders from above, from below and from hubs, and shuffled ones."""
    parents, children = (_long_in_the_middle(toward) for toward in neighbors)
    nodes = list(range(len(layers)))
    both = [above + below for above, below in zip(parents, children, strict=True)]
    down = sorted(nodes, key=lambda node: (layers[node], node))
    hubs = sorted(nodes, key=lambda node: (-len(both[node]), node))
    ways = [(down, children), (down[::-1], parents), (hubs, both), (down, both)]
    shuffle = random.Random(1)
    for _ in range(N_STARTS - len(ways)):
        roots = nodes[:]
        shuffle.shuffle(roots)
        ways.append((roots, both))
    return [_by_visit(_visited(roots, onward), layers) for roots, onward in ways]


def _long_in_the_middle(onward: list[list[int]]) -> list[list[int]]:
    """Each list with the ends of the graph outside and what leads further in the middle."""
    sorted_lists = []
    for others in onward:
        leaves = [other for other in others if not onward[other]]
        rest = [other for other in others if onward[other]]
        half = (len(leaves) + 1) // 2
        sorted_lists.append(leaves[:half] + rest + leaves[half:])
    return sorted_lists


def _visited(roots: Sequence[int], onward: list[list[int]]) -> list[int]:
    seen: dict[int, None] = {}
    for root in roots:
        stack = [root]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen[node] = None
                stack += reversed(onward[node])
    return list(seen)


def _by_visit(visited: list[int], layers: Sequence[int]) -> Rows:
    rows: Rows = [[] for _ in range(max(layers) + 1)]
    for node in visited:
        rows[layers[node]].append(node)
    return rows


def _improve(rows: Rows, neighbors: Adjacency, n_sweeps: int) -> tuple[int, Rows]:
    best = ([*map(list, rows)], n_crossings(rows, neighbors))
    n_idle = 0
    for sweep in range(n_sweeps):
        is_down, keep_ties = sweep % 2 == 0, sweep % 4 < 2
        center = _barycenter if sweep % 8 < 4 else _median
        _sweep(rows, neighbors[0 if is_down else 1], is_down, keep_ties, center=center)
        _exchange(rows, neighbors)
        crossings = n_crossings(rows, neighbors)
        n_idle += 1
        if crossings < best[1]:
            best, n_idle = ([*map(list, rows)], crossings), 0
        if crossings == 0 or n_idle == 8:
            break
    return best[1], best[0]


def _sweep(
    rows: Rows,
    toward: list[list[int]],
    is_down: bool,
    keep_ties: bool,
    *,
    center: Callable[[list[int]], float],
) -> None:
    for i in range(len(rows)) if is_down else reversed(range(len(rows))):
        previous = i - 1 if is_down else i + 1
        if 0 <= previous < len(rows):
            place = {node: j for j, node in enumerate(rows[previous])}
            _sort_row(rows[i], place, toward, keep_ties, center=center)


def _sort_row(
    row: list[int],
    place: dict[int, int],
    toward: list[list[int]],
    keep_ties: bool,
    *,
    center: Callable[[list[int]], float],
) -> None:
    """Sort those that have neighbors into the places they hold; the others stay where they are."""
    free = [j for j, node in enumerate(row) if toward[node]]
    moving = [row[j] for j in (free if keep_ties else reversed(free))]
    key = {node: center(sorted(place[other] for other in toward[node])) for node in moving}
    for j, node in zip(free, sorted(moving, key=key.__getitem__), strict=True):
        row[j] = node


def _barycenter(places: list[int]) -> float:
    return sum(places) / len(places)


def _median(places: list[int]) -> float:
    """The middle one; of an even number the one nearer to the side where places are closer."""
    middle = len(places) // 2
    if len(places) % 2:
        return places[middle]
    left, right = places[middle - 1], places[middle]
    spread_left, spread_right = left - places[0], places[-1] - right
    if len(places) == 2 or spread_left + spread_right == 0:
        return (left + right) / 2
    return (left * spread_right + right * spread_left) / (spread_left + spread_right)


def _exchange(rows: Rows, neighbors: Adjacency) -> None:
    """Exchange neighbors in a row as long as that removes crossings."""
    waiting = set(range(len(rows)))
    for _ in range(12):
        changed = {i for i in sorted(waiting) if _exchange_in(rows[i], _ends(rows, i, neighbors))}
        waiting = {j for i in changed for j in (i - 1, i, i + 1) if 0 <= j < len(rows)}
        if not waiting:
            return


def _exchange_in(row: list[int], ends: Mapping[int, Ends]) -> bool:
    has_changed = False
    for j in range(len(row) - 1):
        a, b = ends[row[j]], ends[row[j + 1]]
        now = _pair(a, b)
        if now and now > _pair(b, a):
            row[j], row[j + 1] = row[j + 1], row[j]
            has_changed = True
    return has_changed


def _ends(rows: Rows, i: int, neighbors: Adjacency) -> dict[int, Ends]:
    """Sorted places of the neighbors above and below of each node of a row."""
    place = {
        node: j for k in (i - 1, i + 1) if 0 <= k < len(rows) for j, node in enumerate(rows[k])
    }
    above, below = neighbors
    return {
        node: (
            sorted(map(place.__getitem__, above[node])),
            sorted(map(place.__getitem__, below[node])),
        )
        for node in rows[i]
    }


def _pair(left: Ends, right: Ends) -> int:
    """Crossings between the arcs of two nodes that stand side by side in this order."""
    total = 0
    for ours, theirs in zip(left, right, strict=True):
        if ours and theirs and ours[-1] > theirs[0]:
            total += sum([len(ours) - bisect_right(ours, end) for end in theirs])
    return total
