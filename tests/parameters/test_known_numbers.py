"""Numbers that are known and kept, in networks without time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import consilience as cs
from consilience.errors import InputError, UnknownNameError

Known = cs.estimators.Known
GRAPH = cs.DAG([("x", "y"), ("w", "y")])


def rows(n=60, seed=1):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=n), rng.normal(size=n)
    return {"x": x, "w": w, "y": 1 + 2 * x - w + rng.normal(size=n)}


def test_the_rest_of_a_regression_is_least_squares_of_what_is_left():
    data = rows()
    known = {"y": Known(coefficients={"w": -1.0})}
    net = cs.fit(GRAPH, cs.read(data), cs.MLE(unbiased=False), known=known)
    slope, intercept = np.polyfit(data["x"], data["y"] + data["w"], 1)
    found = dict(zip(net["y"].parents, net["y"].coefficients, strict=True))
    assert found["w"] == -1.0
    assert found["x"] == pytest.approx(slope)
    assert float(net["y"].intercept) == pytest.approx(intercept)


def test_a_table_and_an_sd_are_kept():
    table = cs.read({"a": list("uvuvuu"), "b": [1.0, 2.0, 1.5, 2.5, 1.2, 1.1]})
    known = {"a": Known(table=[0.25, 0.75]), "b": Known(sd=[0.5, 2.0])}
    net = cs.fit(cs.DAG([("a", "b")]), table, known=known)
    assert net["a"].table.tolist() == [0.25, 0.75]
    assert net["b"].sd.tolist() == [0.5, 2.0]
    np.testing.assert_allclose(net["b"].intercept, [1.2, 2.25])


def test_what_is_known_is_no_free_parameter(tmp_path):
    table = cs.read({"a": list("uvuvuu"), "b": [1.0, 2.0, 1.5, 2.5, 1.2, 1.1]})
    known = {"a": Known(table=[0.25, 0.75]), "b": Known(sd=[0.5, 2.0])}
    net = cs.fit(cs.DAG([("a", "b")]), table, known=known)
    assert (net.n_parameters, net.record.known) == (2, {"a": 1, "b": 2})
    cs.save(net, tmp_path / "net.json")
    assert cs.load(tmp_path / "net.json").n_parameters == 2
    line = cs.fit(GRAPH, cs.read(rows()), known={"y": Known(intercept=1.0, coefficients={"w": -1})})
    assert line.n_parameters == 2 + 2 + 2  # of x, of w, and the slope of x and the sd of y


def test_gaps_are_filled_beside_what_is_known():
    data = rows(40)
    data["w"] = np.where(np.arange(40) % 4 == 0, np.nan, data["w"])
    known = {"y": Known(intercept=1.0, coefficients={"x": 2.0}), "w": Known(intercept=0.0, sd=1.0)}
    table = cs.read(data, continuous=["w"])
    choice = cs.EM(tolerance=1e-13)
    net = cs.fit(GRAPH, table, cs.MLE(unbiased=False), known=known, gaps=choice)
    rest, w = data["y"] - 1 - 2 * data["x"], data["w"]
    has = ~np.isnan(w)

    def minus_log(theta):
        b, sd = theta[0], np.exp(theta[1])
        full = ((rest - b * w)[has] / sd) ** 2
        spread = b**2 + sd**2
        part = rest[~has] ** 2 / spread
        return 0.5 * (full.sum() + 2 * has.sum() * np.log(sd) + part.sum()) + 0.5 * (
            (~has).sum() * np.log(spread)
        )

    best = minimize(minus_log, [-1.0, 0.0], tol=1e-12).x
    found = dict(zip(net["y"].parents, net["y"].coefficients, strict=True))
    assert found["x"] == 2.0
    assert found["w"] == pytest.approx(best[0], rel=1e-4)
    assert float(net["y"].sd) == pytest.approx(np.exp(best[1]), rel=1e-4)


def test_known_errors_of_measurement_beside_a_hidden_factor():
    rng = np.random.default_rng(2)
    factor = rng.normal(size=300)
    data = {
        n: b * factor + 0.5 * rng.normal(size=300) for n, b in zip("abc", (1, 2, 3), strict=True)
    }
    graph = cs.DAG([("f", n) for n in "abc"])
    known = {n: Known(sd=0.5) for n in "abc"}
    net = cs.fit(
        graph,
        cs.read(data),
        cs.MLE(unbiased=False),
        hidden={"f": float},
        known=known,
        gaps=cs.EM(tolerance=1e-12, iterations=5000),
    )
    values = np.stack(list(data.values()), axis=1)

    def minus_log(b):
        law = multivariate_normal(values.mean(axis=0), np.outer(b, b) + 0.25 * np.eye(3))
        return -law.logpdf(values).sum()

    best = minimize(minus_log, [1.0, 2.0, 3.0], tol=1e-10).x
    assert [float(net[n].sd) for n in "abc"] == [0.5, 0.5, 0.5]
    found = np.array([float(net[n].coefficients[0]) for n in "abc"])
    np.testing.assert_allclose(found, best, rtol=1e-3)


@pytest.mark.parametrize(
    ("known", "more", "error", "word"),
    [
        ([1], {}, InputError, "known must map"),
        ({"q": Known(sd=1.0)}, {}, UnknownNameError, "'q'"),
        ({"y": 1.0}, {}, InputError, "'y'"),
        ({"y": Known(table=[1.0])}, {}, InputError, "no table"),
        ({"y": Known(coefficients={"z": 1.0})}, {}, UnknownNameError, "'z'"),
        ({"y": Known(sd=1.0)}, {"gaps": cs.gaps.VariationalBayes()}, InputError, "Variational"),
    ],
)
def test_what_cannot_be_known_is_refused_by_name(known, more, error, word):
    with pytest.raises(error, match=word):
        cs.fit(GRAPH, cs.read(rows(8)), known=known, **more)


def test_numbers_that_a_rule_would_move_are_refused():
    table = cs.read({"a": rows()["y"], "b": rows(seed=3)["y"]})
    graph = cs.DAG([("f", "a"), ("f", "b")])
    with pytest.raises(InputError, match="mean 0 and sd 1 by a rule"):
        cs.fit(graph, table, hidden={"f": float}, known={"a": Known(coefficients={"f": 1.0})})
    with pytest.raises(InputError, match="order of their frequency"):
        cs.fit(graph, table, hidden={"f": 2}, known={"f": Known(table=[0.2, 0.8])})
    with pytest.raises(InputError, match="AvailableCases"):
        cs.fit(
            graph,
            table,
            hidden={"f": 2},
            known={"a": Known(sd=1.0)},
            gaps=cs.AvailableCases(),
        )


def test_a_known_intercept_takes_no_row_from_the_variance():
    data = {"drug": ["a"] * 6 + ["b"] * 4, "y": [1.0, 2, 3, 2.5, 0.5, 1.5, 4, 5, 7, 4.5]}
    known = {"y": Known(intercept=[1.0, 5.0])}
    net = cs.fit(cs.DAG([("drug", "y")]), cs.read(data), cs.MLE(), known=known)
    y = np.array(data["y"])
    expected = [np.mean((y[:6] - 1) ** 2), np.mean((y[6:] - 5) ** 2)]
    np.testing.assert_allclose(net["y"].variance, expected)


@pytest.mark.parametrize("estimator", [cs.MLE(), cs.estimators.TiedVariances()])
def test_a_joint_state_without_rows_has_the_variance_of_the_others_beside_a_known_intercept(
    estimator,
):
    data = rows() | {"drug": ["a", "b"] * 30}
    table = cs.read(data, states={"drug": ["a", "b", "c"]})
    dag = cs.DAG([("drug", "y"), ("x", "y"), ("w", "y")])
    net = cs.fit(dag, table, estimator, known={"y": Known(intercept=1.0)})
    sd = net["y"].sd
    assert sd[2] == pytest.approx(sd[:2].mean(), rel=0.1)
