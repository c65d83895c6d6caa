from __future__ import annotations

import numpy as np
import pytest
from fusion_cases import NAMES, TRUE, paper_sources, votes_of
from hypothesis import given, strategies as st

import consilience as cs
from consilience.fusion.choosing import choose
from consilience.fusion.voters import Voter, arc_gains
from consilience.fusion.votes import count_votes


def test_votes_are_the_sum_of_the_adjacency_matrices():
    dags = paper_sources()
    votes = votes_of(dags)
    expected = sum(dag.to_adjacency() for dag in dags.values())
    np.testing.assert_array_equal(votes.matrix, expected)
    assert votes.matrix.sum() == 67
    assert votes.nodes == NAMES


def test_the_67_votes_of_the_paper_have_its_numbers_for_each_source():
    found = [cs.confusion(dag, TRUE) for dag in paper_sources().values()]
    assert [cs.shd(dag, TRUE) for dag in paper_sources().values()] == [3, 3, 2, 3, 2, 0, 0, 5]
    assert [each.tp for each in found] == [7, 6, 7, 6, 7, 7, 7, 6]
    assert [each.fp for each in found] == [2, 2, 2, 2, 2, 0, 0, 4]
    assert [each.fn for each in found] == [0, 1, 0, 1, 0, 0, 0, 1]


@pytest.mark.parametrize("order", [cs.fusion.RowByRow(), cs.fusion.StrongestFirst()], ids=repr)
def test_the_67_votes_give_table_1_of_the_paper(order):
    votes = votes_of(paper_sources())
    graphs = [choose(votes, threshold, order)[0] for threshold in range(1, 9)]
    found = [cs.confusion(graph, TRUE) for graph in graphs]
    assert [cs.shd(graph, TRUE) for graph in graphs] == [8, 3, 0, 0, 0, 1, 1, 1]
    assert [each.tp for each in found] == [7, 7, 7, 7, 7, 6, 6, 6]
    assert [each.fp for each in found] == [8, 3, 0, 0, 0, 0, 0, 0]
    assert [each.fn for each in found] == [0, 0, 0, 0, 0, 1, 1, 1]


def test_weights_are_brought_to_the_number_of_sources():
    votes = votes_of([cs.DAG([("a", "b")]), cs.DAG([("b", "a")])], weights={"s0": 3.0, "s1": 1.0})
    assert dict(votes.weights) == {"s0": 1.5, "s1": 0.5}
    assert votes["a", "b"] == 1.5
    assert votes["b", "a"] == 0.5


def test_a_source_that_lacks_a_variable_abstains():
    votes = votes_of(
        [cs.DAG([("a", "b")]), cs.DAG([("a", "b"), ("b", "c")]), cs.DAG(nodes=["a", "b"])]
    )
    assert votes["b", "c"] == 1
    assert votes.out_of(("b", "c")) == 1
    assert votes.level(("b", "c")) == 3
    assert votes.out_of(("a", "b")) == 3
    assert votes.level(("a", "b")) == 2


def test_classes_vote_for_both_directions_of_an_edge():
    chain, collider = cs.DAG.parse("[a][b|a][c|b]"), cs.DAG.parse("[a][c][b|a:c]")
    votes = votes_of([chain, collider], ballots=cs.fusion.ClassVotes(undirected=0.5))
    assert votes["a", "b"] == 1.5
    assert votes["b", "a"] == 0.5
    assert votes["c", "b"] == 1.5


def test_equivalent_graphs_vote_alike_on_classes():
    one, other = cs.DAG.parse("[a][b|a][c|b]"), cs.DAG.parse("[c][b|c][a|b]")
    for ballots in (cs.fusion.ClassVotes(), cs.fusion.ClassVotes(0.5)):
        assert ballots.ballot(one).items() == ballots.ballot(other).items()


def test_forbidden_arcs_get_no_votes_of_equivalent_graphs_but_those_of_graphs_that_have_them():
    voters = [Voter("s", cs.DAG([("a", "b")])), Voter("t", cs.DAG([("b", "a")]))]
    weights = {"s": 1.0, "t": 1.0}
    votes = count_votes(voters, cs.fusion.ClassVotes(), weights, forbidden={("b", "a")})
    assert votes.voters(("b", "a")) == ("t",)
    assert votes.voters(("a", "b")) == ("s", "t")


def test_arcs_count_with_their_strength():
    dag = cs.DAG([("a", "b")])
    voters = [Voter("s", dag, gains={("a", "b"): 0.0}), Voter("t", dag, gains={("a", "b"): 50.0})]
    votes = count_votes(voters, cs.fusion.ArcVotes(), {"s": 1.0, "t": 1.0}, by_strength=True)
    assert votes["a", "b"] == pytest.approx(1.5)
    assert votes.gains["a", "b"] == 50


def test_the_gain_of_an_arc_is_what_its_family_loses_without_it():
    rows = cs.random_network(cs.DAG.parse("[a][b][c|a:b][d|c]"), n_states=2, seed=3)
    table = rows.sample(60, seed=4)
    gains = arc_gains(rows.dag, table, cs.BIC())
    for arc in rows.dag.arcs:
        less = cs.score(rows.dag.remove(*arc), table, cs.BIC())
        assert gains[arc] == pytest.approx(cs.score(rows.dag, table, cs.BIC()) - less)


@given(st.permutations(range(8)))
def test_the_order_of_the_sources_does_not_matter(order):
    dags = list(paper_sources().items())
    votes = votes_of({dags[i][0]: dags[i][1] for i in order})
    np.testing.assert_array_equal(votes.matrix, votes_of(dict(dags)).matrix)


def test_an_unknown_node_is_named():
    with pytest.raises(KeyError, match="unknown node 'X'"):
        votes_of([cs.DAG([("a", "b")])])["a", "X"]


@pytest.mark.parametrize("value", [0, 2, -1])
def test_an_undirected_edge_gives_at_most_one_vote(value):
    with pytest.raises(ValueError, match="ClassVotes: undirected must be"):
        cs.fusion.ClassVotes(undirected=value)
