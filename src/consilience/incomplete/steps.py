r"""The M-step: from expected counts to parameters, as vectors or by any estimator.

Maximum likelihood, in all rows together or in each source, takes :math:`N_{jk} / N_j`; a Dirichlet
prior of :math:`a_{jk}` takes

.. math:: \theta_{jk} = \frac{a_{jk} + N_{jk}}{\sum_k a_{jk} + N_j},

the posterior mean, which is the maximum of :math:`\log L + \sum_{jk} a_{jk} \log \theta_{jk}`. That
sum, and not the density of the Dirichlet, is what never falls.

The other estimators maximize no such objective. For them EM climbs with a Dirichlet prior of one
row for each parent state (and source) around what the complete rows of all sources say of it,

.. math:: a_{fjk} = \frac{N_{jk} + m_k}{N_j + 1}, \qquad m_k = \frac{N_k + 1/r}{N + 1},

(:class:`Around`) and goes on from there with the estimator until the parameters rest. A chain is
fitted once, to the expected counts that the climb ends with; in the rounds after that its strengths
are held (:func:`held`), unless it keeps the sources apart. Hierarchical regressions are treated
alike: EM climbs with sources drawn to each other by a fixed prior
(``parameters/drawn_together.py``), and in the rounds the spreads of the sources are held.

Regressions by least squares maximize the likelihood, but for joint states with too few rows, or
without spread, where it has no bound. They are tied to the others by rows like the average one of
the statistics in which they were first seen to be such (``parameters/few_rows.py``), and stay tied
by them: that adds :math:`-\kappa\,D(\bar M \| \theta_j) \le 0` to the objective of each, with
:math:`\kappa = p + 1` and D what :math:`\theta_j` lacks, for a row, of the log-likelihood of the
best regression of all joint states. A climb in which a joint state becomes such is begun anew from
there with that state tied (:class:`MoreTies`), so that each climb has one objective.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience._typing import Bools, Floats
from consilience.distributions import Categorical, LinearGaussian
from consilience.incomplete.hidden_scale import standardized
from consilience.incomplete.space import HasFamilies, Space
from consilience.inference.cases import Expected
from consilience.inference.layout import Layout
from consilience.parameters.chain import HDC, HeldChain
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.drawn_together import DrawnTogether
from consilience.parameters.estimator import is_apart, is_for_new_sources
from consilience.parameters.few_rows import (
    TiedStates,
    average_rows,
    has_few_rows,
    highest_log_likelihood,
)
from consilience.parameters.fit_record import Statistics
from consilience.parameters.fitting import FitTask
from consilience.parameters.hierarchical_gaussian import HeldGaussian, HierarchicalGaussian
from consilience.parameters.known_numbers import WithKnown
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import Pooled, innermost
from consilience.parameters.regression import log_likelihood_of
from consilience.parameters.source_node import by_source_table, source_node
from consilience.statistics.counts import FIXED_POINT, Counts, check_total
from consilience.statistics.moments import Moments

__all__ = [
    "Around",
    "MoreTies",
    "Step",
    "as_counts",
    "climbing",
    "drawn_together",
    "held",
    "is_conjugate",
]


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """Posterior means under Dirichlet priors that are given as counts, in the shape of each table.

    It keeps sources apart, and has one never seen, as the estimator does whose place it takes.
    """

    prior: Mapping[str, Floats]
    by_source: bool
    adds_new_source: bool

    @classmethod
    def of(cls, estimator: Any, seen: Sequence[Counts]) -> Around:
        """One row for each parent state and source around the complete rows of all sources."""
        has_new = is_for_new_sources(estimator)
        prior = {}
        for counts in seen:
            n_sources = 0 if counts.source is None else counts.source.n_states + has_new
            prior[counts.child.name] = _one_row(counts, n_sources)
        return cls(prior, is_apart(estimator), has_new)

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family."""
        return [self._table(counts) for counts in families]

    def _table(self, counts: Counts) -> Categorical:
        prior = self.prior[counts.child.name]
        values = counts.to_dense().values.reshape(-1, *prior.shape[counts.source is not None :])
        cells = prior.copy()
        if counts.source is None:
            cells += values[0]
            source = None
        else:
            cells[: len(values)] += values
            source = source_node(counts) if self.adds_new_source else counts.source
        table = cells / cells.sum(axis=-1, keepdims=True)
        return by_source_table(counts, source, table)


