from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles import count_slowly, make_table
from strategies import families, tables

from consilience.errors import DataError, InputError, MemoryLimitError, UnknownNameError
from consilience.statistics import Counts, Family, count
from consilience.statistics.engines import Batches, Memory, joints, memory
from consilience.statistics.engines.bitmaps import Bitmaps


@given(data=st.data(), table=tables(), by_source=st.booleans())
def test_counts_equal_those_of_one_row_at_a_time(data, table, by_source):
    asked = data.draw(families(table))
    for family, counts in zip(asked, count(table, asked, by_source=by_source), strict=True):
        assert counts.family == family
        slow = count_slowly(table, family, by_source=by_source)
        np.testing.assert_array_equal(counts.to_dense().values, slow)
        total = counts.n_complete + counts.n_incomplete
        assert total.sum() == pytest.approx(table.total_weight, abs=1e-9)


@given(data=st.data(), table=tables())
def test_bitmaps_bundles_increments_and_sorting_agree(data, table):
    plain = make_table(
        [v.n_states for v in table.variables.values()],
        np.stack(list(table.columns.values()), axis=1),
        sources=table.source_codes,
    )
    asked = data.draw(families(plain))
    answers = []
    with pytest.MonkeyPatch.context() as patch:
        answers.append(count(plain, asked))
        patch.setattr(joints.Joints, "_bundling_pays", lambda *_: True)
        answers.append(count(plain, asked))
        patch.undo()
        patch.setattr(joints, "NS_PER_WORD", 1e9)
        answers.append(count(plain, asked))
        patch.setattr(memory, "SMALL_TABLE", 0)
        patch.setattr(Memory, "_is_mostly_empty", lambda self, names: len(names) > 1)
        answers.append([counts.to_dense() for counts in count(plain, asked)])
    for bitmaps, bundles, increments, seen in zip(*answers, strict=True):
        np.testing.assert_array_equal(bitmaps.table, bundles.table)
        np.testing.assert_array_equal(bitmaps.table, increments.table)
        np.testing.assert_array_equal(bitmaps.table, seen.table)


@given(data=st.data(), table=tables(max_rows=60), by_source=st.booleans())
def test_split_and_merge_in_any_tree_with_empty_batches_is_the_whole(data, table, by_source):
    asked = data.draw(families(table))
    cuts = sorted(data.draw(st.lists(st.integers(0, table.n_rows), max_size=4)))
    ends = [0, *cuts, table.n_rows]
    parts = [table.take(slice(a, b)) for a, b in pairwise(ends)]
    piles = [count(part, asked, by_source=by_source) for part in parts]
    piles.append([Counts.empty(table.schema, one, by_source=by_source) for one in asked])
    while len(piles) > 1:
        i = data.draw(st.integers(0, len(piles) - 2))
        left, right = piles.pop(i), piles.pop(i)
        piles.insert(i, [a.merge(b) for a, b in zip(left, right, strict=True)])
    for merged, whole in zip(piles[0], count(table, asked, by_source=by_source), strict=True):
        np.testing.assert_array_equal(merged.to_dense().table, whole.to_dense().table)
        np.testing.assert_array_equal(merged.n_rows, whole.n_rows)


