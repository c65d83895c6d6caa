from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError


def test_a_random_network_has_the_graph_and_states_asked_for():
    dag = cs.DAG.parse("[a][b|a]")
    net = cs.random_network(dag, n_states={"a": 2, "b": 5}, seed=1)
    assert net.dag == dag
    assert net["b"].table.shape == (2, 5)


def test_the_total_decides_how_extreme_rows_are():
    dag = cs.DAG(nodes=[f"x{i}" for i in range(300)])
    spread = []
    for total in (0.1, 2.0, 200.0):
        net = cs.random_network(dag, total=total, seed=1)
        spread.append(np.std([net[name].table[0] for name in dag.nodes]))
        # Variance of a Beta(t/2, t/2) entry, within five standard errors or so.
        assert spread[-1] == pytest.approx(np.sqrt(0.25 / (total + 1)), rel=0.15)
    assert spread[0] > spread[1] > spread[2]


def test_the_same_seed_gives_the_same_network():
    dag = cs.DAG.parse("[a][b|a]")
    one, two = (cs.random_network(dag, seed=3)["b"].table for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_impossible_parameters_are_refused():
    dag = cs.DAG(nodes=["a"])
    with pytest.raises(InputError, match="total must be positive, got 0"):
        cs.random_network(dag, total=0)
    with pytest.raises(InputError, match="node 'a': n_states must be a whole number of at least 1"):
        cs.random_network(dag, n_states=0)
