"""``consilience predict``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.common import Refusal, listed, print_facts, screen, spoken
from consilience.cli.file_options import Files, file_options
from consilience.cli.model_rows import (
    RowChoices,
    as_they_are,
    check_columns,
    row_options,
    sources_of,
)
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
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
    from consilience._typing import Bools, Codes, Floats

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
    check_inputs([model, data])
    net = cs.load(model)
    if not isinstance(net, cs.Network):
        panel = known_panel(net, data, sequence, time, missing=choices.missing, fill=False)
        written_frame(predict_rows(net, target, panel), output, {"rows": f"{len(panel):,}"})
        return
    variable = net[target].child
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
        of_kind = _of_values if variable.is_continuous else _of_states
        found, quality = of_kind(net, table, target)
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
    facts |= quality
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


def _of_states(net: cs.Network, table: cs.Table, target: str) -> tuple[cs.Table, dict[str, str]]:
    """Predictions of a discrete target, and how good they are."""
    variable = net.variables[target]
    posteriors = net.posteriors(table, target)
    return _predictions(variable, posteriors), _quality(variable, posteriors, table.column(target))


def _of_values(net: cs.Network, table: cs.Table, target: str) -> tuple[cs.Table, dict[str, str]]:
    """Predictions of a continuous target, and how good they are.

    The density of a true value is p(row) / p(row without it).
    """
    import numpy as np

    import consilience as cs

    truth = table.column(target)
    others = cs.Table(table.schema, {**table.columns, target: np.full(table.n_rows, np.nan)})
    log_others = net.log_likelihood(others)
    is_possible = np.isfinite(log_others)
    moments = np.full((table.n_rows, 2), np.nan)
    moments[is_possible] = net.posteriors(others.take(is_possible), target)
    facts = _impossible(is_possible)
    counted = is_possible & ~np.isnan(truth)
    if counted.any():
        error = truth[counted] - moments[counted, 0]
        density = net.log_likelihood(table.take(counted)) - log_others[counted]
        n_excluded = int((density == -np.inf).sum())
        facts["target known"] = f"{int(counted.sum()):,} rows"
        facts["RMSE"] = f"{np.sqrt((error**2).mean()):.4g}"
        facts["log density"] = (
            f"minus infinity: the true value of {n_excluded:,} rows was held impossible"
            if n_excluded
            else f"{density.mean():.4f} (mean, of the true value)"
        )
    names = ("predicted", "sd")
    schema = cs.Schema({name: cs.Variable(name) for name in names})
    return cs.Table(schema, dict(zip(names, moments.T, strict=True))), facts


def _impossible(is_possible: Bools) -> dict[str, str]:
    if is_possible.all():
        return {}
    return {"impossible": f"{int((~is_possible).sum()):,} rows; they have no prediction"}


def _predictions(variable: cs.Variable, posteriors: Floats) -> cs.Table:
    """Most probable state and all probabilities as columns; nothing where nothing is possible."""
    import numpy as np

    import consilience as cs

    is_possible = posteriors.sum(axis=1) > 0
    states = variable.discrete_states
    named = np.array([*states, None], object)
    best = named[np.where(is_possible, posteriors.argmax(axis=1), -1)]
    numbers = np.where(is_possible[:, None], posteriors, np.nan)
    found = {"predicted": best.tolist(), **{f"P({s})": numbers[:, k] for k, s in enumerate(states)}}
    schema = {name: cs.Variable(name) for name in found}
    schema["predicted"] = cs.Variable("predicted", states, ordered=variable.ordered)
    return cs.read(found, schema=schema, missing=())


def _quality(variable: cs.Variable, posteriors: Floats, truth: Codes) -> dict[str, str]:
    """How many rows are impossible, and how good the others are where the truth is known."""
    import consilience as cs

    is_possible = posteriors.sum(axis=1) > 0
    facts = _impossible(is_possible)
    if not (is_possible & (truth >= 0)).any():
        return facts
    states = variable.discrete_states
    found = cs.evaluate(posteriors[is_possible], truth[is_possible], states=states).overall
    facts["target known"] = f"{found.n_rows:,.0f} rows"
    facts["accuracy"] = f"{found.accuracy:.4f}"
    facts["log loss"] = (
        f"infinite: the true state of {found.n_impossible:,.0f} rows was held impossible"
        if found.n_impossible
        else f"{found.log_loss:.4f}"
    )
    return facts
