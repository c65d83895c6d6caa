"""``consilience strength``."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from commands import misused, passed, refused, write

import consilience as cs

ROWS = "x,y,z\n" + "a,a,a\na,a,b\nb,b,a\nb,b,b\n" * 10


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path, "rows.csv", ROWS)


def test_strengths_are_those_of_average(rows):
    told = json.loads(passed("strength", rows, "--json"))
    belief = cs.average(cs.read(rows))
    assert told["log_evidence"] == pytest.approx(belief.log_evidence)
    assert told["averaged"] == belief.averaged().to_string()
    first = told["arcs"][0]
    assert {first["start"], first["end"]} == {"x", "y"}
    assert first["adjacency"] == pytest.approx(belief.arcs.adjacency("x", "y"))


def test_the_table_names_the_pairs(rows):
    printed = passed("strength", rows)
    assert "averaged graph" in printed
    assert "adjacency" in printed


@pytest.mark.parametrize(
    "way", ["exact", "order-modular", "order-mcmc", "partition-mcmc", "bootstrap"]
)
def test_every_way_can_be_chosen(rows, way):
    told = json.loads(passed("strength", rows, "--by", way, "--draws", 10, "--json"))
    assert told["arcs"][0]["adjacency"] > 0.9


def test_a_score_and_its_prior_can_be_chosen(rows):
    told = json.loads(passed("strength", rows, "--ess", 5, "--json"))
    assert "BDeu(ess=5.0)" in told["method"]


def test_the_averaged_graph_is_drawn(rows, tmp_path):
    picture = tmp_path / "graph.svg"
    passed("strength", rows, "--svg", picture)
    assert ET.parse(picture).getroot().tag.endswith("svg")
    assert "rows.csv" in refused("strength", rows, "--svg", rows)


def test_draws_need_a_way(rows):
    assert "--by" in misused("strength", rows, "--draws", 10)
