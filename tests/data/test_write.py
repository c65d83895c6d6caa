from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

import consilience as cs
from consilience.data.write import to_arrow, write_csv, write_rows
from consilience.errors import DataError, FormatError, MissingFileError


def rows() -> cs.Table:
    columns = {"x": ["a", None, "b"], "n": [1, 2, 0], "age": [0.5, 1.5, None]}
    return cs.read({"north": columns}, source="hospital", weight="n")


def text(table: cs.Table) -> str:
    stream = io.BytesIO()
    write_csv(table, stream)
    return stream.getvalue().decode()


def test_labels_are_written_source_first_weight_last_and_missing_as_nothing():
    assert text(rows()) == "hospital,x,age,weight\nnorth,a,0.5,1\nnorth,,1.5,2\nnorth,b,,0\n"


def test_labels_are_quoted_if_one_of_them_needs_it():
    assert text(cs.read({"a,b": ['say "yes"', "no"]})) == '"a,b"\n"say ""yes"""\n"no"\n'


@pytest.mark.parametrize("name", ["rows.csv", "rows.CSV.gz", "rows.parquet"])
def test_rows_come_back_from_their_file(tmp_path, name):
    write_rows(rows(), tmp_path / name)
    again = cs.read(tmp_path / name, source="hospital", weight="weight", schema=rows().schema)
    for column in ("x", "age", "hospital"):
        np.testing.assert_array_equal(again.column(column), rows().column(column))
    np.testing.assert_array_equal(again.weights, rows().weights)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_parquet_keeps_states_that_do_not_occur(tmp_path):
    write_rows(cs.read({"x": ["a"]}, states={"x": ["b", "a"]}), tmp_path / "x.parquet")
    assert cs.read(tmp_path / "x.parquet").variables["x"].states == ("b", "a")


def test_arrow_columns_are_dictionaries_with_nulls():
    column = to_arrow(rows()).column("x")
    assert pa.types.is_dictionary(column.type)
    assert column.to_pylist() == ["a", None, "b"]


def test_an_unknown_extension_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"'rows\.xlsx'"):
        write_rows(rows(), tmp_path / "rows.xlsx")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="there is no folder"):
        write_rows(rows(), tmp_path / "none" / "rows.csv")


def test_weights_beside_a_variable_called_weight_are_refused():
    table = cs.read({"weight": ["a"], "n": [2]}, weight="n")
    with pytest.raises(DataError, match="both would have that name"):
        to_arrow(table)


def test_a_file_that_fails_leaves_nothing_behind(tmp_path):
    table = cs.read({"weight": ["a"], "n": [2]}, weight="n")
    with pytest.raises(DataError):
        write_rows(table, tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_rows_of_a_network_with_a_state_that_looks_missing_survive(tmp_path, name):
    variable = cs.Variable("x", ("?", "NA", "a"))
    net = cs.Network.of([cs.Categorical(variable, (), np.array([0.4, 0.3, 0.3]))])
    table = net.sample(50, seed=1)
    write_rows(table, tmp_path / name)
    for data in (tmp_path / name, table.to_frame()):
        again = cs.read(data, schema=net.variables)
        np.testing.assert_array_equal(again.columns["x"], table.columns["x"])
    frame = table.to_frame()
    assert cs.read(frame, missing=[""]).variables["x"].states == variable.states


@pytest.mark.parametrize("values", [["a", None, "b"], [None, None], ['say "a"', None], [0.5, None]])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_gaps_in_a_single_column_come_back(tmp_path, values, name):
    table = cs.read({"x": values})
    write_rows(table, tmp_path / name)
    np.testing.assert_array_equal(cs.read(tmp_path / name).columns["x"], table.columns["x"])


@pytest.mark.parametrize("column", ["a;b", "a\tb", 'a;"b"', "a,b"])
def test_a_single_column_with_any_name_comes_back(tmp_path, column):
    write_rows(cs.read({column: ["x", "y"]}), tmp_path / "t.csv")
    assert list(cs.read(tmp_path / "t.csv").variables) == [column]
