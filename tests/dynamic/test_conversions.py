"""Matrices of well-known models to networks in time, and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import InputError, ModelError

dynamic = cs.dynamic


@given(seed=st.integers(0, 10_000), n=st.integers(1, 4), order=st.integers(1, 3))
def test_a_vector_autoregression_comes_back(seed, n, order):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    if seed % 4 == 0:
        root[:, -1] = 0.0  # a singular covariance
    lags, constant = 0.4 * rng.normal(size=(order, n, n)), rng.normal(size=n)
    names = [f"v{i}" for i in range(n)]
    found = dynamic.to_var(dynamic.from_var(names, constant, list(lags), root @ root.T))
    np.testing.assert_allclose(found.coefficients, lags, atol=1e-10)
    np.testing.assert_allclose(found.covariance, root @ root.T, atol=1e-10)
    np.testing.assert_allclose(found.intercept, constant, atol=1e-10)


def test_well_conditioned_matrices_come_back_to_twelve_digits():
    rng = np.random.default_rng(0)
    for _ in range(20):
        root = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
        lags = [0.3 * rng.normal(size=(3, 3)) for _ in range(2)]
        found = dynamic.to_var(dynamic.from_var(["a", "b", "c"], [1, 2, 3], lags, root @ root.T))
        np.testing.assert_allclose(found.coefficients, lags, atol=1e-12)
        np.testing.assert_allclose(found.covariance, root @ root.T, rtol=1e-12, atol=1e-12)


def test_stable_ones_start_from_the_stationary_law():
    net = dynamic.from_var(["a"], [1.0], [[[0.5]]], [[3.0]])
    first = net.initial["a(0)"]
    assert float(first.intercept) == pytest.approx(2.0)
    assert float(first.variance) == pytest.approx(4.0)
    walk = dynamic.from_var(["a"], [0.0], [[[1.0]]], [[1.0]])
    assert walk.conditional == ("a(0)",)
    with pytest.raises(ModelError, match="no law for"):
        walk.sample(2, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "negative eigenvalue"),
        ({"covariance": [[1.0, 0.5], [0.2, 1.0]]}, "symmetric"),
        ({"intercept": [1.0]}, "intercept must be finite numbers of shape"),
        ({"coefficients": [[[1.0, 2.0]]]}, "coefficients must be finite"),
    ],
)
def test_matrices_that_are_none_are_refused(change, message):
    whole = {"intercept": [0.0, 0.0], "coefficients": [np.eye(2) * 0.5], "covariance": np.eye(2)}
    with pytest.raises(InputError, match=message):
        dynamic.from_var(["a", "b"], **{**whole, **change})


def test_a_hidden_markov_model_comes_back():
    rng = np.random.default_rng(1)
    tables = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(4), 3)
    net = dynamic.from_hmm(*tables, name="mood", observed="word")
    assert net.variables["mood"].states == ("1", "2", "3")
    for found, wanted in zip(dynamic.to_hmm(net), tables, strict=True):
        np.testing.assert_allclose(found, wanted)


def test_several_chains_flatten_into_one():
    rng = np.random.default_rng(2)
    graph = dynamic.hidden_markov(["x"], chains=["a", "b"])
    variables = {n: cs.Variable(n, ("1", "2")) for n in ("a", "b", "x")}
    before = {n: cs.Variable(f"{n}(t-1)", ("1", "2")) for n in ("a", "b")}
    tables = [
        cs.Categorical(variables[n], (before[n],), rng.dirichlet(np.ones(2), 2)) for n in ("a", "b")
    ]
    shown = cs.Categorical(
        variables["x"], (variables["a"], variables["b"]), rng.dirichlet(np.ones(2), (2, 2))
    )
    first = cs.Network.of(
        [cs.Categorical(cs.Variable(f"{n}(0)", ("1", "2")), (), [0.3, 0.7]) for n in ("a", "b")]
    )
    net = dynamic.DynamicNetwork(first, [*tables, shown], hidden=("a", "b"))
    assert set(net.dag.arcs) == set(graph.arcs)
    flat = dynamic.from_hmm(*dynamic.to_hmm(net))
    panel = dynamic.read_panel({"x": list("1221211")}, discrete=["x"])
    np.testing.assert_allclose(net.log_likelihood(panel), flat.log_likelihood(panel))


def test_networks_of_another_form_are_refused():
    hmm = dynamic.from_hmm([1, 0], [[0.5, 0.5], [0, 1]], np.eye(2))
    with pytest.raises(ModelError, match="to_var: 'z'"):
        dynamic.to_var(hmm)
    with pytest.raises(ModelError, match="no hidden node"):
        dynamic.to_hmm(dynamic.from_var(["a"], [0.0], [[[0.5]]], [[1.0]]))


def test_graphs_of_old_friends():
    graph = dynamic.hidden_markov(["x", "y"], chains=["z1", "z2"], autoregressive=["y"])
    assert graph.parents("y") == ("z1", "z2", "y(t-1)")
    assert graph.parents("z1") == ("z1(t-1)",)
    graph = dynamic.vector_autoregression(["a", "b"], order=2)
    assert graph.parents("b") == ("a(t-1)", "b(t-1)", "a(t-2)", "b(t-2)", "a")
