from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from classifier_data import FEATURES, patients, with_gaps
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OrdinalEncoder

import consilience as cs
from consilience.classify.classifiers import NaiveBayesClassifier, NetworkClassifier, TANClassifier

PATIENTS = patients()
X, Y = PATIENTS[FEATURES], PATIENTS["ill"]
DAG = cs.DAG([("ill", "fever"), ("ill", "rash"), ("fever", "rash"), ("smoke", "ill")])
CLASSIFIERS = [NaiveBayesClassifier(), TANClassifier(), NetworkClassifier(DAG)]

every_classifier = pytest.mark.parametrize(
    "classifier", CLASSIFIERS, ids=lambda one: type(one).__name__
)


@every_classifier
@pytest.mark.parametrize("rows", [X, with_gaps(X)], ids=["complete", "with gaps"])
def test_probabilities_are_the_posteriors_of_the_network(classifier, rows):
    fitted = clone(classifier).fit(with_gaps(X), Y)
    table = cs.read(rows, schema=fitted.network_.variables)
    expected = fitted.network_.posteriors(table, "ill")
    np.testing.assert_array_equal(fitted.predict_proba(rows), expected)


@every_classifier
def test_the_network_is_the_one_that_fit_gives(classifier):
    fitted = clone(classifier).set_params(estimator=cs.HDC()).fit(X, Y)
    table = cs.read(PATIENTS[[*FEATURES, "ill"]], states={"ill": sorted(set(Y))})
    net = cs.fit(fitted.network_.dag, table, cs.HDC())
    for name, local in net.distributions.items():
        np.testing.assert_array_equal(fitted.network_[name].table, local.table)


def test_naive_bayes_agrees_with_scikit_learn():
    ours = NaiveBayesClassifier(cs.Dirichlet(per_cell=1)).fit(X, Y)
    encoder = OrdinalEncoder().fit(X)
    prior = ours.network_["ill"].table  # scikit-learn does not smooth this one
    theirs = CategoricalNB(alpha=1, class_prior=prior).fit(encoder.transform(X), Y)
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(encoder.transform(X)), rtol=0, atol=1e-12
    )


def test_a_gap_is_summed_out():
    fitted = TANClassifier().fit(X, Y)
    joint = fitted.network_.query(["ill", "rash"], given={"fever": "s0", "smoke": "s1"})
    row = pd.DataFrame({"fever": ["s0"], "rash": [None], "smoke": ["s1"]})
    expected = [sum(joint[state, rash] for rash in ("s0", "s1")) for state in ("s0", "s1")]
    np.testing.assert_allclose(fitted.predict_proba(row)[0], expected)


def test_a_row_of_gaps_has_the_probabilities_of_the_classes():
    fitted = NaiveBayesClassifier().fit(X, Y)
    nothing = pd.DataFrame({name: [None] for name in FEATURES})
    np.testing.assert_allclose(fitted.predict_proba(nothing)[0], fitted.network_["ill"].table)


def test_the_report_says_that_rows_with_gaps_were_left_out_by_family():
    assert "available cases" in NaiveBayesClassifier().fit(with_gaps(X), Y).report()


@pytest.mark.parametrize("classifier", [TANClassifier(), NetworkClassifier(cs.tan)], ids=["a", "b"])
def test_the_report_says_that_the_tree_was_learned_from_rows_with_gaps(classifier):
    gaps = X.assign(fever=X["fever"].where(X.index > 3))
    fitted = clone(classifier).fit(gaps, Y)
    [note] = [note for note in fitted.network_.record.notes if "tree" in note]
    assert note.endswith("Gaps in: 'fever'.")
    assert note in fitted.report()
    assert "tree" not in clone(classifier).fit(X, Y).report()


def test_an_unseen_state_is_missing_and_counted():
    fitted = NaiveBayesClassifier().fit(X, Y)
    rows = X.head(4).assign(fever=["new", "new", "other", "s0"])
    gaps = X.head(4).assign(fever=[None, None, None, "s0"])
    np.testing.assert_array_equal(fitted.predict_proba(rows), fitted.predict_proba(gaps))
    found = fitted.unseen(rows)
    assert found.states == {"fever": {"new": 2, "other": 1}}
    assert (found.n_rows, found.n_missing) == (4, 3)


