"""Partial correlations against inversion, moral graphs and regressions."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError, InputError, ModelError
from consilience.graph.moral import moral_graph


def random_gaussian(rng, n):
    variables = [cs.Variable(f"x{i}") for i in range(n)]
    local = []
    for i, child in enumerate(variables):
        parents = tuple(v for v in variables[:i] if rng.random() < 0.35)
        slopes = rng.normal(size=len(parents))
        local.append(cs.LinearGaussian(child, parents, rng.normal(), slopes, rng.uniform(0.3, 3)))
    return cs.Network.of(local)


def implied_covariance(net):
    names = list(net.variables)
    B = np.zeros((len(names), len(names)))
    for i, name in enumerate(names):
        for parent, slope in zip(net[name].parents, net[name].coefficients, strict=True):
            B[i, names.index(parent)] = slope
    inverse = np.linalg.inv(np.eye(len(names)) - B)
    return inverse @ np.diag([float(net[n].variance) for n in names]) @ inverse.T


def partial(covariance):
    omega = np.linalg.inv(covariance)
    size = np.sqrt(np.diag(omega))
    values = -omega / np.outer(size, size)
    np.fill_diagonal(values, 1.0)
    return omega, values


def test_on_200_networks_they_are_those_of_the_inverse_and_zero_off_the_moral_graph():
    for seed in range(200):
        net = random_gaussian(np.random.default_rng(seed), 7)
        found = cs.partial_correlations(net)
        omega, values = partial(implied_covariance(net))
        np.testing.assert_allclose(found.precision, omega, atol=1e-10 * np.abs(omega).max())
        np.testing.assert_allclose(found.values, values, atol=1e-10)
        edges = {frozenset((a, b)) for a, near in moral_graph(net.dag).items() for b in near}
        for i, a in enumerate(found.names):
            for b in found.names[i + 1 :]:
                assert (found[a, b] != 0.0) == (frozenset((a, b)) in edges)


def test_some_variables_of_a_network_are_those_of_their_own_covariance():
    net = random_gaussian(np.random.default_rng(3), 6)
    some, places = ["x4", "x0", "x2"], [4, 0, 2]
    _, values = partial(implied_covariance(net)[np.ix_(places, places)])
    np.testing.assert_allclose(cs.partial_correlations(net, some).values, values, atol=1e-10)


def test_those_of_rows_are_correlations_of_what_all_others_leave():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 1e4
    table = cs.read(dict(zip("abcd", values.T, strict=True)))
    rest = np.column_stack([np.ones(60), values[:, 2:]])
    left = values[:, :2] - rest @ np.linalg.lstsq(rest, values[:, :2], rcond=None)[0]
    found = cs.partial_correlations(table)
    assert found["a", "b"] == pytest.approx(np.corrcoef(left.T)[0, 1], rel=1e-8)
    np.testing.assert_allclose(found.precision, np.linalg.inv(np.cov(values.T)), rtol=1e-7)
    assert "a" in repr(found)


def test_what_has_no_partial_correlations_is_refused_by_name():
    g, x, y = cs.Variable("g", ("a", "b")), cs.Variable("x"), cs.Variable("y")
    mixed = [
        cs.Categorical(g, (), [0.5, 0.5]),
        cs.LinearGaussian(x, (g,), [0, 1], np.zeros((2, 0)), [1, 1]),
    ]
    with pytest.raises(ModelError, match="'g' is discrete"):
        cs.partial_correlations(cs.Network.of(mixed))
    exact = [cs.LinearGaussian(x, (), 0, [], 1), cs.LinearGaussian(y, (x,), 0, [1], 0)]
    with pytest.raises(ModelError, match="'y' is a function of its parents"):
        cs.partial_correlations(cs.Network.of(exact))
    line = np.arange(10) + 0.25
    with pytest.raises(DataError, match="functions of the others"):
        cs.partial_correlations({"x": line, "y": 2 * line})
    with pytest.raises(InputError, match="at least two"):
        cs.partial_correlations({"x": line})


def test_names_are_different_continuous_variables():
    rng = np.random.default_rng(0)
    table = cs.read({"g": ["a", "b"] * 10, "x": rng.normal(size=20), "y": rng.normal(size=20)})
    net = cs.fit(cs.DAG([("x", "y")]), table.select(["x", "y"]))
    for of in (net, table):
        with pytest.raises(InputError, match="different variables, got 'x', 'x'"):
            cs.partial_correlations(of, ["x", "x"])
        with pytest.raises(InputError, match="different variables, got none"):
            cs.partial_correlations(of, [])
    with pytest.raises(InputError, match="'g' is discrete"):
        cs.partial_correlations(table, ["g", "x"])
