from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as hnp

import consilience as cs
from consilience.classify.measures import evaluate, evaluate_network
from consilience.errors import DataError, InputError, UnknownNameError

STATES = ("low", "middle", "high")
MEASURES = ("accuracy", "precision", "recall", "f1", "brier", "log_loss", "calibration_error")


@st.composite
def predictions(draw, n_states=3):
    """Probabilities with zeros and ties, true codes (some unknown), weights, source codes."""
    n = draw(st.integers(1, 12))
    parts = draw(hnp.arrays(np.int64, (n, n_states), elements=st.integers(0, 4)))
    parts[parts.sum(axis=1) == 0] = 1
    truth = draw(hnp.arrays(np.int64, n, elements=st.integers(-1, n_states - 1)))
    weights = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 3)))
    source = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 1)))
    assume(np.any((truth >= 0) & (weights > 0)))
    return parts / parts.sum(axis=1, keepdims=True), truth, weights, source


def values(measures):
    return {name: getattr(measures, name) for name in MEASURES}


def assert_same(one, two):
    for name in MEASURES:
        a, b = getattr(one, name), getattr(two, name)
        assert a == b if a is None or b is None else a == pytest.approx(b, abs=1e-9)


def by_hand(probabilities, truth, weights, positive):
    """Every measure as a loop over rows."""
    rows = [
        (p, c, w) for p, c, w in zip(probabilities, truth, weights, strict=True) if c >= 0 and w
    ]
    total = sum(w for *_, w in rows)
    right = brier = loss = said = was = both = 0.0
    for p, c, w in rows:
        guess = list(p).index(max(p))
        right += w * (guess == c)
        brier += w * sum((p[k] - (k == c)) ** 2 for k in range(len(p)))
        loss -= w * (np.log(p[c]) if p[c] > 0 else -np.inf)
        said += w * (guess == positive)
        was += w * (c == positive)
        both += w * (guess == c == positive)
    return {
        "n_rows": total,
        "accuracy": right / total,
        "precision": both / said if said else None,
        "recall": both / was if was else None,
        "f1": 2 * both / (said + was) if said + was else None,
        "brier": brier / total,
        "log_loss": loss / total,
        "n_impossible": sum(w for p, c, w in rows if p[c] == 0),
    }


@given(case=predictions(), positive=st.integers(0, 2))
def test_measures_are_those_of_a_loop_over_rows(case, positive):
    probabilities, truth, weights, _ = case
    found = evaluate(
        probabilities, truth, states=STATES, positive=STATES[positive], weights=weights
    ).overall
    for name, wanted in by_hand(probabilities, truth, weights, positive).items():
        value = getattr(found, name)
        assert value == wanted if wanted is None else value == pytest.approx(wanted, abs=1e-12)


