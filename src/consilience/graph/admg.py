r"""The noun :class:`ADMG`: arcs, and pairs of nodes with a hidden common cause.

A pair :math:`x \leftrightarrow y` says that some variable that nobody recorded causes both. A
*district* is a set of nodes that such pairs connect. Separation is d-separation after each pair is
replaced by a hidden root with two children.

The *latent projection* of a DAG on its visible nodes keeps what the hidden ones imply: an arc
:math:`x \to y` where a directed path from x to y has only hidden nodes inside, and a pair
:math:`x \leftrightarrow y` where hidden nodes alone join x and y by a path that leaves into both of
them and has no collider. Two nodes may have both.

References
----------
T. Verma, J. Pearl (1990). Equivalence and synthesis of causal models. UAI.
J. Tian, J. Pearl (2002). A general identification condition for causal effects. AAAI.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import combinations

from consilience import _check
from consilience.errors import GraphError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc, unique_names, unique_pairs
from consilience.graph.separation import closure

__all__ = ["ADMG"]

SHOWN = 8


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class ADMG:
    """A directed graph without cycles whose nodes may share hidden causes; immutable.

    Two are equal if they have the same nodes, arcs and pairs, in whatever order.

    Parameters
    ----------
    arcs
        Pairs (from, to), each once.
    latent
        Pairs of nodes with a hidden common cause, in either order, each once.
    nodes
        Names. Nodes that appear in arcs or pairs need not be named; isolated nodes must be.

    Attributes
    ----------
    dag
        The arcs alone.
    latent
        The pairs, the ends of each in the order of the nodes.
    districts
        Sets of nodes that hidden causes connect; every node is in exactly one.

    Examples
    --------
    >>> graph = ADMG([("x", "m"), ("m", "y")], latent=[("x", "y")])
    >>> [sorted(district) for district in graph.districts]
    [['x', 'y'], ['m']]
    >>> graph.is_separated("x", "y", given="m")
    False
    """

    dag: DAG
    latent: tuple[Arc, ...]
    districts: tuple[frozenset[str], ...] = field(init=False)
    _siblings: dict[str, tuple[str, ...]] = field(init=False)

    def __init__(
        self, arcs: Iterable[Arc] = (), latent: Iterable[Arc] = (), nodes: Iterable[str] = ()
    ) -> None:
        pairs = unique_pairs(latent)
        ends = (name for pair in pairs for name in pair)
        directed = DAG(arcs, nodes)
        names = tuple(dict.fromkeys((*directed.nodes, *ends)))
        if len(names) > len(directed.nodes):
            directed = DAG(directed.arcs, names)
        position = {node: i for i, node in enumerate(names)}
        ordered = tuple((a, b) if position[a] < position[b] else (b, a) for a, b in pairs)
        _check_once(ordered)
        siblings: dict[str, list[str]] = {name: [] for name in names}
        for one, two in ordered:
            siblings[one].append(two)
            siblings[two].append(one)
        object.__setattr__(self, "dag", directed)
        object.__setattr__(self, "latent", ordered)
        object.__setattr__(self, "_siblings", {k: tuple(v) for k, v in siblings.items()})
        object.__setattr__(self, "districts", self.districts_of(names))

    @classmethod
    def of(cls, dag: DAG, hidden: Iterable[str] = ()) -> ADMG:
        """The latent projection of a DAG on the nodes that are not hidden.

        Examples
        --------
        >>> ADMG.of(DAG([("u", "x"), ("u", "y"), ("x", "y")]), hidden=["u"]).latent
        (('x', 'y'),)
        """
        if not isinstance(dag, DAG):
            raise GraphError(f"ADMG.of: dag must be a DAG, got a {type(dag).__name__}.")
        unseen = unique_names(hidden)
        _check.known("node", unseen, dag.nodes)
        visible = [node for node in dag.nodes if node not in unseen]
        children = {node: _next_visible(dag, node, unseen) for node in dag.nodes}
        arcs = [(node, child) for node in visible for child in visible if child in children[node]]
        causes = [[child for child in visible if child in children[node]] for node in unseen]
        pairs = dict.fromkeys(pair for shared in causes for pair in combinations(shared, 2))
        return cls(arcs, pairs, visible)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The given nodes, then those found in arcs, then those found in pairs."""
        return self.dag.nodes

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """The arcs as given."""
        return self.dag.arcs

    def parents(self, node: str) -> tuple[str, ...]:
        """Nodes with an arc into this one."""
        return self.dag.parents(node)

    def siblings(self, node: str) -> tuple[str, ...]:
        """Nodes that share a hidden cause with this one."""
        self.dag.parents(node)
        return self._siblings[node]

    def districts_of(self, nodes: Collection[str]) -> tuple[frozenset[str], ...]:
        """The districts of the graph on these nodes alone, in the order of their first nodes."""
        found: list[frozenset[str]] = []
        kept = set(nodes)
        waiting = [node for node in self.nodes if node in kept]
        while waiting:
            district = closure(
                [waiting[0]], lambda node: (s for s in self._siblings[node] if s in kept)
            )
            found.append(frozenset(district))
            waiting = [node for node in waiting if node not in district]
        return tuple(found)

    def subgraph(self, nodes: Collection[str]) -> ADMG:
        """The graph on these nodes: the arcs and pairs among them."""
        kept = set(nodes)
        return ADMG(
            (arc for arc in self.arcs if kept.issuperset(arc)),
            (pair for pair in self.latent if kept.issuperset(pair)),
            (node for node in self.nodes if node in kept),
        )

    def cut(self, into: Collection[str] = (), out_of: Collection[str] = ()) -> ADMG:
        """The graph without the arcs and hidden causes that lead into some nodes, and without the
        arcs out of others.
        """
        return ADMG(
            (arc for arc in self.arcs if arc[1] not in into and arc[0] not in out_of),
            (pair for pair in self.latent if pair[0] not in into and pair[1] not in into),
            self.nodes,
        )

    def to_dag(self) -> DAG:
        """The DAG with a hidden root ``"x <-> y"`` for each pair."""
        hidden = {f"{one} <-> {two}": (one, two) for one, two in self.latent}
        arcs = [(name, end) for name, ends in hidden.items() for end in ends]
        return DAG((*self.arcs, *arcs), (*self.nodes, *hidden))

    def is_separated(
        self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Whether ``given`` separates x from y: no path between them is open."""
        sets = [(name,) if isinstance(name, str) else tuple(name) for name in (x, y, given)]
        _check.known("node", [name for names in sets for name in names], self.nodes)
        return self.to_dag().is_separated(*sets)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ADMG):
            return NotImplemented
        return self.dag == other.dag and self._pairs() == other._pairs()

    def __hash__(self) -> int:
        return hash((self.dag, self._pairs()))

    def __repr__(self) -> str:
        if len(self.arcs) + len(self.latent) > SHOWN:
            counts = f"{len(self.nodes)} nodes, {len(self.arcs)} arcs"
            return f"ADMG({counts}, {len(self.latent)} hidden causes)"
        return f"ADMG({list(self.arcs)}, latent={list(self.latent)})"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _pairs(self) -> frozenset[frozenset[str]]:
        return frozenset(map(frozenset, self.latent))


def _next_visible(dag: DAG, node: str, hidden: Collection[str]) -> set[str]:
    """The visible nodes that directed paths through hidden nodes alone lead to."""
    found: set[str] = set()
    inside = closure([node], lambda n: (c for c in dag.children(n) if c in hidden))
    for one in inside:
        found.update(child for child in dag.children(one) if child not in hidden)
    return found


def _check_once(pairs: Iterable[Arc]) -> None:
    seen = set()
    for pair in pairs:
        if pair in seen:
            raise GraphError(
                f"the hidden cause of {pair[0]!r} and {pair[1]!r} stands twice.", latent=pair
            )
        seen.add(pair)
