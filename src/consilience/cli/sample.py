"""``consilience sample``."""

from __future__ import annotations

from pathlib import Path

import click

from consilience.cli.common import source_node_option, spoken
from consilience.cli.given import given_of, given_option
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.sequences import written
from consilience.cli.terminal import echo, print_rows

__all__ = ["sample"]


@click.command()
@click.argument("model")
@click.argument("n", type=click.IntRange(min=0), metavar="N")
@click.option(
    "--seed", type=click.IntRange(min=0), help="A whole number: the same rows every time."
)
@given_option
@source_node_option
@click.option(
    "--length",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Steps of each sequence, of a network in time; N is the number of sequences.",
)
@click.option("-o", "--output", type=OutputFile(), help=".csv, .csv.gz or .parquet")
@force_option
@spoken
def sample(
    model: str,
    n: int,
    seed: int | None,
    given: tuple[str, ...],
    *,
    source: str | None,
    length: int,
    output: Path | None,
    force: bool,
) -> None:
    """Draw rows from a network.

    N rows are printed as csv, or written to the file named by -o. What is given holds in all of
    them; the others follow their distribution given that. Rows come from sources that the network
    knows; for one never seen, give the source the state 'new_source' if the network has it.

    \b
    Examples:
      consilience sample model.json 1000 --seed 1 -o rows.csv
      consilience sample model.json 5 --given hospital=va
    """
    import consilience as cs

    if output is not None:
        cs.data.check_rows_path(output)
    check_outputs([output], [model], force=force)
    check_inputs([model])
    net = cs.load(model, source=source)
    if isinstance(net, cs.dynamic.DynamicNetwork):
        written(net.sample(n, length, seed=seed).to_frame(), output, {"sequences": f"{n:,}"})
        return
    rows = net.sample(n, given=given_of(net, given), seed=seed)
    if output is None:
        print_rows(rows)
    else:
        cs.data.write_rows(rows, output)
        echo(f"{n:,} rows written to {output}")
