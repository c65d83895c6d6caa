r"""The noun :class:`Voter`: a source with its graph, and how strongly its rows support each arc.

The gain of an arc :math:`P \to X` of a graph with a decomposable score is

.. math:: g = \mathrm{score}(X \mid \mathrm{Pa}) - \mathrm{score}(X \mid \mathrm{Pa} \setminus P) .

For scores that approximate or are a log evidence (BIC, BDeu, BGe) :math:`e^g` are the odds that the
arc is there, given the rest of the graph and even odds before, and its *strength* is the
probability :math:`1 / (1 + e^{-g})` (Raftery 1995).

References
----------
A. E. Raftery (1995). Bayesian model selection in social research. Sociological Methodology 25.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scipy.special import expit

from consilience import _freeze
from consilience.data.table import Table
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.network.network import Network
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.structure.scores.score import Score
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.local import LocalScores

__all__ = ["Voter", "arc_gains"]


@dataclass(frozen=True, slots=True, eq=False)
class Voter:
    """A source in a vote.

    Parameters
    ----------
    name
        Name of the source.
    dag
        Its graph, without a source node; its nodes are the variables that the source votes on.
    table
        Its rows, if there are any: no source, variables as in the graph and those that do not vary.
    network
        The finished network, if that is what the source gave.
    gains
        What each arc adds to the score of the graph on the source's rows; empty without rows.
    """

    name: str
    dag: DAG
    table: Table | None = None
    network: Network | None = None
    gains: Mapping[Arc, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def n_rows(self) -> float | None:
        """Weight of the rows, as far as the table or the record of the network tells."""
        if self.table is not None:
            return float(self.table.total_weight)
        n_rows = () if self.network is None else tuple(self.network.record.n_rows.values())
        return max(n_rows) if n_rows and max(n_rows) > 0 else None

    def gain(self, arc: Arc) -> float:
        """The gain of the arc or of its reverse, whichever the graph has; zero if unknown."""
        return float(self.gains.get(arc, self.gains.get(arc[::-1], 0.0)))

    def strength(self, arc: Arc) -> float:
        """Probability of the arc from its gain."""
        return float(expit(self.gain(arc)))


def arc_gains(dag: DAG, table: Table, score: Score) -> dict[Arc, float]:
    """What each arc of a graph adds to its score on the rows.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("aabb") * 5})
    >>> gains = arc_gains(cs.DAG([("x", "y")]), table, cs.scores.LogLikelihood())
    >>> round(gains["x", "y"], 6)  # 20 log 2
    13.862944
    """
    names = sorted(dag.nodes)
    place = {name: i for i, name in enumerate(names)}
    scores = LocalScores(
        engine_of(table),
        score,
        Constraints.of(names),
        max_parents=None,
        memory_limit=MEMORY_LIMIT,
    )
    gains: dict[Arc, float] = {}
    sets: dict[str, list[int]] = {}
    for node in dag.nodes:
        every = sum(1 << place[parent] for parent in dag.parents(node))
        sets[node] = [every, *(every ^ 1 << place[parent] for parent in dag.parents(node))]
    scores.learn((place[node], one) for node, several in sets.items() for one in several)
    for node, several in sets.items():
        parents = dag.parents(node)
        found = scores.several(place[node], several)
        gains |= {(p, node): float(found[0] - f) for p, f in zip(parents, found[1:], strict=True)}
    return {arc: gains[arc] for arc in dag.arcs}
