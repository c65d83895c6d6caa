"""``consilience mpe``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.beliefs import number, plain_given
from consilience.cli.common import grid_of, print_facts, screen, spoken
from consilience.cli.given import given_of, given_option
from consilience.cli.outputs import check_inputs
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo

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
def mpe(
    model: str, given: tuple[str, ...], names: tuple[str, ...], k: int, *, as_json: bool
) -> None:
    """The most probable states of all nodes, given some.

    With --map it is the most probable joint state of those nodes only (marginal MAP), which need
    not agree with the most probable state of everything. Continuous nodes have values, and the
    density of everything together is what is largest; -k and --map are for discrete nodes.

    \b
    Examples:
      consilience mpe model.json --given chest_pain=typical -k 3
      consilience mpe model.json --given troponin=raised --map disease --map smoking
    """
    import consilience as cs

    if names and k > 1:
        raise click.UsageError("-k goes without --map.")
    check_inputs([model])
    net = static_model(model)
    known = given_of(net, given)
    if names:
        found = [net.map(names, given=known)]
    else:
        found = [net.mpe(known)] if k == 1 else cs.most_probable(net, k, given=known)
    log_given = cs.log_probability(net, known)
    if as_json:
        plain = plain_given(net, known, log_given) | _plain(found, log_given)
        echo(json.dumps(plain, indent=1, allow_nan=False))
    else:
        _print(found, log_given, what="density" if _has_values(net, known) else "P")


def _plain(found: Sequence[cs.inference.Explanation], log_given: float) -> dict[str, Any]:
    return {"explanations": [_plain_one(one, log_given) for one in found]}


def _plain_one(one: cs.inference.Explanation, log_given: float) -> dict[str, Any]:
    if _has_numbers(one):
        return {
            "states": dict(one),
            "log_density": one.log_probability - log_given,
            "log_density_with_given": one.log_probability,
        }
    return {
        "states": dict(one),
        "probability": _share(one, log_given),
        "log_probability_with_given": one.log_probability,
    }


def _print(found: Sequence[cs.inference.Explanation], log_given: float, *, what: str) -> None:
    console = screen()
    best, *others = found
    rows = [(name, _shown(value)) for name, value in best.items()]
    has_numbers = _has_numbers(best)
    console.print(grid_of(("node", "value" if has_numbers else "state"), rows, n_left=2))
    console.print()
    if has_numbers:
        facts = {
            "log density(values | given)": f"{best.log_probability - log_given:.7g}",
            "log density(values, given)": f"{best.log_probability:.7g}",
        }
    else:
        facts = {
            "P(states | given)": f"{_share(best, log_given):.7g}",
            f"log {what}(states, given)": f"{best.log_probability:.7g}",
        }
    print_facts(console, facts)
    if others:
        ranked = [
            (str(rank), f"{_share(one, log_given):.7g}", _difference(one, best))
            for rank, one in enumerate(others, start=2)
        ]
        console.print("\nThe next best:")
        header = ("", "P(states | given)", "where they differ from the best")
        console.print(grid_of(header, ranked, n_left=3))


def _has_numbers(one: cs.inference.Explanation) -> bool:
    return any(isinstance(value, float) for value in one.values())


def _has_values(net: cs.Network, known: Mapping[str, Any]) -> bool:
    return any(net.variables[name].is_continuous for name in known)


def _shown(value: str | float) -> str:
    return number(value) if isinstance(value, float) else value


def _share(one: cs.inference.Explanation, log_given: float) -> float:
    """Posterior probability of an explanation; rounding may not take it above one."""
    return min(1.0, math.exp(one.log_probability - log_given))


def _difference(one: cs.inference.Explanation, best: cs.inference.Explanation) -> str:
    return ", ".join(f"{name}={state}" for name, state in one.items() if best[name] != state)
