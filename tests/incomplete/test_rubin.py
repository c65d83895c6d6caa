from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import consilience as cs
from consilience.errors import InputError, ModelError


def test_the_rules_by_hand():
    pooled = cs.fusion.pool_answers([4.0, 5.0, 6.0], [0.5, 0.7, 0.6])
    total = 0.6 + 4 / 3
    share = (4 / 3) / total
    degrees = 2 / share**2
    half = np.sqrt(total) * stats.t.ppf(0.975, degrees)
    ratio = (4 / 3) / 0.6
    assert float(pooled.estimate) == 5.0
    assert float(pooled.within) == pytest.approx(0.6)
    assert float(pooled.between) == pytest.approx(1.0)
    assert float(pooled.total) == pytest.approx(total)
    assert float(pooled.degrees_of_freedom) == pytest.approx(degrees)
    assert (float(pooled.low), float(pooled.high)) == pytest.approx((5 - half, 5 + half))
    lost = (ratio + 2 / (degrees + 3)) / (ratio + 1)
    assert float(pooled.missing_information) == pytest.approx(lost)


def test_degrees_of_freedom_of_a_small_complete_table_are_those_of_barnard_and_rubin():
    pooled = cs.fusion.pool_answers([1.0, 2.0, 3.0, 4.0], [2.0] * 4, degrees_of_freedom=20)
    share = 1.25 * (5 / 3) / (2 + 1.25 * (5 / 3))
    observed = 21 / 23 * 20 * (1 - share)
    wanted = 1 / (share**2 / 3 + 1 / observed)
    assert float(pooled.degrees_of_freedom) == pytest.approx(wanted)
    assert wanted < 20


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8), st.floats(0.01, 5))
def test_the_total_is_never_less_than_what_a_complete_table_leaves(answers, variance):
    pooled = cs.fusion.pool_answers(answers, [variance] * len(answers))
    assert pooled.total >= pooled.within - 1e-12
    assert 0 <= pooled.missing_information <= 1
    assert pooled.low <= pooled.estimate <= pooled.high


def test_answers_that_agree_have_lost_nothing():
    pooled = cs.fusion.pool_answers([0.5] * 5, [0.04] * 5)
    assert float(pooled.missing_information) == 0.0
    assert float(pooled.degrees_of_freedom) == np.inf
    assert float(pooled.high) == pytest.approx(0.5 + 0.2 * stats.norm.ppf(0.975))


def test_answers_that_all_but_agree_have_no_end_of_degrees_of_freedom():
    pooled = cs.fusion.pool_answers([0.0, 5.684947418529393e-79], [1.0, 1.0])
    assert np.isinf(pooled.degrees_of_freedom)
    assert pooled.high == pytest.approx(1.959964)


def test_certain_answers_have_an_interval_of_length_zero():
    pooled = cs.fusion.pool_answers([1.0, 1.0], [0.0, 0.0])
    assert (float(pooled.low), float(pooled.high)) == (1.0, 1.0)


@pytest.mark.parametrize("complete", [None, 10.0])
def test_answers_that_vary_between_tables_only_have_one_degree_of_freedom_less(complete):
    pooled = cs.fusion.pool_answers([0.0, 1.0, 2.0], [0.0] * 3, degrees_of_freedom=complete)
    half = np.sqrt(4 / 3) * stats.t.ppf(0.975, 2)
    assert float(pooled.degrees_of_freedom) == pytest.approx(2)
    assert (float(pooled.low), float(pooled.high)) == pytest.approx((1 - half, 1 + half))


@given(st.floats(-18, 0).map(lambda power: 10**power), st.floats(0.5, 50))
def test_intervals_are_finite_however_little_varies_within(variance, complete):
    pooled = cs.fusion.pool_answers([0.0, 1.0, 2.0], [variance] * 3, degrees_of_freedom=complete)
    least, most = min(1.0, complete), 2 * (pooled.total / pooled.between / (4 / 3)) ** 2
    assert least - 1e-12 <= pooled.degrees_of_freedom <= most + 1e-12
    half = np.sqrt(pooled.total) * stats.t.ppf(0.975, least)
    assert 1 < pooled.high <= 1 + half * (1 + 1e-9)


def test_arrays_are_pooled_entry_by_entry():
    answers, variances = np.array([[1.0, 5.0], [2.0, 5.0]]), np.ones((2, 2))
    both = cs.fusion.pool_answers(answers, variances)
    first = cs.fusion.pool_answers(answers[:, 0], variances[:, 0])
    assert both.low[0] == pytest.approx(first.low)
    assert str(both) == "PooledAnswer((2,), 2 tables)"


