"""Which columns are discrete, what their states are, and what is missing."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from table_equality import assert_same, labels_of

from consilience.data.discretize import Quantiles
from consilience.data.read import read
from consilience.errors import DataError, InputError, UnknownNameError


@pytest.mark.parametrize(
    ("values", "states", "origin"),
    [
        (["b", "a", "b"], ("b", "a"), "text"),
        ([3, 1, 2, 1], ("1", "2", "3"), "3 different whole numbers"),
        ([10.0, 9.0], ("9", "10"), "2 different whole numbers"),
        (["10", "9", "10.0"], ("9", "10"), "2 different whole numbers"),
        ([7, None], ("7",), "one whole number"),
        ([True, None], ("False", "True"), "booleans"),
        (["01", "1"], ("01", "1"), "text"),
        (["1", 1, 1.0, None], ("1",), "one whole number"),
        (["x", 1, True], ("x", "1", "True"), "text"),
        (list(range(20)), tuple(map(str, range(20))), "20 different whole numbers"),
        ([Decimal("2"), Decimal("1")], ("1", "2"), "2 different whole numbers"),
    ],
)
def test_discrete_by_default(values, states, origin):
    table = read({"x": values})
    assert table.variables["x"].states == states
    assert table.origins["x"] == origin


@pytest.mark.parametrize(
    ("values", "origin"),
    [
        ([1.5, 2.0], "fractions"),
        (["1", "2.5", ""], "fractions"),
        (list(range(21)), ">20 whole numbers"),
        ([str(k) for k in range(21)], ">20 whole numbers"),
        ([None, None], "no values"),
        (["?", ""], "no values"),
        ([], "no values"),
        ([Decimal("1.5")], "fractions"),
    ],
)
def test_continuous_by_default(values, origin):
    table = read({"x": values})
    assert table.variables["x"].is_continuous
    assert table.origins["x"] == origin


def test_the_kind_follows_from_all_sources_together():
    whole, fraction, text = {"x": [1, 2]}, {"x": [0.5]}, {"x": ["low"]}
    assert read({"a": whole, "b": fraction}).variables["x"].is_continuous
    mixed = read({"a": whole, "b": fraction, "c": text})
    assert mixed.variables["x"].states == ("1", "2", "0.5", "low")
    assert read({"a": {"x": list(range(11))}, "b": {"x": list(range(10, 21))}}).origins["x"] == (
        ">20 whole numbers"
    )


def test_numbers_as_text_and_as_numbers_are_the_same_states_across_sources():
    table = read({"a": {"x": ["1.0", "2"]}, "b": {"x": [2, 3]}, "c": {"x": [1.0]}})
    assert table.variables["x"].states == ("1", "2", "3")
    assert labels_of(table, "x") == ["1", "2", "2", "3", "1"]


def test_text_in_one_source_keeps_the_text_of_all_letter_for_letter():
    table = read({"a": {"x": ["1.0"]}, "b": {"x": ["high"]}})
    assert table.variables["x"].states == ("1.0", "high")


def test_states_are_the_union_in_first_seen_order_of_the_sources():
    table = read({"b": {"x": ["q", "p"]}, "a": {"x": ["r", "p"]}})
    assert table.variables["x"].states == ("q", "p", "r")


def test_declared_states_are_kept_in_order_though_unseen():
    table = read({"x": ["M", None]}, states={"x": ["F", "M", "X"]})
    assert table.variables["x"].states == ("F", "M", "X")
    assert table.columns["x"].tolist() == [1, -1]
    assert table.origins["x"] == "declared"


def test_declared_states_may_be_any_scalars():
    table = read(
        {"x": ["1.0", "0"], "b": [True, False]}, states={"x": [0, 1.0], "b": [True, False]}
    )
    assert table.variables["x"].states == ("0", "1")
    assert table.columns["x"].tolist() == [1, 0]
    assert table.columns["b"].tolist() == [0, 1]


def test_a_value_outside_the_declared_states_is_named_with_its_place():
    data = {"rome": {"cp": ["a"]}, "va": {"cp": ["a", None, "c"]}}
    with pytest.raises(
        DataError, match=r"source 'va', column 'cp', row 3.*'c'.*'a', 'b'"
    ) as caught:
        read(data, states={"cp": ["a", "b"]})
    culprits = caught.value.culprits
    assert (culprits["source"], culprits["column"], culprits["row"]) == ("va", "cp", 3)
    assert culprits["state"] == "c"


def test_the_source_of_a_bad_row_is_named_when_a_column_tells_it():
    with pytest.raises(DataError, match="source 'va', column 'x', row 2"):
        read({"f": ["rome", "va"], "x": ["a", "c"]}, source="f", states={"x": ["a"]})


def test_discrete_and_continuous_can_be_declared():
    table = read({"x": [0.5, 2.0], "y": [1, 2]}, discrete=["x"], continuous=["y"])
    assert table.variables["x"].states == ("0.5", "2")
    assert table.columns["y"].tolist() == [1.0, 2.0]
    assert set(table.origins.values()) == {"declared"}


def test_long_ids_keep_their_digits():
    table = read({"x": [2**62 + 1, 2**62]}, discrete=["x"])
    assert table.variables["x"].states == (str(2**62), str(2**62 + 1))


def test_narrow_floats_have_the_states_they_show():
    assert read({"x": np.array([0.1], np.float32)}, discrete=["x"]).variables["x"].states == (
        "0.1",
    )


def test_declared_continuous_reads_numbers_in_any_writing():
    table = read({"x": ["+1", " 2.5 ", ".5", "007", "1e1", ""]}, continuous=["x"])
    assert table.columns["x"][:5].tolist() == [1, 2.5, 0.5, 7, 10]
    assert math.isnan(table.columns["x"][5])


@pytest.mark.parametrize("text", ["high", "nan", "inf", "1_0", "1,5"])
def test_a_text_in_a_continuous_column_is_an_error(text):
    with pytest.raises(DataError, match=f"column 'x', row 2: '{text}' is not a number") as caught:
        read({"x": ["1", text]}, continuous=["x"])
    assert caught.value.culprits["value"] == text


@pytest.mark.parametrize("values", [[1.5, np.inf], [0.5, -np.inf], ["0.5", "1e400"]])
def test_infinity_is_an_error(values):
    with pytest.raises(DataError, match=r"column 'x', row 2.*finite, got -?inf"):
        read({"x": values})


def test_words_that_look_missing_are_states():
    table = read({"x": ["None", "NA", "NULL", "nan", "N/A", "-"]})
    assert table.variables["x"].states == ("None", "NA", "NULL", "nan", "N/A", "-")


def test_null_nan_empty_and_question_mark_are_missing():
    assert read({"x": ["a", None, "", "?", np.nan]}).columns["x"].tolist() == [0, -1, -1, -1, -1]


def test_what_is_missing_is_an_argument():
    table = read({"x": ["a", "NA", "?", None]}, missing=["NA"])
    assert table.variables["x"].states == ("a", "?")
    assert table.columns["x"].tolist() == [0, -1, 1, -1]


@pytest.mark.parametrize(
    "values", [[1, -9], [1.0, -9.0], ["1", "-9"], ["1", "-9.0"], pd.Categorical([1, -9])]
)
def test_a_number_listed_as_missing_is_missing_in_any_form(values):
    table = read({"x": values}, missing=[-9])
    assert table.variables["x"].states == ("1",)
    assert table.columns["x"].tolist() == [0, -1]


def test_nan_is_missing_in_every_kind_of_column():
    nan = float("nan")
    for values in ([1.5, nan], pa.array([1.5, nan]), pd.Series([1.5, None])):
        table = read({"x": values})
        assert np.isnan(table.columns["x"]).tolist() == [False, True]
    assert read({"x": [1.0, nan]}).columns["x"].tolist() == [0, -1]


def test_a_declared_state_is_no_marker():
    table = read({"x": ["?", "a"], "y": ["?", "a"]}, states={"x": ["?", "a"]})
    assert table.columns["x"].tolist() == [0, 1]
    assert table.columns["y"].tolist() == [-1, 0]


@pytest.mark.parametrize("values", [[-9, 1], [-9.0, 1.0], ["-9", "1"], ["-9.0", "1.0"]])
def test_a_declared_number_is_no_marker(values):
    table = read({"x": values}, states={"x": [-9, 1]}, missing=[-9])
    assert table.columns["x"].tolist() == [0, 1]


def test_a_category_that_is_a_marker_is_missing():
    data = {"x": pd.Categorical(["?", "a"], categories=["b", "?", "a"])}
    assert read(data).variables["x"].states == ("b", "a")
    assert read(data, missing=[""]).variables["x"].states == ("b", "?", "a")
    assert read(data, states={"x": ["a", "?"]}).columns["x"].tolist() == [1, 0]
    assert read(data, states={"x": ["a", "b"]}).columns["x"].tolist() == [-1, 0]
    assert np.isnan(read({"x": pd.Categorical(["?"])}, continuous=["x"]).columns["x"]).all()


def test_an_empty_category_is_missing():
    table = read({"x": pd.Categorical(["", "a"])})
    assert table.variables["x"].states == ("a",)


def test_the_empty_text_can_only_be_missing():
    with pytest.raises(DataError, match="column 'x' has the empty text") as caught:
        read({"x": ["", "a"]}, missing=[])
    assert caught.value.culprits["column"] == "x"


def test_a_discrete_column_needs_a_state():
    with pytest.raises(DataError, match="column 'x' has no value"):
        read({"x": [None]}, discrete=["x"])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([date(2020, 1, 1)], "date32"),
        (pd.Series(pd.date_range("2020", periods=1)), "timestamp"),
        ([b"a"], "binary"),
        ([[1, 2]], "list"),
        ([{"a": 1}], "struct"),
        ([1 + 2j], "complex"),
        ([object()], "object"),
        (pd.Series(pd.period_range("2020", periods=1)), "period"),
    ],
)
def test_values_that_are_neither_states_nor_numbers_are_refused(values, kind):
    with pytest.raises(DataError, match=f"column 'x' holds values of type .*{kind}") as caught:
        read({"x": values})
    assert caught.value.culprits["column"] == "x"
    assert 'leave it out with drop=["x"]' in str(caught.value)


def test_a_column_that_is_not_read_may_hold_anything():
    table = read({"x": ["a"], "when": [date(2020, 1, 1)]}, columns=["x"])
    assert list(table.variables) == ["x"]


def test_columns_restricts_and_orders():
    table = read({"a": [1], "b": [2], "c": [3]}, columns=["c", "a"])
    assert list(table.variables) == ["c", "a"]


@pytest.mark.parametrize(
    "argument",
    [
        {"columns": ["z"]},
        {"discrete": ["z"]},
        {"continuous": ["z"]},
        {"states": {"z": ["a"]}},
        {"discretize": {"z": Quantiles(2)}},
        {"weight": "z"},
        {"source": "z"},
    ],
)
def test_a_column_that_does_not_exist_is_named(argument):
    with pytest.raises(UnknownNameError, match=r"unknown column 'z'.*Known: 'x', 'y'") as caught:
        read({"x": [1], "y": [2]}, **argument)
    assert caught.value.culprits["name"] == "z"


@pytest.mark.parametrize(
    "arguments",
    [
        {"discrete": ["x"], "continuous": ["x"]},
        {"states": {"x": ["1"]}, "continuous": ["x"]},
        {"discrete": ["x"], "discretize": {"x": Quantiles(2)}},
        {"continuous": ["x"], "discretize": {"x": Quantiles(2)}},
        {"source": "x", "weight": "x"},
        {"source": "x", "columns": ["x"]},
        {"weight": "x", "discrete": ["x"]},
    ],
)
def test_contradictions_name_the_column(arguments):
    with pytest.raises(InputError, match="'x'") as caught:
        read({"x": [1], "y": [2]}, **arguments)
    assert caught.value.culprits["column"] == "x"


def test_discrete_may_repeat_what_states_says():
    assert read({"x": [1]}, discrete=["x"], states={"x": [1, 2]}).variables["x"].n_states == 2


@pytest.mark.parametrize("argument", ["columns", "discrete", "continuous", "missing"])
def test_lists_are_lists(argument):
    with pytest.raises(InputError, match=f"{argument} must be a list, got 'x'"):
        read({"x": [1]}, **{argument: "x"})


def test_columns_names_nothing_twice():
    with pytest.raises(InputError, match="columns names 'x' twice"):
        read({"x": [1]}, columns=["x", "x"])


def test_changing_the_data_afterwards_does_not_change_the_table():
    values = np.array([0.5, 1.5])
    table = read({"x": values})
    values[0] = 9.0
    assert table.columns["x"][0] == 0.5


@given(
    st.lists(st.sampled_from(["a", "b", "c", "1", "2.0", "", "?", None]), min_size=1), st.randoms()
)
def test_the_order_of_rows_changes_only_the_order(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    table = read({"x": values, "y": [f"s{k % 3}" for k in range(len(values))]})
    mixed = read({"x": [values[k] for k in order], "y": [f"s{k % 3}" for k in order]})
    assert table.origins == mixed.origins
    if not table.variables["x"].is_continuous:
        assert set(table.variables["x"].states) == set(mixed.variables["x"].states)
        assert labels_of(mixed, "x") == [labels_of(table, "x")[k] for k in order]


values = st.one_of(
    st.lists(st.one_of(st.none(), st.sampled_from("abc")), min_size=4, max_size=4),
    st.lists(st.one_of(st.none(), st.integers(-3, 40)), min_size=4, max_size=4),
    st.lists(st.one_of(st.none(), st.floats(-5, 5)), min_size=4, max_size=4),
    st.lists(st.one_of(st.none(), st.sampled_from(["1", "1.0", "2", "x"])), min_size=4, max_size=4),
)


@given(st.dictionaries(st.sampled_from("xyz"), values, min_size=1), st.integers(1, 3))
def test_a_dict_of_sources_agrees_with_one_frame_and_a_source_column(columns, cut):
    whole = {"source": ["p"] * cut + ["q"] * (4 - cut), **columns}
    parts = {
        "p": {name: column[:cut] for name, column in columns.items()},
        "q": {name: column[cut:] for name, column in columns.items()},
    }
    one, other = read(whole, source="source"), read(parts)
    assert_same(one, other)
    assert one.origins == other.origins


def test_a_large_whole_number_is_one_state_whatever_its_type():
    table = read({"a": {"x": [10**16]}, "b": {"x": ["1e16"]}, "c": {"x": [1e16]}}, discrete=["x"])
    assert table.variables["x"].states == ("10000000000000000",)
