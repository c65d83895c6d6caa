r"""Coefficients of many sources made one, by the precision of each.

With the regression :math:`y = X \beta + \epsilon` of source :math:`f` on its :math:`n_f` rows,
:math:`X = [1, z - c]` for a common centre :math:`c` (the mean of the parents over all sources, so
that intercepts are compared where the rows are, and not where :math:`z = 0`),

.. math:: \hat\beta_f = (X_f^\top X_f)^{-1} X_f^\top y_f, \qquad
    \mathrm{var}(\hat\beta_{fi}) = \hat\sigma_f^2 \bigl[(X_f^\top X_f)^{-1}\bigr]_{ii} .

*Coefficient by coefficient* (:class:`InverseVariance`; Fan, Lin and Cheng 2007, Córdoba-Sánchez et
al. 2015; the paper's :math:`\sigma_{ij}` is the variance):

.. math:: \hat\beta_i = \sum_f w_{fi} \hat\beta_{fi}, \quad
    w_{fi} = \frac{1 / \mathrm{var}(\hat\beta_{fi})}{\sum_g 1 / \mathrm{var}(\hat\beta_{gi})},
    \qquad \hat\sigma^2 = \frac{\sum_f \mathrm{RSS}_f}{\sum_f (n_f - p)} .

The intercept at the centre is one of the coefficients. This is the estimator of least variance
among the weighted means of each coefficient by itself; it gives up what the coefficients know about
each other.

*With matrices* (:class:`PrecisionMatrices`), for a common residual variance:

.. math:: \hat\beta = \Bigl(\sum_f X_f^\top X_f\Bigr)^{-1} \sum_f X_f^\top X_f \hat\beta_f, \qquad
    \hat\sigma^2 = \frac{\sum_f \bigl(\mathrm{RSS}_f + (\hat\beta_f - \hat\beta)^\top X_f^\top X_f
    (\hat\beta_f - \hat\beta)\bigr)}{\sum_f n_f - p} ,

which *is* the regression on all rows together, for any slices, also of sources with fewer rows than
coefficients (for which any solution of the normal equations serves as :math:`\hat\beta_f`).

Discrete children: by coefficient, every entry of a table has the weight :math:`1 /
\mathrm{var}(\theta_{fjk})` of its Dirichlet posterior, and rows are normalised; with matrices, the
counts are merged. Logistic nodes: by coefficient with the variances of their posteriors.

Every pooled family has a posterior (:mod:`consilience.fusion.fused_posteriors`), with matrices the
exact one under a flat prior; logistic ones, and regressions whose rows do not determine all
coefficients, have none.

References
----------
T.-H. Fan, D. K. J. Lin, K.-F. Cheng (2007). Regression analysis for massive datasets. Data and
Knowledge Engineering 61(3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from consilience._typing import Bools, Floats
from consilience.distributions import Categorical, Distribution, LinearGaussian
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import DataError
from consilience.fusion.family_answers import Lines, Opinion
from consilience.fusion.fused_posteriors import (
    Spread,
    pooled_spread,
    with_spread,
    with_table_posterior,
)
from consilience.fusion.pools import LinearPool
from consilience.parameters.few_rows import lacks_rows
from consilience.parameters.regression import Regressions, least_squares

__all__ = [
    "InverseVariance",
    "PrecisionMatrices",
    "between_sources",
    "stacked_lines",
]

COLLINEAR = 1e-12  # smallest eigenvalue of correlations that counts as different from zero
SMALLEST_SHARE = 1e-12  # of the largest variance: an exact fit is not given all weight


@dataclass(frozen=True, slots=True)
class InverseVariance:
    """Every coefficient is a mean over the sources, weighted by the inverse of its variance.

    A source with too few rows for a variance of its own has no say; where none has one, the rows
    are merged. For finished networks the variances are those of their posteriors; a family for
    which a source has none is pooled linearly.
    """

    needs_rows: ClassVar[bool] = False

    def pool(self, opinions: Sequence[Opinion], weights: Floats) -> Distribution:
        """The distribution of one family; ``weights`` are for a linear pool."""
        local = opinions[0].distribution
        lines = stacked_lines(opinions)
        if lines is not None:
            return _line(local, _by_coefficient(lines, opinions))
        if any(opinion.variance is None for opinion in opinions):
            return LinearPool().pool(opinions, weights)
        return _by_posterior(opinions)


@dataclass(frozen=True, slots=True)
class PrecisionMatrices:
    """Coefficients weighted by the matrices X'X: the regression on all rows together, exactly.

    It needs the rows of the sources, or rather their moments and counts. Logistic nodes are pooled
    as by :class:`InverseVariance`.
    """

    needs_rows: ClassVar[bool] = True

    def pool(self, opinions: Sequence[Opinion], weights: Floats) -> Distribution:
        """The distribution of one family; the weights of the sources do not matter."""
        local = opinions[0].distribution
        lines = stacked_lines(opinions)
        if lines is not None:
            return _line(local, _by_matrix(lines, local.child.name))
        if isinstance(local, Categorical):
            return _merged_table(local, opinions)
        return _by_posterior(opinions)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A pooled regression in each joint state: its coefficients, and how well they are known.

    ``center``, ``covariance`` and ``freedom`` are those of a ``Spread``; ``is_determined`` says
    where the rows determine every coefficient.
    """

    intercept: Floats
    coefficients: Floats
    variance: Floats
    center: Floats
    covariance: Floats
    freedom: Floats
    is_determined: Bools

    @property
    def arrays(self) -> tuple[Floats | Bools, ...]:
        """All fields."""
        return tuple(getattr(self, field.name) for field in fields(self))


