"""Runs commands in the tests of the command line."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from consilience.cli import main


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def passed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    """The one line of an error."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def misused(*arguments: object) -> str:
    """The last line after a wrong use of options."""
    result = run(*arguments)
    assert result.exit_code == 2
    return result.stderr.splitlines()[-1]
