r"""Effects that a class of equivalent DAGs leaves open.

Members of the class differ in the parents of x, and so in the effect of x on y. For each set S of
parents that x can have: 0 if y is no descendant of x there, else the effect adjusted for S. A set
of neighbours can be parents if they are pairwise adjacent and adjacent to all sure parents; which
of the other edges then follow is decided by Meek's rules, and a set that leads to a contradiction
is left out. Given the parents of x, whether y is a descendant is the same in all members.

References
----------
M. Maathuis, M. Kalisch, P. Buehlmann (2009). Estimating high-dimensional intervention effects from
observational data. Annals of Statistics 37.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from consilience.errors import GraphError
from consilience.graph.cpdag import CPDAG
from consilience.graph.meek import orient
from consilience.graph.separation import closure

__all__ = ["MOST_MEMBERS", "ParentSet", "parent_sets"]

MOST_MEMBERS = 100_000
"""Members of a class that are counted one by one."""


@dataclass(frozen=True, slots=True)
class ParentSet:
    """Parents that x can have, what follows, and in how many members of the class (None if there
    are too many to count).
    """

    parents: tuple[str, ...]
    graph: CPDAG
    n_members: int | None

    def is_cause(self, x: str, y: str) -> bool:
        """Whether a directed path leads from x to y."""
        return y in closure([x], self.graph.children)


def parent_sets(graph: CPDAG, x: str) -> list[ParentSet]:
    """All sets of parents that x has in some member of the class."""
    sure, open_ones = graph.parents(x), graph.neighbors(x)
    found = []
    for size in range(len(open_ones) + 1):
        for chosen in combinations(open_ones, size):
            into = [(parent, x) for parent in chosen]
            out = [(x, other) for other in open_ones if other not in chosen]
            try:
                rest = orient(graph, [*into, *out])
            except GraphError:
                continue
            if _can_be_completed(rest):
                found.append(ParentSet((*sure, *chosen), rest, _n_members(rest)))
    return found


def _can_be_completed(graph: CPDAG) -> bool:
    try:
        graph.to_dag()
    except GraphError:
        return False
    return True


def _n_members(graph: CPDAG) -> int | None:
    """How many DAGs agree with the graph."""
    n = 0
    for _ in _members(graph):
        n += 1
        if n > MOST_MEMBERS:
            return None
    return n


def _members(graph: CPDAG) -> Iterator[CPDAG]:
    """The graph with its edges directed in every way that makes no new collider and no cycle."""
    if not graph.undirected:
        yield graph
        return
    one, two = graph.undirected[0]
    for arc in ((one, two), (two, one)):
        try:
            rest = orient(graph, [arc])
        except GraphError:
            continue
        yield from _members(rest)
