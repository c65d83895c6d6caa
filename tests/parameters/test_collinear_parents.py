"""Estimators of regressions whose columns are nearly functions of each other."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError

NEARNESS = [1e-3, 1e-5, 1e-7, 1e-8]
DAG = cs.DAG([("x", "z"), ("y", "z")])

nearness = pytest.mark.parametrize("e", NEARNESS)


def columns_of(e, n=100, seed=0):
    rng = np.random.default_rng(seed)
    x, u = rng.normal(1.0, 1.0, n), rng.normal(size=n)
    y = x + e * u
    return {"x": x, "y": y, "z": x - 2 * y + 3 * u + rng.normal(size=n)}


def ridge(columns, precision):
    """Slopes with a penalty on standardized parents x and y of z, with fifty digits."""
    with localcontext(prec=50):
        x, y, z = ([Decimal(float(v)) for v in columns[name]] for name in "xyz")
        n = len(x)
        (x, sx), (y, sy), (z, _) = ((_centered(one, n)) for one in (x, y, z))
        x, y = [v / sx for v in x], [v / sy for v in y]
        a, b, c = _dot(x, x) + precision, _dot(x, y), _dot(y, y) + precision
        p, q = _dot(x, z), _dot(y, z)
        size = a * c - b * b
        return float((c * p - b * q) / size / sx), float((a * q - b * p) / size / sy)


def _centered(values, n):
    mean = sum(values) / n
    away = [v - mean for v in values]
    return away, (_dot(away, away) / n).sqrt()


def _dot(a, b):
    return sum(map(Decimal.__mul__, a, b))


@nearness
def test_posterior_means_are_those_of_ridge_regression_with_fifty_digits(e):
    columns = columns_of(e)
    net = cs.fit(DAG, cs.read(columns), gaussian=cs.estimators.NormalInverseGamma(precision=0.5))
    expected = ridge(columns, Decimal("0.5"))
    np.testing.assert_allclose(net["z"].coefficients, expected, rtol=1e-10)


@nearness
def test_sources_without_spread_have_the_regression_of_all_rows(e):
    columns = columns_of(e)
    table = cs.read(columns | {"s": list("abcd") * 25}, source="s")
    net = cs.fit(DAG, table, gaussian=cs.estimators.HierarchicalGaussian(spread=0))
    expected = ridge(columns, Decimal(0))
    np.testing.assert_allclose(net["z"].coefficients[0], expected, rtol=1e-10)
    pooled = cs.fit(DAG, table, gaussian=cs.MLE())
    assert net["z"].sd[0] == pytest.approx(float(pooled["z"].sd), rel=1e-10)
    is_shared = any("the same coefficients in all sources" in note for note in net.record.notes)
    assert is_shared == (e < 1e-6)


def test_a_state_without_rows_has_the_regression_of_all_with_all_its_digits():
    columns = columns_of(1e-7)
    table = cs.read(columns | {"g": ["a"] * 100}, states={"g": ["a", "b"]})
    dag = cs.DAG([*DAG.arcs, ("g", "z")])
    net = cs.fit(dag, table, gaussian=cs.MLE())
    np.testing.assert_allclose(net["z"].coefficients[1], ridge(columns, Decimal(0)), rtol=1e-10)


def test_gaps_that_leave_too_few_digits_are_told():
    columns = columns_of(1e-5)
    columns["z"] = np.where(np.arange(100) < 5, np.nan, columns["z"])
    columns["x"] = np.where(np.arange(100) > 95, np.nan, columns["x"])
    net = cs.fit(DAG, cs.read(columns), gaussian=cs.MLE(), gaps=cs.EM())
    assert any("few digits of the estimates are right" in note for note in net.record.notes)


def scaled_columns(e, scale, n=200, seed=0):
    rng = np.random.default_rng(seed)
    x, u, noise = rng.normal(size=(3, n))
    return {"x": x * scale, "y": (x + e * u) * scale, "z": x + noise}


@pytest.mark.parametrize("arcs", [[], [("x", "y")]])
@pytest.mark.parametrize(
    ("e", "scale", "size"),
    [
        (1e-6, 1e-150, "small"),
        (1e-3, 1e-155, "small"),
        (1e-3, 1e150, "large"),
        (1e-6, 1e150, "large"),
        (1e-6, 1e-120, "small"),
        (1e-6, 1e120, "large"),
    ],
)
def test_collinear_columns_beyond_fine_moments_are_refused_by_name(arcs, e, scale, size):
    table = cs.read(scaled_columns(e, scale))
    with pytest.raises(DataError, match=rf"the values of '[xy]' are too {size} .* by a constant"):
        cs.fit(cs.DAG([*arcs, *DAG.arcs]), table, gaussian=cs.MLE())


@pytest.mark.parametrize("unit", [1e-98, 1.0, 1e98])
@pytest.mark.parametrize("scale", [1e-98, 1e98])
@pytest.mark.parametrize("e", [0.0, 1e-6, 1e-3])
def test_small_and_large_collinear_columns_have_the_regression_of_ordinary_ones(e, scale, unit):
    expected = cs.fit(DAG, cs.read(scaled_columns(e, 1.0)), gaussian=cs.MLE())["z"]
    columns = scaled_columns(e, scale)
    found = cs.fit(DAG, cs.read(columns | {"z": columns["z"] * unit}), gaussian=cs.MLE())["z"]
    assert float(found.sd) / unit == pytest.approx(float(expected.sd), rel=1e-9)
    slopes = found.coefficients / unit * scale
    np.testing.assert_allclose(slopes, expected.coefficients, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_small_and_large_columns_that_lose_no_digits_are_fitted(scale):
    net = cs.fit(DAG, cs.read(scaled_columns(0.5, scale)), gaussian=cs.MLE())
    expected = cs.fit(DAG, cs.read(scaled_columns(0.5, 1.0)), gaussian=cs.MLE())
    assert float(net["z"].sd) == pytest.approx(float(expected["z"].sd))


def test_collinear_parents_of_different_scales_share_their_slopes():
    a, b, noise = np.random.default_rng(0).normal(size=(3, 100))
    columns = {"a": a, "c": a, "b": b * 1e20, "d": b * 1e20, "z": a + b + noise}
    dag = cs.DAG([(parent, "z") for parent in "acbd"])
    slopes = cs.fit(dag, cs.read(columns), gaussian=cs.MLE())["z"].coefficients
    np.testing.assert_allclose(slopes[[0, 2]], slopes[[1, 3]], rtol=1e-9)


@pytest.mark.parametrize("size", [1e-160, 1e-200, 1e-300])
def test_values_whose_products_vanish_are_not_called_constant(size):
    rng = np.random.default_rng(1)
    table = cs.read({"x": size * rng.normal(size=50), "y": rng.normal(size=50)})
    dag = cs.DAG([("y", "x")])
    for work in (
        cs.learn,
        lambda rows: cs.score(dag, rows, cs.BIC()),
        lambda rows: cs.fit(dag, rows),
    ):
        with pytest.raises(DataError, match=r"the values of 'x' are too small .* by a constant"):
            work(table)
