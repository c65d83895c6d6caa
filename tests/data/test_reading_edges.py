"""Edges of reading: markers in every form, whole weights, empty lines, pipes, names of nothing."""

import gzip
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

import consilience as cs
from consilience.errors import (
    ConsilienceError,
    DataError,
    FormatError,
    MemoryLimitError,
    MissingFileError,
)

LABELS = ["a", "?", "", "NA", "b", "None", "nan", "-9", "-9.0"]


def _forms(folder, texts):
    frame = pd.DataFrame({"x": texts, "y": ["u"] * len(texts)})
    category = frame.astype("category")
    arrow = pa.table({"x": pa.array(texts).dictionary_encode(), "y": frame["y"].tolist()})
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_parquet(folder / "text.parquet")
    category.to_parquet(folder / "pandas.parquet")
    arrow_parquet.write_table(arrow, folder / "arrow.parquet")
    files = ["t.csv", "t.csv.gz", "text.parquet", "pandas.parquet", "arrow.parquet"]
    polars = pl.DataFrame({"x": texts, "y": frame["y"].tolist()})
    enum = polars.with_columns(pl.col("x").cast(pl.Enum(list(dict.fromkeys(texts)))))
    return [
        frame,
        category,
        arrow,
        polars,
        enum,
        polars.with_columns(pl.col("x").cast(pl.Categorical)),
        {"x": texts, "y": frame["y"].tolist()},
        *(folder / name for name in files),
    ]


@pytest.mark.parametrize("missing", [None, ["?"], ["NA", ""], ["-9", ""], [-9, "None", ""]])
def test_a_marker_means_the_same_in_every_form(tmp_path, missing):
    texts = LABELS if missing != ["?"] else [text for text in LABELS if text]
    choices = {} if missing is None else {"missing": missing}
    tables = [cs.read(form, **choices) for form in _forms(tmp_path, texts)]
    found = [
        [None if c < 0 else t.variables["x"].states[c] for c in t.columns["x"].tolist()]
        for t in tables
    ]
    assert all(each == found[0] for each in found)
    assert len({frozenset(t.variables["x"].states) for t in tables}) == 1


def test_a_number_that_marks_marks_in_every_width():
    for dtype in (np.float32, np.float64):
        column = np.array([0.1, 0.5], dtype)
        assert np.isnan(cs.read({"x": column}, missing=[0.1]).columns["x"]).tolist() == [
            True,
            False,
        ]
    ids = np.array([2**53, 2**53 + 1, 5])
    assert np.isnan(cs.read({"x": ids}, missing=[2**53], continuous=["x"]).columns["x"]).sum() == 1


def test_nothing_is_no_marker_of_its_text():
    table = cs.read({"x": ["None", "nan", None]}, missing=[None, np.nan, "?"])
    assert table.variables["x"].states == ("None", "nan")


BIG = 2**53 + 1


@pytest.mark.parametrize(
    "column",
    [
        np.array([BIG, 1]),
        np.array([BIG, 1], np.uint64),
        [str(BIG), "1"],
        [f"{BIG}.0", "1e0"],
        pd.array([BIG, 1], dtype="Int64"),
        [Decimal(BIG), Decimal(1)],
        [Decimal(f"{BIG}.00"), Decimal(1)],
        [BIG, 1],
        [BIG, "1"],
        pd.Categorical([str(BIG), "1"], categories=["1", str(BIG), "none"]),
    ],
)
def test_whole_weights_stay_whole(column):
    table = cs.read({"x": ["a", "b"], "n": column}, weight="n")
    assert table.weights.dtype == np.int64
    assert table.weights.tolist() == [BIG, 1]
    assert table.total_weight == BIG + 1


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_whole_weights_come_back_from_a_file(tmp_path, name):
    from consilience.data.write import write_rows

    table = cs.read({"x": ["a", "b"], "n": [BIG, 1]}, weight="n")
    write_rows(table, tmp_path / name)
    assert cs.read(tmp_path / name, weight="weight").weights.tolist() == [BIG, 1]
    [counts] = cs.count(table, [cs.Family("x", ())])
    assert counts.table.sum() == BIG + 1


