from __future__ import annotations

import numpy as np
import pytest
from test_counterfactuals import example, law_school

import consilience as cs
from consilience.errors import ConsilienceError, InputError, ModelError


def decisions():
    """Groups a and b of 8 and 4 rows, with what was predicted and what is true."""
    group = ["a"] * 8 + ["b"] * 4
    truth = ["1", "1", "1", "1", "0", "0", "0", "0", "1", "1", "0", "0"]
    table = cs.read({"group": group, "y": truth})
    predicted = np.array([1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0], bool)
    return table, predicted


def test_group_measures_by_hand():
    table, predicted = decisions()
    report = cs.causal.fairness(predicted, table, protected="group", target="y", positive="1")
    a, b = report.groups["a"], report.groups["b"]
    assert (a.n_rows, a.selection_rate, a.accuracy) == (8.0, 0.5, 0.75)
    assert (a.true_positive_rate, a.false_positive_rate) == (0.75, 0.25)
    assert (b.selection_rate, b.true_positive_rate, b.false_positive_rate) == (0.25, 0.5, 0.0)
    assert report.gaps.selection_difference.value == 0.25
    assert report.gaps.selection_ratio.value == 0.5
    assert report.gaps.odds_difference.value == 0.25
    assert report.gaps.odds_ratio.value == 0.0
    assert report.gaps.opportunity_difference.value == 0.25
    low, high = report.gaps.selection_difference.interval
    assert low < 0 < high


def test_a_group_without_positives_is_left_out_and_named():
    table = cs.read({"group": ["a", "a", "b", "b"], "y": ["1", "0", "0", "0"]})
    report = cs.causal.fairness(
        np.array([1.0, 0.0, 1.0, 0.0]), table, protected="group", target="y", positive="1"
    )
    assert report.gaps.opportunity_difference is None
    assert any("'b' has no rows that are positive" in note for note in report.notes)


def all_rows():
    """Every row of the example with its probability as weight."""
    net = example()
    rows = [(a, t, m) for a in "01" for t in "01" for m in ("low", "mid", "high")]
    weights = [net.probability(dict(zip("atm", row, strict=True))) for row in rows]
    columns = {name: [row[i] for row in rows] for i, name in enumerate("atm")}
    states = {"m": ["low", "mid", "high"], "y": ["no", "yes"]}
    return net, cs.read({**columns, "y": ["no"] * 12, "w": weights}, weight="w", states=states)


@pytest.mark.parametrize(
    ("mechanism", "means"),
    [
        (cs.causal.GumbelMax(), (0.85, 0.459615384615, 0.359615384615, 0.325)),
        (cs.causal.Monotone(), (0.85, 0.675, 0.575, 0.425)),
    ],
)
def test_the_curve_of_the_example(mechanism, means):
    net, table = all_rows()
    report = cs.causal.fairness(
        net,
        table,
        protected="a",
        target="y",
        positive="yes",
        model=net,
        mechanism=mechanism,
        eps=[0.05, 0.1, 0.2, 0.3],
    )
    curve = report.counterfactual.curve
    assert curve.mean == pytest.approx(means)
    assert curve.low == pytest.approx((0.85, 0.4, 0.2925, 0.2475))
    assert curve.high == pytest.approx((1.0, 1.0, 0.97, 0.865))
    assert not report.counterfactual.is_graphical


def test_leaving_the_attribute_out_is_not_fair():
    net, table = all_rows()

    def unaware(rows):
        total = np.zeros(rows.n_rows)
        for code, state in enumerate("01"):
            columns = {**rows.columns, "a": np.full_like(rows.column("a"), code)}
            here = cs.Table(rows.schema, columns, rows.source_codes, rows.weights)
            weight = [net.query("a", given=given)[state] for given in _features(here)]
            total += np.array(weight) * net.posteriors(here, "y")[:, 1]
        return total

    report = cs.causal.fairness(
        unaware,
        table,
        protected="a",
        target="y",
        positive="yes",
        model=net,
        mechanism=cs.causal.GumbelMax(),
        eps=[0.1, 0.2],
    )
    assert report.counterfactual.curve.mean == pytest.approx((0.359615384615, 0.325), abs=1e-9)


def _features(rows):
    frame = rows.to_frame()
    return [{"t": str(t), "m": str(m)} for t, m in zip(frame["t"], frame["m"], strict=True)]


def test_a_predictor_of_what_the_attribute_does_not_cause_is_fair_by_the_graph():
    net, table = all_rows()
    fair = cs.causal.fair_predictor(net, "y", "a")
    report = cs.causal.fairness(
        fair,
        table,
        protected="a",
        target="y",
        positive="yes",
        model=net,
        mechanism=cs.causal.GumbelMax(),
    )
    assert fair.columns == {"t"}
    assert report.counterfactual.is_graphical
    assert report.counterfactual.is_fair


def students(n=400):
    rng = np.random.default_rng(1)
    r, s = (rng.random(n) < 0.2) * 1.0, (rng.random(n) < 0.45) * 1.0
    k = rng.normal(size=n)
    columns = {
        "R": r,
        "S": s,
        "GPA": 3 - 0.3 * r + 0.1 * s + 0.35 * k + rng.normal(0, 0.3, n),
        "LSAT": 36 - 5 * r - 0.6 * s + 3 * k + rng.normal(0, 4, n),
        "FYA": 0.1 - 0.5 * r - 0.1 * s + 0.55 * k + rng.normal(0, 0.7, n),
    }
    return cs.read(columns, continuous=list(columns))