def test_declared_states_are_kept_though_no_row_has_them():
    fitted = NaiveBayesClassifier(states={"fever": ["s0", "s1", "s2", "s3"]}).fit(X, Y)
    assert fitted.network_["fever"].table.shape == (2, 4)
    assert fitted.unseen(X.head(1).assign(fever="s3")).states == {}


def test_texts_can_be_declared_missing():
    fitted = NaiveBayesClassifier(missing=("s0",)).fit(X, Y)
    assert fitted.network_.variables["rash"].states == ("s1",)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 3, 1]),
        np.array([True, False, True, False]),
        np.array(["no", "yes", "no", "yes"]),
        pd.Series(["b", "a", "b", "a"]),
        pd.Series(["b", "a", "b", "a"], dtype="category"),
        np.array([1.0, -1.0, 1.0, -1.0]),
        ["no", "yes", "no", "yes"],
        np.array([0, 2, 1, 1], dtype=np.int8),
    ],
    ids=lambda y: f"{type(y).__name__} of {np.asarray(y).dtype}",
)
def test_classes_come_back_in_their_own_type_and_order(y):
    fitted = NaiveBayesClassifier(cs.MLE()).fit([["a"], ["b"], ["a"], ["b"]], y)
    assert fitted.classes_.dtype == np.asarray(y).dtype
    assert fitted.classes_.tolist() == sorted(set(y))
    assert fitted.predict([["a"]]).dtype == np.asarray(y).dtype


def test_numbers_are_cut_where_fit_cut_them():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    numbers = rng.normal(size=(500, 2)) + y[:, None]
    fitted = NaiveBayesClassifier().fit(numbers, y)
    variable = fitted.network_.variables["x0"]
    assert variable.cuts == cs.Quantiles(4).cut_points(numbers[:, 0], np.ones(500), None)
    low = fitted.network_.query("target", given={"x0": variable.states[0]})
    np.testing.assert_allclose(fitted.predict_proba([[-1e9, np.nan]])[0], [low["0"], low["1"]])


def test_each_column_can_be_cut_in_its_own_way():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=99), "b": rng.normal(size=99), "c": range(99)})
    frame["c"] %= 10
    cuts = {"a": cs.data.MDLP("ill"), "c": cs.data.EqualWidth(2)}
    y = pd.Series(np.where(frame["a"] > 0, "yes", "no"), name="ill")
    variables = NaiveBayesClassifier(discretize=cuts).fit(frame, y).network_.variables
    assert [variables[name].n_states for name in "abc"] == [2, 4, 2]
    all_alike = NaiveBayesClassifier(discretize=cs.Quantiles(3)).fit(frame, y).network_.variables
    assert [all_alike[name].n_states for name in "abc"] == [3, 3, 10]


@pytest.mark.parametrize("classifier", [NaiveBayesClassifier(), TANClassifier()], ids=repr)
@pytest.mark.parametrize("sources", [False, True])
def test_numbers_can_be_kept_with_gaps_and_sources(classifier, sources):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {"a": rng.normal(y), "b": rng.normal(size=300), "c": rng.integers(0, 2, 300)}
    )
    frame["b"] += frame["a"]
    frame = frame.astype({"c": str}).mask(rng.random(frame.shape) < 0.1)
    source = np.where(rng.random(300) < 0.5, "here", "there") if sources else None
    fitted = clone(classifier).set_params(discretize=False).fit(frame, y, source=source)
    assert fitted.network_.variables["a"].is_continuous
    assert fitted.score(frame, y, source=source) > 0.6
    rows = cs.read(frame, schema={v: fitted.network_.variables[v] for v in "abc"})
    if not sources:
        expected = fitted.network_.posteriors(rows, "target")
        np.testing.assert_allclose(fitted.predict_proba(frame), expected)
    assert fitted.unseen(frame, source=source).n_missing == int(frame.isna().to_numpy().sum())
    some = clone(classifier).set_params(discretize={"a": False}).fit(frame, y)
    assert [some.network_.variables[v].is_continuous for v in "abc"] == [True, False, False]


@every_classifier
def test_a_weight_is_a_number_of_rows(classifier):
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    repeated = PATIENTS.loc[np.repeat(PATIENTS.index, weights)]
    one = clone(classifier).fit(X, Y, sample_weight=weights)
    other = clone(classifier).fit(repeated[FEATURES], repeated["ill"])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)
    halves = clone(classifier).set_params(estimator=cs.MLE()).fit(X, Y, sample_weight=weights / 2)
    wholes = clone(classifier).set_params(estimator=cs.MLE()).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(halves.predict_proba(X), wholes.predict_proba(X), atol=1e-9)


