"""What the commands share: how they fail, their options, and where they print.

====  ==========================================================================================
0     done
1     a mistake in what is read, or a file that is not there or cannot be written: one line says so
2     a command that is used wrongly: an unknown option, options that do not go together
130   interrupted, also if the best graph so far was written
====  ==========================================================================================

Anything else is a bug and shows its traceback.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from consilience import ConsilienceError
from consilience.cli.terminal import echo, on_one_line, told_of_compiling

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

    import consilience as cs

__all__ = [
    "INTERRUPTED",
    "Refusal",
    "data_argument",
    "grid_of",
    "listed",
    "markers",
    "missing_option",
    "model_of",
    "partial_option",
    "parts",
    "print_facts",
    "print_notes",
    "row_source_option",
    "save_figure",
    "screen",
    "source_column_option",
    "source_node_option",
    "source_of_file",
    "spoken",
    "weight_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

INTERRUPTED = 130

PLAIN_WIDTH = 100  # columns of output that does not go to a terminal
N_NAMES = 8
N_NOTES = 5
DPI = 150


class Refusal(click.ClickException):
    """One line on the error stream, exit code 1."""

    exit_code = 1

    def show(self, file: Any = None) -> None:
        """Print the line."""
        echo(f"error: {' '.join(self.message.split())}", err=True)


def spoken(command: Command) -> Command:
    """The command with its expected errors turned into one line each."""

    @functools.wraps(command)
    def wrapped(*args: Any, **choices: Any) -> Any:
        try:
            with told_of_compiling():
                return command(*args, **choices)
        except ConsilienceError as problem:
            from consilience.cli.advice import as_options

            raise Refusal(as_options(str(problem))) from problem
        except OSError as problem:
            if problem.filename is None:  # a closed pipe, which click knows how to treat
                raise
            raise Refusal(f"{problem.strerror}: {str(problem.filename)!r}.") from problem
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            sys.exit(INTERRUPTED)

    return wrapped  # type: ignore[return-value]


data_argument = click.argument("data", nargs=-1, required=True, metavar="DATA...")
source_column_option = click.option(
    "--source", metavar="COL", help="Column that names the source of each row."
)
row_source_option = click.option(
    "--source",
    metavar="COL",
    help="Column that names the source of each row, if it is not named as in the model.",
)
source_node_option = click.option(
    "--source", metavar="NODE", help="Node that is the source, for files that do not say it."
)
weight_option = click.option(
    "--weight", metavar="COL", help="Column that says how many rows each row stands for."
)
partial_option = click.option(
    "--partial", is_flag=True, help="Allow rows that lack columns of nodes: nothing is known there."
)
missing_option = click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that stands for a missing value, instead of '?'; repeatable. An empty field is "
    "always missing.",
)


def parts(paths: Sequence[str], source: str | None) -> Any:
    """What ``read`` takes: a path, paths whose rows are appended, or a path for each source."""
    if len(paths) == 1:
        return paths[0]
    if source is not None:
        return list(paths)
    by_source: dict[str, str] = {}
    for path in paths:
        name = source_of_file(path)
        if name in by_source:
            raise Refusal(
                f"two files would be the source {name!r}: {by_source[name]!r} and {path!r}. "
                "Rename one, or name the column of the sources with --source."
            )
        by_source[name] = path
    return by_source


def source_of_file(path: str) -> str:
    """The source that a file is named after."""
    name = Path(path).name
    for extension in (".gz", ".csv", ".tsv", ".parquet"):
        name = name.removesuffix(extension)
    return name


def markers(missing: tuple[str, ...]) -> tuple[str, ...]:
    """The texts that stand for a missing value."""
    return ("", *missing) if missing else ("", "?")


def model_of(text: str, name: str, others: str = "") -> cs.DAG | cs.Network:
    """The graph of a model string, or the network in a file; ``name`` says in errors what it is."""
    import consilience as cs

    if text.lstrip().startswith("["):
        return cs.DAG.parse(text)
    if not Path(text).is_file():
        raise Refusal(f"{name} is not a file, nor a model string such as '[A][B|A]'{others}.")
    net = cs.load(text)
    if isinstance(net, cs.dynamic.DynamicNetwork):
        raise Refusal(f"{text} holds a network in time, which this command does not take.")
    return net


def screen(*, stderr: bool = False) -> Console:
    """Where tables are printed: as wide as the terminal, or plain text of fixed width."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    is_fixed = not stream.isatty() and "COLUMNS" not in os.environ
    width = PLAIN_WIDTH if is_fixed else None
    return Console(stderr=stderr, highlight=False, emoji=False, width=width)


def grid_of(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_left: int = 1) -> Grid:
    """A table for the screen: the first columns to the left, numbers to the right."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for i, name in enumerate(header):
        grid.add_column(Text(on_one_line(name)), justify="left" if i < n_left else "right")
    for row in rows:
        grid.add_row(
            *(Text(on_one_line(cell)) for cell in row)
        )  # as text, since names may hold what looks like markup
    return grid


def print_facts(console: Console, facts: Mapping[str, str]) -> None:
    """Names and values, one line each."""
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        line = on_one_line(f"{name:<{width}}{value}")
        console.print(line, markup=False, soft_wrap=True)


def print_notes(notes: Sequence[str], *, err: bool = False) -> None:
    """The first few notes, and how many more there are."""
    from consilience.cli.advice import as_options

    for note in notes[:N_NOTES]:
        echo(f"note: {as_options(note)}", err=err)
    if len(notes) > N_NOTES:
        more = f"note: ... and {len(notes) - N_NOTES:,} more; a .json file keeps them all."
        echo(more, err=err)


def save_figure(axes: Any, path: Path) -> None:
    """Write the figure of what ``cs.plot`` gives."""
    import consilience as cs

    first = axes.flat[0] if hasattr(axes, "flat") else axes
    with cs.files.written(path) as stream:
        first.figure.savefig(stream, format=path.suffix[1:].lower(), dpi=DPI)


def listed(names: Sequence[str]) -> str:
    """Names in a row, cut after a few: ``a, b and 30 more``."""
    shown = ", ".join(names[:N_NAMES])
    return shown if len(names) <= N_NAMES else f"{shown} and {len(names) - N_NAMES} more"
