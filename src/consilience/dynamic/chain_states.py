r"""The number of states of a hidden node in time, as :func:`consilience.hidden_states` finds it.

For each number of states the network is fitted to the panel and judged by

- BIC, :math:`\log L - \tfrac12 d \log N`, or AIC, :math:`\log L - d`, with :math:`d` free
  parameters (those of the first slices included) and :math:`N` the number of steps of all
  sequences;
- the lower bound of variational Bayes on the log evidence
  (:mod:`consilience.incomplete.variational`), here with the expected counts of whole sequences;
- the log-likelihood of sequences held out, each fold of sequences in turn.

Hidden states are found up to their names; they are put in a canonical order, the most frequent in
the long run first.

References
----------
D. J. C. MacKay (1997). Ensemble learning for hidden Markov models. Cavendish Laboratory.
G. Schwarz (1978). Estimating the dimension of a model. Annals of Statistics 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Integers, Seed
from consilience.dynamic.dynamic_fit import bounded, em
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.first_choices import Initial
from consilience.dynamic.panel import Panel
from consilience.errors import DataError, InputError
from consilience.graph.dag import DAG
from consilience.incomplete.em import EM, Convergence
from consilience.incomplete.hidden import Hidden
from consilience.incomplete.variational import VariationalBayes
from consilience.latent.tried_states import (
    Criterion,
    TriedStates,
    best_of,
    criterion_of,
    numbers_to_try,
    price_of,
    try_each,
)
from consilience.parameters.dirichlet import Dirichlet
from consilience.structure.scores.predictive import CrossValidated
from consilience.structure.searches.task import Clock, Progress

__all__ = ["ChainStates", "hidden_states"]


@dataclass(frozen=True, slots=True, eq=False)
class ChainStates:
    """A hidden node in time whose number of states was chosen, and all that was tried.

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
    stopped_by
        ``"end"``, or ``"interrupt"`` if numbers are missing.
    """

    network: DynamicNetwork
    node: str
    n_states: int
    criterion: Criterion
    tried: tuple[TriedStates[DynamicNetwork], ...]
    stopped_by: str = "end"

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{one.n_states}: {one.value:.6g}" for one in self.tried)
        end = ", stopped by interrupt" if self.stopped_by == "interrupt" else ""
        return f"ChainStates({self.node!r} with {self.n_states} states; {values}{end})"


def hidden_states(
    dag: DAG,
    panel: Panel,
    node: str,
    numbers: int | Iterable[int],
    *,
    criterion: Criterion | None = None,
    estimator: Dirichlet | None = None,
    choice: EM | None = None,
    initial: Initial | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> ChainStates:
    """A hidden node of a graph in time with as many states as the panel speaks for.

    Parameters
    ----------
    dag
        The graph, such as :func:`consilience.dynamic.hidden_markov` gives; all its nodes but the
        hidden one are variables or inputs of the panel.
    panel
        The sequences; gaps are summed out.
    node
        The hidden node.
    numbers
        Numbers of states to try; a single one is taken as it is.
    criterion
        ``BIC()`` if not given; or ``AIC()``, ``VariationalBayes()`` (panels without continuous
        variables), ``CrossValidated(folds=5)``, whose folds are of sequences and whose ``ess`` is
        the size of their prior.
    estimator
        How expected counts become tables, and the prior of variational Bayes; ``Dirichlet(ess=1)``
        if not given.
    choice
        How EM climbs; ``EM()`` if not given, which tries ten starts for each number of states.
    initial
        What the first slices are, as in :func:`consilience.dynamic.fit`.
    seed, progress
        Of the starts and the folds; called with the share done and a text.

    Examples
    --------
    >>> import consilience as cs
    >>> panel = cs.dynamic.read_panel({"x": list("aaaaaaaabbbbbbbb") * 6})
    >>> graph = cs.dynamic.hidden_markov(["x"])
    >>> cs.dynamic.hidden_states(graph, panel, "z", range(1, 4)).n_states
    2
    """
    asked = numbers_to_try("hidden_states", numbers=numbers)
    judge = criterion_of(criterion)
    _check_node(dag, panel, node)
    prior = Dirichlet(ess=1) if estimator is None else estimator
    rng, clock = _check.generator(seed), Clock(None, progress)
    fold_of = rng.permutation(panel.n_sequences)

    def one_number(n_states: int) -> TriedStates[DynamicNetwork]:
        hidden = {node: n_states}
        return _Trial(dag, panel, hidden, prior, choice, initial, rng).judged(judge, fold_of)

    tried, stopped_by = try_each(asked, one_number, clock)
    best = best_of(tried, judge)
    return ChainStates(best.network, node, best.n_states, judge, tried, stopped_by)


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """One number of states."""

    dag: DAG
    panel: Panel
    hidden: Hidden
    estimator: Dirichlet
    choice: EM | None
    initial: Initial | None
    rng: np.random.Generator

    def judged(self, judge: Criterion, fold_of: Integers) -> TriedStates[DynamicNetwork]:
        """The network with this number of states, and what the criterion says."""
        if isinstance(judge, VariationalBayes):
            found = bounded(
                self.dag,
                self.panel,
                self.estimator,
                choice=judge,
                hidden=self.hidden,
                initial=self.initial,
                seed=self.rng,
            )
            return self._tried(found, float(found.objective[-1]))
        found = self._em(self.panel, self.estimator)
        if isinstance(judge, CrossValidated):
            return self._tried(found, self._left_out(judge, fold_of))
        price = price_of(judge, self.panel.rows.total_weight)
        return self._tried(found, found.log_likelihood - price * found.network.n_parameters)

    def _left_out(self, judge: CrossValidated, fold_of: Integers) -> float:
        """Log-likelihood of each fold of sequences under what the others teach."""
        if self.panel.n_sequences < judge.folds:
            raise InputError(
                f"CrossValidated: {self.panel.n_sequences} sequences cannot be split into "
                f"{judge.folds} folds. Use fewer folds, or another criterion such as cs.BIC().",
                parameter="folds",
            )
        names, total = np.array(self.panel.sequences, dtype=object), 0.0
        for i in range(judge.folds):
            is_out = fold_of % judge.folds == i
            learned = self._em(self.panel.take(names[~is_out]), Dirichlet(ess=judge.ess))
            total += float(learned.network.log_likelihood(self.panel.take(names[is_out])).sum())
        return total

    def _em(self, panel: Panel, estimator: Dirichlet) -> Convergence[DynamicNetwork]:
        found = em(
            self.dag,
            panel,
            estimator,
            choice=self.choice,
            hidden=self.hidden,
            initial=self.initial,
            seed=self.rng,
        )
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return found

    def _tried(
        self, found: Convergence[DynamicNetwork], value: float
    ) -> TriedStates[DynamicNetwork]:
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        [n_states] = [states for states in self.hidden.values() if isinstance(states, int)]
        return TriedStates(n_states, float(value), found.log_likelihood, found.network)


def _check_node(dag: DAG, panel: Panel, node: str) -> None:
    if not isinstance(dag, DAG):
        raise InputError(f"dag must be a DAG, got a {type(dag).__name__}.")
    _check.known("node", [node], dag.nodes)
    if node in panel.rows.schema:
        raise DataError(
            f"hidden_states: {node!r} is a column of the panel; a hidden node is one that it does "
            "not have.",
            variable=node,
        )
