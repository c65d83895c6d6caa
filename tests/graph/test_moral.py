from __future__ import annotations

from itertools import combinations

from graph_oracles import dags
from hypothesis import given

from consilience.graph import DAG, moral_graph


@given(dags())
def test_neighbors_are_joined_by_an_arc_or_share_a_child(dag):
    married = {
        pair
        for node in dag.nodes
        for pair in combinations(dag.nodes, 2)
        if set(pair) <= {node, *dag.parents(node)}
    }
    joined = {(a, b) for a, near in moral_graph(dag).items() for b in near}
    assert joined == married | {(b, a) for a, b in married}


@given(dags())
def test_the_neighbors_of_a_node_are_its_markov_blanket_in_the_order_of_the_nodes(dag):
    for node, near in moral_graph(dag).items():
        assert set(near) == dag.markov_blanket(node)
        assert list(near) == [other for other in dag.nodes if other in near]


def test_isolated_nodes_are_kept():
    assert dict(moral_graph(DAG(nodes=["b", "a"]))) == {"b": (), "a": ()}
