from __future__ import annotations

from collections import defaultdict
from itertools import product

import pytest
from graph_oracles import FOUR, dags
from hypothesis import given, strategies as st

from consilience.errors import GraphError, UnknownNameError
from consilience.graph import CPDAG, DAG, meek_closure, orient

MEMBERS = defaultdict(list)
for _dag in FOUR:
    MEMBERS[CPDAG.of(_dag)].append(_dag)


def pattern(dag):
    """The skeleton with only the arcs of colliders directed."""
    parents = {node: set(dag.parents(node)) for node in dag.nodes}
    arcs = [
        (a, c)
        for a, c in dag.arcs
        if any(a not in parents[b] and b not in parents[a] for b in parents[c] - {a})
    ]
    return CPDAG(arcs, [arc for arc in dag.arcs if arc not in arcs], dag.nodes)


def knowledge(cpdag):
    for joints in product((None, False, True), repeat=len(cpdag.undirected)):
        yield [
            edge[::-1] if turned else edge
            for edge, turned in zip(cpdag.undirected, joints, strict=True)
            if turned is not None
        ]


@given(dags(max_nodes=12))
def test_closing_the_colliders_gives_the_class(dag):
    assert meek_closure(pattern(dag)) == CPDAG.of(dag)


def test_closing_the_colliders_gives_the_class_on_four_nodes():
    assert all(meek_closure(pattern(dag)) == CPDAG.of(dag) for dag in FOUR)


def test_knowledge_leaves_what_the_agreeing_members_share_in_every_class_of_four_nodes():
    for cpdag, members in MEMBERS.items():
        for arcs in knowledge(cpdag):
            left = [set(dag.arcs) for dag in members if set(arcs) <= set(dag.arcs)]
            if left:
                assert set(orient(cpdag, arcs).directed) == set.intersection(*left)
            else:
                with pytest.raises(GraphError):
                    orient(cpdag, arcs)


@given(dags(max_nodes=10), st.data())
def test_true_knowledge_may_come_at_once_or_arc_by_arc_and_leaves_a_member(dag, data):
    arcs = data.draw(st.lists(st.sampled_from(dag.arcs), unique=True)) if dag.arcs else []
    one_by_one = CPDAG.of(dag)
    at_once = orient(one_by_one, arcs)
    for arc in arcs:
        one_by_one = orient(one_by_one, [arc])
    assert at_once == one_by_one
    assert set(at_once.directed) <= set(dag.arcs)
    member = at_once.to_dag()
    assert set(at_once.directed) <= set(member.arcs)
    assert CPDAG.of(member) == CPDAG.of(dag)


@given(dags(max_nodes=8, min_nodes=4), st.data())
def test_what_knowledge_leaves_undirected_can_go_both_ways(dag, data):
    arcs = data.draw(st.lists(st.sampled_from(dag.arcs), unique=True)) if dag.arcs else []
    known = orient(CPDAG.of(dag), arcs)
    for a, b in known.undirected:
        for arc in ((a, b), (b, a)):
            assert CPDAG.of(orient(known, [arc]).to_dag()) == CPDAG.of(dag)


@pytest.mark.parametrize(
    ("arcs", "edges", "implied"),
    [
        ([("c", "a")], [("a", "b")], ("a", "b")),
        ([("a", "c"), ("c", "b")], [("a", "b")], ("a", "b")),
        ([("c", "b"), ("d", "b")], [("a", "b"), ("a", "c"), ("a", "d")], ("a", "b")),
        ([("c", "d"), ("d", "b")], [("a", "b"), ("a", "c"), ("a", "d")], ("a", "b")),
    ],
    ids=["rule 1", "rule 2", "rule 3", "rule 4"],
)
def test_each_rule_directs_its_edge_and_no_other(arcs, edges, implied):
    assert set(meek_closure(CPDAG(arcs, edges)).directed) == {*arcs, implied}


def test_rule_four_draws_the_consequence_of_background_knowledge():
    diamond = CPDAG.of(DAG.parse("[c][a|c][d|a:c][b|a:d]"))
    assert diamond.directed == ()
    known = orient(diamond, [("c", "d")])
    assert set(known.directed) == {("c", "d"), ("d", "b"), ("a", "b")}


@pytest.mark.parametrize("order", [1, -1])
def test_rule_four_applies_whichever_of_its_arcs_comes_last(order):
    fan = CPDAG.of(DAG.parse("[a][e|a][c|a:e][d|a:c][b|a:d]"))
    known = orient(fan, [("e", "c"), ("d", "b")][::order])
    assert set(known.directed) == {("e", "c"), ("c", "d"), ("d", "b"), ("a", "d"), ("a", "b")}


def test_knowledge_that_is_there_already_changes_nothing():
    cpdag = CPDAG.of(DAG.parse("[A][B][C|A:B]"))
    assert orient(cpdag, [("A", "C")]) == orient(cpdag, []) == cpdag


@pytest.mark.parametrize(
    ("arcs", "message"),
    [
        ([("C", "A")], "'C' -> 'A' is not possible: 'A' -> 'C' is compelled"),
        ([("A", "B")], "'A' and 'B' are not joined"),
        ([("D", "E"), ("E", "D")], "'E' -> 'D' is not possible: 'D' -> 'E' is asked for too"),
        ([("D", "E"), ("F", "E")], "new collider 'D' -> 'E' <- 'F'"),
    ],
)
def test_knowledge_that_no_member_has_is_refused(arcs, message):
    cpdag = CPDAG.of(DAG.parse("[A][B][C|A:B][D][E|D][F|E]"))
    with pytest.raises(GraphError, match=message) as caught:
        orient(cpdag, arcs)
    assert caught.value.culprits


def test_knowledge_that_closes_a_cycle_is_refused():
    triangle = CPDAG(undirected=[("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(GraphError, match="close a cycle: 'a' -> 'b' -> 'c' -> 'a'"):
        orient(triangle, [("a", "b"), ("b", "c"), ("c", "a")])


def test_knowledge_about_unknown_nodes_is_refused():
    with pytest.raises(UnknownNameError, match="unknown node 'Q'"):
        orient(CPDAG(undirected=[("A", "B")]), [("A", "Q")])
