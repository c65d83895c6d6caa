r"""The M-step: from expected counts to parameters, as vectors or by any estimator.

Maximum likelihood, in all rows together or in each source, takes :math:`N_{jk} / N_j`; a Dirichlet
prior of :math:`a_{jk}` takes

.. math:: \theta_{jk} = \frac{a_{jk} + N_{jk}}{\sum_k a_{jk} + N_j},

the posterior mean, which is the maximum of :math:`\log L + \sum_{jk} a_{jk} \log \theta_{jk}`. That
sum, and not the density of the Dirichlet, is what never falls. The other estimators are asked as
they are; they maximize no such objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience._typing import Bools, Floats
from consilience.inference.layout import Layout
from consilience.network.network import Network
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.fitting import FitTask
from consilience.parameters.maximum_likelihood import MLE
from consilience.parameters.pooling import Pooled, Separate
from consilience.parameters.story import Statistics
from consilience.statistics.counts import FIXED_POINT, Counts, check_total
from consilience.statistics.moments import Moments

__all__ = ["Conjugate", "Estimated", "MixedStep", "as_counts", "step_of", "unwrapped"]


class Conjugate:
    """Maximum likelihood, or a Dirichlet prior, on vectors; ``prior`` is a vector of counts.

    The tables of the nodes in ``fixed`` stay as they are.
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


class Estimated:
    """Any estimator: counts of all families at once, and the tables that it makes of them."""

    log_prior = None

    def __init__(
        self, task: FitTask, layout: Layout, seen: Sequence[Counts], start: Floats
    ) -> None:
        self._task, self._layout, self._seen, self._start = task, layout, seen, start

    def maximize(self, counts: Floats) -> Floats:
        """The tables of the estimator; that of the source stays as it is."""
        families = as_counts(self._seen, self._layout.split(counts))
        tables = {
            local.child.name: local.table for local in self._task.chosen["table"].estimate(families)
        }
        start = self._layout.split(self._start)
        return self._layout.flatten({name: tables.get(name, start[name]) for name in start})


class MixedStep:
    """The M-step of a network with continuous nodes, by the estimators of a task."""

    def __init__(self, task: FitTask, seen: Statistics) -> None:
        self._task, self._seen = task, seen
        self.apart = [one.names[-1] for one in seen.moments if one.source is not None]
        regressor, tables = map(unwrapped, (task.chosen.get(k) for k in ("regression", "table")))
        has_law = isinstance(regressor, MLE) and isinstance(tables, MLE | Dirichlet | None)
        self.log_prior = self._log_prior if has_law else None

    def maximize(self, counts: dict[str, Floats], moments: dict[str, Moments]) -> Network:
        """The network that the statistics ask for."""
        return self._task.plain_network(self.statistics(counts, moments))

    def statistics(self, counts: dict[str, Floats], moments: dict[str, Moments]) -> Statistics:
        """Expected statistics in the order of those of the rows."""
        return Statistics(
            as_counts(self._seen.counts, counts),
            [moments[one.names[-1]] for one in self._seen.moments],
        )

    def _log_prior(self, net: Network) -> float:
        total = 0.0
        for counts in self._seen.counts:
            prior = _prior(self._task.chosen["table"], counts)
            table = net.tables[counts.child.name].table
            total += float(prior[prior > 0] @ np.log(table[prior > 0]))
        return total


def step_of(
    task: FitTask, net: Network, layout: Layout, seen: Sequence[Counts], start: Floats
) -> Conjugate | Estimated:
    """The M-step of the task's estimator of tables."""
    estimator = task.chosen["table"]
    if not isinstance(unwrapped(estimator), MLE | Dirichlet):
        return Estimated(task, layout, seen, start)
    prior = {name: np.zeros(shape) for name, shape in layout.shapes.items()}
    prior.update({counts.child.name: _prior(estimator, counts) for counts in seen})
    fixed = {name: np.full(shape, name == net.source) for name, shape in layout.shapes.items()}
    return Conjugate(layout, layout.flatten(prior), start, layout.flatten(fixed) > 0)


def unwrapped(estimator: Any) -> Any:
    """What Pooled and Separate wrap: their step is that of the estimator within."""
    while isinstance(estimator, Pooled | Separate):
        estimator = estimator.estimator
    return estimator


def _prior(estimator: Any, counts: Counts) -> Floats:
    """Prior counts of a family in the shape of its table, the same for every source."""
    shape = tuple(variable.n_states for variable in (*counts.given, counts.child))
    inner = unwrapped(estimator)
    prior = inner.prior(counts.pooled()) if isinstance(inner, Dirichlet) else np.zeros(shape)
    if counts.source is None:
        return np.asarray(prior)
    return np.repeat(prior[None], counts.source.n_states, axis=0)


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
