r"""Integrals over mixtures of normal distributions, by Gauss-Legendre and Gauss-Hermite rules.

A line is cut at some standard deviations around the mean of every component, and each panel has
its own Gauss-Legendre nodes: densities of very different widths are met alike. In the plane each
component has a product of Gauss-Hermite rules, turned by its root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import ModelError
from consilience.network.mixture import Mixture

__all__ = ["joint_information", "panels"]

CUTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.5, 9.0)  # standard deviations
NODES = 10  # of a panel
FEW = 40  # components up to which every one has panels of its own
PANELS = 1500  # for more of them
HERMITE = 48


def panels(mixtures: Sequence[Mixture]) -> tuple[Floats, Floats]:
    """Nodes and weights of an integral in which these densities occur.

    >>> x, weights = panels([Mixture(("x",), [1.0], [[0.0]], [[[1.0]]])])
    >>> round(float(weights @ np.exp(-0.5 * x**2)) ** 2 / 2, 12) == round(math.pi, 12)
    True
    """
    means = np.concatenate([one.means[:, 0] for one in mixtures])
    variances = np.concatenate([one.covariances[:, 0, 0] for one in mixtures])
    if not (variances > 0).all():
        name = mixtures[0].names[0]
        raise ModelError(
            f"{name!r} has single values of positive probability, and so no density to integrate: "
            "it is determined by others, or was estimated from draws.",
            variable=name,
        )
    sds = np.sqrt(variances)
    if len(means) <= FEW:
        cuts = np.array([*CUTS, *(-c for c in CUTS)])
        edges = np.unique((means[:, None] + sds[:, None] * cuts).ravel())
    else:
        low, high = (means - CUTS[-1] * sds).min(), (means + CUTS[-1] * sds).max()
        edges = np.linspace(low, high, PANELS)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def joint_information(joint: Mixture) -> float:
    r"""Mutual information of the two variables of a mixture, in nats.

    .. math:: E \log\frac{p(x, y)}{p(x)\,p(y)}; \qquad
        \text{of one normal distribution } -\tfrac12 \log(1 - \rho^2)
    """
    if joint.n_components == 1:
        c = joint.covariances[0]
        if not (np.diagonal(c) > 0).all() or c[0, 1] ** 2 >= c[0, 0] * c[1, 1]:
            raise ModelError(
                f"{_check.listed(joint.names)} determine each other, so that what one tells about "
                "the other has no bound.",
                variables=joint.names,
            )
        return -0.5 * math.log1p(-(c[0, 1] ** 2) / (c[0, 0] * c[1, 1]))
    nodes, weights = np.polynomial.hermite_e.hermegauss(HERMITE)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() / (2 * math.pi)
    first, second = (joint.marginal(name) for name in joint.names)
    total = 0.0
    for w, mean, covariance in zip(joint.weights, joint.means, joint.covariances, strict=True):
        points = mean + grid @ np.linalg.cholesky(covariance).T
        ratio = np.log(joint.density(points)) - np.log(first.density(points[:, 0]))
        total += w * float(mass @ (ratio - np.log(second.density(points[:, 1]))))
    return total
