"""``consilience report``."""

from __future__ import annotations

from pathlib import Path

import click

from consilience.cli.common import missing_option, screen, source_column_option, spoken
from consilience.cli.file_options import Files, file_options
from consilience.cli.known_table import known_table
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo

__all__ = ["report"]


@click.command()
@click.argument("model")
@click.argument("rows", nargs=-1, required=True)
@source_column_option
@click.option("--target", metavar="NODE", help="The node that is predicted.")
@click.option(
    "--folds",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Folds that the model is refitted on; 0 to predict the rows as they are.",
)
@click.option("--title", metavar="TEXT", help="The heading.  [default: the name of the model]")
@click.option("-o", "--output", type=OutputFile(), required=True, help="The .html file to write.")
@missing_option
@file_options
@force_option
@spoken
def report(
    model: str,
    rows: tuple[str, ...],
    source: str | None,
    target: str | None,
    *,
    folds: int,
    title: str | None,
    output: Path,
    missing: tuple[str, ...],
    files: Files,
    force: bool,
) -> None:
    """Write one HTML file about a network and its rows, without script.

    What was found stands first; then the sources, gaps, graph, differences between sources,
    parameters with intervals, calibration and predictions on rows not learned from, and where all
    of it comes from. It can be read without a server, and printed.

    \b
    Examples:
      consilience report model.json heart.csv --source hospital --target disease -o report.html
      consilience report model.json a.csv b.csv -o report.html
    """
    import consilience as cs

    check_outputs([output], [model, *rows], force=force)
    check_inputs([model, *rows])
    net = static_model(model)
    table = known_table(net, rows, source, missing, files=files)
    with screen(stderr=True).status("Writing the report"):
        page = cs.report(
            net,
            table,
            target=target,
            folds=folds,
            title=Path(model).name if title is None else title,
        )
    cs.files.write_text(page, output)
    echo(f"report written to {output}")
