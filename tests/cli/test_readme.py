from __future__ import annotations

import re
import shlex
from pathlib import Path

from click.testing import CliRunner
from doc_pages import run_page, shell_lines

import consilience as cs
from consilience.cli import main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_python_example_runs_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page(README)
    assert cs.load("hospitals.json").source == "hospital"
    assert names["net"].dag.without("hospital") == names["dag"]


def expanded(argument: str) -> list[str]:
    """The files that a shell would put in place of a pattern."""
    return sorted(map(str, Path().glob(argument))) if "*" in argument else [argument]


def test_the_commands_run_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    commands = [shlex.split(line) for line in shell_lines(README) if line.startswith("consil")]
    assert len(commands) > 8
    said = ""
    for _, *arguments in commands:
        result = CliRunner().invoke(main, [each for one in arguments for each in expanded(one)])
        assert result.exit_code == 0, (arguments, result.output)
        said += result.output
    assert "harbor (150 rows): not known to the model, taken as 'new_source'" in said


def test_pictures_and_links_are_there():
    text = README.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text) + re.findall(r'src="([^"]+)"', text)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