class MoreTies(Exception):  # noqa: N818 -- not an error: it asks for another step
    """Joint states that a step finds to have too few rows, or no spread: those and the tied ones.

    ``needed`` says which by child, in the shape of the weights; ``expected`` are the statistics.
    """

    def __init__(self, needed: Mapping[str, Bools], expected: Expected) -> None:
        super().__init__("joint states with too few rows")
        self.needed, self.expected = needed, expected


class Step:
    """The M-step: from expected statistics to the vector of parameters.

    Tables under a conjugate prior are done on vectors; all others, and regressions, by the
    estimators of the task. Families that are fixed, such as the source, stay as they are; hidden
    continuous nodes that are ``scaled``, parents first, get their zero, unit and sign. ``joined``
    has the rows that tied joint states are joined by; with hidden continuous nodes or numbers that
    are known, none is.
    """

    def __init__(
        self,
        task: FitTask,
        net: HasFamilies,
        space: Space,
        seen: Statistics,
        *,
        fixed: Collection[str] = (),
        scaled: Sequence[str] = (),
        joined: Mapping[str, Moments] | None = None,
    ) -> None:
        self._scaled = scaled
        self._task, self._space, self._seen = task, space, seen
        self._net, self._names = net, fixed
        self.joined = joined or {}
        self._fixed = {n: one for n, one in net.regressions.items() if n in fixed}
        self._start = space.layout.flatten({name: one.table for name, one in net.tables.items()})
        self._tables = self._conjugate(fixed) if is_conjugate(task.chosen.get("table")) else None
        regression = task.chosen.get("regression")
        is_least_squares = isinstance(innermost(regression), MLE)
        self._can_tie = is_least_squares and not (scaled or isinstance(regression, WithKnown))
        self._highest = sum(map(highest_log_likelihood, self.joined.values()))
        self._drawn = regression if isinstance(regression, DrawnTogether) else None
        has_regressions_law = is_least_squares or self._drawn or not seen.moments
        has_law = self._tables is not None and has_regressions_law
        self.log_prior = self._log_prior if has_law else None

    def maximize(self, expected: Expected) -> Floats:
        """The parameters that the statistics ask for."""
        if self._tables is not None:
            theta = self._tables.maximize(expected.counts)
        else:
            theta = self._estimated(expected.counts)
        regressions = dict(self._fixed)
        if self._seen.moments:
            regressions |= self._regressions(expected)
            if self._scaled:
                regressions = standardized(regressions, self._scaled)
            self._space.refuse_collapse(regressions)
        return self._space.vector(theta, regressions)

    def tied(self, more: MoreTies) -> Step:
        """The step in which these joint states are tied too, by rows like the average one there."""
        moments = {one.names[-1]: one for one in self.moments(more.expected)}
        new = {name: average_rows(moments[name], is_tied) for name, is_tied in more.needed.items()}
        return Step(
            self._task,
            self._net,
            self._space,
            self._seen,
            fixed=self._names,
            scaled=self._scaled,
            joined={**self.joined, **new},
        )

    def last(self, task: FitTask) -> FitTask:
        """The task with an estimator of regressions that keeps the ties."""
        chosen = task.chosen.get("regression")
        if isinstance(chosen, HeldGaussian):
            at_rest = replace(chosen, is_at_rest=True)
            return replace(task, chosen={**task.chosen, "regression": at_rest})
        if not self._can_tie:
            return task
        moments = [one for one in self._seen.moments if one.names[-1] not in self.joined]
        none = {
            one.names[-1]: average_rows(one, np.zeros(one.weight.shape, bool)) for one in moments
        }
        inner = innermost(chosen)
        joined = {**none, **self.joined}
        tied = TiedStates(repr(chosen), joined, inner.unbiased, inner.lent, is_apart(chosen))
        return replace(task, chosen={**task.chosen, "regression": tied})

    def _regressions(self, expected: Expected) -> dict[str, LinearGaussian]:
        """Regressions at the maximum; least squares only with ties that bound its likelihood."""
        moments = {one.names[-1]: one for one in self.moments(expected)}
        joined = {
            name: one.merge(self.joined[name]) if name in self.joined else one
            for name, one in moments.items()
        }
        estimated = self._task.chosen["regression"].regress(list(joined.values()))
        found = {one.child.name: one for one in estimated}
        if self._can_tie:
            needed = {}
            for name, one in joined.items():
                collapsed = self._space.is_collapsed(name, found[name]).reshape(one.weight.shape)
                is_tied = self._is_tied(name, one)
                if ((has_few_rows(one) | collapsed) & ~is_tied).any():
                    needed[name] = has_few_rows(one) | collapsed | is_tied
            if needed:
                raise MoreTies(needed, expected)
        return found

    def _is_tied(self, name: str, moments: Moments) -> Bools:
        if name not in self.joined:
            return np.zeros(moments.weight.shape, bool)
        return np.asarray(self.joined[name].weight > 0)

    def statistics(self, expected: Expected) -> Statistics:
        """Expected statistics in the order of those of the rows."""
        tables = self._space.layout.split(expected.counts)
        return Statistics(as_counts(self._seen.counts, tables), self.moments(expected))

    def moments(self, expected: Expected) -> list[Moments]:
        """Expected moments in the order of those of the rows."""
        return [expected.moments[one.names[-1]] for one in self._seen.moments]

    def _estimated(self, counts: Floats) -> Floats:
        layout = self._space.layout
        families = as_counts(self._seen.counts, layout.split(counts))
        found = self._task.chosen["table"].estimate(families) if families else []
        tables = {**layout.split(self._start), **{one.child.name: one.table for one in found}}
        return layout.flatten(tables)

    def _conjugate(self, fixed: Collection[str]) -> Conjugate:
        layout, estimator = self._space.layout, self._task.chosen.get("table")
        prior = {name: np.zeros(shape) for name, shape in layout.shapes.items()}
        prior |= {one.child.name: _prior(estimator, one) for one in self._seen.counts}
        stays = {name: np.full(shape, name in fixed) for name, shape in layout.shapes.items()}
        return Conjugate(layout, layout.flatten(prior), self._start, layout.flatten(stays) > 0)

    def _log_prior(self, vector: Floats) -> float:
        tables = self._tables
        of_tables = 0.0 if tables is None else tables.log_prior(vector[: self._space.n_cells])
        if not self.joined and self._drawn is None:
            return of_tables
        _, regressions = self._space.split(vector)
        if self._drawn is not None:
            return of_tables + self._drawn.log_prior(regressions)
        reached = sum(
            log_likelihood_of(regressions[name], one) for name, one in self.joined.items()
        )
        return of_tables + reached - self._highest


