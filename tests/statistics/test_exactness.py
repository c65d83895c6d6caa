"""What must not go wrong silently: overflow, aliasing, races, thin and empty input."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from oracles import count_slowly, make_table

import consilience as cs
from consilience.errors import DataError, GraphError, InputError
from consilience.statistics.engines import Batches, Memory


def test_fractional_counts_that_would_overflow_are_refused_when_merged():
    table = make_table([2], np.array([[0], [1]]), weights=np.array([2.0**26 - 1.5, 0.5]))
    [counts] = cs.count(table, [cs.Family("a")])
    with pytest.raises(DataError, match="more than can be counted exactly"):
        counts.merge(counts)


def test_whole_weights_that_would_overflow_are_refused():
    with pytest.raises(DataError, match="add up to more than"):
        make_table([2], np.array([[0]] * 3), weights=np.array([2**62] * 3))
    half = make_table([2], np.array([[0]]), weights=np.array([2**61 + 1]))
    [counts] = cs.count(half, [cs.Family("a")])
    with pytest.raises(DataError, match="more than can be counted exactly"):
        counts.merge(counts)


def test_a_weight_too_small_for_fixed_point_is_refused_by_row():
    table = make_table([2], np.array([[0], [1]]), weights=np.array([0.5, 1e-12]))
    with pytest.raises(DataError, match="row 2: the weight 1e-12 is too small"):
        cs.count(table, [cs.Family("a")])


def test_a_table_does_not_share_memory_with_the_arrays_it_was_made_of():
    codes, weights = np.zeros(3, np.int8), np.ones(3, np.int64)
    variable = cs.Variable("a", ("x", "y"))
    table = cs.Table(cs.Schema({"a": variable}), {"a": codes}, weights=weights)
    codes[:], weights[:] = 1, 9
    assert cs.count(table, [cs.Family("a")])[0].table.tolist() == [[[3, 0]]]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda noun: pickle.loads(pickle.dumps(noun))])
def test_copies_and_pickles_cannot_be_written_either(again):
    table = make_table([2, 2], np.array([[0, 1], [1, 1]]), sources=np.array([0, 2]))
    net = cs.fit(cs.DAG([("a", "b")]), table, cs.HDMCS())
    [counts] = cs.count(table, [cs.Family("a", ("b",))])
    arrays = [
        again(table).column("a"),
        again(table).source_codes,
        again(net)["b"].table,
        again(net)["b"].posterior.hierarchy.counts,
        again(counts).table,
        again(net.query("a")).values,
    ]
    assert not any(array.flags.writeable for array in arrays)


def test_threads_that_share_an_engine_get_whole_answers():
    rng = np.random.default_rng(0)
    table = make_table([2], rng.integers(0, 2, (300_000, 1)))
    for _ in range(5):
        engine = Memory(table, threads=1)
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _, e=engine: cs.count(e, [cs.Family("a")])[0], range(6)))
        assert {int(one.n_rows.sum()) for one in answers} == {300_000}


def test_a_family_without_parents_is_counted_however_many_cells_it_has():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1000, (200, 1))
    table = make_table([1000], rows, sources=rng.integers(0, 100, 200), n_sources=100)
    [counts] = cs.count(table, [cs.Family("a")], by_source=True)
    slow = count_slowly(table, cs.Family("a"), by_source=True)
    np.testing.assert_array_equal(counts.to_dense().values, slow)


def test_sparse_counts_by_source_equal_slow_ones_and_merge():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 60, (90, 3))
    table = make_table([60] * 3, rows, sources=rng.integers(0, 3, 90))
    family = cs.Family("a", ("b", "c"))
    [whole] = cs.count(table, [family], by_source=True)
    assert whole.seen is not None
    parts = [table.take(slice(0, 40)), table.take(slice(40, 90))]
    [merged] = cs.count(Batches(table.schema, parts), [family], by_source=True)
    slow = count_slowly(table, family, by_source=True)
    np.testing.assert_array_equal(whole.to_dense().values, slow)
    np.testing.assert_array_equal(merged.to_dense().values, slow)


def test_batches_that_can_be_read_only_once_are_refused():
    table = make_table([2], np.array([[0]]))
    with pytest.raises(InputError, match="read only once"):
        Batches(table.schema, (part for part in [table]))


def test_parents_given_as_text_are_refused():
    with pytest.raises(GraphError, match="must be a list of names, got the text 'bc'"):
        cs.Family("a", "bc")


def test_rows_that_are_no_table_are_refused_with_what_to_do():
    with pytest.raises(InputError, match=r"data of type int cannot be read\. Accepted: a path"):
        cs.fit(cs.DAG(nodes=["a"]), 3)
    table = make_table([2], np.array([[0]]))
    with pytest.raises(InputError, match="dag must be a DAG, got a str"):
        cs.fit("[a]", table)
    for estimator in ("mle", cs.MLE):
        with pytest.raises(InputError, match="estimator must be a choice"):
            cs.fit(cs.DAG(nodes=["a"]), table, estimator)


def test_moments_of_large_equal_values_are_finite_and_too_large_products_refused():
    table = cs.read({"x": [1e160, 1e160]}, continuous=["x"])
    assert cs.moments(table, ["x"]).scatter.item() == 0
    wide = cs.read({"x": [1e160, -1e160]}, continuous=["x"])
    with pytest.raises(DataError, match="too large for a float"):
        cs.moments(wide, ["x"])


def test_infinite_values_are_refused():
    with pytest.raises(DataError, match="column 'x', row 2: a value is infinite"):
        cs.Table(cs.Schema({"x": cs.Variable("x")}), {"x": np.array([1.0, np.inf])})
