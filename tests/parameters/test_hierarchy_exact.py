"""The hierarchy's posterior against judges: exact fractions, quadrature, full recursion, Gibbs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from gibbs import gibbs
from hierarchy_oracles import (
    full_recursion,
    log_likelihood,
    rational,
    two_states,
    with_unknown_strength,
)
from scipy.special import logsumexp

from consilience.kernels.hierarchy import approximate, digamma, log_rising
from consilience.parameters.hierarchy import solve
from consilience.parameters.strength import Gamma, PerState

STRENGTHS = [Fraction(n, d) for n, d in [(1, 50), (1, 3), (1, 1), (5, 2), (10, 1), (400, 1)]]
PRIORS = [Fraction(n, d) for n, d in [(1, 7), (1, 2), (1, 1), (3, 1)]]


def posterior(table, s, alpha0=1.0):
    """The hierarchy of one table of shape (groups, states)."""
    return solve(np.asarray(table, float)[None], s, float(alpha0))


def base(table, s, alpha0=1.0):
    return posterior(table, s, alpha0).base[0, 0]


@pytest.mark.parametrize("part", range(4))
def test_it_agrees_with_exact_fractions_on_small_tables(part):
    rng = np.random.default_rng(part)
    for _ in range(50):
        shape = rng.integers(1, 5), rng.integers(1, 5)
        table = rng.integers(0, 5, shape) * (rng.random(shape) < 0.6)
        while table.sum() > 16:
            table //= 2
        s, alpha0 = rng.choice(STRENGTHS), rng.choice(PRIORS)
        mean, square, theta, log_evidence = rational(table, s, alpha0)
        found = posterior(table, float(s), float(alpha0))
        assert found.is_exact == (True,)
        np.testing.assert_allclose(found.base[0, 0], mean, rtol=1e-12)
        np.testing.assert_allclose(found.square()[0, 0], square, rtol=1e-12)
        np.testing.assert_allclose(found.mean()[0], theta, rtol=1e-12)
        assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12, abs=1e-12)


def test_it_agrees_with_exact_fractions_on_longer_columns():
    for table in ([[30, 1], [0, 25]], [[12, 3], [7, 9], [0, 10]], [[40, 20]]):
        for s in STRENGTHS[::2]:
            mean, square, _, log_evidence = rational(table, s, Fraction(1))
            found = posterior(table, float(s))
            np.testing.assert_allclose(found.base[0, 0], mean, rtol=1e-12)
            np.testing.assert_allclose(found.square()[0, 0], square, rtol=1e-12)
            assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12)


@pytest.mark.parametrize("s", [0.01, 1.0, 7.5, 300.0])
@pytest.mark.parametrize(
    ("table", "tolerance"),
    [
        ([[3, 1], [0, 2]], 1e-12),
        ([[40, 60], [10, 0], [0, 0], [3, 200]], 1e-11),
        ([[9000, 12], [0, 0], [4, 700]], 1e-8),  # blocks beyond 1024
        ([[1_000_000, 400_000], [30, 50]], 1e-8),
    ],
)
def test_two_states_agree_with_quadrature(table, tolerance, s):
    mean, square, theta, variance, log_evidence = two_states(table, s, 0.7)
    found = posterior(table, s, 0.7)
    assert found.is_exact == (True,)
    assert found.base[0, 0, 0] == pytest.approx(mean, abs=tolerance)
    assert found.square()[0, 0, 0] == pytest.approx(square, abs=tolerance)
    np.testing.assert_allclose(found.mean()[0, :, 0], theta, atol=tolerance)
    np.testing.assert_allclose(found.variance()[0, :, 0], variance, rtol=1e-4, atol=tolerance)
    assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12, abs=1e-6)


@pytest.mark.parametrize(
    ("s", "tolerance"), [(1.0, 1e-12), (30.0, 1e-10), (1000.0, 3e-8), (1e5, 1e-9)]
)
def test_blocks_agree_with_the_recursion_over_every_count(s, tolerance):
    table = [[5_000, 20], [300, 9_000]]
    found = posterior(table, s)
    mean, log_evidence = full_recursion(table, s, 1.0, found.base[0, 0])
    np.testing.assert_allclose(found.base[0, 0], mean, atol=tolerance)
    assert found.log_evidence == pytest.approx(log_evidence, abs=100 * tolerance + 1e-9)


def test_many_groups_enter_as_binomials_without_loss():
    table = np.random.default_rng(5).multinomial(15, [0.7, 0.3], size=40)
    mean, log_evidence = full_recursion(table, 4.0, 1.0, np.array([0.6, 0.4]))
    found = posterior(table, 4.0)
    np.testing.assert_allclose(found.base[0, 0], mean, atol=1e-12)
    assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12)


# Closed forms.


def test_the_smallest_example_has_known_fractions():
    found = posterior([[3, 1], [0, 2]], 1.0)
    np.testing.assert_allclose(found.base[0, 0], [31 / 74, 43 / 74], rtol=1e-14)
    assert found.log_evidence == pytest.approx(-4.6910998971, abs=1e-10)


def test_without_rows_the_answer_is_the_prior():
    found = posterior(np.zeros((3, 4)), 2.0)
    np.testing.assert_allclose(found.mean(), 0.25)
    assert found.log_evidence == 0.0
    # theta is marginally not Dirichlet: its variance is E[v (1 - v)] / (s + 1) + Var[v].
    v = 3 / 16 / 5
    np.testing.assert_allclose(found.variance(), (3 / 16 - v) / 3 + v)


def test_an_empty_group_has_the_base_and_changes_nothing_else():
    one, two = posterior([[4, 1], [2, 2]], 3.0), posterior([[4, 1], [0, 0], [2, 2]], 3.0)
    np.testing.assert_array_equal(one.base, two.base)
    assert one.log_evidence == two.log_evidence
    np.testing.assert_allclose(two.mean()[0, 1], two.base[0, 0], rtol=1e-15)


@pytest.mark.parametrize("s", [1e-6, 0.3, 20.0, 1e6])
def test_groups_of_one_row_make_the_base_a_plain_dirichlet(s):
    table = [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    concentration = np.array([2.5, 0.5, 1.5])
    found = posterior(table, s, 0.5)
    mean = concentration / 4.5
    np.testing.assert_allclose(found.base[0, 0], mean, rtol=1e-13)
    np.testing.assert_allclose(found.square()[0, 0], mean * (concentration + 1) / 5.5, rtol=1e-13)
    assert found.log_evidence == pytest.approx(
        math.log(0.5 / 1.5 * 1.5 / 2.5 * 0.5 / 3.5), rel=1e-13
    )


def test_one_observation_has_its_prior_probability():
    assert posterior([[0, 1, 0]], 4.0).log_evidence == pytest.approx(math.log(1 / 3), rel=1e-14)


def test_a_very_large_strength_pools_the_groups():
    table = np.array([[4, 1, 0], [2, 2, 5]])
    pooled = table.sum(axis=0) + 0.5
    found = posterior(table, 1e13, 0.5)
    np.testing.assert_allclose(found.base[0, 0], pooled / pooled.sum(), atol=1e-11)
    np.testing.assert_allclose(found.mean()[0], np.tile(pooled / pooled.sum(), (2, 1)), atol=1e-11)


def test_a_very_small_strength_counts_each_state_once_a_group():
    found = posterior([[9, 1, 3], [2, 2, 0], [7, 30, 5]], 1e-10, 1.0)
    np.testing.assert_allclose(found.base[0, 0], np.array([4, 4, 3]) / 11, atol=1e-8)


def test_one_group_and_one_state_is_certain():
    found = posterior([[7], [0]], 3.0)
    np.testing.assert_allclose(found.mean(), 1.0, rtol=1e-15)
    assert found.log_evidence == pytest.approx(0.0, abs=1e-13)


# Numbers of the methods study (exact rational arithmetic, double precision for the last), there
# with states as rows.


@pytest.mark.parametrize(
    ("states_by_groups", "s", "alpha0", "mean", "log_evidence"),
    [
        ([[3, 0], [1, 0]], 2.0, 0.5, [0.6, 0.4], -3.6480574596),
        (
            [[5, 0, 7, 1], [3, 0, 1, 0], [0, 0, 0, 0], [2, 0, 0, 4]],
            10.0,
            1.0,
            [0.494649101559, 0.198036593101, 0.048533138438, 0.258781166902],
            -25.6667941248,
        ),
        (
            [[12, 0, 5, 7], [1, 2, 0, 9], [0, 0, 0, 3], [4, 4, 0, 1], [0, 1, 0, 0]],
            5.0,
            1.0,
            [0.402276111538, 0.224837139556, 0.085746205695, 0.216665555569, 0.070474987641],
            -61.5304380151,
        ),
        (
            [[1_000_000, 1, 0], [500_000, 3, 0], [250_000, 0, 2]],
            3.0,
            1.0,
            [0.352168700613, 0.363279437703, 0.284551861684],
            -1672495.8173234798,
        ),
    ],
)
def test_reference_numbers_of_the_study(states_by_groups, s, alpha0, mean, log_evidence):
    found = posterior(np.transpose(states_by_groups), s, alpha0)
    np.testing.assert_allclose(found.base[0, 0], mean, atol=2e-10)
    assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12, abs=1e-9)


# A learned strength.


@pytest.mark.parametrize(
    ("table", "shape", "rate", "alpha0"),
    [
        ([[3, 1], [0, 2]], 1.0, 0.1, 1.0),
        ([[3, 1], [0, 2]], 4.0, 0.1, 0.5),
        ([[9, 1], [0, 20], [4, 5]], 0.5, 2.0, 1.0),
        ([[200, 100], [130, 70], [340, 160]], 2.0, 0.01, 1.0),
    ],
)
def test_a_learned_strength_agrees_with_two_dimensional_quadrature(table, shape, rate, alpha0):
    theta, strength, log_evidence = with_unknown_strength(table, shape, rate, alpha0)
    found = posterior(table, Gamma(shape, rate), alpha0)
    np.testing.assert_allclose(found.mean()[0, :, 0], theta, atol=1e-7)
    assert found.mean_strength() == pytest.approx(strength, rel=1e-6)
    assert found.log_evidence == pytest.approx(log_evidence, abs=1e-6)


def test_a_learned_strength_has_the_numbers_of_the_study():
    found = posterior([[3, 1], [0, 2]], Gamma(1.0, 0.1))
    np.testing.assert_allclose(found.mean()[0, :, 0], [0.58632625, 0.32915003], atol=1e-7)
    assert found.mean_strength() == pytest.approx(9.587075, abs=2e-6)
    assert found.log_evidence == pytest.approx(-4.76434576, abs=1e-7)


@pytest.mark.parametrize(
    ("truth", "prior"),
    [
        (20.0, Gamma(4, 0.1)),  # many batches: a narrow posterior
        (3000.0, Gamma(4, 0.1)),  # far above the prior
        (0.3, Gamma(50, 0.1)),  # far below it
        (5.0, Gamma(0.1, 0.1)),
    ],
)
def test_a_learned_strength_is_found_wherever_the_rows_put_it(truth, prior):
    rng = np.random.default_rng(3)
    shape = (20, 6, 3)
    parts = [
        rng.dirichlet(truth * rng.dirichlet([2.0] * 3) + 1e-9, size=6) for _ in range(shape[0])
    ]
    counts = np.array([[rng.multinomial(100, p) for p in part] for part in parts], float)
    u = np.linspace(-12, 12, 961)
    values = np.exp(u)
    log_prior = (
        prior.shape * (math.log(prior.rate) + u) - prior.rate * values - math.lgamma(prior.shape)
    )
    coarse = u[::8]
    known = [solve(counts, float(math.exp(one)), 1.0).log_evidence for one in coarse]
    log_posterior = log_prior + np.interp(u, coarse, known)
    near = np.flatnonzero(log_posterior > log_posterior.max() - 60)
    fine = np.linspace(u[near[0]] - 0.2, u[near[-1]] + 0.2, 120)
    log_joint = (
        prior.shape * (math.log(prior.rate) + fine)
        - prior.rate * np.exp(fine)
        - math.lgamma(prior.shape)
        + [solve(counts, float(math.exp(one)), 1.0).log_evidence for one in fine]
    )
    found = solve(counts, prior, 1.0)
    log_evidence = logsumexp(log_joint) + math.log(fine[1] - fine[0])
    assert found.log_evidence == pytest.approx(log_evidence, abs=1e-5)
    expected = np.exp(log_joint - logsumexp(log_joint)) @ np.exp(fine)
    assert found.mean_strength() == pytest.approx(expected, rel=1e-5)
    assert found.weights.max() < 0.5


def test_a_strength_per_state_is_its_number_of_states():
    table = [[3, 0, 1], [1, 2, 0]]
    np.testing.assert_array_equal(base(table, PerState(2)), base(table, 6.0))


# The approximation, and the functions below it.


def test_the_approximation_is_near_and_its_bound_below():
    rng = np.random.default_rng(11)
    for _ in range(200):
        shape = rng.integers(1, 6), rng.integers(2, 6)
        table = rng.integers(0, rng.choice([2, 5, 40]), shape)
        s, alpha0 = float(rng.choice([0.5, 1, 5, 20])), float(rng.choice([0.3, 1.0]))
        exact, tables = posterior(table, s, alpha0), np.empty(shape[1])
        bound = approximate(table, s, np.full(shape[1], alpha0), tables)
        rough = (alpha0 + tables) / (alpha0 + tables).sum()
        theta = (table + s * rough) / (table.sum(axis=1, keepdims=True) + s)
        assert np.abs(theta - exact.mean()[0]).max() < 0.03
        assert bound <= exact.log_evidence + 1e-9


@pytest.mark.parametrize("c", [1e-8, 0.3, 9.99, 10.0, 500.0, 1e6, 1e15])
@pytest.mark.parametrize("n", [0, 1, 3, 64, 65, 0.5, 70.25, 1e4])
def test_rising_factorials_are_products(c, n):
    steps = int(n)
    rest = (
        0.0
        if n == steps
        else float(math.lgamma(min(c, 1e3) + n) - math.lgamma(min(c, 1e3) + steps))
    )
    if rest and c > 1e3:
        rest = (n - steps) * math.log(c + n)  # to first order
    expected = math.fsum(math.log(c + i) for i in range(steps)) + rest
    assert log_rising(c, float(n)) == pytest.approx(
        expected, rel=1e-6 if rest else 1e-12, abs=1e-12
    )


def test_digamma_is_the_derivative_of_the_log_of_the_gamma_function():
    from scipy.special import psi

    x = np.geomspace(1e-3, 1e9, 300)
    np.testing.assert_allclose([digamma(one) for one in x], psi(x), rtol=1e-12, atol=1e-13)


# Gibbs.


@pytest.mark.parametrize(
    ("table", "s", "alpha0"),
    [
        ([[3, 1], [0, 2]], 1.0, 1.0),
        ([[5, 3, 0], [0, 0, 0], [7, 1, 2], [1, 0, 4]], 4.0, 1.0),
        ([[2, 0, 0, 1], [0, 3, 0, 0]], 0.5, 0.5),
        ([[10, 12], [14, 2], [1, 1]], 30.0, 2.0),
    ],
)
def test_a_gibbs_sampler_of_200_000_sweeps_agrees_within_three_standard_errors(table, s, alpha0):
    mean, error = gibbs(table, s, alpha0, seed=1)
    assert error.max() < 2e-3
    assert np.all(np.abs(base(table, s, alpha0) - mean) < 3 * error)


def test_the_likelihood_of_the_judges_is_the_product_of_one_step_predictions():
    table, sizes, expected = np.array([[2.0, 1.0], [0.0, 3.0]]), (0.7, 1.8), 0.0
    for row in table:
        seen = np.zeros(2)
        for x, n in enumerate(row):
            for _ in range(int(n)):
                expected += math.log((sizes[x] + seen[x]) / (2.5 + seen.sum()))
                seen[x] += 1
    assert log_likelihood(table, *sizes) == pytest.approx(expected, rel=1e-12)
