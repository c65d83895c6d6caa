from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.graph.random import all_dags

NODES = ["a", "b", "c", "d"]


def table_of(seed):
    net = cs.random_network(cs.random_dag(NODES, n_arcs=4, seed=seed), n_states=2, seed=seed)
    return net.sample(200, seed=seed).select(NODES)


def is_neighbor(dag, other):
    mine, theirs = set(dag.arcs), set(other.arcs)
    changed = {frozenset(arc) for arc in mine ^ theirs}
    return len(changed) == 1


def proposed(relearn, table, dag, search=None):
    return relearn.propose(
        table,
        dag,
        score=cs.BIC(),
        search=search or cs.HillClimb(),
        forbidden=(),
        rng=np.random.default_rng(1),
    )


@settings(max_examples=15)
@given(seed=st.integers(0, 10**5))
def test_after_move_makes_the_best_of_all_single_moves(seed):
    table, dag = table_of(seed), cs.random_dag(NODES, n_arcs=2, seed=seed + 1)
    best = max(
        cs.score(other, table, cs.BIC())
        for other in all_dags(NODES)
        if is_neighbor(dag, other) or other == dag
    )
    reached = cs.score(proposed(cs.latent.AfterMove(), table, dag), table, cs.BIC())
    assert reached == pytest.approx(best, rel=1e-8)


def test_after_move_keeps_to_the_parents_that_the_search_allows():
    table, empty = table_of(3), cs.DAG(nodes=NODES)
    assert proposed(cs.latent.AfterMove(), table, empty, cs.HillClimb(max_parents=0)) == empty


def test_after_search_never_proposes_a_worse_graph():
    table = table_of(5)
    best = cs.learn(table, search=cs.Exact())
    poor = cs.HillClimb(max_parents=0, restarts=0)
    assert proposed(cs.latent.AfterSearch(), table, best, poor) == best
