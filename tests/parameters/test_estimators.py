from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import InputError, ModelError, UnknownNameError

ESTIMATORS = [
    cs.MLE(),
    cs.Dirichlet(),
    cs.Dirichlet(ess=10),
    cs.Dirichlet(per_parent_state=3),
    cs.Dirichlet(per_cell=0.5),
    cs.estimators.Shrinkage(),
    cs.estimators.Shrinkage(to_margin=True),
]


def small_table(n_rows: int = 40, seed: int = 0) -> cs.Table:
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    return cs.random_network(dag, n_states={"a": 2, "b": 3, "c": 2}, seed=8).sample(
        n_rows, seed=seed
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@given(n_rows=st.integers(1, 30), seed=st.integers(0, 50))
def test_every_estimator_gives_distributions(estimator, n_rows, seed):
    net = cs.fit(cs.DAG.parse("[a][b|a][c|a:b]"), small_table(n_rows, seed), estimator)
    for local in net.distributions.values():
        assert np.all(local.table >= 0)
        np.testing.assert_allclose(local.table.sum(axis=-1), 1)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_estimator_minds_the_order_of_rows_or_weights_for_repetition(estimator):
    dag, table = cs.DAG.parse("[a][b|a][c|a:b]"), small_table()
    shuffled = table.take(np.random.default_rng(1).permutation(table.n_rows))
    for other in (shuffled, table.distinct()):
        one, two = cs.fit(dag, table, estimator), cs.fit(dag, other, estimator)
        for name in "abc":
            np.testing.assert_array_equal(one[name].table, two[name].table)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_estimator_approaches_the_truth(estimator):
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    truth = cs.random_network(dag, n_states=3, total=9, seed=2)
    net = cs.fit(dag, truth.sample(200_000, seed=3), estimator)
    assert cs.kl_divergence(truth, net) < 1e-3


def test_maximum_likelihood_is_the_relative_frequency():
    table = cs.read({"x": ["u", "u", "v"], "y": ["p", "q", "q"]})
    net = cs.fit(cs.DAG([("x", "y")]), table, cs.MLE())
    np.testing.assert_allclose(net["x"].table, [2 / 3, 1 / 3])
    np.testing.assert_allclose(net["y"].table, [[0.5, 0.5], [0.0, 1.0]])


def test_a_row_never_seen_is_uniform_and_reported():
    table = cs.read({"x": ["u", "u"], "y": ["p", "q"]}, states={"x": ["u", "v", "w"]})
    net = cs.fit(cs.DAG([("x", "y")]), table, cs.MLE())
    np.testing.assert_allclose(net["y"].table[1:], 0.5)
    assert net.record.unidentified == {"x": 0, "y": 2}


@pytest.mark.parametrize(
    ("estimator", "cell"),
    [
        (cs.Dirichlet(), 1 / 4),
        (cs.Dirichlet(ess=6), 6 / 4),
        (cs.Dirichlet(per_parent_state=6), 3),
        (cs.Dirichlet(per_cell=6), 6),
        (cs.Dirichlet(tables={"x": [1, 1], "y": [[6, 6], [6, 6]]}), 6),
    ],
    ids=repr,
)
def test_the_size_of_a_dirichlet_prior_is_said_in_several_ways(estimator, cell):
    table = cs.read({"x": ["u", "u", "v"], "y": ["p", "q", "q"]})
    net = cs.fit(cs.DAG([("x", "y")]), table, estimator)
    counts = np.array([[1, 1], [0, 1]])
    expected = (counts + cell) / (counts + cell).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(net["y"].table, expected)
    np.testing.assert_allclose(net["y"].posterior.concentration, counts + cell)


def test_a_prior_network_spreads_its_weight_by_its_joint_distribution():
    x, y = cs.Variable("x", ("v", "u")), cs.Variable("y", ("p", "q"))
    prior = cs.Network.of(
        [
            cs.Categorical(x, (), np.array([0.2, 0.8])),
            cs.Categorical(y, (x,), np.array([[0.5, 0.5], [0.1, 0.9]])),
        ]
    )
    table = cs.read({"x": ["u", "u", "v"], "y": ["p", "q", "q"]})
    net = cs.fit(cs.DAG([("x", "y")]), table, cs.Dirichlet(ess=10, network=prior))
    np.testing.assert_allclose(net["y"].posterior.concentration, [[1.8, 8.2], [1, 2]])
    np.testing.assert_allclose(net["x"].posterior.concentration, [10, 3])


def test_shrinkage_follows_its_formula():
    table = cs.read({"x": ["p"] * 7 + ["q"] * 3})
    net = cs.fit(cs.DAG(nodes=["x"]), table, cs.estimators.Shrinkage())
    share = (1 - 0.49 - 0.09) / (9 * (0.04 + 0.04))
    np.testing.assert_allclose(net["x"].table, share * 0.5 + (1 - share) * np.array([0.7, 0.3]))


@pytest.mark.parametrize(("n_rows", "expected"), [(1, [0.5, 0.5]), (2, [1.0, 0.0])])
def test_shrinkage_of_one_row_is_its_target_and_of_equal_rows_none(n_rows, expected):
    table = cs.read({"x": ["p"] * n_rows}, states={"x": ["p", "q"]})
    net = cs.fit(cs.DAG(nodes=["x"]), table, cs.estimators.Shrinkage())
    np.testing.assert_allclose(net["x"].table, expected)


@pytest.mark.parametrize("name", ["ess", "per_parent_state", "per_cell"])
@pytest.mark.parametrize("size", [0, -1.0, float("nan"), float("inf")])
def test_a_prior_must_have_a_positive_size(name, size):
    with pytest.raises(InputError, match=f"Dirichlet: {name} must be positive, got"):
        cs.Dirichlet(**{name: size})


def test_a_prior_is_said_in_one_way():
    with pytest.raises(InputError, match="in one way, not in 'ess', 'per_cell'"):
        cs.Dirichlet(ess=1, per_cell=1)


def test_a_prior_table_needs_the_shape_of_the_table():
    table = cs.read({"x": ["u", "v"]})
    with pytest.raises(InputError, match=r"prior table of 'x' must have shape \(2,\)"):
        cs.fit(cs.DAG(nodes=["x"]), table, cs.Dirichlet(tables={"x": [1, 1, 1]}))
    with pytest.raises(UnknownNameError, match="unknown prior table 'x'"):
        cs.fit(cs.DAG(nodes=["x"]), table, cs.Dirichlet(tables={}))


def test_intervals_hold_the_mean_and_narrow_with_rows():
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    widths = []
    for n_rows in (50, 5000):
        net = cs.fit(dag, small_table(n_rows))
        low, high = cs.estimators.parameter_intervals(net, "c", level=0.9)
        assert np.all((low <= net["c"].table) & (net["c"].table <= high))
        widths.append((high - low).mean())
    assert widths[1] < widths[0] / 3


def test_draws_are_networks_around_the_posterior_mean():
    net = cs.fit(cs.DAG.parse("[a][b|a][c|a:b]"), small_table(300), cs.Dirichlet())
    tables = np.stack([one["c"].table for one in cs.draws(net, 1000, seed=1)])
    sd = np.sqrt(net["c"].posterior.variance() / 1000)
    assert np.all(np.abs(tables.mean(axis=0) - net["c"].table) < 5 * sd + 1e-12)


def test_an_estimator_without_a_posterior_says_so():
    net = cs.fit(cs.DAG.parse("[a][b|a]"), small_table(), cs.MLE())
    with pytest.raises(ModelError, match="'b' has no posterior"):
        cs.estimators.parameter_intervals(net, "b")
    with pytest.raises(ModelError, match="no posterior"):
        cs.draws(net, 3)