def test_the_score_counts_rows_by_weight():
    fitted = NaiveBayesClassifier().fit(X, Y)
    is_right = (fitted.predict(X) == Y).to_numpy()
    assert fitted.score(X, Y) == pytest.approx(is_right.mean())
    assert fitted.score(X, Y, sample_weight=is_right) == 1.0


@pytest.mark.parametrize("frame", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_any_frame_will_do(frame):
    expected = TANClassifier().fit(X, Y).predict_proba(with_gaps(X))
    fitted = TANClassifier().fit(frame(X), Y.to_numpy())
    assert fitted.feature_names_in_.tolist() == FEATURES
    np.testing.assert_allclose(fitted.predict_proba(frame(with_gaps(X))), expected)


def test_arrays_and_lists_go_by_position():
    expected = NaiveBayesClassifier().fit(X, Y).predict_proba(with_gaps(X))
    rows = with_gaps(X).astype(object).where(with_gaps(X).notna(), None).to_numpy()
    for form in (rows, rows.tolist()):
        fitted = NaiveBayesClassifier().fit(X.to_numpy(), Y)
        assert set(fitted.network_.variables) == {"x0", "x1", "x2", "ill"}
        np.testing.assert_allclose(fitted.predict_proba(form), expected)


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_frame_goes_by_position_if_fit_saw_no_names(frame):
    fitted = NaiveBayesClassifier().fit(X.set_axis([0, 1, 2], axis=1), Y)
    expected = NaiveBayesClassifier().fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(frame(X)), expected)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_an_array_goes_by_position_if_fit_saw_names():
    fitted = NaiveBayesClassifier().fit(X, Y)
    np.testing.assert_array_equal(fitted.predict_proba(X.to_numpy()), fitted.predict_proba(X))


def test_nan_in_a_list_of_texts_is_a_gap():
    fitted = NaiveBayesClassifier().fit([["a", 1.5], ["b", np.nan], ["a", None]], [0, 1, 0])
    assert fitted.network_.variables["x1"].states == ("any",)


def test_categories_keep_the_states_that_no_row_has():
    frame = X.assign(fever=X["fever"].astype(pd.CategoricalDtype(["s0", "s1", "s2", "none"])))
    fitted = NaiveBayesClassifier().fit(frame, Y)
    assert fitted.network_.variables["fever"].n_states == 4


@every_classifier
def test_a_classifier_can_be_cloned_and_pickled(classifier):
    fitted = clone(classifier).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.report() == fitted.report()
    assert not hasattr(clone(fitted), "network_")
    assert repr(clone(fitted)) == repr(fitted)


def test_a_graph_names_the_target_where_y_cannot():
    calibrated = CalibratedClassifierCV(NetworkClassifier(DAG), cv=2).fit(X, Y)
    assert calibrated.predict_proba(X).shape == (len(X), 2)


def test_columns_outside_the_graph_have_no_say():
    fitted = NetworkClassifier(cs.DAG([("ill", "rash")])).fit(X, Y)
    assert fitted.story_.unused == ("fever", "smoke")
    assert "columns that are no nodes of the graph: fever, smoke" in fitted.report()
    for_all = fitted.predict_proba(X.assign(fever="s0", smoke=None))
    np.testing.assert_array_equal(for_all, fitted.predict_proba(X))


def test_a_graph_without_features_gives_the_shares_of_the_classes():
    fitted = NetworkClassifier(cs.DAG(nodes=["ill"]), cs.MLE()).fit(X, Y)
    shares = Y.value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(fitted.predict_proba(X), np.tile(shares, (len(X), 1)))


def test_an_impossible_row_gets_the_shares_of_the_classes():
    fitted = NaiveBayesClassifier(cs.MLE()).fit([["a", "u"], ["b", "v"], ["b", "v"]], [0, 1, 1])
    np.testing.assert_allclose(fitted.predict_proba([["a", "v"]]), [[1 / 3, 2 / 3]])
    assert "1 rows are impossible" in fitted.report([["a", "v"]])


def test_excluded_classes_have_the_logarithm_of_zero():
    fitted = NaiveBayesClassifier(cs.MLE()).fit([["a"], ["b"]], [0, 1])
    assert fitted.predict_log_proba([["a"]]).tolist() == [[0.0, -np.inf]]
