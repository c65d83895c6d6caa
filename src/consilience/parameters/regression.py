r"""Least squares from centred moments, one regression for each joint state of the discrete parents.

With the moments of the continuous parents :math:`z` and the child :math:`x` over :math:`n` rows,

.. math::
    \hat\beta = S_{zz}^{-1} S_{zx}, \qquad \hat\beta_0 = \bar x - \hat\beta^\top \bar z, \qquad
    \hat\sigma^2 = \frac{S_{xx} - \hat\beta^\top S_{zx}}{n - p}, \quad p = 1 + \#\text{parents} .

The equations are solved on the scale of correlations. Parents that are constant or collinear (an
eigenvalue of their correlations below about 1e-12, more where the digits of large means are lost)
have no unique coefficients: the fit is then the one of smallest norm on that scale, and p counts
the rank only. Fine moments, which are asked for where columns are nearly functions of each other,
tell such a parent from one that is a function of others up to the rounding of the values. A joint
state with at most p rows is tied to the others (``few_rows.py``).

The moments have the names ``(*continuous parents, child)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.data.variable import Variable
from consilience.distributions.categorical import Posterior
from consilience.distributions.linear_gaussian import LOG_ROOT_2PI, LinearGaussian
from consilience.kernels.fine import intercepts_finely, solve_finely
from consilience.statistics.moments import Moments

__all__ = [
    "Regressions",
    "least_squares",
    "linear_gaussian",
    "log_likelihood_of",
    "note_on_digits",
    "smallest_eigenvalue",
]

COLLINEAR = 1e-12  # smallest eigenvalue of correlations that counts as different from zero
EXACT = 1e-14  # share of the child's scatter, for each parent, that rounding alone leaves
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Regressions:
    r"""Least squares in each group of rows; all arrays begin with the axes of the groups.

    Parameters
    ----------
    intercept, coefficients
        The fits.
    residual
        Sum of squares that the fit leaves.
    weight
        Number of rows.
    rank
        Number of coefficients that the rows determine, the intercept included.
    freedom
        What an unbiased variance divides the residual by.
    root, along
        A factor R of the parents' products, :math:`S_{zz} = R^\top R`, and w in
        :math:`S_{zx} = R^\top w`.
    """

    intercept: Floats
    coefficients: Floats
    residual: Floats
    weight: Floats
    rank: Integers
    freedom: Floats
    root: Floats
    along: Floats

    def variance(self, *, unbiased: bool) -> Floats:
        """Residual variance with denominator n - p, or n."""
        return np.asarray(self.residual / (self.freedom if unbiased else self.weight))


def log_likelihood_of(local: LinearGaussian, moments: Moments) -> float:
    """Log density of the rows behind moments under regressions with the same groups.

    >>> from consilience.data.variable import Variable
    >>> x = Variable("x")
    >>> rows = Moments(("x",), (), None, np.array([[2.0]]), np.zeros((1, 1, 1)),
    ...     np.full((1, 1, 1, 1), 2.0), np.array([2.0]))  # -1 and 1
    >>> standard = LinearGaussian(x, (), 0.0, [], 1.0)
    >>> round(log_likelihood_of(standard, rows), 6)  # -log(2 pi) - 1
    -2.837877
    """
    d = len(moments.names)
    weight, mean = moments.weight.reshape(-1), moments.mean.reshape(-1, d)
    scatter = moments.scatter.reshape(-1, d, d)
    slopes = local.coefficients.reshape(len(weight), d - 1)
    sd, intercept = local.sd.reshape(-1), local.intercept.reshape(-1)
    v = np.concatenate([-slopes, np.ones((len(weight), 1))], axis=1)
    away = (v * mean).sum(axis=1) - intercept
    squares = np.einsum("ji,jik,jk->j", v, scatter, v) + weight * away**2
    seen = weight > 0
    log = -weight * (np.log(np.where(seen, sd, 1.0)) + LOG_ROOT_2PI)
    return float((log - 0.5 * squares / np.where(seen, sd, 1.0) ** 2)[seen].sum())


def least_squares(arrays: Iterable[Floats]) -> Regressions:
    """Least squares of the last variable on the others, in groups along the first axes.

    The arrays are weight, mean and scatter of :class:`Moments`, and what rounding leaves of the
    last two if they are fine.
    """
    weight, mean, scatter, *rest = arrays
    if not rest:
        return _plainly(weight, mean, scatter)
    mean_rest, scatter_rest = rest
    return _finely(weight, mean, scatter, mean_rest, scatter_rest=scatter_rest)


def _plainly(weight: Floats, mean: Floats, scatter: Floats) -> Regressions:
    """Least squares by the eigenvalues of the parents' correlations."""
    scale = np.sqrt(np.einsum("...kk->...k", scatter))
    size = np.sqrt(np.maximum(weight, 1.0))[..., None] * np.abs(mean)
    is_constant = scale <= 8 * EPS * size
    one = np.where(is_constant, 1.0, scale)
    correlation = scatter / (one[..., :, None] * one[..., None, :])
    correlation = np.where(is_constant[..., :, None] | is_constant[..., None, :], 0.0, correlation)
    zz, zx = correlation[..., :-1, :-1], correlation[..., :-1, -1]
    values, vectors = np.linalg.eigh(zz)
    is_kept = values > smallest_eigenvalue(weight, mean, scatter)[..., None]
    size = np.sqrt(np.where(is_kept, values, 0.0))
    along = np.einsum("...ki,...k->...i", vectors, zx)
    along = np.divide(along, size, out=np.zeros_like(along), where=is_kept)
    steps = np.divide(along, size, out=np.zeros_like(along), where=is_kept)
    standardized = np.einsum("...ki,...i->...k", vectors, steps)
    left = 1.0 - (standardized * zx).sum(axis=-1)
    is_exact = (left <= EXACT * mean.shape[-1]) | is_constant[..., -1]
    coefficients = standardized * one[..., -1:] / one[..., :-1]
    return Regressions(
        mean[..., -1] - (coefficients * mean[..., :-1]).sum(axis=-1),
        coefficients,
        np.where(is_exact, 0.0, left * scatter[..., -1, -1]),
        weight,
        1 + is_kept.sum(axis=-1),
        weight - 1 - is_kept.sum(axis=-1),
        size[..., :, None] * vectors.swapaxes(-1, -2) * one[..., None, :-1],
        along * one[..., -1:],
    )


