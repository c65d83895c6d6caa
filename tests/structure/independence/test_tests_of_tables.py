"""Tests of discrete variables against a second derivation, laws and numbers from elsewhere."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import consilience as cs
from consilience.errors import DataError, InputError
from consilience.statistics.engines.batches import Batches
from consilience.structure.independence import asked_rows
from consilience.structure.independence.contingency import (
    corrected_g_squares,
    corrected_pearson_x2s,
    g_squares,
)
from consilience.structure.independence.false_discovery import bh_adjusted

ind = cs.independence

OF_TABLES = (ind.GSquare(), ind.PearsonX2(), ind.ShrunkInformation())

REFERENCE = [
    ("A", "B", [], 2341.827889194261, 4, 0.0),
    ("A", "C", [], 1.3090780383221376, 4, 0.8598334361378098),
    ("A", "B", ["C"], 2347.258587894275, 12, 0.0),
    ("A", "E", ["B"], 7.583362098152531, 12, 0.8167834528277526),
]
"""bnlearn's mutual information test of learning.test."""


@pytest.mark.data
@pytest.mark.parametrize(("x", "y", "z", "statistic", "df", "p"), REFERENCE)
def test_g_square_gives_the_reference_numbers(data_dir, x, y, z, statistic, df, p):
    rows = cs.read(data_dir / "bnlearn" / "learning.test.csv")
    found = ind.test(rows, x, y, given=z, by=ind.GSquare())
    assert found.statistic == pytest.approx(statistic, rel=1e-11)
    assert found.df == df
    assert found.p_value == pytest.approx(p, rel=1e-11)
    assert found.n_rows == 5000


def columns(draw_states=(2, 3, 2, 2), n=60):
    return st.tuples(
        *(st.lists(st.integers(0, r - 1), min_size=n, max_size=n) for r in draw_states)
    )


def table_of(values, states=(2, 3, 2, 2)):
    names = "xyzw"
    variables = {
        a: cs.Variable(a, tuple(map(str, range(r)))) for a, r in zip(names, states, strict=True)
    }
    codes = {a: np.array(v, np.int8) for a, v in zip(names, values, strict=True)}
    return cs.Table(cs.Schema(variables), codes)


