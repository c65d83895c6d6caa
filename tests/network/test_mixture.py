from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import consilience as cs
from consilience.errors import InputError, UnknownNameError
from consilience.network.box import box_probability


def two_humps() -> cs.Mixture:
    return cs.Mixture(("bp",), [0.7, 0.3], [[120.0], [145.0]], [[[64.0]], [[144.0]]])


def plane() -> cs.Mixture:
    return cs.Mixture(
        ("x", "y"),
        [0.4, 0.6],
        [[0.0, 0.0], [2.0, -1.0]],
        [[[1.0, 0.5], [0.5, 2.0]], [[0.5, -0.3], [-0.3, 1.0]]],
    )


def test_moments_equal_those_of_many_draws():
    for belief in (two_humps(), plane()):
        drawn = belief.draw(200_000, seed=1).reshape(200_000, -1)
        np.testing.assert_allclose(drawn.mean(axis=0), np.atleast_1d(belief.mean), atol=0.15)
        np.testing.assert_allclose(np.cov(drawn.T), np.squeeze(belief.covariance), rtol=0.05)


def test_the_variance_has_a_part_within_and_a_part_between_components():
    belief = two_humps()
    mean = 0.7 * 120 + 0.3 * 145
    variance = 0.7 * (64 + (120 - mean) ** 2) + 0.3 * (144 + (145 - mean) ** 2)
    assert belief.mean == pytest.approx(mean)
    assert belief.variance == pytest.approx(variance)
    assert belief.sd == pytest.approx(math.sqrt(variance))


@pytest.mark.parametrize("p", [1e-9, 0.01, 0.5, 0.93, 1 - 1e-9])
def test_a_quantile_has_its_probability_below_it(p):
    assert two_humps().probability(None, two_humps().quantile(p)) == pytest.approx(p, abs=1e-12)


def test_quantiles_of_an_array_and_intervals():
    low, high = two_humps().interval(0.9)
    np.testing.assert_allclose(two_humps().quantile([0.05, 0.95]), [low, high])
    assert two_humps().probability(low, high) == pytest.approx(0.9)


def test_the_density_is_the_weighted_sum_of_normal_ones():
    x = np.array([110.0, 130.0, 150.0])
    expected = 0.7 * norm.pdf(x, 120, 8) + 0.3 * norm.pdf(x, 145, 12)
    np.testing.assert_allclose(two_humps().density(x), expected)
    assert two_humps().density(130.0) == pytest.approx(expected[1])
    at = np.array([[0.3, 0.1], [2.0, -2.0]])
    parts = zip(plane().weights, plane().means, plane().covariances, strict=True)
    expected = sum(w * multivariate_normal(m, c).pdf(at) for w, m, c in parts)
    np.testing.assert_allclose(plane().density(at), expected)


def test_a_box_of_two_variables_has_the_probability_of_draws():
    drawn = plane().draw(400_000, seed=2)
    inside = ((drawn > [-1, -2]) & (drawn < [2.5, 0.5])).all(axis=1).mean()
    assert plane().probability([-1, -2], [2.5, 0.5]) == pytest.approx(inside, abs=0.004)
    assert plane().probability([None, None], [None, None]) == pytest.approx(1.0)
    alone = plane().marginal("x").probability(-1, 2.5)
    assert plane().probability([-1, None], [2.5, None]) == pytest.approx(alone)


@pytest.mark.parametrize("rho", [-0.999999, -0.9, 0.0, 0.3, 0.99, 0.9999999])
def test_the_quadrant_of_two_correlated_variables_is_known(rho):
    covariance = np.array([[4.0, 2 * rho], [2 * rho, 1.0]])
    found = box_probability([0.0, 0.0], [np.inf, np.inf], np.zeros(2), covariance)
    assert found == pytest.approx(0.25 + math.asin(rho) / (2 * math.pi), abs=1e-9)


def test_the_octant_of_three_correlated_variables_is_known():
    covariance = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    found = box_probability([0.0] * 3, [np.inf] * 3, np.zeros(3), covariance)
    assert found == pytest.approx(0.25, abs=1e-4)


def test_a_box_counts_exact_relations():
    covariance = np.array([[1.0, 2.0], [2.0, 4.0]])
    found = box_probability([-1.0, 0.0], [1.0, 10.0], np.zeros(2), covariance)
    assert found == pytest.approx(norm.cdf(1) - 0.5, abs=1e-9)


