"""Names in the options of commands, with signs between them.

A name stands as it is, or in double quotes: then ``=``, ``,``, ``:`` and ``|`` in it are letters
like any other, and two double quotes are one. It is the rule of model strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from consilience import ConsilienceError

if TYPE_CHECKING:
    from consilience._quote import Part

__all__ = ["QUOTES", "name_and_rest", "names_between", "parts_of"]

QUOTES = "A name with one of the signs = , : | in it stands in double quotes."


def parts_of(option: str, text: str, signs: Sequence[str]) -> list[Part]:
    """The names of an option's text, with the signs between them."""
    import consilience as cs

    with _used_rightly(option):
        return cs.data.parts_between(text, signs)


def names_between(option: str, text: str, sign: str) -> list[str]:
    """The names of an option's text with a sign between them."""
    import consilience as cs

    with _used_rightly(option):
        return cs.data.split_names(text, sign)


def name_and_rest(option: str, text: str, sign: str) -> tuple[str, str]:
    """What stands before the first sign, a name, and what stands after it, as it is."""
    import consilience as cs

    with _used_rightly(option):
        return cs.data.name_before(text, sign)


@contextmanager
def _used_rightly(option: str) -> Iterator[None]:
    """Quotes that are used wrongly are a wrong use of the option."""
    try:
        yield
    except ConsilienceError as problem:
        raise click.UsageError(f"{option}: {problem}") from problem
