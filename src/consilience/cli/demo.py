"""``consilience demo``."""

from __future__ import annotations

from pathlib import Path

import click

from consilience.cli.common import screen, spoken
from consilience.cli.outputs import OutputFile, check_outputs
from consilience.cli.terminal import echo

__all__ = ["demo"]


@click.command()
@click.option("--svg", type=OutputFile(), help="Write the picture to this file.")
@click.option(
    "--save",
    "folder",
    type=click.Path(path_type=Path),
    help="Only write the rows of the hospitals to this folder, a csv file for each.",
)
@spoken
def demo(svg: Path | None, folder: Path | None) -> None:
    """Learn from five made-up hospitals and tell what was found.

    \b
    Examples:
      consilience demo --svg hospitals.svg
      consilience demo --save demo
    """
    if folder is not None:
        from consilience.demo import save_hospitals

        names = save_hospitals(folder)
        echo(f"written to {folder}: {', '.join(names)}")
        echo(f"Try: consilience learn {folder / '*.csv'} --target disease -o model.json")
        return
    from consilience.demo import tell

    check_outputs([svg], [])
    tell(screen(), svg_path=svg)
