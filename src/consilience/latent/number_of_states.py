r"""The number of states of a hidden node, and its distributions, anywhere in a given graph.

For each number of states the network is learned by EM from several starts and judged by one of

- BIC, :math:`\log L - \tfrac12 d \log N`, or AIC, :math:`\log L - d`, of the observed rows
  (:math:`d` free parameters);
- the lower bound of variational Bayes, which weighs fit against size by itself;
- the log-likelihood of rows held out, each fold in turn, given the sources that they come from.

A hidden node between observed parents and children is the case of Yamazaki and Motomura; a hidden
root with all observed variables as children is a latent class model
(:func:`consilience.latent_classes`). What is hidden can be found only up to the names of its states
(:mod:`consilience.incomplete.canonical`) and only as far as the graph allows: a hidden node with a
single observed neighbor, say, has no distribution that rows could tell.

References
----------
K. Yamazaki, Y. Motomura (2019). Hidden node detection between observable nodes based on Bayesian
clustering. Entropy 21.
G. Schwarz (1978). Estimating the dimension of a model. Annals of Statistics 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers, Seed
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.distributions import Categorical
from consilience.errors import GraphError, InputError
from consilience.graph.dag import DAG
from consilience.incomplete.canonical import canonical
from consilience.incomplete.em import EM, Convergence, em
from consilience.incomplete.hidden import Hidden, with_hidden
from consilience.incomplete.variational import VariationalBayes, variational
from consilience.latent.tried_states import (
    Criterion,
    TriedStates,
    best_of,
    criterion_of,
    numbers_to_try,
    price_of,
    try_each,
)
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.structure.scores.predictive import CrossValidated
from consilience.structure.searches.task import Clock, Progress

__all__ = ["HiddenStates", "hidden_states"]


@dataclass(frozen=True, slots=True, eq=False)
class HiddenStates:
    """A hidden node whose number of states was chosen, and all that was tried.

    Attributes
    ----------
    network
        The network with the number of states that the criterion prefers.
    node
        The hidden node.
    n_states
        Number of its states.
    criterion
        By what they were judged.
    tried
        All numbers of states that were finished, in the order asked for.
    entropy
        Mean over the rows of the entropy of the hidden node's posterior, in nats: 0 if every row is
        sure of its state.
    stopped_by
        ``"end"``, or ``"interrupt"`` if numbers are missing.
    """

    network: Network
    node: str
    n_states: int
    criterion: Criterion
    tried: tuple[TriedStates[Network], ...]
    entropy: float
    stopped_by: str = "end"

    def memberships(self, table: Rows) -> Floats:
        """The posterior of the hidden node in every row, shape (rows, states)."""
        return self.network.posteriors(table, self.node)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{one.n_states}: {one.value:.6g}" for one in self.tried)
        end = ", stopped by interrupt" if self.stopped_by == "interrupt" else ""
        return f"HiddenStates({self.node!r} with {self.n_states} states; {values}{end})"


def hidden_states(
    dag: DAG,
    table: Rows,
    node: str,
    numbers: int | Iterable[int],
    *,
    criterion: Criterion | None = None,
    estimator: Dirichlet | None = None,
    choice: EM | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> HiddenStates:
    """A hidden node of a given graph with as many states as the rows speak for.

    Missing values of the other nodes are allowed and summed out. An interrupt from the keyboard
    keeps the numbers of states that are finished, if there are any.

    Parameters
    ----------
    dag
        A graph; all its nodes but the hidden one are columns of the table.
    table
        The rows: a table, a frame or a path.
    node
        The hidden node.
    numbers
        Numbers of states to try; a single one is taken as it is.
    criterion
        ``BIC()`` if not given; or ``AIC()``, ``VariationalBayes()``, ``CrossValidated(folds=5)``,
        whose ``ess`` is the size of the prior of the folds.
    estimator
        How expected counts become tables, and the prior of variational Bayes; ``Dirichlet(ess=1)``
        if not given.
    choice
        How EM climbs; ``EM()`` if not given, which tries ten starts for each number of states.
    seed
        Of the starts and the folds.
    progress
        Called with the share done and a text.

    Raises
    ------
    DataError
        If the criterion has no finite value for any number of states.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({name: ["no", "yes"] * 30 for name in ("x", "y", "z")})
    >>> dag = cs.DAG([("H", "x"), ("H", "y"), ("H", "z")])
    >>> cs.hidden_states(dag, rows, "H", [1, 2, 3]).n_states
    2
    """
    table = as_table(table)
    _check_question(dag, table, node)
    asked = numbers_to_try("hidden_states", numbers=numbers)
    judge = criterion_of(criterion)
    prior = Dirichlet(ess=1) if estimator is None else estimator
    rng, clock = _check.generator(seed), Clock(None, progress)
    order = rng.permutation(table.n_rows)

    def one_number(n_states: int) -> TriedStates[Network]:
        return _Task(dag, table, {node: n_states}, prior, choice, rng, order).tried(judge)

    tried, stopped_by = try_each(asked, one_number, clock)
    best = best_of(tried, judge)
    entropy = _entropy(best.network.posteriors(table, node), table)
    return HiddenStates(best.network, node, best.n_states, judge, tried, entropy, stopped_by)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """One number of states."""

    dag: DAG
    table: Table
    hidden: Hidden
    estimator: Dirichlet
    choice: EM | None
    rng: np.random.Generator
    order: Integers

    def tried(self, judge: Criterion) -> TriedStates[Network]:
        """The network with this number of states, judged."""
        if isinstance(judge, VariationalBayes):
            bounded = variational(
                self.dag,
                self.table,
                self.estimator,
                hidden=self.hidden,
                choice=judge,
                seed=self.rng,
            )
            if bounded.stopped_by == "interrupt":
                raise KeyboardInterrupt
            net = canonical(bounded.network, self.hidden)
            return self._tried_states(net, self._log_likelihood(net, self.table), bounded.bound)
        found = self._em(self.table, self.estimator)
        net, log_likelihood = canonical(found.network, self.hidden), found.log_likelihood
        if isinstance(judge, CrossValidated):
            return self._tried_states(net, log_likelihood, self._left_out(judge))
        price = price_of(judge, self.table.total_weight)
        return self._tried_states(net, log_likelihood, log_likelihood - price * net.n_parameters)

    def _left_out(self, judge: CrossValidated) -> float:
        """Log-likelihood of each fold under what the others teach."""
        if self.table.n_rows < judge.folds:
            raise InputError(
                f"CrossValidated: {self.table.n_rows} rows cannot be split into {judge.folds} "
                "folds.",
                parameter="folds",
            )
        fold = self.order % judge.folds  # the same folds for every number of states
        total, estimator = 0.0, Dirichlet(ess=judge.ess)
        for i in range(judge.folds):
            net = self._em(self.table.take(fold != i), estimator).network
            total += self._log_likelihood_given_sources(net, self.table.take(fold == i))
        return total

    def _log_likelihood_given_sources(self, net: Network, rows: Table) -> float:
        # With even shares of the sources, one that the other folds lack is not impossible.
        if net.source is None:
            return self._log_likelihood(net, rows)
        source = net.variables[net.source]
        even = Categorical(source, (), np.full(source.n_states, 1 / source.n_states))
        same = Network({**net.distributions, source.name: even}, net.source, net.record)
        return self._log_likelihood(same, rows) + rows.total_weight * np.log(source.n_states)

    def _em(self, rows: Table, estimator: Dirichlet) -> Convergence[Network]:
        found = em(self.dag, rows, estimator, hidden=self.hidden, choice=self.choice, seed=self.rng)
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return found

    def _log_likelihood(self, net: Network, rows: Table) -> float:
        values = net.log_likelihood(with_hidden(rows, self.dag, self.hidden))
        if rows.weights is None:
            return float(values.sum())
        counts = rows.weights > 0
        return float(rows.weights[counts] @ values[counts])

    def _tried_states(
        self, net: Network, log_likelihood: float, value: float
    ) -> TriedStates[Network]:
        [n_states] = [states for states in self.hidden.values() if isinstance(states, int)]
        return TriedStates(n_states, float(value), float(log_likelihood), net)


def _entropy(posterior: Floats, table: Table) -> float:
    safe = np.where(posterior > 0, posterior, 1.0)
    each = -(posterior * np.log(safe)).sum(axis=1)
    weights = None if table.weights is None else table.weights
    return float(np.average(each, weights=weights))


def _check_question(dag: DAG, table: Table, node: str) -> None:
    if not isinstance(dag, DAG):
        raise InputError(f"dag must be a DAG, got a {type(dag).__name__}.")
    _check.known("node", [node], dag.nodes)
    if node in table.schema:
        raise InputError(
            f"hidden_states: {node!r} is a column of the table; a hidden node is one that the "
            "table does not have.",
            variable=node,
        )
    if not (dag.parents(node) or dag.children(node)):
        raise GraphError(
            f"hidden_states: {node!r} has no arcs, so that no row says anything about it.",
            node=node,
        )
