"""Separators, encodings, standard input and columns on the command line, and notes on the data."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from commands import passed, run

from consilience.cli.group import main

N_ROWS = 40
HEADER = "id;ward;sex;chol"
WARDS = ["NA" if k % 10 == 0 else "ab"[k % 2] for k in range(N_ROWS)]
CHOLS = [k % 4 and 150 + 5 * (7 * k % 23) for k in range(N_ROWS)]
LINES = [f"p{k};{WARDS[k]};{'éa'[k % 3 > 0]};{CHOLS[k]}" for k in range(N_ROWS)]
TEXT = "\n".join([HEADER, *LINES, ""])
FORM = ("--sep", ";", "--encoding", "latin-1")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text(TEXT, encoding="latin-1")
    return path


@pytest.fixture
def model(rows, tmp_path):
    path = tmp_path / "model.json"
    passed(
        "learn", rows, *FORM, "--drop", "id", "--structure", "[ward][sex|ward][chol]", "-o", path
    )
    return path


def test_notes_on_the_data_are_printed_with_the_options_that_help(rows):
    result = run("learn", rows, *FORM, "--structure", "[ward][sex|ward]")
    assert result.exit_code == 0, result.output
    assert "'id' looks like an identifier" in result.stderr
    for option in ("--drop id", "--missing NA", "--missing-in chol=0"):
        assert option in result.stderr
    assert result.output.count("looks like an identifier") == 1


def test_following_the_notes_silences_them(rows):
    options = ("--drop", "id", "--missing", "NA", "--missing-in", "chol=0")
    result = run("learn", rows, *FORM, *options, "--structure", "[ward][sex|ward]")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""


def test_columns_are_chosen(rows, tmp_path):
    path = tmp_path / "model.json"
    chosen = ("--columns", "sex", "--columns", "ward")
    passed(
        "learn", rows, *FORM, *chosen, "--structure", "naive-bayes", "--target", "sex", "-o", path
    )
    assert (
        set(json.loads(passed("score", path, rows, *FORM, *chosen, "--json"))["by_source"]) == set()
    )


@pytest.mark.parametrize("command", ["learn", "score", "fuse", "evaluate", "predict", "impute"])
def test_commands_read_standard_input(command, rows, model):
    arguments = {
        "learn": ["learn", "-", "--structure", "[ward][sex|ward]"],
        "score": ["score", model, "-"],
        "predict": ["predict", model, "-", "--target", "sex", "--drop", "chol"],
        "impute": ["impute", model, "-", "--missing-in", "chol=0"],
        "fuse": ["fuse", "-", "--source", "ward", "--columns", "sex", "--columns", "chol"],
        "evaluate": ["evaluate", "-", "--target", "sex", "--columns", "sex", "--columns", "ward"],
    }[command]
    text = TEXT.encode("latin-1")
    result = CliRunner().invoke(main, [*map(str, arguments), *FORM], input=text)
    assert result.exit_code == 0, result.output


def test_a_dropped_node_is_summed_out(rows, model):
    whole = json.loads(passed("score", model, rows, *FORM, "--json"))
    part = json.loads(passed("score", model, rows, *FORM, "--drop", "chol", "--json"))
    chosen = json.loads(
        passed("score", model, rows, *FORM, "--columns", "sex", "--columns", "ward", "--json")
    )
    assert part["columns_without_values"] == ["chol"]
    assert part["log_likelihood"] == chosen["log_likelihood"] > whole["log_likelihood"]


def test_two_graphs_are_compared_on_such_rows(rows):
    graphs = ("[ward][sex|ward]", "[ward][sex]")
    only = ("--columns", "ward", "--columns", "sex")
    assert "BIC" in passed("compare", *graphs, rows, *FORM, *only)


def test_a_tab_can_be_typed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x\ty\n" + "a\tb\nc\td\n" * 5)
    for name in ("tab", "\\t", "\t"):
        passed("learn", path, "--sep", name, "--structure", "[x][y|x]")


def test_errors_name_the_option(rows, tmp_path):
    other = tmp_path / "rows.csv"
    other.write_text("a;b\n1;2\n")
    assert "--sep ';'" in run("learn", other).stderr
    other.write_bytes("a,b\né,2\n".encode("latin-1"))
    assert "--encoding latin-1" in run("learn", other).stderr
    assert "expected COL=TEXT" in run("learn", rows, *FORM, "--missing-in", "chol").stderr
    assert "unknown column 'nope'" in run("learn", rows, *FORM, "--drop", "nope").stderr


def test_several_tsv_files_are_sources_named_after_them(tmp_path):
    for name in ("rome", "oslo"):
        (tmp_path / f"{name}.tsv").write_text("x\ty\n" + "a\tb\nc\td\n" * 5)
    paths = (tmp_path / "rome.tsv", tmp_path / "oslo.tsv")
    assert "rome, oslo" in passed("learn", *paths, "--structure", "[x][y|x]")
