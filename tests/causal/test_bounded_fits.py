"""Regressions under a bound on what they share with a protected attribute."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import consilience as cs
from consilience.causal.bounded_fits import _indicators, _projected
from consilience.data.table import Table
from consilience.errors import ConsilienceError


def hiring(n_rows: int = 600, seed: int = 0) -> Table:
    """The test score depends on sex, and hiring on the score and the school."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n_rows)
    school = rng.integers(0, 3, n_rows)
    score = rng.normal(size=n_rows) + 1.5 * sex + 0.3 * school
    hired = rng.random(n_rows) < 1 / (1 + np.exp(-2 * score + 1.5))
    pay = 3 * score + 2 * sex + rng.normal(size=n_rows)
    return cs.read(
        {
            "sex": np.array(["f", "m"])[sex].tolist(),
            "school": np.array(["a", "b", "c"])[school].tolist(),
            "score": score.tolist(),
            "hired": np.array(["no", "yes"])[hired.astype(int)].tolist(),
            "pay": pay.tolist(),
        }
    )


TABLE = hiring()
ABOUT = {"target": "hired", "protected": "sex", "positive": "yes", "features": ["school", "score"]}
PAY = {"target": "pay", "protected": "sex", "features": ["school", "score"]}


def numbers(table, names):
    return _indicators(table, [table.variables[name] for name in names])


@pytest.mark.parametrize("most", [0.0, 0.02, 0.2, 1.0])
def test_the_attribute_explains_at_most_so_much_of_the_predictions(most):
    fit = cs.causal.fair_fit(TABLE, **PAY, by=cs.causal.BoundedCorrelation(most))
    predicted, s = fit(TABLE), numbers(TABLE, ["sex"])[:, 0]
    share = np.corrcoef(predicted, s)[0, 1] ** 2
    assert share <= most + 1e-9
    assert share == pytest.approx(fit.reached, abs=1e-9)


def test_without_a_bound_it_is_least_squares_on_everything():
    fit = cs.causal.fair_fit(TABLE, **PAY, by=cs.causal.BoundedCorrelation(1.0))
    design = np.column_stack([np.ones(600), numbers(TABLE, ["sex", "school", "score"])])
    beta, *_ = np.linalg.lstsq(design, np.asarray(TABLE.column("pay")), rcond=None)
    np.testing.assert_allclose(fit(TABLE), design @ beta, atol=1e-8)


def test_no_other_scaling_of_the_two_parts_is_closer_and_within_the_bound():
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, b, most = rng.uniform(0.1, 3), rng.uniform(0.1, 3), rng.uniform(0.01, 0.9)
        one, two = (scale * sd for scale, sd in zip(_projected(a, b, most), (a, b), strict=True))
        assert one**2 <= most * (one**2 + two**2) + 1e-12
        limit = np.sqrt(most / (1 - most))
        found = minimize(
            lambda p, a=a, b=b: (p[0] - a) ** 2 + (p[1] - b) ** 2,
            [0.0, b],
            constraints=[{"type": "ineq", "fun": lambda p, m=limit: m * p[1] - p[0]}],
        )
        assert (one - a) ** 2 + (two - b) ** 2 <= found.fun + 1e-6


@pytest.mark.parametrize("most", [0.0, 0.05])
def test_the_covariance_with_the_decision_function_is_bounded(most):
    fit = cs.causal.fair_fit(TABLE, **ABOUT, by=cs.causal.BoundedCovariance(most))
    scores, s = fit(TABLE), numbers(TABLE, ["sex"])[:, 0]
    logits = np.log(scores / (1 - scores))
    assert abs(np.cov(logits, s, bias=True)[0, 1]) == pytest.approx(most, abs=1e-6)
    assert fit.columns == {"school", "score"}


def test_with_a_loose_bound_it_is_logistic_regression():
    fit = cs.causal.fair_fit(TABLE, **ABOUT, by=cs.causal.BoundedCovariance(100.0))
    design = np.column_stack([np.ones(600), numbers(TABLE, ["school", "score"])])
    y = np.asarray(TABLE.column("hired")) == TABLE.variables["hired"].code("yes")
    slope = design.T @ (fit(TABLE) - y) / 600
    np.testing.assert_allclose(slope, 0, atol=1e-4)


@pytest.mark.parametrize("by", [cs.causal.BoundedCorrelation(0.1), cs.causal.BoundedCovariance(0)])
@pytest.mark.parametrize("unit", [1e-6, 1e9])
def test_the_unit_of_the_target_does_not_matter(by, unit):
    pay = np.asarray(TABLE.column("pay")) * unit
    other = Table(TABLE.schema, {**TABLE.columns, "pay": pay})
    found, same = (cs.causal.fair_fit(rows, **PAY, by=by)(rows) for rows in (other, TABLE))
    np.testing.assert_allclose(found / unit, same, atol=1e-6)


