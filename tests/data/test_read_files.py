"""Tables in files."""

from __future__ import annotations

import gzip
from contextlib import suppress

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from table_equality import assert_same, labels_of

from consilience.data import paths
from consilience.data.read import read
from consilience.errors import (
    DataError,
    FormatError,
    InputError,
    MissingFileError,
    UnknownNameError,
)


def csv(folder, text, name="t.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_csv_file_is_read_whatever_its_line_ends(tmp_path, end):
    table = read(csv(tmp_path, end.join(["a,b", "x,1.5", "y,"])))
    assert labels_of(table, "a") == ["x", "y"]
    assert table.columns["b"][0] == 1.5
    assert table.missing["all"] == {"a": 0.0, "b": 0.5}


def test_paths_may_be_text(tmp_path):
    assert read(str(csv(tmp_path, "a\nx\n"))).n_rows == 1


def test_gzip_is_told_by_the_extension(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\nx,1\n") + gzip.compress(b"y,2\n"))
    assert labels_of(read(path), "a") == ["x", "y"]


def test_words_that_look_missing_survive_csv(tmp_path):
    table = read(csv(tmp_path, "a,b\nNone,NA\nNULL,nan\n?,\n"))
    assert table.variables["a"].states == ("None", "NULL")
    assert table.variables["b"].states == ("NA", "nan")
    assert table.columns["a"].tolist() == [0, 1, -1]


def test_quoted_values_may_hold_commas_quotes_and_newlines(tmp_path):
    table = read(csv(tmp_path, 'a,b\n"x,y","say ""hi"""\n"two\nlines",z\n'))
    assert table.variables["a"].states == ("x,y", "two\nlines")
    assert table.variables["b"].states == ('say "hi"', "z")


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    assert list(read(csv(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n")).variables) == ["a", "b"]


def test_blanks_are_part_of_the_text(tmp_path):
    assert read(csv(tmp_path, "a, b\nx, y\n")).variables[" b"].states == (" y",)


def test_empty_lines_are_skipped(tmp_path):
    assert read(csv(tmp_path, "\na,b\n\nx,y\n\n")).n_rows == 1


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\n\n"])
def test_a_header_alone_is_a_table_without_rows(tmp_path, text):
    table = read(csv(tmp_path, text))
    assert list(table.variables) == ["a", "b"]
    assert table.n_rows == 0
    assert table.origins == {"a": "no values", "b": "no values"}


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    with pytest.raises(FormatError, match=r"t\.csv' is empty") as caught:
        read(csv(tmp_path, text))
    assert caught.value.culprits["file"].endswith("t.csv")


def test_a_name_that_stands_twice_is_refused(tmp_path):
    with pytest.raises(FormatError, match="two columns named 'a'") as caught:
        read(csv(tmp_path, "a,b,a\n1,2,3\n"))
    assert caught.value.culprits["column"] == "a"


def test_a_column_without_a_name_is_refused_unless_left_out(tmp_path):
    path = csv(tmp_path, ",b\n0,x\n")
    with pytest.raises(InputError, match=r"no name.*columns="):
        read(path)
    assert read(path, columns=["b"]).n_rows == 1


@pytest.mark.parametrize(
    ("text", "line", "n_values"),
    [("a,b\n1,2\n3\n", 3, 1), ("a,b\n\n1,2,3\n", 3, 3), ('a,b\n"x\ny",2\n3,4,5\n', 4, 3)],
)
def test_a_ragged_line_is_named(tmp_path, text, line, n_values):
    with pytest.raises(FormatError, match=rf"t\.csv', line {line}: {n_values} values.*2 col") as e:
        read(csv(tmp_path, text))
    assert e.value.culprits["line"] == line


@pytest.mark.parametrize("text", [b"a,b\n1,2\n\xff,3\n", b"a,b\n1,2\n" + "é,3\n".encode("latin-1")])
def test_text_that_is_not_utf8_is_refused_with_its_line(tmp_path, text):
    with pytest.raises(FormatError, match=r"t\.csv', line 3: the text is not UTF-8"):
        read(csv(tmp_path, text))


def test_utf16_is_refused(tmp_path):
    with pytest.raises(FormatError, match="not UTF-8"):
        read(csv(tmp_path, "a,b\n1,2\n".encode("utf-16")))


def test_a_name_that_is_not_utf8_is_refused(tmp_path):
    with pytest.raises(FormatError, match="line 1: the text is not UTF-8"):
        read(csv(tmp_path, b"\xe9,b\n1,2\n"))


@pytest.mark.parametrize("is_gzip", [False, True])
def test_a_broken_gzip_file_is_refused(tmp_path, is_gzip):
    content = gzip.compress(b"a,b\n1,2\n" * 999)[:-20] if is_gzip else b"a,b\n"
    with pytest.raises(FormatError, match="cannot be unpacked"):
        read(csv(tmp_path, content, "t.csv.gz"))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"no\.csv") as caught:
        read(tmp_path / "no.csv")
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.culprits["file"] == str(tmp_path / "no.csv")


@pytest.mark.parametrize("name", ["t.txt", "t", "t.csv.zip"])
def test_an_unknown_extension_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"'\.csv', '\.csv\.gz', '\.parquet'"):
        read(csv(tmp_path, "a\n1\n", name))


def test_rows_of_several_files_are_appended(tmp_path):
    one, two = csv(tmp_path, "a,b\nx,1\n"), csv(tmp_path, "b,c\n2,z\n", "u.csv")
    table = read([one, two])
    assert list(table.variables) == ["a", "b", "c"]
    assert labels_of(table, "a") == ["x", None]
    assert labels_of(table, "b") == ["1", "2"]


def test_a_bad_value_in_a_list_of_files_names_its_file_and_row(tmp_path):
    one, two = csv(tmp_path, "a\nx\n"), csv(tmp_path, "a\nx\nq\n", "u.csv")
    with pytest.raises(InputError, match=r"file '.*u\.csv', column 'a', row 2") as caught:
        read([one, two], states={"a": ["x"]})
    assert caught.value.culprits["file"] == str(two)


def test_only_the_columns_wanted_are_read(tmp_path):
    path = csv(tmp_path, "a,b,c\nx,1,2\n")
    assert list(read(path, columns=["c", "a"]).variables) == ["c", "a"]
    with pytest.raises(UnknownNameError, match=r"'z'.*'a', 'b', 'c'"):
        read(path, columns=["z"])
    with pytest.raises(UnknownNameError, match=r"'z'.*'a', 'b', 'c'"):
        read(path, columns=["a"], source="z")


def test_a_row_longer_than_a_block_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "_BLOCK", 64)
    table = read(csv(tmp_path, f"a,b\nx,1\n{'y' * 500},2\n"))
    assert table.variables["a"].states == ("x", "y" * 500)


@pytest.fixture
def arrow():
    return pa.table(
        {
            "text": ["b", "a", None, "b"],
            "category": pa.array(["v", "u", "v", None]).dictionary_encode(),
            "whole": [2, 1, None, 2],
            "real": [0.5, None, 1.5, 2.5],
            "flag": [True, None, False, True],
        }
    )


def test_parquet_is_read_like_the_frame_it_holds(tmp_path, arrow):
    pq.write_table(arrow, tmp_path / "t.parquet")
    assert_same(read(tmp_path / "t.parquet"), read(arrow))


def test_row_groups_with_different_texts_are_one_column(tmp_path):
    texts = [f"s{k % 7}" for k in range(100)] + ["new", "s0"]
    pq.write_table(pa.table({"x": texts}), tmp_path / "t.parquet", row_group_size=10)
    assert_same(read(tmp_path / "t.parquet"), read({"x": texts}))


def test_coded_text_in_parquet_has_first_seen_order_and_no_unseen_states(tmp_path):
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), ["a", "b", "c"])
    pq.write_table(pa.table({"x": coded}), tmp_path / "t.parquet", store_schema=False)
    assert read(tmp_path / "t.parquet").variables["x"].states == ("c", "a")


