"""``consilience mpe``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.common import given_of, given_option, grid_of, print_facts, screen, spoken

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["mpe"]


@click.command()
@click.argument("model")
@given_option
@click.option(
    "--map",
    "names",
    multiple=True,
    metavar="NODE",
    help="Explain by this node, the others summed out; repeatable.",
)
@click.option(
    "-k", type=click.IntRange(min=1), default=1, metavar="N", help="Print the N best explanations."
)
@click.option("--json", "as_json", is_flag=True, help="Print states and numbers as JSON.")
@spoken
def mpe(model: str, given: tuple[str, ...], names: tuple[str, ...], k: int, as_json: bool) -> None:
    """The most probable states of all nodes, given some.

    With --map it is the most probable joint state of those nodes only (marginal MAP), which need
    not agree with the most probable state of everything.

    \b
    Examples:
      consilience mpe model.json --given chest_pain=typical -k 3
      consilience mpe model.json --given troponin=raised --map disease --map smoking
    """
    import consilience as cs

    if names and k > 1:
        raise click.UsageError("-k goes without --map.")
    net = cs.load(model)
    known = given_of(net, given)
    found = [net.map(names, given=known)] if names else cs.most_probable(net, k, given=known)
    log_given = cs.log_probability(net, known)
    if as_json:
        click.echo(json.dumps(_plain(found, known, log_given), indent=1, allow_nan=False))
    else:
        _print(found, log_given)


def _plain(
    found: Sequence[cs.Explanation], known: Mapping[str, list[str]], log_given: float
) -> dict[str, Any]:
    return {
        "given": known,
        "log_probability_of_given": log_given,
        "explanations": [
            {
                "states": dict(one),
                "probability": _share(one, log_given),
                "log_probability_with_given": one.log_probability,
            }
            for one in found
        ],
    }


def _print(found: Sequence[cs.Explanation], log_given: float) -> None:
    console = screen()
    best, *others = found
    console.print(grid_of(("node", "state"), best.items(), n_left=2))
    console.print()
    facts = {
        "P(states | given)": f"{_share(best, log_given):.7g}",
        "log P(states, given)": f"{best.log_probability:.7g}",
    }
    print_facts(console, facts)
    if others:
        rows = [
            (str(rank), f"{_share(one, log_given):.7g}", _difference(one, best))
            for rank, one in enumerate(others, start=2)
        ]
        console.print("\nThe next best:")
        header = ("", "P(states | given)", "where they differ from the best")
        console.print(grid_of(header, rows, n_left=3))


def _share(one: cs.Explanation, log_given: float) -> float:
    """Posterior probability of an explanation; rounding may not take it above one."""
    return min(1.0, math.exp(one.log_probability - log_given))


def _difference(one: cs.Explanation, best: cs.Explanation) -> str:
    return ", ".join(f"{name}={state}" for name, state in one.items() if best[name] != state)
