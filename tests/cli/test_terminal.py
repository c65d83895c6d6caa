r"""Names that hold what a terminal would obey are written out by every command."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from commands import run

import consilience as cs
from consilience import cli
from consilience.cli import terminal

RED = "\x1b[31mred\x1b[0m"
TITLE = "\x1b]0;owned\x07yes\r\u202e\x9b2J"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def files(tmp_path):
    columns = {RED: [TITLE, "no"] * 10, "y": [TITLE, "no", RED, "no"] * 5, "place": ["a", RED] * 10}
    table = cs.read(columns, source="place")
    net = cs.fit(cs.DAG([(RED, "y")]), table, cs.Dirichlet(ess=1))
    cs.save(net, tmp_path / "net.json")
    table.to_frame().to_csv(tmp_path / "rows.csv", index=False, quoting=csv.QUOTE_ALL)
    table.take(table.source_codes == 0).to_frame().to_csv(
        tmp_path / "other.csv", index=False, quoting=csv.QUOTE_ALL
    )
    return tmp_path


COMMANDS = [
    ("query", "net.json", "y"),
    ("query", "net.json", "y", "--given", f"{RED}={TITLE}", "--json"),
    ("query", "net.json", RED, "--given", f"y={RED}"),
    ("query", "net.json", RED, "--given", "y=what\x1b[2J"),
    ("query", "net.json", "\x1b[2J"),
    ("mpe", "net.json"),
    ("mpe", "net.json", "--json"),
    ("show", "net.json"),
    ("show", "net.json", "--node", "y"),
    ("learn", "rows.csv", "--source", "place", "-o", "new.json"),
    ("score", "net.json", "rows.csv", "--source", "place"),
    ("predict", "net.json", "rows.csv", "--target", "y", "-o", "out.csv"),
    ("impute", "net.json", "rows.csv", "-o", "out.csv"),
    ("compare", "net.json", "net.json"),
    ("compare", "net.json", "[\x1b[31mred|y][y]"),
    ("evaluate", "rows.csv", "--target", "y", "--folds", "2", "--structure", "naive-bayes"),
    ("fuse", "rows.csv", "--source", "place"),
    ("convert", "net.json", "net.bif"),
    ("identify", "net.json", "y", "--do", RED),
    ("identify", "net.json", "y", "--do", RED, "--latent", f"{RED}:y", "--json"),
    ("effect", "net.json", "y", "--do", f"{RED}={TITLE}", "--state", RED, "--draws", "50"),
    ("counterfactual", "net.json", "y", "--do", f"{RED}=no", "--given", f"{RED}={TITLE}"),
    ("fairness", "net.json", "rows.csv", *("--protected", RED, "--target", "y", "--positive", RED)),
    ("score", "net.json", "other.csv"),
    ("predict", "net.json", "rows.csv", "--target", "\x1b[2J"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(ascii, command)))
def test_no_command_prints_what_a_terminal_obeys(files, monkeypatch, command):
    monkeypatch.chdir(files)
    result = run(*command)
    assert result.exit_code in (0, 1), result.output
    assert not isinstance(result.exception, BaseException) or result.exit_code == 1
    assert not OBEYED.search(result.output), ascii(OBEYED.search(result.output))


def test_rows_in_a_pipe_keep_their_names(files):
    result = run("sample", files / "net.json", 20, "--seed", 1)
    assert RED in result.stdout


def test_rows_on_a_terminal_do_not(files, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.print_rows(cs.load(files / "net.json").sample(20, seed=1))
    shown = capsys.readouterr().out
    assert "\\x1b[31mred" in shown
    assert "\x1b" not in shown


def test_all_commands_print_through_one_place():
    for file in Path(cli.__file__).parent.glob("*.py"):
        if file.name not in ("terminal.py", "group.py"):
            assert "click.echo" not in file.read_text(), file.name