@given(data=st.data(), table=tables(), size=st.integers(1, 40))
def test_the_answer_has_the_same_bits_for_any_batch_size(data, table, size):
    asked = data.draw(families(table))
    parts = [table.take(slice(a, a + size)) for a in range(0, table.n_rows, size)]
    batched = count(Batches(table.schema, parts), asked)
    for one, whole in zip(batched, count(table, asked), strict=True):
        dense, other = one.to_dense(), whole.to_dense()
        np.testing.assert_array_equal(dense.table * (other.scale // dense.scale), other.table)


@pytest.mark.parametrize("kind", ["none", "whole", "fractional"])
def test_the_answer_has_the_same_bits_for_any_number_of_threads(kind):
    rng = np.random.default_rng(5)
    n_rows = 140_000
    rows = rng.integers(-1, 4, (n_rows, 4))
    weights = {"none": None, "whole": rng.integers(0, 9, n_rows), "fractional": rng.random(n_rows)}
    table = make_table([4] * 4, rows, sources=rng.integers(0, 3, n_rows), weights=weights[kind])
    asked = [Family("a", ("b", "c", "d")), Family("a"), Family("b", ("d",))]
    answers = [
        count(Memory(table, threads=threads), asked, by_source=True) for threads in (1, 2, 3)
    ]
    for one, two, three in zip(*answers, strict=True):
        np.testing.assert_array_equal(one.table, two.table)
        np.testing.assert_array_equal(one.table, three.table)


@given(data=st.data(), table=tables(max_rows=60))
def test_a_row_of_weight_two_equals_two_rows(data, table):
    asked = data.draw(families(table))
    codes = np.stack(list(table.columns.values()), axis=1)
    n_states = [v.n_states for v in table.variables.values()]
    weights = np.random.default_rng(1).integers(0, 4, table.n_rows)
    weighted = make_table(n_states, codes, weights=weights)
    repeated = make_table(n_states, np.repeat(codes, weights, axis=0))
    for a, b in zip(count(weighted, asked), count(repeated, asked), strict=True):
        np.testing.assert_array_equal(a.table, b.table)
        np.testing.assert_array_equal(a.n_rows, b.n_rows)


@given(data=st.data(), table=tables(), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(data, table, seed):
    asked = data.draw(families(table))
    order = np.random.default_rng(seed).permutation(table.n_rows)
    for a, b in zip(count(table, asked), count(table.take(order), asked), strict=True):
        np.testing.assert_array_equal(a.to_dense().table, b.to_dense().table)


@given(data=st.data(), table=tables())
def test_the_order_of_variables_and_of_parents_does_not_matter(data, table):
    family = data.draw(families(table))[0]
    order = data.draw(st.permutations(family.parents))
    other = table.select(data.draw(st.permutations(list(table.variables))))
    [one], [two] = count(table, [family]), count(other, [Family(family.child, tuple(order))])
    shape = [table.schema[name].n_states for name in (*order, family.child)]
    axes = [order.index(name) for name in family.parents]
    arranged = two.to_dense().table.reshape(shape).transpose([*axes, len(order)])
    np.testing.assert_array_equal(one.to_dense().table.ravel(), arranged.ravel())


@given(data=st.data(), table=tables())
def test_pooled_is_a_sum_over_sources(data, table):
    asked = data.draw(families(table))
    kept, pooled = count(table, asked, by_source=True), count(table, asked)
    for a, b in zip(kept, pooled, strict=True):
        np.testing.assert_array_equal(a.pooled().to_dense().table, b.to_dense().table)
        np.testing.assert_array_equal(a.pooled().n_rows, b.n_rows)


def test_the_source_can_be_named_as_a_parent():
    table = make_table([2], np.array([[0], [1], [1]]), sources=np.array([0, 2, 2]))
    [counts] = count(table, [Family("a", ("site",))])
    assert counts.table.tolist() == [[[1, 0], [0, 0], [0, 2]]]


def test_a_row_of_a_family_with_a_gap_is_left_out_and_told():
    table = make_table([2, 2], np.array([[0, 1], [1, -1], [1, 1]]))
    both, alone = count(table, [Family("a", ("b",)), Family("a")])
    assert both.table.tolist() == [[[0, 0], [1, 1]]]
    assert both.n_incomplete.tolist() == [1]
    assert alone.table.tolist() == [[[1, 2]]]
    assert alone.n_incomplete.tolist() == [0]


def test_a_table_that_would_be_mostly_empty_keeps_only_what_was_seen():
    rng = np.random.default_rng(0)
    table = make_table([20] * 6, rng.integers(0, 20, (50, 6)))
    [counts] = count(table, [Family("a", ("b", "c", "d", "e", "f"))])
    assert counts.seen is not None
    assert counts.table.shape == (1, len(counts.seen), 20)
    assert counts.table.sum() == 50
    assert (np.lexsort(counts.seen.T[::-1]) == np.arange(len(counts.seen))).all()


def test_more_parent_states_than_a_machine_word_can_number():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 120, (30, 14)), 2, axis=0)
    table = make_table([120] * 14, rows)
    names = list(table.variables)
    [counts] = count(table, [Family(names[0], tuple(names[1:]))])
    assert len(counts.seen) == 30
    assert (counts.table.sum(axis=2) == 2).all()


def test_a_variable_of_many_states_is_counted():
    rng = np.random.default_rng(0)
    table = make_table([300, 2], np.stack([rng.integers(0, 300, 999), rng.integers(0, 2, 999)], 1))
    [counts] = count(table, [Family("b", ("a",))])
    np.testing.assert_array_equal(
        counts.values, count_slowly(table, Family("b", ("a",)), by_source=False)
    )


def test_fractional_weights_are_summed_in_fixed_point():
    rows = np.zeros((10, 1), int)
    table = make_table([2], rows, weights=np.full(10, 0.1))
    [counts] = count(table, [Family("a")])
    assert counts.scale == 2**36
    assert counts.values[0, 0, 0] == pytest.approx(1.0, abs=10 * 2.0**-37)


def test_fractional_and_whole_counts_merge():
    whole = make_table([2], np.array([[0]]))
    half = make_table([2], np.array([[0]]), weights=np.array([0.5]))
    [a], [b] = count(whole, [Family("a")]), count(half, [Family("a")])
    assert a.merge(b).values.tolist() == [[[1.5, 0.0]]]


def test_too_large_a_total_of_fractional_weights_is_refused():
    table = make_table([2], np.array([[0]]), weights=np.array([2.0**26 + 0.5]))
    with pytest.raises(DataError, match="67,108,864"):
        count(table, [Family("a")])


def test_a_table_larger_than_the_limit_is_refused_by_name():
    table = make_table([5] * 5, np.zeros((10, 5), int))
    with pytest.raises(
        MemoryLimitError, match=r"family 'a' with 2 parents .* 1000 bytes.*limit is 100 bytes"
    ):
        count(table, [Family("a", ("b", "c"))], memory_limit=100)


def test_a_request_larger_than_the_limit_is_refused():
    table = make_table([5] * 5, np.zeros((10, 5), int))
    with pytest.raises(MemoryLimitError, match="the request for 3 families"):
        count(table, [Family("a"), Family("b"), Family("c")], memory_limit=100)


def test_sources_as_axis_and_as_parent_at_once_are_refused():
    table = make_table([2], np.array([[0]]), sources=np.array([0]))
    with pytest.raises(InputError, match="names the source 'site'"):
        count(table, [Family("a", ("site",))], by_source=True)


def test_an_unknown_variable_is_named_with_those_there_are():
    table = make_table([2], np.array([[0]]))
    with pytest.raises(UnknownNameError, match=r"unknown variable 'z'\. Known: 'a'"):
        count(table, [Family("z")])


def test_counts_of_different_states_do_not_merge():
    [a] = count(make_table([2], np.array([[0]])), [Family("a")])
    [b] = count(make_table([3], np.array([[0]])), [Family("a")])
    with pytest.raises(DataError, match="one schema"):
        a.merge(b)


def test_one_group_serves_a_family_extended_by_many_candidates(monkeypatch):
    seen = []
    original = Bitmaps.count
    monkeypatch.setattr(
        Bitmaps,
        "count",
        lambda self, groups, a, b: seen.extend(groups) or original(self, groups, a, b),
    )
    rng = np.random.default_rng(0)
    table = make_table([3] * 10, rng.integers(0, 3, (200, 10)))
    count(table, [Family("a", ("b", name)) for name in "cdefghij"])
    assert [(g.base, g.extensions) for g in seen] == [(("a", "b"), tuple("cdefghij"))]
