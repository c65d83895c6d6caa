"""Data frames of every library give equal tables."""

from __future__ import annotations

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from table_equality import assert_same, labels_of

from consilience.data import pieces
from consilience.data.read import read
from consilience.errors import DataError
from consilience.kernels.compile import IS_COMPILED


def test_pandas_categories_keep_unseen_states_order_and_flag():
    values = pd.Categorical(["b", None], categories=["c", "b", "a"], ordered=True)
    for data in (pd.DataFrame({"x": values}), {"x": values}, {"x": pd.Series(values)}):
        table = read(data)
        assert table.variables["x"].states == ("c", "b", "a")
        assert table.variables["x"].ordered
        assert table.columns["x"].tolist() == [1, -1]
        assert table.origins["x"] == "categories"


def test_pandas_categories_of_numbers_and_intervals_get_labels():
    frame = pd.DataFrame(
        {
            "n": pd.Categorical([3, 1], categories=[3, 2, 1]),
            "f": pd.Categorical([1.0, 0.5]),
            "cut": pd.cut([1, 5], [0, 2, 6]),
        }
    )
    table = read(frame)
    assert table.variables["n"].states == ("3", "2", "1")
    assert table.variables["f"].states == ("0.5", "1")
    assert table.variables["cut"].states == ("(0, 2]", "(2, 6]")
    assert table.variables["cut"].ordered


def test_many_categories_of_numbers_stay_discrete():
    frame = pd.DataFrame({"x": pd.Categorical(range(40))})
    assert read(frame).variables["x"].n_states == 40


def test_a_category_that_no_row_has_need_not_be_a_number():
    values = pd.Categorical(["2", "1"], categories=["1", "high", "2"])
    assert read({"x": values}, continuous=["x"]).columns["x"].tolist() == [2.0, 1.0]


def test_categories_that_share_a_label_are_one_state():
    table = read({"x": pd.Categorical([1, "1", "2"], categories=["2", "1", 1])})
    assert table.variables["x"].states == ("2", "1")
    assert table.columns["x"].tolist() == [1, 1, 0]


def test_states_of_categories_unite_over_sources():
    data = {
        "a": pd.DataFrame({"x": pd.Categorical(["u"], categories=["v", "u"])}),
        "b": pd.DataFrame({"x": ["w", "u"]}),
    }
    table = read(data)
    assert table.variables["x"].states == ("v", "u", "w")
    assert labels_of(table, "x") == ["u", "w", "u"]


def ordered(*states):
    return pd.DataFrame({"x": pd.Categorical([states[0]], categories=states, ordered=True)})


def test_order_survives_when_all_sources_agree_on_it():
    assert read({"a": ordered("l", "m"), "b": ordered("m", "h")}).variables["x"].ordered
    assert not read({"a": ordered("l", "m"), "b": ordered("m", "l")}).variables["x"].ordered
    assert not read({"a": ordered("l", "m"), "b": {"x": ["l"]}}).variables["x"].ordered
    assert read({"a": ordered("l", "m"), "b": {"x": [None]}}).variables["x"].ordered


def test_order_survives_declared_states():
    frame = ordered("l", "m", "h")
    assert read(frame, states={"x": ["l", "m", "h"]}).variables["x"].ordered
    assert not read(frame, states={"x": ["h", "m", "l"]}).variables["x"].ordered


def test_arrow_dictionaries_keep_unseen_states_and_order():
    coded = pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), ["c", "b", "a"])
    for data in (pa.table({"x": coded}), {"x": coded}, pa.record_batch({"x": coded})):
        table = read(data)
        assert table.variables["x"].states == ("c", "b", "a")
        assert table.columns["x"].tolist() == [2, -1, 0]


def test_arrow_dictionaries_of_numbers_and_with_null_inside():
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array([5.0, None, 2.5]))
    table = read({"x": coded})
    assert table.variables["x"].states == ("5", "2.5")
    assert table.columns["x"].tolist() == [0, -1, 1]


def test_chunks_with_different_dictionaries_unite():
    chunks = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    assert labels_of(read({"x": pa.chunked_array(chunks)}), "x") == ["a", "b", "c", "b"]


def test_polars_enums_are_declared_and_categoricals_are_seen():
    frame = pl.DataFrame(
        {
            "e": pl.Series(["b", None], dtype=pl.Enum(["c", "b", "a"])),
            "c": pl.Series(["q", "p"], dtype=pl.Categorical),
        }
    )
    whole = pl.DataFrame({"c": pl.Series(["z", "q", "p", "q"], dtype=pl.Categorical)})
    for data in (frame, {"e": frame["e"], "c": frame["c"]}, frame.lazy()):
        table = read(data)
        assert table.variables["e"].states == ("c", "b", "a")
        assert table.columns["e"].tolist() == [1, -1]
        assert table.variables["c"].states == ("q", "p")
    assert read(whole[1:]).variables["c"].states == ("q", "p")


def test_polars_categoricals_of_several_chunks_unite():
    part = pl.DataFrame({"c": pl.Series(["q", "p"], dtype=pl.Categorical)})
    more = pl.DataFrame({"c": pl.Series(["r", "p"], dtype=pl.Categorical)})
    assert labels_of(read(pl.concat([part, more])), "c") == ["q", "p", "r", "p"]


def test_duckdb_relations_are_read():
    relation = duckdb.sql(
        "select * from (values ('a'::enum('z', 'a'), 1.5, 3::hugeint, true, 'NA'), "
        "(null, 2.5, 4, null, '')) t(e, d, h, b, s)"
    )
    table = read(relation)
    assert table.variables["e"].states == ("z", "a")
    assert table.columns["d"].tolist() == [1.5, 2.5]
    assert table.variables["h"].states == ("3", "4")
    assert table.columns["b"].tolist() == [1, -1]
    assert labels_of(table, "s") == ["NA", None]


