r"""What the arcs of a partially directed graph imply for its undirected edges.

An edge :math:`a - b` becomes :math:`a \to b` when the other direction would close a cycle or make a
collider that the graph does not have:

1. :math:`c \to a` with :math:`c, b` not adjacent;
2. :math:`a \to c \to b`;
3. :math:`a - c \to b` and :math:`a - d \to b` with :math:`c, d` not adjacent;
4. :math:`a - c \to d \to b` with :math:`c, b` not adjacent and :math:`a, d` adjacent.

Rules 1, 3 and 4 rest on a triple :math:`c - a - d` being no collider. Where it is not clear whether
it is one, they do not apply.

Rules 1 to 3 complete a graph whose arcs are those of its colliders; with arcs from elsewhere (time,
an expert, an experiment) rule 4 is needed too, and the four are complete. The skeleton stays as it
is, so only a new arc can make a rule apply: each arc is looked at once.

References
----------
C. Meek (1995). Causal inference and causal explanation with background knowledge. UAI.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from consilience import _check
from consilience.errors import GraphError
from consilience.graph.cpdag import CPDAG
from consilience.graph.names import Arc, unique_pairs

__all__ = ["Triple", "meek_closure", "orient"]

Triple: TypeAlias = tuple[str, str, str]
"""Two nodes that are not adjacent, and in the middle one that is adjacent to both."""


def meek_closure(graph: CPDAG, unclear: Iterable[Triple] = ()) -> CPDAG:
    """The graph with every edge directed that Meek's four rules direct.

    The arcs are taken as they are. If no DAG agrees with them, the answer may have a collider that
    the graph has not; a cycle is an error.

    Parameters
    ----------
    graph
        The graph.
    unclear
        Triples (one end, middle, other end) of which nobody knows whether they are colliders.

    Examples
    --------
    >>> meek_closure(CPDAG([("A", "B")], [("B", "C")])).directed
    (('A', 'B'), ('B', 'C'))
    """
    work = _Work.of(graph, unclear)
    work.close(graph.directed)
    return work.graph(graph)


def orient(graph: CPDAG, arcs: Iterable[Arc]) -> CPDAG:
    """What background knowledge leaves of a class: these edges directed so, and what follows.

    Parameters
    ----------
    graph
        The class of a DAG, or what earlier knowledge has left of it.
    arcs
        Pairs (from, to) that the graph joins by an edge, or by an arc of the same direction.

    Raises
    ------
    GraphError
        If two nodes are not joined, or if no DAG of the class has all the arcs.

    Examples
    --------
    >>> orient(CPDAG(undirected=[("A", "B"), ("B", "C")]), [("A", "B")]).directed
    (('A', 'B'), ('B', 'C'))
    """
    wanted = unique_pairs(arcs)
    work = _Work.of(graph)
    known = set(graph.directed)
    for start, end in wanted:
        work.direct(start, end, known)
    work.close((*graph.directed, *wanted))
    _check_colliders(work, known)
    return work.graph(graph)


@dataclass(frozen=True, slots=True)
class _Work:
    # Sets that change while edges are directed; adjacent never does.
    parents: dict[str, set[str]]
    children: dict[str, set[str]]
    neighbors: dict[str, set[str]]
    adjacent: dict[str, set[str]]
    unclear: frozenset[Triple]

    @classmethod
    def of(cls, graph: CPDAG, unclear: Iterable[Triple] = ()) -> _Work:
        parents = {node: set(graph.parents(node)) for node in graph.nodes}
        children = {node: set(graph.children(node)) for node in graph.nodes}
        neighbors = {node: set(graph.neighbors(node)) for node in graph.nodes}
        adjacent = {node: parents[node] | children[node] | neighbors[node] for node in graph.nodes}
        both = frozenset(one for a, c, b in unclear for one in ((a, c, b), (b, c, a)))
        return cls(parents, children, neighbors, adjacent, both)

    def point(self, start: str, end: str) -> None:
        self.neighbors[start].discard(end)
        self.neighbors[end].discard(start)
        self.children[start].add(end)
        self.parents[end].add(start)

    def direct(self, start: str, end: str, known: set[Arc]) -> None:
        _check.known("node", (start, end), self.adjacent)
        if end not in self.adjacent[start]:
            raise GraphError(
                f"{start!r} and {end!r} are not joined; only edges of the graph can be directed.",
                arc=(start, end),
            )
        if end in self.parents[start]:
            why = "is compelled" if (end, start) in known else "is asked for too"
            raise GraphError(
                f"the arc {start!r} -> {end!r} is not possible: {end!r} -> {start!r} {why}.",
                arc=(start, end),
            )
        self.point(start, end)

    def close(self, arcs: Iterable[Arc]) -> None:
        # Sorted, so that contradictory arcs too have one answer.
        waiting = list(arcs)
        while waiting:
            for arc in sorted(self.implied(*waiting.pop())):
                if arc[1] in self.neighbors[arc[0]]:
                    self.point(*arc)
                    waiting.append(arc)

    def implied(self, c: str, d: str) -> list[Arc]:
        # All that the rules conclude with c -> d as one of their arcs.
        return [
            *((d, b) for b in self.apart(c, self.neighbors[d]) if self.is_clear(c, d, b)),
            *((c, b) for b in self.children[d] & self.neighbors[c]),
            *((a, d) for a in self.parents[c] & self.neighbors[d]),
            *self.third(c, d),
            *(arc for b in self.children[d] for arc in self.fourth(c, d, b)),
            *(arc for a in self.parents[c] for arc in self.fourth(a, c, d)),
        ]

    def third(self, c: str, b: str) -> Iterator[Arc]:
        others = self.apart(c, self.parents[b])
        for a in self.neighbors[b] & self.neighbors[c]:
            if any(self.is_clear(c, a, d) for d in others & self.neighbors[a]):
                yield a, b

    def fourth(self, c: str, d: str, b: str) -> Iterator[Arc]:
        if b not in self.adjacent[c]:
            for a in self.neighbors[c] & self.neighbors[b] & self.adjacent[d]:
                if self.is_clear(c, a, b):
                    yield a, b

    def apart(self, node: str, among: set[str]) -> set[str]:
        return among - self.adjacent[node] - {node}

    def is_clear(self, a: str, middle: str, b: str) -> bool:
        return (a, middle, b) not in self.unclear

    def graph(self, before: CPDAG) -> CPDAG:
        new = [(a, b) if b in self.children[a] else (b, a) for a, b in before.undirected]
        is_left = [b in self.neighbors[a] for a, b in before.undirected]
        return CPDAG(
            (*before.directed, *(arc for arc, left in zip(new, is_left, strict=True) if not left)),
            (edge for edge, left in zip(before.undirected, is_left, strict=True) if left),
            before.nodes,
        )


def _check_colliders(work: _Work, known: set[Arc]) -> None:
    for end, starts in work.parents.items():
        for start in sorted(starts):
            strangers = starts - work.adjacent[start] - {start}
            if strangers and (start, end) not in known:
                one, two = sorted((start, min(strangers)))
                raise GraphError(
                    f"no DAG of the class has all the arcs: they make the new collider "
                    f"{one!r} -> {end!r} <- {two!r}.",
                    collider=(one, end, two),
                )
