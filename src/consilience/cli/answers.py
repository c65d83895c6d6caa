"""The commands about answers: ``intervals``, ``sensitivity``, ``information-value``, ``conflict``,
``explain``, ``differences`` and ``arc-strengths``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.common import Refusal, grid_of, print_notes, screen, spoken
from consilience.cli.given import given_of, given_option
from consilience.cli.outputs import check_inputs
from consilience.cli.quoting import name_and_rest
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo, on_one_line

if TYPE_CHECKING:
    import consilience as cs

__all__ = [
    "arc_strengths",
    "conflict",
    "differences",
    "explain",
    "information_value",
    "intervals",
    "sensitivity",
]

json_option = click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
between_option = click.option(
    "--between",
    nargs=2,
    metavar="SOURCE SOURCE",
    help="Answer for the first of these sources less the second.",
)
rows_option = click.option(
    "--rows", type=click.IntRange(min=1), default=20, show_default=True, help="Rows to print."
)


@click.command()
@click.argument("model")
@click.argument("query", metavar="NODE[=STATE]")
@given_option
@click.option("--level", default=0.95, show_default=True, help="Probability of the interval.")
@click.option("--draws", default=2000, show_default=True, help="Networks drawn.")
@click.option("--seed", default=0, show_default=True, help="Of the draws.")
@between_option
@json_option
@spoken
def intervals(
    model: str,
    query: str,
    given: tuple[str, ...],
    *,
    level: float,
    draws: int,
    seed: int,
    between: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Credible intervals of an answer, from the posterior of the parameters.

    \b
    Examples:
      consilience intervals model.json disease --given hospital=island
      consilience intervals model.json disease=yes --between city harbor --json
    """
    import consilience as cs

    net = _model(model)
    found = cs.intervals(
        net,
        _asked(net, query),
        given_of(net, given),
        level=level,
        draws=draws,
        seed=seed,
        between=between,
    )
    _tell(found, as_json)


@click.command()
@click.argument("model")
@click.argument("query", metavar="NODE[=STATE]")
@given_option
@click.option("--change", default=0.1, show_default=True, help="By how much parameters change.")
@click.option(
    "--threshold", default=0.5, show_default=True, help="Probability from which NODE=STATE decides."
)
@between_option
@rows_option
@json_option
@spoken
def sensitivity(
    model: str,
    query: str,
    given: tuple[str, ...],
    *,
    change: float,
    threshold: float,
    between: tuple[str, str] | None,
    rows: int,
    as_json: bool,
) -> None:
    """How an answer depends on every parameter, and the smallest change that flips a decision.

    \b
    Examples:
      consilience sensitivity model.json disease --given chest_pain=typical
      consilience sensitivity model.json disease=yes --threshold 0.2 --rows 5
    """
    import consilience as cs

    net = _model(model)
    found = cs.sensitivity(
        net,
        _asked(net, query),
        given_of(net, given),
        change=change,
        threshold=threshold,
        between=between,
    )
    one = found.flip
    flip = (
        None
        if one is None
        else {
            "node": one.node,
            "state": one.state,
            "value": one.value,
            "new_value": one.new_value,
            "decision": one.decision,
            "new_decision": one.new_decision,
        }
    )
    _tell(found, as_json, rows=rows, more={"flip": flip})


@click.command(name="information-value")
@click.argument("model")
@click.argument("target", metavar="NODE")
@given_option
@click.option(
    "--cost", "costs", multiple=True, metavar="NODE=COST", help="Cost of a question; repeatable."
)
@click.option("--questions", default=1, show_default=True, help="How many next best questions.")
@between_option
@rows_option
@json_option
@spoken
def information_value(
    model: str,
    target: str,
    given: tuple[str, ...],
    *,
    costs: tuple[str, ...],
    questions: int,
    between: tuple[str, str] | None,
    rows: int,
    as_json: bool,
) -> None:
    """What it would be worth to know each other node, for the belief in one.

    \b
    Examples:
      consilience information-value model.json disease --given age=70+
      consilience information-value model.json disease --questions 3 --cost troponin=5
    """
    import consilience as cs

    net = _model(model)
    found = cs.information_value(
        net,
        target,
        given_of(net, given),
        costs=_costs(costs) or None,
        n_questions=questions,
        between=between,
    )
    asked = [{"variable": one.name, "value": one.value} for one in found.questions]
    _tell(found, as_json, rows=rows, more={"now": found.now, "questions": asked})


@click.command()
@click.argument("model")
@given_option
@between_option
@json_option
@spoken
def conflict(
    model: str, given: tuple[str, ...], *, between: tuple[str, str] | None, as_json: bool
) -> None:
    """Whether what is given contradicts itself under the network.

    \b
    Example:
      consilience conflict model.json --given disease=no --given troponin=high
    """
    import consilience as cs

    net = _model(model)
    found = cs.conflict(net, given_of(net, given), between=between)
    _tell(found, as_json, more={"total": found.total})


