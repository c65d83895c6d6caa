"""Scores that weigh the likelihood against the number of parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from score_data import read, rows_of

import consilience as cs

GRAPHS = ["[a][b][c]", "[a][b|a][c]", "[a][b|a][c|b]", "[a][b|a][c|a:b]"]


def local(table, score, child, *parents):
    return float(score.local(cs.count(table, cs.Family(child, parents)))[0])


def information(table, child, parents):
    """Mutual information of a child and its parents, from the table of shares."""
    (counts,) = cs.count(table, cs.Family(child, parents))
    shares = counts.values[0] / table.n_rows
    outer = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    filled = shares > 0
    return float((shares[filled] * np.log(shares[filled] / outer[filled])).sum())


def entropy(table, name):
    (counts,) = cs.count(table, cs.Family(name))
    shares = counts.values[counts.values > 0] / table.n_rows
    return -float((shares * np.log(shares)).sum())


@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 80))
def test_the_likelihood_never_falls_when_an_arc_is_added(seed, n_rows):
    table = read(rows_of(n_rows, seed))
    found = [cs.score(cs.DAG.parse(graph), table, cs.scores.LogLikelihood()) for graph in GRAPHS]
    assert np.all(np.diff(found) >= -1e-9)


@pytest.mark.parametrize("graph", GRAPHS)
def test_bic_is_its_information_form_up_to_the_entropies_of_the_variables(graph):
    table, dag = read(rows_of(150)), cs.DAG.parse(graph)
    n = table.n_rows
    model = sum(n * information(table, node, dag.parents(node)) for node in dag.nodes)
    n_parameters = sum(
        np.prod([table.variables[name].n_states for name in dag.parents(node)])
        * (table.variables[node].n_states - 1)
        for node in dag.nodes
    )
    penalty = n_parameters * np.log(n) / 2
    entropies = n * sum(entropy(table, node) for node in dag.nodes)
    found = cs.score(dag, table, cs.BIC())
    assert found == pytest.approx(model - penalty - entropies, rel=1e-12)


def test_ebic_charges_every_arc_the_log_of_the_number_of_variables():
    table, dag = read(rows_of()), cs.DAG.parse(GRAPHS[-1])
    charged = cs.score(dag, table, cs.BIC()) - cs.score(dag, table, cs.scores.EBIC(20, gamma=0.7))
    assert charged == pytest.approx(3 * 0.7 * np.log(20), rel=1e-9)


def test_ebic_without_weight_is_bic():
    table, dag = read(rows_of()), cs.DAG.parse(GRAPHS[-1])
    assert cs.score(dag, table, cs.scores.EBIC(3, gamma=0)) == cs.score(dag, table, cs.BIC())


def test_ebic_refuses_a_family_of_more_variables_than_the_graph_has():
    with pytest.raises(ValueError, match=r"'c' with 2 parents .* n_variables=2") as caught:
        cs.score(cs.DAG.parse(GRAPHS[-1]), read(rows_of()), cs.scores.EBIC(2))
    assert caught.value.culprits["parameter"] == "n_variables"


@pytest.mark.parametrize(("n_variables", "gamma"), [(0, 0.5), (2.5, 0.5), (3, -1), (3, np.nan)])
def test_ebic_refuses_parameters_without_a_meaning(n_variables, gamma):
    with pytest.raises(cs.ConsilienceError, match=r"EBIC: (n_variables|gamma)"):
        cs.scores.EBIC(n_variables, gamma)
