"""Advice in an error works where it is given."""

from __future__ import annotations

import click
import pytest
from commands import refused, write

import consilience as cs
from consilience.cli import main
from consilience.cli.advice import as_options


def said(command: str, message: str) -> str:
    with click.Context(main.get_command(None, command)):
        return as_options(message)


@pytest.mark.parametrize(
    ("command", "message", "expected"),
    [
        ("learn", "Too large. Use cs.BIC(), or cs.scores.K2().", "--score bic, or --score k2."),
        ("query", "Too large. Use cs.BIC(), or cs.scores.K2().", "Too large."),
        ("learn", "x is a number. Read it with discretize=.", "Read it with --discretize."),
        ("predict", "x is a number. Read it with discretize=.", "x is a number."),
        ("learn", "Too many. Use fewer, or raise memory_limit.", "Too many. Use fewer."),
        ("query", "Too many. Raise memory_limit.", "Too many. Use fewer parents or states."),
        ("learn", "No. Use cs.searches.OrderSearch(max_parents=3).", "No. Use --structure order."),
        ("learn", "No. Lower max_parents, or forbid arcs.", "Lower --max-parents, or forbid arcs."),
        ("fuse", "No rows. Use cs.fusion.EqualWeights().", "No rows. Use --weights equal."),
        ("learn", "No. Use fewer, or a plain prior: cs.Dirichlet().", "--parameters dirichlet."),
        ("predict", "No. Read the table with schema=net.variables.", "No."),
    ],
)
def test_advice_is_said_in_the_options_of_the_command_or_not_at_all(command, message, expected):
    text = said(command, message)
    assert text.endswith(expected)
    assert " cs." not in text


def test_a_network_too_large_for_memory_is_refused_without_advice_to_raise_what_there_is_not(
    tmp_path,
):
    nodes = [cs.Variable(f"x{i}", tuple("abcdefghij")) for i in range(12)]
    child = cs.Variable("y", ("n", "y"))
    local = [cs.Categorical(node, (), [0.1] * 10) for node in nodes]
    logits = [cs.Categorical(child, (nodes[0],), [[0.5, 0.5]] * 10)]
    cs.save(cs.Network.of([*local, *logits]), tmp_path / "net.json")
    text = refused("query", tmp_path / "net.json", *(node.name for node in nodes))
    assert "would need" in text
    assert "memory_limit" not in text


def test_a_column_of_numbers_is_refused_with_an_option_of_the_command(tmp_path):
    rows = write(tmp_path, "rows.csv", "a,b\n1.5,x\n2.5,y\n3.5,x\n4.5,y\n")
    text = refused("learn", rows, "--structure", "tan", "--target", "a")
    assert "--discrete" in text
    assert "discrete=" not in text
