from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from show_things import ODD, THINGS, net, tables

import consilience as cs
from consilience.show.html import N_LINES
from consilience.show.notebook import NOTEBOOK

VOID = {"br", "hr", "img"}


class Page(HTMLParser):
    """Holds what is open, and all words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def test_every_noun_and_record_is_seen():
    assert {kind.__name__ for kind in NOTEBOOK} == set(THINGS)


@pytest.mark.parametrize("name", THINGS)
def test_a_view_is_well_formed_and_has_no_script_or_style_sheet(name):
    view = THINGS[name]()._repr_html_()
    page = Page(view)
    assert page.open == []
    assert not {"script", "style", "link", "iframe", "img"} & set(page.tags)
    assert " id=" not in view
    assert "on" not in re.findall(r"\son\w+=", view)


@pytest.mark.parametrize("name", THINGS)
def test_words_of_a_view_inherit_their_color_unless_they_stand_on_a_ground(name):
    outside = re.sub(r"<svg .*?</svg>", "", THINGS[name]()._repr_html_(), flags=re.DOTALL)
    assert set(re.findall(r"(?<![-\w])color:([^;\"]+)", outside)) <= {"inherit"}


def test_names_are_escaped():
    for name in ("Variable", "Table", "Network", "Factor", "Counts", "Fusion", "GraphComparison"):
        view = THINGS[name]()._repr_html_()
        assert ODD not in view
        assert ODD in Page(view).words


def test_a_mean_and_its_spread_stand_on_one_line():
    text = THINGS["CrossEvaluation"]()._repr_html_()
    styles = re.findall(r'<td style="([^"]*)">[^<]*(?:<b>)?[^<]*±', text)
    assert styles
    assert all("white-space:nowrap" in style for style in styles)


def test_long_views_are_cut_and_say_so():
    names = [f"x{i}" for i in range(300)]
    states = tuple(f"s{i}" for i in range(200))
    x, y = cs.Variable("x", states), cs.Variable("y", ("a", "b"))
    long = {
        "and 240 more": cs.DAG(nodes=names[: N_LINES + 240]),
        "and 160 more": cs.Factor((x,), np.full(200, 1 / 200)),
        "and 160 more ": cs.Categorical(y, (x,), np.full((200, 2), 0.5)),
        "and 186 more columns": cs.Categorical(x, (), np.full(200, 1 / 200)),
        "and 260 more": cs.read({name: ["a", "b"] for name in names}),
    }
    for words, thing in long.items():
        view = thing._repr_html_()
        assert words.strip() in view
        assert view.count("<tr") <= N_LINES + 1
        assert len(view) < 60_000


def test_a_table_of_a_node_prints_states_as_columns_and_parent_states_as_rows():
    lines = str(tables()["ill"]).splitlines()
    assert lines[0] == "P(ill | clinic, sex, age)"
    assert lines[2].split() == ["clinic", "sex", "age", "yes", "no"]
    assert lines[-1].startswith("... and 4 more rows")
    assert repr(net()["pressure"]).splitlines()[2].split() == [
        "clinic",
        "sex",
        "intercept",
        "age",
        "sd",
    ]


def test_a_graph_is_printed_whole_up_to_ten_thousand_characters():
    chain = cs.DAG([(f"n{i}", f"n{i + 1}") for i in range(500)])
    assert str(chain) == chain.to_string()
    long = cs.DAG([(f"n{i}", f"n{i + 1}") for i in range(5000)])
    assert len(str(long)) < 10_100
    shown, _, n_left = str(long).partition("... and ")
    assert shown.count("[") + int(n_left.split()[0].replace(",", "")) == len(long.nodes)


def test_names_with_signs_are_printed_in_quotes():
    dag = cs.DAG([("a:b", "[c]"), ("d ", "[c]")], nodes=["e"])
    assert str(dag) == '[e]["a:b"]["[c]"|"a:b":"d "]["d "]'
    assert repr(dag) == f"DAG.parse({str(dag)!r})"


def test_a_class_is_printed_edge_by_edge():
    assert str(cs.CPDAG.of(cs.DAG.parse("[a][b|a][c]"))) == "a - b\nc"


NASTY = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"quotes\" & 'others'",
    "\u05e9\u05dc\u05d5\u05dd",
    "\U0001f600",
    "x" * 300,
)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_shown_and_nothing_of_them_runs(name):
    rows = {
        "a": {name: [name, "no"] * 9, "y": ["u", "v", "v"] * 6},
        name: {name: ["no"], "y": ["u"]},
    }
    table = cs.read(rows)
    dag = cs.DAG([(name, "y")])
    graphs = {"one": dag, name: cs.DAG([("y", name)])}
    things = [
        *(dag, cs.CPDAG.of(dag), cs.fit(dag, table), table),
        *(cs.compare_graphs(dag, graphs[name]), cs.search(table), cs.fuse(graphs)),
        cs.beside(dag, names=[name]),
    ]
    for thing in things:
        page = Page(thing._repr_html_())
        assert page.open == []
        assert not {"script", "img", "iframe"} & set(page.tags)
        assert len(name) > 100 or name in page.words
