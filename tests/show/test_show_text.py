from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from show_graphs import ASIA, dags, network, with_source

from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.errors import InputError, UnknownNameError
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.show.text import describe_network, outline, table_text


def literal(text):
    return dedent(text).strip("\n")


def rain():
    weather = Variable("weather", ("dry", "rain"))
    season = Variable("season", ("summer", "winter"))
    lawn = Variable("lawn", ("dry", "wet", "flooded"))
    return [
        Categorical(season, (), np.array([0.5, 0.5])),
        Categorical(weather, (season,), np.array([[0.75, 0.25], [0.5, 0.5]])),
        Categorical(
            lawn,
            (season, weather),
            np.array([[[1, 0, 0], [0, 0.99999, 0.00001]], [[0.25, 0.5, 0.25], [0, 0.125, 0.875]]]),
        ),
    ]


def test_the_outline_names_every_arc():
    assert outline(ASIA) == literal(
        """
        asia
        └─ tub
           └─ either  ← lung
              ├─ xray
              └─ dysp  ← bronc
        smoke
        ├─ lung
        └─ bronc
        """
    )


def test_the_outline_marks_the_children_of_the_source():
    net = network(with_source(DAG([("a", "b"), ("a", "c")]), ["a", "c"]), source="hospital")
    assert outline(net) == literal(
        """
        hospital
        a *
        ├─ b
        └─ c *

        * depends on the source hospital
        """
    )


@given(dag=dags())
def test_the_outline_has_one_line_a_node_and_one_mention_an_arc(dag):
    lines = outline(dag).splitlines()
    assert sorted(line.lstrip("│├└─ ").split("  ←")[0] for line in lines) == sorted(dag.nodes)
    n_branches = sum("├─" in line or "└─" in line for line in lines)
    n_others = sum(len(line.split("← ")[1].split(", ")) for line in lines if "←" in line)
    assert n_branches + n_others == len(dag.arcs)


def test_a_network_is_described_with_nodes_in_topological_order():
    record = Record("Dirichlet(ess=1)", unidentified={"lawn": 2}, notes=("a note.",))
    net = Network.of(list(reversed(rain())), source="season", record=record)
    assert describe_network(net) == literal(
        """
        Network of 3 nodes, 3 arcs and 11 parameters
        Source: season (summer, winter)
        Made by: Dirichlet(ess=1)
        Parent states with no or too few rows: 2
        Note: a note.

        node     states  parameters  parents
        season        2           1  -
        weather       2           2  season
        lawn          3           8  season, weather

        season
        weather *
        └─ lawn *

        * depends on the source season
        """
    )


def test_a_table_has_a_row_for_each_parent_state():
    assert table_text(Network.of(rain()), "lawn") == literal(
        """
        P(lawn | season, weather)

        season  weather     dry      wet  flooded
        summer  dry      1.0000   0.0000   0.0000
        summer  rain     0.0000  >0.9999  <0.0001
        winter  dry      0.2500   0.5000   0.2500
        winter  rain     0.0000   0.1250   0.8750
        """
    )


def test_a_long_or_wide_table_says_what_was_left_out():
    assert table_text(Network.of(rain()), "lawn", max_rows=1, max_states=2) == literal(
        """
        P(lawn | season, weather)

        season  weather     dry     wet
        summer  dry      1.0000  0.0000
        ... and 3 more rows and 1 more state
        """
    )


def test_a_root_has_one_row_without_labels():
    assert table_text(Network.of(rain()), "season") == literal(
        """
        P(season)

        summer  winter
        0.5000  0.5000
        """
    )


def test_columns_stay_aligned_with_wide_and_combining_letters():
    states = ("体重", "e\u0301", "plain")
    text = table_text(Network.of([Categorical(Variable("x", states), (), [0.5, 0.25, 0.25])]), "x")
    assert text.splitlines()[2] == "  体重       e\u0301   plain"


def test_control_characters_do_not_reach_the_terminal():
    net = network(DAG([], nodes=["a\x1b[31m\nb"]))
    assert "\x1b" not in describe_network(net)
    assert "a\ufffd[31m\ufffdb" in describe_network(net)


def test_unknown_nodes_and_senseless_limits_are_refused():
    net = Network.of(rain())
    with pytest.raises(UnknownNameError, match="unknown node 'law'"):
        table_text(net, "law")
    with pytest.raises(InputError, match="max_rows must be a whole number of at least 1"):
        table_text(net, "lawn", max_rows=0)
