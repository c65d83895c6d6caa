"""Posteriors of regressions and logistic nodes as plain data, and back.

Each is kept as the arrays that define it, flat and with all digits, so that variances, intervals
and draws of the one that is read are those of the one that was written, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from consilience._check import MOST
from consilience._typing import Floats
from consilience.distributions import Posterior
from consilience.distributions.laplace import LaplacePosterior
from consilience.distributions.normal_inverse_gamma import (
    NormalInverseGammaPosterior,
    TiedGaussianPosterior,
)
from consilience.files.objects import Content

__all__ = [
    "laplace",
    "laplace_content",
    "normal_inverse_gamma",
    "normal_inverse_gamma_content",
    "tied_gaussian",
    "tied_gaussian_content",
]

Normal = TypeVar("Normal", bound=Posterior)

SLACK = 1e-3  # of a covariance, relative to its largest number: inverses of bad matrices round


def normal_inverse_gamma_content(posterior: NormalInverseGammaPosterior) -> dict[str, Any]:
    """The arrays of independent regressions."""
    return _flat(posterior, "mean", "scale", "shape", "rate", "center", "unit")


def normal_inverse_gamma(content: Content, shape: tuple[int, ...]) -> NormalInverseGammaPosterior:
    """Independent regressions, one for each joint state, of parameters of this shape."""
    groups, p = shape[:-1], shape[-1] - 1
    posterior = NormalInverseGammaPosterior(
        content.array("mean", (*groups, p)),
        _covariance(content, "scale", (*groups, p, p)),
        content.positive("shape", groups),
        _not_negative(content, "rate", groups),
        content.array("center", (p - 1,)),
        content.positive("unit", (p - 1,)),
    )
    return _usable(content, posterior, posterior.shape)


def tied_gaussian_content(posterior: TiedGaussianPosterior) -> dict[str, Any]:
    """The arrays of regressions tied across sources, and how many sources there are."""
    arrays = ("mean", "own_scale", "keep", "common_scale", "shape", "rate", "center", "unit")
    return {"n_sources": len(posterior.mean), **_flat(posterior, *arrays)}


def tied_gaussian(content: Content, shape: tuple[int, ...]) -> TiedGaussianPosterior:
    """Regressions around a common mean, of parameters of this shape."""
    n_sources, p = _n_sources(content, shape[:-1]), shape[-1] - 1
    n_joint = math.prod(shape[:-1]) // n_sources
    posterior = TiedGaussianPosterior(
        content.array("mean", (n_sources, n_joint, p)),
        _covariance(content, "own_scale", (n_sources, n_joint, p, p)),
        content.array("keep", (n_sources, n_joint, p, p)),
        _covariance(content, "common_scale", (n_joint, p, p)),
        content.positive("shape", (n_joint,)),
        _not_negative(content, "rate", (n_joint,)),
        content.array("center", (p - 1,)),
        content.positive("unit", (p - 1,)),
        shape,
    )
    return _usable(content, posterior, posterior.shape)


def laplace_content(posterior: LaplacePosterior) -> dict[str, Any]:
    """The arrays of a normal approximation; ``keep`` and ``common`` only if sources are tied."""
    is_tied = posterior.keep is not None and posterior.common is not None
    arrays = ("mean", "covariance", "center", "unit", *(("keep", "common") if is_tied else ()))
    return {"n_sources": len(posterior.mean), **_flat(posterior, *arrays)}


def laplace(content: Content, shape: tuple[int, ...]) -> LaplacePosterior:
    """The normal approximation of logistic coefficients, of parameters of this shape."""
    groups, (r, p) = shape[:-2], shape[-2:]
    n_sources, m = _n_sources(content, groups), (r - 1) * p
    n_joint = math.prod(groups) // n_sources
    is_tied = content.fields.get("keep") is not None or content.fields.get("common") is not None
    posterior = LaplacePosterior(
        content.array("mean", (n_sources, n_joint, r - 1, p)),
        _covariance(content, "covariance", (n_sources, n_joint, m, m)),
        content.array("center", (p - 1,)),
        content.positive("unit", (p - 1,)),
        shape,
        content.array("keep", (n_sources, n_joint, m, m)) if is_tied else None,
        _covariance(content, "common", (n_joint, m, m)) if is_tied else None,
    )
    return _usable(content, posterior)


def _flat(posterior: Any, *names: str) -> dict[str, list[float]]:
    return {name: getattr(posterior, name).ravel().tolist() for name in names}


def _n_sources(content: Content, groups: tuple[int, ...]) -> int:
    """How many sources the groups are of: the source, if there is one, is the first axis."""
    n_sources: int = content.take("n_sources", int)
    possible = {1, *groups[:1]}
    if n_sources not in possible:
        known = " or ".join(map(str, sorted(possible)))
        raise content.fault(f"'n_sources' must be {known}, found {n_sources}")
    return n_sources


def _not_negative(content: Content, key: str, shape: tuple[int, ...]) -> Floats:
    array = content.array(key, shape)
    if not ((array >= 0) & (array <= MOST)).all():
        raise content.fault(f"{key!r} must lie between 0 and {MOST:g}")
    return array


def _covariance(content: Content, key: str, shape: tuple[int, ...]) -> Floats:
    """Matrices that are covariances but for rounding: symmetric, with a diagonal of no sign."""
    array = content.array(key, shape)
    if array.size == 0:
        return array
    largest = np.abs(array).max(axis=(-1, -2))
    if largest.max() > MOST:
        raise content.fault(f"{key!r} holds a number that is too large")
    is_symmetric = np.abs(array - array.swapaxes(-1, -2)).max(axis=(-1, -2)) <= SLACK * largest
    is_spread = np.diagonal(array, axis1=-2, axis2=-1).min(axis=-1) >= -SLACK * largest
    if not (is_symmetric & is_spread).all():
        raise content.fault(
            f"{key!r} must hold covariances: symmetric matrices with diagonals of zero or more"
        )
    return array


def _usable(content: Content, posterior: Normal, shape: Floats | None = None) -> Normal:
    """The posterior, refused if its numbers are so large that no variance comes out.

    Joint states with a ``shape`` of one or less have no finite variance anyway.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        variance = posterior.variance()
    if shape is not None and shape.size:
        variance = variance.reshape(-1, shape.size, variance.shape[-1])[:, shape.ravel() > 1]
    if not np.isfinite(variance).all():
        raise content.fault("the numbers of the posterior are too large, or too far apart")
    return posterior
