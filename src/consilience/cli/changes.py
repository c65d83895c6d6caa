"""``consilience changes``: when the parameters of a network in time changed."""

from __future__ import annotations

from pathlib import Path

import click

from consilience.cli.common import screen, spoken
from consilience.cli.outputs import check_outputs, force_option
from consilience.cli.reading import Reading, reading_options
from consilience.cli.sequences import panel_of, sequence_option, time_option, written

__all__ = ["changes"]


@click.command()
@click.argument("data")
@reading_options
@click.option(
    "--structure",
    metavar="GRAPH",
    help="Model string of the graph, such as '[x(t-1)][x|x(t-1)]'.  [default: no arcs]",
)
@click.option(
    "--hazard",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability of a change at each step.",
)
@click.option(
    "--together",
    multiple=True,
    metavar="NODES",
    help="Nodes whose parameters change at the same steps, such as x,y; repeatable.",
)
@click.option(
    "--raw", is_flag=True, help="Take columns of numbers as they are, not in units of their sds."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help=".csv, .csv.gz or .parquet")
@force_option
@sequence_option
@time_option
@spoken
def changes(
    data: str,
    reading: Reading,
    structure: str | None,
    hazard: float,
    *,
    together: tuple[str, ...],
    raw: bool,
    output: Path | None,
    force: bool,
    sequence: str | None,
    time: str | None,
) -> None:
    """Probability of a change of parameters at every step, exactly.

    Columns of numbers are taken around their means, in units of their sds, which is what the prior
    of a segment expects; with --raw they stay as they are.

    \b
    Example:
      consilience changes visits.csv --sequence patient --time week --hazard 0.02
    """
    import consilience as cs

    check_outputs([output], [data], force=force)
    panel = panel_of([data], reading, sequence, time)
    panel = panel if raw else panel.standardized()
    dag = cs.DAG(nodes=list(panel.rows.variables)) if structure is None else cs.DAG.parse(structure)
    with screen(stderr=True).status("Summing over segmentations"):
        found = cs.dynamic.change_points(
            dag,
            panel,
            cs.dynamic.ChangePoints(hazard=hazard),
            together=[group.split(",") for group in together],
        )
    facts = {"sequences": f"{panel.n_sequences:,}", "rows": f"{len(panel):,}"}
    for name, one in found.items():
        gain = one.log_evidence - one.log_evidence_none
        facts[name] = f"{one.expected_changes:.2f} changes expected, log evidence +{gain:.2f}"
    written(found.to_frame(), output, facts)
