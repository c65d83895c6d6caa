"""``consilience effect``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.causal_options import (
    Hidden,
    Moved,
    causal_graph,
    do_option,
    experiments_of,
    hidden_options,
    moved_options,
    print_assumptions,
    set_states,
)
from consilience.cli.common import Refusal, grid_of, model_of, print_notes, screen, spoken
from consilience.cli.file_options import Files, file_options
from consilience.cli.outputs import check_inputs
from consilience.cli.reading import Reading, read_rows, reading_options
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    from collections.abc import Mapping

    import consilience as cs

__all__ = ["effect"]


@click.command()
@click.argument("model")
@click.argument("node")
@do_option
@click.option(
    "--against",
    multiple=True,
    metavar="NODE=STATE",
    help="What it is compared with: the same nodes, other states.",
)
@click.option("--state", metavar="STATE", help="The state of NODE; not for a continuous one.")
@click.option(
    "--given", multiple=True, metavar="NODE=STATE", help="What is seen after it; repeatable."
)
@click.option("--data", multiple=True, metavar="FILE", help="Rows, for a graph; repeatable.")
@click.option(
    "--class",
    "of_class",
    is_flag=True,
    help="Take the graph for its class: all graphs that the rows cannot tell from it.",
)
@hidden_options
@moved_options
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the interval.",
)
@click.option("--draws", type=click.IntRange(min=1), default=2000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@reading_options
@file_options
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@spoken
def effect(
    model: str,
    node: str,
    do: tuple[str, ...],
    against: tuple[str, ...],
    *,
    state: str | None,
    given: tuple[str, ...],
    data: tuple[str, ...],
    of_class: bool,
    unseen: Hidden,
    moved: Moved,
    level: float,
    draws: int,
    seed: int,
    reading: Reading,
    files: Files,
    as_json: bool,
) -> None:
    """What setting some nodes does to another.

    MODEL is a model file; or a model string or file together with rows (--data), to which its graph
    is fitted. With hidden causes (--latent, --hidden) the effect is computed from the rows by the
    formula of 'identify', and bounded where there is none. The effect is the difference to
    --against, in all and by source, with an interval of posterior draws.

    \b
    Examples:
      consilience effect model.json disease --do smoking=yes --against smoking=no --state yes
      consilience effect '[x][m|x][y|m]' y --latent x:y --data rows.csv --do x=yes --state yes
      consilience effect '[place][age|place][dose][cured|age:dose]' cured --data studies.csv \\
        --source place --do dose=high --against dose=low --state yes --to city \\
        --experiment trial=dose
    """
    import consilience as cs

    check_inputs([model, *data])
    needs_rows = bool(unseen.latent or unseen.hidden or moved.to or of_class)
    if not data:
        if needs_rows:
            raise click.UsageError("--latent, --hidden, --to and --class need rows: --data FILE.")
        net = model_of(model, f"{model!r}")
        if not isinstance(net, cs.Network):
            raise Refusal("a graph needs rows to go with it: --data FILE.")
        asked: Any = net
        table, variables = None, net.variables
    else:
        graph = causal_graph(model, unseen)
        asked = cs.CPDAG.of(_as_dag(graph)) if of_class else graph
        table = read_rows(data, reading, files)
        variables = _variables(table)
    found = cs.causal.effect(
        asked,
        node,
        do=set_states(variables, do),
        against=set_states(variables, against, "--against") or None,
        state=state,
        given=set_states(variables, given, "--given"),
        table=table,
        level=level,
        draws=draws,
        seed=seed,
        to=moved.to,
        experiments=experiments_of(moved.experiment),
    )
    if as_json:
        plain = _plain(found) | {"assumptions": list(found.assumptions)}
        echo(json.dumps(plain, indent=1, allow_nan=False))
        return
    _print(found)
    print_assumptions(found.assumptions)


def _as_dag(graph: cs.DAG | cs.causal.ADMG) -> cs.DAG:
    import consilience as cs

    if not isinstance(graph, cs.DAG):
        raise click.UsageError("--class goes without --latent and --hidden.")
    return graph


def _variables(table: cs.Table) -> Mapping[str, cs.Variable]:
    source = table.schema.source
    return {**table.variables, **({} if source is None else {source.name: source})}


def _plain(found: cs.causal.Effect) -> dict[str, Any]:
    return {
        "question": found.question,
        "effect": found.value,
        "level": found.level,
        "interval": found.interval,
        "bounds": found.bounds,
        "values": [{"effect": value, "graphs": n} for value, n in found.values],
        "by_source": {
            name: {"effect": one.value, "interval": one.interval, "bounds": one.bounds}
            for name, one in found.by_source.items()
        },
        "notes": list(found.notes),
    }


def _print(found: cs.causal.Effect) -> None:
    echo(f"{found.question}\n")
    header = ("", "effect", f"{found.level:.0%} from", "to", "bounds from", "to")
    rows = [("all", *_cells(found))]
    rows += [(name, *_cells(one)) for name, one in found.by_source.items()]
    rows += [(f"in {n or 'many'} graphs", f"{v:.7g}", "", "", "", "") for v, n in found.values]
    used = [i for i in range(len(header)) if i < 2 or any(row[i] for row in rows)]
    shown = [[row[i] for i in used] for row in rows]
    screen().print(grid_of([header[i] for i in used], shown))
    if found.notes:
        echo()
        print_notes(found.notes)


def _cells(one: cs.causal.Effect) -> tuple[str, ...]:
    value = "" if one.value is None else f"{one.value:.7g}"
    ends = [
        ("", "") if pair is None else tuple(f"{end:.7g}" for end in pair)
        for pair in (one.interval, one.bounds)
    ]
    return value, *ends[0], *ends[1]
