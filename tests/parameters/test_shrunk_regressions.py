"""Regressions from shrunk correlations."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs

NAMES = [f"x{i}" for i in range(6)]
GRAPH = cs.DAG([(name, "y") for name in NAMES])


def rows(n, seed, spread=0.3):
    rng = np.random.default_rng(seed)
    x, slopes = rng.normal(size=(n, len(NAMES))), spread * rng.normal(size=len(NAMES))
    columns = {**dict(zip(NAMES, x.T, strict=True)), "y": x @ slopes + rng.normal(size=n)}
    return columns, slopes


def slopes_of(columns, estimator):
    local = cs.fit(GRAPH, cs.read(columns), estimator)["y"]
    by_name = dict(zip([v.name for v in local.continuous], local.coefficients, strict=True))
    return np.array([by_name[name] for name in NAMES])


def test_they_are_those_of_the_shrunk_covariance():
    columns, _ = rows(20, 1)
    data = np.column_stack([columns[name] for name in (*NAMES, "y")])
    r = np.corrcoef(data.T)
    squares = r[np.triu_indices(7, 1)] ** 2
    share = ((1 - squares) ** 2).sum() / 19 / squares.sum()
    cov = np.cov(data.T) * np.where(np.eye(7, dtype=bool), 1.0, 1 - share)
    expected = np.linalg.solve(cov[:6, :6], cov[:6, 6])
    np.testing.assert_allclose(slopes_of(columns, cs.estimators.Shrinkage()), expected, rtol=1e-10)


def test_a_slope_that_is_shrunk_away_takes_no_row_from_the_variance():
    rng = np.random.default_rng(2)
    ratios = []
    for _ in range(20):
        columns = {name: rng.normal(size=12) for name in (*NAMES, "y")}
        local = cs.fit(GRAPH, cs.read(columns), cs.estimators.Shrinkage())["y"]
        ratios.append(float(local.sd) / np.std(columns["y"], ddof=1))
        assert local.posterior is None
    assert np.mean(ratios) < 1.1


def test_with_few_rows_they_err_less_than_least_squares_and_with_many_alike():
    errors = {cs.MLE(): 0.0, cs.estimators.Shrinkage(): 0.0}
    for seed in range(60):
        columns, truth = rows(14, seed)
        for estimator in errors:
            errors[estimator] += ((slopes_of(columns, estimator) - truth) ** 2).sum()
    plain, shrunk = errors.values()
    assert shrunk < 0.9 * plain
    columns, _ = rows(20_000, 3)
    apart = slopes_of(columns, cs.MLE()) - slopes_of(columns, cs.estimators.Shrinkage())
    assert np.abs(apart).max() < 5e-3


def test_a_child_without_parents_and_columns_that_say_nothing_keep_their_moments():
    table = cs.read({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, 2.0]}, continuous=["x", "y"])
    net = cs.fit(cs.DAG(nodes=["x", "y"]), table, cs.estimators.Shrinkage())
    assert net["x"].sd == pytest.approx(np.std([1.0, 2.0, 4.0], ddof=1))
