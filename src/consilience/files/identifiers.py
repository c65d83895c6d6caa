"""Names that a format cannot write become identifiers, and come back.

A name that the format can write is kept. Any other becomes ``cs__`` and its letters and digits as
they are, with every other character as ``_`` and its code point in hexadecimal and ``_``::

    light on  ->  cs__light_20_on          <5  ->  cs___3c_5

Names that begin with ``cs__`` are escaped too, so no two names meet. Reading undoes only what this
rule has written: an identifier of another program that merely begins with ``cs__`` stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["PREFIX", "decoded", "encoded", "is_identifier"]

PREFIX = "cs__"

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_STRANGE = re.compile(r"[^A-Za-z0-9]")
_ESCAPED = re.compile(r"(?:[A-Za-z0-9]|_[0-9a-f]{1,6}_)+")
_CODE = re.compile(r"_([0-9a-f]+)_")
LAST_CODE_POINT = 0x10FFFF


def is_identifier(name: str) -> bool:
    """Whether a name is a letter followed by letters, digits and underscores, all ASCII."""
    return _IDENTIFIER.fullmatch(name) is not None


def encoded(name: str, *, is_plain: Callable[[str], bool] = is_identifier) -> str:
    """The name as the format can write it; ``is_plain`` says which names need no escape."""
    if is_plain(name) and not name.startswith(PREFIX):
        return name
    return PREFIX + _STRANGE.sub(lambda match: f"_{ord(match[0]):x}_", name)


def decoded(identifier: str, *, is_plain: Callable[[str], bool] = is_identifier) -> str:
    """The name that an identifier stands for: itself, unless :func:`encoded` has made it."""
    body = identifier.removeprefix(PREFIX)
    if body == identifier or not _ESCAPED.fullmatch(body):
        return identifier
    codes = [int(code, 16) for code in _CODE.findall(body)]
    if any(code > LAST_CODE_POINT for code in codes):
        return identifier
    name = _CODE.sub(lambda match: chr(int(match[1], 16)), body)
    return name if encoded(name, is_plain=is_plain) == identifier else identifier
