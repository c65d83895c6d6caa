"""``consilience strength``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.common import data_argument, grid_of, print_facts, screen, spoken
from consilience.cli.file_options import Files, file_options
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.progress import watched
from consilience.cli.reading import Reading, read_rows, reading_options
from consilience.cli.scores import score_of, score_option
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs
    from consilience.averaging.belief_ways import Way

__all__ = ["strength"]

WAYS = ("exact", "order-modular", "order-mcmc", "partition-mcmc", "bootstrap")
N_LINES = 60


@click.command()
@data_argument
@reading_options
@file_options
@click.option(
    "--by",
    type=click.Choice(WAYS),
    help="How graphs are averaged over: exactly with all graphs equally likely (exact, to about 16 "
    "variables) or as likely as they have orders (order-modular, to about 20), by chains, or by "
    "drawing rows again.  [default: the first that fits]",
)
@score_option("How graphs are judged, bdeu by default")
@click.option("--ess", type=float, help="Size of the prior of the score in rows.")
@click.option("--draws", type=click.IntRange(min=4), help="Graphs of each chain, or replicates.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Adjacency above which a pair is in the averaged graph.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("--svg", type=OutputFile(), help="Write the averaged graph here.")
@force_option
@spoken
def strength(
    data: tuple[str, ...],
    reading: Reading,
    files: Files,
    *,
    by: str | None,
    score: str | None,
    ess: float | None,
    draws: int | None,
    seed: int,
    threshold: float | None,
    as_json: bool,
    svg: Path | None,
    force: bool,
) -> None:
    """How probable each arc is, given the rows.

    All graphs are averaged over, each with its posterior probability, instead of choosing one. The
    pairs above the threshold (one half, or what the strengths of a bootstrap suggest) make the
    averaged graph, which is printed as a model string for 'learn --structure'.

    \b
    Examples:
      consilience strength heart.csv
      consilience strength heart.csv --source hospital --score bhd --svg strength.svg
      consilience strength heart.csv --by bootstrap --draws 500 --json
    """
    import consilience as cs

    if ess is not None and score is None:
        score = "bdeu"
    check_outputs([svg], data, force=force)
    check_inputs(data)
    table = read_rows(data, reading, files)
    judge = None if score is None else score_of(score, ess, n_variables=len(table.variables))
    with watched("Averaging") as tell:
        belief = cs.average(table, score=judge, by=_way(by, draws, seed), progress=tell)
    if as_json:
        echo(json.dumps(_numbers(belief, threshold), indent=1, allow_nan=False))
    else:
        _print(belief, threshold)
    if svg is not None:
        cs.files.write_text(cs.svg(belief, threshold=threshold), svg)
        echo(f"\npicture written to {svg}", err=as_json)


def _way(name: str | None, draws: int | None, seed: int) -> Way | None:
    """The choice of that name; None leaves it to the library."""
    import consilience as cs

    if name is None:
        if draws is not None:
            raise click.UsageError("--draws goes with --by.")
        return None
    given: dict[str, Any] = {"seed": seed}
    if draws is not None:
        given["replicates" if name == "bootstrap" else "draws"] = draws
    if name == "order-modular":
        given["prior"] = cs.averaging.OrderModular()
    choices: dict[str, Any] = {
        "exact": cs.averaging.Subsets,
        "order-modular": cs.averaging.Subsets,
        "order-mcmc": cs.averaging.OrderMCMC,
        "partition-mcmc": cs.averaging.PartitionMCMC,
        "bootstrap": cs.averaging.Bootstrap,
    }
    way: Way = choices[name](**given)
    return way


def _numbers(belief: cs.averaging.GraphBelief, threshold: float | None) -> dict[str, Any]:
    return {
        "method": belief.method,
        "log_evidence": belief.log_evidence,
        "threshold": belief.threshold if threshold is None else threshold,
        "averaged": belief.averaged(threshold).to_string(),
        "r_hat": None if belief.chains is None else min(belief.chains.worst_r_hat, 1e300),
        "notes": list(belief.notes),
        "arcs": [one._asdict() for one in belief.arcs.listed()],
    }


def _print(belief: cs.averaging.GraphBelief, threshold: float | None) -> None:
    console = screen()
    facts = {"by": belief.method}
    if belief.log_evidence is not None:
        facts["log evidence"] = f"{belief.log_evidence:,.4f}"
    facts["averaged graph"] = belief.averaged(threshold).to_string()
    facts |= {f"note {k + 1}": note for k, note in enumerate(belief.notes)}
    print_facts(console, facts)
    listed = belief.arcs.listed(0.01)
    rows = [
        (
            one.start,
            one.end,
            f"{one.adjacency:.3f}",
            f"{one.probability:.3f}",
            f"{one.direction:.3f}",
        )
        for one in listed[:N_LINES]
    ]
    console.print()
    console.print(grid_of(("from", "to", "adjacency", "probability", "direction"), rows))
    if len(listed) > N_LINES:
        echo(f"and {len(listed) - N_LINES} pairs more; --json has all.")
