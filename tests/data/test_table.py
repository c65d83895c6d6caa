"""The noun Table."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from table_equality import assert_same

from consilience.data.read import read
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError, UnknownNameError


@pytest.fixture
def table() -> Table:
    frame = {"f": ["a", "a", "b"], "x": ["u", None, "v"], "y": [0.5, 1.5, None], "n": [1, 2, 3]}
    return read(frame, source="f", weight="n")


def test_take_accepts_positions_slices_and_masks(table):
    by_mask = table.take(np.array([True, False, True]))
    assert_same(table.take([0, 2]), by_mask)
    assert_same(table.take(slice(0, 3, 2)), by_mask)
    assert by_mask.weights.tolist() == [1, 3]
    assert table.take([]).n_rows == 0
    assert table.take(np.array([2, 0, -1])).source_codes.tolist() == [1, 0, 1]


def test_pooled_rows_have_no_source(table):
    pooled = table.pooled()
    assert (pooled.source, pooled.sources, pooled.source_codes) == (None, (), None)
    assert_same(
        pooled, read({"x": ["u", None, "v"], "y": [0.5, 1.5, None], "n": [1, 2, 3]}, weight="n")
    )
    assert_same(pooled.pooled(), pooled)


@pytest.mark.parametrize("rows", [1, [True, False], [0.5], [[0]], "a"])
def test_take_refuses_what_is_no_set_of_rows(table, rows):
    with pytest.raises(InputError, match="positions or 3 booleans"):
        table.take(rows)


@pytest.mark.parametrize("row", [3, -4])
def test_take_refuses_rows_that_do_not_exist(table, row):
    with pytest.raises(InputError, match=f"position {row}") as caught:
        table.take([0, row])
    assert caught.value.culprits["row"] == row


def test_select_keeps_sources_and_weights(table):
    some = table.select(["y"])
    assert list(some.variables) == ["y"]
    assert some.sources == ("a", "b")
    assert some.weights is table.weights
    assert some.origins == {"y": "fractions"}
    with pytest.raises(UnknownNameError, match="'z'"):
        table.select(["z"])
    with pytest.raises(InputError, match="names must be a list of names, got the text 'xy'"):
        table.select("xy")


def test_a_table_without_variables_still_has_rows(table):
    assert table.select([]).n_rows == 3
    weights = np.array([1, 2])
    assert Table(schema=Schema({}), columns={}, weights=weights).n_rows == 2


def test_columns_cannot_be_written(table):
    with pytest.raises(ValueError, match="read-only"):
        table.columns["x"][0] = 1


def test_a_table_survives_pickling(table):
    assert_same(pickle.loads(pickle.dumps(table)), table)


def test_weights_count_as_rows(table):
    assert table.total_weight == 6
    assert repr(table) == "Table(3 rows, 2 variables, 2 sources, weight 6)"


def test_the_source_is_a_column_but_no_variable(table):
    assert table.column("f").tolist() == [0, 0, 1]
    assert "f" not in table.variables
    with pytest.raises(UnknownNameError, match="'g'"):
        table.column("g")


@pytest.mark.parametrize(("n_states", "dtype"), [(128, "int8"), (129, "int16"), (32769, "int32")])
def test_codes_take_the_smallest_type_that_holds_them(n_states, dtype):
    assert np.dtype(code_type(n_states)).name == dtype


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array([0, 2], np.int8), "outside -1 .. 1"),
        (np.array([0, -2], np.int8), "outside -1 .. 1"),
        (np.array([0, 1]), "int8"),
        (np.array([[0, 1]], np.int8), "shape"),
    ],
)
def test_a_column_must_be_codes_of_its_variable(column, message):
    with pytest.raises(DataError, match=message) as caught:
        Table(schema=Schema({"x": Variable("x", ("u", "v"))}), columns={"x": column})
    assert caught.value.culprits["column"] == "x"


@pytest.mark.parametrize("weights", [[1.0, -1.0], [1.0, np.nan], [1.0, np.inf]])
def test_weights_are_finite_and_not_negative(weights):
    with pytest.raises(DataError, match="row 2"):
        Table(
            schema=Schema({"y": Variable("y")}),
            columns={"y": np.zeros(2)},
            weights=np.array(weights),
        )
