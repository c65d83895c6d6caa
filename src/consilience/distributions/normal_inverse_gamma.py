r"""Posteriors of regressions: normal coefficients, inverse-gamma residual variances.

.. math::
    \sigma^2 \sim \mathrm{InvGamma}(a, b), \qquad
    \beta \mid \sigma^2 \sim N(m, \sigma^2 C), \qquad
    \beta_k \sim t_{2a}\bigl(m_k, \tfrac{b}{a} C_{kk}\bigr)

The coefficients :math:`\beta` are those of the parents standardized, :math:`(z - \text{center}) /
\text{unit}`, which keeps the digits of parents with large means; variances, intervals and draws are
of the coefficients of the parents themselves, in the layout of ``LinearGaussian.parameters``:
intercept, coefficients, sd.

:class:`TiedGaussianPosterior` is the same for sources around a common mean :math:`\mu`: given
:math:`\mu` and :math:`\sigma^2` they are independent,
:math:`\beta_f \mid \mu, \sigma^2 \sim N(m_f + K_f(\mu - \hat\mu), \sigma^2 C_f)`.

References
----------
A. Gelman, J. Carlin, H. Stern, D. Dunson, A. Vehtari, D. Rubin (2013). Bayesian Data Analysis,
chapter 14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from consilience import _freeze
from consilience._lazy import later
from consilience._typing import Floats
from consilience.errors import InputError

__all__ = [
    "NormalInverseGammaPosterior",
    "TiedGaussianPosterior",
    "draw_normal",
    "intervals",
    "unstandardized",
    "variances",
]

special = later("scipy.special")

LARGE = 1e4  # of a shape from which a series is closer than the difference of gamma functions


@dataclass(frozen=True, slots=True, eq=False)
class NormalInverseGammaPosterior:
    """Independent regressions, one for each joint state of the discrete parents.

    Parameters
    ----------
    mean
        m, shape (joint states..., 1 + continuous parents), the intercept first.
    scale
        C, shape (joint states..., p, p).
    shape, rate
        a and b, shape (joint states...); a rate of zero is a residual variance of zero.
    center, unit
        What standardizes the continuous parents.

    Examples
    --------
    >>> mean, scale, nothing = np.array([2.0]), np.array([[0.25]]), np.empty(0)
    >>> shape, rate = np.array(3.0), np.array(6.0)
    >>> posterior = NormalInverseGammaPosterior(mean, scale, shape, rate, nothing, nothing)
    >>> posterior.variance().round(4)  # of the mean: 0.25 * 6 / (3 - 1); of the sd
    array([0.75  , 0.3493])
    """

    mean: Floats
    scale: Floats
    shape: Floats
    rate: Floats
    center: Floats
    unit: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def variance(self) -> Floats:
        """Posterior variance of every parameter; infinite if the shape is one or less."""
        return variances(self.scale, self.shape, self.rate, self.center, unit=self.unit)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every parameter; exact."""
        return intervals(
            self.mean,
            self.scale,
            self.shape,
            self.rate,
            center=self.center,
            unit=self.unit,
            level=level,
        )

    def draw(self, rng: np.random.Generator) -> Floats:
        """One set of parameters drawn from the posterior."""
        sd = _draw_sd(self.shape, self.rate, rng)
        drawn = self.mean + sd[..., None] * draw_normal(self.scale, rng)
        return _laid_out(drawn, sd, self.center, self.unit)

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Draws without end."""
        return (self.draw(rng) for _ in count())

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)


@dataclass(frozen=True, slots=True, eq=False)
class TiedGaussianPosterior:
    """Regressions of sources around a common mean, for each joint state of the discrete parents.

    The spread between the sources is taken as known (empirical Bayes); given it the posterior is
    exact. A source never seen is one more source; its sd here is the residual sd alone.

    Parameters
    ----------
    mean
        Coefficients of each source, shape (sources, joint states, p).
    own_scale, keep
        C and K of each source, shape (sources, joint states, p, p).
    common_scale
        Covariance of the common mean in units of the residual variance, shape (joint states, p, p).
    shape, rate
        Of the residual variance, shape (joint states,).
    center, unit
        What standardizes the continuous parents.
    sizes
        Shape of ``LinearGaussian.parameters``.
    """

    mean: Floats
    own_scale: Floats
    keep: Floats
    common_scale: Floats
    shape: Floats
    rate: Floats
    center: Floats
    unit: Floats
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        _freeze.own(self)

    def variance(self) -> Floats:
        """Posterior variance of every parameter; infinite if the shape is one or less."""
        found = variances(self._scale(), self.shape, self.rate, self.center, unit=self.unit)
        return found.reshape(self.sizes)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every parameter."""
        low, high = intervals(
            self.mean,
            self._scale(),
            self.shape,
            self.rate,
            center=self.center,
            unit=self.unit,
            level=level,
        )
        return low.reshape(self.sizes), high.reshape(self.sizes)

    def draw(self, rng: np.random.Generator) -> Floats:
        """One set of parameters drawn from the posterior: the common mean, then the sources."""
        sd = _draw_sd(self.shape, self.rate, rng)
        shift = draw_normal(self.common_scale, rng)
        shifted = np.einsum("fjkl,jl->fjk", self.keep, shift) + draw_normal(self.own_scale, rng)
        drawn = self.mean + sd[:, None] * shifted
        every_sd = np.broadcast_to(sd, drawn.shape[:-1])
        return _laid_out(drawn, every_sd, self.center, self.unit).reshape(self.sizes)

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Draws without end."""
        return (self.draw(rng) for _ in count())

    def _scale(self) -> Floats:
        """Covariance of each source's coefficients in units of the residual variance."""
        through = np.einsum(
            "fjkl,jlm,fjnm->fjkn", self.keep, self.common_scale, self.keep, optimize=True
        )
        return np.asarray(self.own_scale + through)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)