@click.command()
@click.argument("model")
@click.argument("target", metavar="NODE[=STATE]")
@given_option
@between_option
@json_option
@spoken
def explain(
    model: str,
    target: str,
    given: tuple[str, ...],
    *,
    between: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Which of what is given moved the belief in a node, and how far.

    \b
    Example:
      consilience explain model.json disease=yes --given age=70+ --given troponin=raised
    """
    import consilience as cs

    net = _model(model)
    found = cs.explain(net, _asked(net, target), given_of(net, given), between=between)
    at = found.states.index(found.state)
    more = {
        "state": found.state,
        "before": float(found.before[at]),
        "after": float(found.after[at]),
    }
    _tell(found, as_json, more=more)


@click.command()
@click.argument("model")
@click.option("--source", metavar="SOURCE", help="Sizes of this source only.")
@between_option
@click.option("--by-source", is_flag=True, help="A row for each family and source.")
@json_option
@spoken
def differences(
    model: str,
    *,
    source: str | None,
    between: tuple[str, str] | None,
    by_source: bool,
    as_json: bool,
) -> None:
    """Which families differ between sources, how far, and whether it matters.

    \b
    Examples:
      consilience differences model.json
      consilience differences model.json --between city harbor --json
    """
    import consilience as cs

    found = cs.differences(_model(model), source, between=between)
    each = [
        {
            "family": one.family,
            "source": one.source,
            "size": one.size,
            "chance": one.chance,
            "rows": one.n_rows,
            "verdict": one.verdict,
        }
        for one in found.by_source
    ]
    if by_source and not as_json:
        columns = {name: [row[name] for row in each] for name in each[0]}
        _print(found.title, columns, found.notes)
        return
    _tell(found, as_json, more={"differing": list(found.differing), "by_source": each})


@click.command("arc-strengths")
@click.argument("model")
@click.option("--source", metavar="SOURCE", help="Strengths in this source only.")
@between_option
@json_option
@spoken
def arc_strengths(
    model: str, *, source: str | None, between: tuple[str, str] | None, as_json: bool
) -> None:
    """How far the rows of each node are apart by the states of each of its parents.

    \b
    Examples:
      consilience arc-strengths model.json
      consilience arc-strengths model.json --between city harbor --json
    """
    import consilience as cs

    _tell(cs.inference.arc_strengths(_model(model), source, between=between), as_json)


def _model(model: str) -> cs.Network:
    check_inputs([model])
    return static_model(model)


def _asked(net: cs.Network, text: str) -> Any:
    """A node, or the event ``NODE=STATE``."""
    if text in net.variables or "=" not in text:
        return text
    name, state = name_and_rest(repr(text), text, "=")
    return {name: net[name].child.discrete_states[net[name].child.code(state)]}


def _costs(texts: tuple[str, ...]) -> dict[str, float]:
    costs = {}
    for text in texts:
        name, number = name_and_rest(f"--cost {text!r}", text, "=")
        try:
            costs[name] = float(number)
        except ValueError:
            raise Refusal(f"--cost {text!r}: expected NODE=COST, a number.") from None
    return costs


def _tell(
    found: Any, as_json: bool, *, rows: int | None = None, more: Mapping[str, Any] | None = None
) -> None:
    columns = found.columns
    if as_json:
        n = len(next(iter(columns.values()), ()))
        lines = [{name: _plain(column[i]) for name, column in columns.items()} for i in range(n)]
        between = {} if found.between is None else {"between": list(found.between)}
        plain = {"title": found.title, **between, **_plain_all(more or {}), "rows": lines}
        echo(json.dumps(plain, indent=1, allow_nan=False))
        return
    shown = columns if rows is None else {name: c[:rows] for name, c in columns.items()}
    _print(found.title, shown, getattr(found, "notes", ()))


def _print(title: str, columns: Mapping[str, Any], notes: Any) -> None:
    console = screen()
    console.print(on_one_line(title), markup=False, soft_wrap=True)
    told = {n: c for n, c in columns.items() if any(one is not None for one in c)}
    lines = zip(*told.values(), strict=True)
    n_left = _n_left(told)
    if told:
        console.print(
            grid_of(tuple(told), [[_cell(one) for one in line] for line in lines], n_left=n_left)
        )
    if notes:
        console.print()
        print_notes(list(notes))


def _n_left(columns: Mapping[str, Any]) -> int:
    """How many of the first columns are words."""
    n = 0
    for column in columns.values():
        if not all(one is None or isinstance(one, str) for one in column):
            break
        n += 1
    return max(n, 1)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain_all(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in known.items()}