class Conjugate:
    """Maximum likelihood, or a Dirichlet prior, on vectors; ``prior`` is a vector of counts.

    The cells that are ``fixed`` stay as they are.
    """

    def __init__(self, layout: Layout, prior: Floats, start: Floats, fixed: Bools) -> None:
        self._layout, self._prior, self._start = layout, prior, start
        self._is_fixed = fixed
        self._uniform = 1.0 / layout.row_sums(np.ones_like(prior))

    def maximize(self, counts: Floats) -> Floats:
        """The parameters at the maximum; a row without counts and prior is uniform."""
        cells = counts + self._prior
        total = self._layout.row_sums(cells)
        theta = np.divide(cells, total, out=self._uniform.copy(), where=total > 0)
        return np.where(self._is_fixed, self._start, theta)

    def log_prior(self, theta: Floats) -> float:
        """What the prior adds to the objective."""
        has_prior = (self._prior > 0) & ~self._is_fixed
        return float(self._prior[has_prior] @ np.log(theta[has_prior]))


def is_conjugate(estimator: Any) -> bool:
    """Whether steps with this estimator of tables maximize an objective."""
    return isinstance(innermost(estimator), MLE | Dirichlet | Around | None)


def climbing(task: FitTask, seen: Sequence[Counts]) -> FitTask:
    """The task with an estimator of tables whose steps maximize an objective."""
    tables = task.chosen.get("table")
    if is_conjugate(tables):
        return task
    return replace(task, chosen={**task.chosen, "table": Around.of(tables, seen)})


