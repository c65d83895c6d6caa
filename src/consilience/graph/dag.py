"""The noun :class:`DAG`: a directed graph without cycles.

It holds names only. What the nodes are (states, tables) belongs to a network; what two graphs have
in common belongs to :mod:`consilience.graph.distance` and :mod:`consilience.graph.cpdag`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Integers
from consilience.errors import GraphError
from consilience.graph.modelstring import parse_brackets, write_bracket, write_brackets
from consilience.graph.names import Arc, unique_names, unique_pairs
from consilience.graph.order import topological_order
from consilience.graph.separation import closure, reachable

__all__ = ["DAG"]

WIDTH = 70  # characters of the model string that a repr shows
PRINTED = 10_000  # characters that are printed


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class DAG:
    """A directed acyclic graph; immutable.

    Two graphs are equal if they have the same nodes and the same arcs, in whatever order. The order
    is kept all the same: the parents of a node stand in the order of the arcs, and so do the axes
    of its table.

    Parameters
    ----------
    arcs
        Pairs (from, to), each once.
    nodes
        Names, each once. Nodes that appear in arcs need not be named; isolated nodes must be.

    Attributes
    ----------
    nodes
        The given nodes in their order, then those found in the arcs in order of first appearance.
    arcs
        The arcs as given.

    Raises
    ------
    GraphError
        If the arcs close a cycle (the message shows one), a node or an arc stands twice, an arc is
        not a pair of names, or a node is joined to itself.

    Examples
    --------
    >>> dag = DAG([("smoke", "lung"), ("lung", "xray")], nodes=["age"])
    >>> dag.nodes
    ('age', 'smoke', 'lung', 'xray')
    >>> dag.is_separated("smoke", "xray", given="lung")
    True
    """

    arcs: tuple[Arc, ...]
    nodes: tuple[str, ...]
    _parents: dict[str, tuple[str, ...]] = field(init=False)
    _children: dict[str, tuple[str, ...]] = field(init=False)
    _order: tuple[str, ...] = field(init=False)

    def __init__(self, arcs: Iterable[Arc] = (), nodes: Iterable[str] = ()) -> None:
        pairs = unique_pairs(arcs)
        ends = (name for pair in pairs for name in pair)
        names = tuple(dict.fromkeys((*unique_names(nodes), *ends)))
        parents: dict[str, list[str]] = {name: [] for name in names}
        children: dict[str, list[str]] = {name: [] for name in names}
        for start, end in pairs:
            parents[end].append(start)
            children[start].append(end)
        object.__setattr__(self, "arcs", pairs)
        object.__setattr__(self, "nodes", names)
        object.__setattr__(self, "_parents", {k: tuple(v) for k, v in parents.items()})
        object.__setattr__(self, "_children", {k: tuple(v) for k, v in children.items()})
        object.__setattr__(self, "_order", topological_order(parents, children))

    @classmethod
    def parse(cls, text: str) -> DAG:
        """The graph of a model string such as ``"[A][B|A][C|A:B]"``.

        Nodes stand in the order of their brackets; white space around names means nothing. The
        message of an error names the position.
        """
        return cls(*parse_brackets(text))

    @classmethod
    def from_adjacency(cls, matrix: npt.ArrayLike, nodes: Iterable[str]) -> DAG:
        """The graph with an arc from node ``i`` to node ``j`` wherever ``matrix[i, j]`` is 1."""
        names = unique_names(nodes)
        entries = np.asarray(matrix)
        if entries.shape != (len(names), len(names)):
            raise GraphError(
                f"the adjacency matrix of {len(names)} nodes must have shape "
                f"{(len(names), len(names))}, got {entries.shape}.",
                shape=entries.shape,
            )
        strange = np.argwhere((entries != 0) & (entries != 1))
        if len(strange):
            i, j = map(int, strange[0])
            raise GraphError(
                f"the adjacency matrix must hold 0 and 1 only, got {entries[i, j]!s} from "
                f"{names[i]!r} to {names[j]!r}.",
                arc=(names[i], names[j]),
            )
        return cls(((names[i], names[j]) for i, j in np.argwhere(entries)), names)

    def to_string(self) -> str:
        """The model string, ``"[A][B|A][C|A:B]"``, with nodes and parents in their order."""
        return write_brackets(self._parents)

    def to_adjacency(self) -> Integers:
        """The square matrix with 1 at ``[i, j]`` for an arc from node ``i`` to node ``j``."""
        position = {node: i for i, node in enumerate(self.nodes)}
        matrix = np.zeros((len(self.nodes), len(self.nodes)), dtype=np.int64)
        for start, end in self.arcs:
            matrix[position[start], position[end]] = 1
        return matrix

    def parents(self, node: str) -> tuple[str, ...]:
        """Nodes with an arc into this one, in the order of the arcs."""
        return self._parents[self._known(node)]

    def children(self, node: str) -> tuple[str, ...]:
        """Nodes that an arc from this one leads to, in the order of the arcs."""
        return self._children[self._known(node)]

    def ancestors(self, nodes: str | Iterable[str]) -> frozenset[str]:
        """All nodes with a directed path to one of the nodes; these themselves left out."""
        start = self._several(nodes)
        return frozenset(closure(start, self._parents.__getitem__) - start)

    def descendants(self, nodes: str | Iterable[str]) -> frozenset[str]:
        """All nodes with a directed path from one of the nodes; these themselves left out."""
        start = self._several(nodes)
        return frozenset(closure(start, self._children.__getitem__) - start)

    def topological_order(self) -> tuple[str, ...]:
        """The nodes with parents before children; the order of the nodes breaks ties."""
        return self._order

    def markov_blanket(self, node: str) -> frozenset[str]:
        """Parents, children and the children's other parents: given these, nothing else matters."""
        children = self.children(node)
        spouses = (parent for child in children for parent in self._parents[child])
        return frozenset((*self._parents[node], *children, *spouses)) - {node}

    def is_separated(
        self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Whether ``given`` d-separates x from y: no path between them is open.

        Each argument is one name or several; the three must not overlap. An empty set is separated
        from everything. Time grows with the number of arcs.

        Examples
        --------
        >>> dag = DAG.parse("[A][B][C|A:B]")
        >>> dag.is_separated("A", "B"), dag.is_separated("A", "B", given="C")
        (True, False)

        References
        ----------
        R. D. Shachter (1998). Bayes-ball: the rational pastime. UAI.
        """
        sets = {"x": self._several(x), "y": self._several(y), "given": self._several(given)}
        _check_disjoint(sets)
        found = reachable(
            sets["x"],
            sets["given"],
            parents=self._parents.__getitem__,
            children=self._children.__getitem__,
        )
        return found.isdisjoint(sets["y"])

    def add(self, start: str, end: str, *, nodes: Iterable[str] = ()) -> DAG:
        """The graph with one more arc, last in order.

        Both ends must be nodes. ``nodes`` names those that are new, so that a misspelt name is not
        taken for one.

        Examples
        --------
        >>> DAG.parse("[a][b|a]").add("b", "c", nodes=["c"])
        DAG.parse('[a][b|a][c|b]')
        """
        known = dict.fromkeys((*self.nodes, *unique_names(nodes)))
        for name in (start, end):
            if name not in known:
                _check.unknown("node", name, known, "Name a new node in nodes=.")
        return DAG((*self.arcs, (start, end)), known)

    def remove(self, start: str, end: str) -> DAG:
        """The graph without an arc; its nodes stay."""
        i = self._index(start, end)
        return DAG(self.arcs[:i] + self.arcs[i + 1 :], self.nodes)

    def reverse(self, start: str, end: str) -> DAG:
        """The graph with an arc turned round, in the same place of the order."""
        i = self._index(start, end)
        return DAG((*self.arcs[:i], (end, start), *self.arcs[i + 1 :]), self.nodes)

    def without(self, node: str) -> DAG:
        """The graph without a node and its arcs."""
        self._known(node)
        return DAG(
            (arc for arc in self.arcs if node not in arc),
            (other for other in self.nodes if other != node),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DAG):
            return NotImplemented
        return self._parents.keys() == other._parents.keys() and set(self.arcs) == set(other.arcs)

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(self.arcs)))

    def __repr__(self) -> str:
        shown = ""
        for node, parents in self._parents.items():
            bracket = write_bracket(node, parents)
            if len(shown) + len(bracket) > WIDTH:
                counts = f"{len(self.nodes)} nodes, {len(self.arcs)} arcs"
                return f"DAG({counts}: {shown}...)"
            shown += bracket
        return f"DAG.parse({shown!r})"

    def __str__(self) -> str:
        """The model string; of more than 10,000 characters the beginning."""
        shown = ""
        for k, (node, parents) in enumerate(self._parents.items()):
            bracket = write_bracket(node, parents)
            if len(shown) + len(bracket) > PRINTED:
                return f"{shown}... and {len(self.nodes) - k:,} more nodes"
            shown += bracket
        return shown

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def _known(self, node: str) -> str:
        if not isinstance(node, str) or node not in self._parents:
            _check.unknown("node", node, self.nodes)
        return node

    def _several(self, names: str | Iterable[str]) -> set[str]:
        if isinstance(names, str) or not isinstance(names, Iterable):
            return {self._known(names)}
        return set(map(self._known, names))

    def _index(self, start: str, end: str) -> int:
        arc = (self._known(start), self._known(end))
        if arc not in self.arcs:
            turned = f" There is {end!r} -> {start!r}." if start in self._children[end] else ""
            raise GraphError(f"there is no arc {start!r} -> {end!r}.{turned}", arc=arc)
        return self.arcs.index(arc)


def _check_disjoint(sets: dict[str, set[str]]) -> None:
    for first, second in (("x", "y"), ("x", "given"), ("y", "given")):
        shared = sorted(sets[first] & sets[second])
        if shared:
            raise GraphError(
                f"is_separated: {first} and {second} share {_check.listed(shared)}. "
                "x, y and given must not overlap.",
                nodes=tuple(shared),
            )