def test_a_point_mass_is_in_a_closed_interval_and_has_no_density():
    sure = cs.Mixture(("dose",), [1.0], [[5.0]], [[[0.0]]])
    assert (sure.mean, sure.sd, sure.quantile(0.3)) == (5.0, 0.0, 5.0)
    assert sure.probability(5, 6) == sure.probability(4, 5) == 1.0
    assert sure.probability(5.5, 6) == 0.0
    assert sure.density([4.0, 5.0]).tolist() == [0.0, math.inf]
    assert sure.draw(3, seed=1).tolist() == [5.0] * 3


def test_a_marginal_is_the_distribution_of_one_variable():
    assert plane().marginal("y").mean == pytest.approx(plane().mean[1])
    assert plane().marginal("y").variance == pytest.approx(plane().covariance[1, 1])
    with pytest.raises(UnknownNameError, match="unknown variable 'z'"):
        plane().marginal("z")


def test_several_variables_have_no_single_quantile():
    with pytest.raises(InputError, match="quantile: this mixture is over 'x', 'y'"):
        plane().quantile(0.5)


@pytest.mark.parametrize("p", [0.0, 1.0, -1, [0.5, 2.0]])
def test_a_quantile_is_asked_for_by_a_probability(p):
    with pytest.raises(InputError, match="p must be between zero and one"):
        two_humps().quantile(p)


def test_bounds_and_points_must_fit_the_variables():
    with pytest.raises(InputError, match="a bound for each of 'x', 'y'"):
        plane().probability([0.0], [1.0, 2.0])
    with pytest.raises(InputError, match="need 2 numbers each"):
        plane().density(3.0)


@pytest.mark.parametrize(
    ("weights", "means", "covariances"),
    [
        ([1.0], [1.0], [[[1.0]]]),
        ([0.5, 0.6], [[1.0], [2.0]], [[[1.0]], [[1.0]]]),
        ([1.5, -0.5], [[1.0], [2.0]], [[[1.0]], [[1.0]]]),
        ([1.0], [[math.nan]], [[[1.0]]]),
    ],
    ids=["shape", "sum", "sign", "nan"],
)
def test_a_mixture_that_is_none_is_refused(weights, means, covariances):
    with pytest.raises(InputError, match="a mixture over 'x' needs"):
        cs.Mixture(("x",), weights, means, covariances)


def test_a_mixture_shows_its_moments_and_can_be_pickled():
    assert repr(two_humps()).splitlines() == [
        "Mixture over 'bp' (2 components)",
        "name  mean   sd",
        "bp    127.5  14.80709",
    ]
    again = pickle.loads(pickle.dumps(plane()))
    np.testing.assert_array_equal(again.covariances, plane().covariances)


def test_an_estimate_shows_its_standard_errors():
    points = cs.Mixture(
        ("x",), [0.5, 0.5], [[0.0], [1.0]], np.zeros((2, 1, 1)), np.array([0.01]), 900.0
    )
    assert str(points).splitlines()[0].split() == ["name", "mean", "sd", "standard", "error"]
    assert points.density(0.5) > 0  # of kernels in place of the points


def test_a_mixed_belief_needs_a_mixture_for_every_possible_state():
    ill = cs.Factor((cs.Variable("ill", ("no", "yes")),), np.array([0.8, 0.2]))
    with pytest.raises(InputError, match="a mixture for every state that is possible"):
        cs.MixedBelief(ill, {(0,): two_humps()})
    with pytest.raises(InputError, match="over the same variables"):
        cs.MixedBelief(ill, {(0,): two_humps(), (1,): plane()})


def test_a_mixed_belief_can_be_pickled_and_shown():
    ill = cs.Factor((cs.Variable("ill", ("no", "yes")),), np.array([0.8, 0.2]))
    belief = cs.MixedBelief(ill, {(0,): two_humps(), (1,): two_humps()})
    assert pickle.loads(pickle.dumps(belief))["yes"].mean == belief["yes"].mean
    assert repr(belief).startswith("MixedBelief over 'ill' and 'bp'")


def test_a_quantile_at_a_point_mass_is_the_point():
    half = cs.Mixture(("x",), [0.5, 0.5], [[0.0], [1.0]], [[[0.0]], [[1.0]]])
    assert (half.quantile(0.2), half.quantile(0.5)) == (0.0, 0.0)
    assert half.quantile(0.9) == pytest.approx(1.8416212, abs=1e-6)
