"""``consilience demo``."""

from __future__ import annotations

from pathlib import Path

import click

from consilience.cli.common import screen, spoken
from consilience.cli.outputs import check_outputs

__all__ = ["demo"]


@click.command()
@click.option("--svg", type=click.Path(path_type=Path), help="Write the picture to this file.")
@spoken
def demo(svg: Path | None) -> None:
    """Learn from five made-up hospitals and tell what was found.

    \b
    Example:
      consilience demo --svg hospitals.svg
    """
    from consilience.demo.story import tell

    check_outputs([svg], [])
    tell(screen(), svg_path=svg)
