r"""Normal approximations to the posteriors of logistic nodes.

The coefficients of the states after the first, of the parents standardized, are taken to be normal
around the mode with the inverse of the curvature there as covariance (Laplace). With several
sources tied to a common mean :math:`\mu`, each follows a shift of :math:`\mu` by :math:`K_f` and
varies around that by its own covariance :math:`C_f`:

.. math:: \beta_f = m_f + K_f (\mu - \hat\mu) + N(0, C_f), \qquad \mu - \hat\mu \sim N(0, C) .

Variances, intervals and draws are of the coefficients of the parents themselves, in the layout of
``Logistic.parameters``; those of the first state are zero.
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
from consilience.distributions.normal_inverse_gamma import draw_normal, unstandardized
from consilience.errors import InputError

__all__ = ["LaplacePosterior"]

special = later("scipy.special")


@dataclass(frozen=True, slots=True, eq=False)
class LaplacePosterior:
    """Normal coefficients of logistic regressions, by source and joint discrete state.

    Parameters
    ----------
    mean
        Shape (sources, joint states, states - 1, p), the intercept first.
    covariance
        C_f, shape (sources, joint states, m, m) with m = (states - 1) p, coefficients fastest.
    center, unit
        What standardizes the continuous parents.
    sizes
        Shape of ``Logistic.parameters``.
    keep, common
        K_f, shape as ``covariance``, and C, shape (joint states, m, m); None if the sources are
        not tied.
    """

    mean: Floats
    covariance: Floats
    center: Floats
    unit: Floats
    sizes: tuple[int, ...]
    keep: Floats | None = None
    common: Floats | None = None

    def __post_init__(self) -> None:
        _freeze.own(self)

    def variance(self) -> Floats:
        """Variance of every parameter."""
        covariance = self.covariance
        if self.keep is not None and self.common is not None:
            covariance = covariance + self.keep @ self.common @ self.keep.swapaxes(-1, -2)
        r, p = self.mean.shape[-2:]
        split = covariance.reshape(*covariance.shape[:-2], r, p, r, p)
        blocks = np.einsum("...kikj->...kij", split)
        weights = np.concatenate([[1.0], -self.center / self.unit])
        intercept = np.einsum("i,...ij,j->...", weights, blocks, weights)
        slopes = np.einsum("...ii->...i", blocks)[..., 1:] / self.unit**2
        return self._laid_out(np.concatenate([intercept[..., None], slopes], axis=-1))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the central credible interval of every parameter."""
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.", parameter="level")
        middle = self._laid_out(unstandardized(self.mean, self.center, self.unit))
        width = special.ndtri((1 + level) / 2) * np.sqrt(np.maximum(self.variance(), 0.0))
        return middle - width, middle + width

    def draw(self, rng: np.random.Generator) -> Floats:
        """One set of parameters drawn: the common mean if there is one, then the sources."""
        moved = draw_normal(self.covariance, rng)
        if self.keep is not None and self.common is not None:
            shift = draw_normal(self.common, rng)
            moved = moved + np.einsum("fjkl,jl->fjk", self.keep, shift)
        drawn = self.mean + moved.reshape(self.mean.shape)
        return self._laid_out(unstandardized(drawn, self.center, self.unit))

    def draws(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Draws without end."""
        return (self.draw(rng) for _ in count())

    def _laid_out(self, others: Floats) -> Floats:
        """All states: zero for the first."""
        every = np.zeros((*others.shape[:-2], others.shape[-2] + 1, others.shape[-1]))
        every[..., 1:, :] = others
        return every.reshape(self.sizes)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)
