r"""Probability of a box under a normal distribution.

With :math:`\Sigma = L L^\top` the box is cut variable by variable (Genz 1992): given the first
:math:`i - 1`, the :math:`i`-th is between

.. math:: \frac{l_i - \mu_i - \sum_{j<i} L_{ij} y_j}{L_{ii}} \quad\text{and}\quad
    \frac{h_i - \mu_i - \sum_{j<i} L_{ij} y_j}{L_{ii}}

standard deviations. Two variables are left to Gauss-Legendre quadrature over the first; more of
them to a lattice of points, the same every time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from consilience._lazy import later
from consilience._typing import Floats

__all__ = ["box_probability"]

special = later("scipy.special")

FAR = 38.0  # standard deviations beyond which a normal density is no float
PANELS, NODES = 60, 16
POINTS = 1 << 15


def box_probability(
    low: Sequence[float], high: Sequence[float], mean: Floats, covariance: Floats
) -> float:
    """P(low <= X <= high) for a normal X; variances of zero are allowed.

    >>> box_probability([0, 0], [np.inf, np.inf], np.zeros(2), np.eye(2))
    0.25
    """
    a, b = np.array(low) - mean, np.array(high) - mean
    if (a > b).any():
        return 0.0
    kept = np.isfinite(a) | np.isfinite(b)
    a, b, covariance = a[kept], b[kept], covariance[np.ix_(kept, kept)]
    is_alone = np.count_nonzero(covariance, axis=1) <= 1
    alone = [_between(x, y, s) for x, y, s in zip(a, b, np.diag(covariance), strict=True)]
    product = math.prod(float(p) for p, single in zip(alone, is_alone, strict=True) if single)
    if is_alone.all() or product == 0:
        return product
    rest = ~is_alone
    return product * _joined(a[rest], b[rest], covariance[np.ix_(rest, rest)])


def _joined(a: Floats, b: Floats, covariance: Floats) -> float:
    root = _root(covariance)
    if len(a) == 2 and root[0, 0] > 0:
        ends = np.clip(np.array([a[0], b[0]]) / root[0, 0], -FAR, FAR)
        y, weights = _quadrature(ends[0], ends[1], _centre(a, b, root))
        inside = _share(a[1] - root[1, 0] * y, b[1] - root[1, 0] * y, root[1, 1])
        density = np.exp(-0.5 * y**2) / math.sqrt(2 * math.pi)
        return float((weights * density * inside).sum())
    shifts = np.modf(np.sqrt(_primes(len(a))))[0]
    points = np.modf((np.arange(POINTS)[:, None] + 0.5) * shifts)[0]
    points = np.abs(2 * points - 1)  # the tent makes the integrand periodic
    total, y = np.ones(POINTS), np.zeros((POINTS, len(a)))
    for i in range(len(a)):
        shift = y[:, :i] @ root[i, :i]
        if root[i, i] == 0:
            total *= (a[i] <= shift) & (shift <= b[i])
            continue
        below, above = (
            special.ndtr((a[i] - shift) / root[i, i]),
            special.ndtr((b[i] - shift) / root[i, i]),
        )
        total *= above - below
        inside = np.clip(below + points[:, i] * (above - below), 1e-300, 1 - 1e-16)
        y[:, i] = special.ndtri(inside)
    return float(total.mean())


def _root(covariance: Floats) -> Floats:
    """Lower triangular root; a direction without variance has zeros."""
    d = len(covariance)
    root = np.zeros((d, d))
    for i in range(d):
        left = covariance[i, i] - root[i, :i] @ root[i, :i]
        root[i, i] = math.sqrt(left) if left > 1e-13 * covariance[i, i] else 0.0
        if root[i, i]:
            root[i + 1 :, i] = (covariance[i + 1 :, i] - root[i + 1 :, :i] @ root[i, :i]) / root[
                i, i
            ]
    return root


def _centre(a: Floats, b: Floats, root: Floats) -> list[float]:
    """Where the second variable crosses its bounds: the integrand is steepest there."""
    if root[1, 0] == 0:
        return []
    return [float(bound / root[1, 0]) for bound in (a[1], b[1]) if np.isfinite(bound)]


def _quadrature(low: float, high: float, centre: list[float]) -> tuple[Floats, Floats]:
    """Nodes and weights of panels between two numbers, cut at the steep places."""
    cuts = sorted({low, high, *(c for c in centre if low < c < high)})
    spread = np.concatenate([np.linspace(x, y, PANELS, endpoint=False) for x, y in pairwise(cuts)])
    # Panels that shrink towards the steep places follow even a nearly exact relation.
    near = [c + s * 2.0**-k for c in centre for k in range(40) for s in (-1.0, 1.0)]
    edges = np.unique(np.concatenate([spread, [high], [e for e in near if low < e < high]]))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def _between(a: float, b: float, variance: float) -> float:
    return float(_share(np.array(a), np.array(b), math.sqrt(variance)))


def _share(a: Floats, b: Floats, sd: float) -> Floats:
    """P(a <= X <= b) for a centred normal; a point at zero if the sd is zero."""
    if sd == 0:
        return ((a <= 0) & (b >= 0)).astype(float)
    is_high = a > 0  # both bounds mirrored, so that small tails are not lost in 1 - 1
    lower, upper = np.where(is_high, -b, a), np.where(is_high, -a, b)
    return np.asarray(special.ndtr(upper / sd) - special.ndtr(lower / sd))


def _primes(n: int) -> Floats:
    primes = [p for p in range(2, 40 + n * 12) if all(p % q for q in range(2, math.isqrt(p) + 1))]
    return np.array(primes[:n], float)
