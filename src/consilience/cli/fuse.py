"""``consilience fuse``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from consilience.cli.common import (
    Refusal,
    data_argument,
    grid_of,
    listed,
    model_of,
    print_facts,
    print_notes,
    save_figure,
    screen,
    spoken,
)
from consilience.cli.file_options import Files, file_options
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.progress import watched
from consilience.cli.quoting import QUOTES, parts_of
from consilience.cli.reading import Reading, read_rows, reading_options
from consilience.cli.scores import score_of, score_option
from consilience.cli.structures import SEARCHES

if TYPE_CHECKING:
    import consilience as cs
    from consilience.structure.searches.task import Search

__all__ = ["fuse"]

ORDERS: Final = {
    "strongest": "StrongestFirst",
    "row-by-row": "RowByRow",
    "keep-every": "KeepEvery",
}
VOTES: Final = {"arcs": "ArcVotes", "classes": "ClassVotes"}
WEIGHTS: Final = {
    "equal": "EqualWeights",
    "rows": "RowWeights",
    "strength": "StrengthWeights",
    "held-out": "HeldOutWeights",
}
THRESHOLDS: Final = {"best-score": "BestScore", "majority": "Majority"}
PARAMETERS: Final = {
    "merged": "Merged",
    "inverse-variance": "InverseVariance",
    "matrices": "PrecisionMatrices",
    "linear": "LinearPool",
    "logarithmic": "LogarithmicPool",
    "democratic": "DemocraticPool",
}
STRUCTURES: Final = tuple(name for name, fact in SEARCHES.items() if not fact.needs)
PICTURES: Final = (".png", ".svg", ".pdf")
N_MATRIX = 16
N_VOTERS = 5


@click.command()
@data_argument
@reading_options
@file_options
@click.option(
    "--structure",
    type=click.Choice(STRUCTURES),
    help="How each source's graph is searched for.  [default: exact where quick, else sweep]",
)
@score_option("How graphs are judged, bic by default")
@click.option("--votes", type=click.Choice(list(VOTES)), help="What is counted.  [default: arcs]")
@click.option(
    "--weights",
    metavar="HOW",
    help=f"How much each source counts: {', '.join(WEIGHTS)}, or rome=2,oslo=1.  [default: equal]",
)
@click.option(
    "--threshold",
    metavar="VOTES",
    help="Votes that an arc needs: a number, majority, or best-score (the graph that scores best "
    "on all rows).  [default: best-score where that is defined, else majority]",
)
@click.option(
    "--order",
    type=click.Choice(list(ORDERS)),
    help="In which order arcs enter.  [default: strongest]",
)
@click.option(
    "--reverse", is_flag=True, help="Turn an arc round that closes a cycle, if anybody voted so."
)
@click.option(
    "--parameters",
    type=click.Choice(list(PARAMETERS)),
    help="How the sources' parameters are made one.  [default: merged for rows, linear for models]",
)
@click.option("--plot", type=OutputFile(), help="Draw the vote to this file.")
@click.option("-o", "--output", type=OutputFile(), help="File for the model.")
@force_option
@spoken
def fuse(
    data: tuple[str, ...],
    reading: Reading,
    files: Files,
    structure: str | None,
    *,
    score: str | None,
    votes: str | None,
    weights: str | None,
    threshold: str | None,
    order: str | None,
    reverse: bool,
    parameters: str | None,
    plot: Path | None,
    output: Path | None,
    force: bool,
) -> None:
    """Fuse the networks of several sources into one, by a vote on their arcs.

    DATA are tables (.csv, .csv.gz, .parquet), model files, or model strings such as '[A][B|A]'.
    Several tables are several sources, each named after its file; with --source their rows are
    appended and that column names the sources. Each table learns its own graph; a model has one
    already.

    \b
    Examples:
      consilience fuse rome.csv oslo.csv bonn.csv -o fused.json
      consilience fuse heart.csv --source hospital --threshold majority --votes classes
      consilience fuse rome.json oslo.bif --parameters logarithmic -o fused.json
      consilience fuse rome.csv oslo.csv --weights rows --order row-by-row --plot vote.png
    """
    import consilience as cs

    if output is not None:
        cs.files.check_model_path(output)
    if plot is not None:
        _check_plot(plot)
    check_outputs([output, plot], data, force=force)
    check_inputs(data)
    sources = _sources(data, reading, files)
    with watched("Learning each source") as progress:
        fused = cs.fuse(
            sources,
            score=score_of(score or "bic", None, n_variables=_n_variables(sources)),
            search=_search(structure),
            votes=_named(VOTES, votes),
            weights=_weights(weights),
            threshold=_threshold(threshold),
            order=_order(order, reverse=reverse),
            parameters=_named(PARAMETERS, parameters),
            progress=progress,
        )
    if output is not None:
        if fused.network is None:
            raise Refusal("graphs alone give no network to write; leave --output out.")
        cs.save(fused.network, output)
    if plot is not None:
        save_figure(cs.plot(fused), plot)
    _print(fused, output, plot)


def _check_plot(path: Path) -> None:
    """Refuse a picture that could not be drawn, before any work is done for it."""
    if path.suffix.lower() not in PICTURES:
        raise Refusal(
            f"a picture cannot be written to {path.name!r}. Known extensions: "
            f"{', '.join(map(repr, PICTURES))}."
        )
    if find_spec("matplotlib") is None:
        raise Refusal(
            "--plot needs 'matplotlib', which is not installed. Install it with: "
            "pip install 'consilience[plot]'"
        )


def _sources(data: Sequence[str], reading: Reading, files: Files) -> Any:
    """What :func:`consilience.fuse` takes: a table with sources, or tables, networks and graphs."""
    import consilience as cs

    models = [text for text in data if _is_model(text)]
    rows = [text for text in data if text not in models]
    if len(set(data)) < len(data):
        raise click.UsageError("the same source was given twice.")
    found: dict[str, Any] = {}
    if rows:
        table = read_rows(rows, reading, files)
        if not models and table.source is not None:
            return table
        named = cs.fusion.by_source(table) if table.source is not None else {_stem(rows[0]): table}
        found |= named
    for k, text in enumerate(models):
        name = f"graph {k + 1}" if text.lstrip().startswith("[") else _stem(text)
        if name in found:
            raise Refusal(f"two files would be the source {name!r}. Rename one.")
        found[name] = model_of(text, repr(text))
    if len(found) < 2:
        raise click.UsageError("a vote needs two sources: more files, or a column with --source.")
    return found


def _is_model(text: str) -> bool:
    import consilience as cs

    return text.lstrip().startswith("[") or cs.files.is_model_path(text)


def _stem(path: str) -> str:
    return Path(Path(path).name.removesuffix(".gz")).stem


def _n_variables(sources: Any) -> int:
    """Most variables of a source, for scores that ask for it."""
    import consilience as cs

    items = [sources] if isinstance(sources, cs.Table) else list(sources.values())
    return max(len(i.nodes if isinstance(i, cs.DAG) else i.variables) for i in items)


def _named(choices: Mapping[str, str], name: str | None) -> Any:
    """The choice of that name on the command line; None leaves it to the library."""
    import consilience as cs

    return None if name is None else getattr(cs.fusion, choices[name])()


def _search(name: str | None) -> Search | None:
    import consilience as cs

    if name is None:
        return None
    fact = SEARCHES[name]
    choice: Callable[..., Search] = getattr(cs.searches, fact.choice)
    return choice(**fact.fixed)


def _order(name: str | None, *, reverse: bool) -> Any:
    import consilience as cs

    return getattr(cs.fusion, ORDERS[name or "strongest"])(reverse=reverse)


def _weights(text: str | None) -> Any:
    if text is None or text in WEIGHTS:
        return _named(WEIGHTS, text)
    wrong = f"--weights {text!r}: expected {', '.join(WEIGHTS)} or rome=2,oslo=1. {QUOTES}"
    parts = parts_of(f"--weights {text!r}", text, ["=", ","])
    if [part.sign for part in parts] != [*(["=", ","] * (len(parts) // 2))[:-1], ""]:
        raise click.UsageError(wrong)
    try:
        return {
            name.name: float(number.name)
            for name, number in zip(parts[::2], parts[1::2], strict=True)
        }
    except ValueError:
        raise click.UsageError(wrong) from None


def _threshold(text: str | None) -> Any:
    if text is None or text in THRESHOLDS:
        return _named(THRESHOLDS, text)
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(
            f"--threshold {text!r}: expected a number, {' or '.join(THRESHOLDS)}."
        ) from None


def _print(fused: cs.fusion.Fusion, output: Path | None, plot: Path | None) -> None:
    """Sources, threshold, votes, decisions and notes."""
    console = screen()
    n_sources = len(fused.sources)
    facts = {
        "sources": f"{n_sources}: {listed(tuple(fused.sources))}",
        "threshold": f"{fused.threshold:.4g} of {n_sources} votes ({fused.rule})",
        "nodes": f"{len(fused.dag.nodes):,}",
        "arcs": f"{len(fused.dag.arcs):,}",
    }
    if len(set(fused.weights.values())) > 1:
        facts["weights"] = ", ".join(f"{name} {w:.3g}" for name, w in fused.weights.items())
    if fused.network is not None:
        facts["parameters"] = f"{fused.network.n_parameters:,}, {fused.network.record.method}"
    facts |= {} if output is None else {"written to": str(output)}
    facts |= {} if plot is None else {"picture": str(plot)}
    print_facts(console, facts)
    nodes = fused.votes.nodes
    if fused.votes.by_arc and len(nodes) <= N_MATRIX:
        console.print("\nVotes from (rows) to (columns):")
        rows = [
            (node, *(f"{vote:.3g}" if vote else "." for vote in line))
            for node, line in zip(nodes, fused.votes.matrix, strict=True)
        ]
        console.print(grid_of(("", *nodes), rows))
    if fused.decisions:
        console.print()
        lines = [
            (
                f"{d.arc[0]} -> {d.arc[1]}",
                f"{d.votes:.3g} of {d.out_of:.3g}",
                str(d).split(": ", 1)[1],
                _voters(d.voters),
            )
            for d in fused.decisions
        ]
        console.print(grid_of(("arc", "votes", "what became of it", "voters"), lines, n_left=4))
    if fused.notes:
        console.print()
        print_notes(fused.notes)


def _voters(names: Sequence[str]) -> str:
    shown = ", ".join(names[:N_VOTERS])
    return shown if len(names) <= N_VOTERS else f"{shown} and {len(names) - N_VOTERS} more"
