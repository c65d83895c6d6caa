"""Tables as pandas frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from table_equality import assert_same

from consilience import _check
from consilience.data.read import read
from consilience.errors import DataError, MissingExtraError


@pytest.fixture
def table():
    data = {
        "x": pd.Categorical(["u", None], categories=["v", "u"], ordered=True),
        "f": ["p", "q"],
        "n": [2, 1],
        "y": [0.5, None],
    }
    return read(data, source="f", weight="n")


def test_the_frame_has_source_first_and_weight_last(table):
    assert list(table.to_frame().columns) == ["f", "x", "y", "weight"]


def test_categoricals_keep_all_states_and_their_order(table):
    frame = table.to_frame()
    assert frame["x"].cat.categories.tolist() == ["v", "u"]
    assert frame["x"].cat.ordered
    assert frame["x"].isna().tolist() == [False, True]
    assert frame["f"].tolist() == ["p", "q"]
    assert frame["y"].dtype == np.float64
    assert frame["weight"].tolist() == [2, 1]


def test_the_frame_can_be_changed_and_the_table_stays(table):
    frame = table.to_frame()
    frame.loc[0, "x"], frame.loc[0, "y"], frame.loc[0, "weight"] = "v", 9.0, 7
    assert table.columns["x"][0] == 1
    assert table.columns["y"][0] == 0.5
    assert table.weights[0] == 2


@pytest.mark.parametrize("column", ["x", "f"])
def test_a_column_named_weight_clashes_with_weights(column):
    data = {"x": ["a"], "f": ["p"], "n": [1]}
    data["weight"] = data.pop(column)
    table = read(data, source="f" if column == "x" else "weight", weight="n")
    with pytest.raises(DataError, match="weights and a column 'weight'") as caught:
        table.to_frame()
    assert caught.value.culprits["column"] == "weight"


def test_a_column_named_weight_is_fine_without_weights():
    assert list(read({"weight": ["a"]}).to_frame().columns) == ["weight"]


def test_without_pandas_the_error_says_what_to_install(table, monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(_check.importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"consilience\[pandas\]"):
        table.to_frame()


rows = st.lists(
    st.tuples(
        st.sampled_from("pqr"),
        st.one_of(st.none(), st.sampled_from(["a", "b", "10", "9"])),
        st.one_of(st.none(), st.integers(0, 9)),
        st.one_of(st.just(0.5), st.none(), st.floats(-9, 9)),
        st.sampled_from([0, 1, 2.5]),
    ),
    min_size=1,
)


@given(rows)
def test_a_frame_reads_back_as_the_same_table(rows):
    columns = dict(zip(["f", "x", "k", "y", "n"], map(list, zip(*rows, strict=True)), strict=True))
    columns["y"][0] = 0.5
    table = read(columns, source="f", weight="n")
    assert_same(read(table.to_frame(), source="f", weight="weight"), table)
    assert_same(read(table.to_frame(), source="f", weight="weight", schema=table.schema), table)
