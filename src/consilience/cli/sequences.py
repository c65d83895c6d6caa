"""How the commands read and answer about sequences in time: options, panels, and three commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.common import (
    Refusal,
    markers,
    missing_option,
    print_facts,
    print_notes,
    screen,
    spoken,
)
from consilience.cli.outputs import check_outputs, force_option

if TYPE_CHECKING:
    import consilience as cs
    from consilience.cli.reading import Reading

__all__ = [
    "dynamic_model",
    "fill_option",
    "filter_",
    "forecast",
    "known_panel",
    "learn_in_time",
    "panel_of",
    "predict_rows",
    "sequence_option",
    "smooth",
    "static_model",
    "steps_back",
    "time_option",
    "written",
]

sequence_option = click.option(
    "--sequence", metavar="COL", help="Column that names the sequence of each row."
)
time_option = click.option(
    "--time", metavar="COL", help="Column of times: whole numbers, numbers, dates or periods."
)
fill_option = click.option(
    "--fill", is_flag=True, help="Take an absent step for a row without values."
)

window_option = click.option(
    "--window",
    type=int,
    metavar="N",
    help="Where missing numbers depend on unknown regimes: keep those of the last N steps apart, "
    "and match older ones in moments.",
)


def dynamic_model(path: str) -> cs.dynamic.DynamicNetwork:
    """The network in time in a file."""
    import consilience as cs

    net = cs.load(path)
    if not isinstance(net, cs.dynamic.DynamicNetwork):
        raise Refusal(f"{path} holds a network without time; one learned with --order is wanted.")
    return net


def static_model(path: str) -> cs.Network:
    """The network in a file, refused if it is one in time."""
    import consilience as cs

    net = cs.load(path)
    if not isinstance(net, cs.Network):
        raise Refusal(
            f"{path} holds a network in time. Use 'forecast', 'filter', 'smooth', 'predict' or "
            "'sample' with --sequence and --time."
        )
    return net


def panel_of(
    data: Sequence[str], reading: Reading, sequence: str | None, time: str | None
) -> cs.dynamic.Panel:
    """The panel of all files."""
    import consilience as cs
    from consilience.cli.common import parts
    from consilience.cli.reading import discretizer_of

    with screen(stderr=True).status("Reading"):
        return cs.dynamic.read_panel(
            parts(data, reading.source),
            sequence=sequence,
            time=time,
            source=reading.source,
            weight=reading.weight,
            discrete=reading.discrete,
            continuous=reading.continuous,
            missing=markers(reading.missing),
            discretize=dict(map(discretizer_of, reading.discretize)),
        )


def known_panel(
    net: cs.dynamic.DynamicNetwork,
    data: str,
    sequence: str | None,
    time: str | None,
    *,
    missing: tuple[str, ...],
    fill: bool,
) -> cs.dynamic.Panel:
    """The rows of a file as a panel of a network's variables."""
    import consilience as cs

    names = cs.data.column_names(Path(data))
    variables = {n: v for n, v in net.variables.items() if n not in net.hidden}
    source = net.source if net.source is not None and net.source in names else None
    with screen(stderr=True).status("Reading"):
        return cs.dynamic.read_panel(
            data,
            sequence=sequence,
            time=time,
            source=source,
            schema=cs.Schema(variables),
            inputs=net.inputs,
            absent=cs.dynamic.FillSteps() if fill else None,
            missing=markers(missing),
        )


def written(frame: Any, output: Path | None, facts: dict[str, str]) -> None:
    """Print a frame as csv, or write it to a file and say so."""
    import consilience as cs
    from consilience.cli.terminal import print_rows

    table = cs.read(frame.astype(dict.fromkeys(frame.columns[:2], str)), missing=[])
    if output is None:
        print_rows(table)
    else:
        cs.data.write_rows(table, output)
        facts["written to"] = str(output)
    print_facts(screen(stderr=output is None), facts)


def answer_options(command: Any) -> Any:
    """The options of commands that answer about the rows of a file."""
    for option in (
        spoken,
        missing_option,
        fill_option,
        time_option,
        sequence_option,
        force_option,
        window_option,
        click.option(
            "-o", "--output", type=click.Path(path_type=Path), help=".csv, .csv.gz or .parquet"
        ),
        click.argument("data"),
        click.argument("model"),
    ):
        command = option(command)
    return click.command()(command)


@answer_options
def smooth(
    model: str,
    data: str,
    output: Path | None,
    force: bool,
    *,
    window: int | None,
    sequence: str | None,
    time: str | None,
    fill: bool,
    missing: tuple[str, ...],
) -> None:
    """Hidden and missing values of every row, given all rows of its sequence.

    \b
    Example:
      consilience smooth model.json patients.csv --sequence patient --time week -o beliefs.csv
    """
    _believe(
        "smooth",
        model,
        data,
        output,
        force=force,
        window=window,
        sequence=sequence,
        time=time,
        fill=fill,
        missing=missing,
    )


@answer_options
def filter_(
    model: str,
    data: str,
    output: Path | None,
    force: bool,
    *,
    window: int | None,
    sequence: str | None,
    time: str | None,
    fill: bool,
    missing: tuple[str, ...],
) -> None:
    """Hidden and missing values of every row, given the rows of its sequence up to it.

    \b
    Example:
      consilience filter model.json patients.csv --sequence patient --time week
    """
    _believe(
        "filter",
        model,
        data,
        output,
        force=force,
        window=window,
        sequence=sequence,
        time=time,
        fill=fill,
        missing=missing,
    )