def unstandardized(coefficients: Floats, center: Floats, unit: Floats) -> Floats:
    """Intercept and slopes of the parents from those of the standardized parents."""
    slopes = coefficients[..., 1:] / unit
    intercept = coefficients[..., 0] - (slopes * center).sum(axis=-1)
    return np.concatenate([intercept[..., None], slopes], axis=-1)


def variances(
    scale: Floats, shape: Floats, rate: Floats, center: Floats, *, unit: Floats
) -> Floats:
    """Variances of intercept, coefficients and sd along the last axis."""
    is_finite = shape > 1
    below = np.where(is_finite, shape - 1, 1.0)
    mean_square = np.where(is_finite, rate / below, np.where(rate > 0, np.inf, 0.0))
    diagonal = _diagonal(scale, center, unit)
    with np.errstate(invalid="ignore"):  # no variance of a certain coefficient is infinite
        of_coefficients = np.where(diagonal > 0, diagonal * mean_square[..., None], 0.0)
    of_sd = np.where(is_finite, rate * _sd_spread(np.where(is_finite, shape, 2.0)), mean_square)
    of_sd = np.broadcast_to(of_sd, of_coefficients.shape[:-1])
    return np.concatenate([of_coefficients, of_sd[..., None]], axis=-1)


def intervals(
    mean: Floats,
    scale: Floats,
    shape: Floats,
    rate: Floats,
    *,
    center: Floats,
    unit: Floats,
    level: float,
) -> tuple[Floats, Floats]:
    """Ends of central intervals of intercept, coefficients and sd along the last axis."""
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level!r}.", parameter="level")
    width = np.sqrt(_diagonal(scale, center, unit) * (rate / shape)[..., None])
    width = width * special.stdtrit(2 * shape, (1 + level) / 2)[..., None]
    middle = unstandardized(mean, center, unit)
    ends = []
    for sign, q in ((-1, (1 - level) / 2), (1, (1 + level) / 2)):
        sd = np.broadcast_to(np.sqrt(rate / special.gammainccinv(shape, q)), middle.shape[:-1])
        ends.append(np.concatenate([middle + sign * width, sd[..., None]], axis=-1))
    return ends[0], ends[1]


def _diagonal(scale: Floats, center: Floats, unit: Floats) -> Floats:
    """Diagonal of the covariance of the coefficients of the parents themselves."""
    weights = np.concatenate([[1.0], -center / unit])
    intercept = np.einsum("k,...kl,l->...", weights, scale, weights)
    slopes = np.einsum("...kk->...k", scale)[..., 1:] / unit**2
    return np.maximum(np.concatenate([intercept[..., None], slopes], axis=-1), 0.0)


def _sd_spread(shape: Floats) -> Floats:
    r"""Variance of :math:`\sigma` for a rate of one and a shape above one."""
    exact = 1 / (shape - 1) - np.exp(2 * (special.gammaln(shape - 0.5) - special.gammaln(shape)))
    series = (0.25 + 0.46875 / shape) / shape**2
    return np.where(shape < LARGE, np.maximum(exact, 0.0), series)


def _draw_sd(shape: Floats, rate: Floats, rng: np.random.Generator) -> Floats:
    return np.sqrt(rate / rng.standard_gamma(shape))


def draw_normal(scale: Floats, rng: np.random.Generator) -> Floats:
    """Normal draws with these covariances, which may be singular."""
    values, vectors = np.linalg.eigh(scale)
    normal = rng.standard_normal(scale.shape[:-1]) * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(np.einsum("...ki,...i->...k", vectors, normal))


def _laid_out(coefficients: Floats, sd: Floats, center: Floats, unit: Floats) -> Floats:
    raw = unstandardized(coefficients, center, unit)
    return np.concatenate([raw, sd[..., None]], axis=-1)
