from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

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


@given(st.text(alphabet='AB[]|: "', max_size=14))
def test_any_text_gives_a_graph_or_our_own_error(text):
    try:
        dag = DAG.parse(text)
    except GraphError:
        return
    assert dag.to_string() == text.replace(" ", "") or " " in text.strip() or '"' in text


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a[1]", '["a[1]"]'),
        ("a|b", '["a|b"]'),
        ("a:b", '["a:b"]'),
        (" a", '[" a"]'),
        ("a\n", '["a\n"]'),
        ('"', '[""""]'),
        ('5" pipe', '[5" pipe]'),
        ("a=b, c", "[a=b, c]"),
    ],
)
def test_a_name_that_holds_a_sign_stands_in_quotes(name, written):
    dag = DAG([(name, "x")], nodes=[name])
    assert dag.to_string() == f"{written}[x|{written[1:-1]}]" == str(dag)
    assert DAG.parse(f" {dag.to_string()} ") == dag


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4, unique=True))
def test_a_graph_of_any_names_is_read_back(names):
    dag = DAG([(names[0], name) for name in names[1:]], nodes=names)
    again = DAG.parse(dag.to_string())
    assert (again.nodes, again.arcs) == (dag.nodes, dag.arcs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["a]', "a double quote is open at the end"),
        ('["a"b]', "after a name in quotes stands 'b'"),
        ('["a"][b|c:""]', "'c' is a parent of 'b'"),
        ('"["', "position 1: expected '[', found '['"),
    ],
)
def test_quotes_that_are_used_wrongly_are_refused(text, message):
    with pytest.raises(GraphError) as caught:
        DAG.parse(text)
    assert message in str(caught.value)
