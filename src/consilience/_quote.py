"""Names in texts that are made of names and signs: model strings, options of commands.

One rule for all of them: a name stands as it is, or in double quotes. In quotes every sign is a
letter like any other, and two double quotes are one::

    name = '"' (any letter but '"', or '""')* '"'
         | text without the signs that does not begin with '"'

White space around names means nothing, unless it stands in the quotes. So ``["dose (mg):day 1"]``
has one node, and ``--given '"a=b"=yes'`` speaks of the node ``a=b``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from consilience.errors import InputError

__all__ = ["Part", "name_before", "parts_between", "quoted", "split_names"]

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*')
_QUOTE_BEGINS = re.compile(r'\s*"')


class Part(NamedTuple):
    """A name, whether it stands in quotes, the sign after it, if any, and where both stand."""

    name: str
    is_quoted: bool
    start: int
    sign: str
    end: int


def parts_between(text: str, signs: Sequence[str]) -> list[Part]:
    """The names between the signs of a text, empty ones included.

    >>> [part.name for part in parts_between('"a|b" | c', ["|"])]
    ['a|b', 'c']
    """
    return list(_parts(text, signs))


def name_before(text: str, sign: str) -> tuple[str, str]:
    """The name before the first sign, and what stands after it, as it is.

    >>> name_before('"a=b"=c=d', "=")
    ('a=b', 'c=d')
    """
    first = next(_parts(text, [sign]))
    return first.name, text[first.end + len(sign) :]


def split_names(text: str, sign: str) -> list[str]:
    """The names of a text with a sign between them.

    >>> split_names('age, "height, cm"', ",")
    ['age', 'height, cm']
    """
    return [part.name for part in parts_between(text, [sign])]


def quoted(name: str, signs: Sequence[str]) -> str:
    """A name as it stands between these signs: in quotes if it must.

    >>> quoted("dose", ":|"), quoted("dose:mg", ":|")
    ('dose', '"dose:mg"')
    """
    is_plain = name == name.strip() and not name.startswith('"')
    if name and is_plain and not any(sign in name for sign in signs):
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _parts(text: str, signs: Sequence[str]) -> Iterator[Part]:
    sign = re.compile("|".join(map(re.escape, signs)))
    i = 0
    while True:
        found = _QUOTED.match(text, i)
        if found is None and _QUOTE_BEGINS.match(text, i):
            raise InputError(f"{text!r}: a double quote is open at the end.", text=text)
        after = sign.search(text, i if found is None else found.end())
        end = len(text) if after is None else after.start()
        if found is not None and found.end() != end:
            raise InputError(
                f"{text!r}: after a name in quotes stands {text[found.end() : end]!r}. Put the "
                "whole name in quotes, and write a double quote in it twice.",
                text=text,
            )
        plain = text[i:end]
        name = plain.strip() if found is None else found[1].replace('""', '"')
        start = i + len(plain) - len(plain.lstrip())
        yield Part(name, found is not None, start, after[0] if after else "", end)
        if after is None:
            return
        i = after.end()
