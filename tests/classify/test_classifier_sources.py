from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from classifier_data import FEATURES, HOSPITALS, patients, with_gaps
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import consilience as cs
from consilience.classify.classifiers import NaiveBayesClassifier, TANClassifier

PATIENTS = patients()
WITH_SOURCE = PATIENTS[[*FEATURES, "hospital"]]
X, Y, HOSPITAL = PATIENTS[FEATURES], PATIENTS["ill"], PATIENTS["hospital"]


def test_a_source_in_a_column_or_beside_is_the_same():
    column = NaiveBayesClassifier(source="hospital").fit(WITH_SOURCE, Y)
    beside = NaiveBayesClassifier().fit(X, Y, source=HOSPITAL)
    unnamed = NaiveBayesClassifier().fit(X, Y, source=HOSPITAL.tolist())
    expected = column.predict_proba(WITH_SOURCE)
    np.testing.assert_array_equal(beside.predict_proba(X, source=HOSPITAL), expected)
    np.testing.assert_array_equal(unnamed.predict_proba(X, source=HOSPITAL.to_numpy()), expected)
    assert (column.source_, beside.source_, unnamed.source_) == ("hospital", "hospital", "source")


def test_the_network_is_the_one_that_fit_gives_for_many_sources():
    fitted = TANClassifier(cs.HDC(), source="hospital").fit(WITH_SOURCE, Y)
    table = cs.read(PATIENTS, source="hospital", states={"ill": sorted(set(Y))})
    net = cs.fit(cs.tan(table, "ill"), table, cs.HDC())
    assert set(fitted.network_.dag.arcs) == set(net.dag.arcs)
    rows = cs.read(with_gaps(X).assign(hospital=HOSPITAL), schema=net.variables)
    np.testing.assert_allclose(
        fitted.predict_proba(with_gaps(X).assign(hospital=HOSPITAL)),
        net.posteriors(rows, "ill"),
    )


def test_the_source_is_not_a_feature():
    fitted = TANClassifier(source="hospital").fit(WITH_SOURCE, Y)
    assert fitted.story_.features == tuple(FEATURES)
    assert fitted.n_features_in_ == 4
    assert fitted.network_.dag.parents("hospital") == ()


def test_an_unknown_source_is_summed_out():
    fitted = NaiveBayesClassifier(cs.HDMCS()).fit(X, Y, source=HOSPITAL)
    row = X.head(1)
    given = {name: row[name].item() for name in FEATURES}
    expected = fitted.network_.query("ill", given=given)
    for unknown in ([None], [np.nan], None):
        found = fitted.predict_proba(row, source=unknown)[0]
        np.testing.assert_allclose(found, [expected["s0"], expected["s1"]])


def test_a_new_source_is_the_reserved_state_of_a_hierarchy():
    fitted = NaiveBayesClassifier(cs.HDMCS(), source="hospital").fit(WITH_SOURCE, Y)
    row = WITH_SOURCE.head(1).assign(hospital="west")
    given = {name: row[name].item() for name in FEATURES}
    expected = fitted.network_.query("ill", given={**given, "hospital": "new_source"})
    np.testing.assert_allclose(fitted.predict_proba(row)[0], [expected["s0"], expected["s1"]])
    assert fitted.unseen(row).sources == {"west": 1}
    assert fitted.unseen(row).states == {}


def test_a_new_source_is_summed_out_without_a_hierarchy():
    fitted = NaiveBayesClassifier(cs.Separate(cs.Dirichlet())).fit(X, Y, source=HOSPITAL)
    new = fitted.predict_proba(X, source=["west"] * len(X))
    np.testing.assert_allclose(new, fitted.predict_proba(X))


def test_a_category_that_no_row_has_is_a_new_source():
    names = pd.CategoricalDtype([*HOSPITALS, "west"])
    fitted = NaiveBayesClassifier(cs.HDMCS()).fit(X, Y, source=HOSPITAL.astype(names))
    assert fitted.network_.variables["hospital"].states == (*HOSPITALS, "new_source")
    row = with_gaps(X).head(1)
    by_name = fitted.predict_proba(row, source=["west"])
    np.testing.assert_array_equal(by_name, fitted.predict_proba(row, source=["new_source"]))
    assert by_name.sum() == pytest.approx(1)


def test_one_source_only_needs_no_node():
    fitted = NaiveBayesClassifier().fit(X, Y, source=["here"] * len(X))
    assert fitted.network_.source is None
    elsewhere = fitted.predict_proba(X, source=["there"] * len(X))
    np.testing.assert_array_equal(elsewhere, fitted.predict_proba(X))


