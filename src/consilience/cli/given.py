"""What is known, from the command line: ``--given NODE=STATE``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from consilience.cli.common import Refusal
from consilience.cli.quoting import QUOTES, name_and_rest, names_between

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["given_of", "given_option"]

given_option = click.option(
    "--given",
    multiple=True,
    metavar="NODE=STATE",
    help="What is known; repeatable. NODE=A|B, or the same node again, means one of these states. "
    "A number is the value of a continuous node, or lies in one of the intervals of a node that "
    f"was cut. {QUOTES}",
)


def given_of(net: cs.Network, texts: Iterable[str]) -> dict[str, list[str] | float]:
    """What ``--given`` says by node: the states it leaves open, or the number.

    What stands after the first ``=`` is a state of the node if the node has it; otherwise it is
    split at ``|``. A node that is given again may have those states too.
    """
    states: dict[str, list[str]] = {}
    numbers: dict[str, float] = {}
    for text in texts:
        option = f"--given {text!r}"
        name, value = name_and_rest(option, text, "=")
        if not (name and value):
            raise click.UsageError(f"{option}: expected NODE=STATE.")
        variable = _node(net, name, text)
        if variable.is_continuous:
            if name in numbers:
                raise Refusal(f"{option}: {name!r} is continuous and was given before.")
            numbers[name] = _number(name, value, option)
        else:
            known = variable.discrete_states
            named = [value] if value in known else names_between(option, value, "|")
            states.setdefault(name, []).extend(known[variable.code(state)] for state in named)
    return {**states, **numbers}


def _node(net: cs.Network, name: str, text: str) -> cs.Variable:
    """The node of that name; if there may be one with a sign in it, how it is written."""
    import consilience as cs

    try:
        return net[name].child
    except cs.ConsilienceError as problem:
        meant = [node for node in net.variables if "=" in node and text.startswith(f"{node}=")]
        if not meant:
            raise
        written = f"{cs.data.quoted(meant[0], '=')}{text[len(meant[0]) :]}"
        raise Refusal(f"{problem} A name with '=' stands in quotes: --given {written!r}.") from None


def _number(name: str, value: str, option: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Refusal(f"{option}: {name!r} is continuous; a number is wanted, such as {name}=1.5.")
    return number
