"""``consilience impute``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.common import (
    Refusal,
    listed,
    markers,
    missing_option,
    print_facts,
    screen,
    spoken,
)

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["impute"]


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--random", is_flag=True, help="Draw the values instead of the most probable ones.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="A whole number: the same draws every time."
)
@click.option(
    "--source",
    metavar="COL",
    help="Column that names the source of each row, if it is not named as in the model.",
)
@missing_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help=".csv, .csv.gz or .parquet")
@spoken
def impute(
    model: str,
    data: str,
    random: bool,
    seed: int | None,
    source: str | None,
    missing: tuple[str, ...],
    output: Path | None,
) -> None:
    """Fill the gaps of a file by a network.

    Each row is completed jointly: by its most probable completion, or with --random by a draw from
    the distribution of its completions. Recorded values are never touched. The nodes of the model
    and the source are written, other columns are not; a node that the file lacks is filled in every
    row. A table filled with the most probable values looks surer than it is.

    \b
    Examples:
      consilience impute model.json rows.csv -o filled.csv
      consilience impute model.json rows.csv --random --seed 1
    """
    import consilience as cs
    from consilience.data.write import check_rows_path, write_csv, write_rows

    if output is not None:
        check_rows_path(output)
    if seed is not None and not random:
        raise click.UsageError("--seed goes with --random.")
    net = cs.load(model)
    with screen(stderr=True).status("Reading"):
        table = _read(net, data, source, markers(missing))
    with screen(stderr=True).status("Filling"):
        found = cs.impute(net, table, draws=1 if random else None, seed=seed)
    if output is None:
        write_csv(found.table, sys.stdout.buffer)
    else:
        write_rows(found.table, output)
    filled = {name: f"{n:,}" for name, n in found.n_filled.items() if n}
    facts = {
        "rows": f"{table.n_rows:,}",
        "filled": ", ".join(f"{name} {n}" for name, n in filled.items()) or "nothing was missing",
    }
    if output is not None:
        facts["written to"] = str(output)
    if filled and not random:
        facts["note"] = found.notes[0]
    print_facts(screen(stderr=output is None), facts)


def _read(net: cs.Network, path: str, source: str | None, missing: tuple[str, ...]) -> cs.Table:
    """The rows as variables of the network, with their sources if the network has them."""
    import consilience as cs

    _check_columns(net, path)
    if net.source is None:
        if source is not None:
            raise Refusal(f"the model has no source, so --source {source!r} says nothing.")
        return cs.read(path, schema=net.variables, missing=missing)
    others = {name: v for name, v in net.variables.items() if name != net.source}
    table = cs.read(path, schema=others, source=source or net.source, missing=missing)
    named = cs.Schema(table.variables, cs.Variable(net.source, table.sources))
    return cs.Table(named, table.columns, table.source_codes, table.weights, table.origins)


def _check_columns(net: cs.Network, path: str) -> None:
    """Refuse a file without any node, which would be made up from nothing."""
    import consilience as cs

    if not set(cs.read(path).schema.variables) & set(net.variables):
        raise Refusal(
            f"{path} has no column that is a node of the model; its nodes are "
            f"{listed(list(net.variables))}."
        )
