r"""The posterior of a least-squares regression under a flat prior.

With n rows, p coefficients and the residual sum of squares RSS,

.. math:: \sigma^2 \sim \mathrm{InvGamma}\Bigl(\frac{n-p}{2}, \frac{\mathrm{RSS}}{2}\Bigr),
    \qquad \beta \mid \sigma^2 \sim N\bigl(\hat\beta, \sigma^2 (X^\top X)^{-1}\bigr) .
"""

from __future__ import annotations

import numpy as np

from consilience.distributions import LinearGaussian
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior
from consilience.statistics.moments import Moments

__all__ = ["flat_posterior"]


def flat_posterior(local: LinearGaussian, moments: Moments) -> NormalInverseGammaPosterior | None:
    """The posterior of a regression that least squares made of these moments, pooled over sources.

    None if the parents are collinear in some joint state of the discrete parents.
    """
    n, mean, scatter = moments.weight[0], moments.mean[0], moments.scatter[0]
    d = mean.shape[1] - 1
    center = (n @ mean[:, :d]) / n.sum()
    unit = np.sqrt(np.maximum(scatter[:, range(d), range(d)].sum(axis=0) / n.sum(), 1e-300))
    away = (mean[:, :d] - center) / unit
    rows = np.concatenate([np.ones((len(n), 1)), away], axis=1)
    design = n[:, None, None] * rows[:, :, None] * rows[:, None, :]
    design[:, 1:, 1:] += scatter[:, :d, :d] / np.outer(unit, unit)
    try:
        scale = np.linalg.inv(design)
    except np.linalg.LinAlgError:
        return None
    shape = local.intercept.shape
    slopes = local.coefficients.reshape(len(n), d)
    at_center = local.intercept.reshape(len(n)) + slopes @ center
    v = np.concatenate([-slopes, np.ones((len(n), 1))], axis=1)
    residual = np.einsum("ji,jik,jk->j", v, scatter, v)
    coefficients = np.concatenate([at_center[:, None], slopes * unit], axis=1)
    return NormalInverseGammaPosterior(
        coefficients.reshape(*shape, d + 1),
        scale.reshape(*shape, d + 1, d + 1),
        ((n - d - 1) / 2).reshape(shape),
        (residual / 2).reshape(shape),
        center,
        unit,
    )
