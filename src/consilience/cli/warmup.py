"""``consilience warmup``."""

from __future__ import annotations

import click

from consilience.cli.common import spoken
from consilience.cli.progress import watched
from consilience.cli.terminal import echo

__all__ = ["warmup"]


@click.command()
@spoken
def warmup() -> None:
    """Compile the loops of everyday work now, not at their first use.

    Compiled loops are kept in the folder that NUMBA_CACHE_DIR names, else beside the package or, if
    that cannot be written, in the user's cache. For images and cluster nodes: run it once as the
    user, and with the folder, that will run the work.

    \b
    Example:
      consilience warmup
    """
    from consilience.demo import warm_up

    with watched("Compiling") as progress:
        done = warm_up(progress)
    if not done.kernels:
        echo("all loops of everyday work were compiled before")
        return
    echo(f"{len(done.kernels)} loops compiled in {done.seconds:.0f} s")
