r"""The posterior of a least-squares regression under a flat prior.

With n rows, p coefficients and the residual sum of squares RSS,

.. math:: \sigma^2 \sim \mathrm{InvGamma}\Bigl(\frac{n-p}{2}, \frac{\mathrm{RSS}}{2}\Bigr),
    \qquad \beta \mid \sigma^2 \sim N\bigl(\hat\beta, \sigma^2 (X^\top X)^{-1}\bigr) .

Its intervals of coefficients are the classical ones of Student's t. The rows that joint states with
too few of their own are joined by (``few_rows.py``) count as rows. Where parents are constant or
collinear the rows say nothing of some directions; there the coefficients stay at those of smallest
norm, without spread.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Floats, Integers
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior
from consilience.parameters.regression import Regressions
from consilience.parameters.standardized import standardized
from consilience.statistics.moments import Moments

__all__ = ["flat_posterior"]


def flat_posterior(moments: Moments, fits: Regressions) -> NormalInverseGammaPosterior:
    """The posterior of regressions that least squares made of these moments, pooled over sources.

    Its axes of joint states are those of the discrete parents.
    """
    scale = standardized(moments)
    mean = moments.mean[0]
    size = np.sqrt(fits.weight)[:, None]
    apart = np.concatenate([size, size * (mean[:, :-1] - scale.center) / scale.unit], axis=1)
    root = np.pad(fits.root / scale.unit, ((0, 0), (0, 0), (1, 0)))
    spread = _inverse_square(np.concatenate([apart[:, None], root], axis=1), fits.rank)
    shape, p = [variable.n_states for variable in moments.given], mean.shape[1]
    return NormalInverseGammaPosterior(
        scale.coefficients(mean, fits.coefficients).reshape(*shape, p),
        spread.reshape(*shape, p, p),
        (fits.freedom / 2).reshape(shape),
        (fits.residual / 2).reshape(shape),
        scale.center,
        scale.unit,
    )


def _inverse_square(design: Floats, rank: Integers) -> Floats:
    """The inverse of X'X on as many directions as the rank says, zero on the others."""
    _, values, right = np.linalg.svd(design)
    is_kept = np.arange(values.shape[1]) < rank[:, None]
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=is_kept & (values > 0))
    return np.asarray(right.swapaxes(1, 2) @ (right * inverse[..., None] ** 2))