def stacked_lines(opinions: Sequence[Opinion]) -> Lines | None:
    """The moments of all sources, with a leading axis for them; None if not all have any."""
    found = [opinion.rows for opinion in opinions if isinstance(opinion.rows, Lines)]
    if len(found) < len(opinions):
        return None
    return Lines(
        np.stack([one.weight for one in found]),
        np.stack([one.mean for one in found]),
        np.stack([one.scatter for one in found]),
    )


def _line(local: Distribution, fitted: Fitted) -> Distribution:
    sd = np.sqrt(np.maximum(fitted.variance, 0.0))
    every = np.concatenate([fitted.intercept[:, None], fitted.coefficients, sd[:, None]], axis=1)
    line = local.with_parameters(every.reshape(local.parameters.shape))
    if not isinstance(line, LinearGaussian) or not fitted.is_determined.all():
        return line
    return with_spread(line, Spread(fitted.center, fitted.covariance, fitted.freedom))


def _by_posterior(opinions: Sequence[Opinion]) -> Distribution:
    """Means of the parameters weighted by the inverse of their posterior variances."""
    local = opinions[0].distribution
    variance = np.stack([np.asarray(opinion.variance) for opinion in opinions])
    seen = np.stack([opinion.is_known for opinion in opinions])
    seen[:, ~seen.any(axis=0)] = True
    n_states = seen.shape[1]
    flat = variance.reshape(len(opinions), n_states, -1)
    precision = np.where(seen[:, :, None], 1 / _floored(flat), 0.0)
    total = precision.sum(axis=0)
    every = np.stack([op.distribution.parameters.reshape(n_states, -1) for op in opinions])
    mean = ((precision * every).sum(axis=0) / total).reshape(local.parameters.shape)
    if isinstance(local, Categorical):
        table = local.with_parameters(mean / mean.sum(axis=-1, keepdims=True))
        return with_table_posterior(table, 1 / total)
    pooled = local.with_parameters(mean)
    spreads = [opinion.spread for opinion in opinions if opinion.spread is not None]
    if not isinstance(pooled, LinearGaussian) or len(spreads) < len(opinions):
        return pooled
    weights = (precision / total)[..., :-1]
    freedom = sum(np.where(row, one.freedom, 0.0) for row, one in zip(seen, spreads, strict=True))
    center = np.zeros((n_states, weights.shape[-1] - 1))  # where the intercepts are compared
    return with_spread(pooled, pooled_spread(spreads, weights, center, np.asarray(freedom)))


