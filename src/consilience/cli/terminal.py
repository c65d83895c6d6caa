r"""What reaches a screen: text whose control characters are written out.

Names of nodes, states and sources come from files that someone else may have written, and a
terminal obeys what it finds in them: colors, titles, lines erased and written anew. So all commands
print through here, and an escape character is shown as ``\x1b``. Rows written to a file or into a
pipe are data and keep their names.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from consilience.kernels.watching import on_compiling

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["COMPILING", "echo", "on_one_line", "print_rows", "told_of_compiling", "visible"]

COMPILING = "compiling, once on this machine ..."

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_IN_TEXT = re.compile(f"[{_CONTROLS}]")
_IN_LINE = re.compile(f"[{_CONTROLS}\t\n]")


def visible(text: str) -> str:
    r"""The text with control characters and marks of direction written out, but for \n and \t.

    >>> print(visible("\x1b[31mred\x1b[0m"))
    \x1b[31mred\x1b[0m
    """
    return _IN_TEXT.sub(_written_out, text)


def on_one_line(text: str) -> str:
    r"""The same with \n and \t written out too, for names in a table."""
    return _IN_LINE.sub(_written_out, text)


def echo(text: object = "", *, err: bool = False) -> None:
    """Print a line."""
    click.echo(visible(str(text)), err=err)


@contextmanager
def told_of_compiling() -> Iterator[None]:
    """Say on a terminal, once, that loops are being compiled while the block runs."""
    is_said = not sys.stderr.isatty()

    def tell(_: str) -> None:
        nonlocal is_said
        if not is_said:
            is_said = True
            echo(COMPILING, err=True)

    with on_compiling(tell):
        yield


def print_rows(table: cs.Table) -> None:
    """Print rows as csv; as they are unless they go to a terminal."""
    import consilience as cs

    if not sys.stdout.isatty():
        cs.data.write_csv(table, sys.stdout.buffer)
        return
    stream = io.BytesIO()
    cs.data.write_csv(table, stream)
    click.echo(visible(stream.getvalue().decode()), nl=False)


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
