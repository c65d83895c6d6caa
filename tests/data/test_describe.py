"""What is in a table, in numbers and in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from consilience._freeze import FrozenMap
from consilience.data.describe import describe, missing_shares
from consilience.data.read import read


def test_missing_shares_go_by_source():
    table = read({"f": ["p", "p", "q"], "x": ["a", None, "b"], "y": [0.5, 1.5, None]}, source="f")
    assert table.missing == {"p": {"x": 0.5, "y": 0.0}, "q": {"x": 0.0, "y": 1.0}}
    assert isinstance(table.missing, FrozenMap)
    assert isinstance(table.missing["p"], FrozenMap)


def test_without_sources_the_shares_are_under_all():
    assert read({"x": ["a", None]}).missing == {"all": {"x": 0.5}}


def test_missing_shares_count_weights():
    assert read({"x": ["a", None], "n": [3, 1]}, weight="n").missing["all"]["x"] == 0.25


def test_without_rows_nothing_is_missing():
    assert read({"x": []}).missing == {"all": {"x": 0.0}}
    assert read({"x": ["a"], "n": [0]}, weight="n").missing == {"all": {"x": 0.0}}


@given(
    st.lists(
        st.tuples(st.sampled_from("pq"), st.sampled_from(["a", None]), st.integers(0, 3)),
        min_size=1,
    )
)
def test_missing_shares_equal_those_of_the_repeated_rows(rows):
    columns = dict(zip("fxn", map(list, zip(*rows, strict=True)), strict=True))
    table = read(columns, source="f", weight="n", states={"x": ["a"]})
    repeated = table.take(np.repeat(np.arange(len(rows)), columns["n"]))
    for source in table.sources:
        where = repeated.source_codes == table.sources.index(source)
        expected = float(np.mean(repeated.columns["x"][where] < 0)) if where.any() else 0.0
        assert missing_shares(table)[source]["x"] == pytest.approx(expected, abs=1e-12)


@pytest.fixture
def description():
    data = {
        "f": ["p", "q", "q"],
        "sex": ["F", "M", None],
        "age": [29, 77.5, None],
        "none": [None, None, None],
        "n": [1, 2, 1],
    }
    return describe(read(data, source="f", weight="n"))


def test_each_variable_has_kind_content_share_and_origin(description):
    sex, age, none = description.rows
    assert (sex.kind, sex.states, sex.range, sex.missing) == ("discrete", ("F", "M"), None, 0.25)
    assert (age.kind, age.states, age.range, age.origin) == (
        "continuous",
        None,
        (29, 77.5),
        "fractions",
    )
    assert (none.range, none.missing, none.origin) == (None, 1.0, "no values")


def test_the_text_is_aligned(description):
    assert str(description).splitlines() == [
        "3 rows of weight 4, 3 variables, 2 sources in 'f'",
        "variable  kind        states or range  missing  because",
        "sex       discrete    2: F, M           25.0 %  text",
        "age       continuous  29 to 77.5        25.0 %  fractions",
        "none      continuous  no values        100.0 %  no values",
    ]


def test_the_text_fits_a_hundred_columns():
    states = [f"a rather long state number {k}" for k in range(200)]
    table = read({"x" * 80: states, "y": states}, states={"y": states})
    lines = str(table.describe()).splitlines()
    assert max(map(len, lines)) <= 100
    assert "..." in lines[2]


def test_the_frame_has_a_row_a_variable(description):
    frame = description.to_frame()
    assert frame["variable"].tolist() == ["sex", "age", "none"]
    assert frame["content"].tolist() == ["2: F, M", "29 to 77.5", "no values"]


def test_html_is_escaped():
    table = read({"<b>": ["<x>", "&"]})
    assert "&lt;b&gt;" in table._repr_html_()
    assert "2: &lt;x&gt;, &amp;" in table._repr_html_()
    assert "<x>" not in table._repr_html_()


def test_a_table_without_variables_can_be_described():
    assert "0 variables" in str(read({"f": ["p"]}, source="f").describe())


def test_a_range_leaves_out_rows_of_weight_zero_but_their_states_stay():
    data = {"x": [0.5, 1.5, 100.5], "y": ["a", "a", "b"], "n": [1, 1, 0]}
    x, y = read(data, weight="n").describe().rows
    assert x.range == (0.5, 1.5)
    assert y.states == ("a", "b")