def _floored(variance: Floats) -> Floats:
    """Variances of the sources (first axis), none next to zero beside the others."""
    floor = SMALLEST_SHARE * variance.max(axis=0)
    return np.maximum(variance, np.where(floor > 0, floor, 1.0))


def _by_coefficient(lines: Lines, opinions: Sequence[Opinion]) -> Fitted:
    """The weighted means in each joint state."""
    fits = least_squares((lines.weight, lines.mean, lines.scatter))
    known = np.stack([opinion.is_known for opinion in opinions])
    freedom = np.where(known, lines.weight - fits.rank, 0.0).sum(axis=0)
    center, away = _centered(lines)
    spreads = [opinion.spread for opinion in opinions if opinion.spread is not None]
    variance = [np.einsum("jaa->ja", spread.moved(center[:, :-1])) for spread in spreads]
    precision = np.where(known[..., None], 1 / _floored(np.stack(variance)), 0.0)
    total = precision.sum(axis=0)
    weights = precision / np.where(total > 0, total, 1.0)
    mean = (weights * _betas(fits.coefficients, away)).sum(axis=0)
    left = np.where(known, fits.residual, 0.0).sum(axis=0) / np.maximum(freedom, 1.0)
    spread = pooled_spread(spreads, weights, center[:, :-1], np.maximum(freedom, 1.0))
    is_determined = np.asarray(known.any(axis=0))
    found = _fitted(mean, center, left, spread=spread, is_determined=is_determined)
    if found.is_determined.all():
        return found
    merged = _by_matrix(lines, opinions[0].distribution.child.name)
    return _chosen(found.is_determined, found, merged)


def _by_matrix(lines: Lines, child: str) -> Fitted:
    """The regression on all rows together, in each joint state; too few rows borrow that of all
    states.
    """
    p = lines.mean.shape[-1]
    total = lines.weight.sum()
    if lacks_rows(total, p):
        raise DataError(
            f"the family of {child!r} has {total:g} complete rows in all sources together; its "
            f"regression needs at least {p + 1}. Use fewer parents: raise the threshold.",
            variable=child,
        )
    is_enough = ~lacks_rows(lines.weight.sum(axis=0), p)
    found = _summed(lines)
    if is_enough.all():
        return found
    whole = _summed(
        Lines(
            lines.weight.reshape(-1, 1),
            lines.mean.reshape(-1, 1, p),
            lines.scatter.reshape(-1, 1, p, p),
        )
    )
    return _chosen(is_enough, found, whole)


def between_sources(lines: Lines) -> tuple[Floats, Floats, Floats, Floats]:
    """By joint state: squares between the sources and within them, and their degrees of freedom.

    The order is between, within, freedom between, freedom within.
    """
    apart = _apart(lines)
    has_rows = lines.weight > 0
    ranks = np.where(has_rows, apart.fits.rank, 0).sum(axis=0)
    rows = lines.weight.sum(axis=0)
    return apart.between, apart.within, ranks - np.where(rows > 0, apart.rank, 0), rows - ranks


@dataclass(frozen=True, slots=True, eq=False)
class _Apart:
    """The regression on all rows, and what the sources are away from it, by joint state."""

    fits: Regressions
    center: Floats
    mean: Floats
    inverse: Floats
    rank: Floats
    between: Floats
    within: Floats


def _apart(lines: Lines) -> _Apart:
    center, away = _centered(lines)
    fits = least_squares((lines.weight, lines.mean, lines.scatter))
    betas = _betas(fits.coefficients, away)
    products = _products(lines, away[..., :-1])
    right = np.einsum("fjab,fjb->ja", products, betas)
    mean, inverse, rank = _solved(products.sum(axis=0), right)
    apart = betas - mean
    between = np.einsum("fja,fjab,fjb->j", apart, products, apart)
    within = np.where(lines.weight > 0, fits.residual, 0.0).sum(axis=0)
    return _Apart(fits, center, mean, inverse, rank, between, within)


