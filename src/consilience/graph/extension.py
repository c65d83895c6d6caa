"""A DAG that agrees with a partially directed graph: same skeleton, same arcs, no new collider.

Repeat: find a node without outgoing arcs whose undirected neighbors are each adjacent to all that
the node is adjacent to; direct its undirected edges into it and take it away. If at some point
there is no such node, no DAG agrees. After a removal only the neighbors of the node need another
look.

References
----------
D. Dor, M. Tarsi (1992). A simple algorithm to construct a consistent extension of a partially
oriented graph. Technical report R-185, Cognitive Systems Laboratory, UCLA.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from consilience.errors import GraphError
from consilience.graph.names import Arc

__all__ = ["direct_edges"]


def direct_edges(nodes: Sequence[str], arcs: Iterable[Arc], edges: Sequence[Arc]) -> list[Arc]:
    """The undirected edges, in their order, each directed so that no cycle or collider arises.

    Of several answers the one that takes late nodes away first is given, so that edges tend to lead
    from earlier to later nodes.

    Raises
    ------
    GraphError
        If there is no answer; the culprits are the nodes that could not be taken away.
    """
    arcs = tuple(arcs)
    closed = _adjacent((*arcs, *edges), nodes)
    for node in nodes:
        closed[node].add(node)
    undirected = _adjacent(edges, nodes)
    n_children = dict.fromkeys(nodes, 0)
    parents: dict[str, list[str]] = {node: [] for node in nodes}
    for start, end in arcs:
        n_children[start] += 1
        parents[end].append(start)
    position = {node: i for i, node in enumerate(nodes)}
    removed: dict[str, int] = {}
    waiting = [-i for i in range(len(nodes))]
    heapify(waiting)
    while waiting:
        node = nodes[-heappop(waiting)]
        is_sink = node not in removed and not n_children[node]
        if not is_sink or any(not closed[node] <= closed[other] for other in undirected[node]):
            continue
        removed[node] = len(removed)
        for parent in parents[node]:
            n_children[parent] -= 1
        for other in closed.pop(node) - {node}:
            closed[other].discard(node)
            undirected[other].discard(node)
            heappush(waiting, -position[other])
    _check_all_removed(nodes, removed)
    return [(a, b) if removed[a] > removed[b] else (b, a) for a, b in edges]


def _adjacent(pairs: Iterable[Arc], nodes: Iterable[str]) -> dict[str, set[str]]:
    adjacent: dict[str, set[str]] = {node: set() for node in nodes}
    for one, two in pairs:
        adjacent[one].add(two)
        adjacent[two].add(one)
    return adjacent


def _check_all_removed(nodes: Sequence[str], removed: Mapping[str, int]) -> None:
    stuck = [node for node in nodes if node not in removed]
    if stuck:
        shown = ", ".join(map(repr, stuck[:12])) + (", ..." if len(stuck) > 12 else "")
        raise GraphError(
            f"no DAG agrees with the graph: the undirected edges among {shown} cannot all be "
            "directed without a cycle or a new collider.",
            nodes=tuple(stuck),
        )
