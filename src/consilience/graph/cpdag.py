r"""The noun :class:`CPDAG`: what a class of equivalent DAGs has in common.

Two DAGs imply the same independences if and only if they have the same skeleton and the same
colliders :math:`a \to c \leftarrow b` with :math:`a, b` not adjacent (Verma and Pearl 1990). An arc
is *compelled* if all members of the class have it, *reversible* otherwise; the graph with the
compelled arcs directed and the others undirected stands for the class. The compelled arcs are found
by one pass over the arcs in a topological order (Chickering 1995); time grows with the number of
arcs.

References
----------
T. Verma, J. Pearl (1990). Equivalence and synthesis of causal models. UAI.
D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network
structures. UAI.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from consilience.errors import GraphError
from consilience.graph.dag import DAG
from consilience.graph.extension import direct_edges
from consilience.graph.names import Arc, unique_pairs

__all__ = ["CPDAG"]

SHOWN = 8
PRINTED = 500  # lines


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class CPDAG:
    """A partially directed graph that stands for a class of equivalent DAGs; immutable.

    ``CPDAG.of(dag)`` is the completed graph of the whole class. One built from arcs and edges may
    also stand for a part of a class, such as what background knowledge leaves of it (see
    :func:`consilience.graph.orient`): it is checked to be free of directed cycles, and
    :meth:`to_dag` says whether any DAG agrees with it.

    Two are equal if they have the same nodes, arcs and edges, in whatever order.

    Parameters
    ----------
    directed
        Compelled arcs, pairs (from, to).
    undirected
        Reversible edges, pairs in either order.
    nodes
        Names; nodes that appear in arcs or edges need not be named.

    Attributes
    ----------
    nodes
        The given nodes, then those found in arcs, then those found in edges.
    directed
        The arcs as given.
    undirected
        The edges as given, the ends of each in the order of the nodes.

    Examples
    --------
    >>> CPDAG.of(DAG.parse("[A][B][C|A:B][D|C]")).directed
    (('A', 'C'), ('B', 'C'), ('C', 'D'))
    >>> CPDAG.of(DAG.parse("[A][B|A]")).undirected
    (('A', 'B'),)
    """

    directed: tuple[Arc, ...]
    undirected: tuple[Arc, ...]
    nodes: tuple[str, ...]
    _compelled: DAG = field(init=False)
    _neighbors: dict[str, tuple[str, ...]] = field(init=False)

    def __init__(
        self,
        directed: Iterable[Arc] = (),
        undirected: Iterable[Arc] = (),
        nodes: Iterable[str] = (),
    ) -> None:
        compelled = DAG(directed, nodes)
        edges = unique_pairs(undirected)
        ends = (name for edge in edges for name in edge)
        names = tuple(dict.fromkeys((*compelled.nodes, *ends)))
        if len(names) > len(compelled.nodes):
            compelled = DAG(compelled.arcs, names)
        _check_edges(compelled, edges)
        position = {node: i for i, node in enumerate(names)}
        neighbors: dict[str, list[str]] = {name: [] for name in names}
        for one, two in edges:
            neighbors[one].append(two)
            neighbors[two].append(one)
        ordered = ((a, b) if position[a] < position[b] else (b, a) for a, b in edges)
        object.__setattr__(self, "directed", compelled.arcs)
        object.__setattr__(self, "undirected", tuple(ordered))
        object.__setattr__(self, "nodes", names)
        object.__setattr__(self, "_compelled", compelled)
        object.__setattr__(self, "_neighbors", {k: tuple(v) for k, v in neighbors.items()})

    @classmethod
    def of(cls, dag: DAG) -> CPDAG:
        """The completed graph of all DAGs equivalent to this one."""
        compelled = _compelled_arcs(dag)
        return cls(
            (arc for arc in dag.arcs if arc in compelled),
            (arc for arc in dag.arcs if arc not in compelled),
            dag.nodes,
        )

    def to_dag(self) -> DAG:
        """A DAG with this skeleton, these arcs and no collider beyond those of the arcs.

        Among several, edges tend to lead from earlier to later nodes. Raises :class:`GraphError` if
        there is none; see :mod:`consilience.graph.extension`.
        """
        edges = direct_edges(self.nodes, self.directed, self.undirected)
        return DAG((*self.directed, *edges), self.nodes)

    def parents(self, node: str) -> tuple[str, ...]:
        """Nodes with a directed arc into this one."""
        return self._compelled.parents(node)

    def children(self, node: str) -> tuple[str, ...]:
        """Nodes that a directed arc from this one leads to."""
        return self._compelled.children(node)

    def neighbors(self, node: str) -> tuple[str, ...]:
        """Nodes joined to this one by an undirected edge."""
        self._compelled.parents(node)
        return self._neighbors[node]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CPDAG):
            return NotImplemented
        return self._compelled == other._compelled and self._edges() == other._edges()

    def __hash__(self) -> int:
        return hash((self._compelled, self._edges()))

    def __repr__(self) -> str:
        shown = [f"{a} -> {b}" for a, b in self.directed[:SHOWN]]
        shown += [f"{a} - {b}" for a, b in self.undirected[: SHOWN - len(shown)]]
        if len(self.directed) + len(self.undirected) > len(shown):
            shown.append("...")
        counts = f"{len(self.directed)} directed, {len(self.undirected)} undirected"
        return f"CPDAG({len(self.nodes)} nodes, {counts}{': ' if shown else ''}{', '.join(shown)})"

    def __str__(self) -> str:
        """All arcs and edges; of more than 500 the first ones."""
        lines = [f"{a} -> {b}" for a, b in self.directed]
        lines += [f"{a} - {b}" for a, b in self.undirected]
        joined = {name for pair in (*self.directed, *self.undirected) for name in pair}
        lines += [name for name in self.nodes if name not in joined]
        more = [f"... and {len(lines) - PRINTED:,} more"] if len(lines) > PRINTED else []
        return "\n".join([*lines[:PRINTED], *more])

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _edges(self) -> frozenset[frozenset[str]]:
        return frozenset(map(frozenset, self.undirected))


def _check_edges(compelled: DAG, edges: Iterable[Arc]) -> None:
    seen = set(compelled.arcs)
    for one, two in edges:
        if (one, two) in seen or (two, one) in seen:
            raise GraphError(f"{one!r} and {two!r} are joined twice.", edge=(one, two))
        seen.add((one, two))


def _compelled_arcs(dag: DAG) -> set[Arc]:
    # The last parent in topological order decides: if the others are its parents too, only the arcs
    # that its own compelled parents force are compelled; else there is a collider, or one to avoid.
    order = {node: i for i, node in enumerate(dag.topological_order())}
    parents = {node: frozenset(dag.parents(node)) for node in dag.nodes}
    compelled: dict[str, frozenset[str]] = {}
    for child in order:
        compelled[child] = parents[child]
        if parents[child]:
            last = max(parents[child], key=order.__getitem__)
            if parents[child] - {last} <= parents[last] and compelled[last] <= parents[child]:
                compelled[child] = compelled[last]
    return {(parent, child) for child, of_child in compelled.items() for parent in of_child}
