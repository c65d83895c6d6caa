"""``consilience impute``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.common import (
    Refusal,
    check_columns,
    listed,
    markers,
    missing_option,
    partial_option,
    print_facts,
    row_source_option,
    screen,
    spoken,
)
from consilience.cli.outputs import OutputFile, check_outputs, force_option
from consilience.cli.terminal import print_rows

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
@row_source_option
@missing_option
@partial_option
@click.option("-o", "--output", type=OutputFile(), help=".csv, .csv.gz or .parquet")
@force_option
@spoken
def impute(
    model: str,
    data: str,
    random: bool,
    seed: int | None,
    source: str | None,
    missing: tuple[str, ...],
    partial: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Fill the gaps of a file by a network.

    Each row is completed jointly: by its most probable completion, or with --random by a draw from
    the distribution of its completions. Recorded values are never touched. The nodes of the model
    and the source are written, other columns are not; a node that the file lacks is an error, or
    filled in every row with --partial. A source that is not recorded is summed out. A table filled
    with the most probable values looks surer than it is.

    \b
    Examples:
      consilience impute model.json rows.csv -o filled.csv
      consilience impute model.json rows.csv --random --seed 1
    """
    import consilience as cs
    from consilience.data.write import check_rows_path, write_rows

    if output is not None:
        check_rows_path(output)
    check_outputs([output], [model, data], force=force)
    if seed is not None and not random:
        raise click.UsageError("--seed goes with --random.")
    net = cs.load(model)
    check_columns(net, [data], (), partial=partial)
    with screen(stderr=True).status("Reading"):
        table = _read(net, data, source, markers(missing))
    with screen(stderr=True).status("Filling"):
        found = cs.impute(net, table, draws=1 if random else None, seed=seed)
    if output is None:
        print_rows(found.table)
    else:
        write_rows(found.table, output)
    filled = {name: f"{n:,}" for name, n in found.n_filled.items() if n}
    facts = {
        "rows": f"{table.n_rows:,}",
        "filled": ", ".join(f"{name} {n}" for name, n in filled.items()) or "nothing was missing",
    }
    facts |= _on_sources(net, table)
    if output is not None:
        facts["written to"] = str(output)
    if filled and not random:
        facts["note"] = found.notes[0]
    print_facts(screen(stderr=output is None), facts)


def _read(net: cs.Network, path: str, source: str | None, missing: tuple[str, ...]) -> cs.Table:
    """The rows as variables of the network, with their sources if the file has them.

    Which columns may lack has been checked.
    """
    import consilience as cs
    from consilience.data.paths import column_names

    columns = set(column_names(Path(path)))
    others = {name: v for name, v in net.variables.items() if name != net.source}
    if not columns & set(others):
        raise Refusal(
            f"{path} has no column that is a node of the model; its nodes are "
            f"{listed(list(others))}."
        )
    if net.source is None and source is not None:
        raise Refusal(f"the model has no source, so --source {source!r} says nothing.")
    named = source or net.source
    if named is None or (source is None and named not in columns):
        return cs.read(path, schema=others, missing=missing, partial=True)
    known = cs.Variable(named, net.variables[str(net.source)].states)
    table = cs.read(
        path, schema=cs.Schema(others, known), source=named, missing=missing, partial=True
    )
    schema = cs.Schema(table.variables, cs.Variable(str(net.source), table.sources))
    return cs.Table(schema, table.columns, table.source_codes, table.weights, table.origins)


def _on_sources(net: cs.Network, table: cs.Table) -> dict[str, str]:
    """What was done about sources that are not recorded, or that the model does not know."""
    from consilience.data.variable import NEW_SOURCE
    from consilience.inference.known_sources import unknown_sources

    if net.source is None:
        return {}
    if table.source is None:
        return {"sources": f"no column {net.source!r}: the source was summed out"}
    node = net.variables[net.source]
    unknown = unknown_sources(table, node)
    if not unknown:
        return {}
    what = f"taken as {NEW_SOURCE!r}" if NEW_SOURCE in node.discrete_states else "summed out"
    return {"sources": f"{listed(list(unknown))}: not known to the model, {what}"}