@given(case=predictions(), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(case, seed):
    probabilities, truth, weights, _ = case
    order = np.random.default_rng(seed).permutation(len(truth))
    one = evaluate(probabilities, truth, states=STATES, weights=weights, n_bins=3)
    two = evaluate(
        probabilities[order], truth[order], states=STATES, weights=weights[order], n_bins=3
    )
    assert_same(one.overall, two.overall)
    np.testing.assert_allclose(one.overall.curve.n_rows, two.overall.curve.n_rows)


@given(case=predictions(n_states=2))
def test_a_row_of_weight_two_is_two_rows(case):
    probabilities, truth, weights, source = case
    one = evaluate(
        probabilities,
        truth,
        states=list("ab"),
        weights=weights,
        sources=list("xy"),
        source_codes=source,
    )
    many = np.repeat(np.arange(len(truth)), weights)
    two = evaluate(
        probabilities[many],
        truth[many],
        states=list("ab"),
        sources=list("xy"),
        source_codes=source[many],
    )
    assert_same(one.overall, two.overall)
    assert one.by_source.keys() == two.by_source.keys()
    for name in one.by_source:
        assert_same(one.by_source[name], two.by_source[name])


@given(case=predictions())
def test_a_source_is_measured_as_if_it_were_alone(case):
    probabilities, truth, weights, source = case
    found = evaluate(
        probabilities,
        truth,
        states=STATES,
        weights=weights,
        sources=list("xy"),
        source_codes=source,
    )
    for f, name in enumerate("xy"):
        mine = (source == f) & (truth >= 0) & (weights > 0)
        assert (name in found.by_source) == mine.any()
        if mine.any():
            alone = evaluate(probabilities[mine], truth[mine], states=STATES, weights=weights[mine])
            assert_same(found.by_source[name], alone.overall)


def test_a_small_case_by_hand():
    found = evaluate([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], [0, 0, 1], states=["no", "yes"])
    assert found.positive == "yes"
    assert values(found.overall) == pytest.approx(
        {
            "accuracy": 2 / 3,
            "precision": 1 / 2,
            "recall": 1,
            "f1": 2 / 3,
            "brier": (0.02 + 0.72 + 0.08) / 3,
            "log_loss": -np.log(0.9 * 0.4 * 0.8) / 3,
            "calibration_error": (0.1 + 0.6 + 0.2) / 3,
        }
    )


def test_the_class_prior_is_the_best_constant_unless_it_is_given():
    truth = [0] * 3 + [1]
    sure = np.eye(2)[truth]
    own = evaluate(sure, truth, states=["no", "yes"]).prior
    assert (own.accuracy, own.brier) == pytest.approx((0.75, 2 * 0.75 * 0.25))
    assert own.log_loss == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))
    given_prior = evaluate(sure, truth, states=["no", "yes"], prior=[0.5, 0.5]).prior
    assert given_prior.log_loss == pytest.approx(np.log(2))


def test_a_sure_mistake_costs_infinitely_much_and_is_counted():
    found = evaluate([[1, 0], [0.5, 0.5]], [1, 1], states=["no", "yes"], weights=[2, 1])
    assert found.overall.log_loss == np.inf
    assert found.overall.n_impossible == 2
    assert "2 rows whose state had probability 0" in str(found)


def test_a_row_of_zeros_predicts_nothing():
    found = evaluate([[0, 0], [1, 0]], [0, 0], states=["no", "yes"]).overall
    assert (found.accuracy, found.n_impossible, found.brier) == (0.5, 1, 0.5)


def test_rows_of_unknown_state_are_left_out_and_counted():
    found = evaluate([[1, 0], [0, 1], [0, 1]], [0, -1, 1], states=["no", "yes"])
    assert (found.overall.n_rows, found.n_unknown, found.overall.accuracy) == (2, 1, 1)
    assert "1 rows of unknown state left out" in str(found)


def test_what_is_undefined_is_none_and_shown_as_a_dash():
    found = evaluate([[1, 0], [1, 0]], [0, 0], states=["no", "yes"])
    assert (found.overall.precision, found.overall.recall, found.overall.f1) == (None, None, None)
    assert "-" in str(found).splitlines()[2].split()
    assert evaluate([[1, 0]], [1], states=["no", "yes"]).overall.recall == 0


def test_without_a_positive_state_of_three_the_curve_is_about_the_predicted_one():
    found = evaluate([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1]], [0, 2], states=STATES)
    assert found.positive is None
    assert found.overall.precision is None
    np.testing.assert_allclose(found.overall.curve.predicted, [0.6, 0.8])
    np.testing.assert_allclose(found.overall.curve.observed, [1, 0])
    assert "F1" not in str(found)


def test_bins_have_equal_counts():
    probability = np.random.default_rng(1).random(1000)
    truth = (np.random.default_rng(2).random(1000) < probability).astype(int)
    curve = evaluate(np.c_[1 - probability, probability], truth, states=["no", "yes"]).overall.curve
    assert curve.n_rows.tolist() == [100] * 10
    edges = np.sort(probability).reshape(10, 100)
    np.testing.assert_allclose(curve.predicted, edges.mean(axis=1))
    # Rows are drawn with these probabilities: 4 standard errors of a share of 100 rows.
    assert np.all(np.abs(curve.predicted - curve.observed) < 0.2)


