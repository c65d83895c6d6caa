"""``consilience fairness``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from consilience.cli.causal_options import mechanism_of, mechanism_option, print_assumptions
from consilience.cli.common import (
    Refusal,
    grid_of,
    listed,
    markers,
    missing_option,
    print_facts,
    print_notes,
    screen,
    source_column_option,
    spoken,
    weight_option,
)
from consilience.cli.file_options import Files, file_options
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import consilience as cs

__all__ = ["fairness"]

RATES: Final = {
    "selected": "selection_rate",
    "accuracy": "accuracy",
    "true positive": "true_positive_rate",
    "false positive": "false_positive_rate",
    "calibration": "calibration",
}
GAPS: Final = (
    *("selection_difference", "selection_ratio", "odds_difference", "odds_ratio"),
    "opportunity_difference",
)


@click.command()
@click.argument("predictor")
@click.argument("data")
@click.option("--protected", required=True, metavar="COL", help="The protected attribute.")
@click.option("--target", required=True, metavar="COL", help="What is predicted.")
@click.option("--positive", required=True, metavar="STATE", help="State that counts as selected.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="FILE",
    help="Network that says what the attribute causes; repeatable. The predictor is judged under "
    "each, and the worst is told.",
)
@mechanism_option
@click.option(
    "--threshold",
    type=float,
    default=0.5,
    show_default=True,
    help="Scores of at least this much select.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@source_column_option
@weight_option
@missing_option
@file_options
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("--html", type=OutputFile(), help="Write the whole report to this file.")
@force_option
@spoken
def fairness(
    predictor: str,
    data: str,
    protected: str,
    target: str,
    *,
    positive: str,
    models: tuple[str, ...],
    mechanism: str | None,
    threshold: float,
    level: float,
    seed: int,
    source: str | None,
    weight: str | None,
    missing: tuple[str, ...],
    files: Files,
    as_json: bool,
    html: Path | None,
    force: bool,
) -> None:
    """How a predictor treats the groups of a protected attribute.

    PREDICTOR is a model file, whose probability of the positive state is the score, or a column of
    the rows that holds predictions. Measures by group and the gaps between groups, in all and by
    source, with intervals; and with --model what the predictor would have said of the same rows
    with another attribute.

    \b
    Examples:
      consilience fairness model.json people.csv --protected sex --target hired --positive yes
      consilience fairness model.json people.csv --protected sex --target hired --positive yes \\
        --model model.json --mechanism monotone --html audit.html
      consilience fairness score people.csv --protected sex --target hired --positive yes
    """
    import consilience as cs

    check_outputs([html], [predictor, data, *models], force=force)
    check_inputs([data, *models])
    nets = [static_model(one) for one in models]
    scorer = static_model(predictor) if Path(predictor).is_file() else None
    wanted = [protected, target, *([predictor] if scorer is None else [])]
    known = [*([] if scorer is None else [scorer]), *nets]
    with screen(stderr=True).status("Reading"):
        how = {**files.reading(), "missing": markers(missing)}
        table = _rows(data, known, wanted, source=source, weight=weight, how=how, form=files.form)
    print_notes(table.notes, err=True)
    with screen(stderr=True).status("Auditing"):
        found = cs.causal.fairness(
            _predictions(table, predictor) if scorer is None else scorer,
            table,
            protected=protected,
            target=target,
            positive=positive,
            model=nets or None,
            mechanism=mechanism_of(mechanism),
            threshold=threshold,
            level=level,
            seed=seed,
        )
    if html is not None:
        cs.files.write_text(found.to_html(), html)
        echo(f"report written to {html}", err=True)
    if as_json:
        echo(json.dumps(_plain(found), indent=1, allow_nan=False))
        return
    _print(found)
    print_assumptions(found.assumptions)


def _rows(
    data: str,
    nets: Sequence[cs.Network],
    wanted: Sequence[str],
    *,
    source: str | None,
    weight: str | None,
    how: Mapping[str, Any],
    form: Mapping[str, Any],
) -> cs.Table:
    """The rows as the networks know them, and the columns that are wanted besides."""
    import consilience as cs

    names = cs.data.column_names(data, **form)
    for name in wanted:
        if name not in names:
            raise Refusal(
                f"{data} has no column {name!r}. Known: {listed(names)}. A predictor is a model "
                "file or a column."
            )
    named = source or next((n.source for n in nets if n.source in names), None)
    nodes = {name: v for net in reversed(nets) for name, v in net.variables.items()}
    chosen = {name: v for name, v in nodes.items() if name in names and name != named}
    others = [name for name in wanted if name not in chosen and name != named]
    if others:
        plain = cs.read(data, **{**how, "columns": others, "drop": ()})
        chosen |= plain.variables
    schema = {name: v for name, v in chosen.items() if name not in (weight, *how["drop"])}
    return cs.read(
        data, source=named, weight=weight, schema=schema, partial=True, **{**how, "columns": None}
    )


def _predictions(table: cs.Table, column: str) -> Any:
    """The column of predictions: scores, or states of the target."""
    import numpy as np

    variable = table.variables[column]
    values = table.column(column)
    if variable.is_continuous:
        return values
    if (values < 0).any():
        raise Refusal(f"the column {column!r} of predictions has missing values.")
    return np.array(variable.discrete_states)[values]


def _plain(found: cs.causal.FairnessReport) -> dict[str, Any]:
    check = found.counterfactual
    return {
        "level": found.level,
        **_plain_groups(found.groups, found.gaps),
        "by_source": {
            name: _plain_groups(one.groups, one.gaps) for name, one in found.by_source.items()
        },
        "counterfactual": None if check is None else _plain_check(check),
        "by_model": [_plain_check(one) for one in found.by_model],
        "notes": list(found.notes),
        "assumptions": list(found.assumptions),
    }


def _plain_groups(
    groups: Mapping[str, cs.causal.Group], gaps: cs.causal.Gaps | None
) -> dict[str, Any]:
    return {
        "groups": {
            name: {
                "n_rows": group.n_rows,
                **{field: getattr(group, field) for field in RATES.values()},
            }
            for name, group in groups.items()
        },
        "gaps": {
            name: None if gap is None else {"value": gap.value, "interval": gap.interval}
            for name, gap in _gaps(gaps).items()
        },
    }


def _plain_check(check: cs.causal.CounterfactualFairness) -> dict[str, Any]:
    curve = check.curve
    lists = {
        name: None if values is None else values.tolist()
        for name, values in (
            ("eps", curve.eps),
            ("mean", curve.mean),
            ("worst", curve.worst),
            ("low", curve.low),
            ("high", curve.high),
            ("standard_error", curve.error),
        )
    }
    return {
        "fair": check.is_fair,
        "graphical": check.is_graphical,
        "share_of_rows_changed": check.share,
        "mean_change": {name: float(one.mean()) for name, one in check.changes.items()},
        "by_source": dict(check.by_source),
        "curve": lists,
    }


def _gaps(gaps: cs.causal.Gaps | None) -> dict[str, cs.causal.RateGap | None]:
    return {} if gaps is None else {name: getattr(gaps, name) for name in GAPS}


def _print(found: cs.causal.FairnessReport) -> None:
    console = screen()
    rows = [
        (name, f"{one.n_rows:,.6g}", *(_cell(getattr(one, field)) for field in RATES.values()))
        for name, one in found.groups.items()
    ]
    console.print(grid_of(("group", "rows", *RATES), rows))
    console.print()
    places = {"all": found.gaps, **{name: one.gaps for name, one in found.by_source.items()}}
    lines = [
        (place, name.replace("_", " "), f"{gap.value:.6f}", *(f"{e:.6f}" for e in gap.interval))
        for place, gaps in places.items()
        for name, gap in _gaps(gaps).items()
        if gap is not None
    ]
    header = ("rows of", "gap", "value", f"{found.level:.0%} from", "to")
    console.print(grid_of(header, lines, n_left=2))
    if found.counterfactual is not None:
        _print_check(found.counterfactual, len(found.by_model))
    if found.notes:
        echo()
        print_notes(found.notes)


def _print_check(check: cs.causal.CounterfactualFairness, n_models: int) -> None:
    worst = f" (the worst of {n_models} models)" if n_models > 1 else ""
    echo(f"\nwith another attribute{worst}:")
    told = "uses nothing that the attribute causes" if check.is_graphical else "uses what it causes"
    facts = {
        "predictor": told,
        "rows that can change": f"{check.share:.2%}",
        **{f"mean change to {name}": f"{one.mean():+.6f}" for name, one in check.changes.items()},
    }
    console = screen()
    print_facts(console, facts)
    curve = check.curve
    ends, header = [curve.eps], ["change beyond"]
    if curve.mean is not None and curve.worst is not None:
        ends += [curve.mean, curve.worst]
        header += ["mean", "worst row"]
    if curve.low is not None and curve.high is not None:
        ends += [curve.low, curve.high]
        header += ["bounds from", "to"]
    echo()
    rows = [[f"{number:.6g}" for number in line] for line in zip(*ends, strict=True)]
    console.print(grid_of(header, rows, n_left=0))


def _cell(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.6f}"