def test_weights_that_are_not_all_whole_are_fractions():
    weights = cs.read({"x": ["a", "b"], "n": [str(BIG), "0.5"]}, weight="n").weights
    assert weights.tolist() == [float(BIG), 0.5]


@pytest.mark.parametrize("n", [2**63 - 1, 2**63, 2**64 - 1, 10**30, Decimal(10**25), str(10**25)])
def test_weights_beyond_what_adds_up_are_refused(n):
    with pytest.raises(DataError, match="add up to more than"):
        cs.read({"x": ["a", "b"], "n": [n, n]}, weight="n")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_empty_line_between_the_rows_of_one_column_is_refused(tmp_path, end):
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(["x", "a", "", "b", ""]).encode())
    with pytest.raises(FormatError, match="line 3: the line is empty") as caught:
        cs.read(path)
    assert caught.value.culprits["line"] == 3


def test_other_empty_lines_are_skipped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('\nx\na\n"b\n\nc"\n""\n\n\n')
    assert cs.read(path).columns["x"].tolist() == [0, 1, -1]
    path.write_text("x,y\na,b\n\nc,d\n")
    assert cs.read(path).n_rows == 2


@pytest.mark.parametrize("read", [cs.read, cs.load])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, read):
    path = tmp_path / ("t.csv" if read is cs.read else "t.json")
    os.mkfifo(path)
    with pytest.raises(MissingFileError, match="It is a pipe or a device"):
        read(path)


@pytest.mark.parametrize("key", [None, float("nan"), ("a", "b"), ""])
def test_a_source_without_a_name_is_refused(key):
    with pytest.raises(DataError, match="a source's name must be text"):
        cs.read({key: {"x": ["a"]}, "b": {"x": ["b"]}})
    with pytest.raises(ConsilienceError, match="a source's name must be text"):
        cs.fuse({key: cs.DAG([("a", "b")]), "b": cs.DAG([("a", "b")])})


@pytest.mark.parametrize("data", [{None: ["a"]}, pd.DataFrame({None: ["a"]})])
def test_a_column_named_nothing_is_refused(data):
    with pytest.raises(DataError, match="a column's name must be text, got None"):
        cs.read(data)


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_nothing_cannot_be_declared_a_state(nothing):
    with pytest.raises(ConsilienceError, match="cannot name a missing value"):
        cs.read({"x": ["a"]}, states={"x": ["a", nothing]})


@pytest.mark.parametrize("name", ["t.csv.gz", "net.json.gz", "net.bif.gz"])
def test_a_file_that_unfolds_beyond_measure_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr("consilience.data.text_content.UNPACKED_LIMIT", 2**22)
    monkeypatch.setattr("consilience.files.registry.TEXT_LIMIT", 2**22)
    path = tmp_path / name
    with gzip.open(path, "wb") as stream:
        stream.write(b"x\n")
        for _ in range(100):
            stream.write(b" " * 2**20)
    with pytest.raises(MemoryLimitError, match=f"unpacked text of {name}") as caught:
        (cs.read if "csv" in name else cs.load)(path)
    assert caught.value.culprits["needed"] <= 2**22 + 2**20  # the rest was not unpacked


def test_a_packed_file_of_equal_rows_is_read_however_far_it_unfolds(tmp_path):
    path = tmp_path / "t.csv.gz"
    rows = b"some_long_text_that_is_the_same_in_all_rows_of_the_file\n" * 2**10
    with gzip.open(path, "wb") as stream:
        stream.write(b"x\n")
        for _ in range(1200):  # 67 MB
            stream.write(rows)
    assert path.stat().st_size * 200 < 2**26
    assert cs.read(path).n_rows == 1200 * 2**10


def test_a_packed_file_that_unfolds_as_text_does_is_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x\n" + b"1.5\n" * 10**6))
    assert cs.read(path).n_rows == 10**6
