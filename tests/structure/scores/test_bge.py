"""The Bayesian score of Gaussian networks: the evidence as a product of predictions, and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import gammaln
from scipy.stats import multivariate_t

import consilience as cs
from consilience.errors import InputError

COMPLETE = cs.DAG.parse("[x][y|x][z|x:y]")


def rows_of(n_rows, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, 3))
    return values - values.mean(axis=0)


def predicted(values, ess, freedom):
    """Log evidence of the complete graph: each row's Student density given those before it.

    The prior mean is the mean of the rows, here zero.
    """
    d = values.shape[1]
    weight, free = ess, d + freedom
    center, scale = np.zeros(d), ess * (freedom - 1) / (ess + 1) * np.eye(d)
    total = 0.0
    for row in values:
        df = free - d + 1
        shape = scale * (weight + 1) / (weight * df)
        total += multivariate_t.logpdf(row, center, shape, df)
        gap = row - center
        scale = scale + weight / (weight + 1) * np.outer(gap, gap)
        center = center + gap / (weight + 1)
        weight, free = weight + 1, free + 1
    return total


@given(
    seed=st.integers(0, 1000),
    n_rows=st.integers(2, 30),
    ess=st.floats(0.2, 10),
    freedom=st.floats(1.1, 8),
)
def test_the_evidence_of_a_complete_graph_is_the_product_of_predictions(seed, n_rows, ess, freedom):
    values = rows_of(n_rows, seed)
    columns = {name: values[:, i] for i, name in enumerate("xyz")}
    found = cs.score(
        COMPLETE, cs.read(columns, continuous=list("xyz")), cs.scores.BGe(ess, freedom)
    )
    assert found == pytest.approx(predicted(values, ess, freedom), rel=1e-8, abs=1e-8)


def test_a_single_variable_by_hand():
    values, t = np.array([1.0, 3.0]), 0.5
    expected = 0.5 * np.log(1 / 3) - np.log(np.pi) + gammaln(2.5) - gammaln(1.5)
    expected += 1.5 * np.log(t) - 2.5 * np.log(t + ((values - 2) ** 2).sum())
    table = cs.read({"x": values}, continuous=["x"])
    assert cs.score(cs.DAG(nodes=["x"]), table, cs.scores.BGe()) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize("wrong", [{"ess": 0.0}, {"freedom": 1.0}, {"freedom": -2.0}], ids=str)
def test_priors_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match=f"BGe: {next(iter(wrong))} must be"):
        cs.scores.BGe(**wrong)


def test_tables_and_discrete_parents_are_refused_by_name():
    values = rows_of(20, 0)
    table = cs.read({"x": values[:, 0], "y": values[:, 1], "g": list("ab") * 10})
    prior = cs.scores.UniformPrior()
    with pytest.raises(InputError, match=r"the family of 'g' has a discrete variable"):
        cs.score(
            cs.DAG([("g", "x")]), table.select(["x", "g"]), cs.scores.MAP(cs.scores.BGe(), prior)
        )
    with pytest.raises(InputError, match=r"BGe judges continuous .*'g'.*BIC"):
        cs.score(cs.DAG(nodes=["g"]), table, cs.scores.BGe())
    with pytest.raises(InputError, match="BGe judges continuous"):
        cs.learn(table, score=cs.scores.BGe())


def test_more_freedom_and_more_prior_rows_change_the_answer():
    values = rows_of(20, 0)
    table = cs.read({name: values[:, i] for i, name in enumerate("xyz")})
    found = {
        cs.score(COMPLETE, table, one)
        for one in (cs.scores.BGe(), cs.scores.BGe(ess=2), cs.scores.BGe(freedom=3))
    }
    assert len(found) == 3
