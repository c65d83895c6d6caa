from __future__ import annotations

import re

import numpy as np
import pytest
from file_networks import assert_same, family, networks
from hypothesis import given

from consilience.errors import FormatError, MemoryLimitError
from consilience.files import regular_bif
from consilience.files.bif import parse, write

HEAD = """network unknown {
}
variable A {
  type discrete [ 2 ] { a0, a1 };
}
variable B {
  type discrete [ 3 ] { b0, b1, b2 };
}
variable C {
  type discrete [ 2 ] { c0, c1 };
}
probability ( A ) {
  table 0.1, 0.9;
}
probability ( B ) {
  table 0.2, 0.3, 0.5;
}
"""
ROWS = """probability ( C | A, B ) {
  (a0, b0) 0.01, 0.99;
  (a1, b0) 0.11, 0.89;
  (a0, b1) 0.02, 0.98;
  (a1, b1) 0.12, 0.88;
  (a0, b2) 0.03, 0.97;
  (a1, b2) 0.13, 0.87;
}
"""
ONE = "variable A { type discrete [ 2 ] { a0, a1 }; } probability ( A ) { table 0.1, 0.9; }"


def block(text):
    """The table of C when its block reads as given."""
    return parse(HEAD + text, "net.bif")["C"]


def line_of(text):
    with pytest.raises(FormatError) as error:
        parse(text, "net.bif")
    assert str(error.value).startswith(f"net.bif, line {error.value.culprits['line']}: ")
    return error.value.culprits["line"], str(error.value)


def test_rows_are_found_by_their_labels():
    assert_same(parse(HEAD + ROWS, "net.bif"), family())


def test_the_sweep_and_the_careful_reader_agree(monkeypatch):
    swept = parse(HEAD + ROWS, "net.bif")
    monkeypatch.setattr("consilience.files.bif.sweep", lambda *_: None)
    assert_same(parse(HEAD + ROWS, "net.bif"), swept)


@given(net=networks())
def test_the_sweep_and_the_careful_reader_agree_on_whatever_is_written(net):
    text = write(net)
    found = regular_bif.sweep(text, text.index("}") + 1, "net.bif")
    if found is not None:
        variables, drafts = found
        assert {name: v.states for name, v in variables.items()} == {
            name: v.states for name, v in net.variables.items()
        }
        for draft in drafts:
            assert np.array_equal(draft.rows, net[draft.family.name].rows)


def test_a_repository_file_is_swept():
    assert regular_bif.sweep(HEAD + ROWS, HEAD.index("}") + 1, "net.bif") is not None


@pytest.mark.parametrize(
    "text",
    [
        ROWS.replace("A, B", "A B"),
        ROWS.replace("| A, B", "A, B"),
        ROWS.replace(", 0.", " 0."),
        ROWS.replace("(a0, b0)", '("a0" b0)'),
        ROWS.replace("{\n", '{ property "a; b" ;\n', 1),
        ROWS.replace("{\n", "{ // } (a0, b0) 1 0;\n"),
        ROWS.replace("0.99;", "0.99; /* (a0, b0)\n 0, 1; */"),
        ROWS.replace("0.01, 0.99", ".01, +99e-2"),
        ROWS.replace("0.01, 0.99", "0.01,\N{NO-BREAK SPACE}0.99"),
        ROWS.replace("probability ( C | A, B ) {", "probability(C|A,B){"),
        "\n".join([ROWS.splitlines()[0], *reversed(ROWS.splitlines()[1:-1]), "}"]),
        "probability ( C | A, B ) {"
        "table 0.01, 0.02, 0.03, 0.11, 0.12, 0.13, 0.99, 0.98, 0.97, 0.89, 0.88, 0.87;}",
    ],
)
def test_a_block_may_be_written_in_many_ways(text):
    assert block(text).table == pytest.approx(family()["C"].table, abs=0)


