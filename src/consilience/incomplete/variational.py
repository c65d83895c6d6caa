r"""Variational Bayes EM: posteriors of tables from rows with gaps, and a bound on the evidence.

The posterior of hidden values and parameters is approximated by a product,
:math:`q(h)\, q(\theta)`. Then :math:`q(\theta)` is a Dirichlet for each parent state with the
counts :math:`\alpha = a + N`, and :math:`q(h)` is the posterior of ordinary inference with

.. math:: \tilde\theta_{jk} = \exp\{\psi(\alpha_{jk}) - \psi(\textstyle\sum_k \alpha_{jk})\}

in the tables (they need not sum to one). The bound on the log evidence of the observed values,

.. math:: \log P(D^O) \ge \sum_i \log Z_i(\tilde\theta)
    - \sum_j \mathrm{KL}\bigl(\mathrm{Dir}(\alpha_j) \,\|\, \mathrm{Dir}(a_j)\bigr),

with :math:`Z_i` the sum over the hidden values of row i, never falls, and with no gaps it is the
evidence itself, the Bayesian Dirichlet score. So it compares graphs, and numbers of hidden states.

Regressions of continuous nodes have no posterior here: each step takes those of maximum likelihood
given the expected moments, and the bound is on the evidence given them.

References
----------
M. J. Beal, Z. Ghahramani (2003). The variational Bayesian EM algorithm for incomplete data: with
application to scoring graphical model structures. Bayesian Statistics 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from consilience import _check, _freeze
from consilience._typing import Bools, Floats, Seed
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.distributions import LinearGaussian
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.incomplete.canonical import canonical
from consilience.incomplete.em import refuse_logistic
from consilience.incomplete.first_tables import (
    check_start,
    like,
    random_start,
    template,
    with_smoothed_tables,
)
from consilience.incomplete.hidden import Hidden, with_hidden
from consilience.incomplete.restarts import (
    all_starts,
    ended_by,
    never_recorded,
    note_on_hidden,
    number_of_starts,
)
from consilience.incomplete.space import Space
from consilience.incomplete.steps import as_counts
from consilience.inference.cases import Cases, Expected
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Regressor
from consilience.parameters.fit_record import GapReport, Statistics
from consilience.parameters.fitting import FitTask, fit_task
from consilience.parameters.maximum_likelihood import MLE
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.moments import Moments
from consilience.structure.searches.task import Progress

__all__ = ["VariationalBayes", "VariationalResult", "variational"]

HIGHEST = MLE(unbiased=False)
"""The regressions that the likelihood is highest at."""


@dataclass(frozen=True, slots=True)
class VariationalBayes:
    """How variational Bayes EM climbs.

    Parameters
    ----------
    iterations
        The most steps of one start.
    tolerance
        A start ends when the bound grows by less than this share of itself in a step.
    restarts
        Further starts, from random tables; if not given, none, or 9 if some node is hidden.
    """

    iterations: int = 1000
    tolerance: float = 1e-9
    restarts: int | None = None

    def __post_init__(self) -> None:
        _check.whole("VariationalBayes", at_least=1, iterations=self.iterations)
        _check.positive("VariationalBayes", tolerance=self.tolerance)
        if self.restarts is not None:
            _check.whole("VariationalBayes", at_least=0, restarts=self.restarts)


@dataclass(frozen=True, slots=True, eq=False)
class VariationalResult:
    """What variational Bayes EM found.

    Attributes
    ----------
    network
        Posterior means, with the Dirichlet posteriors.
    bound
        Lower bound on the log evidence of what the rows record.
    trace
        The bound after each step of the best start.
    stopped_by
        Why the best start ended: ``"tolerance"``, ``"iterations"`` or ``"interrupt"``.
    starts
        The bound that each start reached.
    """

    network: Network
    bound: float
    trace: Floats
    stopped_by: str
    starts: tuple[float, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        return (
            f"VariationalResult(bound {self.bound:.6g}, {len(self.trace)} steps, "
            f"{len(self.starts)} starts, stopped by {self.stopped_by})"
        )


def variational(
    dag: DAG,
    rows: Rows,
    prior: Dirichlet | None = None,
    *,
    gaussian: Regressor | None = None,
    choice: VariationalBayes | None = None,
    hidden: Hidden | None = None,
    start: Network | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> VariationalResult:
    """Variational posteriors of the tables of a graph, and the bound on the log evidence.

    Parameters
    ----------
    dag
        The graph; its nodes are variables of the table and hidden nodes.
    rows
        A table, a frame or a path; sources are pooled.
    prior
        The Dirichlet prior of the tables; ``Dirichlet(ess=1)`` if not given.
    gaussian
        How the regressions of continuous nodes are estimated in the end, as in
        :func:`consilience.fit`; on the way they are those of maximum likelihood.
    choice
        How it climbs; ``VariationalBayes()`` if not given.
    hidden, start, seed, progress, memory_limit
        As for :func:`consilience.em`.

    Examples
    --------
    Without gaps the bound is the Bayesian Dirichlet score:

    >>> import consilience as cs
    >>> rows = cs.read({"x": ["a", "a", "b"], "y": ["a", "b", "b"]})
    >>> dag = cs.DAG([("x", "y")])
    >>> bound = cs.gaps.variational(dag, rows, cs.Dirichlet(ess=1)).bound
    >>> bool(np.isclose(bound, cs.score(dag, rows, cs.BDeu(ess=1))))
    True
    """
    prior = Dirichlet() if prior is None else prior
    choice = VariationalBayes() if choice is None else choice
    _check_arguments(prior, choice)
    hidden = {} if hidden is None else hidden
    table = with_hidden(as_table(rows), dag, hidden)
    task = fit_task(dag, table, prior, gaussian=gaussian, memory_limit=memory_limit)
    refuse_logistic(task)
    if start is not None:
        check_start(start, task.parents(), table.schema, hidden)
    unseen = (*hidden, *never_recorded(table, task.kind, hidden))
    seen = task.statistics()
    problem = _Problem.of(task, table, prior, seen, hidden=unseen, memory_limit=memory_limit)
    rng = _check.generator(seed)
    is_blind = bool(unseen) and start is None

    def one_start(number: int) -> _Climb:
        is_random = number > 0 or is_blind
        net = problem.net
        if is_random:
            begun = random_start(task, net, table, unseen, rng=rng)
        else:
            begun = with_smoothed_tables(net) if start is None else like(net, start)
        return _climb(problem, problem.first(begun), choice, progress)

    climbs = all_starts(one_start, number_of_starts(choice.restarts, is_blind=is_blind))
    best = max(climbs, key=lambda one: one.trace[-1])
    used = problem.statistics(best.at)
    return VariationalResult(
        canonical(task.network(used, seen, _report_of(best, len(climbs), unseen)), unseen),
        best.trace[-1],
        np.array(best.trace),
        ended_by(climbs, best),
        tuple(one.trace[-1] for one in climbs),
    )


def _check_arguments(prior: object, choice: object) -> None:
    if not isinstance(choice, VariationalBayes):
        raise InputError(
            f"variational: choice must be cs.gaps.VariationalBayes(...), got {choice!r}.",
            parameter="choice",
        )
    if not isinstance(prior, Dirichlet):
        raise InputError(
            f"variational: prior must be cs.Dirichlet(...), got {prior!r}.", parameter="prior"
        )


class _Point(NamedTuple):
    """Posterior counts of all tables, as a vector, and the regressions."""

    alpha: Floats
    regressions: Mapping[str, LinearGaussian]
    moments: Mapping[str, Moments]


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Rows and prior; vectors are over the cells of all tables, the source's table is fixed."""

    net: Network
    cases: Cases
    seen: Statistics
    prior: Floats
    fixed: Bools
    theta: Floats

    @classmethod
    def of(
        cls,
        task: FitTask,
        table: Table,
        prior: Dirichlet,
        seen: Statistics,
        *,
        hidden: Sequence[str],
        memory_limit: float,
    ) -> _Problem:
        plain = replace(task, chosen={**task.chosen, "regression": HIGHEST})
        net = template(plain, seen, table, hidden)
        cases = Cases.of(net, table, memory_limit=memory_limit)
        shapes = cases.layout.shapes
        tables = {name: np.ones(shape) for name, shape in shapes.items()}
        tables.update({counts.child.name: prior.prior(counts) for counts in seen.counts})
        fixed = {name: np.full(shape, float(name == net.source)) for name, shape in shapes.items()}
        flatten = cases.layout.flatten
        theta = flatten({name: local.table for name, local in net.tables.items()})
        return cls(net, cases, seen, flatten(tables), flatten(fixed) > 0, theta)

    def first(self, net: Network) -> _Point:
        """Where to start: one step of EM from this network."""
        return self._point(self.cases.expected(net))

    def statistics(self, at: _Point) -> Statistics:
        """Expected statistics in the order of those of the rows."""
        tables = self.cases.layout.split(at.alpha - self.prior)
        moments = [at.moments[one.names[-1]] for one in self.seen.moments]
        return Statistics(as_counts(self.seen.counts, tables), moments)

    def step(self, at: _Point) -> tuple[_Point, float]:
        """The next point, and the bound at this one."""
        total = self.cases.layout.row_sums(at.alpha)
        log_theta = digamma(at.alpha) - digamma(total)
        theta = np.where(self.fixed, self.theta, np.exp(log_theta))
        found = self.cases.expect(theta, at.regressions)
        return self._point(found), found.log_likelihood - self._divergence(at.alpha, log_theta)

    def _point(self, found: Expected) -> _Point:
        moments = [found.moments[name] for name in self.cases.normal.names]
        regressions = {one.child.name: one for one in HIGHEST.regress(moments)} if moments else {}
        Space(self.net, self.cases).refuse_collapse(regressions)
        return _Point(self.prior + found.counts, regressions, found.moments)

    def _divergence(self, alpha: Floats, log_theta: Floats) -> float:
        """Sum of KL(Dir(alpha) || Dir(prior)) over the rows of all tables but the source's."""
        used = np.where(self.fixed, self.prior, alpha)
        cells = gammaln(self.prior) - gammaln(used) + (used - self.prior) * log_theta
        rows = self.cases.layout.row_of
        totals = gammaln(np.bincount(rows, used)) - gammaln(np.bincount(rows, self.prior))
        return float(cells.sum() + totals.sum())


