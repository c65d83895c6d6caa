from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pytest
from graph_oracles import FOUR, dags
from hypothesis import given, strategies as st

from consilience.errors import GraphError, UnknownNameError
from consilience.graph import DAG, random_dag

CHAIN = DAG([("a", "b"), ("b", "c")], nodes=["z"])


def test_given_nodes_come_first_and_then_those_of_the_arcs():
    dag = DAG([("x", "b"), ("a", "x")], nodes=["b", "c"])
    assert dag.nodes == ("b", "c", "x", "a")
    assert dag.arcs == (("x", "b"), ("a", "x"))


def test_parents_and_children_stand_in_the_order_of_the_arcs():
    dag = DAG([("c", "x"), ("a", "x"), ("c", "a"), ("b", "x")])
    assert dag.parents("x") == ("c", "a", "b")
    assert dag.children("c") == ("x", "a")


def test_equality_and_hash_forget_the_order():
    one = DAG([("a", "b"), ("c", "b")], nodes=["d"])
    two = DAG([("c", "b"), ("a", "b")], nodes=["a", "d"])
    assert one == two
    assert hash(one) == hash(two)
    assert one != DAG([("a", "b"), ("c", "b")])
    assert one != one.reverse("a", "b")
    assert one != "[a][b|a]"


@pytest.mark.parametrize(
    ("arcs", "nodes", "message"),
    [
        ([("a", "b"), ("b", "a")], (), "the arcs close a cycle: 'a' -> 'b' -> 'a'."),
        (
            [("x", "c"), ("c", "b"), ("b", "x")],
            "c",
            "a list of names, such as ['c'], got the text 'c'",
        ),
        ([("a", "b"), ("a", "b")], (), "the arc 'a' -> 'b' stands twice"),
        ([("a", "a")], (), "the arc 'a' -> 'a' joins a node to itself"),
        ([("a", 1)], (), "must be names (text that is not empty), got ('a', 1)"),
        ([("a", "")], (), "must be names (text that is not empty), got ('a', '')"),
        ([("a", "b", "c")], (), "a pair of names (from, to), got ('a', 'b', 'c')"),
        (["ab"], (), "a pair of names (from, to), got 'ab'"),
        ([{"a", "b"}], (), "a pair of names (from, to), got {"),
        ("[a][b|a]", (), "DAG.parse reads model strings"),
        ([], ["a", "b", "a"], "the node 'a' stands twice"),
        ([], ["a", None], "a node's name must be text that is not empty, got None"),
    ],
)
def test_what_is_not_a_graph_is_refused_by_name(arcs, nodes, message):
    with pytest.raises(GraphError) as caught:
        DAG(arcs, nodes)
    assert message in str(caught.value)
    assert caught.value.culprits


def test_the_cycle_in_the_message_leaves_out_what_only_hangs_on_it():
    with pytest.raises(GraphError, match="cycle: 'b' -> 'd' -> 'c' -> 'b'") as caught:
        DAG([("a", "b"), ("b", "d"), ("d", "c"), ("c", "b"), ("c", "x"), ("x", "y")], ["b", "x"])
    assert caught.value.culprits["cycle"] == ("b", "d", "c", "b")


def test_a_long_cycle_is_shortened_in_the_message_only():
    names = [f"n{i}" for i in range(50)]
    with pytest.raises(GraphError, match=r"'n10' -> \(39 more\) -> 'n0'\.") as caught:
        DAG(zip(names, names[1:] + names[:1], strict=True))
    assert len(caught.value.culprits["cycle"]) == 51


@pytest.mark.parametrize(
    "method", ["parents", "children", "ancestors", "descendants", "markov_blanket", "without"]
)
@pytest.mark.parametrize("name", ["q", 3, None])
def test_unknown_nodes_are_named(method, name):
    with pytest.raises(
        UnknownNameError, match=rf"unknown node {name!r}\. Known: 'z', 'a'"
    ) as caught:
        getattr(CHAIN, method)(name)
    assert caught.value.culprits["name"] == name


@given(dags())
def test_a_model_string_gives_the_graph_back_with_all_its_orders(dag):
    again = DAG.parse(dag.to_string())
    assert again == dag
    assert again.nodes == dag.nodes
    assert all(again.parents(node) == dag.parents(node) for node in dag.nodes)


@given(dags())
def test_the_adjacency_matrix_gives_the_graph_back(dag):
    matrix = dag.to_adjacency()
    assert DAG.from_adjacency(matrix, dag.nodes) == dag
    assert matrix.sum() == len(dag.arcs)
    assert all(matrix[dag.nodes.index(a), dag.nodes.index(b)] == 1 for a, b in dag.arcs)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), r"shape \(2, 2\), got \(2, 3\)"),
        ([[0, 2], [0, 0]], "got 2 from 'a' to 'b'"),
        ([[0, np.nan], [0, 0]], "got nan from 'a' to 'b'"),
        ([["0", "1"], ["0", "0"]], "got 0 from 'a' to 'a'"),
        ([[0, 1], [1, 0]], "'a' -> 'b' -> 'a'"),
    ],
)
def test_an_adjacency_matrix_is_checked(matrix, message):
    with pytest.raises(GraphError, match=message):
        DAG.from_adjacency(matrix, ["a", "b"])


