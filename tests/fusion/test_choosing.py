from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from fusion_cases import votes_of
from hypothesis import given, strategies as st

import consilience as cs
from consilience.fusion.choosing import choose
from consilience.fusion.voters import Voter
from consilience.fusion.votes import count_votes

ORDERS = [
    cs.fusion.RowByRow(),
    cs.fusion.RowByRow(True),
    cs.fusion.StrongestFirst(),
    cs.fusion.StrongestFirst(True),
]


def outcomes(decisions):
    return {decision.arc: decision.outcome for decision in decisions}


@st.composite
def graphs(draw):
    """A few DAGs over five nodes, each along its own order."""
    dags = []
    for _ in range(draw(st.integers(1, 6))):
        order = draw(st.permutations("abcde"))
        arcs = [pair for pair in combinations(order, 2) if draw(st.booleans())]
        dags.append(cs.DAG(arcs, ["a", "b", "c", "d", "e"]))
    return dags


@pytest.mark.parametrize("order", ORDERS, ids=repr)
@given(dags=graphs(), threshold=st.integers(1, 6))
def test_every_arc_with_votes_has_one_decision_that_tells_the_truth(order, dags, threshold):
    votes = votes_of(dags)
    dag, decisions = choose(votes, threshold, order)
    assert sorted(d.arc for d in decisions) == sorted(votes.by_arc)
    assert {d.arc for d in decisions if d.is_in} == set(dag.arcs)
    for d in decisions:
        assert d.votes == votes[d.arc]
        assert d.outcome == "entered" or d.votes < threshold or "instead" in d.outcome or d.path
        if d.path:
            assert (d.path[0], d.path[-1]) == (d.arc[1], d.arc[0])
            assert all(step in dag.arcs for step in zip(d.path, d.path[1:], strict=False))


@given(dags=graphs(), threshold=st.integers(1, 6))
def test_row_by_row_is_the_pseudo_code_of_the_paper(dags, threshold):
    votes = votes_of(dags)
    bn = cs.DAG(nodes=votes.nodes)
    for i, j in permutations(votes.nodes, 2):
        if votes[i, j] >= threshold and i not in bn.descendants(j):
            bn = bn.add(i, j)
    assert choose(votes, threshold, cs.fusion.RowByRow())[0] == bn


@given(dags=graphs())
def test_what_strongest_first_drops_is_no_stronger_than_the_cycle_it_would_close(dags):
    votes = votes_of(dags)
    _, decisions = choose(votes, 1, cs.fusion.StrongestFirst())
    for d in decisions:
        for step in zip(d.path, d.path[1:], strict=False):
            assert votes.level(step) >= votes.level(d.arc)


@given(dags=graphs())
def test_with_reversal_no_pair_is_left_out_if_both_directions_have_votes(dags):
    votes = votes_of(dags)
    dag, _ = choose(votes, 1, cs.fusion.StrongestFirst(reverse=True))
    for a, b in votes.by_arc:
        assert (a, b) in dag.arcs or (b, a) in dag.arcs or not votes[b, a]


def test_an_arc_that_closes_a_cycle_is_turned_round_where_its_reverse_has_votes():
    forward = cs.DAG.parse("[a][b|a][c|b]")
    back, third = cs.DAG([("c", "a")], ["b"]), cs.DAG([("a", "c")], ["b"])
    votes = votes_of([forward, forward, forward, back, back, third])
    dag, decisions = choose(votes, 2, cs.fusion.StrongestFirst(reverse=True))
    assert dag == cs.DAG.parse("[a][b|a][c|b:a]")
    assert outcomes(decisions)["c", "a"] == "turned round"
    assert outcomes(decisions)["a", "c"] == "entered instead of its reverse"
    assert [d.path for d in decisions if d.arc == ("c", "a")] == [("a", "b", "c")]


def test_an_arc_nobody_votes_for_the_other_way_is_dropped():
    forward, back = cs.DAG.parse("[a][b|a][c|b]"), cs.DAG([("c", "a")], ["b"])
    _, decisions = choose(
        votes_of([forward, forward, back]), 1, cs.fusion.StrongestFirst(reverse=True)
    )
    assert outcomes(decisions)["c", "a"] == "closes a cycle"
    assert str(decisions[-1]) == "c -> a: closes a cycle (a -> b -> c)"


def test_ties_are_broken_by_gain_and_then_by_name():
    ab, ba = cs.DAG([("a", "b")]), cs.DAG([("b", "a")])
    weak, strong = {("a", "b"): 1.0}, {("b", "a"): 2.0}
    voters = [Voter("s", ab, gains=weak), Voter("t", ba, gains=strong)]
    votes = count_votes(voters, cs.fusion.ArcVotes(), {"s": 1.0, "t": 1.0})
    assert cs.fusion.StrongestFirst().arrange(votes) == [("b", "a"), ("a", "b")]
    assert cs.fusion.StrongestFirst().arrange(votes_of([ab, ba])) == [("a", "b"), ("b", "a")]


def test_reaching_the_threshold_is_enough_also_with_fractions():
    third = dict.fromkeys(("s0", "s1", "s2"), 1 / 3)
    votes = votes_of([cs.DAG([("a", "b")])] * 3, weights=third)
    assert choose(votes, 3, cs.fusion.RowByRow())[0].arcs == (("a", "b"),)


def test_parents_stand_in_the_order_of_the_nodes():
    votes = votes_of([cs.DAG([("c", "d"), ("b", "d"), ("a", "d")], ["a", "b", "c", "d"])])
    dag, _ = choose(votes, 1, cs.fusion.StrongestFirst())
    assert dag.parents("d") == ("a", "b", "c")


def test_no_votes_give_a_graph_without_arcs():
    dag, decisions = choose(votes_of([cs.DAG(nodes=["a", "b"])]), 1, cs.fusion.StrongestFirst())
    assert dag == cs.DAG(nodes=["a", "b"])
    assert decisions == ()
    assert np.all(votes_of([cs.DAG(nodes=["a", "b"])]).matrix == 0)


@given(dags=graphs(), threshold=st.integers(1, 6))
def test_keeping_every_arc_loses_no_edge(dags, threshold):
    votes = votes_of(dags)
    dag, _ = choose(votes, threshold, cs.fusion.KeepEvery())
    reached = {frozenset(arc) for arc in votes.by_arc if votes.level(arc) >= threshold}
    assert {frozenset(arc) for arc in dag.arcs} == reached


def test_a_turned_arc_stands_in_the_record_though_nobody_voted_for_it():
    nodes = ["a", "b", "c"]
    ring = [cs.DAG([arc], nodes) for arc in (("a", "b"), ("b", "c"), ("c", "a"))]
    votes = votes_of([*ring, ring[0], ring[1]])
    dag, decisions = choose(votes, 1, cs.fusion.KeepEvery())
    assert set(dag.arcs) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert outcomes(decisions)["c", "a"] == "turned round"
    assert outcomes(decisions)["a", "c"] == "entered instead of its reverse"
