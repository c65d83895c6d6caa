from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import InputError, UnknownNameError
from consilience.simulate.stratified import (
    _turns,
    apportion,
    stratified_order,
    stratified_subsample,
)

sizes = st.lists(st.integers(1, 40), min_size=1, max_size=7)


def table_of(counts):
    """Rows of every (source, class, number), shuffled, with their position as a column."""
    rows = [key for key, n in counts.items() for _ in range(n)]
    order = np.random.default_rng(0).permutation(len(rows))
    columns = zip(*(rows[i] for i in order), strict=True)
    names = ("source", "class", "extra")
    frame = dict(zip(names, map(list, columns), strict=True))
    return cs.read(frame, source="source", discrete=["class", "extra"])


def strata(table):
    states = table.variables["class"].states
    sources = [table.sources[code] for code in table.source_codes]
    classes = [states[code] for code in table.column("class")]
    return Counter(zip(sources, classes, strict=True))


SMALL = table_of(
    {("a", "no", "u"): 50, ("a", "yes", "u"): 30, ("b", "no", "v"): 19, ("b", "yes", "u"): 1}
)


@given(sizes=sizes, share=st.floats(0, 1))
def test_an_apportionment_has_its_total_and_rounds_the_quotas(sizes, share):
    total = round(share * sum(sizes))
    found = apportion(total, sizes)
    assert sum(found) == total
    quotas = [Fraction(total * size, sum(sizes)) for size in sizes]
    if total < len(sizes) or min(quotas) >= 1:
        assert all(abs(n - quota) < 1 for n, quota in zip(found, quotas, strict=True))
    assert all(0 <= n <= size for n, size in zip(found, sizes, strict=True))
    assert total < len(sizes) or min(found) >= 1


def test_remainders_decide_who_is_rounded_up():
    assert apportion(10, [62, 24, 14]) == [6, 3, 1]  # quotas 6.2, 2.4 and 1.4: the first of a tie
    assert apportion(10, [55, 25, 20]) == [6, 2, 2]
    assert apportion(20, [1000, 1000, 1]) == [10, 9, 1]


def prefixes(sizes):
    """Rows of each stratum in every prefix of the order, and their quotas times the rows in all."""
    seen = np.cumsum(_turns(sizes)[:, None] == np.arange(len(sizes)), axis=0)
    return seen, np.arange(1, sum(sizes) + 1)[:, None] * np.array(sizes)


@given(sizes=sizes)
def test_every_prefix_that_is_long_enough_has_a_row_of_every_stratum(sizes):
    seen, _ = prefixes(sizes)
    assert np.all(seen[len(sizes) - 1 :] >= 1)


@given(sizes=sizes)
def test_no_stratum_of_a_prefix_exceeds_its_quota_rounded_up(sizes):
    seen, quotas = prefixes(sizes)
    assert np.all(seen <= -(-quotas // sum(sizes)))


@given(sizes=sizes)
def test_strata_of_a_prefix_fall_short_only_by_what_the_rare_ones_were_given(sizes):
    seen, quotas = prefixes(sizes)
    whole = sum(sizes)
    beyond = np.where(quotas < whole, np.maximum(seen * whole - quotas, 0), 0).sum(axis=1)
    short = np.maximum(quotas // whole - seen, 0)
    assert np.all(short * whole <= beyond[:, None])


def test_prefixes_keep_the_shares_of_class_and_source_and_their_rarest():
    order = stratified_order(SMALL, by=["class"], seed=1)
    assert sorted(order) == list(range(100))
    for n in range(4, 101):
        counts = strata(SMALL.take(order[:n]))
        assert len(counts) == 4
        assert all(abs(counts[key] - n * size / 100) < 2 for key, size in strata(SMALL).items())


def test_prefixes_of_common_strata_are_the_rounded_quotas():
    sizes = [22732, 9918, 14423, 1769]
    seen, _ = prefixes(sizes)
    for n in (20, 60, 120, 260, 500):
        assert seen[n - 1].tolist() == apportion(n, sizes)


def test_two_seeds_give_different_orders_and_one_seed_the_same():
    one, two, other = (stratified_order(SMALL, by=["class"], seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_a_subsample_keeps_shares_and_the_smallest_stratum():
    found = stratified_subsample(SMALL, 20, by=["class"], seed=1)
    # One row for the last; the other 19 have the quotas 9.60, 5.76 and 3.65.
    assert strata(found) == {("a", "no"): 9, ("a", "yes"): 6, ("b", "no"): 4, ("b", "yes"): 1}
    assert found.n_rows == 20
    assert found.schema is SMALL.schema


def test_every_row_is_taken_as_often_as_any_other_of_its_stratum():
    rows = cs.read({"row": [f"r{i}" for i in range(12)], "class": ["u"] * 8 + ["v"] * 4})
    seen = Counter()
    for seed in range(600):
        seen.update(stratified_subsample(rows, 6, by=["class"], seed=seed).column("row").tolist())
    # 600 draws of probability 1/2: 4 standard deviations are 49.
    assert all(abs(seen[row] - 300) < 49 for row in range(12))


def test_the_whole_table_and_no_rows_are_subsamples():
    assert strata(stratified_subsample(SMALL, 100, by=["class"], seed=1)) == strata(SMALL)
    assert stratified_subsample(SMALL, 0, by=["class"], seed=1).n_rows == 0
    empty = SMALL.take(slice(0, 0))
    assert stratified_order(empty, by=["class"], seed=1).tolist() == []
    assert stratified_subsample(empty, 0, by=[], seed=1).n_rows == 0


def test_missing_values_are_a_stratum_of_their_own():
    table = cs.read({"class": ["u", "v", None, None] * 5})
    found = stratified_subsample(table, 8, by=["class"], seed=1).column("class")
    assert Counter(found.tolist()) == {-1: 4, 0: 2, 1: 2}


def test_wrong_arguments_are_refused():
    with pytest.raises(
        InputError, match="n_rows must be at most the 100 rows of the table, got 101"
    ):
        stratified_subsample(SMALL, 101, by=["class"])
    with pytest.raises(UnknownNameError, match="unknown variable 'klass'"):
        stratified_order(SMALL, by=["klass"])
    with pytest.raises(InputError, match="'age' is continuous"):
        stratified_order(cs.read({"age": [1.5, 2.5]}), by=["age"])


@pytest.mark.parametrize(
    "draw", [stratified_order, lambda t, by: stratified_subsample(t, 5, by=by)]
)
def test_one_text_is_no_list_of_strata(draw):
    with pytest.raises(InputError, match="by must be a list of names, got the text 'class'"):
        draw(SMALL, by="class")
