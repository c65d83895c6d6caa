"""Which row of a layered picture each node stands in.

Every arc points to a lower row, and the total length of the arcs, counted in rows, is the least
possible. It is reached from longest paths by moving sets of nodes: a set that moves down pushes the
children just below it, so it must contain them, and gains its number of leaving arcs minus that of
entering ones. The set that gains most is a closure of greatest weight, found by a maximal flow; the
length is a discrete convex function, so where no set gains, nothing does.

Rows that would be wider than a limit are then split in two or more; nodes of one row have no arcs
between them, so any split is valid.

References
----------
E. Gansner, E. Koutsofios, S. North, K.-P. Vo (1993). A technique for drawing directed graphs. IEEE
Transactions on Software Engineering 19(3), 214-230 (the aim).
J.-C. Picard (1976). Maximal closure of a graph and applications to combinatorial problems.
Management Science 22(11), 1268-1272.
K. Murota (2003). Discrete Convex Analysis. SIAM.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

__all__ = ["Adjacency", "adjacency", "assign_layers"]

Adjacency = tuple[list[list[int]], list[list[int]]]
"""Parents and children of every node, by number."""


def adjacency(n_nodes: int, arcs: Sequence[tuple[int, int]]) -> Adjacency:
    """Parents and children of the nodes ``0 .. n_nodes - 1``, each list in increasing order."""
    parents: list[list[int]] = [[] for _ in range(n_nodes)]
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for tail, head in sorted(arcs):
        children[tail].append(head)
        parents[head].append(tail)
    return parents, children


def assign_layers(
    n_nodes: int,
    arcs: Sequence[tuple[int, int]],
    widths: Sequence[float],
    limit: float,
) -> list[int]:
    """The row of every node, the top one being 0; no row is empty and every arc points down.

    Parameters
    ----------
    n_nodes, arcs
        An acyclic graph on the nodes ``0 .. n_nodes - 1``.
    widths
        The room each node takes in its row.
    limit
        A row whose nodes take more room than this is split.
    """
    neighbors = adjacency(n_nodes, arcs)
    layers = _longest_paths(neighbors)
    _shorten(layers, neighbors)
    _balance(layers, neighbors, widths)
    return _without_gaps(_wrapped(layers, neighbors, widths, limit))


def _longest_paths(neighbors: Adjacency) -> list[int]:
    parents, children = neighbors
    layers = [0] * len(parents)
    waiting = [len(above) for above in parents]
    ready = [node for node, n_above in enumerate(waiting) if n_above == 0]
    for node in ready:
        for child in children[node]:
            layers[child] = max(layers[child], layers[node] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return layers


def _shorten(layers: list[int], neighbors: Adjacency) -> None:
    """Move sets of nodes down or up until no set can be moved with a gain."""
    parents, children = neighbors
    gain = [len(below) - len(above) for above, below in zip(parents, children, strict=True)]
    loss = [-each for each in gain]
    while _move(layers, gain, children) or _move(layers, loss, parents):
        pass


def _move(layers: list[int], gain: list[int], onward: list[list[int]]) -> bool:
    """Move the set that gains most towards its onward nodes, as far as it goes."""
    tight = [
        [other for other in others if abs(layers[other] - layers[node]) == 1]
        for node, others in enumerate(onward)
    ]
    moved = _best_closed_set(gain, tight)
    leaving = [
        layers[other] - layers[node]
        for node in sorted(moved)
        for other in onward[node]
        if other not in moved
    ]
    if not leaving:
        return False
    step = min(leaving, key=abs)
    for node in moved:
        layers[node] += step - 1 if step > 0 else step + 1
    return True


def _best_closed_set(gain: list[int], onward: list[list[int]]) -> set[int]:
    """The smallest set of greatest total gain that has, with each node, its onward nodes too.

    It is what can still be reached from unspent gain once as much gain as possible has been sent
    along the arcs to nodes of negative gain.
    """
    supply = [max(each, 0) for each in gain]
    demand = [max(-each, 0) for each in gain]
    sent: list[dict[int, int]] = [{} for _ in gain]  # by where it arrives: how much from where
    while True:
        came: dict[int, int | None] = {node: None for node, left in enumerate(supply) if left}
        end = next((node for node in _reached(came, onward, sent) if demand[node]), None)
        if end is None:
            return set(came)
        _send(end, came, supply, demand, sent=sent)


def _reached(
    came: dict[int, int | None], onward: list[list[int]], sent: list[dict[int, int]]
) -> Iterator[int]:
    """Nodes in order of their distance; ``came`` is filled with where each was reached from."""
    queue = list(came)
    for node in queue:
        yield node
        for other in (*onward[node], *sent[node]):
            if other not in came:
                came[other] = node
                queue.append(other)


def _send(
    end: int,
    came: dict[int, int | None],
    supply: list[int],
    demand: list[int],
    *,
    sent: list[dict[int, int]],
) -> None:
    """Send gain along the way that was found, taking back what was sent the other way."""
    way: list[tuple[int, int]] = []
    node = end
    while (before := came[node]) is not None:
        way.append((before, node))
        node = before
    back = [sent[before][after] for before, after in way if after in sent[before]]
    amount = min([supply[node], demand[end], *back])
    for before, after in way:
        if after not in sent[before]:
            sent[after][before] = sent[after].get(before, 0) + amount
        elif sent[before][after] == amount:
            del sent[before][after]
        else:
            sent[before][after] -= amount
    supply[node] -= amount
    demand[end] -= amount


def _balance(layers: list[int], neighbors: Adjacency, widths: Sequence[float]) -> None:
    """Nodes that may stand in several rows at the same cost go where there is most room."""
    parents, children = neighbors
    used = [0.0] * (max(layers) + 1)
    for node, layer in enumerate(layers):
        used[layer] += widths[node]
    for node, (above, below) in enumerate(zip(parents, children, strict=True)):
        if not above or len(above) != len(below):
            continue
        used[layers[node]] -= widths[node]
        first = max(layers[parent] for parent in above) + 1
        last = min(layers[child] for child in below) - 1
        layers[node] = min(range(first, last + 1), key=lambda layer: (used[layer], layer))
        used[layers[node]] += widths[node]


def _wrapped(
    layers: list[int], neighbors: Adjacency, widths: Sequence[float], limit: float
) -> list[int]:
    parents, children = neighbors
    wrapped = [0] * len(layers)
    n_rows = 0
    for layer in range(max(layers) + 1):
        nodes = [node for node, other in enumerate(layers) if other == layer]
        nodes.sort(key=lambda node: (bool(children[node]), bool(not parents[node])))
        rows = _rows(nodes, widths, limit)
        for row, members in enumerate(rows):
            for node in members:
                wrapped[node] = n_rows + row
        n_rows += len(rows)
    return wrapped


def _rows(nodes: list[int], widths: Sequence[float], limit: float) -> list[list[int]]:
    total = sum(widths[node] for node in nodes)
    n_rows = max(1, math.ceil(total / limit - 1e-9))
    rows: list[list[int]] = [[] for _ in range(n_rows)]
    used = 0.0
    for node in nodes:
        rows[min(int((used + widths[node] / 2) / total * n_rows), n_rows - 1)].append(node)
        used += widths[node]
    return [row for row in rows if row]


def _without_gaps(layers: list[int]) -> list[int]:
    rank = {layer: row for row, layer in enumerate(sorted(set(layers)))}
    return [rank[layer] for layer in layers]
