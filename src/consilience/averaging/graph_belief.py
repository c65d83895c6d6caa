"""The record :class:`GraphBelief`: what the rows say about graphs, not about one graph only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.averaging.arc_beliefs import ArcBeliefs
from consilience.averaging.graph_chains import GraphChains
from consilience.data.door import Rows
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.structure.scores.score import Score

if TYPE_CHECKING:
    from consilience.network.factor import Factor
    from consilience.network.mixed_belief import MixedBelief
    from consilience.network.mixture import Mixture
    from consilience.network.network import Network
    from consilience.parameters.estimator import Estimator
    from consilience.statistics.request import Engine

__all__ = ["GraphBelief", "WeightedGraph"]


class WeightedGraph(NamedTuple):
    """A graph and how probable it is among those that stand for all."""

    dag: DAG
    weight: float


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class GraphBelief:
    """What the rows say about all graphs together.

    Attributes
    ----------
    arcs
        Probability of each arc, of each direction, of each adjacency.
    graphs
        Graphs that stand for all, the most probable first; their weights sum to one. Exact ways
        draw them with their probabilities, chains visit them, replicates have them learned.
    rows, score
        What the graphs were judged on, and how.
    method
        The way in words.
    threshold
        Adjacency above which a pair is in the averaged graph: one half, or what the strengths of a
        bootstrap themselves suggest.
    log_evidence
        Log probability of the rows, averaged over all graphs; None where it is not known.
    chains
        The draws of a chain and whether they can be trusted; None for other ways.
    n_scored
        Number of families that were scored.
    seconds
        Time it took.
    notes
        What the reader should know.
    """

    arcs: ArcBeliefs
    graphs: tuple[WeightedGraph, ...]
    rows: Table | Engine
    score: Score
    method: str
    threshold: float = 0.5
    log_evidence: float | None = None
    chains: GraphChains | None = None
    n_scored: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The variables."""
        return self.arcs.nodes

    def averaged(self, threshold: float | None = None) -> DAG:
        """The graph of all pairs that are adjacent with a probability above the threshold.

        Each pair is joined in its likelier direction, the most probable first; an arc that would
        close a cycle is turned round.
        """
        least = self.threshold if threshold is None else threshold
        if not (isinstance(least, int | float | np.number) and 0 <= least <= 1):
            raise InputError(
                f"averaged: threshold must lie between 0 and 1, got {least!r}.",
                parameter="threshold",
            )
        return self.arcs.averaged(float(least))

    def probability(self, arcs: Sequence[tuple[str, str]]) -> float:
        """Share of the graphs that have all these arcs."""
        for arc in arcs:
            _check.known("node", arc, self.nodes)
        wanted = set(arcs)
        return float(sum(one.weight for one in self.graphs if wanted <= set(one.dag.arcs)))

    def networks(self, estimator: Estimator | None = None) -> list[tuple[Network, float]]:
        """Each graph with its tables, and its weight."""
        from consilience.averaging.averaged_answers import networks

        return networks(self, estimator)

    def query(
        self,
        names: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        *,
        estimator: Estimator | None = None,
    ) -> Factor | Mixture | MixedBelief:
        """Belief about variables given others, averaged over graphs and parameters."""
        from consilience.averaging.averaged_answers import query

        return query(self, names, given, estimator=estimator)

    def posteriors(self, rows: Rows, target: str, *, estimator: Estimator | None = None) -> Floats:
        """Probability of each state of the target for each row, shape (rows, states)."""
        from consilience.averaging.averaged_answers import posteriors

        return posteriors(self, rows, target, estimator=estimator)

    def log_likelihood(self, rows: Rows, *, estimator: Estimator | None = None) -> Floats:
        """Log probability of each row, averaged over graphs and parameters."""
        from consilience.averaging.averaged_answers import log_likelihood

        return log_likelihood(self, rows, estimator=estimator)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"GraphBelief({len(self.nodes)} nodes, {len(self.arcs.listed(self.threshold))} arcs "
            f"above {self.threshold:.3g}, {len(self.graphs):,} graphs, {self.method})"
        )