def by_hand(rows, kind, given):
    """Statistic and both degrees of freedom, one table after the other."""
    total, seen = 0.0, 0.0
    states = [range(rows.variables[g].n_states) for g in given]
    for state in product(*states):
        mask = np.ones(rows.n_rows, bool)
        for g, s in zip(given, state, strict=True):
            mask &= rows.column(g) == s
        counts = np.zeros((2, 3))
        np.add.at(counts, (rows.column("x")[mask], rows.column("y")[mask]), 1)
        counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
        if min(counts.shape) > 1:
            total += stats.chi2_contingency(counts, correction=False, lambda_=kind)[0]
            seen += (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return total, 2.0 * 2 ** len(given), seen


@given(values=columns(), given_names=st.sampled_from([[], ["z"], ["z", "w"]]))
def test_statistics_are_the_sums_over_given_states(values, given_names):
    rows = table_of(values)
    for test, kind in (
        (ind.GSquare, "log-likelihood"),
        (ind.PearsonX2, "pearson"),
    ):
        statistic, df, seen = by_hand(rows, kind, given_names)
        plain = ind.test(rows, "x", "y", given_names, by=test())
        adjusted = ind.test(rows, "x", "y", given_names, by=test(adjusted=True))
        assert plain.statistic == pytest.approx(statistic, abs=1e-9)
        assert adjusted.statistic == plain.statistic
        assert (plain.df, adjusted.df) == (df, seen)
        assert plain.p_value == pytest.approx(stats.chi2.sf(statistic, df), abs=1e-12)
        if seen:
            assert adjusted.p_value == pytest.approx(stats.chi2.sf(statistic, seen), abs=1e-12)
        else:
            assert adjusted.p_value == 1.0


@given(values=columns())
def test_shrunk_information_never_exceeds_g_square(values):
    rows = table_of(values)
    shrunk = ind.test(rows, "x", "y", ["z"], by=ind.ShrunkInformation())
    assert shrunk.statistic <= ind.test(rows, "x", "y", ["z"], by=ind.GSquare()).statistic + 1e-9


@given(values=columns(), cut=st.integers(0, 60))
def test_rows_in_parts_and_weights_change_nothing(values, cut):
    rows = table_of(values)
    parts = Batches(rows.schema, [rows.take(slice(0, cut)), rows.take(slice(cut, 60))])
    for test in OF_TABLES:
        one = ind.test(rows, "x", "y", ["z"], by=test)
        two = ind.test(parts, "x", "y", ["z"], by=test)
        three = ind.test(rows.distinct(), "y", "x", ["z"], by=test)
        for other in (two, three):
            assert other.statistic == pytest.approx(one.statistic, rel=1e-9, abs=1e-9)
            assert (other.df, other.n_rows) == (one.df, one.n_rows)


def test_tables_that_are_mostly_empty_give_the_same_numbers(monkeypatch):
    net = cs.random_network(cs.random_dag(list("abcdefg"), n_arcs=8, seed=1), n_states=4, seed=1)
    rows = net.sample(60, seed=1)
    monkeypatch.setattr("consilience.statistics.engines.memory.SMALL_TABLE", 1)
    sparse = ind.test(rows, "a", "b", list("cdefg"), by=ind.GSquare(adjusted=True))
    monkeypatch.undo()
    dense = ind.test(rows, "a", "b", list("cdefg"), by=ind.GSquare(adjusted=True))
    assert sparse.statistic == pytest.approx(dense.statistic)
    assert (sparse.df, sparse.n_rows) == (dense.df, 60)
    assert ind.test(rows, "a", "b", list("cdefg"), by=ind.GSquare()).df == 9 * 4**5


def test_a_batch_gives_what_single_tests_give(monkeypatch):
    rows = cs.random_network(cs.random_dag(list("abcde"), n_arcs=5, seed=1), seed=2).sample(
        300, seed=1
    )
    asked = [("a", "b"), ("a", "c", ["b"]), ("d", "a", ["b", "c"]), ("e", "b", ["c"]), ("c", "b")]
    for size in (1 << 21, 20):
        monkeypatch.setattr(asked_rows, "CELLS_PER_REQUEST", size)
        together = ind.tests(rows, asked, by=ind.GSquare())
        for one, (x, y, *z) in zip(together, asked, strict=True):
            alone = ind.test(rows, x, y, *z, by=ind.GSquare())
            assert one == alone


def test_rows_with_gaps_count_where_they_are_complete():
    rows = cs.read(
        {"x": ["a", "b", None, "a"] * 10, "y": ["a", "b", "b", None] * 10, "z": ["u"] * 40}
    )
    assert ind.test(rows, "x", "y").n_rows == 20
    assert ind.test(rows, "x", "z").n_rows == 30


def test_expected_counts_use_all_rows():
    rows = cs.read({"x": list("aabb") * 30, "y": ["a", "b", "b", None] * 30})
    net = cs.fit(cs.DAG([("x", "y")]), rows, cs.MLE())
    found = ind.test(rows, "x", "y", by=ind.Completed(net, of=ind.GSquare()))
    table = np.array([[30.0, 30.0], [0.0, 60.0]])
    by_scipy = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert found.n_rows == pytest.approx(120)
    assert found.statistic == pytest.approx(by_scipy[0], rel=1e-6)


@pytest.mark.parametrize("test", OF_TABLES, ids=repr)
def test_a_permutation_test_agrees_where_rows_are_many(test):
    rng = np.random.default_rng(4)
    rows = cs.read(
        {"x": rng.integers(0, 3, 800).astype(str), "y": rng.integers(0, 3, 800).astype(str)}
    )
    shuffled = ind.test(rows, "x", "y", by=ind.Permutation(of=test, draws=3000))
    if isinstance(test, ind.ShrunkInformation):
        assert shuffled.p_value < 1
    else:
        assert shuffled.p_value == pytest.approx(
            ind.test(rows, "x", "y", by=test).p_value, abs=0.04
        )


def test_a_permutation_p_value_is_that_of_all_shuffles():
    # x = aabb, y = aabb: of the 6 shuffles 2 are as far from independence; none is farther
    rows = cs.read({"x": list("aabb"), "y": list("aabb")})
    found = ind.test(rows, "x", "y", by=ind.Permutation(draws=20_000, seed=1))
    assert found.p_value == pytest.approx(1 / 6, abs=0.01)


def test_a_permutation_test_depends_on_seed_and_names_only():
    rng = np.random.default_rng(4)
    frame = {name: rng.integers(0, 3, 90).astype(str) for name in "abcd"}
    one, two = cs.read(frame), cs.read({name: frame[name][::-1] for name in "dcba"})
    test = ind.Permutation(draws=200)
    first = ind.tests(one, [("a", "b", ["c"]), ("c", "d")], by=test)
    second = ind.tests(two, [("d", "c"), ("b", "a", ["c"])], by=test)
    assert [one.p_value for one in first] == [two.p_value for two in reversed(second)]
    other = ind.test(one, "a", "b", ["c"], by=ind.Permutation(draws=200, seed=1))
    assert other.p_value != first[0].p_value


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg():
    p = np.random.default_rng(1).random(40) ** 3
    assert bh_adjusted(p) == pytest.approx(stats.false_discovery_control(p))


def test_a_batch_of_tests_is_adjusted_as_a_whole():
    rows = cs.random_network(cs.random_dag(list("abcd"), n_arcs=3, seed=1), seed=2).sample(
        90, seed=1
    )
    asked = [("a", "b"), ("a", "c"), ("a", "d", ["b"])]
    plain = [one.p_value for one in ind.tests(rows, asked, by=ind.PearsonX2())]
    held = ind.tests(rows, asked, by=ind.BenjaminiHochberg(of=ind.PearsonX2()))
    assert [one.p_value for one in held] == pytest.approx(stats.false_discovery_control(plain))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rows: ind.test(rows, "x", "q"), "unknown variable 'q'"),
        (lambda rows: ind.test(rows, "x", "x"), "'x' stands twice"),
        (lambda rows: ind.test(rows, "x", "y", "z"), "given must be a list of names"),
        (lambda rows: ind.test(rows, "x", "y", by="g2"), "by must be a test"),
        (lambda rows: ind.tests(rows, ["xy"]), "a statement is"),
        (lambda rows: ind.GSquare(alpha=0), "alpha must be positive"),
        (lambda rows: ind.PearsonX2(alpha=1.5), "alpha must be below 1"),
        (lambda rows: ind.Permutation(of=ind.ExactT()), "of must be"),
        (lambda rows: ind.Permutation(draws=0), "draws must be a whole number"),
        (lambda rows: ind.Combined(by="tippett"), "by must be 'fisher' or 'stouffer'"),
        (lambda rows: ind.Stratified(of=ind.GSquare), "of must be a test"),
        (lambda rows: ind.BenjaminiHochberg(of=3), "of must be a test"),
        (lambda rows: ind.Completed(3), "network must be a Network"),
    ],
)
def test_what_is_wrong_is_refused(call, words):
    rows = cs.read({"x": list("ab"), "y": list("ab"), "z": list("ab")})
    with pytest.raises((InputError, KeyError), match=words):
        call(rows)


