"""Equivalence classes as bit masks, for searches that go from class to class.

A class is a partially directed graph: bit ``i`` of ``parents[j]`` is set if all its members have
the arc i -> j, bit ``i`` of ``neighbors[j]`` if i and j are joined and the members disagree. A
member is a list of sets of parents. With background knowledge the members are those that agree with
it; the graph is then completed by Meek's rules (:mod:`consilience.graph.meek`).

References
----------
D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network
structures. UAI.
D. Dor, M. Tarsi (1992). A simple algorithm to construct a consistent extension of a partially
oriented graph. Technical report R-185, Cognitive Systems Laboratory, UCLA.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from consilience._typing import Bools, Words
from consilience.graph.cpdag import CPDAG
from consilience.graph.meek import orient
from consilience.kernels.equivalence import complete
from consilience.structure.searches.constraints import Constraints

__all__ = [
    "EquivalenceClass",
    "bit_matrix",
    "bits",
    "class_of",
    "is_acyclic",
    "topological_order",
]


@dataclass(frozen=True, slots=True, eq=False)
class EquivalenceClass:
    """A partially directed graph that stands for its members; nodes are numbers."""

    parents: tuple[int, ...]
    children: tuple[int, ...]
    neighbors: tuple[int, ...]
    adjacent: tuple[int, ...]
    _reached: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, parents: Sequence[int], neighbors: Sequence[int]) -> EquivalenceClass:
        """The class with these arcs and edges."""
        children = [0] * len(parents)
        for child, mask in enumerate(parents):
            for parent in bits(mask):
                children[parent] |= 1 << child
        adjacent = tuple(a | b | c for a, b, c in zip(parents, children, neighbors, strict=True))
        return cls(tuple(parents), tuple(children), tuple(neighbors), adjacent)

    def cliques(self, within: int) -> Iterator[int]:
        """The sets of nodes that are all joined to each other, the smaller first; empty too."""
        waiting = [(0, within)]
        for clique, larger in waiting:  # grows while it is read
            yield clique
            for node in bits(larger):
                above = larger >> (node + 1) << (node + 1)
                waiting.append((clique | 1 << node, above & self.adjacent[node]))

    def reachable(self, start: int, blocked: int) -> int:
        """Nodes that paths lead to, along arcs or edges, which pass by no blocked node."""
        found = self._reached.get((start, blocked))
        if found is None:
            seen, waiting = 1 << start | blocked, 1 << start
            while waiting:
                lowest = waiting & -waiting
                node = lowest.bit_length() - 1
                new = (self.children[node] | self.neighbors[node]) & ~seen
                seen |= new
                waiting = waiting ^ lowest | new
            found = self._reached[start, blocked] = seen & ~blocked
        return found

    def member(self, into: Mapping[int, int]) -> list[int] | None:
        """A member in which of a node's neighbors exactly ``into[node]`` are parents, or None.

        Taken away one after the other are nodes without children whose neighbors are each joined to
        all that the node is joined to; what is then still joined to the node is its parents.
        """
        parents, children = list(self.parents), list(self.children)
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
        joined = sum([1 << node for node, mask in enumerate(self.neighbors) if mask])
        return parents if _extend(parents, children, neighbors, joined) else None


def class_of(parents: Sequence[int], constraints: Constraints | None = None) -> EquivalenceClass:
    """The class of a graph, or what the constraints leave of it."""
    width = 8 * -(-len(parents) // 64)
    packed = b"".join([mask.to_bytes(width, "little") for mask in parents])
    rows = np.frombuffer(packed, "<u8").reshape(len(parents), width // 8)
    outputs = np.zeros((4, *rows.shape), np.uint64)
    complete(rows, *outputs)
    compelled, children, reversible, reach = map(_masks, outputs)
    adjacent = tuple(a | b | c for a, b, c in zip(compelled, children, reversible, strict=True))
    reached = {(start, 0): mask for start, mask in enumerate(reach)}
    found = EquivalenceClass(compelled, children, reversible, adjacent, reached)
    return found if constraints is None else _constrained(found, constraints)


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
    """One row a set: which of n variables are in it."""
    width = (n + 7) // 8
    packed = b"".join(mask.to_bytes(width, "little") for mask in sets)
    rows = np.frombuffer(packed, np.uint8).reshape(len(sets), width)
    return np.unpackbits(rows, axis=1, count=n, bitorder="little").astype(bool)


def _masks(rows: Words) -> tuple[int, ...]:
    if rows.shape[1] == 1:
        return tuple(rows[:, 0].tolist())
    packed = rows.astype("<u8", copy=False).view(f"V{8 * rows.shape[1]}")
    return tuple([int.from_bytes(mask, "little") for mask in packed[:, 0].tolist()])


def _constrained(found: EquivalenceClass, constraints: Constraints) -> EquivalenceClass:
    """The class with the edges directed that may lead one way only, and what follows from them."""
    edges = [(a, b) for b, mask in enumerate(found.neighbors) for a in bits(mask)]
    one_way = [(a, b) for a, b in edges if not constraints.allowed[b, a]]
    if not one_way:
        return found
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
