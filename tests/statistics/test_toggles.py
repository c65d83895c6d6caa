from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import make_table
from strategies import tables

import consilience as cs
from consilience.errors import DataError, InputError, MemoryLimitError
from consilience.statistics import Family, count
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.engines import Batches, Memory, joints, neighbors
from consilience.statistics.toggles import ToggleRequest, ToggleRequests


@st.composite
def requests(draw, table):
    names = draw(st.permutations(list(table.variables)))
    n_parents = draw(st.integers(0, len(names) - 1))
    family = Family(names[0], tuple(names[1 : 1 + n_parents]))
    return ToggleRequest(family, tuple(names[1 + n_parents :]), draw(st.booleans()))


def assert_same(batch, counts):
    for one, other in zip(batch, counts, strict=True):
        assert one.family == other.family
        np.testing.assert_array_equal(one.to_dense().table, other.to_dense().table)
        np.testing.assert_array_equal(one.n_rows, other.n_rows)
        np.testing.assert_array_equal(one.values.sum(), other.values.sum())


@given(data=st.data(), table=tables())
def test_toggled_families_have_the_counts_of_each_family_alone(data, table):
    asked = data.draw(requests(table))
    counts = count(table, asked.families, by_source=asked.by_source)
    assert_same(Memory(table).gather(asked), counts)


@given(data=st.data(), table=tables(), is_sparse=st.booleans())
def test_toggled_families_have_the_same_counts_in_batches_bundles_and_sparse(
    data, table, is_sparse
):
    asked = data.draw(requests(table))
    counts = count(table, asked.families, by_source=asked.by_source)
    parts = [table.take(slice(a, a + 7)) for a in range(0, table.n_rows, 7)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joints, "FEW_LOOKS", 0)
        if is_sparse:
            patch.setattr("consilience.statistics.engines.memory.SMALL_TABLE", 0)
        else:
            patch.setattr(joints.Joints, "_bundling_pays", lambda *_: True)
        assert_same(Batches(table.schema, parts).gather(asked), counts)


@given(
    data=st.data(),
    table=tables(),
    most=st.sampled_from([1, 1 << 25]),
    few_looks=st.sampled_from([0, joints.FEW_LOOKS]),
)
def test_an_engine_that_remembers_smaller_sets_gives_the_same_counts(data, table, most, few_looks):
    plain = make_table(
        [v.n_states for v in table.variables.values()],
        np.maximum(np.stack(list(table.columns.values()), axis=1), 0),
        sources=table.source_codes,
    )
    engine = Memory(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "MOST_CELLS_KEPT", most)
        patch.setattr(joints, "FEW_LOOKS", few_looks)
        for _ in range(4):
            asked = data.draw(requests(plain))
            some = Family(asked.family.child, asked.family.parents[:1])
            for one in (asked, ToggleRequest(some, asked.family.parents[1:], asked.by_source)):
                counts = count(plain, one.families, by_source=one.by_source)
                assert_same(engine.gather(one), counts)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("few_looks", [0, joints.FEW_LOOKS])
def test_a_family_that_grows_is_counted_from_what_is_known(threads, few_looks, monkeypatch):
    monkeypatch.setattr(joints, "ROWS_FOR_THREADS", 1)
    monkeypatch.setattr(joints, "FEW_LOOKS", few_looks)
    rng = np.random.default_rng(1)
    table = make_table([2, 3, 4, 2, 5, 3], rng.integers(0, [2, 3, 4, 2, 5, 3], (5000, 6)))
    engine = Memory(table, threads=threads)
    for n_parents in range(5):
        asked = ToggleRequest(Family("f", tuple("abcd"[:n_parents])), tuple("abcde"[n_parents:]))
        turned = ToggleRequest(Family("a", ("f",)), tuple("bcde"))
        for one in (asked, turned):
            assert_same(engine.gather(one), count(table, one.families))


def test_a_batch_of_a_batch_is_itself_and_pools_on_request():
    table = make_table([2, 3], np.array([[0, 1], [1, 2], [0, 0]]), sources=np.array([0, 1, 1]))
    counts = count(table, [Family("b", ("a",))], by_source=True)
    batch = CountBatch.of(counts, by_source=True)
    assert CountBatch.of(batch, by_source=True) is batch
    pooled = CountBatch.of(batch, by_source=False)
    np.testing.assert_array_equal(pooled.table, counts[0].table.sum(axis=0).ravel())
    assert repr(batch) == "CountBatch(1 families, 3 rows)"


def test_a_batch_needs_counts_of_the_same_rows():
    table = make_table([2, 3], np.array([[0, 1], [1, 2], [0, 0]]))
    with pytest.raises(InputError, match="at least one family"):
        CountBatch.of([], by_source=True)
    shorter = count(table.take(slice(0, 2)), [Family("a")])
    with pytest.raises(InputError, match="same rows"):
        CountBatch.of([*count(table, [Family("a")]), *shorter], by_source=True)


def test_batches_about_different_variables_do_not_merge():
    one = Memory(make_table([2, 3], np.array([[0, 1]]))).gather(ToggleRequest(Family("a"), ("b",)))
    other = Memory(make_table([2, 2], np.array([[0, 1]]))).gather(
        ToggleRequest(Family("a"), ("b",))
    )
    with pytest.raises(DataError, match="differ"):
        one.merge(other)


def test_too_large_a_request_is_refused_before_counting():
    table = make_table([2, 3], np.array([[0, 1]]))
    with pytest.raises(MemoryLimitError, match="'a' with each of 1 more parents"):
        Memory(table).gather(ToggleRequest(Family("a"), ("b",), memory_limit=10))


def test_several_mostly_empty_requests_are_refused_by_their_sum(monkeypatch):
    monkeypatch.setattr("consilience.statistics.engines.memory.SMALL_TABLE", 0)
    table = make_table([9, 9, 9], np.array([[0, 1, 2], [3, 4, 5]]))
    asked = tuple(ToggleRequest(Family(child), ("c",), memory_limit=300) for child in "ab")
    for one in asked:  # 72 bytes for the family and 144 with two parent states at most
        Memory(table).gather(one)
    with pytest.raises(MemoryLimitError, match="4 families would need 432 bytes"):
        Memory(table).gather(ToggleRequests(asked))


def test_a_toggled_family_may_not_name_the_source_that_is_kept_apart():
    table = make_table([2, 3], np.array([[0, 1]]), sources=np.array([0]))
    with pytest.raises(InputError, match="axis of its own"):
        Memory(table).gather(ToggleRequest(Family("a"), (table.source,), by_source=True))


def test_rows_that_were_counted_go_when_their_engine_does(monkeypatch):
    monkeypatch.setattr(joints, "FEW_LOOKS", 0)
    net = cs.random_network(cs.random_dag(5, n_arcs=5, seed=1), n_states=3, seed=1)
    memory = Memory(net.sample(200, seed=1))
    requests = [ToggleRequest(cs.Family("X1"), ("X2", "X3")), ToggleRequest(cs.Family("X2"), ())]
    memory.gather(ToggleRequests(tuple(requests)))
    assert memory._joints._neighbors is not None
    held = weakref.ref(memory)
    gc.disable()  # cycles would be found in the end, after the memory of many parts
    try:
        del memory
        assert held() is None
    finally:
        gc.enable()
