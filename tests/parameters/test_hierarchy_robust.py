"""Whatever the counts, the hierarchy's answers are distributions, alike under relabelling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hierarchy_oracles import two_states
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from source_tables import DAG, table_of

import consilience as cs
from consilience.errors import InputError, MemoryLimitError
from consilience.parameters import hierarchical
from consilience.parameters.hierarchy import solve
from consilience.parameters.strength import Gamma, PerState

STRENGTHS = [1e-6, 0.3, 1.0, 10.0, 1e6, PerState(1), Gamma(4, 0.1)]
counts_of_all_sizes = st.sampled_from([0, 0, 0, 1, 2, 3, 7, 40, 1500, 10**6])
cells = arrays(
    np.float64, array_shapes(min_dims=3, max_dims=3, max_side=4), elements=counts_of_all_sizes
)
fractions = arrays(
    np.float64,
    array_shapes(min_dims=3, max_dims=3, max_side=4),
    elements=st.sampled_from([0.0, 2**-36, 1e-6, 0.25, 0.999, 1.0, 3.5, 2000.25]),
)
strengths = st.sampled_from(STRENGTHS)
priors = st.sampled_from([1e-3, 0.5, 1.0, 20.0])


def assert_are_distributions(values):
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    np.testing.assert_allclose(values.sum(axis=-1), 1.0, atol=1e-12)


@given(counts=cells | fractions, s=strengths, alpha0=priors)
def test_every_table_of_counts_has_a_finite_posterior(counts, s, alpha0):
    found = solve(counts, s, alpha0)
    assert_are_distributions(found.mean())
    assert (found.mean() > 0).all()
    assert np.isfinite(found.variance()).all()
    assert (found.variance() >= 0).all()
    assert math.isfinite(found.log_evidence)
    assert_are_distributions(found.draw(np.random.default_rng(0), 3))


@pytest.mark.parametrize("s", [1e-300, 1e-30, 1e9, 1e13, 1e18])
@pytest.mark.parametrize(
    "table",
    [
        [[5000, 4000], [3000, 6000]],
        [[10**9, 3], [0, 2 * 10**9]],
        [[0.3, 1e-12], [0.2, 0]],
        [[1e-9, 70.25], [0, 1.5]],
    ],
)
@pytest.mark.parametrize("alpha0", [1e-300, 1e-3, 1e8])
def test_extreme_numbers_do_no_harm(table, s, alpha0):
    found = solve(np.array([table], float), s, alpha0)
    assert_are_distributions(found.mean())
    assert math.isfinite(found.log_evidence)


@given(counts=cells, s=strengths, alpha0=priors, seed=st.integers(0, 99))
def test_relabelled_groups_states_and_batches_relabel_the_answer(counts, s, alpha0, seed):
    rng = np.random.default_rng(seed)
    batches, groups, states = (rng.permutation(n) for n in counts.shape)
    one = solve(counts, s, alpha0)
    two = solve(np.ascontiguousarray(counts[batches][:, groups][:, :, states]), s, alpha0)
    # Counts above 1024 enter in blocks, scaled by a guess that depends on the order.
    assert one.log_evidence == pytest.approx(two.log_evidence, rel=1e-9, abs=1e-6)
    expected = one.mean()[batches][:, groups][:, :, states]
    np.testing.assert_allclose(two.mean(), expected, rtol=1e-5, atol=1e-8)


@given(counts=arrays(np.int64, (3, 2, 3), elements=counts_of_all_sizes), s=strengths)
@pytest.mark.parametrize("kind", [cs.HDS, cs.HDMJS, cs.HDMCS, cs.estimators.Adaptive])
def test_every_table_of_counts_can_be_fitted(kind, counts, s):
    net = cs.fit(DAG, table_of(counts), kind(s=s))
    for local in net.distributions.values():
        assert_are_distributions(local.table)
    for family in net.record.pooling.values():
        assert np.isfinite(list(family.values())).all()


@pytest.mark.parametrize("kind", [cs.HDS, cs.HDMJS, cs.HDMCS, cs.estimators.Adaptive])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 2), (3, 1, 2), (3, 3, 1), (2, 2, 5)])
def test_tables_of_one_source_one_parent_state_or_one_state_can_be_fitted(kind, shape):
    for scale in (1, 10**6, 0.3):
        counts = np.arange(np.prod(shape)).reshape(shape) * scale + scale
        for s in (1e-6, 1e6):
            net = cs.fit(DAG, table_of(counts), kind(s=s))
            assert_are_distributions(net["x"].table)


# Variances, draws and intervals.


def test_a_posterior_without_enough_memory_for_its_draws_says_so(monkeypatch):
    net = cs.fit(DAG, table_of(np.ones((2, 2, 2))), cs.HDMCS())
    monkeypatch.setattr(hierarchical, "MEMORY_LIMIT", 100)
    with pytest.raises(MemoryLimitError, match=r"4000 draws of a table of shape \(3, 2, 2\)"):
        cs.estimators.parameter_intervals(net, "x")


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5])
def test_the_level_of_an_interval_lies_between_zero_and_one(level):
    net = cs.fit(DAG, table_of(np.ones((2, 2, 2))), cs.HDMCS())
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        cs.estimators.parameter_intervals(net, "x", level=level)


TABLES = [
    [[[3, 1, 0], [0, 2, 5], [0, 0, 0]]],
    [[[30, 10, 4], [12, 7, 15]], [[0, 1, 0], [2, 0, 0]]],
]


@pytest.mark.parametrize("counts", TABLES)
@pytest.mark.parametrize("s", [0.5, 4.0, Gamma(2, 0.5)])
def test_draws_have_the_exact_means_and_variances(counts, s):
    found = solve(np.array(counts, float), s, 1.0)
    draws = found.draw(np.random.default_rng(4), 200_000)
    deviation = draws - found.mean()
    variance = found.variance()
    np.testing.assert_array_less(
        np.abs(deviation.mean(axis=0)), 4 * np.sqrt(variance / len(draws)) + 1e-12
    )
    of_square = (deviation**2).std(axis=0) / math.sqrt(len(draws))
    np.testing.assert_array_less(
        np.abs((deviation**2).mean(axis=0) - variance), 4 * of_square + 1e-12
    )


def test_variances_of_two_states_agree_with_quadrature():
    table = [[3, 1], [0, 2], [0, 0], [20, 9]]
    *_, expected, _ = two_states(table, 2.5, 1.0)
    found = solve(np.array([table], float), 2.5, 1.0).variance()[0]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-10)
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-10)


def test_draws_of_groups_lean_the_same_way():
    # Two empty groups share the base: their covariance is Var[a].
    found = solve(np.array([[[3, 1], [0, 0], [0, 0]]], float), 4.0, 1.0)
    draws = found.draw(np.random.default_rng(1), 100_000)[:, 0, :, 0]
    expected = found.square()[0, 0, 0] - found.base[0, 0, 0] ** 2
    assert np.cov(draws[:, 1], draws[:, 2])[0, 1] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("kind", [cs.HDS, cs.HDMCS, cs.HDMJS])
def test_intervals_hold_their_share_of_the_draws(kind):
    counts = np.array([[[6, 2], [1, 5]], [[0, 0], [9, 3]]])
    net = cs.fit(DAG, table_of(counts), kind(s=3.0))
    low, high = cs.estimators.parameter_intervals(net, "x", level=0.8)
    assert (low < net["x"].table).all()
    assert (net["x"].table < high).all()
    draws = np.stack([one["x"].table for one in cs.draws(net, 800, seed=7)])
    share = ((low <= draws) & (draws <= high)).mean(axis=0)
    np.testing.assert_allclose(share, 0.8, atol=0.05)
    np.testing.assert_allclose(draws.var(axis=0), net["x"].posterior.variance(), rtol=0.2)
