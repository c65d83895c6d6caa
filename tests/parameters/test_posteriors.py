"""Posteriors of tables: what little is known with a weak tie, and sources kept apart."""

from __future__ import annotations

import numpy as np
import pytest
from source_tables import DAG, table_of

import consilience as cs
from consilience.errors import ModelError
from consilience.parameters.hierarchy import solve, solve_each

# Counts of p -> x in two sources; nobody has seen p1: (sources, states of p, of x).
UNSEEN = np.array([[[4, 2, 0], [0, 0, 0]], [[1, 3, 1], [0, 0, 0]]])


def fitted(estimator, counts=UNSEEN):
    return cs.fit(DAG, table_of(counts), estimator)


@pytest.mark.parametrize("s", [1e-6, 1e-30, 1e-300])
@pytest.mark.parametrize("kind", [cs.HDMJS, cs.HDMCS])
def test_what_nobody_has_seen_may_be_anything_however_weak_the_tie(kind, s):
    net = fitted(kind(s=s))
    low, high = cs.estimators.parameter_intervals(net, "x", level=0.9)
    np.testing.assert_array_equal(low[:, 1], np.zeros((3, 3)))
    np.testing.assert_array_equal(high[:, 1], np.ones((3, 3)))
    # One state has everything, each with the same chance: the variance of a coin of 1/3.
    np.testing.assert_allclose(net["x"].posterior.variance()[:, 1], 2 / 9, atol=0.02)


@pytest.mark.parametrize("s", [1e-6, 1e-300])
def test_a_weak_tie_leaves_what_is_known_alone(s):
    net = fitted(cs.HDMJS(s=s))
    own = UNSEEN[0, 0] / UNSEEN[0, 0].sum()
    np.testing.assert_allclose(net["x"].table[0, 0], own, atol=1e-5)
    variance = net["x"].posterior.variance()[0, 0]
    np.testing.assert_allclose(variance, own * (1 - own) / 7, atol=0.003)


@pytest.mark.parametrize("alpha0", [1e-3, 1.0])
@pytest.mark.parametrize("s", [1e-300, 1e-6, 1.0, 1e9])
def test_draws_are_distributions_at_every_strength(s, alpha0):
    for one in cs.draws(fitted(cs.HDMJS(s=s, alpha0=alpha0)), 20, seed=1):
        assert np.isfinite(one["x"].table).all()
        np.testing.assert_allclose(one["x"].table.sum(axis=-1), 1, rtol=1e-12)


