"""``consilience query``."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import TYPE_CHECKING

import click

from consilience.cli.common import given_of, given_option, grid_of, print_facts, screen, spoken

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["query"]


@click.command()
@click.argument("model")
@click.argument("names", nargs=-1, required=True, metavar="NODE...")
@given_option
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@spoken
def query(model: str, names: tuple[str, ...], given: tuple[str, ...], as_json: bool) -> None:
    """Probability of each state of a node, given others.

    For several nodes it is the probability of their states together. The probability of what is
    given is printed too.

    NODE=A|B is the state 'A|B' if the node has one of that name, and otherwise the state A or B.

    \b
    Examples:
      consilience query model.json disease --given chest_pain=typical --given hospital=island
      consilience query model.json disease smoking --given 'age=50-69|70+' --json
    """
    import consilience as cs

    net = cs.load(model)
    known = given_of(net, given)
    belief = net.query(names, given=known)
    log_given = cs.log_probability(net, known)
    if as_json:
        click.echo(json.dumps(_plain(belief, known, log_given), indent=1, allow_nan=False))
        return
    console = screen()
    rows = [(*states, f"{p:.7g}") for states, p in _entries(belief)]
    header = (*belief.names, "probability")
    console.print(grid_of(header, rows, n_left=len(header)))
    if known:
        console.print()
        facts = {"P(given)": f"{math.exp(log_given):.7g}", "log P(given)": f"{log_given:.7g}"}
        print_facts(console, facts)


def _entries(belief: cs.Factor) -> list[tuple[tuple[str, ...], float]]:
    states = product(*belief.states.values())
    return list(zip(states, belief.values.ravel().tolist(), strict=True))


def _plain(belief: cs.Factor, known: dict[str, list[str]], log_given: float) -> dict[str, object]:
    return {
        "query": list(belief.names),
        "given": known,
        "log_probability_of_given": log_given,
        "probabilities": [
            {"states": dict(zip(belief.names, states, strict=True)), "probability": p}
            for states, p in _entries(belief)
        ],
    }
