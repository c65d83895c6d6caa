r"""A graph fitted to rows with gaps by EM, and the rows as the network completes them.

What a graph is worth is the score of what was observed,

.. math:: \log P(x^{obs} \mid \hat\theta) + \log P(x^* \mid G) - \log P(x^* \mid \hat\theta)

where :math:`x^*` are the completed rows (:mod:`consilience.incomplete.structural_em`); or, fitted
by variational Bayes, the bound on its log evidence (:mod:`consilience.incomplete.variational`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from consilience._typing import Floats
from consilience.data.table import Table
from consilience.errors import DataError, ModelError
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM, Convergence, em
from consilience.incomplete.variational import VariationalBayes, variational
from consilience.inference.completion import completed
from consilience.inference.filled_rows import LEAST_SHARE, filled_rows, filled_table
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Regressor
from consilience.parameters.fitting import fit_task
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.normal_inverse_gamma import NormalInverseGamma
from consilience.parameters.regression import log_likelihood_of
from consilience.statistics.counts import Counts
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.gather import count
from consilience.structure.family_scores import family_scores, strata_of
from consilience.structure.scores.bayesian import BDJ, K2, BDe, BDs
from consilience.structure.scores.by_source import POOLED, BySource
from consilience.structure.scores.likelihood import AIC, BIC, EBIC, LogLikelihood
from consilience.structure.scores.node_average import NAL, PNAL
from consilience.structure.scores.priors import MAP
from consilience.structure.scores.score import Score
from consilience.structure.source_ways import ways_of

__all__ = ["Fitter", "Model", "innermost"]

SHARE_OF_MEMORY = 0.5
"""Of the memory limit; if all completions may need more, some are drawn."""

OF_LIKELIHOOD = (LogLikelihood, AIC, BIC, EBIC, NAL, PNAL)
"""Scores that are the largest log-likelihood less a price."""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A fitted graph, the rows as it completes them, what it is worth, and if EM was cut short."""

    dag: DAG
    network: Network
    completed: Memory
    objective: float
    is_cut: bool


