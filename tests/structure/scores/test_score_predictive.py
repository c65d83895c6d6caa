"""Scores by prediction against the average over every split of the rows."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from score_data import STATES, read, rows_of

import consilience as cs
from consilience.kernels.scoring import MANY, expected_predictions

GRAPH = cs.DAG.parse("[a][b|a][c|a:b]")
STATES_OF_PER_FAMILY = {"a": (2, ()), "b": (3, ("a",)), "c": (2, ("a", "b"))}


def log_probability(row, training, ess):
    """Log-likelihood of a row under the posterior means from other rows."""
    total = 0.0
    for child, (r, parents) in STATES_OF_PER_FAMILY.items():
        q = math.prod(len(STATES[name]) for name in parents)
        alike = [other for other in training if all(other[p] == row[p] for p in parents)]
        n = sum(other[child] == row[child] for other in alike)
        total += math.log((n + ess / (q * r)) / (len(alike) + ess / q))
    return total


def split_score(rows, fold, ess):
    """Log-likelihood of all rows, each from the rows of the other folds."""
    total = 0.0
    for row, mine in zip(rows, fold, strict=True):
        training = [other for other, theirs in zip(rows, fold, strict=True) if theirs != mine]
        total += log_probability(row, training, ess)
    return total


def as_rows(columns):
    return [
        dict(zip("abc", row, strict=True)) for row in zip(*map(columns.get, "abc"), strict=True)
    ]


@pytest.mark.parametrize(("folds", "n_rows"), [(2, 8), (3, 6), (5, 4)])
def test_cross_validation_is_the_mean_over_all_ways_to_fill_the_folds(folds, n_rows):
    columns = rows_of(n_rows, seed=4)
    rows = as_rows(columns)
    splits = list(product(range(folds), repeat=n_rows))
    mean = math.fsum(split_score(rows, fold, 2.0) for fold in splits) / len(splits)
    found = cs.score(GRAPH, read(columns), cs.scores.CrossValidated(folds, ess=2.0))
    assert found == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_held_out_is_the_mean_over_all_ways_to_hold_out(share):
    columns = rows_of(8, seed=5)
    rows, mean = as_rows(columns), 0.0
    for held_out in product([True, False], repeat=8):
        weight = math.prod(share if one else 1 - share for one in held_out)
        training = [row for row, out in zip(rows, held_out, strict=True) if not out]
        mean += weight * sum(
            log_probability(row, training, 1.0)
            for row, out in zip(rows, held_out, strict=True)
            if out
        )
    found = cs.score(GRAPH, read(columns), cs.scores.HeldOut(share))
    assert found == pytest.approx(mean, rel=1e-12)


def test_very_many_folds_leave_one_row_out():
    columns = rows_of(50)
    rows = as_rows(columns)
    left_out = sum(
        log_probability(row, rows[:i] + rows[i + 1 :], 1.0) for i, row in enumerate(rows)
    )
    found = cs.score(GRAPH, read(columns), cs.scores.CrossValidated(10**12))
    assert found == pytest.approx(left_out, rel=1e-9)


@pytest.mark.parametrize("folds", [2, 10, 10**6])
def test_with_many_rows_a_parameter_costs_what_it_costs_aic_and_more_with_fewer_folds(folds):
    table = cs.read({"x": ["a"] * 40 + ["b"] * 60, "n": [100_000] * 100}, weight="n")
    dag = cs.DAG(nodes=["x"])
    cost = cs.score(dag, table, cs.scores.LogLikelihood()) - cs.score(
        dag, table, cs.scores.CrossValidated(folds)
    )
    assert cost == pytest.approx(0.5 * (1 + 1 / (1 - 1 / folds)), abs=1e-5)


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, math.nan])
def test_a_share_lies_between_nothing_and_all(share):
    with pytest.raises(ValueError, match="HeldOut: share must be"):
        cs.scores.HeldOut(share)


@pytest.mark.parametrize("folds", [0, 1, 2.5])
def test_there_are_two_folds_at_least(folds):
    with pytest.raises(ValueError, match="CrossValidated: folds must be a whole number"):
        cs.scores.CrossValidated(folds)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("a", [1e-9, 0.5, 40.0])
@pytest.mark.parametrize("mean", [0.5, 1.01, 3.0])
def test_expected_logs_are_binomial_sums_for_few_rows_and_many(share, a, mean):
    n = int(mean * MANY / share) + 2
    k, found = np.arange(n + 1), np.empty(1)
    expected = binom.pmf(k, n, share) @ (np.log(a + k) - np.log(2 * a + k))
    table, shapes = np.array([n + 1, 0]), np.array([[1, 1, 2, 1]])
    expected_predictions(table, shapes, np.array([a]), share, 1 - share, found)
    assert found[0] / (n + 1) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("folds", [2, 10, 1000, 20_000])
@pytest.mark.parametrize("rows", [(2, 1), (2, 2), (37, 5), (12_000, 9)])
def test_few_rows_in_many_folds_are_binomial_sums(folds, rows):
    table = cs.read({"x": ["a", "b"], "n": rows}, weight="n")

    def expected_log(a, n):
        k = np.arange(n + 1)
        return binom.pmf(n - k, n, 1 / folds) @ np.log(a + k)

    expected = sum(n * (expected_log(0.5, n - 1) - expected_log(1.0, sum(rows) - 1)) for n in rows)
    digits = 2e-15 * sum(rows) * np.log(sum(rows))  # sums of this size cancel
    found = cs.score(cs.DAG(nodes=["x"]), table, cs.scores.CrossValidated(folds))
    assert found == pytest.approx(expected, rel=1e-12, abs=digits)
    held_out = cs.score(cs.DAG(nodes=["x"]), table, cs.scores.HeldOut(1 / folds))
    assert held_out == pytest.approx(expected / folds, rel=1e-12, abs=digits / folds)


@pytest.mark.parametrize("folds", [10**17, 10**400])
def test_folds_whose_share_rounds_to_nothing_are_refused(folds):
    with pytest.raises(ValueError, match=r"CrossValidated: with folds=10+ the share of the other"):
        cs.scores.CrossValidated(folds)
    cs.scores.CrossValidated(10**15)


def test_a_share_whose_rest_rounds_to_all_is_refused():
    with pytest.raises(ValueError, match="HeldOut: share=1e-17 is so small"):
        cs.scores.HeldOut(1e-17)
    table = cs.read({"x": ["a", "a", "b"]})
    assert math.isfinite(cs.score(cs.DAG(nodes=["x"]), table, cs.scores.HeldOut(1e-15)))
