from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

mpl.use("Agg")


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
    above, _ = cs.plot(rows())
    shares = above.images[0].get_array()
    assert np.asarray(shares) == pytest.approx(np.array([[0.25, 0.25], [0, 1]]))
    assert [text.get_text() for text in above.get_yticklabels()] == ["p", "q"]
    assert [text.get_text() for text in above.texts] == ["25", "25", "", "100"]
    above.figure.savefig(io.BytesIO(), format="png")


def test_the_lower_picture_has_the_patterns_by_falling_share():
    _, below = cs.plot(rows())
    patterns = np.asarray(below.images[0].get_array())
    assert patterns.astype(bool).tolist() == [[False, False], [False, True], [True, True]]
    labels = [text.get_text() for text in below.get_yticklabels()]
    assert labels == ["complete  50.0 %", "33.3 %", "16.7 %"]


def test_patterns_that_are_not_shown_are_added_up():
    _, below = cs.plot(rows(), n_patterns=1)
    assert below.get_title("left") == "patterns of gaps by share of rows; 2 others: 50.0 %"


def test_rows_count_by_their_weight():
    table = cs.read({"x": ["a", None], "y": ["u", "v"], "n": [3, 1]}, weight="n")
    above, below = cs.plot(table)
    assert above.images[0].get_array()[0, 0] == pytest.approx(0.25)
    assert below.get_yticklabels()[0].get_text() == "complete  75.0 %"


def test_many_sources_are_summed_up_in_a_last_line():
    table = cs.read({f"s{k}": {"x": ["a", None]} for k in range(40)}, source="F")
    labels = [text.get_text() for text in cs.plot(table)[0].get_yticklabels()]
    assert len(labels) == 31
    assert labels[-1] == "mean of 10 more"


def test_a_table_without_rows_is_refused():
    with pytest.raises(InputError, match="needs rows and columns"):
        cs.plot(rows().take([]))


def test_one_pattern_that_is_not_shown_is_one_other():
    _, below = cs.plot(rows(), n_patterns=2)
    assert below.get_title("left").endswith("; 1 other: 16.7 %")


def test_colors_have_a_scale_where_there_is_no_room_for_numbers():
    table = cs.read({f"x{k}": ["a", "b", None] for k in range(30)})
    above, below, scale = cs.plot(table)[0].figure.axes
    assert not above.texts
    assert scale.get_ylabel() == "share missing"
    above.figure.canvas.draw()
    assert above.get_position().x1 == pytest.approx(below.get_position().x1)
    assert len(cs.plot(rows())[0].figure.axes) == 2


def test_a_complete_table_is_said_to_be_complete():
    above = cs.plot(cs.read({"x": ["a", "b"], "y": ["u", "v"]}))[0]
    assert above.get_title("left") == "nothing is missing"


def test_rows_with_patterns_of_their_own_are_told():
    own = "most rows with gaps have a pattern of their own"
    columns = {f"x{k}": [None if row == k else "a" for row in range(12)] for k in range(12)}
    assert own in cs.plot(cs.read(columns))[1].get_title("left")
    twice = cs.read({**columns, "n": [2] * 12}, weight="n")
    assert own not in cs.plot(twice)[1].get_title("left")
