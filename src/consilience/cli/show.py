"""``consilience show``."""

from __future__ import annotations

from pathlib import Path

import click

from consilience.cli.common import Refusal, source_node_option, spoken
from consilience.cli.given import given_of, given_option
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.terminal import echo

__all__ = ["show"]


@click.command()
@click.argument("model")
@click.option("--node", metavar="NODE", help="Print the table of this node.")
@click.option(
    "--rows", type=click.IntRange(min=1), default=40, show_default=True, help="Rows of it to print."
)
@click.option("--svg", type=OutputFile(), help="Write the picture to this file.")
@given_option
@source_node_option
@force_option
@spoken
def show(
    model: str,
    node: str | None,
    rows: int,
    svg: Path | None,
    *,
    given: tuple[str, ...],
    source: str | None,
    force: bool,
) -> None:
    """Describe a network or one of its tables.

    With --given the picture has the beliefs of all nodes, and the known ones are set off.

    \b
    Examples:
      consilience show model.json
      consilience show model.json --node disease
      consilience show model.json --svg model.svg
      consilience show model.json --given smoke=yes --svg beliefs.svg
    """
    import consilience as cs

    if given and svg is None:
        raise click.UsageError("--given is drawn in a picture; name its file with --svg.")
    check_outputs([svg], [model], force=force)
    check_inputs([model])
    net = cs.load(model, source=source)
    if given and isinstance(net, cs.dynamic.DynamicNetwork):
        raise Refusal(f"{model} holds a network in time, whose picture has no beliefs.")
    echo(net.describe(node, max_rows=rows))
    if svg is not None:
        beliefs = {"given": given_of(net, given)} if given else {}
        cs.files.write_text(cs.svg(net, **beliefs), svg)
        echo(f"\npicture written to {svg}")
