"""Bayesian-Dirichlet scores against one-step predictions and a plain twin of their loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import gammaln
from score_data import STATES, prior_network, read, rows_of

import consilience as cs
from consilience.distributions.categorical import Categorical
from consilience.network.network import Network

FAMILY = cs.Family("c", ("a", "b"))
SHAPE = (2, 3, 2)


def predictions(rows, prior):
    """Log probability of the child's column, each row predicted from those before it."""
    seen, total = np.zeros(SHAPE), 0.0
    for a, b, c in zip(rows["a"], rows["b"], rows["c"], strict=True):
        cell = int(a), int(b), int(c)
        sizes = (seen + prior)[cell[:2]]
        total += math.log(sizes[cell[2]] / sizes.sum())
        seen[cell] += 1
    return total


def seen_only(rows, ess):
    """The prior of BDs: nothing where no row has the parent state, but never used there."""
    pairs = set(zip(rows["a"], rows["b"], strict=True))
    return np.full(SHAPE, ess / (2 * len(pairs)))


PRIORS = {
    cs.scores.K2(): lambda rows: np.ones(SHAPE),
    cs.scores.BDJ(): lambda rows: np.full(SHAPE, 0.5),
    cs.BDeu(ess=3): lambda rows: np.full(SHAPE, 3 / 12),
    cs.scores.BDs(ess=3): lambda rows: seen_only(rows, 3),
    cs.scores.BDe(prior_network(), ess=3): lambda rows: (
        3 * prior_network().query(["a", "b", "c"]).values
    ),
}


@pytest.mark.parametrize(("score", "prior"), PRIORS.items(), ids=lambda one: type(one).__name__)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 40))
@settings(max_examples=12)
def test_the_evidence_is_the_product_of_one_step_predictions_in_any_order(
    score, prior, seed, n_rows
):
    rows = rows_of(n_rows, seed)
    order = np.random.default_rng(seed).permutation(n_rows)
    turned = {name: column[order] for name, column in rows.items()}
    (found,) = score.local(cs.count(read(rows), FAMILY))
    assert found == pytest.approx(predictions(rows, prior(rows)), rel=1e-9, abs=1e-9)
    assert found == pytest.approx(predictions(turned, prior(rows)), rel=1e-9, abs=1e-9)


def test_large_counts_agree_with_a_plain_twin():
    rng = np.random.default_rng(1)
    rows = rows_of(300) | {"n": rng.integers(0, 10**9, 300)}
    (counts,) = cs.count(read(rows, weight="n"), FAMILY)
    n, a = counts.values[0], 10 / 12
    twin = (gammaln(2 * a) - gammaln(2 * a + n.sum(axis=1))).sum()
    twin += (gammaln(a + n) - gammaln(a)).sum()
    assert cs.BDeu(ess=10).local([counts])[0] == pytest.approx(twin, rel=1e-12)


def test_fractional_weights_are_fractions_of_rows():
    rows = rows_of(80) | {"n": np.full(80, 0.25)}
    (counts,) = cs.count(read(rows, weight="n"), FAMILY)
    n = counts.values[0]
    twin = (gammaln(2) - gammaln(2 + n.sum(axis=1)) + gammaln(1 + n).sum(axis=1)).sum()
    assert cs.scores.K2().local([counts])[0] == pytest.approx(twin, rel=1e-12)


def test_bds_is_bdeu_where_every_parent_state_was_seen():
    rows = {name: np.tile(column, 5) for name, column in rows_of(40).items()}
    rows["b"] = np.array(["0", "1", "2", "1"] * 50)
    counts = cs.count(read(rows), [cs.Family("c", ("b",)), cs.Family("a")])
    np.testing.assert_array_equal(cs.scores.BDs(3.0).local(counts), cs.BDeu(3.0).local(counts))


def test_a_uniform_prior_network_gives_bdeu():
    table = read(rows_of(100))
    uniform = Network.of(
        [
            Categorical(one, (), np.full(one.n_states, 1 / one.n_states))
            for one in table.variables.values()
        ]
    )
    for graph in ("[a][b|a][c|a:b]", "[a|b:c][b|c][c]"):
        dag = cs.DAG.parse(graph)
        found = cs.score(dag, table, cs.scores.BDe(uniform, ess=5))
        assert found == pytest.approx(cs.score(dag, table, cs.BDeu(ess=5)), rel=1e-12)


def test_the_states_of_a_prior_network_may_stand_in_another_order():
    rows, score = rows_of(), cs.scores.BDe(prior_network(), ess=4)
    turned = {name: states[::-1] for name, states in STATES.items()}
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    assert cs.score(dag, read(rows, turned), score) == pytest.approx(
        cs.score(dag, read(rows), score), rel=1e-12
    )


def test_a_prior_network_must_know_the_variables():
    other = cs.random_network(cs.DAG(nodes=["a", "b"]), n_states={"a": 2, "b": 3}, seed=1)
    with pytest.raises(KeyError, match="'c'"):
        cs.score(cs.DAG.parse("[a][b|a][c|a:b]"), read(rows_of()), cs.scores.BDe(other))


def test_a_prior_must_be_a_network():
    with pytest.raises(ValueError, match="BDe: network must be a Network, got a DAG"):
        cs.scores.BDe(cs.DAG(nodes=["a"]))


@pytest.mark.parametrize(
    "score", [cs.BDeu, cs.scores.BDs, lambda ess: cs.scores.BDe(prior_network(), ess)]
)
@pytest.mark.parametrize("ess", [0, -1.0, math.inf, math.nan, "1", True])
def test_the_size_of_a_prior_is_positive(score, ess):
    with pytest.raises(ValueError, match=r"BD(eu|s|e): ess must be positive"):
        score(ess)
