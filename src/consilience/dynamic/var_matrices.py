r"""The matrices of a transition of continuous nodes.

With :math:`B_0` the arcs inside the slice, :math:`B_l` those of lag l and :math:`D` the variances,

.. math:: A_l = (I - B_0)^{-1} B_l, \qquad \Sigma = (I - B_0)^{-1} D (I - B_0)^{-\top} .
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from consilience import _freeze
from consilience._typing import Floats
from consilience.distributions import LinearGaussian
from consilience.dynamic.lagged_names import split_lag

__all__ = ["VAR", "companion", "matrices_of"]


@dataclass(frozen=True, slots=True, eq=False)
class VAR:
    """The matrices of a vector autoregression.

    Attributes
    ----------
    names
        The variables, in the order of the axes.
    intercept
        Shape (variables,).
    coefficients
        Shape (order, variables, variables): ``coefficients[l - 1][i, j]`` is what variable j adds
        to variable i after l steps.
    covariance
        Of the noise.
    """

    names: tuple[str, ...]
    intercept: Floats
    coefficients: Floats
    covariance: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def matrices_of(transition: Mapping[str, LinearGaussian], order: int) -> VAR:
    """The matrices of regressions without discrete parents."""
    names = tuple(transition)
    n = len(names)
    place = {name: i for i, name in enumerate(names)}
    within, lags = np.zeros((n, n)), np.zeros((order, n, n))
    constant, sd = np.zeros(n), np.zeros(n)
    for i, local in enumerate(transition.values()):
        constant[i], sd[i] = float(local.intercept), float(local.sd)
        for parent, slope in zip(local.parents, local.coefficients, strict=True):
            name, lag = split_lag(parent)
            if lag:
                lags[lag - 1, i, place[name]] = slope
            else:
                within[i, place[name]] = slope
    left = np.eye(n) - within
    root = np.linalg.solve(left, np.diag(sd))
    return VAR(
        names,
        np.asarray(np.linalg.solve(left, constant), float),
        np.array([np.linalg.solve(left, lag) for lag in lags]),
        root @ root.T,
    )


def companion(matrices: VAR) -> Floats:
    """The matrix that moves all slices of a window by one step; the latest slice stands first."""
    order, n, _ = matrices.coefficients.shape
    moves = np.eye(order * n, k=-n)
    moves[:n] = np.concatenate(list(matrices.coefficients), axis=1)
    return moves
