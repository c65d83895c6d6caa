"""``consilience predict``."""

from __future__ import annotations

from collections.abc import Mapping
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
    from consilience._typing import Bools, Codes, Floats

__all__ = ["predict"]


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--target", required=True, metavar="NODE", help="The node to predict.")
@click.option("-o", "--output", type=OutputFile(), help=".csv, .csv.gz or .parquet")
@force_option
@row_source_option
@missing_option
@partial_option
@spoken
def predict(
    model: str,
    data: str,
    target: str,
    output: Path | None,
    force: bool,
    source: str | None,
    missing: tuple[str, ...],
    partial: bool,
) -> None:
    """Predict a node for every row of a file.

    For each row, in their order: the most probable state ('predicted') and the probability of every
    state, 'P(state)', given all other nodes that the row records. They are printed as csv, or
    written to the file named by -o. Missing values are summed out, so is a source that is not
    recorded; columns that are no nodes are not read, and a node that the file lacks is an error
    without --partial. A source that the model does not know is its
    state 'new_source' if it has that, else it is summed out, and a line says so. A row whose values
    exclude every state of the target gets no prediction.

    If the file has a column of the target, it is not used to predict but to say how good the
    predictions are: the share that is right, and the mean of -log P(true state).

    For a continuous target the columns are its mean ('predicted') and its standard deviation
    ('sd'); how good they are is told by the root mean squared error and the mean of the log
    density of the true value.

    \b
    Examples:
      consilience predict model.json new.csv --target disease -o predictions.csv
      consilience predict model.json new.csv --target blood_pressure
    """
    import consilience as cs
    from consilience import _check
    from consilience.data.write import check_rows_path, write_rows

    if output is not None:
        check_rows_path(output)
    check_outputs([output], [model, data], force=force)
    net = cs.load(model)
    _check.known("node", [target], net.variables)
    check_columns(net, [data], [target], partial=partial)
    with screen(stderr=True).status("Reading"):
        table, new_sources = _read(net, data, source, markers(missing))
    with screen(stderr=True).status("Predicting"):
        of_kind = _of_values if net.variables[target].is_continuous else _of_states
        rows, quality = of_kind(net, table, target)
    if output is None:
        print_rows(rows)
    else:
        write_rows(rows, output)
    facts = {"rows": f"{table.n_rows:,}"}
    if new_sources:
        facts["new sources"] = _told(net, new_sources)
    if unrecorded := [name for name in net.variables if name != target and _is_empty(table, name)]:
        facts["no values of"] = f"{listed(unrecorded)} (summed out)"
    facts |= quality
    if output is not None:
        facts["written to"] = str(output)
    print_facts(screen(stderr=output is None), facts)


def _read(
    net: cs.Network, path: str, source: str | None, missing: tuple[str, ...]
) -> tuple[cs.Table, dict[str, int]]:
    """The rows as variables of the network, and the sources it does not know with their rows.

    The source is one of the variables; it stands in the column of its name or in that of
    ``source``. Which columns may lack has been checked.
    """
    import consilience as cs
    from consilience.data.known import read_known
    from consilience.data.variable import NEW_SOURCE
    from consilience.inference.known_sources import source_codes, unknown_sources

    if net.source is None:
        if source is not None:
            raise Refusal(f"the model has no source, so --source {source!r} says nothing.")
        return cs.read(path, schema=net.variables, missing=missing, partial=True), {}
    node = net.variables[net.source]
    others = {name: v for name, v in net.variables.items() if name != node.name}
    if source in others:
        raise Refusal(f"--source {source!r} is another node; the source is {net.source!r}.")
    known = None if source is None else cs.Variable(source, node.states)
    table = cs.read(
        path, schema=cs.Schema(others, known), source=source, missing=missing, partial=True
    )
    if source is None:
        stand_ins = {node.name: NEW_SOURCE} if NEW_SOURCE in node.discrete_states else {}
        beside, found = read_known(path, {node.name: node}, missing=missing, stand_ins=stand_ins)
        codes, unknown = beside.column(node.name), found.get(node.name, {})
    else:
        schema = cs.Schema(table.variables, cs.Variable(node.name, table.sources))
        named = cs.Table(schema, table.columns, table.source_codes)
        codes, unknown = source_codes(named, node), unknown_sources(named, node)
    schema = cs.Schema({**table.variables, node.name: node})
    return cs.Table(schema, {**table.columns, node.name: codes}), unknown


def _told(net: cs.Network, new_sources: Mapping[str, int]) -> str:
    """The sources that the model does not know, their rows, and what was done about them."""
    from consilience.data.variable import NEW_SOURCE

    names = listed([f"{name} ({n:,} row{'s' * (n != 1)})" for name, n in new_sources.items()])
    has_new = net.source is not None and NEW_SOURCE in net.variables[net.source].discrete_states
    return f"{names}: taken as {NEW_SOURCE!r}" if has_new else f"{names}: summed out"


def _is_empty(table: cs.Table, name: str) -> bool:
    import numpy as np

    column = table.column(name)
    is_missing = np.isnan(column) if table.variables[name].is_continuous else column < 0
    return bool(is_missing.all())


def _of_states(net: cs.Network, table: cs.Table, target: str) -> tuple[cs.Table, dict[str, str]]:
    """Predictions of a discrete target, and how good they are."""
    from consilience.data.align import aligned_codes

    variable = net.variables[target]
    posteriors = net.posteriors(table, target)
    return _predictions(variable, posteriors), _quality(posteriors, aligned_codes(table, variable))


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
    from consilience.data.table import code_type

    is_possible = posteriors.sum(axis=1) > 0
    codes = np.where(is_possible, posteriors.argmax(axis=1), -1)
    numbers = np.where(is_possible[:, None], posteriors, np.nan)
    predicted = cs.Variable("predicted", variable.states, ordered=variable.ordered)
    variables, columns = [predicted], {"predicted": codes.astype(code_type(variable.n_states))}
    for k, state in enumerate(variable.discrete_states):
        variables.append(cs.Variable(f"P({state})"))
        columns[f"P({state})"] = numbers[:, k]
    return cs.Table(cs.Schema({v.name: v for v in variables}), columns)


def _quality(posteriors: Floats, truth: Codes) -> dict[str, str]:
    """How many rows are impossible, and how good the others are where the truth is known."""
    import numpy as np

    is_possible = posteriors.sum(axis=1) > 0
    facts = _impossible(is_possible)
    counted = is_possible & (truth >= 0)
    if counted.any():
        chosen, true = posteriors[counted], truth[counted]
        of_truth = chosen[np.arange(len(true)), true]
        n_excluded = int((of_truth == 0).sum())
        loss = -np.log(of_truth[of_truth > 0]).sum() / len(true)
        facts["target known"] = f"{len(true):,} rows"
        facts["accuracy"] = f"{(chosen.argmax(axis=1) == true).mean():.4f}"
        facts["log loss"] = (
            f"infinite: the true state of {n_excluded:,} rows was held impossible"
            if n_excluded
            else f"{loss:.4f}"
        )
    return facts
