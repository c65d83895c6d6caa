"""The evidence of all segments against closed forms in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from consilience.kernels.segments import regression_segments, table_segments


def regression_twin(x, y, mean, variance, shape, scale):
    """Log evidence of one regression in closed form."""
    n = len(y)
    prior = np.diag(1.0 / variance)
    after = prior + x.T @ x
    center = np.linalg.solve(after, prior @ mean + x.T @ y)
    rest = scale + 0.5 * (y @ y + mean @ prior @ mean - center @ after @ center)
    return (
        -0.5 * n * np.log(2 * np.pi)
        + 0.5 * (np.linalg.slogdet(prior)[1] - np.linalg.slogdet(after)[1])
        + shape * np.log(scale)
        - (shape + 0.5 * n) * np.log(rest)
        + gammaln(shape + 0.5 * n)
        - gammaln(shape)
    )


def table_twin(state, n_states, cell):
    counts = np.bincount(state, minlength=n_states)
    total = n_states * cell
    return (
        gammaln(total)
        - gammaln(total + counts.sum())
        + (gammaln(cell + counts) - gammaln(cell)).sum()
    )


def test_segments_of_a_regression():
    rng = np.random.default_rng(0)
    x, y = np.column_stack([np.ones(12), rng.normal(size=(12, 2))]), rng.normal(size=12)
    group = rng.integers(-1, 2, 12)
    mean, variance = np.array([0.5, 0.0, 0.0]), np.array([2.0, 0.5, 0.5])
    evidence = np.zeros((12, 13))
    regression_segments(x, y, group, 2, mean, variance, 1.5, 0.7, evidence)
    for a in range(12):
        for b in range(a + 1, 13):
            wanted = sum(
                regression_twin(x[a:b][mine], y[a:b][mine], mean, variance, 1.5, 0.7)
                for mine in (group[a:b] == 0, group[a:b] == 1)
            )
            assert evidence[a, b] == pytest.approx(wanted, abs=1e-10)


def test_segments_of_a_table():
    rng = np.random.default_rng(1)
    state, group = rng.integers(0, 3, 10), rng.integers(-1, 2, 10)
    evidence = np.zeros((10, 11))
    table_segments(state, group, 2, 3, 0.4, evidence)
    for a in range(10):
        for b in range(a + 1, 11):
            wanted = sum(table_twin(state[a:b][group[a:b] == g], 3, 0.4) for g in (0, 1))
            assert evidence[a, b] == pytest.approx(wanted, abs=1e-10)
