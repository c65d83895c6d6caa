from __future__ import annotations

from itertools import combinations

import pytest
from graph_oracles import (
    FOUR,
    NAMES,
    dags,
    is_separated_by_moral_graph,
    is_separated_by_paths,
    subsets,
)
from hypothesis import given, strategies as st

from consilience.errors import GraphError, UnknownNameError
from consilience.graph import DAG

QUESTIONS = [
    (x, y, seen) for x, y in combinations(NAMES, 2) for seen in subsets(set(NAMES) - {x, y})
]


def test_separation_is_the_blocking_of_all_paths_on_every_dag_of_four_nodes():
    for dag in FOUR:
        for x, y, seen in QUESTIONS:
            expected = is_separated_by_paths(dag, x, y, seen)
            assert dag.is_separated(x, y, seen) == dag.is_separated(y, x, seen) == expected


@given(dags(max_nodes=12, min_nodes=2), st.data())
def test_separation_of_sets_is_that_of_the_ancestral_moral_graph(dag, data):
    roles = data.draw(st.lists(st.sampled_from("xyz-"), min_size=12, max_size=12))
    x, y, z = (
        {node for node, role in zip(dag.nodes, roles, strict=False) if role == kind}
        for kind in "xyz"
    )
    assert dag.is_separated(x, y, z) == is_separated_by_moral_graph(dag, x, y, z)
    assert dag.is_separated(x, y, z) == all(dag.is_separated(a, b, z) for a in x for b in y)


def test_a_name_and_a_set_of_one_name_ask_the_same():
    dag = DAG.parse("[A][B|A][C|B]")
    assert dag.is_separated("A", "C", given="B")
    assert dag.is_separated(["A"], {"C"}, given=("B",))
    assert not dag.is_separated("A", iter(["C"]))


def test_an_empty_set_is_separated_from_everything():
    dag = DAG.parse("[A][B|A]")
    assert dag.is_separated([], "A")
    assert dag.is_separated("A", [], given="B")


@pytest.mark.parametrize(
    ("x", "y", "seen", "message"),
    [
        ("A", ["A", "B"], (), "x and y share 'A'"),
        ("A", "C", ["B", "A"], "x and given share 'A'"),
        ("A", ["B", "C"], ["C", "B"], "y and given share 'B', 'C'"),
    ],
)
def test_overlapping_sets_are_refused(x, y, seen, message):
    with pytest.raises(GraphError, match=message) as caught:
        DAG.parse("[A][B|A][C|B]").is_separated(x, y, seen)
    assert caught.value.culprits["nodes"]


@pytest.mark.parametrize("names", [("Q", "A", ()), ("A", ["B", "Q"], ()), ("A", "B", "Q")])
def test_unknown_names_are_refused(names):
    with pytest.raises(UnknownNameError, match="unknown node 'Q'"):
        DAG.parse("[A][B|A]").is_separated(*names)
