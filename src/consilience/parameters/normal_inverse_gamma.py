r"""Regressions under conjugate priors.

With parents standardized over all rows of the family, :math:`x = (1, (z - \bar z) / s_z)`, and the
child centred, independently in each joint state of the discrete parents,

.. math::
    p(\beta, \sigma^2) \propto \mathrm{InvGamma}\bigl(\sigma^2;\, \tfrac{\nu}{2},
        \tfrac{\nu}{2} s_0^2\bigr)\; N\bigl(\beta;\, 0, \sigma^2 / \kappa \, I\bigr)\,
        (\sigma^2)^{e / 2},

where :math:`\kappa` is ``precision``, :math:`\nu` is ``degrees`` and :math:`s_0^2` is the residual
variance of the regression of all rows together. With the normal equations :math:`A`, :math:`c`,
:math:`d` of the rows,

.. math::
    m = (A + \kappa I)^{-1} c, \quad C = (A + \kappa I)^{-1}, \quad
    e = \mathrm{tr}(A C), \quad
    a = \tfrac{\nu + n - e}{2}, \quad b = \tfrac12 (\nu s_0^2 + d - c^\top m) .

:math:`e` is the number of coefficients that the rows tell about, all of them but for a small prior,
none without rows. Its power of the variance takes back what the scale of a weak prior of the
coefficients would say about :math:`\sigma^2`: without it intervals are too narrow unless rows are
many (two thirds of those meant to hold the sd with 95 % do, with ten rows and five coefficients).

The coefficients of the fit are posterior means (ridge regression with penalty :math:`\kappa`), its
variance is :math:`b / a`, the scale of the Student t that predicts a new row. A prior of
:math:`\kappa` is worth about that many rows; it does not depend on the units of any variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience.distributions.linear_gaussian import LinearGaussian
from consilience.distributions.normal_inverse_gamma import (
    NormalInverseGammaPosterior,
    unstandardized,
)
from consilience.parameters.regression import least_squares, linear_gaussian, note_on_digits
from consilience.parameters.standardized import Standardized, standardized
from consilience.statistics.digits import loses_digits
from consilience.statistics.moments import Moments

__all__ = ["NormalInverseGamma"]


@dataclass(frozen=True, slots=True)
class NormalInverseGamma:
    """Bayesian regressions of continuous children, pooled over the sources; the posterior is kept.

    A joint state without rows has the prior: the mean of the child, slopes of zero.

    Parameters
    ----------
    precision
        Of the standardized coefficients, in units of the residual variance: the ridge penalty.
    degrees
        How many rows the prior of the residual variance is worth.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"dose": [0.5, 1.5, 2.5], "effect": [1.5, 2.5, 6.5]})
    >>> net = cs.fit(cs.DAG([("dose", "effect")]), rows, cs.estimators.NormalInverseGamma())
    >>> net["effect"].coefficients.round(2)
    array([2.49])
    >>> low, high = cs.estimators.parameter_intervals(net, "effect", level=0.9)
    >>> bool(low[1] < 2.5 < high[1])
    True
    """

    precision: float = 0.01
    degrees: float = 1.0
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("NormalInverseGamma", precision=self.precision, degrees=self.degrees)

    def regress(self, families: Sequence[Moments]) -> list[LinearGaussian]:
        """The local distribution of each family, with its posterior."""
        return [self._regression(moments.pooled()) for moments in families]

    def notes(self, families: Sequence[Moments]) -> list[str]:
        """What to know about the regressions."""
        fits = zip(families, self.regress(families), strict=True)
        constant = dict.fromkeys(m.names[-1] for m, local in fits if (local.sd == 0).any())
        lost = [one.names[-1] for one in families if loses_digits(one)]
        notes = [note_on_digits(lost)] if lost else []
        if constant:
            notes.append(f"Constant, so that the sd is zero: {_check.listed(constant)}.")
        return notes

    def _regression(self, moments: Moments) -> LinearGaussian:
        scale = standardized(moments)
        posterior = self._posterior(moments, scale)
        coefficients = unstandardized(posterior.mean, scale.center, scale.unit)
        local = linear_gaussian(
            moments, None, coefficients, np.sqrt(posterior.rate / posterior.shape)
        )
        shape = local.intercept.shape
        shaped = NormalInverseGammaPosterior(
            posterior.mean.reshape(*shape, -1),
            posterior.scale.reshape(*shape, *posterior.scale.shape[1:]),
            posterior.shape.reshape(shape),
            posterior.rate.reshape(shape),
            scale.center,
            scale.unit,
        )
        return LinearGaussian(
            local.child, local.given, local.intercept, local.coefficients, local.sd, shaped
        )

    def _posterior(self, moments: Moments, scale: Standardized) -> NormalInverseGammaPosterior:
        n, mean = moments.weight[0], moments.mean[0]
        fits = least_squares(array[0] for array in moments.arrays)
        # From a root X of the equations, X'X = A and X't = c, whose small values keep their digits.
        size = np.sqrt(n)[:, None]
        apart = np.concatenate([size, size * (mean[:, :-1] - scale.center) / scale.unit], axis=1)
        root = np.pad(fits.root / scale.unit, ((0, 0), (0, 0), (1, 0)))
        design = np.concatenate([apart[:, None], root], axis=1)
        target = np.concatenate([size * (mean[:, -1:] - scale.level), fits.along], axis=1)
        left, values, right = np.linalg.svd(design)
        along = np.einsum("jki,jk->ji", left, target)
        inflated = values**2 + self.precision
        mean = np.einsum("jik,ji->jk", right, along * values / inflated)
        # d - c'm without its cancellation: what least squares leaves, and what the prior costs.
        cost = self.precision * (along**2 / inflated).sum(axis=1)
        rate = (self.degrees * scale.variance + fits.residual + cost) / 2
        mean[:, 0] += scale.level
        scales = right.swapaxes(1, 2) @ (right / inflated[..., None])
        shape = (self.degrees + np.maximum(n - (values**2 / inflated).sum(axis=1), 0.0)) / 2
        return NormalInverseGammaPosterior(mean, scales, shape, rate, scale.center, scale.unit)