class Fitter:
    """What fits graphs to the rows with gaps; a private helper of one search.

    Parameters
    ----------
    table, score
        Rows with gaps, and how completed rows are judged.
    rng
        What is random.
    draws
        How many random completions stand for a row where all of them would be too many.
    climb
        How the parameters of a graph are fitted, and what it is worth.
    memory_limit
        Bytes.
    """

    def __init__(
        self,
        table: Table,
        score: Score,
        rng: np.random.Generator,
        *,
        draws: int,
        climb: EM | VariationalBayes,
        memory_limit: float,
    ) -> None:
        self._table, self._score = table, score
        self._draws, self._climb = draws, climb
        self._rng, self._memory_limit = rng, memory_limit
        source = table.schema.source
        self._apart = source.name if source is not None and score.by_source else None
        judge = score.score if isinstance(score, MAP) else score
        self._looks_for_ways = isinstance(judge, BySource)
        n_bytes = 4.0 * len(table.variables) * _most_completions(table)
        self.is_exact = n_bytes <= SHARE_OF_MEMORY * memory_limit

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know."""
        if self.is_exact:
            return ()
        return (
            f"Rows have too many completions to list all; {self._draws} random ones stand "
            "for each row.",
        )

    def refitted(self, dag: DAG, before: Model, *, at_any_loss: bool) -> Model | None:
        """The graph fitted by EM from its estimates on the completed rows on.

        None if it is the same graph, or worse on the completed rows: a search that does not begin
        at the current graph may end below it.
        """
        worth = [self._worth(one, before.completed) for one in (dag, before.dag)]
        if dag == before.dag or (worth[0] <= worth[1] and not at_any_loss):
            return None
        grown = self._grown(dag, before.completed)
        # Draws lack rare states by chance, and what is zero once stays zero.
        estimator = self._estimator(grown) if self.is_exact else Dirichlet(ess=1.0)
        task = fit_task(grown, before.completed, estimator, memory_limit=self._memory_limit)
        try:
            start = task.plain_network(task.statistics())
        except DataError:  # too few rows for a regression
            start = None
        return self._fitted(dag, grown, start)

    def fitted(self, dag: DAG) -> Model:
        """A first graph fitted to the rows with gaps by EM, and its objective."""
        return self._fitted(dag, self._grown(dag, None), None)

    def _fitted(self, dag: DAG, grown: DAG, start: Network | None) -> Model:
        if isinstance(self._climb, VariationalBayes):
            return self._bounded(dag, start, self._climb)
        try:
            found = self._climbed(grown, self._climb, start=start)
        except (DataError, ModelError):
            # A column that is constant in some joint state, or too few rows for a regression.
            found = self._climbed(grown, self._climb, gaussian=NormalInverseGamma())
        completed = self._completed(found.network)
        gain = self._worth(dag, completed) - self._log_likelihood(grown, completed, found.network)
        observed = found.log_likelihood - _log_shares(self._table, found.network)
        is_cut = found.stopped_by == "interrupt"
        return Model(dag, found.network, completed, observed + gain, is_cut)

    def _bounded(self, dag: DAG, start: Network | None, choice: VariationalBayes) -> Model:
        """The graph fitted by variational Bayes; it is worth the bound on its evidence."""
        found = variational(
            dag,
            self._table,
            _prior(self._score),
            choice=choice,
            start=start,
            seed=self._rng,
            memory_limit=self._memory_limit,
        )
        completed = self._completed(found.network)
        bound = found.bound - _log_shares(self._table, found.network)
        return Model(dag, found.network, completed, bound, found.stopped_by == "interrupt")

    def _climbed(
        self,
        grown: DAG,
        choice: EM,
        *,
        gaussian: Regressor | None = None,
        start: Network | None = None,
    ) -> Convergence[Network]:
        return em(
            grown,
            self._table,
            self._estimator(grown),
            gaussian=gaussian,
            choice=choice,
            start=start,
            seed=self._rng,
            memory_limit=self._memory_limit,
        )

    def _completed(self, network: Network) -> Memory:
        """The rows without gaps: all completions, or some drawn, with their weights."""
        table, limit = self._table, self._memory_limit
        if not self.is_exact:
            draws = self._draws
            weights = np.full(table.n_rows, 1.0) if table.weights is None else table.weights
            shares = np.tile(weights, draws).astype(np.float64) / draws
            many = table.take(np.tile(np.arange(table.n_rows), draws))
            columns = completed(network, many, self._rng, memory_limit=limit)
            return Memory(filled_table(table, columns, shares).distinct())
        return filled_rows(network, table, memory_limit=limit)

    def ways(self, dag: DAG, completed: Memory) -> dict[str, str]:
        """How each family depends on the source in completed rows, if the score tells."""
        limit = self._memory_limit
        strata = strata_of(completed, dag.nodes, limit)
        return ways_of(completed, dag, self._score, strata, memory_limit=limit)

    def _worth(self, dag: DAG, completed: Memory) -> float:
        """Score of a graph on completed rows."""
        limit = self._memory_limit
        return sum(family_scores(completed, dag, self._score, memory_limit=limit).values())

    def _log_likelihood(self, dag: DAG, completed: Memory, network: Network) -> float:
        """Log-likelihood of completed rows: under the network, or the largest if it maximises it.

        For scores of the likelihood the difference to the score is then the price of the graph.
        """
        limit, source = self._memory_limit, self._table.source
        if isinstance(innermost(self._score), OF_LIKELIHOOD):
            each = family_scores(completed, dag, LogLikelihood(), memory_limit=limit)
            return sum(value for node, value in each.items() if node != source)
        task = fit_task(dag, completed, self._estimator(dag), memory_limit=limit)
        counts = [one.pooled() for one in task.counts()]
        return sum(_of_table(one, network.tables[one.child.name].table) for one in counts) + sum(
            log_likelihood_of(network.regressions[one.names[-1]], one) for one in task.moments()
        )

    def _counts(self, dag: DAG, rows: Table) -> list[Counts]:
        nodes = [node for node in dag.nodes if node != self._table.source]
        families = [Family(node, dag.parents(node)) for node in nodes]
        families = [one for one in families if not rows.schema[one.child].is_continuous]
        return count(rows, families, memory_limit=self._memory_limit)

    def _grown(self, dag: DAG, completed: Memory | None) -> DAG:
        """The graph of the network: the source is the first parent of nodes that depend on it.

        These are all nodes if the score keeps the sources apart, and those that it judges so on
        rows completed before if it looks for the better way.
        """
        if self._apart is None:
            return dag
        dependent = list(dag.nodes)
        if self._looks_for_ways:
            ways = {} if completed is None else self.ways(dag, completed)
            dependent = [node for node, way in ways.items() if way != POOLED]
        arcs = [(self._apart, node) for node in dependent]
        return DAG([*arcs, *dag.arcs], [self._apart, *dag.nodes])

    def _estimator(self, dag: DAG) -> MLE | Dirichlet:
        """How the network of a graph follows from counts: by the prior of the score, if any."""
        score = innermost(self._score)
        if isinstance(score, OF_LIKELIHOOD):
            return MLE()
        if self._apart is None and not isinstance(score, BDs):
            return _prior(score)
        plain = dag if self._apart is None else dag.without(self._apart)
        counts = self._counts(plain, self._table)
        return Dirichlet(tables={one.child.name: self._prior_table(score, one) for one in counts})

    def _prior_table(self, score: object, counts: Counts) -> Floats:
        """Prior counts of a family; every source has the whole prior if they are kept apart."""
        table, parents = self._table, counts.family.parents
        prior = _prior(score).prior(counts)
        if self._apart is None:
            return prior / _share_seen(table, parents)
        n_sources = table.schema[self._apart].n_states
        if not isinstance(score, BDs):
            return np.stack([prior] * n_sources)
        parts = [table.take(np.flatnonzero(table.source_codes == f)) for f in range(n_sources)]
        return np.stack([prior / _share_seen(one, parents) for one in parts])


def innermost(score: object) -> object:
    """The score of one source's rows, without priors over graphs and sources kept apart."""
    while hasattr(score, "score"):
        score = score.score
    return score


