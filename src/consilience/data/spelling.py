"""Names that are likely meant to be another: a column of the data and one of the schema.

Two names are taken for one if they differ in case, spaces and signs alone, or in one letter (too
many, too few, another, or two swapped) after the first of one word of at least five letters. Names
that differ in a digit or in what stands between two (``x1_1`` and ``x11``), in a plus or minus that
ends a word (``ER+`` and ``ER-``), in a short word (``left_a`` and ``left_b``) or in how a word
begins (``weight`` and ``height``) are names of different things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["misspelt"]

SHORTEST = 5
"""Letters of a word that can be misspelt."""


def misspelt(name: str, among: Iterable[str]) -> str | None:
    """The first of the names that is likely meant to be this one, or None.

    >>> misspelt("blood_pressure", ["age", "Blood Pressure"]), misspelt("smoker", ["smokre"])
    ('Blood Pressure', 'smokre')
    >>> misspelt("x1", ["x2"])
    """
    return next((other for other in among if _is_alike(_words(name), _words(other))), None)


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:[+-]+(?![^\W_]))?", name.casefold())


def _is_alike(one: list[str], two: list[str]) -> bool:
    if _joined(one) == _joined(two):
        return bool(one)
    differing = [(a, b) for a, b in zip(one, two, strict=False) if a != b]
    return len(one) == len(two) and len(differing) == 1 and _is_one_letter_off(*differing[0])


def _joined(words: list[str]) -> str:
    return re.sub(r"(?<!\d) | (?!\d)", "", " ".join(words))


def _is_one_letter_off(one: str, two: str) -> bool:
    if min(len(one), len(two)) < SHORTEST or not (one.isalpha() and two.isalpha()):
        return False
    if one[0] != two[0]:
        return False
    while one and two and one[0] == two[0]:
        one, two = one[1:], two[1:]
    while one and two and one[-1] == two[-1]:
        one, two = one[:-1], two[:-1]
    return max(len(one), len(two)) == 1 or (len(one) == 2 and one == two[::-1])
