"""The parts of the chain's fixed point, each against its equation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import polygamma, psi
from test_chain_kernels import N_STATES, example

from consilience.kernels import chain


def test_series_of_digamma_and_trigamma_are_those_of_scipy():
    for x in (8.0, 9.5, 30.0, 1e6):
        assert chain._tail(x) == pytest.approx(np.log(x) - psi(x), rel=1e-10)
    for x in (4.0, 7.5, 100.0):
        assert chain._trigamma(x) == pytest.approx(polygamma(1, x), rel=1e-6)
    for c in (1e-3, 0.5, 3.0, 50.0):
        for n in (0.0, 0.25, 1.0, 7.0, 16.5, 400.0):
            fall = polygamma(1, c) - polygamma(1, c + n)
            assert chain._trigamma_fall(c, n) == pytest.approx(fall, rel=1e-5, abs=1e-12)


def settled(seed, rho):
    """Customers of all rows as the library places them, and random means."""
    counts, way, s = example(seed, rho)
    counts[2] = 0.0
    customers, totals = np.zeros((len(way.up), N_STATES)), np.zeros(len(way.up))
    seen, ends = chain.place(counts, way.up, way.start, customers, totals)
    mean = np.random.default_rng(seed).dirichlet(np.ones(N_STATES), len(way.up))
    return counts, way, s, customers, totals, seen, ends, mean


def test_placed_customers_are_sums_of_what_stands_below():
    counts, way, _, customers, totals, seen, ends, _ = settled(1, 0.0)
    twin = np.zeros_like(customers)
    twin[way.start[2] :] = counts
    for g in range(len(way.up) - 1, 0, -1):
        twin[way.up[g]] += twin[g]
    np.testing.assert_array_equal(customers, twin)
    np.testing.assert_array_equal(totals, twin.sum(axis=1))
    assert seen[: ends[-1]].tolist() == np.flatnonzero(twin.any(axis=1)).tolist()
    assert ends.tolist() == [int((np.flatnonzero(twin.any(axis=1)) < e).sum()) for e in way.start]


def test_seated_customers_are_expected_tables():
    counts, way, s, customers, totals, seen, ends, mean = settled(2, 0.0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(way.up))
    chain._seat(customers, totals, mean, weight, s, way.up, seen, ends)
    twin = np.zeros_like(customers)
    twin[way.start[2] :] = counts
    for level in (2, 1):
        for g in range(way.start[level], way.start[level + 1]):
            c = s[level] * weight[g] * mean[way.up[g]]
            twin[way.up[g]] += c * (psi(c + twin[g]) - psi(c))
    np.testing.assert_allclose(customers, twin, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(totals, twin.sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_averages_are_those_of_customers_and_base(rho):
    _, way, s, customers, totals, seen, ends, mean = settled(3, rho)
    weight, before = np.ones(len(way.up)), mean.copy()
    rest = (weight, s, way.up, way.start, seen, ends, way.rho, -1.0)
    change = chain._average(customers, totals, mean, *rest)
    levels = np.repeat(np.arange(3), np.diff(way.start))
    strength = (totals + 1) ** np.array(way.rho)[levels]
    for level in range(3):
        strength[levels == level] /= strength[levels == level].mean()
    is_seen = totals > 0
    np.testing.assert_allclose(weight[is_seen], strength[is_seen], rtol=1e-12)
    twin = before.copy()
    for g in np.flatnonzero(is_seen):
        a = s[levels[g]] * strength[g] if g else N_STATES
        base = twin[way.up[g]] if g else np.full(N_STATES, 1 / N_STATES)
        twin[g] = (customers[g] + a * base) / (totals[g] + a)
    np.testing.assert_allclose(mean, twin, rtol=1e-12)
    assert change == pytest.approx(abs(twin - before).max())


def test_a_step_of_newton_is_no_longer_than_one_unless_its_pull_is():
    cases = {(0.5, -2.0): 0.25, (3.0, -0.1): 3.0, (-0.5, -0.1): -1.0, (0.01, 0.5): 0.1}
    for (pull, slope), step in cases.items():
        assert chain._newton_step(pull, slope) == pytest.approx(step)


def test_what_is_left_out_is_predicted_without_it():
    counts, way, s, *_ = settled(4, 0.5)
    customers, totals, weight, mean = chain.settle(
        counts, way.up, way.start, way.rho, s, 500, 1e-13
    )
    found = chain._left_out(customers, totals, mean, weight, s, way.up, way.start)
    homes = np.flatnonzero(counts)
    asked, amounts = homes[:, None], np.ones(len(homes))
    state = (customers, totals, weight, mean, s, way.up, way.start)
    twin = chain.leave_out(*state, homes, amounts, asked)  # which has a twin of its own
    np.testing.assert_allclose(found.ravel()[homes], twin[:, 0], rtol=1e-12)
    assert (found.ravel()[np.flatnonzero(counts == 0)] == 1).all()