filter_.name = "filter"


def _collapse(window: int | None) -> cs.dynamic.Collapse | None:
    import consilience as cs

    return None if window is None else cs.dynamic.Collapse(window=window)


def _believe(
    verb: str,
    model: str,
    data: str,
    output: Path | None,
    *,
    force: bool,
    window: int | None,
    sequence: str | None,
    time: str | None,
    fill: bool,
    missing: tuple[str, ...],
) -> None:
    check_outputs([output], [model, data], force=force)
    by = _collapse(window)
    net = dynamic_model(model)
    panel = known_panel(net, data, sequence, time, missing=missing, fill=fill)
    beliefs = getattr(net, verb)(panel, by=by)
    facts = {
        "sequences": f"{panel.n_sequences:,}",
        "rows": f"{len(panel):,}",
        "log-likelihood": f"{beliefs.log_likelihood.sum():.6f}",
    }
    facts |= {"note": beliefs.approximation} if beliefs.approximation else {}
    written(beliefs.to_frame(), output, facts)


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--steps", type=int, default=1, show_default=True, help="How many steps ahead.")
@click.option("--draws", type=int, help="Draw so many paths from the posterior of the parameters.")
@window_option
@click.option("--inputs", type=click.Path(exists=True), help="File with the inputs of each step.")
@click.option("--level", type=float, default=0.9, show_default=True, help="Of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help=".csv, .csv.gz or .parquet")
@force_option
@sequence_option
@time_option
@fill_option
@missing_option
@spoken
def forecast(
    model: str,
    data: str,
    steps: int,
    draws: int | None,
    *,
    window: int | None,
    inputs: str | None,
    level: float,
    seed: int,
    output: Path | None,
    force: bool,
    sequence: str | None,
    time: str | None,
    fill: bool,
    missing: tuple[str, ...],
) -> None:
    """The steps after the last row of each sequence: means and intervals, or probabilities.

    \b
    Example:
      consilience forecast model.json canada.csv --time quarter --steps 8
    """
    check_outputs([output], [model, data], force=force)
    by = _collapse(window)
    net = dynamic_model(model)
    panel = known_panel(net, data, sequence, time, missing=missing, fill=fill)
    future = net.forecast(panel, steps, inputs=inputs, draws=draws, by=by, seed=seed)
    facts = {"sequences": f"{panel.n_sequences:,}", "steps": f"{steps}"}
    facts |= {"note": future.approximation} if future.approximation else {}
    written(future.to_frame(level), output, facts)


def predict_rows(net: cs.dynamic.DynamicNetwork, target: str, panel: cs.dynamic.Panel) -> Any:
    """For each row what its target is, given the rows up to it and not the target itself."""
    from dataclasses import replace

    import numpy as np

    name = net[target].child.name  # an unknown one is refused here
    if name in net.hidden:
        return net.filter(panel).to_frame()
    column = panel.rows.column(name)
    nothing = np.full_like(column, np.nan if column.dtype == np.float64 else -1)
    rows = replace(panel.rows, columns={**panel.rows.columns, name: nothing})
    return net.filter(replace(panel, rows=rows)).to_frame()


def steps_back(order: Any) -> int | None:
    """The order of a network in time, if ``--order`` is a number and no list of nodes."""
    text = ",".join(order) if isinstance(order, tuple | list) else order
    return int(text) if text and text.isdigit() else None


def learn_in_time(
    data: Sequence[str],
    reading: Reading,
    in_time: tuple[str | None, str | None, int | None],
    structure: str | None,
    *,
    hidden: tuple[str, ...],
    estimator: Any,
    output: Path | None,
) -> None:
    """Learn and write a network in time, and say what was found."""
    import consilience as cs

    sequence, time, order = in_time
    panel = panel_of(data, reading, sequence, time)
    states = dict(map(_hidden, hidden))
    if structure is not None and structure.lstrip().startswith("["):
        dag = cs.DAG.parse(structure)
    elif structure in (None, "hc", "tabu"):
        if states:
            raise Refusal("hidden nodes need a graph: --structure '[z(t-1)][z|z(t-1)][x|z]'.")
        dag = cs.dynamic.learn(panel, order or 1)
    else:
        raise click.UsageError(
            "with --sequence, --time or --order, --structure is 'hc' or a model string such as "
            "'[x(t-1)][x|x(t-1)]'."
        )
    net = cs.dynamic.fit(dag, panel, estimator, hidden=states)
    if output is not None:
        cs.save(net, output)
    facts = {
        "sequences": f"{panel.n_sequences:,}",
        "rows": f"{len(panel):,}",
        "arcs": ", ".join(f"{start} -> {end}" for start, end in dag.arcs) or "none",
        "order": f"{net.order}",
        "parameters": f"{net.n_parameters:,}",
        "estimator": net.record.method,
    }
    if output is not None:
        facts["written to"] = str(output)
    print_facts(screen(), facts)
    print_notes(net.record.notes)


def _hidden(text: str) -> tuple[str, int | type[float]]:
    name, _, number = text.partition("=")
    if name and number == "float":
        return name, float
    if not (name and number.isdigit()):
        raise click.UsageError(
            f"--hidden {text!r}: expected NODE=NUMBER, such as z=2, or NODE=float."
        )
    return name, int(number)
