from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.data.variable import Variable
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.fusion.family_answers import Opinion

X, Z = Variable("x", ("a", "b", "c")), Variable("z", ("u", "v"))
DOSE, EFFECT = Variable("dose"), Variable("effect")
POOLS = [cs.fusion.LinearPool(), cs.fusion.LogarithmicPool(), cs.fusion.DemocraticPool()]


def said(table, known=None):
    local = Categorical(X, (Z,), np.asarray(table))
    seen = np.ones(2, bool) if known is None else np.asarray(known)
    return Opinion("s", local, seen)


def line(intercept, slope, sd, mean=0.0, variance=1.0):
    local = LinearGaussian(EFFECT, (DOSE,), intercept, [slope], sd)
    spread = {"mean": np.array([[mean]]), "covariance": np.array([[[variance]]])}
    return Opinion("s", local, np.ones(1, bool), **spread)


@st.composite
def tables(draw):
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    return [said(rng.dirichlet(np.ones(3), size=2)) for _ in range(draw(st.integers(2, 6)))], rng


@given(tables())
def test_the_linear_pool_is_the_weighted_mean(drawn):
    opinions, rng = drawn
    weights = rng.uniform(0.1, 1, len(opinions))
    expected = np.average([op.distribution.table for op in opinions], axis=0, weights=weights)
    np.testing.assert_allclose(cs.fusion.LinearPool().pool(opinions, weights).table, expected)


@given(tables())
def test_the_logarithmic_pool_is_the_normalised_product_of_powers(drawn):
    opinions, rng = drawn
    weights = rng.uniform(0.1, 1, len(opinions))
    powers = weights / weights.sum()
    product = np.prod(
        [op.distribution.table**w for op, w in zip(opinions, powers, strict=True)], axis=0
    )
    expected = product / product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cs.fusion.LogarithmicPool().pool(opinions, weights).table, expected)


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_unanimous_sources_keep_their_table(pool):
    table = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    found = pool.pool([said(table)] * 4, np.array([1.0, 2.0, 3.0, 4.0])).table
    np.testing.assert_allclose(found, table)


def test_the_majority_outvotes_a_source_that_is_far_off_in_each_parent_state():
    near = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    other = [[0.52, 0.28, 0.2], [0.8, 0.1, 0.1]]
    far = [[0.0, 0.1, 0.9], [0.12, 0.1, 0.78]]
    found = cs.fusion.DemocraticPool(within=0.1).pool(
        [said(near), said(other), said(far)], np.ones(3)
    )
    expected = [[0.51, 0.29, 0.2], [0.11, 0.1, 0.79]]
    np.testing.assert_allclose(found.table, expected)


def test_a_wide_cluster_is_the_linear_pool_and_tied_clusters_are_pooled_together():
    opinions = [said([[0.8, 0.1, 0.1]] * 2), said([[0.1, 0.1, 0.8]] * 2)]
    linear = cs.fusion.LinearPool().pool(opinions, np.ones(2)).table
    for within in (0.05, 0.99):
        np.testing.assert_allclose(
            cs.fusion.DemocraticPool(within).pool(opinions, np.ones(2)).table, linear
        )


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_a_source_has_no_say_about_parent_states_it_has_not_seen(pool):
    one = said([[0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3]], known=[True, False])
    two = said([[0.3, 0.2, 0.5], [0.1, 0.1, 0.8]])
    found = pool.pool([one, two], np.ones(2)).table
    np.testing.assert_allclose(found[1], [0.1, 0.1, 0.8])
    assert not np.allclose(found[0], [0.3, 0.2, 0.5])


def test_a_state_that_one_source_excludes_is_excluded_by_the_logarithmic_pool():
    found = cs.fusion.LogarithmicPool().pool(
        [said([[0.0, 0.5, 0.5]] * 2), said([[0.9, 0.05, 0.05]] * 2)], np.ones(2)
    )
    np.testing.assert_allclose(found.table, [[0, 0.5, 0.5]] * 2, atol=1e-100)


def test_the_logarithmic_pool_of_lines_is_the_normal_of_the_product_of_densities():
    one, two, weights = line(1.0, 2.0, 0.5), line(2.0, 1.0, 1.5), np.array([0.25, 0.75])
    found = cs.fusion.LogarithmicPool().pool([one, two], weights)
    grid = np.linspace(-20, 20, 40_001)
    for z in (-1.0, 0.7):
        logs = sum(
            w
            * (
                -0.5
                * (grid - op.distribution.intercept - op.distribution.coefficients[0] * z) ** 2
                / op.distribution.variance
            )
            for op, w in zip([one, two], weights, strict=True)
        )
        density = np.exp(logs - logs.max())
        density /= density.sum()
        mean = (density * grid).sum()
        assert mean == pytest.approx(float(found.intercept + found.coefficients[0] * z), abs=1e-8)
        sd = np.sqrt((density * (grid - mean) ** 2).sum())
        assert sd == pytest.approx(float(found.sd), abs=1e-6)


def test_the_linear_pool_of_lines_has_the_mean_and_the_average_variance_of_the_mixture():
    one, two = line(1.0, 2.0, 0.5, mean=3.0, variance=4.0), line(2.0, 1.0, 1.5, 3.0, 4.0)
    found = cs.fusion.LinearPool().pool([one, two], np.array([1.0, 3.0]))
    assert float(found.intercept) == pytest.approx(1.75)
    assert float(found.coefficients[0]) == pytest.approx(1.25)
    z = 3 + 2 * np.random.default_rng(1).standard_normal(400_000)
    apart = (1 + 2 * z) - (2 + z)  # weights 1/4 and 3/4: variance 3/16 of the squared difference
    expected = 0.25 * 0.25 + 0.75 * 2.25 + 3 / 16 * np.mean(apart**2)
    assert float(found.sd**2) == pytest.approx(expected, rel=0.01)


def test_the_democratic_pool_of_lines_leaves_out_the_one_that_is_far_off():
    near = [line(1.0, 2.0, 1.0), line(1.02, 1.98, 1.01)]
    found = cs.fusion.DemocraticPool(within=0.1).pool([*near, line(9.0, -2.0, 1.0)], np.ones(3))
    assert float(found.intercept) == pytest.approx(1.01)
    assert float(found.coefficients[0]) == pytest.approx(1.99)


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_logistic_nodes_are_pooled_by_the_mean_of_their_coefficients(pool):
    slopes = [[[0.0], [1.0], [2.0]], [[0.0], [3.0], [0.0]]]
    opinions = [
        Opinion("s", Logistic(X, (DOSE,), [0.0, 1.0, -1.0], slope), np.ones(1, bool))
        for slope in slopes
    ]
    found = pool.pool(opinions, np.ones(2))
    np.testing.assert_allclose(found.coefficients, np.mean(slopes, axis=0))
    logs = [
        op.distribution.log_probabilities(np.zeros(1, int), np.array([[0.4]])) for op in opinions
    ]
    expected = np.exp(np.mean(logs, axis=0))
    shown = np.exp(found.log_probabilities(np.zeros(1, int), np.array([[0.4]])))
    np.testing.assert_allclose(shown, expected / expected.sum())


@pytest.mark.parametrize("within", [0, 1, -0.5])
def test_how_far_a_cluster_may_reach_lies_between_zero_and_one(within):
    with pytest.raises(ValueError, match="DemocraticPool: within must be"):
        cs.fusion.DemocraticPool(within)
