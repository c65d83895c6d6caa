r"""How far two graphs over the same nodes are apart.

A pair of nodes is joined by an arc in one or the other direction, by an undirected edge, or not at
all. The structural Hamming distance counts the pairs that the two graphs join differently.

References
----------
I. Tsamardinos, L. E. Brown, C. F. Aliferis (2006). The max-min hill-climbing Bayesian network
structure learning algorithm. Machine Learning 65(1).
"""

from __future__ import annotations

from dataclasses import dataclass

from consilience.errors import GraphError
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.graph.names import Arc, check_same_nodes

__all__ = ["Confusion", "confusion", "shd", "shd_dags"]

Joints = dict[frozenset[str], Arc | None]
"""Pairs of nodes that are joined: by which arc, or by an undirected edge (None)."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """How many arcs of a learned graph are right; see :func:`confusion`.

    With nothing learned no arc is wrong, so precision is 1; with nothing to find no arc is missed,
    so recall is 1.
    """

    tp: int
    fp: int
    fn: int

    @property
    def precision(self) -> float:
        """Share of the learned arcs that are true."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 1.0

    @property
    def recall(self) -> float:
        """Share of the true arcs that are learned."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN)."""
        wrong = self.fp + self.fn
        return 2 * self.tp / (2 * self.tp + wrong) if self.tp + wrong else 1.0


def shd(a: DAG | CPDAG, b: DAG | CPDAG) -> int:
    """Structural Hamming distance between two classes of equivalent DAGs.

    A pair of nodes counts one if it is joined in one graph only, or by arcs of different direction,
    or by an arc in one and an undirected edge in the other. A DAG stands for its class; a CPDAG is
    taken as it is. Both need the same nodes.

    Examples
    --------
    >>> shd(DAG.parse("[A][B|A]"), DAG.parse("[A|B][B]"))
    0
    >>> shd(DAG.parse("[A][B|A][C|B]"), DAG.parse("[A][B|A:C][C]"))
    2
    """
    check_same_nodes(a.nodes, b.nodes)
    return _n_different(_joints(_class(a)), _joints(_class(b)))


def shd_dags(a: DAG, b: DAG) -> int:
    """Structural Hamming distance between two DAGs as they are; a reversed arc counts one.

    Examples
    --------
    >>> shd_dags(DAG.parse("[A][B|A]"), DAG.parse("[A|B][B]"))
    1
    """
    check_same_nodes(a.nodes, b.nodes)
    return _n_different(_joints(a), _joints(b))


def confusion(learned: DAG | CPDAG, true: DAG | CPDAG, *, skeleton: bool = False) -> Confusion:
    """How many arcs are learned and true (TP), learned only (FP) and true only (FN).

    Graphs are compared as they are: a reversed arc is one FP and one FN. Two CPDAGs compare
    undirected edges as well, and an edge against an arc is one FP and one FN; for classes of DAGs
    pass ``CPDAG.of`` both. Both graphs need the same nodes.

    Parameters
    ----------
    learned, true
        Two DAGs or two CPDAGs.
    skeleton
        Compare which pairs are joined and forget directions.

    Examples
    --------
    >>> confusion(DAG.parse("[A][B|A][C|B]"), DAG.parse("[A][B|A:C][C]"))
    Confusion(tp=1, fp=1, fn=1)
    >>> confusion(DAG.parse("[A][B|A][C|B]"), DAG.parse("[A][B|A:C][C]"), skeleton=True)
    Confusion(tp=2, fp=0, fn=0)
    """
    check_same_nodes(learned.nodes, true.nodes)
    if type(learned) is not type(true) and not skeleton:
        raise GraphError(
            f"confusion: got a {type(learned).__name__} and a {type(true).__name__}. Pass two "
            "DAGs, two CPDAGs (CPDAG.of makes one of a DAG), or skeleton=True."
        )
    one, two = _joints(learned), _joints(true)
    n_shared = len(one.keys() & two.keys() if skeleton else one.items() & two.items())
    return Confusion(n_shared, len(one) - n_shared, len(two) - n_shared)


def _class(graph: DAG | CPDAG) -> CPDAG:
    return CPDAG.of(graph) if isinstance(graph, DAG) else graph


def _joints(graph: DAG | CPDAG) -> Joints:
    if isinstance(graph, DAG):
        return {frozenset(arc): arc for arc in graph.arcs}
    directed: Joints = {frozenset(arc): arc for arc in graph.directed}
    return directed | {frozenset(edge): None for edge in graph.undirected}


def _n_different(a: Joints, b: Joints) -> int:
    return len(a.keys() | b.keys()) - len(a.items() & b.items())
