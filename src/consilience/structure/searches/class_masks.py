"""Equivalence classes as bit masks, for searches that go from class to class.

A class is a partially directed graph: bit ``i`` of ``parents[j]`` is set if all its members have
the arc i -> j, bit ``i`` of ``neighbors[j]`` if i and j are joined and the members disagree. A
member is a list of sets of parents. With background knowledge the members are those that agree with
it; the graph is then completed by Meek's rules (:mod:`consilience.graph.meek`).

The class of a graph is had from that of another one in time that grows with their difference. The
arcs into a node are compelled, all of them, unless one of its parents has all the others for
parents and its own compelled parents are among them: then just those arcs are. So what a node's
arcs are depends on its parents, and changes travel from a node to its children only.

References
----------
D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network
structures. UAI.
D. Dor, M. Tarsi (1992). A simple algorithm to construct a consistent extension of a partially
oriented graph. Technical report R-185, Cognitive Systems Laboratory, UCLA.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import ne

import numpy as np

from consilience._typing import Bools
from consilience.graph.cpdag import CPDAG
from consilience.graph.meek import orient
from consilience.structure.searches.constraints import Constraints

__all__ = [
    "EquivalenceClass",
    "bit_matrix",
    "bits",
    "class_of",
    "constrained",
    "is_acyclic",
    "row_masks",
    "topological_order",
]


@dataclass(frozen=True, slots=True, eq=False)
class EquivalenceClass:
    """A partially directed graph that stands for its members; nodes are numbers.

    ``graph`` is one member if one is known, as sets of parents; empty otherwise. Without background
    knowledge its edges may be directed anew in one connected part and left as they are elsewhere.
    """

    parents: tuple[int, ...]
    children: tuple[int, ...]
    neighbors: tuple[int, ...]
    adjacent: tuple[int, ...]
    graph: tuple[int, ...] = ()

    @classmethod
    def of(cls, parents: Sequence[int], neighbors: Sequence[int]) -> EquivalenceClass:
        """The class with these arcs and edges."""
        children = [0] * len(parents)
        for child, mask in enumerate(parents):
            for parent in bits(mask):
                children[parent] |= 1 << child
        adjacent = tuple(a | b | c for a, b, c in zip(parents, children, neighbors, strict=True))
        return cls(tuple(parents), tuple(children), tuple(neighbors), adjacent)

    def to(self, graph: Sequence[int]) -> tuple[EquivalenceClass, list[int]]:
        """The class of another graph, and the nodes whose arcs or edges differ; needs ``graph``."""
        changed = [*compress(range(len(graph)), map(ne, self.graph, graph))]
        adjacent = _joined(self, graph, changed)
        compelled = list(self.parents)
        touched = _compel(graph, compelled, adjacent, changed)
        for node in [*touched]:
            touched.update(bits(self.graph[node] | graph[node]))
        children, neighbors = list(self.children), list(self.neighbors)
        for node in touched:
            children[node] = sum([1 << b for b in bits(adjacent[node]) if compelled[b] >> node & 1])
            neighbors[node] = adjacent[node] & ~(compelled[node] | children[node])
        other = EquivalenceClass(
            tuple(compelled), tuple(children), tuple(neighbors), tuple(adjacent), tuple(graph)
        )
        return other, [node for node in touched if self.differs(other, node)]

    def differs(self, other: EquivalenceClass, node: int) -> bool:
        """Whether a node has other arcs or edges in another class."""
        return (
            self.parents[node] != other.parents[node]
            or self.neighbors[node] != other.neighbors[node]
            or self.children[node] != other.children[node]
        )

    def cliques(self, within: int) -> Iterator[int]:
        """The sets of nodes that are all joined to each other, the smaller first; empty too."""
        waiting = [(0, within)]
        for clique, larger in waiting:  # grows while it is read
            yield clique
            for node in bits(larger):
                above = larger >> (node + 1) << (node + 1)
                waiting.append((clique | 1 << node, above & self.adjacent[node]))

    def path(self, start: int, ends: int, blocked: int) -> int:
        """The nodes of a path to one of the ends, along arcs or edges, that passes by no blocked
        node; 0 if there is none.

        Looked for from both ends, where fewer nodes wait: in layers by distance, which the path is
        then read from.
        """
        ahead, behind = [1 << start], [ends & ~blocked]
        seen, known = ahead[0] | blocked, behind[0] | blocked
        while not (met := ahead[-1] & behind[-1]):
            if not ahead[-1] or not behind[-1]:
                return 0
            if ahead[-1].bit_count() <= behind[-1].bit_count():
                ahead.append(_next_to(ahead[-1], self.children, self.neighbors) & ~seen)
                seen |= ahead[-1]
            else:
                behind.append(_next_to(behind[-1], self.parents, self.neighbors) & ~known)
                known |= behind[-1]
        found = met & -met
        for layers, towards in ((ahead, self.parents), (behind, self.children)):
            step = met & -met
            for layer in reversed(layers[:-1]):
                near = _next_to(step, towards, self.neighbors) & layer
                step = near & -near
                found |= step
        return found

    def member(self, into: Mapping[int, int]) -> list[int] | None:
        """A member in which of a node's neighbors exactly ``into[node]`` are parents, or None.

        Taken away one after the other are nodes without children whose neighbors are each joined to
        all that the node is joined to; what is then still joined to the node is its parents.
        """
        joined = self._around(into)
        parents, children = list(self.graph or self.parents), list(self.children)
        for node in bits(joined):
            parents[node] = self.parents[node]
        neighbors = list(self.neighbors)
        for node, wanted in into.items():
            for other in bits(neighbors[node]):
                start, end = (other, node) if wanted >> other & 1 else (node, other)
                parents[end] |= 1 << start
                children[start] |= 1 << end
            neighbors[node] = 0
        for node in into:
            for other in bits(self.neighbors[node]):
                neighbors[other] &= ~(1 << node)
        return parents if _extend(parents, children, neighbors, joined) else None

    def _around(self, nodes: Iterable[int]) -> int:
        """What edges connect some nodes with; all nodes with edges if no member is known."""
        if not self.graph:
            return sum([1 << node for node, mask in enumerate(self.neighbors) if mask])
        found = waiting = sum([1 << node for node in nodes])
        while waiting:
            waiting = _next_to(waiting, self.neighbors, self.neighbors) & ~found
            found |= waiting
        return found


def class_of(parents: Sequence[int], constraints: Constraints | None = None) -> EquivalenceClass:
    """The class of a graph, or what the constraints leave of it."""
    none = (0,) * len(parents)
    found, _ = EquivalenceClass(none, none, none, none, none).to(parents)
    return found if constraints is None else constrained(found, constraints)


def is_acyclic(parents: Sequence[int]) -> bool:
    """Whether no arcs lead in a circle."""
    return len(topological_order(parents)) == len(parents)


def topological_order(parents: Sequence[int]) -> list[int]:
    """The nodes, parents first; nodes on cycles and below them are left out."""
    children: list[list[int]] = [[] for _ in parents]
    n_waiting = [mask.bit_count() for mask in parents]
    for child, mask in enumerate(parents):
        for parent in bits(mask):
            children[parent].append(child)
    order = [node for node, n in enumerate(n_waiting) if n == 0]
    for node in order:  # grows while it is read
        for child in children[node]:
            n_waiting[child] -= 1
            if n_waiting[child] == 0:
                order.append(child)
    return order


def bits(mask: int) -> Iterator[int]:
    """The members of a set, in increasing order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def bit_matrix(sets: Sequence[int], n: int) -> Bools:
    """One row per set: which of n variables are in it."""
    width = (n + 7) // 8
    packed = b"".join(mask.to_bytes(width, "little") for mask in sets)
    rows = np.frombuffer(packed, np.uint8).reshape(len(sets), width)
    return np.unpackbits(rows, axis=1, count=n, bitorder="little").astype(bool)