def test_equal_probabilities_share_a_bin():
    probability = np.array([0.2] * 7 + [0.9] * 3)
    curve = evaluate(
        np.c_[1 - probability, probability], [0] * 5 + [1] * 5, states=["no", "yes"], n_bins=5
    ).overall.curve
    assert curve.n_rows.tolist() == [7, 3]
    np.testing.assert_allclose(curve.observed, [2 / 7, 1])


def test_gaps_name_the_worst_source_and_the_spread():
    probabilities = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.6, 0.4]]
    found = evaluate(
        probabilities,
        [0, 1, 0, 1],
        states=["no", "yes"],
        sources=["good", "empty", "bad"],
        source_codes=[0, 0, 2, 2],
    )
    assert list(found.by_source) == ["good", "bad"]
    accuracy, loss = found.gaps["accuracy"], found.gaps["log_loss"]
    assert (accuracy.worst, accuracy.value, accuracy.spread) == ("bad", 0.5, 0.5)
    assert loss.worst == "bad"
    assert loss.spread == pytest.approx(
        found.by_source["bad"].log_loss - found.by_source["good"].log_loss
    )
    assert "precision" in found.gaps
    assert found.gaps["precision"].worst == "good"  # nobody of the other was called positive


@pytest.mark.parametrize(("second", "spread"), [([1, 0], 0.0), ([0, 1], np.inf)])
def test_infinite_losses_make_no_nan_of_the_spread(second, spread):
    found = evaluate(
        [[1, 0], second], [1, 1], states=["no", "yes"], sources=list("xy"), source_codes=[0, 1]
    )
    assert found.gaps["log_loss"].spread == spread


def test_the_table_is_readable():
    found = evaluate(
        [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.6, 0.4]],
        [0, 1, 0, 1],
        states=["no", "yes"],
        sources=["good", "bad"],
        source_codes=[0, 0, 1, 1],
        n_bins=1,
    )
    assert str(found) == "\n".join(
        [
            "4 rows, states 'no', 'yes', positive state 'yes'",
            "              rows  accuracy  precision  recall     F1  Brier  log loss  calibration",
            "all              4     0.750      1.000   0.500  0.667  0.285     0.439        0.075",
            "class prior      4     0.500          -   0.000  0.000  0.500     0.693        0.000",
            "good             2     1.000      1.000   1.000  1.000  0.050     0.164        0.050",
            "bad              2     0.500          -   0.000  0.000  0.520     0.714        0.100",
            "worst source             bad       good     bad    bad    bad       bad          bad",
            "spread                 0.500      0.000   1.000  1.000  0.470     0.549        0.050",
        ]
    )
    assert repr(found) == "Evaluation(4 rows, 2 sources, accuracy 0.750, log loss 0.439)"


def test_names_are_escaped_in_html_and_many_sources_are_cut():
    names = [f"<{k}>" for k in range(40)]
    found = evaluate(
        [[1, 0]] * 40, [0] * 40, states=["no", "yes"], sources=names, source_codes=range(40)
    )
    assert "&lt;0&gt;" in found._repr_html_()
    assert "<0>" not in found._repr_html_()
    assert "and 10 more" in str(found)
    assert len(found.to_frame()) == 42


def test_a_frame_has_one_row_a_line():
    found = evaluate(
        [[1, 0], [0, 1]], [0, 0], states=["no", "yes"], sources=["all"], source_codes=[0, 0]
    )
    frame = found.to_frame()
    assert frame["line"].tolist() == ["all", "class prior", "source"]
    assert frame["source"].tolist()[2] == "all"
    assert frame["accuracy"].tolist() == [0.5, 1.0, 0.5]
    assert frame["recall"].isna().all()


