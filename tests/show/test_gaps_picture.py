from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def rows():
    return cs.read(
        {
            "p": {"x": ["a", "b", None, "a"], "y$": ["u", "v", None, "u"]},
            "q": {"x": ["a", "b"], "y$": [None, None]},
        },
        source="F",
        states={"x": ["a", "b"], "y$": ["u", "v"]},
    )


def test_the_upper_picture_has_the_share_of_every_source_and_column():
    figure = cs.plot_gaps(rows())
    above = figure.axes[0]
    shares = above.images[0].get_array()
    assert np.asarray(shares) == pytest.approx(np.array([[0.25, 0.25], [0, 1]]))
    assert [text.get_text() for text in above.get_yticklabels()] == ["p", "q"]
    assert [text.get_text() for text in above.texts] == ["25", "25", "", "100"]
    figure.savefig(io.BytesIO(), format="png")


def test_the_lower_picture_has_the_patterns_by_falling_share():
    below = cs.plot_gaps(rows()).axes[1]
    patterns = np.asarray(below.images[0].get_array())
    assert patterns.astype(bool).tolist() == [[False, False], [False, True], [True, True]]
    labels = [text.get_text() for text in below.get_yticklabels()]
    assert labels == ["complete  50.0 %", "33.3 %", "16.7 %"]


def test_patterns_that_are_not_shown_are_added_up():
    below = cs.plot_gaps(rows(), n_patterns=1).axes[1]
    assert below.get_title("left") == "patterns of gaps by share of rows; 2 others: 50.0 %"


def test_rows_count_by_their_weight():
    table = cs.read({"x": ["a", None], "y": ["u", "v"], "n": [3, 1]}, weight="n")
    figure = cs.plot_gaps(table)
    assert figure.axes[0].images[0].get_array()[0, 0] == pytest.approx(0.25)
    assert figure.axes[1].get_yticklabels()[0].get_text() == "complete  75.0 %"


def test_many_sources_are_summed_up_in_a_last_line():
    table = cs.read({f"s{k}": {"x": ["a", None]} for k in range(40)}, source="F")
    labels = [text.get_text() for text in cs.plot_gaps(table).axes[0].get_yticklabels()]
    assert len(labels) == 31
    assert labels[-1] == "mean of 10 more"


def test_a_table_without_rows_is_refused():
    with pytest.raises(InputError, match="with rows and columns"):
        cs.plot_gaps(rows().take([]))
