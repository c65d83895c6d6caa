"""The commands about answers print a table, and the same numbers as JSON."""

from __future__ import annotations

import json

import pytest
from commands import passed, refused

import consilience as cs


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rows = {
        "a": {"x": ["no"] * 45 + ["yes"] * 5, "y": ["lo"] * 40 + ["hi"] * 10},
        "b": {"x": ["no"] * 10 + ["yes"] * 40, "y": ["lo"] * 12 + ["hi"] * 38},
    }
    path = tmp_path_factory.mktemp("answers") / "model.json"
    cs.save(cs.fit(cs.DAG([("x", "y")]), cs.read(rows), cs.HDMCS()), path)
    return str(path)


COMMANDS = {
    "intervals": ["x", "--given", "y=hi", "--draws", "50"],
    "sensitivity": ["x=yes", "--given", "y=hi", "--rows", "3"],
    "information-value": ["x", "--questions", "2", "--cost", "y=2"],
    "conflict": ["--given", "x=no", "--given", "y=hi"],
    "explain": ["x=yes", "--given", "y=hi"],
    "differences": [],
    "arc-strengths": [],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_a_table_and_json(command, model):
    table = passed(command, model, *COMMANDS[command])
    told = json.loads(passed(command, model, *COMMANDS[command], "--json"))
    assert told["rows"]
    assert told["title"].split()[0] in table


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_compares_two_sources(command, model):
    kept = [text for text in COMMANDS[command] if text not in ("--questions", "--cost", "2", "y=2")]
    found = passed(command, model, *kept, "--between", "a", "b", "--json")
    assert json.loads(found)["between"] == ["a", "b"]


def test_differences_are_named(model):
    told = json.loads(passed("differences", model, "--json"))
    assert "x" in told["differing"]
    assert "chance" in passed("differences", model, "--by-source")


def test_a_cost_that_is_no_number_is_refused(model):
    assert "expected NODE=COST" in refused("information-value", model, "x", "--cost", "y=dear")
