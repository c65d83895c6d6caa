r"""Whether the sources agree about a family: Cochran's Q and its kin.

*Regressions of rows.* With the products :math:`X_f^\top X_f` of each source, its coefficients
:math:`\hat\beta_f` and those of all rows together, :math:`\hat\beta`,

.. math:: Q = \frac{1}{\hat\sigma^2} \sum_f (\hat\beta_f - \hat\beta)^\top X_f^\top X_f
    (\hat\beta_f - \hat\beta), \qquad
    \hat\sigma^2 = \frac{\sum_f \mathrm{RSS}_f}{\sum_f (n_f - p)} ,

summed over the joint states of the discrete parents; :math:`Q / d` is an F statistic with
:math:`d = \sum_f \operatorname{rank} X_f - \operatorname{rank} X` and :math:`\sum_f (n_f - p)`
degrees of freedom (the test of Chow for many groups; exact for equal residual variances).

*Tables.* Pearson's statistic of homogeneity of the counts of the sources in every parent state,

.. math:: Q = \sum_{fjk} \frac{(N_{fjk} - N_{fj} m_{jk})^2}{N_{fj} m_{jk}}, \qquad
    m_{jk} = \frac{\sum_f N_{fjk}}{\sum_f N_{fj}} ,

against chi-squared. A finished network counts with the size of its posterior.

*Regressions of finished networks.* Q with the inverse covariances of their posteriors in place of
the products, against chi-squared.

The share of Q beyond what chance gives is :math:`I^2 = \max(0, 1 - d / Q)`. Where sources differ,
the pooled coefficients describe an average source, and their intervals, which take the sources to
be alike, are too narrow.

References
----------
W. Cochran (1954). The combination of estimates from different experiments. Biometrics 10.
G. Chow (1960). Tests of equality between sets of coefficients in two linear regressions.
Econometrica 28.
J. Higgins, S. Thompson (2002). Quantifying heterogeneity in a meta-analysis. Statistics in Medicine
21.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc

from consilience._typing import Floats
from consilience.distributions import Categorical, LinearGaussian
from consilience.fusion.coefficient_pooling import between_sources, stacked_lines
from consilience.fusion.family_answers import Lines, Opinion

__all__ = ["Heterogeneity", "heterogeneity_of", "note_on", "of_counts", "of_lines"]

LEVEL = 0.01
"""Of the test that all families together are alike, below which a note is made."""


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """How far the sources differ about one family.

    Attributes
    ----------
    statistic
        Q, the weighted square of what the sources are apart.
    freedom
        What Q is on average where they are alike.
    p_value
        Probability of a Q as large where they are alike.

    Examples
    --------
    >>> round(Heterogeneity(20.0, 5.0, 0.00125).i_squared, 2)
    0.75
    """

    statistic: float
    freedom: float
    p_value: float

    @property
    def i_squared(self) -> float:
        """Share of the statistic that is beyond chance, between 0 and 1."""
        return max(0.0, 1 - self.freedom / self.statistic) if self.statistic > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"Q {self.statistic:.4g} with {self.freedom:.4g} degrees of freedom, "
            f"p {self.p_value:.2g}, I2 {self.i_squared:.0%}"
        )


def heterogeneity_of(opinions: Sequence[Opinion]) -> Heterogeneity | None:
    """How far the sources differ about a family; None if nothing tells it.

    Examples
    --------
    >>> from consilience.data.variable import Variable
    >>> ill = Variable("ill", ("no", "yes"))
    >>> said = [Opinion(f"{n}", Categorical(ill, (), [0.5, 0.5]), np.ones(1, bool), None,
    ...         np.array([[40.0 - n, n]])) for n in (10, 30)]
    >>> print(heterogeneity_of(said))
    Q 20 with 1 degrees of freedom, p 7.7e-06, I2 95%
    """
    if len(opinions) < 2:
        return None
    lines = stacked_lines(opinions)
    if lines is not None:
        return of_lines(lines)
    if isinstance(opinions[0].distribution, Categorical):
        counts = [_counts(opinion) for opinion in opinions]
        known = [each for each in counts if each is not None]
        return of_counts(np.stack(known)) if len(known) == len(opinions) else None
    return _of_posteriors(opinions)


def of_lines(lines: Lines) -> Heterogeneity | None:
    """The statistic of regressions from the rows of the sources."""
    between, within, ranks, left = between_sources(lines)
    is_told = (left > 0) & (within > 0)
    freedom, more = float(ranks[is_told].sum()), float(left[is_told].sum())
    if freedom <= 0:
        return None
    variance = within[is_told] / left[is_told]
    statistic = float((between[is_told] / variance).sum())
    p_value = float(fdtrc(freedom, more, statistic / freedom))
    return Heterogeneity(statistic, freedom, p_value)


def of_counts(counts: Floats) -> Heterogeneity | None:
    """Pearson's statistic of counts (sources, parent states, states)."""
    total = counts.sum(axis=2, keepdims=True)
    pooled = counts.sum(axis=0)
    share = pooled / np.maximum(pooled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    expected = total * share
    terms = np.divide(
        (counts - expected) ** 2, expected, out=np.zeros_like(counts), where=expected > 0
    )
    n_sources = (total[:, :, 0] > 0).sum(axis=0)
    n_states = (pooled > 0).sum(axis=1)
    freedom = float((np.maximum(n_sources - 1, 0) * np.maximum(n_states - 1, 0)).sum())
    return _against_chance(float(terms.sum()), freedom)


def note_on(found: Mapping[str, Heterogeneity]) -> list[str]:
    """A sentence on the families about which the sources differ, if there are any."""
    apart = [name for name, one in found.items() if one.p_value < LEVEL / len(found)]
    if not apart:
        return []
    told = "; ".join(f"{name!r} ({found[name]})" for name in apart)
    return [
        f"The sources differ about the families of {told}. Pooled intervals are too narrow there, "
        "since they take the sources to be alike. Keep them apart by cs.fusion.Merged(cs.HDMCS()), "
        "or with gaussian=cs.estimators.HierarchicalGaussian() for regressions."
    ]


def _counts(opinion: Opinion) -> Floats | None:
    """The counts of a source, or what its posterior is worth."""
    local = opinion.distribution
    if isinstance(opinion.rows, np.ndarray):
        return opinion.rows
    if opinion.variance is None or not isinstance(local, Categorical):
        return None
    variance = opinion.variance.reshape(local.rows.shape).sum(axis=1)
    spread = (local.rows * (1 - local.rows)).sum(axis=1)
    size = np.divide(spread, variance, out=np.ones_like(spread), where=variance > 0) - 1
    return np.where(opinion.is_known, np.maximum(size, 0.0), 0.0)[:, None] * local.rows


def _of_posteriors(opinions: Sequence[Opinion]) -> Heterogeneity | None:
    """The statistic of regressions from the posteriors of finished networks."""
    spreads = [op.spread for op in opinions if op.spread is not None]
    lines = [op.distribution for op in opinions if isinstance(op.distribution, LinearGaussian)]
    if min(len(spreads), len(lines)) < len(opinions):
        return None
    center = np.mean([spread.center for spread in spreads], axis=0)
    covariance = np.stack([spread.moved(center) for spread in spreads])
    n_states, p = covariance.shape[1], covariance.shape[-1]
    if not (np.einsum("fjaa->fja", covariance) > 0).all():
        return None
    slopes = np.stack([line.coefficients.reshape(n_states, p - 1) for line in lines])
    intercepts = np.stack([line.intercept.reshape(n_states) for line in lines])
    at_center = intercepts + (slopes * center).sum(axis=-1)
    betas = np.concatenate([at_center[..., None], slopes], axis=-1)
    precision = np.linalg.inv(covariance)
    right = np.einsum("fjab,fjb->ja", precision, betas)
    apart = betas - np.linalg.solve(precision.sum(axis=0), right[..., None])[..., 0]
    statistic = float(np.einsum("fja,fjab,fjb->", apart, precision, apart))
    return _against_chance(statistic, float((len(lines) - 1) * n_states * p))


def _against_chance(statistic: float, freedom: float) -> Heterogeneity | None:
    if freedom <= 0:
        return None
    return Heterogeneity(statistic, freedom, float(chdtrc(freedom, statistic)))
