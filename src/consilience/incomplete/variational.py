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

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import digamma, gammaln

from consilience import _check, _freeze
from consilience._typing import Bools, Floats, Seed
from consilience.data.door import Rows
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
from consilience.incomplete.hidden import Hidden, engine_with_hidden
from consilience.incomplete.recorded import never_recorded
from consilience.incomplete.restarts import (
    all_starts,
    ended_by,
    note_on_hidden,
    number_of_starts,
)
from consilience.incomplete.space import Space
from consilience.incomplete.steps import as_counts
from consilience.inference.case_requests import CasesRequest, prepared
from consilience.inference.cases import Expected
from consilience.inference.layout import Layout
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Regressor
from consilience.parameters.fit_record import GapReport, Statistics
from consilience.parameters.fitting import FitTask, fit_task
from consilience.parameters.maximum_likelihood import MLE
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine
from consilience.structure.searches.task import Progress

__all__ = [
    "BoundClimb",
    "BoundProblem",
    "Point",
    "PreparedRows",
    "VariationalBayes",
    "VariationalResult",
    "climb_bound",
    "variational",
]

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
    rows: Rows | Engine,
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
        A table, an engine, a frame or a path; sources are pooled.
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
    engine = engine_with_hidden(engine_of(rows), dag, hidden)
    task = fit_task(dag, engine, prior, gaussian=gaussian, memory_limit=memory_limit)
    refuse_logistic(task)
    if start is not None:
        check_start(start, task.parents(), engine.schema, hidden)
    unseen = (*hidden, *never_recorded(engine, task.kind, hidden))
    seen = task.statistics()
    net, problem = _problem(task, prior, seen, hidden=unseen)
    rng = _check.generator(seed)
    is_blind = bool(unseen) and start is None

    def one_start(number: int) -> BoundClimb:
        is_random = number > 0 or is_blind
        if is_random:
            begun = random_start(task, net, unseen, rng=rng)
        else:
            begun = with_smoothed_tables(net) if start is None else like(net, start)
        tables = {name: local.table for name, local in begun.tables.items()}
        first = problem.first(tables, begun.regressions)
        return climb_bound(problem, first, choice, progress)

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


def _problem(
    task: FitTask, prior: Dirichlet, seen: Statistics, *, hidden: Sequence[str]
) -> tuple[Network, BoundProblem]:
    """A network of the graph, and the problem of the rows; the source's table is fixed."""
    plain = replace(task, chosen={**task.chosen, "regression": HIGHEST})
    net = template(plain, seen, hidden)
    cases = prepared(task.engine, CasesRequest(net, memory_limit=task.memory_limit))
    fixed = () if net.source is None else (net.source,)
    tables = {name: local.table for name, local in net.tables.items()}
    problem = BoundProblem.of(cases, seen, prior, tables, fixed=fixed)
    names = cases.normal.names
    if not names:
        return net, problem

    def regressed(moments: Mapping[str, Moments]) -> dict[str, LinearGaussian]:
        found = {one.child.name: one for one in HIGHEST.regress([moments[n] for n in names])}
        Space(net, cases).refuse_collapse(found)
        return found

    return net, replace(problem, regressed=regressed)


class Point(NamedTuple):
    """Posterior counts of all tables, as a vector, and the regressions."""

    alpha: Floats
    regressions: Mapping[str, LinearGaussian]
    moments: Mapping[str, Moments]


class PreparedRows(Protocol):
    """Rows prepared for steps: expected statistics under tables that need not sum to one."""

    @property
    def layout(self) -> Layout: ...

    def expect(
        self, theta: Floats, regressions: Mapping[str, LinearGaussian] | None = None
    ) -> Expected: ...


@dataclass(frozen=True, slots=True, eq=False)
class BoundProblem:
    """Rows and prior; vectors are over the cells of all tables, some of which are fixed.

    ``theta`` holds the tables that are; ``regressed`` makes the regressions of expected moments,
    None if there are no continuous nodes.
    """

    rows: PreparedRows
    seen: Statistics
    prior: Floats
    fixed: Bools
    theta: Floats
    regressed: Callable[[Mapping[str, Moments]], dict[str, LinearGaussian]] | None = None

    @classmethod
    def of(
        cls,
        rows: PreparedRows,
        seen: Statistics,
        prior: Dirichlet,
        tables: Mapping[str, Floats],
        *,
        fixed: Collection[str],
    ) -> BoundProblem:
        """The problem of these rows; the named tables are kept as they are."""
        shapes, flatten = rows.layout.shapes, rows.layout.flatten
        counts = {name: np.ones(shape) for name, shape in shapes.items()}
        counts.update({one.child.name: prior.prior(one) for one in seen.counts})
        is_fixed = {name: np.full(shape, float(name in fixed)) for name, shape in shapes.items()}
        return cls(rows, seen, flatten(counts), flatten(is_fixed) > 0, flatten(tables))

    def first(
        self,
        tables: Mapping[str, Floats],
        regressions: Mapping[str, LinearGaussian] | None = None,
    ) -> Point:
        """Where to start: one step of EM from these tables."""
        return self._point(self.rows.expect(self.rows.layout.flatten(tables), regressions))

    def statistics(self, at: Point) -> Statistics:
        """Expected statistics in the order of those of the rows."""
        tables = self.rows.layout.split(at.alpha - self.prior)
        moments = [at.moments[one.names[-1]] for one in self.seen.moments]
        return Statistics(as_counts(self.seen.counts, tables), moments)

    def step(self, at: Point) -> tuple[Point, float]:
        """The next point, and the bound at this one."""
        total = self.rows.layout.row_sums(at.alpha)
        log_theta = digamma(at.alpha) - digamma(total)
        theta = np.where(self.fixed, self.theta, np.exp(log_theta))
        found = self.rows.expect(theta, at.regressions)
        return self._point(found), found.log_likelihood - self._divergence(at.alpha, log_theta)

    def _point(self, found: Expected) -> Point:
        regressions = {} if self.regressed is None else self.regressed(found.moments)
        return Point(self.prior + found.counts, regressions, found.moments)

    def _divergence(self, alpha: Floats, log_theta: Floats) -> float:
        """Sum of KL(Dir(alpha) || Dir(prior)) over the rows of all tables that are not fixed."""
        used = np.where(self.fixed, self.prior, alpha)
        cells = gammaln(self.prior) - gammaln(used) + (used - self.prior) * log_theta
        rows = self.rows.layout.row_of
        totals = gammaln(np.bincount(rows, used)) - gammaln(np.bincount(rows, self.prior))
        return float(cells.sum() + totals.sum())


@dataclass(slots=True)
class BoundClimb:
    """One start: where it is, the bound after each step, and why it ended."""

    at: Point
    trace: list[float]
    stopped_by: str


def climb_bound(
    problem: BoundProblem, start: Point, choice: VariationalBayes, progress: Progress | None
) -> BoundClimb:
    """Steps from a start until the bound rests."""
    climb = BoundClimb(start, [], "iterations")
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


def _report_of(best: BoundClimb, n_starts: int, hidden: Sequence[str]) -> GapReport:
    notes = [
        "All rows were used; gaps were filled by variational Bayes, which is sound if values are "
        "missing at random. Its posteriors are narrower than the exact ones."
    ]
    notes += note_on_hidden(hidden)
    starts = f", the best of {n_starts} starts" if n_starts > 1 else ""
    ended = "" if best.stopped_by == "tolerance" else f", stopped by {best.stopped_by}"
    notes.append(f"Variational Bayes took {len(best.trace)} steps{starts}{ended}.")
    return GapReport("VariationalBayes() with {}", tuple(notes))