def _finely(
    weight: Floats, mean: Floats, scatter: Floats, mean_rest: Floats, *, scatter_rest: Floats
) -> Regressions:
    """Least squares by a factorisation with twice the digits."""
    groups, d = weight.shape, mean.shape[-1]
    n, m, s, m_rest, s_rest = (
        np.ascontiguousarray(array).reshape(-1, *array.shape[len(groups) :])
        for array in (weight, mean, scatter, mean_rest, scatter_rest)
    )
    slopes, root = np.empty((len(n), d - 1)), np.empty((len(n), d, d))
    null, intercept = np.empty((len(n), d - 1, d - 1)), np.empty(len(n))
    solve_finely(n, m, s, s_rest, slopes, root, null)
    for g in np.flatnonzero(null.any(axis=(1, 2))):
        slopes[g] = _of_smallest_norm(slopes[g], null[g], np.sqrt(np.diag(s[g])[:-1]))
    intercepts_finely(m, m_rest, slopes, intercept)
    pivots = np.einsum("gkk->gk", root)
    rank = 1 + (pivots[:, :-1] > 0).sum(axis=1)
    return Regressions(
        intercept.reshape(groups),
        slopes.reshape(*groups, d - 1),
        (pivots[:, -1] ** 2).reshape(groups),
        weight,
        rank.reshape(groups),
        weight - rank.reshape(groups),
        root[:, :-1, :-1].reshape(*groups, d - 1, d - 1),
        root[:, :-1, -1].reshape(*groups, d - 1),
    )


def _of_smallest_norm(slopes: Floats, null: Floats, scale: Floats) -> Floats:
    """The slopes of the same function of smallest norm on the scale of correlations.

    The rows of ``null`` are combinations of the parents that are zero.
    """
    directions = (null[null.any(axis=1)] * scale).T
    directions /= np.maximum(np.linalg.norm(directions, axis=0), np.finfo(float).tiny)
    standardized = slopes * scale
    standardized -= directions @ np.linalg.lstsq(directions, standardized, rcond=None)[0]
    return np.divide(standardized, scale, out=np.zeros_like(slopes), where=scale > 0)


def smallest_eigenvalue(weight: Floats, mean: Floats, scatter: Floats) -> Floats:
    """The eigenvalue of the parents' correlations below which they are collinear, for each group.

    It grows with the digits that large means take from the scatter.
    """
    scale = np.sqrt(np.einsum("...kk->...k", scatter))[..., :-1]
    size = np.sqrt(np.maximum(weight, 1.0))[..., None] * np.abs(mean[..., :-1])
    noise = np.divide(size, scale, out=np.zeros_like(size), where=scale > 8 * EPS * size)
    return np.minimum(COLLINEAR + 4 * EPS * noise.max(axis=-1, initial=0.0), 1e-6)


def linear_gaussian(
    moments: Moments,
    source: Variable | None,
    coefficients: Floats,
    sd: Floats,
    *,
    posterior: Posterior | None = None,
) -> LinearGaussian:
    """The local distribution of a family.

    ``coefficients`` have the intercept first and, like ``sd``, begin with an axis of sources if
    ``source`` is given and an axis of joint states.
    """
    discrete = (*(() if source is None else (source,)), *moments.given)
    shape = [variable.n_states for variable in discrete]
    every = coefficients.reshape(*shape, len(moments.names))
    return LinearGaussian(
        Variable(moments.names[-1]),
        (*discrete, *map(Variable, moments.names[:-1])),
        every[..., 0],
        every[..., 1:],
        sd.reshape(shape),
        posterior,
    )


def note_on_digits(children: Sequence[str]) -> str:
    """What to know about families whose moments have lost their digits."""
    return (
        "Columns that are nearly functions of each other, so that few digits of the estimates are "
        "right; expected moments of rows with gaps keep no more: the families of "
        f"{_check.listed(dict.fromkeys(children))}."
    )
