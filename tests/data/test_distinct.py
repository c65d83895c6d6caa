"""Equal rows merged into weights."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, strategies as st
from table_equality import assert_same

from consilience.data.distinct import distinct
from consilience.data.read import read
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable


def rows_of(table: Table) -> list[tuple[float, ...]]:
    columns = [*table.columns.values()]
    if table.source_codes is not None:
        columns.append(table.source_codes)
    columns = [np.where(np.isnan(column), -99.5, column) + 0.0 for column in columns]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_equal_rows_of_one_source_are_merged_in_first_seen_order():
    data = {"f": ["q", "p", "q", "p"], "x": ["b", "b", "b", "a"]}
    table = read(data, source="f").distinct()
    assert table.source_codes.tolist() == [0, 1, 1]
    assert table.columns["x"].tolist() == [0, 0, 1]
    assert table.weights.tolist() == [2, 1, 1]


def test_missing_equals_missing():
    table = distinct(read({"x": ["a", None, None], "y": [0.5, None, np.nan]}))
    assert table.n_rows == 2
    assert table.weights.tolist() == [1, 2]


def test_zero_equals_minus_zero():
    assert distinct(read({"y": [0.0, -0.0, 0.5]})).n_rows == 2


def test_rows_that_all_differ_stay_as_they_are():
    table = distinct(read({"y": [2.5, 0.5, None], "x": ["a", "a", "a"]}))
    assert table.columns["y"][:2].tolist() == [2.5, 0.5]
    assert table.weights.tolist() == [1, 1, 1]


def test_whole_weights_add_exactly():
    table = read({"x": ["a", "a"], "n": [1, 1]}, weight="n")
    huge = Table(
        schema=table.schema, columns=table.columns, weights=np.array([2**60, 1], dtype=np.int64)
    )
    assert distinct(huge).weights.tolist() == [2**60 + 1]


def test_fractions_that_add_to_whole_numbers_are_whole():
    table = distinct(read({"x": ["a", "a"], "n": [0.5, 1.5]}, weight="n"))
    assert table.weights.dtype == np.int64
    assert table.weights.tolist() == [2]
    assert distinct(read({"x": ["a"], "n": [0.5]}, weight="n")).weights.tolist() == [0.5]


def test_a_table_without_rows_stays():
    assert distinct(read({"x": []})).n_rows == 0


def test_keys_wider_than_63_bits_are_told_apart():
    rng = np.random.default_rng(1)
    variables = {f"v{k}": Variable(f"v{k}", ("a", "b", "c")) for k in range(90)}
    base = rng.integers(-1, 3, (50, 90)).astype(np.int8)
    base[1] = base[0]
    base[1, 0] = base[0, 0] - 1 if base[0, 0] >= 0 else 2
    picks = rng.integers(0, 50, 2000)
    columns = {name: base[picks, k].copy() for k, name in enumerate(variables)}
    table = distinct(Table(schema=Schema(variables), columns=columns))
    assert table.n_rows == 50
    assert sorted(table.weights.tolist()) == sorted(Counter(picks.tolist()).values())


rows = st.lists(
    st.tuples(
        st.sampled_from("pq"),
        st.one_of(st.none(), st.sampled_from("ab")),
        st.one_of(st.none(), st.sampled_from([0.5, 1.5, 0.0, -0.0])),
        st.integers(0, 3),
    ),
    min_size=1,
)


@given(rows)
def test_distinct_rows_are_those_of_a_counter(rows):
    columns = dict(zip("fxyn", map(list, zip(*rows, strict=True)), strict=True))
    table = read(columns, source="f", weight="n", states={"x": ["a", "b"]}, continuous=["y"])
    merged = distinct(table)
    counts: Counter[tuple[float, ...]] = Counter()
    for row, weight in zip(rows_of(table), table.weights.tolist(), strict=True):
        counts[row] += weight
    assert rows_of(merged) == list(counts)
    assert merged.weights.tolist() == list(counts.values())
    assert_same(distinct(merged), merged)
    assert merged.missing == {
        source: {name: np.float64(share) for name, share in shares.items()}
        for source, shares in table.missing.items()
    }
