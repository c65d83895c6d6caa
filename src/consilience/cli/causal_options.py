"""What the causal commands share: graphs with hidden causes, what is set, what is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from consilience.cli.bundles import bundled
from consilience.cli.common import Refusal, model_of
from consilience.cli.quoting import QUOTES, name_and_rest, names_between
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs

    Graph: TypeAlias = cs.DAG | cs.causal.ADMG

__all__ = [
    "Hidden",
    "causal_graph",
    "do_option",
    "experiments_of",
    "hidden_options",
    "mechanism_of",
    "mechanism_option",
    "moved_options",
    "print_assumptions",
    "set_states",
]

MECHANISMS: Final = {
    "gumbel-max": "GumbelMax",
    "monotone": "Monotone",
    "independent": "IndependentNoise",
}

do_option = click.option(
    "--do",
    "do",
    multiple=True,
    required=True,
    metavar="NODE=STATE",
    help=f"What is set from outside; repeatable. {QUOTES}",
)
mechanism_option = click.option(
    "--mechanism",
    type=click.Choice(list(MECHANISMS)),
    help="How discrete nodes answer in both worlds. Without it there are bounds over all "
    "mechanisms only.",
)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the options say about causes that nobody recorded."""

    latent: tuple[str, ...]
    hidden: tuple[str, ...]


hidden_options: Final = bundled(
    "unseen",
    Hidden,
    [
        click.option(
            "--latent",
            multiple=True,
            metavar="NODE:NODE",
            help="Two nodes with a hidden common cause; repeatable.",
        ),
        click.option(
            "--hidden",
            multiple=True,
            metavar="NODE",
            help="Node of the graph that was not recorded; repeatable.",
        ),
    ],
)


@dataclass(frozen=True, slots=True)
class Moved:
    """What the options say about an effect in another source."""

    to: str | None
    experiment: tuple[str, ...]


moved_options: Final = bundled(
    "moved",
    Moved,
    [
        click.option("--to", metavar="NAME", help="Source that the effect is moved to."),
        click.option(
            "--experiment",
            multiple=True,
            metavar="NAME=NODES",
            help="Source that serves, and the nodes that were set there, with commas between them; "
            "NAME= for a study that only looked on. Repeatable.",
        ),
    ],
)


def causal_graph(text: str, unseen: Hidden) -> Graph:
    """The graph of a model string or file, with its hidden causes."""
    import consilience as cs

    model = model_of(text, f"{text!r}")
    dag = model.dag if isinstance(model, cs.Network) else model
    if not (unseen.latent or unseen.hidden):
        return dag
    graph = cs.causal.ADMG.of(dag, hidden=unseen.hidden)
    pairs = [_pair(one) for one in unseen.latent]
    for pair in pairs:
        for name in pair:
            graph.parents(name)
    known = {frozenset(pair) for pair in graph.latent}
    new = [pair for pair in pairs if frozenset(pair) not in known]
    return cs.causal.ADMG(graph.arcs, [*graph.latent, *new], graph.nodes)


def set_states(
    variables: Mapping[str, cs.Variable], texts: Iterable[str], option: str = "--do"
) -> dict[str, Any]:
    """What an option sets: the state of each node, or its number."""
    import consilience as cs

    found: dict[str, Any] = {}
    for text in texts:
        told = f"{option} {text!r}"
        name, value = name_and_rest(told, text, "=")
        if not (name and value):
            raise click.UsageError(f"{told}: expected NODE=STATE.")
        if name not in variables:
            raise Refusal(f"unknown node {name!r}. Known: {', '.join(map(repr, variables))}.")
        if name in found:
            raise Refusal(f"{told}: {name!r} was set before.")
        variable = variables[name]
        if variable.is_continuous:
            found[name] = _number(value, told)
            continue
        try:
            found[name] = variable.discrete_states[variable.code(value)]
        except cs.ConsilienceError as problem:
            raise Refusal(f"{told}: {problem}") from problem
    return found


def experiments_of(texts: Sequence[str]) -> dict[str, list[str]] | None:
    """What was set in each source that serves; None if no experiment is named."""
    found: dict[str, list[str]] = {}
    for text in texts:
        option = f"--experiment {text!r}"
        name, nodes = name_and_rest(option, text, "=")
        if not name or "=" not in text:
            raise click.UsageError(f"{option}: expected NAME=NODES, such as trial=dose.")
        found[name] = names_between(option, nodes, ",") if nodes else []
    return found or None


def mechanism_of(name: str | None) -> Any:
    """The choice of that name."""
    import consilience as cs

    return None if name is None else getattr(cs.causal, MECHANISMS[name])()


def print_assumptions(assumptions: Sequence[str]) -> None:
    """What the answer takes for granted; it is printed last, always."""
    echo("\nassumptions:")
    for one in assumptions:
        echo(f"- {one}")


def _pair(text: str) -> tuple[str, str]:
    names = names_between(f"--latent {text!r}", text, ":")
    if len(names) != 2:
        raise click.UsageError(f"--latent {text!r}: expected NODE:NODE.")
    return names[0], names[1]


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refusal(f"{option}: the node is continuous; a number is wanted.") from None
