"""How a command reads rows: the options, and the table they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from consilience import ConsilienceError
from consilience.cli.bundles import bundled
from consilience.cli.common import (
    markers,
    missing_option,
    parts,
    print_notes,
    screen,
    source_column_option,
    weight_option,
)
from consilience.cli.engines import is_scanned, scan_rows
from consilience.cli.file_options import Files
from consilience.cli.quoting import name_and_rest

if TYPE_CHECKING:
    import consilience as cs
    from consilience.data.discretize import Discretizer

__all__ = ["Reading", "discretizer_of", "read_rows", "reading_options", "rows_of"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the options say about the columns."""

    source: str | None
    weight: str | None
    missing: tuple[str, ...]
    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    discretize: tuple[str, ...]


reading_options: Final = bundled(
    "reading",
    Reading,
    [
        source_column_option,
        weight_option,
        missing_option,
        click.option(
            "--discrete", multiple=True, metavar="COL", help="Column to be read as discrete."
        ),
        click.option(
            "--continuous", multiple=True, metavar="COL", help="Column to be read as continuous."
        ),
        click.option(
            "--discretize",
            multiple=True,
            metavar="COL=HOW",
            help="Cut a column of numbers into states: quantiles:5, width:5, cuts:120,140 or "
            "mdlp:TARGET.",
        ),
    ],
)


def read_rows(data: Sequence[str], reading: Reading, files: Files) -> cs.Table:
    """The table of all files; what a reader should know of it is printed to the error stream."""
    import consilience as cs

    with screen(stderr=True).status("Reading"):
        table = cs.read(parts(data, reading.source), **_arguments(reading, files))
    print_notes(table.notes, err=True)
    return table


def rows_of(
    data: Sequence[str], reading: Reading, files: Files, engine: str | None
) -> cs.Table | cs.engines.Scan:
    """The table of all files, or the rows where they are, as ``--engine`` says."""
    if not is_scanned(data, engine):
        return read_rows(data, reading, files)
    with screen(stderr=True).status("Looking at the rows"):
        rows = scan_rows(parts(data, reading.source), engine, **_arguments(reading, files))
    print_notes(rows.notes, err=True)
    return rows


def _arguments(reading: Reading, files: Files) -> dict[str, Any]:
    return {
        "source": reading.source,
        "weight": reading.weight,
        "discrete": reading.discrete,
        "continuous": reading.continuous,
        "missing": markers(reading.missing),
        "discretize": dict(map(discretizer_of, reading.discretize)),
        **files.reading(),
    }


def discretizer_of(text: str) -> tuple[str, Discretizer]:
    """A column and how it is cut, from a text such as ``age=quantiles:5``."""
    import consilience as cs

    column, how = name_and_rest(f"--discretize {text!r}", text, "=")
    kind, _, value = how.partition(":")
    try:
        if kind == "quantiles":
            return column, cs.Quantiles(int(value))
        if kind == "width":
            return column, cs.data.EqualWidth(int(value))
        if kind == "cuts":
            return column, cs.Cuts([float(point) for point in value.split(",")])
        if kind == "mdlp" and value:
            return column, cs.data.MDLP(value)
    except ConsilienceError:
        raise
    except ValueError as problem:
        raise click.UsageError(f"--discretize {text!r}: {problem}.") from problem
    raise click.UsageError(
        f"--discretize {text!r}: expected COL=quantiles:5, COL=width:5, COL=cuts:120,140 or "
        "COL=mdlp:TARGET."
    )
