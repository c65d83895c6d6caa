"""``consilience explore``."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.common import missing_option, source_column_option, spoken
from consilience.cli.file_options import Files, file_options
from consilience.cli.known_table import known_table
from consilience.cli.outputs import OutputFile, check_inputs, check_outputs, force_option
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["explore"]


@click.command()
@click.argument("model")
@click.argument("rows", nargs=-1)
@source_column_option
@click.option("--target", metavar="NODE", help="The node that is predicted, for the evaluation.")
@click.option("--compare", metavar="MODEL", help="A second network, shown beside the first.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port; any that is free if not given."
)
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option(
    "-o", "--output", type=OutputFile(), help="Write one HTML file that needs no server, and end."
)
@missing_option
@file_options
@force_option
@spoken
def explore(
    model: str,
    rows: tuple[str, ...],
    source: str | None,
    target: str | None,
    *,
    compare: str | None,
    port: int,
    no_open: bool,
    output: Path | None,
    missing: tuple[str, ...],
    files: Files,
    force: bool,
) -> None:
    """Look at a network in the browser: beliefs, findings by a click, sources compared.

    The address is printed; the server listens on this machine alone and ends with Ctrl-C. It needs
    the extra 'explore'. With -o one HTML file is written that answers by itself.

    \b
    Examples:
      consilience explore model.json
      consilience explore model.json heart.csv --source hospital --target disease
      consilience explore model.json -o page.html
    """
    import consilience as cs

    seconds = [] if compare is None else [compare]
    check_outputs([output], [model, *rows, *seconds], force=force)
    check_inputs([model, *rows, *seconds])
    net = static_model(model)
    table = known_table(net, rows, source, missing, files=files) if rows else None
    explorer = cs.explore(
        net,
        table,
        target=target,
        compare=None if compare is None else static_model(compare),
        name=Path(model).name,
        port=port if output is None else None,
        open=False,
    )
    if output is not None:
        cs.files.write_text(explorer.page(), output)
        echo(f"page written to {output}")
        return
    with explorer, suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, _end)
        echo(explorer.url)
        if not no_open:
            click.launch(explorer.url)
        explorer.wait()
    sys.stdout.flush()
    os._exit(0)  # threads may still compile, and to tear all that down takes seconds


def _end(_: int, __: FrameType | None) -> None:
    """End as by Ctrl-C."""
    raise KeyboardInterrupt
