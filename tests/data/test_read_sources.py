"""Sources and weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from table_equality import assert_same

from consilience.data.read import read
from consilience.errors import DataError, InputError


def test_a_column_names_the_source():
    table = read({"hospital": ["va", "rome", "va"], "x": ["a", "b", "a"]}, source="hospital")
    assert table.sources == ("va", "rome")
    assert table.source == "hospital"
    assert table.source_codes.tolist() == [0, 1, 0]
    assert list(table.variables) == ["x"]


def test_a_dict_of_sources_is_named_source_unless_told():
    data = {"va": {"x": ["a"]}, "rome": {"x": ["b", "a"]}}
    assert read(data).source == "source"
    table = read(data, source="hospital")
    assert table.source == "hospital"
    assert table.sources == ("va", "rome")
    assert table.source_codes.tolist() == [0, 1, 1]


def test_a_column_that_a_source_never_recorded_is_missing_there():
    table = read({"va": {"x": ["a"], "y": [0.5]}, "rome": {"x": ["b"], "z": ["c"]}})
    assert list(table.variables) == ["x", "y", "z"]
    assert np.isnan(table.columns["y"]).tolist() == [False, True]
    assert table.columns["z"].tolist() == [-1, 0]
    assert table.missing["rome"]["y"] == 1.0


def test_numbers_that_name_sources_keep_first_seen_order_and_follow_the_label_rule():
    table = read({"f": [10, 9, 10.0], "x": ["a", "b", "c"]}, source="f")
    assert table.sources == ("10", "9")
    assert read({10: {"x": ["a"]}, 9: {"x": ["a"]}}).sources == ("10", "9")


def test_declared_sources_without_rows_are_kept():
    frame = pd.DataFrame({"f": pd.Categorical(["b"], categories=["a", "b"]), "x": ["u"]})
    assert read(frame, source="f").sources == ("a", "b")


def test_a_source_column_may_repeat_its_key():
    table = read({"va": {"source": ["va", "va"], "x": ["a", "b"]}})
    assert list(table.variables) == ["x"]
    assert read({1: {"source": [1.0], "x": ["a"]}}).sources == ("1",)


@pytest.mark.parametrize(("value", "said"), [("rome", "'rome'"), (None, "nothing")])
def test_a_source_column_may_not_contradict_its_key(value, said):
    with pytest.raises(DataError, match=f"row 2: the source is 'va'.*says {said}") as caught:
        read({"va": {"source": ["va", value], "x": ["a", "b"]}})
    assert caught.value.culprits["column"] == "source"
    assert caught.value.culprits["row"] == 2


def test_the_source_column_of_a_dict_can_be_a_variable_under_another_source_name():
    table = read({"va": {"source": ["web"], "x": ["a"]}}, source="hospital")
    assert list(table.variables) == ["source", "x"]


def test_a_row_without_a_source_is_named():
    with pytest.raises(DataError, match="column 'f', row 2: the row has no source") as caught:
        read({"f": ["a", "?"], "x": ["u", "v"]}, source="f")
    assert caught.value.culprits["row"] == 2


def test_a_file_without_the_source_column_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("f,x\nva,1\n")
    (tmp_path / "b.csv").write_text("x\n1\n")
    with pytest.raises(DataError, match=r"b\.csv' has no column 'f'"):
        read([tmp_path / "a.csv", tmp_path / "b.csv"], source="f")


def test_two_sources_of_one_name_are_refused():
    with pytest.raises(DataError, match="two sources are named '1'"):
        read({1: {"x": ["a"]}, "1": {"x": ["b"]}})


def test_the_source_of_a_dict_cannot_be_asked_for_as_a_variable():
    with pytest.raises(InputError, match="'source' is the source"):
        read({"va": {"x": ["a"]}}, columns=["source", "x"])


def test_whole_weights_are_integers_and_others_floats():
    whole = read({"x": ["a", "b"], "n": [2.0, 0.0]}, weight="n")
    assert whole.weights.dtype == np.int64
    assert whole.weights.tolist() == [2, 0]
    assert list(whole.variables) == ["x"]
    fractions = read({"p": {"x": ["a"], "n": [2]}, "q": {"x": ["b"], "n": ["0.5"]}}, weight="n")
    assert fractions.weights.tolist() == [2.0, 0.5]


@pytest.mark.parametrize(
    ("value", "said"),
    [(-1, "got -1"), (None, "has none"), (float("inf"), "finite"), ("x", "'x' is not a number")],
)
def test_a_weight_is_a_number_of_at_least_zero(value, said):
    with pytest.raises(DataError, match=f"column 'n', row 2.*{said}") as caught:
        read({"x": ["a", "b"], "n": [1, value]}, weight="n")
    assert caught.value.culprits["row"] == 2


def test_every_part_needs_the_weight():
    with pytest.raises(DataError, match="source 'q', column 'n', row 1"):
        read({"p": {"x": ["a"], "n": [2]}, "q": {"x": ["b"]}}, weight="n")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"x": ["a"], "va": {"x": ["a"]}}, "'va' holds a table and 'x' a column"),
        ({"x": 3}, "'x', of type int, is neither"),
        ({"x": {"a", "b"}}, "'x', of type set, is neither"),
        ({"x": np.zeros((2, 2))}, "'x', of type ndarray, is neither"),
    ],
)
def test_a_dict_that_is_neither_columns_nor_sources_is_refused(data, said):
    with pytest.raises(InputError, match=said):
        read(data)


def test_sources_do_not_nest():
    with pytest.raises(InputError, match="cannot hold a dict of sources"):
        read({"eu": {"rome": {"x": ["a"]}}})


def test_a_source_may_be_a_list_of_paths(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n2\n")
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    table = read({"va": paths, "rome": {"x": [3]}})
    assert table.source_codes.tolist() == [0, 0, 1]
    assert_same(read(paths), read({"x": [1, 2]}))


@pytest.mark.parametrize("data", [3, None, [1, 2], [], np.zeros(3), pd.Series([1])])
def test_data_that_is_no_table_is_refused(data):
    with pytest.raises(InputError, match="Accepted: a path"):
        read(data)


@pytest.mark.parametrize("data", [{}, pd.DataFrame()])
def test_data_without_columns_is_refused(data):
    with pytest.raises(DataError, match="no columns"):
        read(data)


def test_columns_of_a_dict_are_equally_long():
    with pytest.raises(DataError, match="'y' has 1 values and column 'x' has 2") as caught:
        read({"x": [1, 2], "y": [1]})
    assert caught.value.culprits["column"] == "y"