def test_narwhals_frames_and_lazy_frames_are_read():
    frame = pl.DataFrame({"x": ["a", None], "y": [1.5, 2.5]})
    for data in (nw.from_native(frame), frame.lazy(), nw.from_native(frame.lazy())):
        assert_same(read(data), read(frame))


def test_arrow_streams_are_read():
    arrow = pa.table({"x": ["a", "b"]})
    assert_same(read(arrow.to_reader()), read(arrow))


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([2, None, 1], dtype="Int64"),
        pd.Series([2, None, 1], dtype="Float32"),
        pd.Series([2, None, 1], dtype="int64[pyarrow]"),
        pd.Series(["2", None, "1"], dtype="string[python]"),
        pd.Series(["2", None, "1"], dtype="string[pyarrow]"),
        pd.Series(["2", None, "1"]),
        pd.Series(["2", pd.NA, 1], dtype=object),
        pd.Series([2, pd.NaT, "1"], dtype=object),
        pd.Index([2, None, 1], dtype="Int64"),
        pl.Series([2, None, 1]),
        pl.Series(["2", None, "1"]),
        pa.array([2, None, 1], pa.uint8()),
        pa.chunked_array([[2.0, None], [1.0]]),
        pa.array(["2", None, "1"], pa.string_view()),
        np.array([2, np.nan, 1]),
        np.array([2, np.nan, 1], dtype=np.float16),
        np.array(["2", "", "1"]),
        [2, None, 1.0],
        ("2", None, 1),
    ],
)
def test_a_column_means_the_same_in_every_container(series):
    table = read({"x": series})
    assert table.variables["x"].states == ("1", "2")
    assert table.columns["x"].tolist() == [1, -1, 0]


def test_names_that_are_whole_numbers_become_text():
    assert list(read(pd.DataFrame([[1, 2]])).variables) == ["0", "1"]


@pytest.mark.parametrize("columns", [["x", "x"], ["1", 1]])
def test_a_frame_with_two_columns_of_one_name_is_refused(columns):
    with pytest.raises(DataError, match="two columns are named"):
        read(pd.DataFrame([[1, 2]], columns=columns))


def test_names_that_are_no_text_are_refused():
    with pytest.raises(DataError, match="must be text, got \\('a', 'b'\\)"):
        read(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))


def test_writing_to_the_frame_afterwards_does_not_change_the_table():
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b"]), "y": [0.5, 1.5]})
    table = read(frame)
    frame.loc[0, "x"], frame.loc[0, "y"] = "b", 9.0
    assert table.columns["x"].tolist() == [0, 1]
    assert table.columns["y"].tolist() == [0.5, 1.5]


compiled = pytest.mark.skipif(not IS_COMPILED, reason="kernels run as plain Python")

frames = st.integers(1, 8).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "text": st.lists(
                st.one_of(st.none(), st.sampled_from(["b", "a", "NA"])), min_size=n, max_size=n
            ),
            "whole": st.lists(st.one_of(st.none(), st.integers(-3, 30)), min_size=n, max_size=n),
            "real": st.lists(
                st.one_of(st.none(), st.floats(-9, 9, width=32)), min_size=n, max_size=n
            ),
        }
    )
)


@given(frames)
def test_every_library_and_format_gives_the_same_table(tmp_path_factory, columns):
    folder = tmp_path_factory.mktemp("formats")
    types = pa.schema({"text": pa.string(), "whole": pa.int64(), "real": pa.float64()})
    arrow = pa.table(columns, schema=types)
    pandas = arrow.to_pandas()
    polars = pl.DataFrame(arrow)
    pq.write_table(arrow, folder / "t.parquet")
    pandas.to_csv(folder / "t.csv", index=False)
    pandas.to_csv(folder / "t.csv.gz", index=False)
    duck = duckdb.sql("select * from arrow")
    expected = read({name: columns[name] for name in types.names})
    files = [folder / name for name in ("t.parquet", "t.csv", "t.csv.gz")]
    for data in (arrow, pandas, pandas.astype(object), polars, polars.lazy(), duck, *files):
        assert_same(read(data), expected)


@compiled
@given(
    st.lists(
        st.one_of(st.none(), st.sampled_from(["", "a", "b", "longer than eight", "longer th"]))
    )
)
def test_the_compiled_encoder_agrees_with_arrow(texts):
    column = pa.array([None, *texts, "padding to eight bytes"], pa.large_string())[1:]
    found = pieces._encode_compiled(column)
    expected = column.dictionary_encode()
    assert found is not None
    assert found[0].tolist() == expected.indices.fill_null(-1).to_pylist()
    assert found[1].to_pylist() == expected.dictionary.to_pylist()


@compiled
def test_the_compiled_encoder_gives_up_on_many_texts():
    assert pieces._encode_compiled(pa.array(map(str, range(5000)), pa.large_string())) is None


def test_large_columns_take_the_compiled_path(monkeypatch):
    monkeypatch.setattr(pieces, "_WORTH_COMPILING", 1)
    monkeypatch.setattr(pieces, "_WORTH_LOADING", 1)
    few = read({"x": ["b", None, "a", "b"]})
    many = read({"x": [f"s{k}" for k in range(3000)]})
    assert few.columns["x"].tolist() == [0, -1, 1, 0]
    assert many.variables["x"].n_states == 3000
