"""``consilience predict``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from consilience.cli.prediction import Tally, predicted
from consilience.cli.sequences import (
    known_panel,
    predict_rows,
    sequence_option,
    time_option,
    written as written_frame,
)
from consilience.cli.terminal import print_rows

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["predict"]


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--target", required=True, metavar="NODE", help="The node to predict.")
@click.option("-o", "--output", type=OutputFile(), help=".csv, .csv.gz or .parquet")
@force_option
@click.option(
    "--id",
    "id_name",
    metavar="COL",
    help="Column that says who a row is about: it is written first. If the file has none of that "
    "name, it gets the number of each row.",
)
@row_options
@file_options
@engine_option
@sequence_option
@time_option
@spoken
def predict(
    model: str,
    data: str,
    target: str,
    output: Path | None,
    *,
    force: bool,
    id_name: str | None,
    choices: RowChoices,
    files: Files,
    engine: str | None,
    sequence: str | None,
    time: str | None,
) -> None:
    """Predict a node for every row of a file.

    For each row, in their order: the most probable state ('predicted') and the probability of every
    state, 'P(state)', given all other nodes that the row records. They are printed as csv, or
    written to the file named by -o; --id puts a column of the file before them. Missing values are
    summed out; columns that are no nodes are not read, and a node that the file lacks is an error
    without --partial. A row whose values exclude every state of the target gets no prediction.

    The source of a row stands in the column that is named as in the model. A file without it is
    from one source: --source-name, or, as for 'learn', the file is named after it. A source that
    the model does not know is its state 'new_source' if it has that, else it is summed out, and a
    line says so.

    If the file has a column of the target, it is not used to predict but to say how good the
    predictions are: the share that is right, and the mean of -log P(true state).

    For a continuous target the columns are its mean ('predicted') and its standard deviation
    ('sd'); how good they are is told by the root mean squared error and the mean of the log
    density of the true value.

    A store, a folder or a pattern such as 'new/*.parquet', and any DATA with --engine, is read and
    predicted part by part: memory does not grow with the number of rows. The predictions go to the
    file named by -o; sources must be known to the model.

    With a network in time (--sequence, --time) each row's target is predicted from the rows of its
    sequence up to it, without any value of the target.

    \b
    Examples:
      consilience predict model.json new.csv --target disease -o predictions.csv
      consilience predict model.json new.csv --target disease --id patient --source-name island
    """
    import consilience as cs

    if output is not None:
        cs.data.check_rows_path(output)
    check_outputs([output], [model, data], force=force)
    check_inputs([model])
    check_row_inputs([data], engine)
    net = cs.load(model)
    if not isinstance(net, cs.Network):
        panel = known_panel(net, data, sequence, time, missing=choices.missing, fill=False)
        written_frame(predict_rows(net, target, panel), output, {"rows": f"{len(panel):,}"})
        return
    net[target]
    if is_scanned([data], engine):
        if output is None or id_name is not None:
            raise click.UsageError("rows that stay where they are need -o, and no --id.")
        scanned = rows_where_they_are(net, data, choices, files, engine=engine, not_needed=target)
        with screen(stderr=True).status("Predicting"):
            facts = _streamed(net, scanned, target, output)
        print_facts(screen(), facts)
        return
    how = files.reading_as(net, [data])
    needless = [target, *how["drop"]]
    check_columns(net, [data], needless, partial=choices.partial, form=files.form)
    with screen(stderr=True).status("Reading"):
        nodes = {name: v for name, v in net.variables.items() if name != net.source}
        rows = cs.read(data, schema=nodes, missing=choices.markers, partial=True, **how)
        sources = sources_of(net, data, choices, rows.n_rows, form=files.form)
        table = sources.beside(net, rows)
        ids, facts = _ids(data, id_name, table.n_rows, form=files.form)
    with screen(stderr=True).status("Predicting"):
        found, tally = predicted(net, table, target)
        written = _beside(ids, found)
    if output is None:
        print_rows(written)
    else:
        cs.data.write_rows(written, output)
    facts = {"rows": f"{table.n_rows:,}", **facts}
    if sources.told is not None:
        facts["sources"] = sources.told
    others = [name for name in net.variables if name not in (target, net.source)]
    if unrecorded := [name for name in others if _is_empty(table, name)]:
        facts["no values of"] = f"{listed(unrecorded)} (summed out)"
    facts |= tally.facts()
    if output is not None:
        facts["written to"] = str(output)
    print_facts(screen(stderr=output is None), facts)


def _ids(
    path: str, name: str | None, n_rows: int, *, form: Mapping[str, Any]
) -> tuple[cs.Table | None, dict[str, str]]:
    """The column that says who a row is about, and what to tell if it was made."""
    import numpy as np

    import consilience as cs

    if name is None:
        return None, {}
    names = cs.data.column_names(path, **form)
    if name in names:
        return as_they_are(path, [name], form=form), {}
    if (near := cs.data.misspelt(name, names)) is not None:
        raise Refusal(f"{path} has no column {name!r}. Is it {near!r}?")
    numbers = cs.Table(cs.Schema({name: cs.Variable(name)}), {name: np.arange(1.0, n_rows + 1)})
    return numbers, {name: f"no such column in {path}: the number of each row"}


def _beside(ids: cs.Table | None, found: cs.Table) -> cs.Table:
    """The predictions, with the column of those they are about before them."""
    import consilience as cs

    if ids is None:
        return found
    if twice := [name for name in ids.variables if name in found.variables]:
        raise Refusal(f"--id {twice[0]!r}: the predictions have a column of that name.")
    schema = cs.Schema({**ids.variables, **found.variables})
    return cs.Table(schema, {**ids.columns, **found.columns})


def _is_empty(table: cs.Table, name: str) -> bool:
    import numpy as np

    column = table.column(name)
    is_missing = np.isnan(column) if table.variables[name].is_continuous else column < 0
    return bool(is_missing.all())


def _streamed(net: cs.Network, rows: cs.engines.Scan, target: str, output: Path) -> dict[str, str]:
    """Predict part by part, holding one part at a time; what there is to tell."""
    import consilience as cs

    tally = Tally(not net.variables[target].is_continuous)

    def parts() -> Iterator[cs.Table]:
        nonlocal tally
        for table in rows.tables():
            found, some = predicted(net, table, target)
            tally += some
            yield found

    n_rows = cs.data.write_tables(parts(), output)
    return {"rows": f"{n_rows:,}", **tally.facts(), "written to": str(output)}
