from __future__ import annotations

import pytest
from graph_oracles import FOUR, dags
from hypothesis import given, strategies as st

from consilience.errors import GraphError
from consilience.graph import CPDAG, DAG, Confusion, confusion, shd, shd_dags

CHAIN = DAG.parse("[A][B|A][C|B]")
COLLIDER = DAG.parse("[A][B|A:C][C]")


@st.composite
def triples(draw, n_nodes=6):
    return tuple(draw(dags(min_nodes=n_nodes, max_nodes=n_nodes)) for _ in range(3))


@given(triples())
def test_both_distances_are_metrics_on_their_graphs(graphs):
    for distance, same in ((shd, lambda a, b: CPDAG.of(a) == CPDAG.of(b)), (shd_dags, DAG.__eq__)):
        a, b, c = graphs
        assert distance(a, a) == 0
        assert (distance(a, b) == 0) == same(a, b)
        assert distance(a, b) == distance(b, a)
        assert distance(a, c) <= distance(a, b) + distance(b, c)


def test_equivalent_graphs_and_only_these_have_distance_zero_on_four_nodes():
    some = FOUR[::9]
    assert all((shd(a, b) == 0) == (CPDAG.of(a) == CPDAG.of(b)) for a in some for b in some)


def test_a_pair_counts_one_whatever_the_difference():
    assert shd(CHAIN, COLLIDER) == 2
    assert shd(COLLIDER, DAG.parse("[A][B|A][C]")) == 2
    assert shd_dags(CHAIN, COLLIDER) == 1
    assert shd_dags(CHAIN, DAG.parse("[A|B][B|C][C]")) == 2
    assert shd_dags(CHAIN, DAG.parse("[A][B][C|A:B]")) == 2


def test_a_graph_and_its_class_are_one_for_the_distance_of_classes():
    assert shd(CPDAG.of(CHAIN), COLLIDER) == shd(CHAIN, CPDAG.of(COLLIDER)) == 2


def test_the_two_graphs_of_the_slide_are_six_apart():
    first = DAG.parse("[A][B][C|A:B][D|C][E|C][F|D]")
    second = DAG.parse("[F][D|F][C|D][B|C][A|B:C][E|C]")
    assert shd(first, second) == 6


@pytest.mark.parametrize("distance", [shd, shd_dags, confusion])
def test_different_nodes_are_refused_by_name(distance):
    with pytest.raises(GraphError, match="only in the first: 'C'; only in the second: 'x', 'y'"):
        distance(CHAIN, DAG.parse("[A][B|A][x][y]"))


@given(triples())
def test_arcs_are_counted_once_each(graphs):
    learned, true, _ = graphs
    counts = confusion(learned, true)
    assert counts.tp == len(set(learned.arcs) & set(true.arcs))
    assert counts.tp + counts.fp == len(learned.arcs)
    assert counts.tp + counts.fn == len(true.arcs)
    bones = confusion(learned, true, skeleton=True)
    assert bones.fp + bones.fn <= shd_dags(learned, true)
    assert bones.fp + bones.tp == len(learned.arcs)


def test_a_reversed_arc_is_wrong_and_missed_unless_skeletons_are_compared():
    assert confusion(CHAIN, COLLIDER) == Confusion(tp=1, fp=1, fn=1)
    assert confusion(CHAIN, COLLIDER, skeleton=True) == Confusion(tp=2, fp=0, fn=0)


def test_classes_compare_their_edges_too():
    chain, collider = CPDAG.of(CHAIN), CPDAG.of(COLLIDER)
    assert confusion(chain, chain) == Confusion(2, 0, 0)
    assert confusion(chain, collider) == Confusion(0, 2, 2)
    assert confusion(CHAIN, collider, skeleton=True) == Confusion(2, 0, 0)
    with pytest.raises(GraphError, match="got a DAG and a CPDAG"):
        confusion(CHAIN, collider)


def test_the_shares_follow_from_the_counts():
    counts = Confusion(tp=6, fp=2, fn=6)
    assert (counts.precision, counts.recall) == (0.75, 0.5)
    assert counts.f1 == pytest.approx(0.6, rel=1e-15)


def test_empty_graphs_have_shares_without_nan():
    assert (Confusion(0, 0, 0).precision, Confusion(0, 0, 0).recall) == (1.0, 1.0)
    assert Confusion(0, 0, 0).f1 == 1.0
    assert Confusion(0, 0, 3).precision == 1.0
    assert Confusion(0, 0, 3).f1 == Confusion(0, 3, 0).f1 == 0.0