def test_parents_keep_the_order_of_the_block():
    local = block("probability ( C | B, A ) { default 0.5 0.5; (b2, a0) 0.25 0.75; }")
    assert local.parents == ("B", "A")
    assert local.table[2, 0].tolist() == [0.25, 0.75]
    assert np.count_nonzero(local.table == 0.5) == 10


def test_a_default_row_fills_the_rows_that_are_not_listed():
    local = block("probability ( C | A, B ) { (a1, b2) 0.25, 0.75; default 0.5, 0.5; }")
    assert local.table[1, 2].tolist() == [0.25, 0.75]
    assert (local.table.reshape(-1, 2)[:-1] == 0.5).all()


def test_names_may_be_quoted_numbers_or_strange():
    text = """network "Dog-Problem" { property "credal-set constant-density-bounded 1.1" ; }
    variable "light-on" { property "position = (218, 195)" ; type discrete[2] { "true" "a b" }; }
    variable 1 { type discrete[4] { <5, Asy/Patch, >=10, 0-10% }; property size = 3; }
    probability ( "light-on" 1 ) { table 0.6 0.05 0.5 1. 0.4 0.95 .5 0; }
    probability ( 1 ) { table 0.25 0.25 0.25 25e-2 ; }"""
    net = parse(text, "dog.bif")
    assert net["1"].child.states == ("<5", "Asy/Patch", ">=10", "0-10%")
    assert net["light-on"].child.states == ("true", "a b")
    assert net["light-on"].table.tolist() == [[0.6, 0.4], [0.05, 0.95], [0.5, 0.5], [1, 0]]


def test_slashes_in_quotes_and_properties_are_not_comments():
    text = (
        'network n { property url = http://a.b/c ; } variable "//" { type discrete [1] { "/*" }; }'
    )
    net = parse(text + ' probability ( "//" ) { table 1; } // end', "net.bif")
    assert net["//"].child.states == ("/*",)


def test_a_property_of_another_program_is_not_the_source():
    assert parse(f"network n {{ property source = A; }} {ONE}", "net.bif").source is None
    assert parse(f"network n {{ property consilience_source = A; }} {ONE}", "").source == "A"
    with pytest.raises(FormatError, match="'Z' is not a node"):
        parse(f'network n {{ property consilience_source = "Z"; }} {ONE}', "net.bif")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("a1 };", "a1 }", 5, "expected ';' after the states of 'A', found '}'"),
        ("[ 2 ] { c0", "[ 3 ] { c0", 10, "expected 2 as the number of states of 'C', found '3'"),
        ("type discrete [ 3 ]", "type continuous [ 3 ]", 7, "'discrete' as the type"),
        ("variable B", "variable A", 6, "'A' is declared twice"),
        ("b0, b1, b2", "b0, b1, b1", 6, "'b1' stands twice"),
        ("variable C {", "variable {", 9, "the name of a variable, found '{'"),
        ("network unknown", "network", 1, "the name of the network"),
        ("network unknown {", "network unknown { type", 1, "'property' or '}'"),
        ("network", "netwrok", 1, "expected 'variable' or 'probability', found 'netwrok'"),
        ("table 0.1, 0.9;", "table 0.1, 0.9", 14, "';' in the numbers of 'A', found '}'"),
        ("table 0.1, 0.9;", "table 0.1, zero;", 13, "a number or ';' in the numbers of 'A'"),
        ("table 0.1, 0.9;", "table 0.1, 0.8, 0.1;", 13, "needs 2 numbers, found 3"),
        ("table 0.1, 0.9;", "table 0.1, 0.7;", 13, "row 1 of 'A' is not a distribution"),
        ("table 0.1, 0.9;", "table 1.1, -0.1;", 13, "between 0 and 1: 1.1, -0.1"),
        ("table 0.1, 0.9;", "tabel 0.1, 0.9;", 13, "a row, 'table', 'default' or '}'"),
        ("table 0.1, 0.9;", "table 0.1, 0.9; table 1, 0;", 13, "found 'table'"),
        ("table 0.1, 0.9;", "table 0.1, 0.9; default 1 0;", 13, "both a table and rows"),
        ("( C | A, B )", "( C | A, Z )", 18, "unknown node 'Z' in the family of 'C'"),
        ("( C | A, B )", "( Z | A, B )", 18, "unknown node 'Z'"),
        ("( C | A, B )", "( C | A, A )", 19, "unknown state 'b0' of 'A'"),
        ("  (a1, b1)", "  (a1, b9)", 22, "unknown state 'b9' of 'B' in a row of 'C'"),
        ("  (a1, b1)", "  (a1)", 22, "needs 2 states of its parents, found 1"),
        ("  (a1, b1)", "  (a1, b0)", 22, "the row 'a1', 'b0' of 'C' stands twice"),
        ("  (a1, b1) 0.12, 0.88;\n", "", 18, "no row for 'a1', 'b1' and no default"),
        ("0.12, 0.88", "0.12, 0.88, 0", 22, "a row of 'C' needs 2 numbers, found 3"),
        ("0.12, 0.88", "0.12, 0.78", 22, "row 5 of 'C' given A=a1, B=b1 .* sums to 0.9, not to 1"),
        ("0.12, 0.88", "0.12, nan", 22, "found 'nan'"),
        ("0.12, 0.88", '0.12, "0.88"', 22, "a number or ';' .* found '0.88'"),
        ("0.12, 0.88;", "0.12, 0.88; /*", 22, r"'/\*' is never closed"),
        ("(a1, b1)", '("a1, b1)', 22, "a quotation mark that is never closed"),
        ("0.13, 0.87;\n}", "0.13, 0.87;\n", 26, "the end of the file"),
    ],
)
def test_a_mistake_is_named_with_its_line(old, new, line, message):
    assert old in HEAD + ROWS
    found, text = line_of((HEAD + ROWS).replace(old, new, 1))
    assert found == line
    assert re.search(message, text)