def _summed(lines: Lines) -> Fitted:
    found = _apart(lines)
    freedom = np.maximum(lines.weight.sum(axis=0) - found.rank, 1.0)
    variance = (found.within + found.between) / freedom
    spread = Spread(found.center[:, :-1], found.inverse * variance[:, None, None], freedom)
    is_determined = found.rank == found.mean.shape[-1]
    return _fitted(found.mean, found.center, variance, spread=spread, is_determined=is_determined)


def _fitted(
    betas: Floats, center: Floats, variance: Floats, *, spread: Spread, is_determined: Bools
) -> Fitted:
    """The record of coefficients with the intercept at the centre, less the mean of the child."""
    at_zero = center[:, -1] + betas[:, 0] - (betas[:, 1:] * center[:, :-1]).sum(axis=1)
    parts = (spread.center, spread.covariance, spread.freedom)
    return Fitted(at_zero, betas[:, 1:], variance, *parts, is_determined)


def _centered(lines: Lines) -> tuple[Floats, Floats]:
    """The mean of all rows in each joint state, and how far the sources' means are from it."""
    share = lines.weight / np.maximum(lines.weight.sum(axis=0), 1.0)
    first = lines.mean[lines.weight.argmax(axis=0), np.arange(lines.mean.shape[1])]
    away = np.where(lines.weight[..., None] > 0, lines.mean - first, 0.0)
    shift = (share[..., None] * away).sum(axis=0)
    return first + shift, np.where(lines.weight[..., None] > 0, away - shift, 0.0)


def _betas(coefficients: Floats, away: Floats) -> Floats:
    """Intercept at the centre, less the mean of the child, and coefficients of each source."""
    at_center = away[..., -1] - (coefficients * away[..., :-1]).sum(axis=-1)
    return np.concatenate([at_center[..., None], coefficients], axis=-1)


def _products(lines: Lines, d: Floats) -> Floats:
    """X'X of every source and joint state for X = [1, z - centre]."""
    n = lines.weight[..., None]
    p = d.shape[-1] + 1
    products = np.empty((*lines.weight.shape, p, p))
    products[..., 0, 0] = lines.weight
    products[..., 0, 1:] = products[..., 1:, 0] = n * d
    outer = d[..., :, None] * d[..., None, :]
    products[..., 1:, 1:] = lines.scatter[..., :-1, :-1] + n[..., None] * outer
    return products


def _solved(matrices: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
    """Solutions of smallest norm on the scale of correlations, inverses, and ranks."""
    scale = np.sqrt(np.einsum("jaa->ja", matrices))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(matrices / (scale[:, :, None] * scale[:, None, :]))
    is_kept = values > COLLINEAR
    along = np.einsum("jab,ja->jb", vectors, right / scale)
    along = np.divide(along, values, out=np.zeros_like(along), where=is_kept)
    solution = np.einsum("jab,jb->ja", vectors, along) / scale
    # One step of refinement takes out the rounding of the factorisation.
    rest = (right - np.einsum("jab,jb->ja", matrices, solution)) / scale
    along = np.einsum("jab,ja->jb", vectors, rest)
    along = np.divide(along, values, out=np.zeros_like(along), where=is_kept)
    solution += np.einsum("jab,jb->ja", vectors, along) / scale
    inverse = (vectors / np.where(is_kept, values, np.inf)[:, None, :]) @ vectors.swapaxes(1, 2)
    return solution, inverse / (scale[:, :, None] * scale[:, None, :]), is_kept.sum(axis=1)


def _chosen(is_first: Bools, first: Fitted, second: Fitted) -> Fitted:
    """The one where it may be taken, the other elsewhere, by joint state."""
    parts = (
        np.where(is_first.reshape(-1, *[1] * (a.ndim - 1)), a, b)
        for a, b in zip(first.arrays, second.arrays, strict=True)
    )
    return Fitted(*parts)


def _merged_table(local: Categorical, opinions: Sequence[Opinion]) -> Categorical:
    """The posterior mean of the merged counts, with the prior of each source's table once."""
    counts = sum(np.asarray(opinion.rows) for opinion in opinions)
    shaped = np.asarray(counts).reshape(local.table.shape)
    posterior = DirichletPosterior(shaped + 1 / local.table.size)
    return Categorical(local.child, local.given, posterior.mean(), posterior)
