from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import InputError, ModelError

rows = st.lists(st.floats(0.01, 1e4), min_size=2, max_size=6)


@given(rows)
def test_moments_are_those_of_the_dirichlet(a):
    posterior, oracle = DirichletPosterior(np.array([a])), stats.dirichlet(a)
    assert posterior.mean()[0] == pytest.approx(oracle.mean(), rel=1e-12)
    assert posterior.variance()[0] == pytest.approx(oracle.var(), rel=1e-9)


@given(rows, st.floats(0.01, 0.99))
def test_intervals_hold_the_stated_probability_with_equal_tails(a, level):
    a = np.array(a) + 0.5  # below it quantiles lie within rounding of 1, where the oracle is coarse
    low, high = DirichletPosterior(a).interval(level)
    for k, entry in enumerate(a):
        marginal = stats.beta(entry, a.sum() - entry)
        assert marginal.cdf(low[k]) == pytest.approx((1 - level) / 2, abs=1e-6)
        assert marginal.sf(high[k]) == pytest.approx((1 - level) / 2, abs=1e-6)


def test_draws_have_the_mean_and_variance_of_the_posterior():
    posterior = DirichletPosterior(np.array([[0.5, 1.0, 3.0], [20.0, 0.1, 5.0]]))
    rng = np.random.default_rng(1)
    draws = np.array([posterior.draw(rng) for _ in range(20_000)])
    error = np.sqrt(posterior.variance() / len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - posterior.mean()) < 5 * error)
    assert draws.var(axis=0) == pytest.approx(posterior.variance(), rel=0.1)


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-6, 1e-3, 1e12])
def test_draws_are_distributions_at_any_concentration(size):
    posterior = DirichletPosterior(np.full((500, 3), size))
    draws = posterior.draw(np.random.default_rng(1))
    assert draws.sum(axis=1) == pytest.approx(np.ones(500))
    assert (draws >= 0).all()


def test_a_tiny_concentration_draws_each_corner_alike():
    draws = DirichletPosterior(np.full((3000, 3), 1e-6)).draw(np.random.default_rng(1))
    assert np.bincount(draws.argmax(axis=1)) == pytest.approx([1000] * 3, abs=150)
    assert draws.max(axis=1).min() > 0.999


def test_entries_without_concentration_are_zero_with_certainty():
    posterior = DirichletPosterior(np.array([[0.0, 2.0, 3.0], [0.0, 1e-300, 0.0]]))
    low, high = posterior.interval(0.9)
    assert posterior.mean()[:, 0].tolist() == low[:, 0].tolist() == high[:, 0].tolist() == [0, 0]
    assert low[1].tolist() == high[1].tolist() == [0, 1, 0]
    assert posterior.variance()[:, 0].tolist() == [0, 0]
    assert posterior.draw(np.random.default_rng(1))[:, 0].tolist() == [0, 0]


def test_a_single_state_is_certain():
    posterior = DirichletPosterior(np.array([[4.0]]))
    assert posterior.mean() == posterior.interval(0.5)[0] == posterior.interval(0.5)[1] == 1
    assert posterior.variance() == 0


def test_small_concentrations_beside_large_ones_are_not_lost():
    low, high = DirichletPosterior(np.array([1e12, 1e-3, 1e-3])).interval(0.5)
    assert high[1] < 1e-12
    assert low[0] > 1 - 1e-12


def test_the_same_seed_draws_the_same_table():
    posterior = DirichletPosterior(np.ones((2, 3)))
    first, second = (posterior.draw(np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first, second)


def test_it_does_not_change():
    array = np.ones((2, 2))
    posterior = DirichletPosterior(array)
    array[0, 0] = 9
    assert posterior.concentration.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        posterior.concentration[0, 0] = 2


@pytest.mark.parametrize("array", [[], 1.0, [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_what_is_no_concentration_is_refused(array):
    with pytest.raises(ModelError, match="concentration"):
        DirichletPosterior(np.array(array))


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, np.nan])
def test_a_level_outside_the_unit_interval_is_refused(level):
    with pytest.raises(InputError, match="between 0 and 1"):
        DirichletPosterior(np.ones(2)).interval(level)
