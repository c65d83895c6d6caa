"""The command ``consilience`` with all its subcommands.

Every subcommand imports what it needs when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper

import click

from consilience import __version__
from consilience.cli.compare import compare
from consilience.cli.convert import convert
from consilience.cli.demo import demo
from consilience.cli.evaluate import evaluate
from consilience.cli.fuse import fuse
from consilience.cli.impute import impute
from consilience.cli.learn import learn
from consilience.cli.mpe import mpe
from consilience.cli.predict import predict
from consilience.cli.query import query
from consilience.cli.sample import sample
from consilience.cli.score import score
from consilience.cli.show import show

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="consilience")
def main() -> None:
    """Bayesian networks learned from many sources.

    \b
    Start with:  consilience demo
    Then:        consilience learn rows.csv --target disease -o model.json
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a letter shows "?" for it
            stream.reconfigure(errors="replace")


for command in (
    learn,
    query,
    mpe,
    predict,
    impute,
    sample,
    convert,
    show,
    score,
    evaluate,
    compare,
    fuse,
    demo,
):
    main.add_command(command)
