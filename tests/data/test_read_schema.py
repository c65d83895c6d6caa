"""Reading with a schema."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from table_equality import assert_same

from consilience.data.discretize import Quantiles
from consilience.data.read import read
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError, InputError, UnknownNameError


@pytest.fixture
def schema() -> dict[str, Variable]:
    return {
        "x": Variable("x", ("a", "b", "c"), ordered=True),
        "n": Variable("n", ("0", "1")),
        "y": Variable("y"),
    }


def test_the_table_has_exactly_the_variables_of_the_schema(schema):
    table = read({"extra": ["z"], "y": [1], "x": ["c"]}, schema=schema)
    assert dict(table.variables) == schema
    assert list(table.variables) == ["x", "n", "y"]
    assert table.columns["x"].tolist() == [2]
    assert table.columns["n"].tolist() == [-1]
    assert table.columns["y"].tolist() == [1.0]
    assert set(table.origins.values()) == {"schema"}


@pytest.mark.parametrize(
    "values", [[1, 0], [1.0, 0.0], ["1", "0"], ["1.0", "0.0"], pd.Categorical([1, 0])]
)
def test_labels_match_as_text_and_then_as_numbers(schema, values):
    assert read({"n": values}, schema=schema).columns["n"].tolist() == [1, 0]


def test_an_exact_label_comes_before_an_equal_number():
    schema = {"x": Variable("x", ("1", "1.0"))}
    assert read({"x": ["1.0", "1", "1.00"]}, schema=schema).columns["x"].tolist() == [1, 0, 0]


def test_a_state_that_the_schema_lacks_is_named(schema):
    with pytest.raises(
        DataError, match=r"column 'x', row 2: the state 'q' is not in the schema.*'a', 'b', 'c'"
    ):
        read({"x": ["a", "q"]}, schema=schema)


def test_a_category_that_no_row_has_need_not_be_known(schema):
    table = read({"x": pd.Categorical(["b"], categories=["q", "b"])}, schema=schema)
    assert table.columns["x"].tolist() == [1]


def test_missing_values_stay_missing(schema):
    table = read({"x": ["?", "a"], "y": [None, "2"]}, schema=schema)
    assert table.columns["x"].tolist() == [-1, 0]
    assert np.isnan(table.columns["y"]).tolist() == [True, False]


def test_a_text_for_a_continuous_variable_is_named(schema):
    with pytest.raises(DataError, match="column 'y', row 1: 'tall' is not a number"):
        read({"y": ["tall"]}, schema=schema)


@pytest.mark.parametrize(
    "values",
    [[119, 120, None, 500], ["119", "120.0", "", "5e2"], ["<120", "[120, 140)", "?", ">=140"]],
)
def test_a_variable_with_cut_points_takes_numbers_and_states(values):
    variable = Variable("x", ("<120", "[120, 140)", ">=140"), ordered=True, cuts=(120, 140))
    table = read({"x": values}, schema={"x": variable})
    assert table.columns["x"].tolist() == [0, 1, -1, 2]
    assert table.variables["x"] is variable


def test_columns_chooses_from_the_schema(schema):
    assert list(read({"x": ["a"]}, schema=schema, columns=["y", "x"]).variables) == ["y", "x"]
    with pytest.raises(UnknownNameError, match="'z'"):
        read({"x": ["a"], "z": [1]}, schema=schema, columns=["z"])


@pytest.mark.parametrize(
    "argument",
    [{"discrete": ["x"]}, {"states": {"x": ["a"]}}, {"discretize": {"x": Quantiles(2)}}],
)
def test_a_schema_leaves_nothing_to_declare(schema, argument):
    with pytest.raises(InputError, match="schema= says"):
        read({"x": ["a"]}, schema=schema, **argument)


def test_sources_known_to_the_schema_come_first():
    schema = Schema({"x": Variable("x", ("a",))}, Variable("f", ("va", "rome")))
    table = read({"oslo": {"x": ["a"]}, "rome": {"x": ["a"]}}, schema=schema)
    assert table.source == "f"
    assert table.sources == ("va", "rome", "oslo")
    assert table.source_codes.tolist() == [2, 1]
    by_column = read({"f": ["oslo", "rome"], "x": ["a", "a"]}, schema=schema)
    assert_same(by_column, table)


def test_a_mapping_that_holds_the_source_knows_the_sources():
    schema = {"f": Variable("f", ("va", "rome")), "x": Variable("x", ("a",))}
    table = read({"f": ["rome"], "x": ["a"]}, schema=schema, source="f")
    assert table.sources == ("va", "rome")
    assert list(table.variables) == ["x"]
    assert table.source_codes.tolist() == [1]


def test_data_without_the_source_of_the_schema_has_no_source():
    schema = Schema({"x": Variable("x", ("a",))}, Variable("f", ("va",)))
    assert read({"x": ["a"]}, schema=schema).source is None


def test_a_schema_with_another_source_is_refused():
    schema = Schema({"x": Variable("x", ("a",))}, Variable("f", ("va",)))
    with pytest.raises(InputError, match="source is 'f', not 'g'"):
        read({"x": ["a"], "g": ["va"]}, schema=schema, source="g")


def test_a_table_reads_back_with_its_own_schema():
    data = {"f": ["p", "q", "p"], "x": [0.5, 1.5, None], "s": ["u", "v", None], "n": [1, 2, 1]}
    table = read(data, source="f", weight="n", discretize={"x": Quantiles(2)})
    again = read(table.to_frame(), source="f", weight="weight", schema=table.schema)
    assert_same(again, table)
    assert_same(read(data, source="f", weight="n", schema=table.schema), table)


@pytest.mark.parametrize(
    "given", [["x"], {"x": ("a", "b")}, {"x": "ab"}, 5], ids=["list", "states", "text", "number"]
)
def test_a_schema_that_holds_no_variables_is_refused(given):
    with pytest.raises(InputError, match="schema"):
        read({"x": ["a"]}, schema=given)


@pytest.mark.parametrize("argument", ["states", "discretize"])
@pytest.mark.parametrize("given", [["x"], "x", 5])
def test_what_must_map_columns_is_refused_if_it_does_not(argument, given):
    with pytest.raises(InputError, match=f"{argument} must map columns") as caught:
        read({"x": ["a"]}, **{argument: given})
    assert caught.value.culprits["parameter"] == argument


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ("smoker", "smokre"),
        ("blood_pressure", "Blood Pressure"),
        ("disease", "diseases"),
        ("x1", "X_1"),
    ],
)
def test_a_misspelt_column_is_not_taken_for_one_never_recorded(known, found):
    variables = {name: Variable(name, ("a", "b")) for name in (known, "y")}
    with pytest.raises(DataError, match=f"no column '{known}' but one named '{found}'") as caught:
        read({found: ["a"], "y": ["b"]}, schema=variables)
    assert caught.value.culprits["column"] == found


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ("x1", "x2"),
        ("x1_1", "x11"),
        ("ER+", "ER-"),
        ("left_a", "left_b"),
        ("weight", "height"),
        ("age", "stage"),
        ("sex", "six"),
    ],
)
def test_a_column_of_another_name_is_another_column(known, found):
    variables = {name: Variable(name, ("a", "b")) for name in (known, "y")}
    table = read({found: ["a"], "y": ["b"]}, schema=variables)
    assert table.columns[known].tolist() == [-1]


def test_a_column_may_look_like_another_if_both_are_there():
    variables = {name: Variable(name, ("a", "b")) for name in ("smoker", "y")}
    table = read({"smoker": ["a"], "smokers": ["z"], "y": ["b"]}, schema=variables)
    assert table.columns["smoker"].tolist() == [0]


def test_a_column_may_look_like_one_that_lacks_if_that_is_said():
    variables = {name: Variable(name, ("a", "b")) for name in ("x", "y")}
    table = read({"X": ["z"], "y": ["b"]}, schema=variables, partial=True)
    assert table.columns["x"].tolist() == [-1]
