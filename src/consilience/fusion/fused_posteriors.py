r"""Posteriors of pooled parameters: what the sources knew, each with its weight in the pool.

A pooled coefficient is a weighted mean, :math:`\beta_i = \sum_f w_{fi} \beta_{fi}`. The posteriors
of the sources are independent, so that

.. math:: \mathrm{cov}(\beta)_{ik} = \sum_f w_{fi} w_{fk}\, \mathrm{cov}(\beta_f)_{ik} ,

and with weights by precision the precisions add. The posterior is the conjugate one
(:mod:`consilience.distributions.normal_inverse_gamma`) with that covariance around the pooled
coefficients. For a table the pooled entries :math:`m_{jk}` have the variances :math:`v_{jk} =
\sum_f w_{fjk}^2 v_{fjk}`, and the posterior is the Dirichlet with their mean and their total
variance,

.. math:: \theta_j \sim \mathrm{Dirichlet}(s_j m_j), \qquad
    s_j + 1 = \frac{\sum_k m_{jk} (1 - m_{jk})}{\sum_k v_{jk}} ;

:math:`n` sources that agree and had :math:`s_j` counts each have about :math:`n s_j` together.

All of it takes the sources to be alike; :mod:`consilience.fusion.heterogeneity` asks whether they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats
from consilience.distributions import Categorical, LinearGaussian
from consilience.distributions.categorical import Posterior
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior

__all__ = [
    "Spread",
    "pooled_spread",
    "spread_of",
    "spread_of_rows",
    "with_spread",
    "with_table_posterior",
]

LARGEST_SIZE = 1e12  # of a concentration, for entries that are certain


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How well the coefficients of a regression are known, by joint state of discrete parents.

    Parameters
    ----------
    center
        Where the intercept is taken, shape (joint states, continuous parents).
    covariance
        Of the intercept there and the coefficients, shape (joint states, p, p).
    freedom
        Degrees of freedom of the residual variance, shape (joint states,).
    """

    center: Floats
    covariance: Floats
    freedom: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def moved(self, center: Floats) -> Floats:
        """The covariance with the intercept at another centre."""
        p = self.covariance.shape[-1]
        shift = np.tile(np.eye(p), (len(self.freedom), 1, 1))
        shift[:, 0, 1:] = center - self.center
        return np.asarray(shift @ self.covariance @ shift.swapaxes(1, 2))


def spread_of(posterior: Posterior | None) -> Spread | None:
    """What the posterior of a regression says; None if it is not of a kind that tells it."""
    if not isinstance(posterior, NormalInverseGammaPosterior):
        return None
    p = posterior.mean.shape[-1]
    shape, rate = posterior.shape.reshape(-1), posterior.rate.reshape(-1)
    per_unit = np.concatenate([[1.0], 1 / posterior.unit])
    scale = posterior.scale.reshape(-1, p, p) * per_unit[:, None] * per_unit
    center = np.tile(posterior.center, (len(shape), 1))
    return Spread(center, scale * (rate / shape)[:, None, None], 2 * shape)


def spread_of_rows(rows: tuple[Floats, Floats, Floats], variance: Floats, known: Bools) -> Spread:
    """The spread of least squares on rows with this residual variance; zero where not known.

    ``rows`` are weight, mean and scatter by joint state, the child last.
    """
    weight, mean, scatter = rows
    n_states, p = mean.shape
    safe = np.where(known[:, None, None], scatter[:, :-1, :-1], np.eye(p - 1))
    size = np.sqrt(np.einsum("jnn->jn", safe))
    outer = size[:, :, None] * size[:, None, :]
    covariance = np.zeros((n_states, p, p))
    covariance[:, 0, 0] = 1 / np.where(known, weight, 1.0)
    covariance[:, 1:, 1:] = np.linalg.inv(safe / outer) / outer
    covariance *= np.where(known, variance, 0.0)[:, None, None]
    return Spread(mean[:, :-1], covariance, np.where(known, weight - p, 1.0))


def pooled_spread(
    spreads: Sequence[Spread], weights: Floats, center: Floats, freedom: Floats
) -> Spread:
    """The spread of weighted means of coefficients, the intercept at ``center``.

    ``weights`` has the shape (sources, joint states, p).
    """
    every = np.stack([spread.moved(center) for spread in spreads])
    return Spread(center, np.einsum("fja,fjab,fjb->jab", weights, every, weights), freedom)


def with_spread(local: LinearGaussian, spread: Spread) -> LinearGaussian:
    """The regression with the conjugate posterior that has this spread."""
    n_states, n = spread.center.shape
    center = spread.center.mean(axis=0)
    covariance = spread.moved(np.tile(center, (n_states, 1)))
    diagonal = np.einsum("jaa->a", covariance)
    has_unit = (diagonal[0] > 0) & (diagonal[1:] > 0)
    unit = np.sqrt(np.where(has_unit, diagonal[0], 1.0) / np.where(has_unit, diagonal[1:], 1.0))
    times = np.concatenate([[1.0], unit])
    variance = local.variance.reshape(n_states)
    safe = np.where(variance > 0, variance, 1.0)
    scale = covariance * (times[:, None] * times) / safe[:, None, None]
    slopes = local.coefficients.reshape(n_states, n)
    at_center = local.intercept.reshape(n_states) + slopes @ center
    mean = np.concatenate([at_center[:, None], slopes * unit], axis=1)
    shape = local.intercept.shape
    posterior = NormalInverseGammaPosterior(
        mean.reshape(*shape, n + 1),
        scale.reshape(*shape, n + 1, n + 1),
        (spread.freedom / 2).reshape(shape),
        (variance * spread.freedom / 2).reshape(shape),
        center,
        unit,
    )
    return LinearGaussian(
        local.child, local.given, local.intercept, local.coefficients, local.sd, posterior
    )


def with_table_posterior(local: Categorical, variance: Floats) -> Categorical:
    """The table with the Dirichlet posterior of these variances, shape (parent states, states)."""
    rows = local.rows
    spread = (rows * (1 - rows)).sum(axis=1)
    total = variance.sum(axis=1)
    size = np.divide(spread, total, out=np.full(len(rows), LARGEST_SIZE), where=total > 0) - 1
    size = np.clip(size, np.finfo(float).tiny, LARGEST_SIZE)
    concentration = (size[:, None] * rows).reshape(local.table.shape)
    return Categorical(local.child, local.given, local.table, DirichletPosterior(concentration))
