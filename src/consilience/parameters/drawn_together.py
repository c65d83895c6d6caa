r"""Regressions of many sources drawn to each other by a fixed amount, which have an objective.

Hierarchical regressions learn from the data how far sources differ (``hierarchical_gaussian.py``),
so that a step of EM with them maximizes nothing. EM climbs with these in their place. The
coefficients of source :math:`f` in joint state :math:`j`, on parents standardized by fixed centers
and units, have a prior that is worth one row, around a common mean; the rows of each joint state
are joined by p + 1 rows like the average of all of them (``few_rows.py``), also by source. With
the residual sum of squares :math:`S_{fj}(b)` of the rows with those that join them, the step takes
the highest point of

.. math:: -\sum_j \Bigl[\frac{n_j}{2} \log \sigma_j^2 + \frac{1}{2 \sigma_j^2} \sum_f \bigl(
    S_{fj}(b_{fj}) + \|b_{fj} - \mu_j\|^2\bigr)\Bigr]

in all :math:`b`, :math:`\mu` and :math:`\sigma`. A source never seen has :math:`b = \mu`. Since
centers, units and joining rows stay, this is one objective, and a joint state without rows, or with
one value of the child, needs no rule of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.distributions.normal_inverse_gamma import unstandardized
from consilience.parameters.few_rows import average_rows
from consilience.parameters.hierarchical_gaussian import equations_of
from consilience.parameters.regression import linear_gaussian, log_likelihood_of
from consilience.parameters.source_node import with_new_source
from consilience.parameters.standardized import Standardized, standardized
from consilience.parameters.tied import tied_by
from consilience.statistics.moments import Moments

__all__ = ["DrawnTogether"]

SPREAD = 1.0
"""Variance of the coefficients between sources, in units of the residual variance."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTogether:
    """Regressions of the sources with a prior that keeps them near each other.

    Parameters
    ----------
    scales
        Centers and units of each family by child.
    joined
        The rows that its joint states are joined by.
    """

    scales: Mapping[str, Standardized]
    joined: Mapping[str, Moments]
    by_source: ClassVar[bool] = True
    adds_new_source: ClassVar[bool] = True

    @classmethod
    def of(cls, families: Sequence[Moments]) -> DrawnTogether:
        """Scales and joining rows as these moments have them."""
        scales = {one.names[-1]: standardized(one) for one in families}
        return cls(scales, {one.names[-1]: _average(one) for one in families})

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family, the source its first parent."""
        return [self._regression(moments) for moments in families]

    def log_prior(self, regressions: Mapping[str, LinearGaussian]) -> float:
        """What prior and joining rows add to the log-likelihood."""
        return sum(self._log_prior(name, regressions[name]) for name in self.joined)

    def _regression(self, moments: Moments) -> LinearGaussian:
        child = moments.names[-1]
        scale, rows = self.scales[child], moments.merge(self.joined[child])
        equations, first = equations_of(rows, scale)
        tied = tied_by(equations, np.full(len(rows.names), SPREAD))
        mean, sd = tied.mean, np.sqrt(tied.residual / rows.weight.sum(axis=0))
        source = None
        if rows.source is not None:
            source = with_new_source(rows.source)
            mean = np.concatenate([mean, tied.common[None]])
        coefficients = unstandardized(mean + first, scale.center, scale.unit)
        every_sd = np.broadcast_to(sd, coefficients.shape[:2])
        return linear_gaussian(rows, source, coefficients, every_sd)

    def _log_prior(self, name: str, local: LinearGaussian) -> float:
        rows, scale = self.joined[name], self.scales[name]
        seen = _of_sources(local, rows)
        groups = rows.weight.shape
        slopes = seen.coefficients.reshape(*groups, len(rows.names) - 1)
        intercept = seen.intercept.reshape(groups) + slopes @ scale.center
        b = np.concatenate([intercept[..., None], slopes * scale.unit], axis=-1)
        apart = ((b - b.mean(axis=0)) ** 2).sum(axis=-1) / (SPREAD * seen.sd.reshape(groups) ** 2)
        return log_likelihood_of(seen, rows) - 0.5 * float(apart.sum())


def _average(moments: Moments) -> Moments:
    """Rows like the average one for each joint state, p + 1 of them, each source with its share."""
    of_sources = average_rows(moments, np.ones(moments.weight.shape, dtype=bool))
    weight = moments.weight.sum(axis=1, keepdims=True)
    share = weight / weight.sum()
    counted, mean, scatter = of_sources.arrays
    arrays = [counted * share, mean, scatter * share[..., None, None]]
    return of_sources.over(
        arrays, of_sources.n_rows, source=of_sources.source, given=of_sources.given
    )


def _of_sources(local: LinearGaussian, rows: Moments) -> LinearGaussian:
    """The regressions without those of a source never seen."""
    if rows.source is None:
        return local
    n = rows.source.n_states
    given = (rows.source, *local.given[1:])
    return LinearGaussian(
        local.child, given, local.intercept[:n], local.coefficients[:n], local.sd[:n]
    )