def test_categories_in_parquet_keep_unseen_states_and_order(tmp_path):
    category = pd.Categorical(["b", "a"], categories=["c", "b", "a"], ordered=True)
    pd.DataFrame({"x": category}).to_parquet(tmp_path / "t.parquet")
    variable = read(tmp_path / "t.parquet").variables["x"]
    assert variable.states == ("c", "b", "a")
    assert variable.ordered


def test_row_labels_of_pandas_are_not_read(tmp_path):
    frame = pd.DataFrame({"x": ["a", "b"]}, index=[5, 9])
    frame.to_parquet(tmp_path / "t.parquet")
    assert list(read(tmp_path / "t.parquet").variables) == ["x"]
    assert list(read(frame).variables) == ["x"]


def test_only_the_columns_wanted_are_read_from_parquet(tmp_path, arrow):
    pq.write_table(arrow.append_column("a.b", pa.array(["x"] * 4)), tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet", columns=["real", "a.b"])
    assert list(table.variables) == ["real", "a.b"]


def test_a_broken_parquet_file_is_refused(tmp_path):
    with pytest.raises(FormatError, match=r"t\.parquet' cannot be read as parquet"):
        read(csv(tmp_path, b"PAR1 no", "t.parquet"))


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_any_text_survives_csv(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=object)
    frame.to_csv(path, index=False, quoting=1, lineterminator="\n")
    assert_same(read(path), read(frame))


@given(st.binary(max_size=60))
def test_any_bytes_give_a_table_or_our_error(tmp_path_factory, content):
    path = csv(tmp_path_factory.mktemp("fuzz"), content)
    with suppress(InputError):
        assert read(path).n_rows >= 0


lines = st.lists(
    st.sampled_from(["a", ",", "\n", "\r", '"', "1", " ", "é", "\x00", "a,b\n"]), max_size=14
)


@given(lines)
def test_any_mixture_of_csv_signs_gives_a_table_or_our_error(tmp_path_factory, signs):
    path = csv(tmp_path_factory.mktemp("signs"), "".join(signs))
    with suppress(InputError):
        assert read(path).n_rows >= 0


@pytest.mark.parametrize(
    ("text", "sign"),
    [("a;b\n1;2\n", "';'"), ("a\tb\n1\t2\n", "a tab"), ('"a";"b"\n1;2\n', "';'"), ("a;b", "';'")],
)
def test_another_separator_is_named(tmp_path, text, sign):
    path = csv(tmp_path, text)
    with pytest.raises(DataError, match=f"separated by {sign}.*commas") as caught:
        read(path)
    assert caught.value.culprits["file"] == str(path)


@pytest.mark.parametrize("text", ['"a;b"\n1;2\n', '"a\tb"\nx\n', "a;b,c\n1,2\n", "a\nx;y\n"])
def test_other_separators_in_quotes_or_beside_commas_are_text(tmp_path, text):
    assert read(csv(tmp_path, text)).n_rows == 1


def test_a_damaged_gzip_file_whose_text_is_broken_too_is_refused(tmp_path):
    content = bytearray(gzip.compress(b"\xff,b\n1,2\n", compresslevel=0))
    content[-8] ^= 1
    with pytest.raises(FormatError, match="cannot be unpacked") as caught:
        read(csv(tmp_path, bytes(content), "t.csv.gz"))
    assert caught.value.culprits["file"].endswith("t.csv.gz")


@pytest.mark.parametrize("good", [b"state", b"value"])
def test_a_parquet_file_with_text_that_is_not_utf8_is_refused(tmp_path, good):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"state": ["value", "other"]}), path, compression="none")
    path.write_bytes(path.read_bytes().replace(good, b"\xff" * 5))
    with pytest.raises(FormatError, match=r"t\.parquet' cannot be read as parquet"):
        read(path)
