"""``consilience score``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.common import (
    Refusal,
    data_argument,
    grid_of,
    listed,
    markers,
    missing_option,
    partial_option,
    parts,
    print_facts,
    screen,
    source_column_option,
    spoken,
    weight_option,
)
from consilience.cli.engines import (
    check_row_inputs,
    engine_option,
    in_memory,
    is_scanned,
    scan_rows,
)
from consilience.cli.file_options import Files, file_options
from consilience.cli.model_rows import check_columns
from consilience.cli.outputs import check_inputs
from consilience.cli.scores import has_ess, score_of, score_option
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs
    from consilience._typing import Floats

__all__ = ["score"]


@click.command()
@click.argument("model")
@data_argument
@source_column_option
@weight_option
@missing_option
@partial_option
@file_options
@score_option("A score of the graph on the rows, repeatable", multiple=True)
@click.option("--ess", type=float, help="Size of the prior of such a score in rows.")
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@spoken
def score(
    model: str,
    data: tuple[str, ...],
    source: str | None,
    weight: str | None,
    *,
    missing: tuple[str, ...],
    partial: bool,
    files: Files,
    score: tuple[str, ...],
    ess: float | None,
    engine: str | None,
    as_json: bool,
) -> None:
    """Log-likelihood of rows under a network.

    It is printed in total, per row and by source. Several files are several sources, as in
    'learn'. A model that knows its source finds it in the column of that name; the probability of
    the source is then part of each row's. A node that a file lacks is an error, or summed out with
    --partial. AIC and BIC take the number of free parameters of the model, as if it had been
    fitted to these rows; higher is better:

    \b
      AIC = log-likelihood - parameters
      BIC = log-likelihood - parameters log(rows) / 2

    The scores named by --score judge the graph alone, its tables refitted to the rows; they need
    rows without gaps.

    \b
    Examples:
      consilience score model.json new.csv --source hospital
      consilience score model.json rows.csv --score bic --score bdeu --ess 10
    """
    import consilience as cs

    if ess is not None and not any(map(has_ess, score)):
        raise click.UsageError("--ess goes with a --score that has a prior, such as bdeu.")
    check_inputs([model])
    check_row_inputs(data, engine)
    net = static_model(model)
    how: dict[str, Any] = {
        "source": source or net.source,
        "weight": weight,
        "missing": markers(missing),
        "schema": net.variables,
    }
    if is_scanned(data, engine):
        how |= {"partial": partial, **files.reading(), "columns": None}
        table = in_memory(scan_rows(parts(data, source), engine, **how))
    else:
        dropped = files.dropped(net, data)
        check_columns(net, data, [source, *dropped], partial=partial, form=files.form)
        how |= {"partial": True, **files.reading_as(net, data)}  # what may lack has been checked
        table = cs.read(parts(data, source), **how)
    if not table.total_weight:
        raise Refusal("there are no rows to score.")
    scores = _scores(net, table) | {"graph": _graph_scores(net, table, score, ess)}
    if as_json:
        echo(json.dumps(scores, indent=1, allow_nan=False))
    else:
        _print_scores(scores)


def _scores(net: cs.Network, table: cs.Table) -> dict[str, Any]:
    """Log-likelihoods and criteria as plain numbers; None if a row has probability zero."""
    import numpy as np

    import consilience as cs

    log_likelihood = net.log_likelihood(table)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
    whole = _sums(log_likelihood, weights)
    total, size = (
        whole["log_likelihood"],
        {"n_parameters": net.n_parameters, "n_rows": whole["rows"]},
    )
    is_source = {name: table.source_codes == f for f, name in enumerate(table.sources)}
    return {
        **whole,
        "impossible_rows": float(weights[np.isinf(log_likelihood)].sum()),
        "parameters": net.n_parameters,
        "aic": None if total is None else cs.scores.criterion(cs.AIC(), total, **size),
        "bic": None if total is None else cs.scores.criterion(cs.BIC(), total, **size),
        "columns_without_values": [
            name
            for name in table.variables
            if all(shares[name] == 1 for shares in table.missing.values())
        ],
        "by_source": {
            name: _sums(log_likelihood[rows], weights[rows])
            for name, rows in is_source.items()
            if np.any(rows)
        },
    }


def _graph_scores(
    net: cs.Network, table: cs.Table, names: Sequence[str], ess: float | None
) -> dict[str, float]:
    """Scores of the graph without the source, by their names in Python."""
    import consilience as cs

    dag = net.dag if net.source is None else net.dag.without(net.source)
    choices = [
        score_of(name, ess if has_ess(name) else None, n_variables=len(dag.nodes)) for name in names
    ]
    return {repr(choice): cs.score(dag, table, choice) for choice in choices}


def _sums(log_likelihood: Floats, weights: Floats) -> dict[str, Any]:
    """Weight of the rows, their log-likelihood, and its mean; None if a row is impossible."""
    import numpy as np

    counted = weights > 0
    n_rows = float(weights.sum())
    total = float(log_likelihood[counted] @ weights[counted])
    is_finite = bool(np.isfinite(total))
    return {
        "rows": n_rows,
        "log_likelihood": total if is_finite else None,
        "per_row": total / n_rows if is_finite and n_rows else None,
    }


def _print_scores(scores: Mapping[str, Any]) -> None:
    console = screen()
    facts = {
        "rows": f"{scores['rows']:,g}",
        "log-likelihood": _number(scores["log_likelihood"]),
        "per row": _number(scores["per_row"]),
        "parameters": f"{scores['parameters']:,}",
        "AIC": _number(scores["aic"]),
        "BIC": _number(scores["bic"]),
    }
    if scores["impossible_rows"]:
        facts["impossible"] = f"{scores['impossible_rows']:,g} rows have probability zero"
    if unused := scores["columns_without_values"]:
        facts["not in the data"] = f"{listed(unused)}: no values, summed out"
    facts |= {name: f"{value:,.4f} of the graph" for name, value in scores["graph"].items()}
    print_facts(console, facts)
    if scores["by_source"]:
        rows = [(name, *_cells(one)) for name, one in scores["by_source"].items()]
        console.print()
        console.print(grid_of(("source", "rows", "log-likelihood", "per row"), rows))


def _cells(one: Mapping[str, Any]) -> tuple[str, str, str]:
    if not one["rows"]:
        return "0", "-", "-"
    return f"{one['rows']:,g}", _number(one["log_likelihood"]), _number(one["per_row"])


def _number(value: float | None) -> str:
    return "-inf" if value is None else f"{value:,.4f}"
