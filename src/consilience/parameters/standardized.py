r"""Normal equations of regressions on standardized parents, from centred moments.

With :math:`x = (1, (z - \text{center}) / \text{unit})` and the residual :math:`e` of the child
from a first fit,

.. math:: A = \sum w\,x x^\top, \qquad c = \sum w\,x e, \qquad d = \sum w\,e^2 .

Center and unit are the mean and sd of the parents over all rows of the family, so that the same
coefficient means the same in every source and joint state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._typing import Floats
from consilience.errors import DataError
from consilience.kernels.fine import combine_finely
from consilience.parameters.regression import least_squares
from consilience.statistics.moments import Moments

__all__ = ["Standardized", "standardized"]


@dataclass(frozen=True, slots=True, eq=False)
class Standardized:
    """How the variables of a family are standardized.

    Parameters
    ----------
    center, unit
        Mean and sd of the continuous parents; a constant one has unit 1.
    level
        Mean of the child.
    variance
        Residual variance of the regression of all rows together; of the child itself if there are
        too few rows for that.
    """

    center: Floats
    unit: Floats
    level: float
    variance: float

    def coefficients(self, mean: Floats, slopes: Floats) -> Floats:
        """Standardized coefficients, shape (..., p), of fits through these means."""
        intercept = mean[..., -1] - (slopes * (mean[..., :-1] - self.center)).sum(axis=-1)
        return np.concatenate([intercept[..., None], slopes * self.unit], axis=-1)

    def equations(self, moments: Moments, first: Floats) -> tuple[Floats, Floats, Floats]:
        """A, c and d around the standardized coefficients ``first``, shape (joint states, p)."""
        weight, mean, scatter = moments.weight, moments.mean, moments.scatter
        apart = (mean[..., :-1] - self.center) / self.unit
        x = np.concatenate([np.ones((*weight.shape, 1)), apart], axis=-1)
        x = np.where(weight[..., None] > 0, x, 0.0)
        error, along, spread = self._left(moments, first)
        error = np.where(weight > 0, error, 0.0)
        matrix = weight[..., None, None] * x[..., :, None] * x[..., None, :]
        matrix[..., 1:, 1:] += scatter[..., :-1, :-1] / (self.unit[:, None] * self.unit)
        vector = (weight * error)[..., None] * x
        vector[..., 1:] += along[..., :-1] / self.unit
        constant = weight * error**2 + np.maximum(spread, 0.0)
        return matrix, vector, constant

    def _left(self, moments: Moments, first: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean of the residual of a first fit, its products with the variables, and its own."""
        combination = np.concatenate([-first[:, 1:] / self.unit, np.ones((len(first), 1))], axis=-1)
        center, level = np.append(self.center, 0.0), first[:, 0]
        if moments.mean_rest is None or moments.scatter_rest is None:
            along = np.einsum("fjkl,jl->fjk", moments.scatter, combination)
            error = ((moments.mean - center) * combination).sum(axis=-1) - level
            return error, along, (along * combination).sum(axis=-1)
        groups, d = moments.weight.shape, len(center)
        _, *arrays = (array.reshape(-1, *array.shape[2:]) for array in moments.arrays)
        each = np.tile(combination, (groups[0], 1)), np.tile(level, groups[0])
        error, along, spread = (
            np.empty(len(each[1])),
            np.empty(each[0].shape),
            np.empty(len(each[1])),
        )
        combine_finely(
            arrays[0], arrays[1], arrays[2], arrays[3], center, *each, error, along, spread
        )
        return error.reshape(groups), along.reshape(*groups, d), spread.reshape(groups)


def standardized(moments: Moments) -> Standardized:
    """How to standardize a family: by all its rows.

    Raises
    ------
    DataError
        If the family has no complete rows.
    """
    total = moments.without_states().pooled()
    n, mean, scatter = float(total.weight[0, 0]), total.mean[0, 0], total.scatter[0, 0]
    child = moments.names[-1]
    if n <= 1:
        raise DataError(
            f"the family of {child!r} has {n:g} complete rows; its regression needs at least two.",
            variable=child,
        )
    sd = np.sqrt(np.diag(scatter)[:-1] / n)
    is_constant = sd <= 8 * np.finfo(float).eps * np.abs(mean[:-1])
    fit = least_squares(array[0, 0] for array in total.arrays)
    freedom = n - float(fit.rank)
    variance = float(fit.residual) / freedom if freedom > 0 else scatter[-1, -1] / (n - 1)
    return Standardized(mean[:-1], np.where(is_constant, 1.0, sd), float(mean[-1]), float(variance))