def heart():
    north = {"pain": ["yes", "no", "no", None], "ill": ["yes", "no", "no", "yes"]}
    south = {"pain": ["yes", "yes", "no"], "ill": ["yes", None, "no"]}
    return cs.read(
        {"north": north, "south": south}, source="hospital", states={"ill": ["no", "yes"]}
    )


def test_a_network_is_evaluated_by_source_with_states_matched_by_name():
    table = heart()
    net = cs.fit(cs.DAG([("ill", "pain")]), table)
    found = evaluate_network(net, table, "ill")
    assert found.positive == "yes"
    assert (found.overall.n_rows, found.n_unknown) == (6, 1)
    assert list(found.by_source) == ["north", "south"]
    frame = table.to_frame()[["hospital", "pain", "ill"]]
    other = cs.read(frame.astype(object), source="hospital", states={"ill": ["yes", "no"]})
    assert_same(evaluate_network(net, other, "ill").overall, found.overall)
    assert found.prior.log_loss == pytest.approx(
        -np.mean(np.log(net.query("ill").values[[1, 0, 0, 1, 1, 0]]))
    )


def test_weights_of_a_table_count():
    table = heart()
    net = cs.fit(cs.DAG([("ill", "pain")]), table)
    weights = np.arange(table.n_rows)
    heavy = cs.Table(table.schema, table.columns, table.source_codes, weights)
    repeated = table.take(np.repeat(np.arange(table.n_rows), weights))
    one, two = (evaluate_network(net, rows, "ill") for rows in (heavy, repeated))
    assert_same(one.overall, two.overall)
    assert one.n_unknown == two.n_unknown


def test_a_state_that_the_network_does_not_know_is_named():
    net = cs.fit(cs.DAG([("ill", "pain")]), heart())
    table = cs.read({"pain": ["yes"], "ill": ["maybe"]})
    with pytest.raises(DataError, match="column 'ill', row 1: the state 'maybe' is not known"):
        evaluate_network(net, table, "ill")
    with pytest.raises(UnknownNameError, match="unknown variable 'ill'"):
        evaluate_network(net, cs.read({"pain": ["yes"]}), "ill")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probabilities": [[0.5, 0.5, 0.0]]}, r"2 columns; got the shape \(1, 3\)"),
        ({"probabilities": [[0.5, 0.6]]}, r"row 1 must be zero or more and sum to one, got \[0.5"),
        ({"probabilities": [[1.5, -0.5]]}, "row 1 must be zero or more"),
        ({"probabilities": [[np.nan, 1.0]]}, "row 1 must be zero or more"),
        ({"truth": [2]}, "truth must be codes from -1 to 1, got 2 in row 1"),
        ({"truth": [0, 1]}, "truth must be 1 whole numbers"),
        ({"truth": [0.5]}, "truth must be 1 whole numbers, got float64"),
        ({"truth": [-1]}, "no row whose true state is known"),
        ({"weights": [-1]}, "weights must be 1 finite numbers"),
        ({"weights": [0]}, "no row whose true state is known"),
        ({"prior": [0.5, 0.6]}, "prior must be 2 numbers"),
        ({"source_codes": [1], "sources": ["x"]}, "source_codes must be codes from 0 to 0, got 1"),
        ({"n_bins": 0}, "n_bins must be a whole number of at least 1, got 0"),
    ],
)
def test_input_that_makes_no_sense_is_refused(change, message):
    arguments = {"probabilities": [[0.5, 0.5]], "truth": [0], "states": ["no", "yes"]} | change
    with pytest.raises(InputError, match=message):
        evaluate(arguments.pop("probabilities"), arguments.pop("truth"), **arguments)


def test_an_unknown_positive_state_is_refused():
    with pytest.raises(UnknownNameError, match="unknown state 'ja'"):
        evaluate([[0.5, 0.5]], [0], states=["no", "yes"], positive="ja")


def test_measuring_needs_no_scikit_learn():
    code = "import sys, consilience.classify; print({'sklearn', 'matplotlib'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
