"""``consilience counterfactual``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.beliefs import plain_belief, print_belief
from consilience.cli.causal_options import (
    do_option,
    mechanism_of,
    mechanism_option,
    print_assumptions,
    set_states,
)
from consilience.cli.common import grid_of, screen, spoken
from consilience.cli.outputs import check_inputs
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["counterfactual"]


@click.command()
@click.argument("model")
@click.argument("node")
@do_option
@click.option(
    "--given", multiple=True, metavar="NODE=STATE", help="What the row shows; repeatable."
)
@mechanism_option
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@spoken
def counterfactual(
    model: str,
    node: str,
    do: tuple[str, ...],
    given: tuple[str, ...],
    *,
    mechanism: str | None,
    as_json: bool,
) -> None:
    """What a node would have been, had others been set, for a row.

    The row may be partial. Continuous nodes keep their residual. How discrete nodes answer in two
    worlds at once is never seen in rows, so it is named by --mechanism; bounds over all mechanisms
    are printed always.

    \b
    Examples:
      consilience counterfactual model.json hired --do sex=M --given sex=F --given school=yes \\
        --given hired=no --mechanism monotone
    """
    import consilience as cs

    check_inputs([model])
    net = static_model(model)
    found = cs.causal.counterfactual(
        net,
        node,
        do=set_states(net.variables, do),
        given=set_states(net.variables, given, "--given"),
        mechanism=mechanism_of(mechanism),
    )
    if as_json:
        echo(json.dumps(_plain(found), indent=1, allow_nan=False))
        return
    echo(f"{found.question}\n")
    if found.belief is None:
        echo("How the node answers in both worlds must be named for a belief: --mechanism.")
    else:
        print_belief(found.belief)
    if found.bounds is not None:
        sharp = "sharp" if found.is_sharp else "they hold, but need not be reached"
        echo(f"\nbounds over all mechanisms ({sharp}):")
        rows = [(s, *(f"{end:.7g}" for end in ends)) for s, ends in _ends(found.bounds).items()]
        screen().print(grid_of((node, "low", "high"), rows))
    print_assumptions(found.assumptions)


def _ends(bounds: cs.causal.Bounds) -> dict[str, tuple[float, float]]:
    return {state: bounds[state] for state in bounds.variable.discrete_states}


def _plain(found: cs.causal.Counterfactual) -> dict[str, Any]:
    return {
        "question": found.question,
        "belief": None if found.belief is None else plain_belief(found.belief),
        "bounds": None if found.bounds is None else _ends(found.bounds),
        "sharp": found.is_sharp,
        "assumptions": list(found.assumptions),
    }
