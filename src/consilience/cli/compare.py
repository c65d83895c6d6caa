"""``consilience compare``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.common import (
    markers,
    missing_option,
    model_of,
    parts,
    print_facts,
    screen,
    source_column_option,
    spoken,
    weight_option,
)
from consilience.cli.file_options import Files, file_options
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.scores import score_of, score_option
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["compare"]


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the graphs, without the source, and the network it comes from."""

    name: str
    dag: cs.DAG
    network: cs.Network | None


@click.command()
@click.argument("model")
@click.argument("other")
@click.argument("data", nargs=-1, metavar="[DATA]...")
@score_option("With DATA, how the graphs are judged, bic by default")
@click.option("--ess", type=float, help="Size of the prior of the score in rows.")
@source_column_option
@weight_option
@missing_option
@file_options
@click.option("--svg", type=OutputFile(), help="Write the picture to this file.")
@force_option
@spoken
def compare(
    model: str,
    other: str,
    data: tuple[str, ...],
    score: str | None,
    *,
    ess: float | None,
    source: str | None,
    weight: str | None,
    missing: tuple[str, ...],
    files: Files,
    svg: Path | None,
    force: bool,
) -> None:
    """Compare two graphs over the same nodes.

    MODEL and OTHER are model files or model strings such as '[A][B|A]'; precision and recall take
    OTHER as the truth. The source of a model is left out. With DATA, both graphs are scored on its
    rows, and the families whose parents differ are listed by what that is worth. --svg draws the
    graphs side by side.

    \b
    Examples:
      consilience compare learned.json true.bif --svg pair.svg
      consilience compare learned.json '[smoke][lung|smoke]' rows.csv --score bdeu --ess 10
    """
    import consilience as cs

    if not data and (score is not None or ess is not None):
        raise click.UsageError("a score needs rows: name their file after the two graphs.")
    check_outputs([svg], [model, other, *data], force=force)
    check_inputs(data)
    sides = _side(model), _side(other)
    learned, true = sides
    table = _read(sides, data, source, weight, missing=missing, files=files) if data else None
    found = cs.compare_graphs(
        learned.dag,
        true.dag,
        table=table,
        score=None
        if table is None
        else score_of(score or "bic", ess, n_variables=len(learned.dag.nodes)),
    )
    names = ("learned", "other")
    shown = {
        f"{name:19}": f"{side.name}: {len(side.dag.nodes):,} nodes, {len(side.dag.arcs):,} arcs"
        for name, side in zip(names, sides, strict=True)
    }
    print_facts(screen(), shown)
    echo(f"\n{found}")
    if svg is not None:
        titles = [Path(side.name).stem if side.network else side.name for side in sides]
        is_told_apart = len(set(titles)) == 2
        picture = cs.svg(
            cs.compare_graphs(learned.dag, true.dag), names=titles if is_told_apart else names
        )
        cs.files.write_text(picture, svg)
        echo(f"\npicture written to {svg}")


def _side(text: str) -> _Side:
    import consilience as cs

    model = model_of(text, repr(text))
    if isinstance(model, cs.DAG):
        return _Side("model string", model, None)
    dag = model.dag if model.source is None else model.dag.without(model.source)
    return _Side(text, dag, model)


def _read(
    sides: tuple[_Side, _Side],
    data: tuple[str, ...],
    source: str | None,
    weight: str | None,
    *,
    missing: tuple[str, ...],
    files: Files,
) -> cs.Table:
    """The rows; states are those of the first model that is a file."""
    import consilience as cs

    known = next((side.network for side in sides if side.network is not None), None)
    variables = {} if known is None else known.variables
    with screen(stderr=True).status("Reading"):
        return cs.read(
            parts(data, source),
            source=source or (None if known is None else known.source),
            weight=weight,
            missing=markers(missing),
            schema={name: v for name, v in variables.items() if name in sides[0].dag.nodes} or None,
            **files.reading(),
        )