def _prior(score: object) -> Dirichlet:
    """The prior of a score; for BDs that of all parent states, seen or not."""
    if isinstance(score, BDe):
        return Dirichlet(ess=score.ess, network=score.network)
    if isinstance(score, K2 | BDJ):
        return Dirichlet(per_cell=1.0 if isinstance(score, K2) else 0.5)
    return Dirichlet(ess=float(getattr(score, "ess", 1.0)))


def _share_seen(table: Table, parents: Sequence[str]) -> float:
    """Share of the parent states that some row has, or may have as far as it is known."""
    if not parents:
        return 1.0
    seen = np.zeros([table.variables[name].n_states for name in parents], bool)
    codes = np.stack([table.column(name) for name in parents], axis=1)
    if table.weights is not None:
        codes = codes[table.weights > 0]
    for row in np.unique(codes, axis=0).tolist():
        seen[tuple(slice(None) if code < 0 else code for code in row)] = True
    return float(seen.mean()) or 1.0


def _log_shares(table: Table, network: Network) -> float:
    """Log probability of the rows' sources, which the scores of graphs leave out."""
    if network.source is None or table.source_codes is None:
        return 0.0
    shares = network.tables[network.source].table
    n_rows = np.bincount(table.source_codes, table.weights, minlength=len(shares))
    return float(n_rows[n_rows > 0] @ np.log(shares[n_rows > 0]))


def _of_table(counts: Counts, table: Floats) -> float:
    """Log-likelihood of counts under a table."""
    rows = counts.to_dense().values[0]
    theta = table.reshape(rows.shape)
    return float((rows[rows > 0] * np.log(theta[rows > 0])).sum())


def _most_completions(table: Table) -> float:
    """How many completions the rows have at most, those that will be cut left out."""
    each = np.ones(table.n_rows)
    for name, variable in table.variables.items():
        if not variable.is_continuous:
            each[table.column(name) < 0] *= variable.n_states
    return float(np.minimum(each, 1 / LEAST_SHARE).sum())