def test_fractions_of_rows_cannot_be_shuffled():
    rows = cs.read({"x": list("ab"), "y": list("ab"), "n": [0.5, 1.5]}, weight="n")
    with pytest.raises(DataError, match="fractional weights"):
        ind.test(rows, "x", "y", by=ind.Permutation())


def test_the_default_is_by_kind_and_source():
    both = cs.read(
        {"x": list("aabb") * 5, "v": [1.0, 2.5, 3.0, 7.5] * 5, "w": [0.5, 1.0, 4.0, 1.5] * 5}
    )
    apart = cs.read(
        {"x": list("aabb") * 5, "y": list("abbb") * 5, "s": list("uv") * 10}, source="s"
    )
    assert isinstance(ind.test(both, "v", "w").test, ind.ExactT)
    assert isinstance(ind.test(both, "v", "x").test, ind.LikelihoodRatio)
    tables = ind.PearsonX2(adjusted=True, corrected=True)
    assert ind.test(apart, "x", "y").test == ind.Stratified(of=tables)
    assert ind.test(apart.pooled(), "x", "y").test == tables


def test_the_corrected_statistic_has_the_mean_of_its_degrees_of_freedom():
    """Over all 2 x 2 tables with given margins, as often as shuffled rows make them."""
    n, of_x, of_y = 40, 15, 20
    a = np.arange(max(0, of_x + of_y - n), min(of_x, of_y) + 1)
    tables = np.stack([a, of_x - a, of_y - a, n - of_x - of_y + a], axis=1).reshape(-1, 1, 2, 2)
    share = stats.hypergeom.pmf(a, n, of_x, of_y)
    plain, corrected = (
        float(share @ one(tables.astype(float))) for one in (g_squares, corrected_g_squares)
    )
    q = 1 + (n / 15 + n / 25 - 1) * (n / 20 + n / 20 - 1) / (6 * n)
    assert plain / corrected == pytest.approx(q)
    assert plain > 1.04
    assert corrected == pytest.approx(1.0, abs=0.003)
    assert share @ corrected_pearson_x2s(tables.astype(float)) == pytest.approx(1.0, abs=1e-12)


def test_many_sources_of_few_rows_make_no_dependence():
    rng = np.random.default_rng(0)
    rows = cs.read(
        {
            f"s{k}": {"x": rng.choice(list("ab"), 5), "y": rng.choice(list("abc"), 5)}
            for k in range(200)
        }
    )
    plain = ind.test(rows, "x", "y", by=ind.Stratified(of=ind.PearsonX2(adjusted=True)))
    assert plain.p_value < 0.01
    assert ind.test(rows, "x", "y").p_value > 0.05


def test_states_that_do_not_occur_change_no_correction():
    rows = cs.read({"x": list("aaabbb") * 4, "y": list("aabbba") * 4})
    wide = cs.read(rows.to_frame(), states={"x": ["a", "b", "never"], "y": ["a", "b"]})
    by = ind.GSquare(adjusted=True, corrected=True)
    one, two = (ind.test(some, "x", "y", by=by) for some in (rows, wide))
    assert (one.statistic, one.df) == (two.statistic, two.df)
    assert one.statistic < ind.test(rows, "x", "y", by=ind.GSquare()).statistic
