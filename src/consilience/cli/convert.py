"""``consilience convert``."""

from __future__ import annotations

from pathlib import Path

import click

from consilience.cli.common import print_notes, source_node_option, spoken
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.terminal import echo

__all__ = ["convert"]


@click.command()
@click.argument("model")
@click.argument("output", type=OutputFile())
@source_node_option
@force_option
@spoken
def convert(model: str, output: Path, source: str | None, force: bool) -> None:
    """Write a network in another format.

    The extensions say which: .json (keeps everything), .bif, .xmlbif or .xml, .xdsl (GeNIe), .net
    (Hugin), each also with .gz. Formats other than JSON keep the graph and the tables only.
    Continuous nodes are kept by JSON and XDSL, logistic ones by JSON.

    \b
    Example:
      consilience convert alarm.bif alarm.xdsl
    """
    import consilience as cs

    cs.files.check_model_path(output)
    check_outputs([output], [model], force=force)
    check_inputs([model])
    net = cs.load(model, source=source)
    cs.save(net, output)
    echo(f"{len(net.dag.nodes):,} nodes written to {output}")
    print_notes(net.record.notes)
