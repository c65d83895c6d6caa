"""The noun :class:`ArcBeliefs`: how probable each arc is, each direction, and each adjacency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ArcBelief", "ArcBeliefs"]


class ArcBelief(NamedTuple):
    """What is believed of one pair: the arc in its likelier direction.

    ``probability`` is that of the arc, ``adjacency`` that of an arc in either direction, and
    ``direction`` the share of the first in the second.
    """

    start: str
    end: str
    probability: float
    adjacency: float
    direction: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArcBeliefs:
    """Probability of every arc.

    Parameters
    ----------
    nodes
        The variables.
    matrix
        Probability of the arc from each node (row) to each node (column).

    Examples
    --------
    >>> arcs = ArcBeliefs(("a", "b"), np.array([[0.0, 0.6], [0.2, 0.0]]))
    >>> arcs["a", "b"], arcs.adjacency("a", "b"), round(arcs.direction("a", "b"), 6)
    (0.6, 0.8, 0.75)
    """

    nodes: tuple[str, ...]
    matrix: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)
        p = len(self.nodes)
        if self.matrix.shape != (p, p):
            raise InputError(f"beliefs about {p} nodes need a matrix of shape ({p}, {p}).")

    def __getitem__(self, arc: Arc) -> float:
        """Probability of an arc, (from, to)."""
        i, j = self._places(*arc)
        return float(self.matrix[i, j])

    def adjacency(self, start: str, end: str) -> float:
        """Probability of an arc between two nodes, in either direction."""
        i, j = self._places(start, end)
        return float(self.adjacencies[i, j])

    def direction(self, start: str, end: str) -> float:
        """Probability that an arc between two nodes leads this way, if there is one; else 1/2."""
        both = self.adjacency(start, end)
        return self[start, end] / both if both else 0.5

    @property
    def adjacencies(self) -> Floats:
        """Probability of an arc between each pair, in either direction."""
        return np.minimum(self.matrix + self.matrix.T, 1.0)

    def listed(self, least: float = 0.0) -> list[ArcBelief]:
        """The pairs whose adjacency is above ``least``, the most probable first."""
        both = self.adjacencies
        found = []
        for i, j in np.argwhere(np.triu(both > least, 1)):
            if self.matrix[j, i] > self.matrix[i, j]:
                i, j = j, i
            arc, either = float(self.matrix[i, j]), float(both[i, j])
            found.append(ArcBelief(self.nodes[i], self.nodes[j], arc, either, arc / either))
        return sorted(found, key=lambda one: (-one.adjacency, one.start, one.end))

    def averaged(self, threshold: float) -> DAG:
        """The graph of all pairs whose adjacency is above a threshold, in their likelier direction.

        The most probable pairs come first; an arc that would close a cycle is turned round, and
        left out if the other direction is impossible.
        """
        dag = DAG(nodes=self.nodes)
        for one in self.listed(threshold):
            start, end = one.start, one.end
            if start in dag.descendants(end):
                start, end = end, start
                if not self[start, end]:
                    continue
            dag = dag.add(start, end)
        return dag

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, one row a pair of nodes; the most probable first."""
        pandas = _check.extra("pandas", "pandas", "ArcBeliefs.to_frame")
        columns = ("from", "to", "probability", "adjacency", "direction")
        return pandas.DataFrame(self.listed(), columns=columns)

    def in_order(self, nodes: tuple[str, ...]) -> ArcBeliefs:
        """The same beliefs, nodes in another order."""
        places = [self.nodes.index(node) for node in nodes]
        return ArcBeliefs(nodes, self.matrix[np.ix_(places, places)])

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        lines = [f"ArcBeliefs over {len(self.nodes)} nodes"]
        lines += [
            f"  {one.start} -> {one.end}  {one.probability:.3f} (adjacent {one.adjacency:.3f})"
            for one in self.listed(0.5)
        ]
        return "\n".join(lines)

    def _places(self, start: str, end: str) -> tuple[int, int]:
        _check.known("node", (start, end), self.nodes)
        return self.nodes.index(start), self.nodes.index(end)
