r"""The noun :class:`Votes`: how many sources have each arc, and how many could have had it.

.. math:: V_{ij} = \sum_f w_f\, b_f(i \to j), \qquad C_{ij} = \sum_{f \text{ has } i, j} w_f

with the ballot :math:`b_f` of source :math:`f` and weights that sum to the number :math:`K` of
sources. A source that lacks one of the two variables abstains: it is neither for nor against. So
votes are compared on the scale of all sources,

.. math:: L_{ij} = K\, V_{ij} / C_{ij} ,

the *level* of an arc. If all sources have all variables, levels are votes.

Ballots are counted on arcs, as Córdoba-Sánchez et al. (2015) do, or on classes of equivalent
graphs: data cannot tell the members of a class apart, so a directed arc of the class gives one vote
and an undirected edge gives ``undirected`` to each of its directions. With one, the vote is the
number of sources *whose class has a member with the arc*: an edge that all sources agree on is
kept whatever its direction. With one half, the two directions share one vote, and such an edge
never has a majority.

References
----------
I. Córdoba-Sánchez, C. Bielza, P. Larrañaga (2015). Towards Gaussian Bayesian network fusion.
ECSQARU.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.fusion.voters import Voter
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.graph.names import Arc

__all__ = ["ArcVotes", "Ballots", "ClassVotes", "Votes", "count_votes"]


class Ballots(Protocol):
    """How a graph becomes a ballot."""

    def ballot(self, dag: DAG) -> dict[Arc, float]:
        """What the graph gives to each arc, between zero and one."""
        ...


@dataclass(frozen=True, slots=True)
class ArcVotes:
    """One vote for each arc of a source's graph."""

    def ballot(self, dag: DAG) -> dict[Arc, float]:
        """One for each arc."""
        return dict.fromkeys(dag.arcs, 1.0)


@dataclass(frozen=True, slots=True)
class ClassVotes:
    """Votes of the class of graphs that are equivalent to a source's graph.

    Parameters
    ----------
    undirected
        What an edge without direction gives to each of its directions, above zero and at most one.

    Examples
    --------
    >>> ClassVotes().ballot(DAG([("a", "b")]))
    {('a', 'b'): 1.0, ('b', 'a'): 1.0}
    """

    undirected: float = 1.0

    def __post_init__(self) -> None:
        _check.positive("ClassVotes", undirected=self.undirected)
        if self.undirected > 1:
            raise InputError(
                f"ClassVotes: undirected must be at most 1, got {self.undirected!r}.",
                parameter="undirected",
            )

    def ballot(self, dag: DAG) -> dict[Arc, float]:
        """One for each compelled arc, ``undirected`` for both directions of the other edges."""
        graph = CPDAG.of(dag)
        either = {arc: self.undirected for edge in graph.undirected for arc in (edge, edge[::-1])}
        return dict.fromkeys(graph.directed, 1.0) | either


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Votes:
    """Who voted for which arc.

    Parameters
    ----------
    nodes
        The variables of all sources together, in the order of first sight.
    weights
        Weight of each source; they sum to the number of sources.
    by_arc
        For each arc with votes, what each source gave it, weights included.
    possible
        What could have been given to each arc, shape (nodes, nodes): the weights of the sources
        that have both ends.
    gains
        Sum of the score gains of an arc over the sources that voted for it; it breaks ties.

    Examples
    --------
    >>> voters = [Voter("rome", DAG([("a", "b")])), Voter("oslo", DAG([("b", "a"), ("b", "c")]))]
    >>> votes = count_votes(voters, ArcVotes(), {"rome": 1.0, "oslo": 1.0})
    >>> votes["b", "c"], votes.level(("b", "c")), votes.voters(("b", "c"))
    (1.0, 2.0, ('oslo',))
    >>> votes.matrix.tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    nodes: tuple[str, ...]
    weights: Mapping[str, float]
    by_arc: Mapping[Arc, Mapping[str, float]]
    possible: Floats
    gains: Mapping[Arc, float]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources."""
        return tuple(self.weights)

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """Arcs with votes, row by row: in the order of the nodes they come from, then lead to."""
        place = {node: i for i, node in enumerate(self.nodes)}
        return tuple(sorted(self.by_arc, key=lambda arc: (place[arc[0]], place[arc[1]])))

    @property
    def matrix(self) -> Floats:
        """Votes from node (row) to node (column)."""
        place = {node: i for i, node in enumerate(self.nodes)}
        matrix = np.zeros((len(self.nodes), len(self.nodes)))
        for start, end in self.by_arc:
            matrix[place[start], place[end]] = self[start, end]
        return matrix

    @property
    def levels(self) -> tuple[float, ...]:
        """The different levels of arcs, increasing: the thresholds that make a difference."""
        return tuple(sorted({round(self.level(arc), 9) for arc in self.by_arc}))

    def __getitem__(self, arc: Arc) -> float:
        """Votes of an arc; zero if nobody voted for it."""
        _check.known("node", arc, self.nodes)
        return float(sum(self.by_arc.get(arc, {}).values()))

    def out_of(self, arc: Arc) -> float:
        """What could have been given to an arc."""
        return float(self.possible[self.nodes.index(arc[0]), self.nodes.index(arc[1])])

    def level(self, arc: Arc) -> float:
        """Votes of an arc on the scale of all sources, whoever abstained."""
        votes = self[arc]
        return votes * len(self.weights) / self.out_of(arc) if votes else 0.0

    def voters(self, arc: Arc) -> tuple[str, ...]:
        """The sources that voted for an arc."""
        return tuple(self.by_arc.get(arc, {}))

    def __repr__(self) -> str:
        return (
            f"Votes({len(self.weights)} sources, {len(self.nodes)} nodes, {len(self.by_arc)} arcs)"
        )


