from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from consilience.errors import GraphError
from consilience.graph import DAG

ASIA = "[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]"


def test_nodes_and_parents_stand_in_the_order_of_the_text():
    dag = DAG.parse(ASIA)
    assert dag.nodes == ("A", "S", "T", "L", "B", "D", "E", "X")
    assert dag.parents("D") == ("B", "E")
    assert dag.to_string() == ASIA


def test_white_space_around_names_is_free_and_inside_them_is_kept():
    dag = DAG.parse(" [ heart rate ]\n[B | heart rate ] [C|B\t: heart rate]\n")
    assert dag == DAG([("heart rate", "B"), ("B", "C"), ("heart rate", "C")])


def test_the_empty_text_is_the_empty_graph():
    assert DAG.parse("") == DAG() == DAG.parse(DAG().to_string())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A", "position 1: expected '[', found 'A'"),
        ("[A", "position 3: expected '|' or ']', found the end of the text after '[A'"),
        ("[A][]", "position 5: expected a name, found ']'"),
        ("[A][B|]", "position 7: expected a name, found ']'"),
        ("[A][B|A:]", "position 9: expected a name, found ']'"),
        ("[A][B|A|A]", "position 8: expected ':' or ']', found '|'"),
        ("[A:B]", "position 3: expected '|' or ']', found ':'"),
        ("[A] x [B]", "position 5: expected '[', found 'x'"),
        ("[A]]", "position 4: expected '[', found ']'"),
        ("[A][B|A:C]", "'C' is a parent of 'B' but has no bracket of its own"),
        ("[A][A]", "the node 'A' stands twice"),
        ("[A][B|A:A]", "the arc 'A' -> 'B' stands twice"),
        ("[A|A]", "joins a node to itself"),
        ("[A|B][B|A]", "close a cycle: 'A' -> 'B' -> 'A'"),
        (3, "a model string must be text, got 3"),
    ],
)
def test_a_text_that_is_no_model_string_is_refused_with_its_place(text, message):
    with pytest.raises(GraphError) as caught:
        DAG.parse(text)
    assert message in str(caught.value)
    assert caught.value.culprits


@given(st.text(alphabet="AB[]|: ", max_size=14))
@settings(max_examples=100)
def test_any_text_gives_a_graph_or_our_own_error(text):
    try:
        dag = DAG.parse(text)
    except GraphError:
        return
    assert dag.to_string() == text.replace(" ", "") or " " in text.strip()


@pytest.mark.parametrize("name", ["a[1]", "a|b", "a:b", " a", "a\n"])
def test_names_that_a_model_string_cannot_hold_are_refused(name):
    dag = DAG(nodes=["x", name])
    with pytest.raises(GraphError, match="cannot stand in a model string") as caught:
        dag.to_string()
    assert caught.value.culprits["node"] == name
    assert repr(dag)
