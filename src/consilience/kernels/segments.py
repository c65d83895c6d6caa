r"""Log evidence of all segments of a sequence, step by step.

The evidence of a segment is the product of its predictions one step ahead. For a regression with
:math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)` and coefficients :math:`N(\mu, \sigma^2 V)`, a row
:math:`(x, y)` with :math:`e = y - x^\top \mu` and :math:`f = 1 + x^\top V x` has the density

.. math:: \frac{\Gamma(a + 1/2)}{\Gamma(a) \sqrt{2 \pi b f}}
    \Bigl(1 + \frac{e^2}{2 b f}\Bigr)^{-(a + 1/2)},

and leaves :math:`\mu + V x e / f`, :math:`V - V x x^\top V / f`, :math:`a + 1/2`,
:math:`b + e^2 / 2 f`. For a table with :math:`\alpha` in each cell it is
:math:`(\alpha + n_{jk}) / (r \alpha + n_j)`. Rows whose joint state is -1 say nothing.
"""

from __future__ import annotations

from math import lgamma

import numpy as np

from consilience._typing import Floats, Integers
from consilience.kernels.compile import kernel

__all__ = ["regression_segments", "table_segments"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LOG_2PI = float(np.log(2 * np.pi))


@kernel
def regression_segments(
    x: Floats,
    y: Floats,
    group: Integers,
    n_groups: int,
    mean: Floats,
    variance: Floats,
    shape: float,
    scale: float,
    evidence: Floats,
) -> None:
    """Add to ``evidence[a, b]`` the log evidence of the rows a to b - 1.

    ``x`` (rows, p) has a column of ones; ``mean`` and ``variance`` (p) are those of the
    coefficients in units of the residual variance.
    """
    n, p = x.shape
    ratio = np.zeros(n + 1)
    for k in range(n + 1):
        ratio[k] = lgamma(shape + 0.5 * k + 0.5) - lgamma(shape + 0.5 * k)
    mu, v = np.zeros((n_groups, p)), np.zeros((n_groups, p, p))
    rest, seen = np.zeros(n_groups), np.zeros(n_groups, np.int64)
    along = np.zeros(p)
    for a in range(n):
        for g in range(n_groups):
            rest[g], seen[g] = scale, 0
            for i in range(p):
                mu[g, i] = mean[i]
                for j in range(p):
                    v[g, i, j] = variance[i] if i == j else 0.0
        total = 0.0
        for b in range(a, n):
            g = group[b]
            if g >= 0:
                away, f = y[b], 1.0
                for i in range(p):
                    away -= x[b, i] * mu[g, i]
                    along[i] = 0.0
                    for j in range(p):
                        along[i] += v[g, i, j] * x[b, j]
                for i in range(p):
                    f += x[b, i] * along[i]
                half = shape + 0.5 * seen[g]
                total += ratio[seen[g]] - 0.5 * (LOG_2PI + np.log(rest[g] * f))
                total -= (half + 0.5) * np.log1p(away * away / (2.0 * rest[g] * f))
                for i in range(p):
                    mu[g, i] += along[i] * away / f
                    for j in range(p):
                        v[g, i, j] -= along[i] * along[j] / f
                rest[g] += away * away / (2.0 * f)
                seen[g] += 1
            evidence[a, b + 1] += total


@kernel
def table_segments(
    state: Integers, group: Integers, n_groups: int, n_states: int, cell: float, evidence: Floats
) -> None:
    """Add to ``evidence[a, b]`` the log evidence of the states of the rows a to b - 1."""
    n = len(state)
    counts, rows = np.zeros((n_groups, n_states)), np.zeros(n_groups)
    for a in range(n):
        counts[:] = 0.0
        rows[:] = 0.0
        total = 0.0
        for b in range(a, n):
            g = group[b]
            if g >= 0:
                k = state[b]
                total += np.log((cell + counts[g, k]) / (n_states * cell + rows[g]))
                counts[g, k] += 1.0
                rows[g] += 1.0
            evidence[a, b + 1] += total
