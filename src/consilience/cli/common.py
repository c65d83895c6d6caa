"""What the commands share: how they fail, their options, and where they print.

A mistake ends in one line on the error stream and exit code 2, an interrupt with code 130; anything
else is a bug and shows its traceback.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from consilience import _write
from consilience.cli.terminal import echo, on_one_line
from consilience.errors import ConsilienceError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

    import consilience as cs

__all__ = [
    "Refusal",
    "as_options",
    "check_columns",
    "check_model_path",
    "data_argument",
    "given_of",
    "given_option",
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
    "spoken",
    "weight_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

PLAIN_WIDTH = 100  # columns of output that does not go to a terminal
N_NAMES = 8
N_NOTES = 5
DPI = 150


class Refusal(click.ClickException):
    """One line on the error stream, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line."""
        echo(f"error: {' '.join(self.message.split())}", err=True)


def spoken(command: Command) -> Command:
    """The command with its expected errors turned into one line each."""

    @functools.wraps(command)
    def wrapped(*args: Any, **choices: Any) -> Any:
        try:
            return command(*args, **choices)
        except ConsilienceError as problem:
            raise Refusal(as_options(str(problem))) from problem
        except OSError as problem:
            if problem.filename is None:  # a closed pipe, which click knows how to treat
                raise
            raise Refusal(f"{problem.strerror}: {str(problem.filename)!r}.") from problem
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            sys.exit(130)

    return wrapped  # type: ignore[return-value]


AS_OPTIONS = {
    "gaps=cs.AvailableCases()": "--gaps available",
    "gaps=cs.EM()": "--gaps em",
    "cs.gaps.VariationalBayes()": "--gaps vb",
    "cs.scores.PNAL()": "--score pnal",
    "cs.scores.NAL()": "--score nal",
    "cs.scores.BySource(cs.BIC())": "--score by-source:bic",
    "cs.BIC()": "--score bic",
    "cs.BDeu()": "--score bdeu",
    "cs.AIC()": "--score aic",
    "cs.scores.EBIC(n_variables)": "--score ebic",
    "logistic=True": "--logistic",
    "table.pooled()": "rows that name none",
    "discretize=": "--discretize",
    "(net.sample), or raise memory_limit (of a query: by=cs.inference.Exact(memory_limit=...))": (
        "(consilience sample)"
    ),
    ", or raise memory_limit (of a query: by=cs.inference.Exact(memory_limit=...))": "",
    ", or raise memory_limit": "",
    " Raise memory_limit, or use": " Use",
    " Raise memory_limit.": " Use fewer parents or states.",
}
"""What the library advises in Python, and how it is said here."""


def as_options(message: str) -> str:
    """What the library says, with its advice in options."""
    for python, option in AS_OPTIONS.items():
        message = message.replace(python, option)
    return message


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
given_option = click.option(
    "--given",
    multiple=True,
    metavar="NODE=STATE",
    help="What is known; repeatable. NODE=A|B, or the same node again, means one of these states. "
    "Of a continuous node it is a number.",
)


def given_of(net: cs.Network, texts: Iterable[str]) -> dict[str, list[str] | float]:
    """What ``--given`` says by node: the states it leaves open, or the number.

    What stands after the first ``=`` is a state of the node if the node has it; otherwise it is
    split at ``|``. A node that is given again may have those states too. Of a continuous node it is
    a number.
    """
    from consilience import _check

    states: dict[str, list[str]] = {}
    numbers: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise click.UsageError(f"--given {text!r}: expected NODE=STATE.")
        _check.known("node", [name], net.variables)
        variable = net.variables[name]
        if variable.is_continuous:
            if name in numbers:
                raise Refusal(f"--given {text!r}: {name!r} is continuous and was given before.")
            numbers[name] = _number(name, value, text)
        else:
            known = variable.discrete_states
            named = [value] if value in known else value.split("|")
            states.setdefault(name, []).extend(known[variable.code(state)] for state in named)
    return {**states, **numbers}


def _number(name: str, value: str, text: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Refusal(
            f"--given {text!r}: {name!r} is continuous; a number is wanted, such as {name}=1.5."
        )
    return number


def parts(paths: Sequence[str], source: str | None) -> Any:
    """What ``read`` takes: a path, paths whose rows are appended, or a path for each source."""
    if len(paths) == 1:
        return paths[0]
    if source is not None:
        return list(paths)
    by_source: dict[str, str] = {}
    for path in paths:
        name = Path(path).name
        for extension in (".gz", ".csv", ".parquet"):
            name = name.removesuffix(extension)
        if name in by_source:
            raise Refusal(
                f"two files would be the source {name!r}: {by_source[name]!r} and {path!r}. "
                "Rename one, or name the column of the sources with --source."
            )
        by_source[name] = path
    return by_source


def check_columns(
    net: cs.Network, paths: Sequence[str], not_needed: Sequence[str | None], *, partial: bool
) -> None:
    """Refuse a file that lacks the column of a node, unless that is said to be right.

    Columns that are not needed may lack, but not be misspelt.
    """
    from consilience.data.paths import column_names
    from consilience.data.spelling import misspelt

    for path in () if partial else paths:
        names = column_names(Path(path))
        others = [name for name in names if name not in (*net.variables, *not_needed)]
        absent = [name for name in net.variables if name not in (*names, net.source)]
        lacking = [n for n in absent if n not in not_needed or misspelt(n, others) is not None]
        if lacking:
            near = misspelt(lacking[0], others)
            hint = "" if near is None else f" Is it {near!r}?"
            rest = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
            raise Refusal(
                f"{path} has no column {lacking[0]!r}{rest}, which is a node of the model.{hint} "
                "If it was not recorded, say so with --partial."
            )


def markers(missing: tuple[str, ...]) -> tuple[str, ...]:
    """The texts that stand for a missing value."""
    return ("", *missing) if missing else ("", "?")


def check_model_path(path: Path) -> None:
    """Refuse a file whose extension does not say how a model is written."""
    from consilience import _check
    from consilience.files.registry import FORMATS

    if Path(path.name.lower().removesuffix(".gz")).suffix not in FORMATS:
        raise Refusal(
            f"a model cannot be written to {path.name!r}. Known extensions: "
            f"{_check.listed(FORMATS)}, each also with '.gz'."
        )


def model_of(text: str, name: str, others: str = "") -> cs.DAG | cs.Network:
    """The graph of a model string, or the network in a file; ``name`` says in errors what it is."""
    import consilience as cs

    if text.lstrip().startswith("["):
        return cs.DAG.parse(text)
    if not Path(text).is_file():
        raise Refusal(f"{name} is not a file, nor a model string such as '[A][B|A]'{others}.")
    return cs.load(text)


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


def print_notes(notes: Sequence[str]) -> None:
    """The first few notes, and how many more there are."""
    for note in notes[:N_NOTES]:
        echo(f"note: {note}")
    if len(notes) > N_NOTES:
        echo(f"note: ... and {len(notes) - N_NOTES:,} more; a .json file keeps them all.")


def save_figure(axes: Any, path: Path) -> None:
    """Write the figure of what ``cs.plot`` gives."""
    first = axes.flat[0] if hasattr(axes, "flat") else axes
    with _write.written(path) as stream:
        first.figure.savefig(stream, format=path.suffix[1:].lower(), dpi=DPI)


def listed(names: Sequence[str]) -> str:
    """Names in a row, cut after a few: ``a, b and 30 more``."""
    shown = ", ".join(names[:N_NAMES])
    return shown if len(names) <= N_NAMES else f"{shown} and {len(names) - N_NAMES} more"
