from __future__ import annotations

import re

import numpy as np
import pytest
from file_networks import assert_same, family

from consilience.errors import FormatError
from consilience.files.hugin import parse, write

TEXT = """% made by hand; 100 % text
net
{
  node_size = (80 40);
  HR_Desc = "a; } % b";
}
node A
{
  label = "the first";
  position = (100 200);
  states = ("a0" "a1");
}
discrete node B
{
  states = (b0 b1 "b2");   % words or quoted
  HR_State_0 = "";
}
node C { subtype = label; states = ("c0" "c1"); }
potential (A)
{ data = ( 0.1 0.9 ); }
potential (B | ) { data = (0.2 0.3 0.5); }
potential ( C | A B )
{
  data = (((	0.01	0.99 )	% A=a0; B=b0
           (	0.02	0.98 )
           (	0.03	0.97 ))
          ((	0.11	0.89 )
           (	0.12	0.88 )
           (	0.13	0.87 )));
  experience = (1 1 1);
}
"""


def test_a_file_of_hugin_is_read():
    assert_same(parse(TEXT, "net.net"), family())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\(A\)", "( A )"),
        (r"net\n{", "net{"),
        (r"discrete node", "node"),
        (r"0.01\t0.99", ".01 99e-2"),
    ],
)
def test_a_file_may_be_written_in_many_ways(old, new):
    assert_same(parse(re.sub(old, new, TEXT), "net.net"), family())


def test_the_nesting_of_brackets_is_not_needed():
    flat = re.sub(r"data = \(\(\([^;]*;[^;]*;", "data = (0.01 0.99 .02 .98 .03 .97", TEXT)
    flat = re.sub(r"  experience", "0.11 0.89 0.12 0.88 0.13 0.87); experience", flat)
    assert_same(parse(flat, "net.net"), family())


def test_names_and_numbers_of_other_programs():
    text = (
        'node 1 { states = ("<5" "Asy/Patch" ">=10" "0-10%"); } potential (1) { data = (1 0 0 0); }'
    )
    net = parse(text, "net.net")
    assert net["1"].child.states == ("<5", "Asy/Patch", ">=10", "0-10%")


def test_strange_names_are_escaped_and_shown_as_labels():
    text = 'node light-on { states = ("x" "y"); } potential (light-on) { data = (1 0); }'
    written = write(parse(text, "net.net"))
    assert "node cs__light_2d_on" in written
    assert 'label = "light-on"' in written


def test_a_label_is_not_the_name():
    assert list(parse(TEXT, "net.net").distributions) == ["A", "B", "C"]


def test_an_attribute_of_another_program_is_not_the_source():
    assert parse(TEXT.replace("node_size = (80 40)", 'source = "A"'), "net.net").source is None
    named = TEXT.replace("node_size = (80 40)", 'consilience_source = "B"')
    assert parse(named, "net.net").source == "B"
    with pytest.raises(FormatError, match="'Z' is not a node"):
        parse(named.replace('"B"', '"Z"'), "net.net")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "node C {",
            "continuous node C {",
            18,
            "'net', 'node' or 'potential'.* found 'continuous'",
        ),
        ("node C {", "utility C {", 18, "found 'utility'"),
        ("node C {", "class C {", 18, "found 'class'"),
        ("node C {", "node {", 18, "the name of a node, found '{'"),
        ("node C {", "node C ", 18, "'{' after the node 'C'"),
        ('states = ("c0" "c1");', "", 18, "'C' has no states"),
        ('("c0" "c1");', '("c0" "c1") }', 18, "';' after the states of the node 'C'"),
        ('("c0" "c1");', '("c0" "c1"); states = (1 2);', 18, "'states' only once"),
        ('("c0" "c1");', '("c0" "c0");', 18, "'c0' stands twice"),
        ('("c0" "c1");', '("c0" "");', 18, "a state of the node 'C', found ''"),
        ("discrete node B", "discrete node A", 13, "'A' is declared twice"),
        ("data = ( 0.1 0.9 );", "", 19, "the potential of 'A' has no data"),
        ("data = ( 0.1 0.9 );", "model_data = (1);", 19, "the potential of 'A' has no data"),
        ("data = ( 0.1 0.9 );", "data = ( 0.1 0.9 ;", 20, "brackets .* do not match"),
        ("data = ( 0.1 0.9 );", "data = ( 0.1 x );", 20, "a number or ';' .* found 'x'"),
        ("data = ( 0.1 0.9 );", "data  ( 0.1 0.9 );", 20, "'=' after the attribute 'data'"),
        ("data = ( 0.1 0.9 );", "data = ( 0.1 0.8 0.1 );", 20, "needs 2 numbers, found 3"),
        ("data = ( 0.1 0.9 );", "data = ( 1 1 );", 20, "row 1 of 'A' .* sums to 2, not to 1"),
        ("( C | A B )", "( C A B )", 22, r"'\|' or '\)' after 'C', found 'A'"),
        ("( C | A B )", "( C | A Z )", 24, "unknown node 'Z'"),
        ("0.11	0.89", "0.11	0.79", 27, "row 4 of 'C' given A=a1, B=b0 .* sums to 0.9"),
        ("(1 1 1);\n}\n", "(1 1 1)", 30, "';' after the attribute 'experience'.* end of the file"),
    ],
)
def test_a_mistake_is_named_with_its_line(old, new, line, message):
    assert old in TEXT
    with pytest.raises(FormatError) as error:
        parse(TEXT.replace(old, new, 1), "net.net")
    assert error.value.culprits == {"file": "net.net", "line": line}
    assert re.search(message, str(error.value))


def test_brackets_nest_by_parent_with_the_child_innermost():
    text = write(family())
    data = text[text.index("data = (((") :]
    rows = ["(0.01 0.99)", "(0.02 0.98)", "(0.03 0.97))", "((0.11 0.89)"]
    assert np.all(np.diff([data.index(row) for row in rows]) > 0)
