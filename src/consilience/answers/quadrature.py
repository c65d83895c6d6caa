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
HERMITE, FEWEST = 48, 10  # nodes of a component in each direction, at most and at least
HEAVY = 16  # a component of at least this share, 1 in so many, has the most nodes
MOST_CELLS = 1 << 19  # densities at once


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
    c = joint.covariances
    if not (c[:, 0, 0] * c[:, 1, 1] > c[:, 0, 1] ** 2).all():
        raise ModelError(
            f"{_check.listed(joint.names)} determine each other, so that what one tells about "
            "the other has no bound.",
            variables=joint.names,
        )
    if joint.n_components == 1:
        return -0.5 * math.log1p(-(c[0, 0, 1] ** 2) / (c[0, 0, 0] * c[0, 1, 1]))
    scale = np.sqrt(np.diagonal(joint.covariance))
    means = (joint.means - joint.mean) / scale
    covariances = joint.covariances / np.outer(scale, scale)
    points, mass = _in_plane(joint.weights, means, covariances)
    together = _log_densities(points, joint.weights, means, covariances)
    for axis in (0, 1):
        own = means[:, [axis]], covariances[:, [axis]][..., [axis]]
        together -= _log_densities(points[:, [axis]], joint.weights, *own)
    return float(mass @ together)


def _in_plane(weights: Floats, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of an expectation under a mixture; heavy components have more of them."""
    points, mass = [], []
    for w, mean, covariance in zip(weights, means, covariances, strict=True):
        n = min(max(math.ceil(HERMITE * math.sqrt(HEAVY * w)), FEWEST), HERMITE)
        nodes, each = np.polynomial.hermite_e.hermegauss(n)
        grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        points.append(mean + grid @ np.linalg.cholesky(covariance).T)
        mass.append(w * np.outer(each, each).ravel() / (2 * math.pi))
    return np.concatenate(points), np.concatenate(mass)


def _log_densities(points: Floats, weights: Floats, means: Floats, covariances: Floats) -> Floats:
    """Log density of a mixture at points of shape (points, variables)."""
    d = points.shape[1]
    roots = np.linalg.inv(np.linalg.cholesky(covariances)).swapaxes(1, 2)
    heights = weights * np.linalg.det(roots) / (2 * math.pi) ** (d / 2)
    found = np.empty(len(points))
    step = max(1, MOST_CELLS // len(weights))
    for i in range(0, len(points), step):
        away = (points[None, i : i + step] - means[:, None]) @ roots
        found[i : i + step] = heights @ np.exp(-0.5 * np.einsum("kpd,kpd->kp", away, away))
    return np.asarray(np.log(found))