@given(dags(min_nodes=2))
def test_the_topological_order_puts_parents_first_and_earlier_nodes_before_later(dag):
    order = dag.topological_order()
    place = {node: i for i, node in enumerate(order)}
    assert sorted(order) == sorted(dag.nodes)
    assert all(place[a] < place[b] for a, b in dag.arcs)
    for i, node in enumerate(order):
        ready = [n for n in dag.nodes if place[n] >= i and set(dag.parents(n)) <= set(order[:i])]
        assert node == ready[0]


@given(dags(), st.data())
def test_ancestors_and_descendants_mirror_each_other(dag, data):
    node, other = (data.draw(st.sampled_from(dag.nodes)) for _ in range(2))
    assert (other in dag.ancestors(node)) == (node in dag.descendants(other))
    assert dag.ancestors([node, other]) == (dag.ancestors(node) | dag.ancestors(other)) - {
        node,
        other,
    }
    direct = {n for parent in dag.parents(node) for n in (parent, *dag.ancestors(parent))}
    assert dag.ancestors(node) == direct


@given(dags(), st.data())
def test_given_its_blanket_a_node_is_separated_from_the_rest(dag, data):
    node = data.draw(st.sampled_from(dag.nodes))
    blanket = dag.markov_blanket(node)
    assert node not in blanket
    assert dag.is_separated(node, set(dag.nodes) - blanket - {node}, given=blanket)
    for left_out in blanket:
        assert not dag.is_separated(node, left_out, given=blanket - {left_out})


def test_edits_give_new_graphs_and_leave_the_old_one():
    assert CHAIN.add("a", "c").arcs == (("a", "b"), ("b", "c"), ("a", "c"))
    assert CHAIN.add("c", "new", nodes=["new"]).nodes == ("z", "a", "b", "c", "new")
    assert CHAIN.remove("a", "b") == DAG([("b", "c")], nodes=["z", "a"])
    assert CHAIN.reverse("a", "b").arcs == (("b", "a"), ("b", "c"))
    assert CHAIN.without("b") == DAG(nodes=["z", "a", "c"])
    assert CHAIN.arcs == (("a", "b"), ("b", "c"))


@pytest.mark.parametrize("verb", ["remove", "reverse"])
def test_an_arc_that_is_not_there_cannot_be_removed_or_reversed(verb):
    with pytest.raises(GraphError, match=r"no arc 'b' -> 'a'\. There is 'a' -> 'b'") as caught:
        getattr(CHAIN, verb)("b", "a")
    assert caught.value.culprits["arc"] == ("b", "a")
    with pytest.raises(UnknownNameError, match="unknown node 'q'"):
        getattr(CHAIN, verb)("q", "a")


def test_an_edit_that_closes_a_cycle_or_repeats_an_arc_is_refused():
    with pytest.raises(GraphError, match="cycle: 'a' -> 'b' -> 'c' -> 'a'"):
        CHAIN.add("c", "a")
    with pytest.raises(GraphError, match="cycle: 'a' -> 'b' -> 'c' -> 'a'"):
        CHAIN.add("a", "c").reverse("a", "c")
    with pytest.raises(GraphError, match="stands twice"):
        CHAIN.add("a", "b")


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_graph_survives_copies_and_pickles(again):
    assert again(CHAIN) == CHAIN
    assert again(CHAIN).parents("b") == ("a",)


def test_a_graph_cannot_be_changed():
    with pytest.raises(AttributeError):
        CHAIN.arcs = ()


def test_the_repr_of_a_small_graph_can_be_evaluated_and_a_large_one_is_cut():
    assert all(eval(repr(dag)) == dag for dag in FOUR[::50])
    large = repr(random_dag(60, n_arcs=100, seed=1))
    assert large.startswith("DAG(60 nodes, 100 arcs: [X1")
    assert large.endswith("]...)")
    assert len(large) < 110


def test_a_graph_of_a_thousand_nodes_is_built_and_asked_in_milliseconds():
    dag = random_dag(1000, n_arcs=5000, seed=1)
    assert _seconds(lambda: DAG(dag.arcs, dag.nodes)) < 0.2  # ten times what it takes
    assert _seconds(lambda: dag.is_separated("X1", "X2", given=dag.nodes[500:550])) < 0.1


def _seconds(work):
    def once():
        start = time.process_time()
        work()
        return time.process_time() - start

    return min(once() for _ in range(7))


def test_a_new_node_is_added_only_if_it_is_named():
    with pytest.raises(UnknownNameError, match=r"unknown node 'cc'.*nodes=") as caught:
        CHAIN.add("a", "cc")
    assert caught.value.culprits["name"] == "cc"
    with pytest.raises(UnknownNameError, match="unknown node 'x'"):
        CHAIN.add("x", "y", nodes=["y"])
    assert CHAIN.add("c", "y", nodes=["y", "alone"]).nodes[-2:] == ("y", "alone")
