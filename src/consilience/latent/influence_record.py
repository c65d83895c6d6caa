"""What :func:`consilience.influence` gives back: the network, its graph, and the story."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.data.door import Rows, as_rows_of
from consilience.data.table import Table
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.latent.agreement import label_agreement
from consilience.latent.soft_labels import hidden_posteriors, observed_with_hidden
from consilience.network.network import Network

__all__ = ["Influence", "InfluenceStep"]


@dataclass(frozen=True, slots=True)
class InfluenceStep:
    """A network on the way: its BIC and log-likelihood on the observed rows, and whence it came."""

    score: float
    log_likelihood: float
    n_arcs: int
    note: str


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """Naive Bayes models and how they influence one another.

    Attributes
    ----------
    network
        An ordinary network: hidden nodes, named as the groups, and observed ones.
    dag
        The graph over the hidden nodes.
    groups
        For each hidden node its observed variables.
    score, log_likelihood
        Of the observed rows: BIC, and the log-likelihood in it.
    trace
        The networks that were tried, the models without arcs first.
    stopped_by
        ``"no gain"``, ``"iterations"``, ``"interrupt"``, or ``"given graph"``.
    """

    network: Network
    dag: DAG
    groups: Mapping[str, tuple[str, ...]]
    score: float
    log_likelihood: float
    trace: tuple[InfluenceStep, ...]
    stopped_by: str

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def cpdag(self) -> CPDAG:
        """The equivalence class of the graph: what rows can tell."""
        return CPDAG.of(self.dag)

    def posteriors(self, table: Rows) -> dict[str, Floats]:
        """The posterior of each hidden node in every row, shape (rows, states)."""
        return hidden_posteriors(self.network, self._read(table), self.groups)

    def labels(self, table: Rows) -> dict[str, Integers]:
        """The most probable state of each hidden node in every row, as a code."""
        return {name: belief.argmax(axis=1) for name, belief in self.posteriors(table).items()}

    def accuracy(self, table: Rows, truth: Mapping[str, npt.ArrayLike]) -> dict[str, float]:
        """Share of rows in which the label of each hidden node is the true one, up to renaming.

        Parameters
        ----------
        table
            Rows of the observed variables.
        truth
            For some hidden nodes, the true state of each row.
        """
        _check.known("hidden node", truth, self.groups)
        labels = self.labels(table)
        return {name: label_agreement(labels[name], np.asarray(one)) for name, one in truth.items()}

    def row_log_likelihoods(self, table: Rows) -> Floats:
        """Log probability of what each row records, the hidden nodes summed out."""
        rows = self._read(table)
        return self.network.log_likelihood(observed_with_hidden(self.network, rows, self.groups))

    def _read(self, rows: Rows) -> Table:
        return as_rows_of(self.network.variables, self.network.source, rows)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"Influence({len(self.groups)} models, {len(self.dag.arcs)} arcs, "
            f"BIC {self.score:.6g}, stopped by {self.stopped_by})"
        )
