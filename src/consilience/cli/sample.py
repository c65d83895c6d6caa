"""``consilience sample``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from consilience.cli.common import source_node_option, spoken

__all__ = ["sample"]


@click.command()
@click.argument("model")
@click.argument("n", type=click.IntRange(min=0), metavar="N")
@click.option(
    "--seed", type=click.IntRange(min=0), help="A whole number: the same rows every time."
)
@click.option(
    "--given", multiple=True, metavar="NODE=STATE", help="A state fixed in all rows; repeatable."
)
@source_node_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help=".csv, .csv.gz or .parquet")
@spoken
def sample(
    model: str,
    n: int,
    seed: int | None,
    given: tuple[str, ...],
    source: str | None,
    output: Path | None,
) -> None:
    """Draw rows from a network.

    N rows are printed as csv, or written to the file named by -o. A node can be given if it has no
    parents or if they are all given too; the source always can.

    \b
    Examples:
      consilience sample model.json 1000 --seed 1 -o rows.csv
      consilience sample model.json 5 --given hospital=va
    """
    import consilience as cs
    from consilience.data.write import check_rows_path, write_csv, write_rows

    if output is not None:
        check_rows_path(output)
    fixed = _given(given)
    rows = cs.load(model, source=source).sample(n, given=fixed, seed=seed)
    if output is None:
        write_csv(rows, sys.stdout.buffer)
    else:
        write_rows(rows, output)
        click.echo(f"{n:,} rows written to {output}")


def _given(texts: Iterable[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in texts:
        name, equals, state = text.partition("=")
        if not (name and equals and state):
            raise click.UsageError(f"--given {text!r}: expected NODE=STATE.")
        if name in given:
            raise click.UsageError(f"--given {text!r}: {name!r} is given twice.")
        given[name] = state
    return given
