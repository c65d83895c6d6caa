from __future__ import annotations

import pytest
from graph_oracles import colliders, dags, skeleton
from hypothesis import given, strategies as st

from consilience.errors import GraphError
from consilience.graph import CPDAG, DAG, Confusion, confusion, shd, shd_dags, v_structures
from consilience.graph.arc_comparison import arc_differences, compare

LEARNED = DAG.parse("[A][B|A][C|B:D][D][E|A]")
OTHER = DAG.parse("[A][B|A][C|B:D][D|E][E]")


@st.composite
def pairs(draw, n_nodes=6):
    return tuple(draw(dags(min_nodes=n_nodes, max_nodes=n_nodes)) for _ in range(2))


@given(pairs())
def test_every_joined_pair_of_nodes_is_of_exactly_one_kind(graphs):
    found = arc_differences(*graphs)
    kinds = [found.shared, found.turned, found.extra, found.missing]
    joined = [frozenset(arc) for arcs in kinds for arc in arcs]
    assert len(joined) == len(set(joined))
    assert set(joined) == skeleton(graphs[0].arcs) | skeleton(graphs[1].arcs)


@given(pairs())
def test_changing_places_changes_extra_for_missing_and_turns_the_turned(graphs):
    one, two = arc_differences(*graphs), arc_differences(*graphs[::-1])
    assert set(one.shared) == set(two.shared)
    assert set(one.turned) == {arc[::-1] for arc in two.turned}
    assert (set(one.extra), set(one.missing)) == (set(two.missing), set(two.extra))


@given(dags())
def test_v_structures_are_those_of_the_definition(dag):
    found = v_structures(dag)
    assert len(found) == len(set(found))
    assert {(frozenset((a, b)), c) for a, c, b in found} == colliders(dag.arcs)


@given(pairs())
def test_the_numbers_are_those_of_the_distances_and_of_the_lists(graphs):
    found = compare(*graphs)
    assert (found.shd, found.shd_dags) == (shd(*graphs), shd_dags(*graphs))
    assert found.arcs == confusion(*graphs)
    assert found.adjacencies == confusion(*graphs, skeleton=True)
    lists = (found.shared_v_structures, found.extra_v_structures, found.missing_v_structures)
    assert found.v_structures == Confusion(*map(len, lists))
    assert len(found.turned) + len(found.extra) + len(found.missing) == found.shd_dags


@given(pairs())
def test_classes_are_equal_if_adjacencies_and_v_structures_are(graphs):
    found = compare(*graphs)
    same = found.adjacencies.f1 == 1 and found.v_structures.f1 == 1
    assert (found.shd == 0) == same == (CPDAG.of(graphs[0]) == CPDAG.of(graphs[1]))


def test_arcs_stand_in_the_order_of_their_graphs():
    found = compare(LEARNED, OTHER)
    assert found.shared == (("A", "B"), ("B", "C"), ("D", "C"))
    assert (found.turned, found.extra, found.missing) == ((), (("A", "E"),), (("E", "D"),))
    assert found.shared_v_structures == (("B", "C", "D"),)


def test_printed_it_is_a_report():
    text = str(compare(LEARNED, DAG.parse("[A|B][B][C|B][D|E][E]")))
    assert text.splitlines()[1:4] == [
        "arcs               1             3           2      0.250   0.333  0.286",
        "adjacencies        2             2           1      0.500   0.667  0.571",
        "v-structures       0             1           0      0.000   1.000  0.000",
    ]
    assert "turned round         A -> B\n" in text
    assert "only in learned      D -> C, A -> E\n" in text
    assert "only in other        E -> D\n" in text
    assert text.endswith("v-structures new     B -> C <- D")


def test_equal_and_equivalent_graphs_are_called_so():
    chain = DAG.parse("[A][B|A][C|B]")
    assert "SHD of the classes   0 (equivalent)" in str(compare(chain, DAG.parse("[A|B][B|C][C]")))
    assert str(compare(chain, chain)).endswith("0 (equal)")
    assert repr(compare(chain, chain)) == (
        "GraphComparison(SHD 0, arcs: 2 shared, 0 turned, 0 extra, 0 missing)"
    )


def test_long_lists_are_cut_in_print_only():
    star = DAG([("x", f"y{i}") for i in range(20)])
    found = compare(star, DAG(nodes=star.nodes))
    assert "x -> y11 and 8 more" in str(found)
    assert len(found.extra) == 20


def test_what_is_no_dag_is_refused_with_a_way_out():
    with pytest.raises(GraphError, match=r"got a CPDAG; expected two DAGs. A CPDAG has to_dag"):
        compare(LEARNED, CPDAG.of(OTHER))
    with pytest.raises(GraphError, match="only in the second: 'F'"):
        compare(LEARNED, DAG([("A", "F")], nodes=LEARNED.nodes))
