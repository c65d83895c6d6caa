"""``consilience impute``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.common import Refusal, listed, print_facts, screen, spoken
from consilience.cli.engines import check_row_inputs, engine_option, is_scanned
from consilience.cli.file_options import Files, file_options
from consilience.cli.model_rows import (
    RowChoices,
    as_they_are,
    check_columns,
    row_options,
    rows_where_they_are,
    sources_of,
)
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.sequences import static_model
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
@row_options
@file_options
@engine_option
@click.option("-o", "--output", type=OutputFile(), help=".csv, .csv.gz or .parquet")
@force_option
@spoken
def impute(
    model: str,
    data: str,
    random: bool,
    seed: int | None,
    *,
    choices: RowChoices,
    files: Files,
    engine: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Fill the gaps of a file by a network.

    Each row is completed jointly: by its most probable completion, or with --random by a draw from
    the distribution of its completions. Recorded values are never touched: rows, columns and
    numbers stay as they are and where they are, and columns that are no nodes are kept. A gap in a
    column that the model has cut gets a number that the file records in the interval found. A node
    that the file lacks is an error, or filled in every row with --partial. A source that is not
    recorded is summed out. A table filled with the most probable values looks surer than it is.

    A store, a folder or a pattern such as 'new/*.parquet', and any DATA with --engine, is read and
    filled part by part: memory does not grow with the number of rows. Columns that are no nodes are
    left out then, and the filled rows go to the file named by -o.

    \b
    Examples:
      consilience impute model.json rows.csv -o filled.csv
      consilience impute model.json rows.csv --random --seed 1
    """
    import consilience as cs

    if output is not None:
        cs.data.check_rows_path(output)
    check_outputs([output], [model, data], force=force)
    check_inputs([model])
    check_row_inputs([data], engine)
    if seed is not None and not random:
        raise click.UsageError("--seed goes with --random.")
    net = static_model(model)
    if is_scanned([data], engine):
        if output is None:
            raise click.UsageError("rows that stay where they are need -o.")
        scanned = rows_where_they_are(net, data, choices, files, engine=engine)
        with screen(stderr=True).status("Filling"):
            streamed = _streamed(net, scanned, output, draws=1 if random else None, seed=seed)
        print_facts(screen(), streamed)
        return
    dropped = files.dropped(net, [data])
    check_columns(net, [data], dropped, partial=choices.partial, form=files.form)
    with screen(stderr=True).status("Reading"):
        rows = _read(net, data, choices, files)
        sources = sources_of(net, data, choices, rows.n_rows, form=files.form)
    with screen(stderr=True).status("Filling"):
        table = sources.beside(net, rows)
        found = cs.impute(net, table, draws=1 if random else None, seed=seed)
    filled = _written(net, rows, found.table)
    if output is None:
        print_rows(filled)
    else:
        cs.data.write_rows(filled, output)
    n_filled = [f"{name} {n:,}" for name, n in found.n_filled.items() if n]
    facts = {"rows": f"{rows.n_rows:,}", "filled": ", ".join(n_filled) or "nothing was missing"}
    if sources.told is not None:
        facts["sources"] = sources.told
    if output is not None:
        facts["written to"] = str(output)
    if n_filled and (notes := found.notes[1 if random else 0 :]):
        facts["note"] = " ".join(notes)
    print_facts(screen(stderr=output is None), facts)


def _streamed(
    net: cs.Network,
    rows: cs.engines.Scan,
    output: Path,
    *,
    draws: int | None,
    seed: int | None,
) -> dict[str, str]:
    """Fill part by part, holding one part at a time; what there is to tell."""
    import numpy as np

    import consilience as cs

    rng = None if seed is None else np.random.default_rng(seed)
    n_filled: Counter[str] = Counter()

    def parts() -> Iterator[cs.Table]:
        for table in rows.tables():
            found = cs.impute(net, table, draws=draws, seed=rng)
            n_filled.update(found.n_filled)
            yield found.table

    n_rows = cs.data.write_tables(parts(), output)
    filled = ", ".join(f"{name} {n:,}" for name, n in n_filled.items() if n)
    facts = {"rows": f"{n_rows:,}", "filled": filled or "nothing was missing"}
    return {**facts, "written to": str(output)}


def _read(net: cs.Network, path: str, choices: RowChoices, files: Files) -> cs.Table:
    """All columns of the file in their order: nodes in their states, the others as they are.

    Numbers that the model has cut are read as numbers.
    """
    import consilience as cs

    how, form = files.reading_as(net, [path]), files.form
    names = [n for n in cs.data.column_names(path, **form) if n not in how["drop"]]
    nodes = {name: v for name, v in net.variables.items() if name != net.source and name in names}
    if not nodes:
        raise Refusal(
            f"{path} has no column that is a node of the model; its nodes are "
            f"{listed([name for name in net.variables if name != net.source])}."
        )
    known = {name: v for name, v in nodes.items() if v.cuts is None}
    cut = [name for name in nodes if name not in known]
    others = [name for name in names if name not in nodes]
    read = partial(cs.read, path, missing=choices.markers, partial=True, **how)
    parts = [read(schema=known)] if known else []
    parts += [as_they_are(path, cut, choices.markers, form=form)] if cut else []
    parts += [as_they_are(path, others, form=form)] if others else []
    variables = {name: v for part in parts for name, v in part.variables.items()}
    columns = {name: column for part in parts for name, column in part.columns.items()}
    return cs.Table(cs.Schema({name: variables[name] for name in names}), columns)


def _written(net: cs.Network, rows: cs.Table, filled: cs.Table) -> cs.Table:
    """The columns of the file in their order, then the nodes that it lacked."""
    import consilience as cs

    new = [n for n in filled.variables if n not in rows.variables and n != net.source]
    kept = [n for n in rows.variables if n == net.source]  # in the letters of the file
    schema = {n: (rows if n in kept else filled).variables[n] for n in (*rows.variables, *new)}
    columns = {n: (rows if n in kept else filled).columns[n] for n in schema}
    return cs.Table(cs.Schema(schema), columns)
