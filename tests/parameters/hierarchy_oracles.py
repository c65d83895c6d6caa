"""Judges of the hierarchy's posterior: slow, plain, and independent of the library.

A table has shape (groups, states); every judge returns what it can of E[a], E[a^2], E[theta] and
the log evidence.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp


def rising(c, n):
    return math.prod((c + i for i in range(n)), start=Fraction(1))


def rising_coefficients(n):
    """Coefficients of z (z + 1) ... (z + n - 1): Stirling numbers of the first kind."""
    found = [1]
    for i in range(n):
        found = [
            (found[k - 1] if k else 0) + (i * found[k] if k < len(found) else 0)
            for k in range(len(found) + 1)
        ]
    return found


def rational(table, s, alpha0):
    """Exact posterior by a sum over all table counts; ``s`` and ``alpha0`` are fractions."""
    table = np.asarray(table)
    r = table.shape[1]
    coefficients = [[1] for _ in range(r)]
    for x, n in ((x, int(table[j, x])) for j in range(len(table)) for x in range(r)):
        coefficients[x] = _product(coefficients[x], rising_coefficients(n))
    total, mean, square = Fraction(0), [Fraction(0)] * r, [Fraction(0)] * r
    for m in product(*[range(len(one)) for one in coefficients]):
        weight = math.prod(
            (coefficients[x][k] * s**k * rising(alpha0, k) for x, k in enumerate(m)),
            start=Fraction(1),
        )
        if weight:
            size = r * alpha0 + sum(m)
            weight /= rising(r * alpha0, sum(m))
            total += weight
            for x, k in enumerate(m):
                part = weight * (alpha0 + k) / size
                mean[x] += part
                square[x] += part * (alpha0 + k + 1) / (size + 1)
    mean, square = [one / total for one in mean], [one / total for one in square]
    evidence = total / math.prod((rising(s, int(n)) for n in table.sum(axis=1)), start=Fraction(1))
    theta = [
        [(int(n) + s * a) / (int(row.sum()) + s) for n, a in zip(row, mean, strict=True)]
        for row in table
    ]
    return (
        np.array(mean, float),
        np.array(square, float),
        np.array(theta, float),
        math.log(evidence.numerator) - math.log(evidence.denominator),
    )


def _product(one, other):
    found = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            found[i + j] += a * b
    return found


def two_states(table, s, alpha0):
    """Posterior of a table with two states by quadrature over the logit of a_1.

    Returns E[a_1], E[a_1^2], the mean and the variance of theta of the first state for each group,
    and the log evidence.
    """
    table = np.asarray(table, float)
    totals = table.sum(axis=1)
    precision = max(1e-13, 1e-14 * totals.sum())  # logs of gamma functions have no more digits

    def log_density(u):
        a, b = 1 / (1 + np.exp(-u)), 1 / (1 + np.exp(u))
        log_prior = gammaln(2 * alpha0) - 2 * gammaln(alpha0) + alpha0 * (np.log(a) + np.log(b))
        return log_prior + log_likelihood(table, s * a, s * b)

    u = np.linspace(-60, 60, 24001)
    values = log_density(u)
    top = values.max()
    near = u[values > top - 45]
    peak = u[values.argmax()]

    def integral(function):
        def integrand(u):
            return math.exp(log_density(u) - top) * function(1 / (1 + math.exp(-u)))

        edges = (near[0] - 0.01, peak, near[-1] + 0.01)
        return sum(
            quad(integrand, low, high, epsabs=0, epsrel=precision, limit=200)[0]
            for low, high in pairwise(edges)
        )

    z = integral(lambda a: 1.0)
    mean, square = integral(lambda a: a) / z, integral(lambda a: a * a) / z
    theta = [
        integral(lambda a, n=n, t=t: (n + s * a) / (t + s)) / z
        for n, t in zip(table[:, 0], totals, strict=True)
    ]
    theta_square = [
        integral(lambda a, n=n, t=t: (n + s * a) * (n + s * a + 1) / ((t + s) * (t + s + 1))) / z
        for n, t in zip(table[:, 0], totals, strict=True)
    ]
    theta, theta_square = np.array(theta), np.array(theta_square)
    return mean, square, theta, theta_square - theta**2, top + math.log(z)


def log_likelihood(table, *sizes):
    """Log probability of the rows given s a, with theta integrated out; sizes may be arrays."""
    s = sum(sizes)
    found = sum(gammaln(s) - gammaln(s + n) for n in table.sum(axis=1))
    for column, c in zip(table.T, sizes, strict=True):
        found = found + sum(gammaln(c + n) - gammaln(c) for n in column)
    return found


def full_recursion(table, s, alpha0, u):
    """E[a] and log evidence by the recursion over every count and a sum over all table counts.

    ``u`` is any guess of E[a].
    """
    table = np.asarray(table)
    r = table.shape[1]
    log_weights, numbers, log_scale = [], [], 0.0
    for x in range(r):
        least, p = _tables(table[:, x], s * u[x])
        k = least + np.arange(len(p))
        log_weights.append(np.log(p) - k * np.log(u[x]) + gammaln(alpha0 + k) - gammaln(alpha0))
        numbers.append(k)
        log_scale += np.sum(gammaln(s * u[x] + table[:, x]) - gammaln(s * u[x]))
    joint = sum(np.ix_(*log_weights))
    total = sum(np.ix_(*numbers)) + r * alpha0
    joint = joint + gammaln(r * alpha0) - gammaln(total)
    log_z = logsumexp(joint)
    weights = np.exp(joint - log_z)
    mean = [np.sum(weights * (alpha0 + k) / total) for k in np.ix_(*numbers)]
    sizes = table.sum(axis=1)
    return np.array(mean), log_z + log_scale + np.sum(gammaln(s) - gammaln(s + sizes))


def _tables(column, c):
    """Distribution of the number of tables of one state, from its least number."""
    p, least = np.ones(1), int(np.sum(column > 0))
    for i in range(1, column.max()):
        for _ in range(int(np.sum(column > i))):
            p = np.convolve(p, [i / (c + i), c / (c + i)])
        kept = np.flatnonzero(p > 1e-200)
        p, least = p[kept[0] : kept[-1] + 1], least + int(kept[0])
    return least, p


def with_unknown_strength(table, shape, rate, alpha0):
    """Two states and s ~ Gamma(shape, rate), by a product of trapezoid rules in log s and logit a.

    Returns the mean of theta of the first state for each group, E[s] and the log evidence.
    """
    table = np.asarray(table, float)
    log_s = np.linspace(-40 / shape, math.log(120 / rate), 1201)[:, None]
    u = np.linspace(-40 / alpha0, 40 / alpha0, 1601)[None, :]
    s, a, b = np.exp(log_s), 1 / (1 + np.exp(-u)), 1 / (1 + np.exp(u))
    log_prior = (
        shape * (math.log(rate) + log_s)
        - rate * s
        - gammaln(shape)
        + gammaln(2 * alpha0)
        - 2 * gammaln(alpha0)
        + alpha0 * (np.log(a) + np.log(b))
    )
    log_joint = log_prior + log_likelihood(table, s * a, s * b)
    log_z = logsumexp(log_joint)
    weights = np.exp(log_joint - log_z)
    theta = [np.sum(weights * (row[0] + s * a) / (row.sum() + s)) for row in table]
    steps = (log_s[1, 0] - log_s[0, 0]) * (u[0, 1] - u[0, 0])
    return np.array(theta), float(np.sum(weights * s)), float(log_z + math.log(steps))