@pytest.mark.parametrize("old", ["probability ( A ) {\n  table 0.1, 0.9;\n}\n"])
def test_a_table_that_is_missing_or_stands_twice_is_named(old):
    with pytest.raises(FormatError, match="'A' has no table"):
        parse((HEAD + ROWS).replace(old, ""), "net.bif")
    assert line_of(HEAD + ROWS + old) == (27, "net.bif, line 27: the node 'A' has two tables.")


def test_a_table_too_large_for_memory_is_refused_before_it_is_made():
    states = ", ".join(f"s{i}" for i in range(100))
    variables = [f"variable V{i} {{ type discrete [ 100 ] {{ {states} }}; }}" for i in range(20)]
    parents = ", ".join(f"V{i}" for i in range(1, 20))
    text = "\n".join(
        [*variables, f"probability ( V0 | {parents} ) {{ default {'0.01, ' * 100}; }}"]
    )
    with pytest.raises(MemoryLimitError, match="'V0'"):
        parse(text, "net.bif")


def test_more_parents_than_axes_are_refused():
    names = [f"V{i}" for i in range(70)]
    text = "".join(f"variable {name} {{ type discrete [ 1 ] {{ a }}; }}" for name in names)
    text += "".join(f"probability ( {name} ) {{ table 1; }}" for name in names[1:])
    with pytest.raises(FormatError, match="69 parents"):
        parse(f"{text}probability ( V0 | {' '.join(names[1:])} ) {{ default 1; }}", "net.bif")


def test_many_irregular_rows_do_not_take_quadratic_time():
    states = [f"s{i}" for i in range(20_000)]
    rows = "\n".join(f'("{state}") 0.5, 0.5;' for state in states)
    text = (
        f"variable A {{ type discrete [ {len(states)} ] {{ {', '.join(states)} }}; }}\n"
        f"variable B {{ type discrete [ 2 ] {{ x, y }}; }}\n"
        f"probability ( A ) {{ table {', '.join(['0.00005'] * len(states))}; }}\n"
        f"probability ( B | A ) {{\n{rows}\n}}"
    )
    assert parse(text, "net.bif")["B"].table.shape == (20_000, 2)
