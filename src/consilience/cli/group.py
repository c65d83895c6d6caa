"""The command ``consilience`` with all its subcommands.

Every subcommand is loaded when it is asked for, and imports what it needs when it runs, so that a
mistake is told at once.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NoReturn

import click

from consilience import __version__

__all__ = ["main"]

OWN_FILES: Final = (
    *("learn", "query", "mpe", "predict", "impute", "sample", "convert", "show", "score"),
    *("evaluate", "compare", "explore", "fuse", "strength", "store", "demo", "warmup", "changes"),
    *("identify", "effect", "counterfactual", "fairness", "report", "site"),
)
"""The commands that are a file of their name."""

COMMANDS: Final = {
    **{name: (name, name) for name in OWN_FILES},
    "forecast": ("sequences", "forecast"),
    "filter": ("sequences", "filter_"),
    "smooth": ("sequences", "smooth"),
    "intervals": ("answers", "intervals"),
    "sensitivity": ("answers", "sensitivity"),
    "information-value": ("answers", "information_value"),
    "conflict": ("answers", "conflict"),
    "explain": ("answers", "explain"),
    "differences": ("answers", "differences"),
    "arc-strengths": ("answers", "arc_strengths"),
}
"""The commands, each with its file and its name there."""

LOST: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What a system says when standard output takes no more."""


class Commands(click.Group):
    """The commands; when they end, what they print is out, or one line says that it is not.

    A reader that closed the pipe has seen enough: exit code 1, and nothing is said.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        file, name = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"consilience.cli.{file}"), name)
        return command

    def main(self, *arguments: Any, **choices: Any) -> Any:
        """Run a command."""
        _open_closed()
        try:
            try:
                return super().main(*arguments, **choices)
            finally:
                sys.stdout.flush()
        except OSError as problem:
            if problem.filename is not None or problem.errno not in (errno.EPIPE, *LOST):
                raise
            _give_up(problem)


def _open_closed() -> None:
    """Let what goes to a stream that was closed beforehand be dropped."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - open to the end


def _give_up(problem: OSError) -> NoReturn:
    """Say what is lost, unless nobody reads, and drop what could not be written."""
    if problem.errno != errno.EPIPE:
        with suppress(OSError):
            click.echo(f"error: standard output cannot be written: {problem.strerror}.", err=True)
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="consilience")
def main() -> None:
    """Bayesian networks learned from many sources.

    \b
    Start with:  consilience demo
    Then:        consilience learn rows.csv --target disease -o model.json
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a letter shows "?" for it
            stream.reconfigure(errors="replace")
