"""Normalised maximum likelihood: exact normalisers against sums over all data sets."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from score_data import read, rows_of

import consilience as cs
from consilience.kernels.scoring import log_normalizer
from consilience.structure.scores.nml import SMALL, _pairs


def log_c(n, r):
    return log_normalizer(n, float(r), _pairs())


def exact(n, r):
    """C(n, r) as a fraction, by splitting the states into the first and the others."""
    before = [Fraction(1)] * (n + 1)
    for _ in range(r - 1):
        before = [
            sum(
                math.comb(m, k) * Fraction(k**k * (m - k) ** (m - k), m**m or 1) * before[m - k]
                for k in range(m + 1)
            )
            for m in range(n + 1)
        ]
    return before[n]


def log_of(fraction):
    return math.log(fraction.numerator) - math.log(fraction.denominator)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 12])
@pytest.mark.parametrize("r", [1, 2, 3, 4, 9, 30])
def test_normalizers_are_sums_over_all_data_sets(n, r):
    assert log_c(n, r) == pytest.approx(log_of(exact(n, r)), rel=1e-13, abs=1e-14)


def test_the_sums_of_one_state_against_all_others_are_right():
    counts = [one for one in product(range(6), repeat=3) if sum(one) == 5]
    total = sum(
        math.factorial(5)
        / math.prod(map(math.factorial, one))
        * math.prod((k / 5) ** k for k in one)
        for one in counts
    )
    assert float(exact(5, 3)) == pytest.approx(total, rel=1e-14)


@pytest.mark.parametrize("n", [SMALL - 1, SMALL, SMALL + 1, 20_000, 300_000])
def test_the_series_for_two_states_is_as_exact_as_the_sum(n):
    term, terms = 1.0, [1.0]
    for k in range(n):
        term *= (n - k) / n
        terms.append(term)
    assert log_c(n, 2) == pytest.approx(math.log(math.fsum(terms)), rel=1e-14)


@pytest.mark.parametrize(("n", "r"), [(50, 49), (50, 51), (1000, 1001), (3000, 2990)])
def test_both_ways_to_a_normalizer_meet(n, r):
    log_terms = [0.0]
    for k in range(n):
        log_terms.append(log_terms[-1] + math.log((n - k) / n) + math.log((r - 1 + k) / (k + 1)))
    top = max(log_terms)
    twin = top + math.log(math.fsum(math.exp(one - top) for one in log_terms))
    assert log_c(n, r) == pytest.approx(twin, rel=1e-12)


def test_a_normalizer_of_more_states_than_numbers_can_count_is_finite():
    # with many more states than rows nearly every data set has each state once at most
    assert log_c(40, 1e30) == pytest.approx(
        math.lgamma(41) + 40 * math.log(1e30 / 40) - math.lgamma(41), rel=1e-9
    )
    assert log_c(10**6, 10**5) > 0


@pytest.mark.parametrize("score", [cs.scores.FNML(), cs.scores.QNML()], ids=repr)
def test_probabilities_of_all_columns_sum_to_one_for_a_variable_alone(score):
    columns = product("ab", repeat=6)
    tables = [cs.read({"x": list(one)}, states={"x": ["a", "b"]}) for one in columns]
    scores = [cs.score(cs.DAG(nodes=["x"]), table, score) for table in tables]
    assert math.fsum(map(math.exp, scores)) == pytest.approx(1, rel=1e-12)


def test_factorised_probabilities_of_the_child_sum_to_one_whatever_the_parent():
    parent = list("pqqpq")
    tables = [
        cs.read({"u": parent, "x": list(one)}, states={"x": ["a", "b", "c"]})
        for one in product("abc", repeat=5)
    ]
    family = cs.Family("x", ("u",))
    found = [cs.scores.FNML().local(cs.count(table, family))[0] for table in tables]
    assert math.fsum(map(math.exp, found)) == pytest.approx(1, rel=1e-12)


def test_the_quotient_is_that_of_joint_and_parents():
    rows = rows_of(90)
    joint = ["".join(row) for row in zip(*map(rows.get, "abc"), strict=True)]
    states = ["".join(one) for one in product("01", "012", "01")]
    flat = cs.read(
        {"joint": joint, "parents": [one[:2] for one in joint]},
        states={"joint": states, "parents": sorted({one[:2] for one in states})},
    )
    alone = cs.node_scores(cs.DAG(nodes=["joint", "parents"]), flat, cs.scores.QNML())
    (found,) = cs.scores.QNML().local(cs.count(read(rows), cs.Family("c", ("a", "b"))))
    assert found == pytest.approx(alone["joint"] - alone["parents"], rel=1e-12)