def test_another_source_than_the_only_one_is_reported():
    beside = NaiveBayesClassifier().fit(X, Y, source=["here"] * len(X))
    sources = ["here", "there", None, "there"]
    assert beside.unseen(X.head(4), source=sources).sources == {"there": 2}
    text = beside.report(X.head(4), source=sources)
    assert "unseen sources (predicted like the only known one): 'there' in 2 rows" in text
    column = NaiveBayesClassifier(source="place").fit(X.assign(place="here"), Y)
    assert column.network_.source is None
    assert column.unseen(X.head(1).assign(place="there")).sources == {"there": 1}
    assert column.unseen(X.head(1).assign(place="here")).sources == {}


def test_weights_and_sources_are_left_out_together():
    is_north = (HOSPITAL == "north").to_numpy()
    fitted = NaiveBayesClassifier().fit(X, Y, sample_weight=~is_north, source=HOSPITAL)
    assert "north" not in fitted.network_.variables["hospital"].states


def test_an_impossible_row_gets_the_shares_of_the_classes_in_its_source():
    rows = [["a", "u"], ["b", "v"], ["b", "v"], ["a", "u"]]
    source = ["north", "north", "north", "south"]
    fitted = NaiveBayesClassifier(cs.Separate(cs.MLE())).fit(rows, [0, 1, 1, 0], source=source)
    found = fitted.predict_proba([["a", "v"], ["b", "u"]], source=["north", "south"])
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3], [1, 0]])


def test_the_score_takes_the_sources():
    fitted = NaiveBayesClassifier().fit(X, Y, source=HOSPITAL)
    predicted = fitted.predict(X, source=HOSPITAL)
    assert fitted.score(X, Y, source=HOSPITAL) == pytest.approx((predicted == Y).mean())


@pytest.fixture
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("_routing")
def test_a_grid_search_leaves_one_source_out():
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), TANClassifier()),
        {"tanclassifier__estimator": [cs.HDMCS(), cs.HDMJS(s=10), cs.Pooled(cs.Dirichlet())]},
        cv=LeaveOneGroupOut(),
    )
    search.fit(X, Y, source=HOSPITAL, groups=HOSPITAL)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].source_ == "hospital"


def test_a_column_of_sources_needs_no_routing():
    scores = cross_val_score(
        TANClassifier(cs.HDMCS(), source="hospital"),
        WITH_SOURCE,
        Y,
        groups=HOSPITAL,
        cv=LeaveOneGroupOut(),
        scoring="neg_log_loss",
    )
    assert np.isfinite(scores).all()


@pytest.mark.usefixtures("_routing")
def test_sources_and_weights_are_routed_without_being_asked_for():
    request = NaiveBayesClassifier().get_metadata_routing()
    assert request.fit.requests == {"source": True, "sample_weight": True}
    assert request.score.requests == {"source": True, "sample_weight": True}
    assert request.predict_proba.requests == request.predict.requests == {"source": True}


def test_a_report_shows_how_far_each_source_was_pooled():
    pooled = NaiveBayesClassifier(cs.Pooled(cs.MLE())).fit(X, Y, source=HOSPITAL)
    apart = NaiveBayesClassifier(cs.Separate(cs.MLE())).fit(X, Y, source=HOSPITAL)
    tied = NaiveBayesClassifier(cs.HDMCS(s=30)).fit(X, Y, source=HOSPITAL)
    assert [one.own for one in pooled.story_.sources] == [0.0] * 3
    assert [one.own for one in apart.story_.sources] == pytest.approx([1.0] * 3)
    assert all(0.2 < one.own < 0.95 for one in tied.story_.sources)
    assert "new_source" in tied.report()


def test_a_report_ranks_the_families_that_differ():
    rng = np.random.default_rng(0)
    source = np.repeat(["a", "b"], 300)
    y = rng.integers(0, 2, 600)
    alike = rng.integers(0, 2, 600)
    unlike = np.where(source == "a", y, 1 - y)
    frame = pd.DataFrame({"alike": alike, "unlike": unlike})
    lines = NaiveBayesClassifier().fit(frame, y, source=source).report().splitlines()
    first = lines.index(next(line for line in lines if line.startswith("family"))) + 1
    families = lines[first : lines.index("", first)]
    assert families[0].startswith("unlike")
    p_pooled = {line.split()[0]: float(line.split()[2]) for line in families}
    assert p_pooled["unlike"] < 1e-3 < 0.5 < p_pooled["alike"]


def test_a_report_tells_what_is_odd_about_rows():
    fitted = NaiveBayesClassifier(cs.HDMCS(), source="hospital").fit(WITH_SOURCE, Y)
    rows = WITH_SOURCE.head(3).assign(fever=["new", None, "s0"], hospital=["west", "west", "north"])
    text = fitted.report(rows)
    assert "3 rows to predict; values missing or unseen: 2" in text
    assert "unseen in 'fever' (summed out): 'new' in 1 row" in text
    assert "unseen sources (state 'new_source'): 'west' in 2 rows" in text
    assert max(map(len, text.splitlines())) <= 130
