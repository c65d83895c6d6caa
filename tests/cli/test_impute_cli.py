"""Filling a file on the command line, and the choice of what learning does about gaps."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import misused, passed, refused, run, write

import consilience as cs

ROWS = "place,cold,cough\nrome,yes,yes\nrome,,yes\noslo,no,\noslo,no,no\n"


@pytest.fixture
def model(tmp_path: Path) -> str:
    rows = cs.read(
        {"place": ["rome", "oslo"] * 20, "cold": ["yes", "no"] * 20, "cough": ["yes", "no"] * 20},
        source="place",
    )
    path = tmp_path / "model.json"
    cs.save(cs.fit(cs.DAG([("cold", "cough")]), rows, cs.Dirichlet(ess=1)), path)
    return str(path)


def test_gaps_are_filled_and_recorded_values_stay(model, tmp_path):
    rows = write(tmp_path, "rows.csv", ROWS)
    out = tmp_path / "filled.csv"
    text = passed("impute", model, rows, "-o", out)
    assert out.read_text().split() == [
        "place,cold,cough",
        "rome,yes,yes",
        "rome,yes,yes",
        "oslo,no,no",
        "oslo,no,no",
    ]
    assert "cold 1, cough 1" in text


def test_filled_rows_are_printed_and_the_facts_go_elsewhere(model, tmp_path):
    result = run("impute", model, write(tmp_path, "rows.csv", ROWS), "--random", "--seed", 1)
    assert result.stdout.startswith("place,cold,cough\n")
    assert result.stdout.count("\n") == 5
    assert "filled" in result.stderr


def test_another_name_of_the_source_column(model, tmp_path):
    rows = write(tmp_path, "rows.csv", ROWS.replace("place", "town"))
    assert passed("impute", model, rows, "--source", "town").startswith("town,cold,cough\n")


def test_a_seed_without_draws_and_an_unknown_state_are_refused(model, tmp_path):
    rows = write(tmp_path, "rows.csv", ROWS)
    assert "--seed goes with --random" in misused("impute", model, rows, "--seed", 1)
    bad = write(tmp_path, "bad.csv", ROWS.replace("rome,yes,yes", "rome,perhaps,yes"))
    assert "'perhaps'" in refused("impute", model, bad)


@pytest.mark.parametrize(
    ("choice", "method"),
    [("em", "EM() with"), ("vb", "VariationalBayes() with"), ("available", "HDC()")],
)
def test_learning_says_what_it_did_about_gaps(choice, method, tmp_path):
    rows = write(
        tmp_path, "rows.csv", ROWS.replace("place,", "").replace("rome,", "").replace("oslo,", "")
    )
    text = passed("learn", rows, "--structure", "[cold][cough|cold]", "--gaps", choice)
    assert method in text


def test_a_file_without_any_node_is_refused(model, tmp_path):
    other = write(tmp_path, "other.csv", "shoe\n1\n")
    assert "no column that is a node" in refused("impute", model, other, "--partial")


def test_a_file_without_gaps_comes_back_as_it_is(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "place,cold,cough\nrome,yes,yes\nrome,yes,yes\noslo,no,no\n")
    assert passed("impute", model, rows) == Path(rows).read_text()


def test_sources_that_are_not_recorded_or_not_known_are_told(model, tmp_path):
    rows = write(tmp_path, "rows.csv", "cold,cough\nyes,\n")
    assert "summed out" in passed("impute", model, rows, "-o", tmp_path / "one.csv")
    rows = write(tmp_path, "more.csv", "place,cold,cough\nparis,yes,\n")
    assert "paris (1 row): not known" in passed("impute", model, rows, "-o", tmp_path / "two.csv")


def test_advice_is_given_in_options(tmp_path):
    rows = write(tmp_path, "rows.csv", "ill,age\nyes,1.5\nno,2.25\nyes,\nno,0.75\nyes,3.5\n")
    message = refused("learn", rows, "--structure", "[age][ill|age]")
    assert "--gaps available" in message
    assert "cs." not in message
