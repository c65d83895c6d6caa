r"""Which nodes a graph lets depend on each other.

A path between two nodes is *open* given a set :math:`Z` if every collider on it
(:math:`\to v \leftarrow`) is in :math:`Z` or has a descendant in it, and no other inner node is in
:math:`Z`. Two sets are separated by :math:`Z` if no path between them is open; then they are
independent given :math:`Z` in every network with this graph.

The search is a ball that rolls along arcs: going up (coming from a child) it passes a node that is
not in :math:`Z` to all sides and stops at one that is; going down (coming from a parent) it passes
a node that is not in :math:`Z` to its children and bounces back up from one that is, and so finds
the colliders with a descendant in :math:`Z` too. Each node is passed at most once up and once down,
so time grows with the number of arcs.

References
----------
J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems, section 3.3. Morgan Kaufmann.
R. D. Shachter (1998). Bayes-ball: the rational pastime. UAI.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

__all__ = ["boundary", "closure", "reachable"]

Relatives = Callable[[str], Iterable[str]]


def closure(nodes: Iterable[str], relatives: Relatives) -> set[str]:
    """The nodes themselves and all that is found by following ``relatives`` from them."""
    seen = set(nodes)
    waiting = list(seen)
    while waiting:
        for other in relatives(waiting.pop()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def reachable(
    nodes: Iterable[str], given: Collection[str], *, parents: Relatives, children: Relatives
) -> set[str]:
    """All nodes outside ``given`` that an open path joins to one of the nodes, these included."""
    return _visited(nodes, given, parents=parents, children=children).difference(given)


def boundary(
    node: str, others: Collection[str], *, parents: Relatives, children: Relatives
) -> set[str]:
    """Those of the others on which the node depends given the rest of them: what separates it.

    They are where the ball stops that rolls from the node given all others.
    """
    return _visited([node], others, parents=parents, children=children).intersection(others)


def _visited(
    nodes: Iterable[str], given: Collection[str], *, parents: Relatives, children: Relatives
) -> set[str]:
    up: set[str] = set()
    down: set[str] = set()
    waiting = [(node, True) for node in nodes]
    while waiting:
        node, going_up = waiting.pop()
        seen = up if going_up else down
        if node in seen:
            continue
        seen.add(node)
        if node not in given:
            waiting.extend((child, False) for child in children(node))
        if (node in given) != going_up:
            waiting.extend((parent, True) for parent in parents(node))
    return up | down
