"""The chain with given concentrations, and what it predicts without an observation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import psi

from consilience.kernels.chain import leave_out, settle, settle_from
from consilience.parameters import backoff

SIZES, N_STATES = (2, 3), 4


def example(seed, rho, order=(0, 1)):
    """Counts of two parents, their way of backing off, and concentrations by level."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.5, (6, N_STATES)).astype(float)
    way = backoff.way_of(SIZES, [backoff.SOURCE, backoff.OTHER_PARENT], order, rho)
    return counts, way, np.array([0.0, *rng.uniform(0.5, 20.0, 2)])


def plain_settle(counts, way, s, n_rounds):
    """The equations level by level on lists of rows."""
    levels = [np.arange(*ends) for ends in zip(way.start[:-1], way.start[1:], strict=True)]
    n = np.zeros((len(way.up), N_STATES))
    n[levels[-1]] = counts
    mean, w = np.full(n.shape, 1 / N_STATES), np.ones(len(n))
    for _ in range(n_rounds):
        n[: way.start[-2]] = 0
        for k in (2, 1):
            for g in levels[k]:
                c = s[k] * w[g] * mean[way.up[g]]
                n[way.up[g]] += np.where(n[g] > 0, c * (psi(c + n[g]) - psi(c)), 0.0)
        for rows, rho in zip(levels, way.rho, strict=True):
            w[rows] = (n[rows].sum(axis=1) + 1) ** rho
            w[rows] /= w[rows].mean()
        mean[0] = (n[0] + 1) / (n[0].sum() + N_STATES)
        for k in (1, 2):
            for g in levels[k]:
                a = s[k] * w[g]
                mean[g] = (n[g] + a * mean[way.up[g]]) / (n[g].sum() + a)
    return n, n.sum(axis=1), w, mean


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_given_concentrations_settle_at_the_fixed_point(rho, order):
    counts, way, s = example(1, rho, order)
    found = settle(counts, way.up, way.start, way.rho, s, 500, 1e-13)
    for mine, plain in zip(found, plain_settle(counts, way, s, 500), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-9, atol=1e-9)


def test_where_rows_begin_does_not_matter_to_where_they_settle():
    counts, way, s = example(1, 1.0)
    other = np.random.default_rng(7).poisson(3.0, counts.shape).astype(float)
    *_, weight, mean = settle(other, way.up, way.start, way.rho, s, 500, 1e-13)
    found = settle_from(counts, way.up, way.start, way.rho, s, mean, weight, 500, 1e-13)
    wanted = settle(counts, way.up, way.start, way.rho, s, 500, 1e-13)
    for mine, cold in zip((*found, weight, mean), wanted, strict=True):
        np.testing.assert_allclose(mine, cold, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_an_observation_left_out_is_missed_where_its_path_was(rho):
    counts, way, s = example(2, rho)
    settled = settle(counts, way.up, way.start, way.rho, s, 500, 1e-13)
    customers, totals, w, mean = settled
    homes = np.flatnonzero(counts)[:5]
    asked = np.tile(np.arange(counts.size), (len(homes), 1))
    amounts = np.array([1.0, 1.0, 0.5, 1.0, 0.25])
    found = leave_out(*settled, s, way.up, way.start, homes, amounts, asked)
    for i, home in enumerate(homes):
        n, tot = customers.copy(), totals.copy()
        g, gone = way.start[2] + home // N_STATES, min(amounts[i], counts.ravel()[home])
        for k in (2, 1, 0):
            x = home % N_STATES
            c = s[k] * w[g] * mean[way.up[g], x]
            n[g, x] -= gone
            tot[g] -= gone
            gone *= c / (c + n[g, x]) if k else 0.0
            g = way.up[g]
        again = np.zeros_like(mean)
        again[0] = (n[0] + 1) / (tot[0] + N_STATES)
        for g in range(1, len(n)):
            a = s[1 if g < way.start[2] else 2] * w[g]
            again[g] = (n[g] + a * again[way.up[g]]) / (tot[g] + a)
        np.testing.assert_allclose(found[i], again[way.start[2] :].ravel(), rtol=1e-12)
        by_row = found[i].reshape(-1, N_STATES).sum(axis=1)
        np.testing.assert_allclose(by_row, 1.0, rtol=1e-12)