@pytest.mark.parametrize("features", [[], ["school"]])
def test_what_the_attribute_alone_tells_cannot_be_predicted_within_a_bound(features):
    rows = cs.read(
        {"sex": ["f", "m"] * 20, "school": ["a", "b"] * 20, "hired": ["no", "yes", "no", "no"] * 10}
    )
    fit = cs.causal.fair_fit(rows, **ABOUT | {"features": features})
    np.testing.assert_allclose(fit(rows), 0.25)
    assert fit.reached == 0


def test_a_state_of_the_attribute_that_is_not_seen_changes_nothing():
    columns = {name: TABLE[name] for name in ("sex", "score", "hired")}
    about = ABOUT | {"features": ["score"], "by": cs.causal.BoundedCovariance(0.0)}
    one, more = (
        cs.causal.fair_fit(cs.read(columns, states={"sex": states}), **about)
        for states in (["f", "m"], ["f", "m", "other"])
    )
    assert more.intercept == pytest.approx(one.intercept)
    assert one.intercept != 0


def test_a_fit_answers_for_rows_in_another_order_of_states():
    fit = cs.causal.fair_fit(TABLE, **PAY, by=cs.causal.BoundedCorrelation(1.0))
    backwards = {name: TABLE[name][::-1] for name in ("sex", "school", "score")}
    other = cs.read(backwards, states={"sex": ["m", "f"], "school": ["c", "b", "a"]})
    np.testing.assert_allclose(fit(other), fit(TABLE)[::-1])
    np.testing.assert_allclose(fit(backwards), fit(TABLE)[::-1])


def test_a_fit_refuses_rows_with_gaps_and_states_that_it_does_not_know():
    fit = cs.causal.fair_fit(TABLE, **PAY)
    with pytest.raises(ConsilienceError, match="'school' has gaps"):
        fit({"sex": ["f", "m"], "school": ["a", None], "score": [1.0, 2.5]})
    other = cs.read({"sex": ["f", "m"], "school": ["a", "z"], "score": [1.0, 2.5]})
    with pytest.raises(ConsilienceError, match="state 'z' is not known"):
        fit(other)
    other = cs.read({"sex": ["f", "m"], "school": ["a", "b"], "score": ["low", "high"]})
    with pytest.raises(ConsilienceError, match="'score' is discrete; numbers are wanted"):
        fit(other)


def test_a_continuous_target_has_a_bounded_covariance_too():
    fit = cs.causal.fair_fit(TABLE, **PAY, by=cs.causal.BoundedCovariance(0.1))
    s = numbers(TABLE, ["sex"])[:, 0]
    assert abs(np.cov(fit(TABLE), s, bias=True)[0, 1]) <= 0.1 + 1e-6


def test_an_audit_compares_fits_under_a_bound_with_the_predictor():
    rows = TABLE.select(["sex", "school", "score", "hired"])
    net = cs.fit(
        cs.DAG([("sex", "hired"), ("school", "hired")]), rows.select(["sex", "school", "hired"])
    )
    ways = (cs.causal.BoundedCorrelation(0.01), cs.causal.BoundedCovariance(0.0))
    report = cs.causal.fairness(
        net, rows, protected="sex", target="hired", positive="yes", compare=ways
    )
    assert list(report.compared) == [repr(way) for way in ways]
    for one in report.compared.values():
        assert abs(one.gaps.selection_difference.value) < 0.15
    assert abs(report.gaps.selection_difference.value) > 0.2
    assert any("comparisons, not recommendations" in note for note in report.notes)
    assert "BoundedCovariance(most=0.0)" in report.to_html()
    assert "BoundedCorrelation(most=0.01)" in report._repr_html_()


def test_fits_are_refused_that_cannot_be():
    with pytest.raises(ConsilienceError, match="name the state of 'hired'"):
        cs.causal.fair_fit(TABLE, target="hired", protected="sex")
    with pytest.raises(ConsilienceError, match="most must be at most 1"):
        cs.causal.BoundedCorrelation(2.0)
    gaps = cs.read({"s": ["a", "b", None], "x": [1.0, 2.0, 3.5], "y": ["n", "y", "y"]})
    with pytest.raises(ConsilienceError, match="'s' has gaps"):
        cs.causal.fair_fit(gaps, target="y", protected="s", positive="y")
    with pytest.raises(ConsilienceError, match="features are other columns"):
        cs.causal.fair_fit(TABLE, target="pay", protected="sex", features=["sex"])
    with pytest.raises(ConsilienceError, match="by must be"):
        cs.causal.fair_fit(TABLE, **PAY, by="komiyama")
    with pytest.raises(ConsilienceError, match="compare must be bounds"):
        cs.causal.fairness(
            np.zeros(600), TABLE, protected="sex", target="hired", positive="yes", compare=["x"]
        )