def count_votes(
    voters: Sequence[Voter],
    ballots: Ballots,
    weights: Mapping[str, float],
    *,
    by_strength: bool = False,
    forbidden: Collection[Arc] = (),
) -> Votes:
    """The votes of all sources.

    Parameters
    ----------
    voters
        The sources with their graphs.
    ballots
        How a graph becomes a ballot.
    weights
        Weight of each source; brought to a sum of as many as there are sources.
    by_strength
        Whether an arc counts with its strength instead of one.
    forbidden
        Arcs that an equivalent graph must not vote for; the arcs of a source's own graph count
        all the same.
    """
    nodes = tuple(dict.fromkeys(node for voter in voters for node in voter.dag.nodes))
    scale = len(voters) / sum(weights[voter.name] for voter in voters)
    scaled = {voter.name: weights[voter.name] * scale for voter in voters}
    by_arc: dict[Arc, dict[str, float]] = {}
    gains: dict[Arc, float] = {}
    for voter in voters:
        for arc, vote in ballots.ballot(voter.dag).items():
            given = vote * scaled[voter.name] * (voter.strength(arc) if by_strength else 1.0)
            is_own = arc in voter.dag.arcs
            if given > 0 and (is_own or arc not in forbidden):
                by_arc.setdefault(arc, {})[voter.name] = given
                gains[arc] = gains.get(arc, 0.0) + voter.gain(arc)
    frozen = {arc: _freeze.FrozenMap(given) for arc, given in by_arc.items()}
    return Votes(nodes, scaled, frozen, _possible(voters, nodes, scaled), gains)


def _possible(
    voters: Sequence[Voter], nodes: Sequence[str], weights: Mapping[str, float]
) -> Floats:
    known = np.array([[node in voter.dag.nodes for node in nodes] for voter in voters], float)
    weight = np.array([weights[voter.name] for voter in voters])
    possible = (known * weight[:, None]).T @ known
    np.fill_diagonal(possible, 0.0)
    return possible
