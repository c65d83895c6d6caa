r"""The verbs :func:`fit` and :func:`em` of networks in time.

If nothing is missing, the statistics of the lagged table say all. Otherwise EM: the expected
statistics of each family are the sum of its posteriors over all slices,

.. math:: N_{jk} = \sum_s \sum_t P(\mathrm{Pa}(t) = j, X(t) = k \mid \text{sequence } s),

so the algorithm of Baum and Welch is EM with the families of a hidden Markov model, and every
estimator that serves static networks serves here. The climb is that of ``incomplete/``: restarts,
acceleration, and a guard so that the objective never falls.

References
----------
L. E. Baum, T. Petrie, G. Soules, N. Weiss (1970). A maximization technique occurring in the
statistical analysis of probabilistic functions of Markov chains. Annals of Mathematical Statistics
41.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience import _check
from consilience._typing import Floats, Seed
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.dynamic.beliefs_in_time import log_source
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.evidence_in_time import evidence_of
from consilience.dynamic.first_choices import Initial, Stationary, check_initial
from consilience.dynamic.fit_plan import FitPlan, plan_of
from consilience.dynamic.given_start import check_start, like
from consilience.dynamic.hidden_units import Scales, in_units, units_of
from consilience.dynamic.label_order import canonical_labels
from consilience.dynamic.lagged_names import at, lagged
from consilience.dynamic.moments_in_time import as_moments
from consilience.dynamic.panel import Panel
from consilience.dynamic.stationary_law import stationary_initial
from consilience.dynamic.timeline import Families, Timeline, mixed_pair
from consilience.errors import DataError, InputError, TooDearError
from consilience.graph.dag import DAG
from consilience.incomplete.ascent import Climber
from consilience.incomplete.em import EM, Convergence, refuse_logistic
from consilience.incomplete.em_record import report_of, with_rounds
from consilience.incomplete.first_tables import labelled, smoothed
from consilience.incomplete.hidden import Hidden, continuous_of
from consilience.incomplete.restarts import all_starts, ended_by, number_of_starts
from consilience.incomplete.variational import (
    BoundClimb,
    BoundProblem,
    VariationalBayes,
    climb_bound,
)
from consilience.inference.cases import Expected
from consilience.inference.layout import Layout
from consilience.learning import AvailableCases
from consilience.network.network import MEMORY_LIMIT
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.estimator import Estimator, LogisticEstimator, Regressor
from consilience.parameters.fit_record import NO_REPORT, ROUNDING, GapReport, Statistics, record_of
from consilience.parameters.fitting import FitTask
from consilience.parameters.known_numbers import Known
from consilience.structure.searches.task import Progress

__all__ = ["bounded", "em", "fit"]

STICKINESS = 2.0
"""How much more likely a hidden node starts to stay in its state than to leave it."""


def fit(
    dag: DAG,
    panel: Panel,
    estimator: Estimator | Regressor | None = None,
    *,
    gaussian: Regressor | None = None,
    logistic: LogisticEstimator | None = None,
    hidden: Hidden | None = None,
    initial: Initial | None = None,
    known: Mapping[str, Known] | None = None,
    gaps: EM | AvailableCases | None = None,
    seed: Seed = 0,
    memory_limit: float = MEMORY_LIMIT,
) -> DynamicNetwork:
    """The network in time with this graph, its local distributions estimated from the panel.

    Parameters
    ----------
    dag
        Arcs into nodes of the current slice, from nodes such as ``x``, ``x(t-1)``, from inputs of
        the panel, and from the source if the graph is to say what depends on it.
    panel
        The sequences.
    estimator, gaussian, logistic
        As in :func:`consilience.fit`.
    hidden
        For each node that no row has a value of, the number of its states, their names, or
        ``float`` if it is continuous.
    initial
        What the first slices are: ``Estimated()``, ``Conditional()``, ``Diffuse()``,
        ``Stationary()``, or a network over ``x(0)`` and so on, which is kept. If not said,
        estimated for two sequences or more; with one, or too few, the first values of recorded
        nodes are given, and hidden continuous ones are diffuse. The record says which.
    known
        For some nodes what is not to be estimated, :class:`consilience.dynamic.Known`. A hidden
        continuous node has no unit, zero or sign of its own but what this says.
    gaps
        What to do about missing values: ``EM()`` if not said, or ``AvailableCases()``.
    seed
        Of random starts, which hidden nodes need.
    memory_limit
        Bytes of the tables of inference.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = {"who": list("aaaabbbb"), "x": list("uuvvuvvv")}
    >>> panel = cs.dynamic.read_panel(rows, sequence="who")
    >>> net = cs.dynamic.fit(cs.DAG([("x(t-1)", "x")]), panel, cs.MLE())
    >>> net["x"].table.round(3).tolist()  # from u: once to u, twice to v
    [[0.333, 0.667], [0.0, 1.0]]
    >>> net.initial["x(0)"].table.tolist()
    [1.0, 0.0]
    """
    if gaps is not None and not isinstance(gaps, EM | AvailableCases):
        raise InputError(
            f"fit: gaps must be cs.EM() or cs.AvailableCases(), got {gaps!r}.", parameter="gaps"
        )
    plan = _plan(
        dag,
        panel,
        estimator,
        gaussian,
        logistic=logistic,
        hidden=hidden,
        initial=initial,
        known=known,
        memory_limit=memory_limit,
    )
    seen = plan.statistics()
    if isinstance(gaps, AvailableCases) or not (plan.hidden or _has_gaps(seen)):
        if plan.hidden:
            raise InputError(
                f"fit: no row is complete for a hidden node ({_check.listed(plan.hidden)}), so "
                "cs.AvailableCases() has nothing to go by. Use gaps=cs.EM().",
                parameter="gaps",
            )
        return _closed(plan, seen, initial)
    return (
        _Run(plan, seen, gaps or EM(), None, _check.generator(seed), None, initial).story().network
    )


def em(
    dag: DAG,
    panel: Panel,
    estimator: Estimator | Regressor | None = None,
    *,
    gaussian: Regressor | None = None,
    choice: EM | None = None,
    hidden: Hidden | None = None,
    initial: Initial | None = None,
    known: Mapping[str, Known] | None = None,
    start: DynamicNetwork | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Convergence[DynamicNetwork]:
    """The network in time that EM finds for this graph, and the story of the climb.

    Takes the arguments of :func:`fit`; ``choice`` says how EM climbs and ``start`` is a network
    with this graph to start from, whose hidden states keep their order. Otherwise hidden states are
    put in a canonical order: the most frequent in the long run first, ties by means; those that
    ``known`` or ``initial`` tell apart stay as they are there.

    Examples
    --------
    >>> import consilience as cs
    >>> panel = cs.dynamic.read_panel({"x": list("aababbbabb")})
    >>> story = cs.dynamic.em(cs.dynamic.hidden_markov(["x"]), panel, cs.MLE(), hidden={"z": 1})
    >>> story.network["x"].table.tolist(), round(story.log_likelihood, 4)  # one state: frequencies
    ([[0.4, 0.6]], -6.7301)
    """
    choice = EM() if choice is None else choice
    if not isinstance(choice, EM):
        raise InputError(f"em: choice must be cs.EM(...), got {choice!r}.", parameter="choice")
    plan = _plan(
        dag,
        panel,
        estimator,
        gaussian,
        logistic=None,
        hidden=hidden,
        initial=initial,
        known=known,
        memory_limit=memory_limit,
    )
    refuse_logistic(plan.task)
    rng = _check.generator(seed)
    return _Run(plan, plan.statistics(), choice, start, rng, progress, initial).story()


def bounded(
    dag: DAG,
    panel: Panel,
    prior: Dirichlet,
    *,
    choice: VariationalBayes,
    hidden: Hidden,
    initial: Initial | None = None,
    seed: Seed = 0,
) -> Convergence[DynamicNetwork]:
    """Posterior means by variational Bayes; the objective is the bound on the log evidence."""
    plan = _plan(
        dag,
        panel,
        prior,
        None,
        logistic=None,
        hidden=hidden,
        initial=initial,
        known=None,
        memory_limit=MEMORY_LIMIT,
    )
    numbers = [name for name, one in panel.rows.variables.items() if one.is_continuous]
    if numbers:
        raise DataError(
            f"{numbers[0]!r} is continuous, and the variational bound weighs tables only. Use "
            "cs.BIC() or cs.scores.CrossValidated().",
            column=numbers[0],
        )
    run = _Run(plan, plan.statistics(), EM(), None, _check.generator(seed), None, initial)
    return run.bound(prior, choice)


def _plan(
    dag: DAG,
    panel: Panel,
    estimator: Any,
    gaussian: Any,
    *,
    logistic: Any,
    hidden: Hidden | None,
    initial: Initial | None,
    known: Mapping[str, Known] | None,
    memory_limit: float,
) -> FitPlan:
    check_initial(initial)
    if known is not None and not isinstance(known, Mapping):
        raise InputError(
            f"fit: known must map nodes to cs.dynamic.Known(...), got {known!r}.", parameter="known"
        )
    return plan_of(
        dag,
        panel,
        estimator,
        gaussian=gaussian,
        logistic=logistic,
        hidden=hidden,
        initial=initial,
        known={} if known is None else known,
        memory_limit=memory_limit,
    )


def _has_gaps(seen: Statistics) -> bool:
    missing = [
        *(one.n_incomplete.sum() / max(one.n_rows.sum() / one.scale, 1) for one in seen.counts),
        *(one.n_incomplete.sum() / max(one.n_rows.sum(), 1) for one in seen.moments),
        *(one.n_incomplete / max(one.n_rows + one.n_incomplete, 1) for one in seen.fits),
    ]
    return max(missing) > ROUNDING


def _closed(plan: FitPlan, seen: Statistics, initial: Initial | None) -> DynamicNetwork:
    """The network of statistics that say all."""
    local = plan.task.estimated(seen)
    return _assembled(plan, plan.task, local, seen, used=seen, told=NO_REPORT, initial=initial)


def _assembled(
    plan: FitPlan,
    task: FitTask,
    local: Mapping[str, Distribution],
    seen: Statistics,
    *,
    used: Statistics,
    told: GapReport,
    initial: Initial | None,
) -> DynamicNetwork:
    record = record_of(task.chosen, list(task.kind), seen, used, local=local, report=told)
    record = replace(record, notes=(*plan.panel.notes, *plan.notes, *record.notes))
    net = plan.network(local, record)
    if isinstance(initial, Stationary):
        first = stationary_initial(net)
        return DynamicNetwork(first, net.transition, net.hidden, net.inputs, (), record)
    return net


@dataclass(frozen=True, slots=True, eq=False)
class _PanelRows:
    """A panel prepared for steps of EM."""

    timeline: Timeline
    normal: Scales
    families: Families
    like: Mapping[str, Any]
    log_sources: float

    @property
    def layout(self) -> Layout:
        """How the tables stand in a vector."""
        return self.timeline.layout

    def expect(
        self, theta: Floats, regressions: Mapping[str, LinearGaussian] | None = None
    ) -> Expected:
        """Expected statistics under tables and regressions."""
        families = replace(
            self.families,
            distributions={**self.families.distributions, **(regressions or {})},
        )
        log, counts, sums = self.timeline.expect(families, theta)
        moments = {
            key: as_moments(one, self.like[key]) for key, one in sums.items() if key in self.like
        }
        total = float(self.timeline.evidence.weights @ log) + self.log_sources
        return Expected(counts, moments, total)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """One call of EM."""

    plan: FitPlan
    seen: Statistics
    choice: EM
    begin: DynamicNetwork | None
    rng: np.random.Generator
    progress: Progress | None
    initial: Initial | None

    def story(self) -> Convergence[DynamicNetwork]:
        """The best of all starts, and the network that its end asks for."""
        plan = self.plan
        refuse_logistic(plan.task)
        if self.begin is not None:
            check_start(self.begin, plan)
        is_blind = bool(plan.hidden) and self.begin is None
        levels = continuous_of(plan.hidden, plan.panel.rows.variables)
        climber = Climber(
            plan.task,
            self.seen,
            self.choice,
            tuple(plan.kept),
            self._prepared,
            self._start,
            number_of_starts(
                self.choice.restarts,
                is_blind=is_blind,
                is_continuous=len(levels) == len(plan.hidden),
            ),
            self.progress,
            is_flat=bool(levels),
        )
        done = climber.ascent()
        best, step = done.best, done.step
        told = report_of(
            self.choice, best, len(done.climbs), self.seen, hidden=plan.hidden, continuous=levels
        )
        told = replace(told, notes=(*(told.notes or ()), *_on_levels(levels, plan)))
        if done.rounds is not None:
            told = with_rounds(told, done.rounds)
        used = step.statistics(done.expected)
        local = done.task.estimated(used)
        net = _assembled(
            plan, done.task, local, self.seen, used=used, told=told, initial=self.initial
        )
        families = Families.of(net)
        reached = self._log_likelihood(net, families)
        if step.log_prior is not None and done.rounds is None and not _is_other(self.initial):
            objective = reached + step.log_prior(done.space.of_network(families))
            if objective >= best.objective[-1]:  # variances over n - 1 are not the highest point
                best.objective.append(objective)
        if self.begin is None:
            net = canonical_labels(net, plan.told_apart())
        return Convergence(
            net,
            np.array(best.objective),
            reached,
            ended_by(done.climbs, best),
            tuple(one.objective[-1] for one in done.climbs),
        )

    def bound(self, prior: Dirichlet, choice: VariationalBayes) -> Convergence[DynamicNetwork]:
        """The best of all starts of variational Bayes."""
        plan = self.plan
        families, rows = self._prepared(plan.task)
        tables = {key: local.table for key, local in families.tables.items()}
        fixed = {*plan.kept, *(key for key in tables if key == plan.panel.rows.source)}
        problem = BoundProblem.of(rows, self.seen, prior, tables, fixed=fixed)

        def one_start(number: int) -> BoundClimb:
            begun = self._start(plan.task, families, number).tables
            first = problem.first({key: local.table for key, local in begun.items()})
            return climb_bound(problem, first, choice, None)

        climbs = all_starts(one_start, number_of_starts(choice.restarts, is_blind=True))
        best = max(climbs, key=lambda one: one.trace[-1])
        used = problem.statistics(best.at)
        local = plan.task.estimated(used)
        net = canonical_labels(
            _assembled(
                plan, plan.task, local, self.seen, used=used, told=NO_REPORT, initial=self.initial
            )
        )
        reached = self._log_likelihood(net, Families.of(net))
        ends = tuple(one.trace[-1] for one in climbs)
        return Convergence(net, np.array(best.trace), reached, ended_by(climbs, best), ends)

    def _log_likelihood(self, net: DynamicNetwork, families: Families) -> float:
        evidence = evidence_of(net, self.plan.panel)
        timeline = Timeline(net, evidence, memory_limit=self.plan.task.memory_limit)
        log = timeline.log_likelihood(families) + log_source(net, evidence)
        return float(evidence.weights @ log)

    def _prepared(self, task: FitTask) -> tuple[Families, _PanelRows]:
        """The families of the graph, and the panel prepared for them."""
        net = replace(self.plan, task=task).template()
        evidence = evidence_of(net, self.plan.panel)
        _refuse_mixed(mixed_pair(net, evidence))
        timeline = Timeline(net, evidence, memory_limit=task.memory_limit)
        families = timeline.families
        like = {one.names[-1]: one for one in self.seen.moments}
        log = float(evidence.weights @ log_source(net, evidence))
        scales = Scales(families, units_of(self.plan))
        return families, _PanelRows(timeline, scales, families, like, log)

    def _start(self, task: FitTask, families: Families, number: int) -> Families:
        """Where a start begins: as given, from the complete rows, or at random."""
        if self.begin is not None and number == 0:
            begin = like(families, Families.of(self.begin))
            return replace(begin, distributions={**begin.distributions, **self._kept(families)})
        if not self.plan.hidden and number == 0:
            return self._from_statistics(task, families, self.seen)
        panel = self.plan.panel
        rows = panel.rows
        if not self.plan.hidden:
            chosen = self.rng.integers(0, panel.n_sequences, panel.n_sequences)
            weights = np.bincount(chosen, minlength=panel.n_sequences)[panel.sequence_codes]
            base = weights if rows.weights is None else weights * rows.weights
            drawn = replace(panel, rows=replace(rows, weights=base.astype(float)))
            return self._from_statistics(task, families, self.plan.statistics(drawn))
        if not families.regressions:
            return self._random_tables(families)
        named = labelled(rows, self.plan.hidden, self.rng)
        named = in_units(named, units_of(self.plan), self.plan.hidden, is_centered=number % 2 == 0)
        again = self.plan.statistics(replace(panel, rows=named))
        return self._from_statistics(task, families, again, is_random=True)

    def _kept(self, families: Families) -> dict[str, Distribution]:
        return {key: families.distributions[key] for key in self.plan.kept}

    def _from_statistics(
        self, task: FitTask, families: Families, seen: Statistics, *, is_random: bool = False
    ) -> Families:
        found = dict(task.estimated(seen))
        for key, local in found.items():
            if isinstance(local, Categorical) and key not in self.plan.tables:
                found[key] = local.with_parameters(smoothed(local.table))
        if is_random:
            found = {key: self._sticky(key, local) for key, local in found.items()}
        return replace(families, distributions={**families.distributions, **found})

    def _random_tables(self, families: Families) -> Families:
        """Random tables: of recorded nodes around their shares, of hidden ones near even ones."""
        found = dict(families.distributions)
        rows, hidden = self.plan.panel.rows, self.plan.hidden
        for key, local in families.tables.items():
            if key in self.plan.kept:
                continue
            name = key if key in rows.variables else key.rsplit("(", 1)[0]
            if name in hidden:
                cells = self.rng.gamma(5.0, size=local.table.shape)
            else:
                column = rows.column(name)
                shares = np.bincount(column[column >= 0], minlength=local.child.n_states) + 1.0
                cells = shares * self.rng.exponential(size=local.table.shape)
            table = cells / cells.sum(axis=-1, keepdims=True)
            found[key] = self._sticky(key, local.with_parameters(table))
        return replace(families, distributions=found)

    def _sticky(self, key: str, local: Distribution) -> Distribution:
        """A table of a hidden node that rather stays in its last state."""
        own = lagged(key, 1)
        if key not in self.plan.hidden or key in self.plan.tables or own not in local.parents:
            return local
        if not isinstance(local, Categorical):
            return local
        axis = local.parents.index(own)
        table = np.moveaxis(local.table.copy(), axis, -2)
        r = local.child.n_states
        table = table + STICKINESS * np.eye(r) * table.mean()
        table = table / table.sum(axis=-1, keepdims=True)
        return local.with_parameters(np.moveaxis(table, -2, axis))


def _on_levels(levels: Sequence[str], plan: FitPlan) -> list[str]:
    """What is not determined about hidden continuous nodes."""
    if not levels:
        return []
    note = f"Hidden and continuous: {_check.listed(levels)}. "
    if plan.known:
        told = note + f"Known in part, and not estimated: {_check.listed(plan.known)}."
        return [told, *_on_narrow_laws(levels, plan)]
    return [
        note + "Nothing says their zero, unit and sign, nor, of several, which combinations they "
        "are: compare models by likelihood and forecasts, not by coefficients; known= fixes them."
    ]


def _on_narrow_laws(levels: Sequence[str], plan: FitPlan) -> list[str]:
    """Hidden nodes whose diffuse first law is narrow beside where their children say they lie."""
    units = units_of(plan)
    found = []
    for name in levels:
        law, (center, unit) = plan.fixed.get(at(name, 0)), units[name]
        if not isinstance(law, LinearGaussian) or law.parents:
            continue
        away = abs(center - float(law.intercept))
        if max(away, unit) > float(law.sd):
            found.append(
                f"The first law of {name!r} has the sd {float(law.sd):.3g}, but what it tells lies "
                f"{max(away, unit):.3g} away: it is not diffuse. Say a larger variance, "
                "initial=cs.dynamic.Diffuse(variance=...)."
            )
    return found


def _is_other(initial: Initial | None) -> bool:
    """Whether the network that is returned is not the one that was climbed to."""
    return isinstance(initial, Stationary)


def _refuse_mixed(pair: tuple[str, str] | None) -> None:
    """Refuse a continuous variable with gaps beside a discrete one, which EM has no step for."""
    if pair is not None:
        raise TooDearError(
            f"fit: {pair[0]!r} is hidden or missing in some rows and depends on {pair[1]!r}, which "
            "is not known either. EM needs exact sums over all paths of states, as many as states "
            f"to the power of the steps. Make {pair[0]!r} discrete (discretize it, or hidden="
            f"{{{pair[0]!r}: 3}}), record {pair[1]!r}, or take the arc between them away. A "
            "network whose numbers are known, cs.dynamic.DynamicNetwork(...), is answered with "
            "by=cs.dynamic.Collapse(...).",
            variable=pair[0],
        )
