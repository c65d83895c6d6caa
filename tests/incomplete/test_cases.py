"""Expected counts, draws and completions of rows with gaps, against brute force."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from gap_tables import expected_by_hand, random_case, row_posteriors
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import ImpossibleEvidenceError
from consilience.inference import case_sets as module
from consilience.inference.cases import Cases
from consilience.inference.completion import completed, completions


def tables_of(net):
    return {name: local.table for name, local in net.tables.items()}


class Found(NamedTuple):
    counts: dict[str, np.ndarray]
    log_likelihood: float


def expected(cases, tables):
    found = cases.expect(cases.layout.flatten(tables))
    return Found(cases.layout.split(found.counts), found.log_likelihood)


def drawn(cases, tables, rng):
    return cases.layout.split(cases.draw(cases.layout.flatten(tables), rng).counts)


@pytest.fixture(params=["enumerated", "tree"])
def route(request, monkeypatch):
    """All hidden sets are enumerated, or all go through the junction tree."""
    if request.param == "tree":
        monkeypatch.setattr(module, "MOST_JOINT_STATES", 0)
    return request.param


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("route")
def test_expected_counts_are_those_over_all_completions(seed):
    net, table = random_case(seed)
    counts, log_likelihood = expected_by_hand(net, table)
    found = expected(Cases.of(net, table), tables_of(net))
    # Posteriors and log probabilities are rounded to 2^-36, 1.5e-11, in each of a few cases.
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=2e-10)
    for name, by_hand in counts.items():
        np.testing.assert_allclose(found.counts[name], by_hand, atol=2e-10)


def test_tables_need_not_be_normalised(route):
    """As in variational Bayes: scaled tables scale the likelihood of every row alike."""
    net, table = random_case(7, max_nodes=4)
    known = table.take(
        np.flatnonzero(np.all([table.column(name) >= 0 for name in net.variables], axis=0))
    )
    table = table if known.n_rows == 0 else known
    cases = Cases.of(net, table)
    scaled = {name: 0.5 * one for name, one in tables_of(net).items()}
    plain, half = expected(cases, tables_of(net)), expected(cases, scaled)
    n_factors = sum(one.sum() for one in plain.counts.values())
    assert half.log_likelihood == pytest.approx(plain.log_likelihood + n_factors * np.log(0.5))


def test_a_leaf_that_is_missing_counts_nowhere():
    net = cs.random_network(cs.DAG([("class", "sign")]), n_states=2, seed=1)
    (a, b), (no, yes) = net.variables["class"].states, net.variables["sign"].states
    table = cs.read({"class": [a, b, a], "sign": [no, yes, None]}, schema=net.variables)
    found = expected(Cases.of(net, table), tables_of(net)).counts
    assert found["sign"].sum() == 2
    assert found["class"].tolist() == [2, 1]


def test_a_row_of_weight_two_is_two_rows(route):
    net, table = random_case(11)
    twice = cs.Table(table.schema, table.columns, weights=np.full(table.n_rows, 2, np.int64))
    both = table.take(np.repeat(np.arange(table.n_rows), 2))
    one = expected(Cases.of(net, twice), tables_of(net))
    two = expected(Cases.of(net, both), tables_of(net))
    assert one.log_likelihood == pytest.approx(two.log_likelihood, rel=1e-12)
    for name, counts in one.counts.items():
        np.testing.assert_allclose(counts, two.counts[name], atol=1e-10)


def test_many_features_do_not_underflow():
    names = [f"x{i}" for i in range(1200)]
    dag = cs.DAG([("class", name) for name in names])
    net = cs.random_network(dag, n_states=3, seed=1)
    table = cs.Table(
        cs.Schema(net.variables),
        {
            name: np.full(5, -1, np.int8) if name == "class" else column
            for name, column in net.sample(5, seed=2).columns.items()
        },
    )
    found = expected(Cases.of(net, table), tables_of(net))
    assert found.log_likelihood == pytest.approx(net.log_likelihood(table).sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_draws_are_the_expected_counts_on_average(seed, route):
    net, table = random_case(seed, n_rows=12)
    cases, rng = Cases.of(net, table), np.random.default_rng(1)
    mean_counts = expected(cases, tables_of(net)).counts
    many = [drawn(cases, tables_of(net), rng) for _ in range(500)]
    for name, counts in mean_counts.items():
        mean = np.mean([one[name] for one in many], axis=0)
        # A count of 12 rows has a variance of 3 at most: six standard errors.
        np.testing.assert_allclose(mean, counts, atol=6 * np.sqrt(3 / 500))
        np.testing.assert_allclose([one[name].sum() for one in many], counts.sum())


@pytest.mark.parametrize("seed", range(15))
def test_the_most_probable_completion_of_each_row(seed):
    net, table = random_case(seed)
    filled = completed(net, table)
    for i, weighed in enumerate(row_posteriors(net, table)):
        states = tuple(int(filled[name][i]) for name in net.variables)
        assert weighed[states] == pytest.approx(max(weighed.values()), rel=1e-12)


def test_rows_without_gaps_are_their_own_completion():
    net = cs.random_network(cs.DAG([("a", "b")]), n_states=2, seed=1)
    rows = net.sample(50, seed=1)
    for rng in (None, np.random.default_rng(1)):
        filled = completed(net, rows, rng)
        assert all(np.array_equal(filled[name], rows.column(name)) for name in "ab")


def test_random_completions_follow_the_posterior_of_the_row():
    net, table = random_case(3, n_rows=1)
    rng, [weighed] = np.random.default_rng(5), row_posteriors(net, table)
    total, found = sum(weighed.values()), dict.fromkeys(weighed, 0)
    for _ in range(3000):
        filled = completed(net, table, rng)
        found[tuple(int(filled[name][0]) for name in net.variables)] += 1
    for states, weight in weighed.items():
        assert found[states] / 3000 == pytest.approx(weight / total, abs=0.05)


@pytest.mark.parametrize("seed", range(15))
def test_soft_completions_are_all_completions_with_their_weights(seed):
    net, table = random_case(seed, n_rows=8)
    found = completions(net, table, 1e-12)
    assert found.shares.sum() == pytest.approx(table.n_rows)
    wanted = {}
    for weighed in row_posteriors(net, table):
        for states, weight in weighed.items():
            wanted[states] = wanted.get(states, 0.0) + weight / sum(weighed.values())
    collected = {}
    for k, weight in enumerate(found.shares):
        states = tuple(int(found.codes[name][k]) for name in net.variables)
        collected[states] = collected.get(states, 0.0) + weight
    assert collected == pytest.approx({k: v for k, v in wanted.items() if v > 0}, abs=1e-9)


def test_rare_completions_are_cut_and_the_others_scaled_up():
    net = cs.Network.of([cs.Categorical(cs.Variable("x", ("a", "b")), (), [0.999, 0.001])])
    table = cs.read({"x": [None, "b"]}, schema=net.variables)
    found = completions(net, table, 0.01)
    assert dict(zip(found.codes["x"].tolist(), found.shares.tolist(), strict=True)) == {
        1: 1.0,
        0: 1.0,
    }


@given(seed=st.integers(0, 10_000))
def test_the_order_of_rows_does_not_matter(seed):
    net, table = random_case(seed, n_rows=20)
    order = np.random.default_rng(seed).permutation(20)
    one = expected(Cases.of(net, table), tables_of(net))
    two = expected(Cases.of(net, table.take(order)), tables_of(net))
    for name, counts in one.counts.items():
        np.testing.assert_allclose(counts, two.counts[name], atol=1e-10)


def test_a_table_without_gaps_and_one_without_rows_are_counted():
    net = cs.random_network(cs.DAG([("a", "b")]), n_states=2, seed=1)
    rows = net.sample(50, seed=1)
    counts = expected(Cases.of(net, rows), tables_of(net)).counts
    assert counts["b"].sum() == 50
    nothing = expected(Cases.of(net, rows.take([])), tables_of(net))
    assert nothing.counts["b"].sum() == 0
    assert nothing.log_likelihood == 0


def test_an_impossible_row_has_minus_infinity_and_cannot_be_drawn():
    x, y = cs.Variable("x", ("a", "b")), cs.Variable("y", ("a", "b"))
    net = cs.Network.of(
        [cs.Categorical(x, (), [0.5, 0.5]), cs.Categorical(y, (x,), [[1, 0], [1, 0]])]
    )
    table = cs.read({"x": [None, None], "y": ["a", "b"]}, schema=net.variables)
    cases = Cases.of(net, table)
    assert expected(cases, tables_of(net)).log_likelihood == -np.inf
    with pytest.raises(ImpossibleEvidenceError, match="probability zero"):
        drawn(cases, tables_of(net), np.random.default_rng(1))
    with pytest.raises(ImpossibleEvidenceError, match="row 2 has probability zero"):
        completed(net, table)