@dataclass(slots=True)
class _Climb:
    at: _Point
    trace: list[float]
    stopped_by: str


def _climb(
    problem: _Problem, start: _Point, choice: VariationalBayes, progress: Progress | None
) -> _Climb:
    climb = _Climb(start, [], "iterations")
    try:
        for step in range(choice.iterations):
            following, bound = problem.step(climb.at)
            climb.trace.append(bound)
            if progress is not None:
                progress(None, f"variational Bayes: step {step + 1}, bound {bound:.6g}")
            is_at_rest = step > 0 and bound - climb.trace[-2] <= choice.tolerance * (1 + abs(bound))
            climb.at = following
            if is_at_rest:
                climb.stopped_by = "tolerance"
                break
    except KeyboardInterrupt:
        if not climb.trace:
            raise
        climb.stopped_by = "interrupt"
    return climb


def _report_of(best: _Climb, n_starts: int, hidden: Sequence[str]) -> GapReport:
    notes = [
        "All rows were used; gaps were filled by variational Bayes, which is sound if values are "
        "missing at random. Its posteriors are narrower than the exact ones."
    ]
    notes += note_on_hidden(hidden)
    starts = f", the best of {n_starts} starts" if n_starts > 1 else ""
    ended = "" if best.stopped_by == "tolerance" else f", stopped by {best.stopped_by}"
    notes.append(f"Variational Bayes took {len(best.trace)} steps{starts}{ended}.")
    return GapReport("VariationalBayes() with {}", tuple(notes))
