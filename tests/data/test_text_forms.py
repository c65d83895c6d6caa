"""Separators, encodings, tab-separated files, standard input, and columns left out."""

from __future__ import annotations

import gzip
import io
import sys

import pytest

import consilience as cs
from consilience.errors import FormatError, InputError, UnknownNameError

ROWS = {"city": ["Zürich", "Genève"], "n;m": ["1,5", "a\tb"]}


def written(sep: str = ",") -> str:
    return f'city{sep}"n;m"\nZürich{sep}"1,5"\nGenève{sep}"a\tb"\n'


def as_lists(table: cs.Table) -> dict[str, list]:
    return {name: table[name].tolist() for name in table.variables}


@pytest.mark.parametrize("sep", [",", ";", "\t", "|", " "])
def test_a_separator_is_given(tmp_path, sep):
    path = tmp_path / "t.csv"
    path.write_text(written(sep), encoding="utf-8")
    assert as_lists(cs.read(path, sep=sep)) == ROWS


@pytest.mark.parametrize("name", ["t.tsv", "t.TSV", "t.tsv.gz"])
def test_tsv_files_are_separated_by_tabs(tmp_path, name):
    path, content = tmp_path / name, written("\t").encode()
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert as_lists(cs.read(path)) == ROWS
    assert cs.read({"a": path, "b": str(path)}).sources == ("a", "b")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-8"])
def test_an_encoding_is_given(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(written().encode(encoding))
    assert as_lists(cs.read(path, encoding=encoding)) == ROWS


def test_text_that_is_not_utf_8_is_told_how_to_be_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(written().encode("latin-1"))
    with pytest.raises(FormatError, match=r"line 2: the text is not UTF-8.*encoding='latin-1'"):
        cs.read(path)
    with pytest.raises(FormatError, match=r"line 2: the text is not ascii"):
        cs.read(path, encoding="ascii")


def test_text_as_spreadsheets_save_unicode_is_told_how_to_be_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(written().encode("utf-16"))
    with pytest.raises(FormatError, match=r"line 1: the text is not UTF-8.*encoding='utf-16'"):
        cs.read(path)


def test_the_wrong_separator_is_told_how_to_be_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2\n")
    with pytest.raises(InputError, match=r"sep=';'"):
        cs.read(path)
    assert cs.read(path, sep=",").variables.keys() == {"a;b"}


@pytest.mark.parametrize("sep", ["", ";;", '"', "\n", "é", 3])
def test_what_is_no_separator_is_refused(sep):
    with pytest.raises(InputError, match="sep must be one ASCII character"):
        cs.read({"x": [1]}, sep=sep)


@pytest.mark.parametrize("encoding", ["nope", "base64", 3])
def test_what_is_no_encoding_is_refused(encoding):
    with pytest.raises(InputError, match="encoding must name"):
        cs.read({"x": [1]}, encoding=encoding)


def test_any_extension_is_text_if_the_separator_is_given(tmp_path):
    path = tmp_path / "t.data"
    path.write_text("a b\n1 2\n")
    with pytest.raises(InputError, match="sep="):
        cs.read(path)
    assert as_lists(cs.read(path, sep=" ")) == {"a": ["1"], "b": ["2"]}


def standard_input(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_dash_is_standard_input_and_can_be_read_again(monkeypatch):
    standard_input(monkeypatch, written(";").encode("latin-1"))
    for _ in range(2):
        assert as_lists(cs.read("-", sep=";", encoding="latin-1")) == ROWS
    standard_input(monkeypatch, b"x\n1\n")
    assert cs.read("-").variables.keys() == {"x"}


def test_errors_name_standard_input_and_the_line(monkeypatch):
    standard_input(monkeypatch, b"a,b\n1,2\n3\n")
    with pytest.raises(FormatError, match=r"'<stdin>', line 3: 1 values"):
        cs.read("-")
    standard_input(monkeypatch, b"PAR1...")
    with pytest.raises(FormatError, match="'<stdin>' is a parquet file"):
        cs.read("-")


def test_columns_are_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,\n1,2,3\n")
    assert list(cs.read(path, drop=["a", ""]).variables) == ["b"]
    assert list(cs.read({"a": [1], "b": [2]}, drop=["b"]).variables) == ["a"]


def test_a_column_to_leave_out_must_be_there_and_not_be_asked_for():
    with pytest.raises(UnknownNameError, match="unknown column 'c'"):
        cs.read({"a": [1]}, drop=["c"])
    for argument in ("columns", "discrete", "continuous"):
        with pytest.raises(InputError, match=f"'a' cannot be in drop= and in {argument}="):
            cs.read({"a": [1], "b": [1]}, drop=["a"], **{argument: ["a"]})
    with pytest.raises(InputError, match="'a' cannot be in drop= and in source="):
        cs.read({"a": [1], "b": [1]}, drop=["a"], source="a")


def test_a_variable_of_the_schema_that_is_dropped_is_missing():
    schema = cs.read({"a": ["x", "y"], "b": ["u", "v"]}).schema
    table = cs.read({"a": ["x"], "b": ["u"]}, schema=schema, drop=["b"])
    assert as_lists(table) == {"a": ["x"], "b": [None]}
