from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chisquare

from consilience.errors import GraphError, InputError
from consilience.graph import DAG, all_dags, count_dags, random_dag, uniform_dag
from consilience.graph.random import _below, _n_by_roots

COUNTS = [1, 1, 3, 25, 543, 29281]


def test_there_are_as_many_dags_as_are_known():
    assert [count_dags(n) for n in range(6)] == COUNTS
    assert count_dags(10) == 4175098976430598143


@pytest.mark.parametrize("n_nodes", range(6))
def test_every_dag_is_enumerated_once(n_nodes):
    dags = list(all_dags(n_nodes))
    assert len(set(dags)) == len(dags) == COUNTS[n_nodes]


def test_both_recursions_count_the_same():
    assert all(sum(_n_by_roots(n)) == count_dags(n) for n in range(1, 40))


def test_dags_with_one_to_four_roots_are_counted():
    n_roots = Counter(sum(not dag.parents(n) for n in dag.nodes) for dag in all_dags(4))
    assert tuple(n_roots[k] for k in range(1, 5)) == _n_by_roots(4)


@pytest.mark.parametrize(("n_nodes", "n_draws"), [(2, 1000), (3, 5000), (4, 11000)])
def test_every_dag_is_drawn_equally_often(n_nodes, n_draws):
    rng = np.random.default_rng(20)
    drawn = Counter(uniform_dag(n_nodes, rng) for _ in range(n_draws))
    seen = [drawn[dag] for dag in all_dags(n_nodes)]
    assert sum(seen) == n_draws
    assert chisquare(seen).pvalue > 0.001


def test_whole_numbers_of_any_size_are_drawn_equally_often():
    rng = np.random.default_rng(1)
    for bound in (1, 2, 5, 256, 257):
        seen = np.bincount([_below(bound, rng) for _ in range(3000)], minlength=bound)
        assert len(seen) == bound
        assert bound == 1 or chisquare(seen).pvalue > 0.001
    assert max(_below(3**200, rng) for _ in range(100)) > 2 * 3**199


@given(
    n_nodes=st.integers(0, 12),
    share=st.floats(0, 1),
    max_parents=st.none() | st.integers(0, 4),
    seed=st.integers(0, 2**32),
)
def test_a_random_dag_has_the_arcs_asked_for_and_no_more_parents(n_nodes, share, max_parents, seed):
    cap = n_nodes if max_parents is None else max_parents
    n_arcs = int(share * sum(min(j, cap) for j in range(n_nodes)))
    dag = random_dag(n_nodes, n_arcs=n_arcs, max_parents=max_parents, seed=seed)
    assert dag.nodes == tuple(f"X{i + 1}" for i in range(n_nodes))
    assert len(dag.arcs) == n_arcs
    assert all(len(dag.parents(node)) <= cap for node in dag.nodes)
    assert dag == random_dag(n_nodes, n_arcs=n_arcs, max_parents=max_parents, seed=seed)


def test_arcs_of_a_given_number_are_any_pairs_along_a_random_order():
    rng = np.random.default_rng(3)
    drawn = Counter(random_dag(3, n_arcs=2, seed=rng) for _ in range(3600))
    shapes = Counter(_shape(dag) for dag in drawn.elements())
    assert len(drawn) == 3 + 3 + 6
    assert chisquare([shapes["fork"], shapes["chain"], shapes["collider"]]).pvalue > 0.001


def test_full_children_are_passed_over():
    rng = np.random.default_rng(4)
    shapes = Counter(_shape(random_dag(3, n_arcs=2, max_parents=1, seed=rng)) for _ in range(2000))
    assert shapes["collider"] == 0
    assert chisquare([shapes["fork"], shapes["chain"]]).pvalue > 0.001


def test_independent_arcs_come_at_their_probability():
    assert random_dag(30, p_arc=0, seed=1).arcs == ()
    assert len(random_dag(30, p_arc=1, seed=1).arcs) == comb(30, 2)
    n_arcs = [len(random_dag(20, p_arc=0.3, seed=seed).arcs) for seed in range(200)]
    spread = np.sqrt(0.3 * 0.7 * 190 / 200)
    assert np.mean(n_arcs) == pytest.approx(0.3 * 190, abs=4 * spread)
    bounded = random_dag(20, p_arc=0.9, max_parents=3, seed=1)
    assert max(len(bounded.parents(node)) for node in bounded.nodes) == 3


def test_names_may_be_given_and_keep_their_order():
    assert random_dag(["z", "a"], n_arcs=1, seed=1).nodes == ("z", "a")
    assert uniform_dag(["z", "a"], seed=1).nodes == ("z", "a")
    assert uniform_dag(12, seed=5) == uniform_dag(12, seed=5) != uniform_dag(12, seed=6)
    assert uniform_dag([]) == DAG()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either n_arcs or p_arc"),
        ({"n_arcs": 1, "p_arc": 0.1}, "give either n_arcs or p_arc"),
        ({"n_arcs": 4}, "3 nodes with at most 3 parents each have room for 3 arcs, got n_arcs=4"),
        ({"n_arcs": 3, "max_parents": 1}, "have room for 2 arcs, got n_arcs=3"),
        ({"n_arcs": -1}, "n_arcs must be a whole number of at least 0, got -1"),
        ({"n_arcs": 1.5}, "n_arcs must be a whole number of at least 0, got 1.5"),
        ({"p_arc": 1.5}, "p_arc must be at most 1, got 1.5"),
        ({"p_arc": -0.5}, "p_arc must be zero or more, got -0.5"),
        ({"p_arc": 0.5, "max_parents": -1}, "max_parents must be a whole number"),
        ({"n_arcs": 1, "seed": "x"}, "seed must be a whole number"),
    ],
)
def test_impossible_requests_are_refused(options, message):
    with pytest.raises(InputError, match=message) as caught:
        random_dag(3, **options)
    assert caught.value.culprits["parameter"]


def test_sets_too_large_to_list_or_count_are_refused():
    with pytest.raises(InputError, match="all_dags: at most 5 nodes, got 6"):
        all_dags(6)
    with pytest.raises(InputError, match="uniform_dag: at most 100 nodes, got 101"):
        uniform_dag(101)
    with pytest.raises(InputError, match="nodes must be a whole number of at least 0, got -1"):
        uniform_dag(-1)
    with pytest.raises(GraphError, match="the node 'a' stands twice"):
        all_dags(["a", "a"])


def _shape(dag):
    if any(len(dag.parents(node)) == 2 for node in dag.nodes):
        return "collider"
    return "fork" if any(len(dag.children(node)) == 2 for node in dag.nodes) else "chain"