def drawn_together(task: FitTask, expected: Sequence[Moments]) -> FitTask:
    """The task with hierarchical regressions replaced by ones whose steps maximize an objective."""
    return replace(task, chosen={**task.chosen, "regression": DrawnTogether.of(expected)})


def held(task: FitTask, expected: Statistics) -> FitTask:
    """The task with what estimators learn of all families, such as strengths, as these statistics
    say, and held from now on.
    """
    chosen = {kind: _held(one, expected) for kind, one in task.chosen.items()}
    return replace(task, chosen=chosen)


def _held(estimator: Any, expected: Statistics) -> Any:
    if isinstance(estimator, HDC):
        return HeldChain.of(estimator, expected.counts)
    if isinstance(estimator, HierarchicalGaussian):
        return HeldGaussian.of(estimator, expected.moments)
    if not isinstance(innermost(estimator), HDC):
        return estimator
    if isinstance(estimator, WithKnown):
        return replace(estimator, estimator=_held(estimator.estimator, expected))
    if isinstance(estimator, Pooled):
        counts = [counts.pooled() for counts in expected.counts]
        return Pooled(_held(estimator.estimator, Statistics(counts)))
    return estimator


def _prior(estimator: Any, counts: Counts) -> Floats:
    """Prior counts of a family in the shape of its table; of a Dirichlet the same by source."""
    if isinstance(estimator, Around):
        return estimator.prior[counts.child.name]
    shape = tuple(variable.n_states for variable in (*counts.given, counts.child))
    inner = innermost(estimator)
    prior = inner.prior(counts.pooled()) if isinstance(inner, Dirichlet) else np.zeros(shape)
    if counts.source is None:
        return np.asarray(prior)
    return np.repeat(prior[None], counts.source.n_states, axis=0)


def _one_row(counts: Counts, n_sources: int) -> Floats:
    """A row of pseudo-counts for each parent state around the counts of all sources; repeated for
    so many sources, or none.
    """
    r = counts.child.n_states
    rows = counts.pooled().to_dense().values.reshape(-1, r)
    margin = (rows.sum(axis=0) + 1.0 / r) / (rows.sum() + 1.0)
    base = (rows + margin) / (rows.sum(axis=1, keepdims=True) + 1.0)
    base = base.reshape([variable.n_states for variable in (*counts.given, counts.child)])
    return np.repeat(base[None], n_sources, axis=0) if n_sources else base


def as_counts(seen: Sequence[Counts], tables: dict[str, Floats]) -> list[Counts]:
    """Expected counts as counts of the same families; whole numbers stay whole.

    Where the source is the first axis of a table, its state for new sources is left out.
    """
    answer = []
    for counts in seen:
        n_sources, r = counts.table.shape[0], counts.child.n_states
        if counts.source is None:
            values = tables[counts.child.name].reshape(1, -1, r)
        else:
            table = tables[counts.child.name]
            values = table.reshape(table.shape[0], -1, r)[:n_sources]
        is_whole = bool(np.all(values == np.floor(values))) and counts.scale == 1
        scale = 1 if is_whole else FIXED_POINT
        n_rows = counts.n_rows * (scale // counts.scale)
        check_total(float(n_rows.sum()))
        whole = np.rint(values * scale).astype(np.int64)
        answer.append(Counts(counts.child, counts.given, counts.source, whole, n_rows, scale))
    return answer
