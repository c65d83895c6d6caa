from __future__ import annotations

import pickle

import numpy as np
import pytest

import consilience as cs
from consilience.errors import GraphError, ModelError, UnknownNameError

A, B = cs.Variable("a", ("0", "1")), cs.Variable("b", ("0", "1"))


def pair() -> cs.Network:
    return cs.Network.of(
        [
            cs.Categorical(A, (), np.array([0.4, 0.6])),
            cs.Categorical(B, (A,), np.array([[0.1, 0.9], [0.5, 0.5]])),
        ]
    )


def test_the_distributions_define_the_graph():
    assert pair().dag == cs.DAG([("a", "b")])
    assert pair().variables == {"a": A, "b": B}
    assert pair().n_parameters == 3


def test_an_unknown_node_is_named():
    with pytest.raises(UnknownNameError, match=r"unknown node 'c'\. Known: 'a', 'b'"):
        pair()["c"]


def test_a_parent_without_a_distribution_is_refused():
    with pytest.raises(ModelError, match="parent 'a', which has no distribution"):
        cs.Network.of([pair()["b"]])


def test_a_parent_with_other_states_is_refused():
    other = cs.Variable("a", ("0", "1", "2"))
    with pytest.raises(ModelError, match="'b' and its parent 'a' disagree"):
        cs.Network.of([cs.Categorical(other, (), np.full(3, 1 / 3)), pair()["b"]])


def test_a_cycle_is_refused():
    half = np.full((2, 2), 0.5)
    with pytest.raises(GraphError, match="cycle"):
        cs.Network.of([cs.Categorical(A, (B,), half), cs.Categorical(B, (A,), half)])


def test_two_distributions_of_one_child_are_refused():
    with pytest.raises(ModelError, match="same child"):
        cs.Network.of([pair()["a"], pair()["a"]])


def test_the_source_is_a_root_among_the_nodes():
    assert cs.Network(pair().distributions, source="a").source == "a"
    with pytest.raises(ModelError, match="'b' must be a root"):
        cs.Network(pair().distributions, source="b")
    with pytest.raises(UnknownNameError, match="unknown node 'z'"):
        cs.Network(pair().distributions, source="z")


def test_nothing_of_a_network_can_be_changed():
    net = pair()
    with pytest.raises(AttributeError):
        net.source = "a"
    with pytest.raises(TypeError):
        net.distributions["c"] = net["a"]
    with pytest.raises(TypeError):
        net.variables["c"] = A


def test_a_network_and_a_table_can_be_pickled():
    net = pickle.loads(pickle.dumps(pair()))
    np.testing.assert_array_equal(net["b"].table, pair()["b"].table)
    table = pickle.loads(pickle.dumps(net.sample(5, seed=1)))
    assert table.n_rows == 5


def test_seed_003_orderings_have_12_and_13_parameters():
    first = cs.DAG.parse("[A][B][C|A:B][D|C][E|C][F|D]")
    second = cs.DAG.parse("[F][D|F][C|D][B|C][A|B:C][E|C]")
    assert [cs.random_network(dag, seed=0).n_parameters for dag in (first, second)] == [12, 13]


def test_a_network_has_nodes():
    with pytest.raises(ModelError, match="at least one node"):
        cs.Network.of([])
