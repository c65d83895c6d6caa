r"""Shrinkage of each row towards a target by an amount that the data choose (James and Stein).

.. math::
    \hat\theta = \lambda\, t + (1 - \lambda)\, \hat\theta^{ML}, \qquad
    \lambda = \frac{1 - \sum_k (\hat\theta^{ML}_k)^2}{(n - 1) \sum_k (t_k - \hat\theta^{ML}_k)^2}

clipped to [0, 1]; with at most one row, or where the row equals its target, :math:`\lambda = 1`.

Regressions are those of a shrunk covariance: in each joint state the correlations :math:`r_{ab}` of
the child and its continuous parents are shrunk towards zero, the variances stay,

.. math::
    r^*_{ab} = (1 - \lambda)\, r_{ab}, \qquad
    \lambda = \frac{\sum_{a < b} (1 - r_{ab}^2)^2 / (n - 1)}{\sum_{a < b} r_{ab}^2},

clipped likewise; the variance of a correlation is that of normal variables. A slope that is shrunk
takes less than a degree of freedom: with p coefficients the residual variance of n rows is that of
the shrunk moments divided by :math:`n - 1 - (1 - \lambda)(p - 1)`.

References
----------
J. Hausser, K. Strimmer (2009). Entropy inference and the James-Stein estimator. JMLR 10.
J. Schaefer, K. Strimmer (2005). A shrinkage approach to large-scale covariance matrix estimation
and implications for functional genomics. Statistical Applications in Genetics and Molecular
Biology 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience._typing import Floats
from consilience.distributions.categorical import Categorical, proportions
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.parameters.few_rows import has_few_rows, notes_on_regressions, regression_of
from consilience.parameters.maximum_likelihood import pooled_rows, shaped
from consilience.statistics.counts import Counts
from consilience.statistics.moments import Moments

__all__ = ["Shrinkage"]


@dataclass(frozen=True, slots=True)
class Shrinkage:
    r"""Each row, and the correlations behind each regression, shrunk towards a target, pooled over
    the sources; it has no posterior.

    A state that no row shows keeps the probability zero where a parent state's rows are all alike,
    since :math:`\lambda` is zero there, or where the target has none (``to_margin``). So the loss
    on new rows may be infinite; the record says which families have such zeros. Use ``HDC()``
    where new rows matter.

    Parameters
    ----------
    to_margin
        Shrink towards the child's distribution over all parent states rather than towards the
        uniform one.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"dose": [0.5, 1.5, 2.5, 3.5], "effect": [1.5, 2.5, 6.5, 5.5]})
    >>> dag = cs.DAG([("dose", "effect")])
    >>> [round(float(cs.fit(dag, rows, one)["effect"].coefficients[0]), 3)
    ...  for one in (cs.MLE(), cs.estimators.Shrinkage())]
    [1.6, 1.557]
    """

    to_margin: bool = False
    by_source: ClassVar[bool] = False

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family."""
        return [shaped(counts, self._rows(pooled_rows(counts))) for counts in families]

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family with a continuous child."""
        return [_regression(moments.pooled()) for moments in families]

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions."""
        return notes_on_regressions(families)

    def _rows(self, rows: Floats) -> Floats:
        n = rows.sum(axis=1, keepdims=True)
        margin = rows.sum(axis=0, keepdims=True) if self.to_margin else np.zeros((1, rows.shape[1]))
        target = proportions(margin)
        likeliest = proportions(rows)
        spread = 1 - (likeliest**2).sum(axis=1, keepdims=True)
        distance = (n - 1) * ((target - likeliest) ** 2).sum(axis=1, keepdims=True)
        share = np.divide(spread, distance, out=np.ones_like(spread), where=distance > 0)
        share = np.where(n <= 1, 1.0, np.clip(share, 0.0, 1.0))
        return share * target + (1 - share) * likeliest


def _regression(moments: Moments) -> LinearGaussian:
    """Least squares on the shrunk moments, with the degrees of freedom that shrinkage leaves."""
    shrunk, share = _shrunk(moments)
    found = regression_of(shrunk, unbiased=True)
    n, p = moments.weight[0], len(moments.names)
    left = np.where(has_few_rows(shrunk)[0], 1.0, n - p)
    more = np.where(has_few_rows(shrunk)[0], 0.0, share[0] * (p - 1))
    sd = found.sd * np.sqrt(left / (left + more)).reshape(found.sd.shape)
    return LinearGaussian(found.child, found.given, found.intercept, found.coefficients, sd)


def _shrunk(moments: Moments) -> tuple[Moments, Floats]:
    """The moments with correlations shrunk towards zero in each group, and by how much."""
    sd = np.sqrt(np.diagonal(moments.scatter, axis1=-2, axis2=-1))
    scale = sd[..., :, None] * sd[..., None, :]
    r = np.divide(moments.scatter, scale, out=np.zeros_like(scale), where=scale > 0)
    first, second = np.triu_indices(r.shape[-1], 1)
    pairs = r[..., first, second] ** 2
    n = np.maximum(moments.weight - 1, 1.0)
    spread, size = ((1 - pairs) ** 2).sum(axis=-1) / n, pairs.sum(axis=-1)
    share = np.clip(np.divide(spread, size, out=np.zeros_like(size), where=size > 0), 0.0, 1.0)
    is_own = np.eye(r.shape[-1], dtype=bool)
    scatter = np.where(is_own, moments.scatter, (1 - share)[..., None, None] * moments.scatter)
    arrays = [moments.weight, moments.mean, scatter]
    every = moments.over(arrays, moments.n_rows, source=moments.source, given=moments.given)
    return every, share
