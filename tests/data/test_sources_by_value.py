"""Known sources are found again by their value, whatever form it comes back in."""

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.data.variable import NEW_SOURCE
from consilience.data.write import write_rows
from consilience.errors import DataError

NUMBERS = ("1.0", "1e3", "1.10")


@pytest.fixture(scope="module")
def rows():
    """Sources with very different shares, so that a new one would answer differently."""
    table = cs.read(
        {
            name: {"x": ["no"] * (10 + 40 * k) + ["yes"] * (90 - 40 * k)}
            for k, name in enumerate(NUMBERS)
        },
        source="place",
    )
    assert table.sources == NUMBERS
    return table


@pytest.fixture(scope="module")
def net(rows):
    found = cs.fit(cs.DAG([("place", "x")]), rows, cs.HDMCS(s=1.0))
    assert NEW_SOURCE in found.variables["place"].states
    return found


def _again(rows, way, folder):
    if way == "frame":
        return rows.to_frame()
    if way == "text":
        frame = rows.to_frame()
        return frame.assign(place=frame["place"].astype(str))
    if way == "floats":
        frame = rows.to_frame()
        return frame.assign(place=frame["place"].astype(str).astype(float))
    if way == "float parquet":
        frame = rows.to_frame()
        frame.assign(place=frame["place"].astype(str).astype(float)).to_parquet(
            folder / "n.parquet"
        )
        return folder / "n.parquet"
    write_rows(rows, folder / way)
    return folder / way


WAYS = ["frame", "text", "floats", "t.csv", "t.csv.gz", "t.parquet", "float parquet"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("has_schema", [True, False])
def test_rows_of_known_sources_get_their_answers(rows, net, tmp_path, way, has_schema):
    expected = [net.query("x", given={"place": name})["yes"] for name in NUMBERS]
    schema = cs.Schema({"x": net.variables["x"]}, net.variables["place"]) if has_schema else None
    again = cs.read(_again(rows, way, tmp_path), source="place", schema=schema)
    found = net.posteriors(again, "x")[::100, again.variables["x"].code("yes")]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_model_from_a_file_knows_its_sources(rows, net, tmp_path):
    cs.save(net, tmp_path / "net.json")
    loaded = cs.load(tmp_path / "net.json")
    one = cs.read({"place": ["1.0"], "x": ["no"]}, source="place")
    np.testing.assert_allclose(
        loaded.posteriors(one, "x")[0],
        [loaded.query("x", given={"place": "1.0"})[s] for s in ("no", "yes")],
    )


def test_a_known_source_keeps_its_name():
    schema = cs.read({"1.0": {"x": ["u"]}, "b": {"x": ["v"]}}, source="f").schema
    assert cs.read({"f": ["1.0"], "x": ["u"]}, schema=schema).sources == ("1.0", "b")
    assert cs.read({"f": [1, 7], "x": ["u", "v"]}, schema=schema).sources == ("1.0", "b", "7")
    assert cs.read({1: {"x": ["u"]}}, schema=schema).sources == ("1.0", "b")


def test_letters_come_before_value():
    schema = cs.read({"1.0": {"x": ["u"]}, "1": {"x": ["v"]}}, source="f").schema
    again = cs.read({"f": ["1", "1.0", "1.00"], "x": ["u", "u", "u"]}, schema=schema)
    assert again.source_codes.tolist() == [1, 0, 0]


def test_leading_zeros_are_letters():
    schema = cs.read({"007": {"x": ["u"]}, "b": {"x": ["v"]}}, source="f").schema
    assert cs.read({"f": ["007"], "x": ["u"]}, schema=schema).source_codes.tolist() == [0]
    assert cs.read({"f": [7], "x": ["u"]}, schema=schema).sources == ("007", "b", "7")


def test_two_keys_for_one_known_source_are_refused():
    schema = cs.read({"1.0": {"x": ["u"]}, "b": {"x": ["v"]}}, source="f").schema
    with pytest.raises(DataError, match=r"two sources are named '1\.0'"):
        cs.read({"1": {"x": ["u"]}, "1.0": {"x": ["u"]}}, schema=schema)


def test_the_column_of_the_source_may_repeat_its_key_as_a_number():
    assert cs.read({"1.0": {"f": [1, 1], "x": ["u", "v"]}}, source="f").sources == ("1.0",)


def test_large_numbers_that_differ_are_not_one_state():
    variable = cs.Variable("id", ("9007199254740992", "a"))
    with pytest.raises(cs.ConsilienceError, match="9007199254740993"):
        variable.code(9007199254740993)


@pytest.mark.parametrize("source", [["1.0"], [1.0], pd.Categorical(["1.0"])])
def test_classifiers_know_such_sources(source):
    X = pd.DataFrame({"x": ["u", "v"] * 20, "place": ["1.0", "b"] * 20})
    y = np.array([0, 1] * 20)
    model = cs.NaiveBayesClassifier(source="place").fit(X, y)
    new = pd.DataFrame({"x": ["u"], "place": source})
    model.predict_proba(new)
    assert not model.unseen(new).sources