# Counts of p -> x in two sources: gaps, one row in all, and a hundred thousand beside none.
SPARSE = np.array([[[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]])
SKEWED = np.array([[[100_000, 0, 0], [0, 0, 1]], [[0, 50_000, 1], [0, 0, 0]]])


@pytest.mark.parametrize("s", [1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("counts", [UNSEEN, SPARSE, SKEWED, UNSEEN / 4], ids=list("abcd"))
def test_a_weak_tie_of_joint_states_leaves_everything_finite_and_possible(counts, s):
    net = fitted(cs.HDMJS(s=s), counts)
    table, posterior = net["x"].table, net["x"].posterior
    assert table.min() > 0
    np.testing.assert_allclose(table.sum(axis=-1), 1, rtol=1e-12)
    variance = posterior.variance()
    assert ((variance >= 0) & (variance <= 0.2501)).all()  # at most that of a fair coin
    low, high = posterior.interval(0.9)
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    for one in cs.draws(net, 30, seed=3):
        np.testing.assert_allclose(one["x"].table.sum(axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize("s", [1e-3, 1e-6])
def test_variances_of_joint_states_are_those_of_the_draws_with_a_weak_tie(s):
    net = fitted(cs.HDMJS(s=s))
    drawn = np.stack([one["x"].table for one in cs.draws(net, 800, seed=5)])
    # Of 800 draws of a coin the variance has a standard error of at most 0.25 sqrt(2 / 800).
    np.testing.assert_allclose(drawn.var(axis=0), net["x"].posterior.variance(), atol=0.04)


def test_a_state_is_drawn_in_proportion_to_its_share_of_the_base():
    net = fitted(cs.HDMJS(s=1e-9), np.array([[[60, 20, 20], [0, 0, 1]]]))
    drawn = np.mean([one["x"].table[1, 1] for one in cs.draws(net, 1500, seed=2)], axis=0)
    # Of the new source only the base is known: one table for each state that was seen.
    expected = np.array([1, 1, 2]) / 4
    np.testing.assert_allclose(drawn, expected, atol=4 * np.sqrt(0.25 / 1500))


def test_separate_keeps_every_posterior():
    net = fitted(cs.Separate(cs.HDMCS(s=2.0)))
    posterior = net["x"].posterior
    alone = [fitted(cs.Pooled(cs.HDMCS(s=2.0)), UNSEEN[f : f + 1])["x"].posterior for f in range(2)]
    np.testing.assert_array_equal(posterior.variance(), [one.variance() for one in alone])
    low, high = cs.estimators.parameter_intervals(net, "x", level=0.9)
    np.testing.assert_array_equal(low[1], alone[1].interval(0.9)[0])
    assert (low < high).all()
    assert posterior.is_exact
    [drawn] = cs.draws(net, 1, seed=1)
    np.testing.assert_allclose(drawn["x"].table.sum(axis=-1), 1)


@pytest.mark.parametrize("inner", [cs.HDS(), cs.HDMCS(s=2.0), cs.HDMJS()], ids=repr)
def test_pooled_keeps_the_posterior_of_all_rows_together(inner):
    net = fitted(cs.Pooled(inner))
    together = fitted(cs.Pooled(inner), UNSEEN.sum(axis=0, keepdims=True))
    for name in ("p", "x"):
        posterior, expected = net[name].posterior, together[name].posterior
        np.testing.assert_array_equal(posterior.variance(), expected.variance())
    low, high = cs.estimators.parameter_intervals(net, "x", level=0.9)
    assert ((low <= net["x"].table) & (net["x"].table <= high)).all()
    [drawn] = cs.draws(net, 1, seed=1)
    np.testing.assert_allclose(drawn["x"].table.sum(axis=-1), 1)


@pytest.mark.parametrize("outer", [cs.Pooled, cs.Separate])
def test_an_estimator_without_a_posterior_has_none_inside_another(outer):
    net = fitted(outer(cs.MLE()))
    with pytest.raises(ModelError, match="'x' has no posterior"):
        cs.estimators.parameter_intervals(net, "x")


def test_separate_says_which_tables_were_not_solved_exactly():
    rough = fitted(cs.Separate(cs.HDMCS()), UNSEEN + 0.25)
    assert not rough["x"].posterior.is_exact
    assert "collapsed variational Bayes" in rough.record.notes[0]


@pytest.mark.parametrize("estimator", [cs.HDS(), cs.HDMCS(s=3.0), cs.HDMJS()], ids=repr)
def test_tables_solved_together_are_those_solved_alone(estimator):
    rng = np.random.default_rng(4)
    sizes = {"a": 2, "b": 3, "c": 4, "d": 2}
    columns = {name: rng.integers(0, n, 200).astype(str) for name, n in sizes.items()}
    table = cs.read(columns | {"place": np.repeat(["n", "s"], 100)}, source="place")
    families = [cs.Family("a"), cs.Family("b", ("a",)), cs.Family("c", ("a", "b")), cs.Family("d")]
    counts = cs.count(table, families, by_source=True)
    for one, other in zip(estimator.estimate(counts), counts, strict=True):
        [alone] = estimator.estimate([other])
        np.testing.assert_array_equal(one.table, alone.table)
        np.testing.assert_array_equal(one.posterior.variance(), alone.posterior.variance())
    assert estimator.estimate([]) == []


def test_counts_that_were_handed_over_stay_free():
    counts = np.array([[[3.0, 1.0], [0.0, 2.0]]])
    [found] = solve_each([counts], 1.0, 1.0)
    counts[:] = 7.0
    np.testing.assert_array_equal(found.counts, [[[3.0, 1.0], [0.0, 2.0]]])
    with pytest.raises(ValueError, match="read-only"):
        found.counts[0, 0, 0] = 1.0


def test_whole_and_fractional_tables_may_be_solved_in_one_call():
    whole, fraction = np.array([[[3.0, 1.0], [0.0, 2.0]]]), np.array([[[0.5, 1.0], [2.0, 0.25]]])
    both = solve_each([whole, fraction], 1.0, 1.0)
    assert [one.is_exact for one in both] == [(True,), (False,)]
    for one, counts in zip(both, (whole, fraction), strict=True):
        alone = solve(counts, 1.0, 1.0)
        np.testing.assert_array_equal(one.base, alone.base)
        assert one.log_evidence == alone.log_evidence
