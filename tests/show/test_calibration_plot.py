from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np

from consilience.classify.measures import evaluate
from consilience.show.calibration import plot_calibration

mpl.use("Agg")
import matplotlib.pyplot as plt


def evaluation(n_sources=2, **options):
    rng = np.random.default_rng(1)
    probability = rng.random(600)
    truth = (rng.random(600) < probability).astype(int)
    return evaluate(
        np.c_[1 - probability, probability],
        truth,
        states=["no", "$yes$"],
        sources=[f"s{k}" for k in range(n_sources)],
        source_codes=rng.integers(0, max(n_sources, 1), 600) if n_sources else None,
        **options,
    )


def test_dots_are_the_bins_of_the_curve():
    found = evaluation()
    ax = plot_calibration(found)
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(lines["all"].get_xdata(), found.overall.curve.predicted)
    np.testing.assert_array_equal(lines["all"].get_ydata(), found.overall.curve.observed)
    np.testing.assert_array_equal(lines["s1"].get_ydata(), found.by_source["s1"].curve.observed)
    ax.figure.savefig(io.BytesIO(), format="png")


def test_intervals_hold_the_shares_and_stay_between_zero_and_one():
    found = evaluate([[0.5, 0.5]] * 4 + [[0, 1]] * 4, [0, 0, 1, 1, 1, 1, 1, 1], states=["a", "b"])
    (intervals,) = plot_calibration(found).collections
    low, high = np.array([segment[:, 1] for segment in intervals.get_segments()]).T
    observed = found.overall.curve.observed
    assert np.all((low >= 0) & (low <= observed) & (observed <= high + 1e-12) & (high <= 1 + 1e-12))


def test_many_sources_share_one_grey_name():
    ax = plot_calibration(evaluation(n_sources=9))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a source", "all"]
    ax.figure.savefig(io.BytesIO(), format="png")


def test_without_sources_there_is_no_legend_and_axes_can_be_given():
    _, given = plt.subplots()
    ax = plot_calibration(evaluation(n_sources=0), given)
    assert ax is given
    assert ax.get_legend() is None
    ax.figure.savefig(io.BytesIO(), format="png")