def change(predictor):
    report = cs.causal.fairness(
        predictor, students(), protected="R", target="FYA", model=law_school()
    )
    moved = report.counterfactual.changes["1.0"]
    return moved[students().column("R") == 0], report.counterfactual


def test_the_full_predictor_moves_and_fair_ones_do_not():
    moved, _ = change(law_school())
    assert moved == pytest.approx(np.full(len(moved), -0.5), abs=1e-9)
    for by in (cs.causal.NonDescendants(), cs.causal.Residuals(), cs.causal.HiddenCauses()):
        moved, found = change(cs.causal.fair_predictor(law_school(), "FYA", "R", by=by))
        assert moved == pytest.approx(np.zeros(len(moved)), abs=1e-9)
        assert found.is_fair


def test_the_unaware_regression_moves():
    # The population regression of FYA on GPA and LSAT.
    cov = np.array([[0.09 * 0.16 + 0.01 * 0.2475 + 0.1225 + 0.09, 0.0], [0.0, 0.0]])
    cov[0, 1] = cov[1, 0] = 1.5 * 0.16 - 0.06 * 0.2475 + 1.05
    cov[1, 1] = 25 * 0.16 + 0.36 * 0.2475 + 9 + 16
    with_y = np.array([0.15 * 0.16 - 0.01 * 0.2475 + 0.1925, 2.5 * 0.16 + 0.06 * 0.2475 + 1.65])
    weights = np.linalg.solve(cov, with_y)

    def unaware(rows):
        return weights[0] * rows.column("GPA") + weights[1] * rows.column("LSAT")

    moved, _ = change(unaware)
    assert moved == pytest.approx(np.full(len(moved), -0.412459290831), abs=1e-9)


def test_several_models_are_reported_and_the_worst():
    net, table = all_rows()
    blind = cs.fit(
        cs.DAG([("t", "m"), ("t", "y"), ("m", "y")], nodes=["a"]), net.sample(500, seed=1)
    )
    report = cs.causal.fairness(
        net,
        table,
        protected="a",
        target="y",
        positive="yes",
        model=[blind, net],
        mechanism=cs.causal.GumbelMax(),
    )
    assert len(report.by_model) == 2
    assert report.counterfactual is report.by_model[1]


def test_errors_name_the_culprit():
    table, predicted = decisions()
    with pytest.raises(InputError, match="an array of predictions has group measures only"):
        cs.causal.fairness(
            predicted,
            table,
            protected="group",
            target="y",
            positive="1",
            model=cs.fit(cs.DAG([("group", "y")]), table),
        )
    net, rows = all_rows()
    with pytest.raises(ModelError, match="needs a node of the network that the rows do not record"):
        cs.causal.fair_predictor(net, "y", "a", by=cs.causal.HiddenCauses())(rows)


def test_without_a_mechanism_there_are_bounds_alone():
    net, table = all_rows()
    asked = {"protected": "a", "target": "y", "positive": "yes", "model": net}
    report = cs.causal.fairness(net, table, **asked, eps=[0.05, 0.1, 0.2, 0.3])
    check = report.counterfactual
    assert check.curve.mean is None
    assert check.curve.worst is None
    assert not check.changes
    assert check.curve.low == pytest.approx((0.85, 0.4, 0.2925, 0.2475))
    assert check.curve.high == pytest.approx((1.0, 1.0, 0.97, 0.865))
    assert not check.is_fair
    assert check.share == pytest.approx(1.0)
    assert "<polygon" in report.to_html()


def test_changes_that_cancel_and_small_eps_left_out_are_changes_still():
    a, z = cs.Variable("a", ("0", "1")), cs.Variable("z", ("0", "1"))
    y = cs.Variable("y", ("no", "yes"))
    net = cs.Network.of(
        [
            cs.Categorical(a, (), [0.5, 0.5]),
            cs.Categorical(z, (a,), [[0.5, 0.5], [0.5, 0.5]]),
            cs.Categorical(y, (z,), [[0.6, 0.4], [0.4, 0.6]]),
        ]
    )
    rows = cs.read({"a": ["0", "1"], "z": ["0", "1"], "y": ["no", "yes"]})
    report = cs.causal.fairness(
        net,
        rows,
        protected="a",
        target="y",
        positive="yes",
        model=net,
        mechanism=cs.causal.IndependentNoise(),
        eps=[0.5],
    )
    assert report.counterfactual.curve.worst == pytest.approx([0.0])
    assert report.counterfactual.share == 1.0
    assert not report.counterfactual.is_fair


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"level": 3}, "level must lie between 0 and 1"),
        ({"threshold": "a"}, "threshold must be a number"),
        ({"eps": [-1.0]}, "eps must be zero or more"),
        ({"eps": []}, "eps must be numbers"),
        ({"model": "m"}, "model must be a Network"),
        ({"model": cs.DAG([("a", "y")])}, "model must be a Network"),
        ({"protected": "y"}, "cannot be protected"),
        ({"positive": None}, "name the state of 'y' in positive="),
        ({"predictor": ["ja"] * 12}, "'y' has no state 'ja'"),
    ],
)
def test_wrong_audits_are_refused(asked, message):
    net, rows = all_rows()
    whole = {"predictor": net, "protected": "a", "target": "y", "positive": "yes", **asked}
    with pytest.raises(ConsilienceError, match=message):
        cs.causal.fairness(whole.pop("predictor"), rows, **whole)