def row_masks(matrix: Bools) -> list[int]:
    """The set of each row of a matrix: the inverse of :func:`bit_matrix`."""
    packed = np.packbits(matrix, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def constrained(found: EquivalenceClass, constraints: Constraints) -> EquivalenceClass:
    """The class with the edges directed that may lead one way only, and what follows from them.

    Its edges depend on each other across the graph, so it has no known member.
    """
    edges = [(a, b) for b, mask in enumerate(found.neighbors) for a in bits(mask)]
    one_way = [(a, b) for a, b in edges if not constraints.allowed[b, a]]
    if not one_way:
        return EquivalenceClass(found.parents, found.children, found.neighbors, found.adjacent)
    names = constraints.names
    place = {name: i for i, name in enumerate(names)}
    arcs = [(names[a], names[b]) for b, mask in enumerate(found.parents) for a in bits(mask)]
    graph = CPDAG(arcs, [(names[a], names[b]) for a, b in edges if a < b], names)
    known = orient(graph, [(names[a], names[b]) for a, b in one_way])
    parents = [sum(1 << place[name] for name in known.parents(node)) for node in names]
    neighbors = [sum(1 << place[name] for name in known.neighbors(node)) for node in names]
    return EquivalenceClass.of(parents, neighbors)


def _extend(
    parents: list[int], children: Sequence[int], neighbors: Sequence[int], left: int
) -> bool:
    """Direct the edges among the nodes ``left``; whether this leads to no circle or collider.

    Nodes without edges are not looked at: their arcs are as they must be in all members.
    """
    waiting = list(bits(left))
    while waiting:
        node = waiting.pop()
        if not left >> node & 1 or children[node] & left:
            continue
        edges = neighbors[node] & left
        joined = (parents[node] | edges) & left
        if any(
            joined & ~(parents[other] | children[other] | neighbors[other]) & ~(1 << other)
            for other in bits(edges)
        ):
            continue
        parents[node] |= edges
        left &= ~(1 << node)
        waiting += bits(joined)
    return not left


def _next_to(nodes: int, one_way: Sequence[int], other_way: Sequence[int]) -> int:
    """All that is next to some nodes, one way or the other."""
    found = 0
    for node in bits(nodes):
        found |= one_way[node] | other_way[node]
    return found


def _joined(before: EquivalenceClass, graph: Sequence[int], changed: Iterable[int]) -> list[int]:
    """What each node is joined to, if the parents of some have changed."""
    adjacent = list(before.adjacent)
    for child in changed:
        for parent in bits(before.graph[child] ^ graph[child]):
            is_joined = graph[child] >> parent & 1 or graph[parent] >> child & 1
            for a, b in ((child, parent), (parent, child)):
                adjacent[a] = adjacent[a] | 1 << b if is_joined else adjacent[a] & ~(1 << b)
    return adjacent


def _compel(
    graph: Sequence[int], compelled: list[int], adjacent: Sequence[int], changed: Iterable[int]
) -> set[int]:
    """Put right which arcs into each node all members have; return the nodes looked at."""
    looked_at = set(changed)
    waiting = [*looked_at]
    for node in changed:
        waiting += [b for b in bits(adjacent[node]) if graph[b] >> node & 1]
    while waiting:
        node = waiting.pop()
        now = _compelled(graph, compelled, node)
        if now != compelled[node]:
            compelled[node] = now
            looked_at.add(node)
            waiting += [b for b in bits(adjacent[node]) if graph[b] >> node & 1]
    return looked_at


def _compelled(graph: Sequence[int], compelled: Sequence[int], node: int) -> int:
    parents = graph[node]
    for last in bits(parents):
        if not parents & ~(1 << last) & ~graph[last]:
            return parents if compelled[last] & ~parents else compelled[last]
    return parents