@pytest.mark.parametrize(
    ("answers", "variances", "said"),
    [
        ([1.0], [1.0], "at least two"),
        ([1.0, 2.0], [1.0], "shapes"),
        ([1, 2], [1, -1], "zero"),
        (["a", "b"], [1, 1], r"answers must be numbers, .* got \['a', 'b'\]"),
        ([1, 2], ["1", "1"], "variances must be numbers"),
        ([[1.0], [1.0, 2.0]], [1, 1], "answers must be numbers, or arrays of one shape"),
        (None, [1, 1], "answers must be numbers, .* got None"),
    ],
)
def test_what_cannot_be_pooled_is_refused(answers, variances, said):
    with pytest.raises(InputError, match=said):
        cs.fusion.pool_answers(answers, variances)


def test_a_query_of_complete_tables_has_the_variance_of_its_posterior():
    rows = cs.read({"x": ["a"] * 30 + ["b"] * 10})
    net = cs.fit(cs.DAG(nodes=["x"]), rows, cs.Dirichlet(per_cell=1))
    pooled = cs.fusion.pool_queries([net, net], lambda one: one.query("x"), n_draws=1000, seed=1)
    assert pooled.estimate == pytest.approx(net["x"].table)
    exact = stats.beta(31, 11).var()
    assert pooled.within == pytest.approx([exact, exact], rel=0.15)
    assert pooled.missing_information == pytest.approx([0, 0])


def test_networks_without_a_posterior_are_refused():
    rows = cs.read({"x": ["a", "b"]})
    net = cs.fit(cs.DAG(nodes=["x"]), rows, cs.MLE())
    with pytest.raises(ModelError, match="no posterior"):
        cs.fusion.pool_queries([net, net], lambda one: one.query("x"))
    with pytest.raises(InputError, match="must be Networks"):
        cs.fusion.pool_queries([1, 2], lambda one: one)  # type: ignore[list-item]


FITTED = cs.fit(cs.DAG(nodes=["x"]), cs.read({"x": ["a", "b"]}))


@pytest.mark.parametrize("level", ["x", 2, None, 1.0], ids=repr)
def test_the_level_of_an_interval_is_a_number_between_zero_and_one(level):
    with pytest.raises(InputError, match=r"^pool_answers: level must lie between 0 and 1, got"):
        cs.fusion.pool_answers([1.0, 2.0], [1.0, 1.0], level=level)
    with pytest.raises(InputError, match=r"^pool_queries: level must lie between 0 and 1, got"):
        cs.fusion.pool_queries([FITTED, FITTED], lambda net: net.query("x"), level=level)


@pytest.mark.parametrize(
    ("networks", "said"),
    [(FITTED, "a single one"), ([FITTED], "1"), ([], "0"), (5, "5"), ("ab", "a str")],
    ids=["network", "one", "none", "number", "text"],
)
def test_queries_are_pooled_over_several_networks(networks, said):
    with pytest.raises(InputError, match=rf"at least two completed tables, got {said}\.$"):
        cs.fusion.pool_queries(networks, lambda net: net.query("x"))


def test_networks_may_come_one_by_one():
    pooled = cs.fusion.pool_queries(iter([FITTED, FITTED]), lambda net: net.query("x"), seed=1)
    assert pooled.n_tables == 2


def test_a_question_is_a_function():
    with pytest.raises(InputError, match="ask must be a function that takes a network, got 'ill'"):
        cs.fusion.pool_queries([FITTED, FITTED], "ill")


@pytest.mark.parametrize(
    "answer", ["0.5", {"a": 0.5}, None, [[1.0], [1.0, 2.0]]], ids=["text", "dict", "none", "ragged"]
)
def test_an_answer_is_made_of_numbers(answer):
    with pytest.raises(InputError, match="ask must give a number, an array of numbers or a Factor"):
        cs.fusion.pool_queries([FITTED, FITTED], lambda _: answer)


def test_answers_have_one_shape():
    lengths = iter(range(1, 1000))
    with pytest.raises(InputError, match=r"answers of one shape, got the shapes \(1,\) and \(2,\)"):
        cs.fusion.pool_queries([FITTED, FITTED], lambda _: np.ones(next(lengths)))
