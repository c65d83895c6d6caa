from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.errors import UnknownNameError

mpl.use("Agg")
import matplotlib.pyplot as plt


def rows(n_sources=3):
    names = [f"s${k}$" for k in range(n_sources)]
    dag = cs.DAG.parse("[ward][ill|ward][fever|ill:ward][rash|ill]")
    n_states = {"ward": max(n_sources, 1), "ill": 2, "fever": 3, "rash": 2}
    frame = cs.random_network(dag, n_states=n_states, seed=2).sample(150, seed=1).to_frame()
    frame["ward"] = frame["ward"].cat.rename_categories(names) if n_sources else "x"
    frame = frame.astype(str)
    return cs.read(frame, source="ward") if n_sources else cs.read(frame.drop(columns="ward"))


def evaluated(n_sources=3, **options):
    choices = {
        "structures": {"naive Bayes": cs.naive_bayes, "graph": cs.DAG([("ill", "rash")])},
        "estimators": {"pooled": cs.Pooled(cs.Dirichlet()), "MLE $": cs.Separate(cs.MLE())},
        "splits": cs.classify.StratifiedFolds(3),
    }
    return cs.cross_evaluate(rows(n_sources), "ill", **{**choices, **options})


def drawn(ax):
    ax.figure.savefig(io.BytesIO(), format="png")
    return {text.get_text() for text in ax.texts}


def test_every_contestant_has_its_mean_and_error_and_the_prior_a_line():
    found = evaluated()
    ax = cs.plot(found, "estimators", measure="accuracy")
    means = {line.mean for line in found.summary("accuracy")}
    dots = {line.get_xdata()[0] for line in ax.lines}
    assert means <= dots
    assert " class prior" in drawn(ax)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["pooled", r"MLE \$", "pooled", r"MLE \$", "naive Bayes", "graph"]
    assert "higher is better" in ax.get_xlabel()


def test_what_is_infinite_is_said():
    found = evaluated(splits=cs.classify.LearningCurve((10,), repeats=2))
    assert found.summary("log_loss")[3].mean == np.inf
    assert "infinite" in drawn(cs.plot(found, "estimators"))
    assert r"infinite: MLE \$" in drawn(cs.plot(found, "curve"))


def test_every_source_is_a_dot_and_has_a_name():
    found = evaluated()
    ax = cs.plot(found, "sources", measure="brier")
    values = found.by_source(("naive Bayes", "pooled"), "brier")
    assert set(values.values()) <= {line.get_xdata()[0] for line in ax.lines}
    assert len(ax.get_legend().get_texts()) == 3
    drawn(ax)


def test_many_sources_share_one_grey_name():
    ax = cs.plot(evaluated(n_sources=9), "sources", measure="brier")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a source"]


def test_a_learning_curve_has_a_line_an_estimator():
    found = evaluated(splits=cs.classify.LearningCurve((10, 40, 90), repeats=2))
    ax = cs.plot(found, "curve", measure="accuracy", structure="graph")
    assert ax.get_title() == "graph"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10", "40", "90"]
    names = list(ax.get_legend_handles_labels()[1])
    assert names == ["class prior", "class prior by source", "pooled", r"MLE \$"]
    drawn(ax)


def test_calibration_curves_are_those_of_the_record():
    found = evaluated()
    ax = cs.plot(found, "calibration")
    lines = {line.get_label(): line for line in ax.lines}
    curve = found.curve(("naive Bayes", "pooled"))
    np.testing.assert_array_equal(lines["pooled"].get_ydata(), curve.observed)
    drawn(ax)


@pytest.mark.parametrize("view", ["measures", "sources", "curves", "calibrations"])
def test_the_panels_of_an_evaluation_can_be_saved(view):
    found = evaluated(splits=cs.classify.LearningCurve((20, 60), repeats=1))
    np.ravel(cs.plot(found, view))[0].figure.savefig(io.BytesIO(), format="png")


def test_axes_can_be_given_and_structures_must_exist():
    found = evaluated()
    _, ax = plt.subplots()
    for view in ("estimators", "sources", "calibration"):
        assert cs.plot(found, view, ax=ax) is ax
    with pytest.raises(UnknownNameError, match="unknown structure 'tan'"):
        cs.plot(found, "calibration", structure="tan")
    with pytest.raises(UnknownNameError, match="unknown measure 'speed'"):
        cs.plot(found, "estimators", measure="speed")
