from __future__ import annotations

import re

import pytest
from file_networks import assert_same, family

from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.errors import FormatError, MemoryLimitError
from consilience.files.xdsl import parse, write
from consilience.network.network import Network

TEXT = """<?xml version="1.0" encoding="UTF-8"?>
<!-- This network was created in GeNIe -->
<smile version="1.0" id="Net" numsamples="10000" discsamples="10000">
  <nodes>
    <cpt id="A" diagtype="observation" ranked="true">
      <state id="a0" label="F5" />
      <state id="a1" fault="true" />
      <probabilities>0.1 0.9</probabilities>
      <property id="literature">somewhere</property>
    </cpt>
    <cpt id="B">
      <state id="b0" /><state id="b1" /><state id="b2" />
      <probabilities>.2 .3 .5</probabilities>
    </cpt>
    <cpt id="C">
      <state id="c0" />
      <state id="c1" />
      <parents>A B</parents>
      <probabilities>
        0.01 0.99 0.02 0.98 0.03 0.97
        0.11 0.89 0.12 0.88 0.13 0.87</probabilities>
    </cpt>
  </nodes>
  <extensions>
    <genie version="1.0" app="GeNIe 4" name="Net"><submodel id="S"><name>S</name></submodel></genie>
  </extensions>
</smile>
"""
EITHER = """<deterministic id="E"><state id="no" /><state id="yes" /><parents>A B</parents>
      <resultingstates>no yes no yes yes no</resultingstates></deterministic>
  </nodes>"""


def test_a_file_of_genie_is_read():
    assert_same(parse(TEXT, "net.xdsl"), family())


def test_a_deterministic_node_becomes_a_table_of_zeros_and_ones():
    table = parse(TEXT.replace("</nodes>", EITHER), "net.xdsl")["E"].table
    assert table.argmax(axis=-1).tolist() == [[0, 1, 0], [1, 1, 0]]
    assert sorted(set(table.ravel())) == [0, 1]


@pytest.mark.parametrize("kind", ["noisymax", "noisyadder", "decision", "utility", "mau"])
def test_other_kinds_of_node_are_named(kind):
    with pytest.raises(FormatError, match=f"line 23: a node of kind '{kind}' cannot be read"):
        parse(TEXT.replace("  </nodes>", f'<{kind} id="D" /></nodes>'), "net.xdsl")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("<smile v", "<frown v", 27, "mismatched tag"),
        ("  <nodes>", "  <dynamic/><nodes>", 3, "dynamic networks"),
        ("  <nodes>", "  <nodes/><nodes>", 3, "one <nodes> inside <smile>, found 2"),
        ('<cpt id="B">', "<cpt>", 11, "an id in <cpt>, found none"),
        ('<cpt id="B">', '<cpt id="A">', 11, "'A' is declared twice"),
        ('<state id="c0" />', '<state name="c0" />', 16, "an id in <state>"),
        ('<state id="c0" />', '<state id="c1" />', 15, "'c1' stands twice"),
        ("<parents>A B<", "<parents>A Z<", 15, "unknown node 'Z'"),
        ("<parents>A B<", "<parents>A<", 19, "needs 4 numbers, found 12"),
        ("<parents>A B<", "<parents>A A A B<", 19, "needs 48 numbers, found 12"),
        ("<probabilities>.2 .3 .5</probabilities>", "", 11, "one <probabilities> inside <cpt>"),
        (".2 .3 .5", ".2 .3 ,5", 13, "only numbers in the table of 'B'"),
        (".2 .3 .5", ".2 .3 .4", 13, "row 1 of 'B' .* sums to 0.9"),
        ("0.11 0.89", "0.11 0.79", 21, "row 4 of 'C' given A=a1, B=b0 .* sums to 0.9"),
    ],
)
def test_a_mistake_is_named_with_its_line(old, new, line, message):
    assert old in TEXT
    with pytest.raises(FormatError) as error:
        parse(TEXT.replace(old, new, 1), "net.xdsl")
    assert error.value.culprits == {"file": "net.xdsl", "line": line}
    assert re.search(message, str(error.value))


def test_resulting_states_must_exist_and_be_complete():
    text = TEXT.replace("</nodes>", EITHER)
    with pytest.raises(FormatError, match="unknown state 'maybe' of 'E'"):
        parse(text.replace("yes no</", "yes maybe</"), "net.xdsl")
    with pytest.raises(FormatError, match="'E' needs 6 resulting states, found 5"):
        parse(text.replace("yes no</", "yes</"), "net.xdsl")


def test_a_parent_that_stands_twice_is_refused():
    text = TEXT.replace("<parents>A B<", "<parents>A A<").replace("0.12 0.88 0.13 0.87", "")
    with pytest.raises(FormatError, match=r"net.xdsl, line \d+: .* twice"):
        parse(text, "net.xdsl")


def test_a_large_deterministic_node_is_refused_before_it_is_made():
    states = "".join(f'<state id="s{i}" />' for i in range(20_000))
    nodes = "".join(
        f'<deterministic id="{name}">{states}{parents}<resultingstates/></deterministic>'
        for name, parents in [("A", ""), ("B", "<parents>A</parents>")]
    )
    with pytest.raises((FormatError, MemoryLimitError)):
        parse(f"<smile><nodes>{nodes}</nodes></smile>", "net.xdsl")


def test_strange_names_are_escaped_and_shown_to_people():
    a = Variable("light on", ("<5", "yes"))
    text = write(Network.of([Categorical(a, (), [0.5, 0.5])], source="light on"))
    assert '<cpt id="cs__light_20_on">' in text
    assert "<name>light on</name>" in text
    assert '<state id="cs___3c_5" />' in text
    assert '<property id="consilience_states">&lt;5, yes</property>' in text
    assert '<property id="consilience_source">true</property>' in text


def test_a_file_of_agrum_is_read_with_a_note():
    net = parse(TEXT.replace("GeNIe 4", "aGrUM 3.3.1"), "net.xdsl")
    assert_same(net, family())
    assert "first parent fastest" in net.record.notes[0]
