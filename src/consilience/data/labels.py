"""How a value becomes the text of a state.

States are text. A number is written in its shortest form, and a whole number with all its digits
and without a fraction, so that the integer 1, the float 1.0 and the text ``"1"`` are one state,
``"1"``. Only floats from :math:`10^{22}` on keep their exponent: the digits of a larger power of
ten are no longer exact. Text is kept letter for letter, with one exception: when *every* text of a
column is a plain decimal number (optional minus, no leading zeros, optional fraction or exponent),
the column holds numbers and they are written by the same rule; ``"1.0"`` and ``"1"`` are then one
state, while the codes ``"01"`` and ``"1"`` stay two.
"""

from __future__ import annotations

import math
import numbers
import re
from bisect import bisect
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

__all__ = [
    "PLAIN_NUMBER",
    "interval",
    "is_null",
    "is_number",
    "is_plain_number",
    "label",
    "labels",
    "matcher",
]

PLAIN_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?"
"""The pattern of a plain decimal number, to be matched against a whole text."""

LARGEST_EXACT = 2**53

_LARGEST_WHOLE = 10**22  # the last power of ten that a float holds exactly

_plain_number = re.compile(PLAIN_NUMBER)


def is_number(value: object) -> bool:
    """Whether a value is a number of any type; a truth value is none."""
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_)


def is_plain_number(text: str) -> bool:
    """Whether a text is a decimal number as programs write it: ``-3``, ``2.50``, ``1e-05``."""
    return _plain_number.fullmatch(text) is not None


def is_null(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has for these."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def label(value: Any) -> str:
    """The text of one value: numbers in their shortest form, the rest as ``str`` gives it."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, np.float16 | np.float32):
        return label(float(str(value)))  # 0.1 in 32 bits is "0.1", not "0.10000000149011612"
    if isinstance(value, float | np.floating | Decimal):
        number: Any = value
        is_small = math.isfinite(number) and abs(number) < _LARGEST_WHOLE
        return str(int(number)) if is_small and number == int(number) else repr(float(number))
    return str(value)


def labels(texts: Sequence[str]) -> list[str]:
    """The states that the distinct texts of one column stand for, one for each text.

    Integers of any length keep all their digits; only texts with a fraction or an exponent pass
    through a float.
    """
    if all(map(is_plain_number, texts)):
        return [_number_label(text) for text in texts]
    return list(texts)


def matcher(
    states: Sequence[str], cuts: Sequence[float] | None = None
) -> Callable[[str], int | None]:
    """A function that gives the position of the state a text stands for, or None.

    The state of the same letters comes first. A number is then the interval it falls in, if the
    states are intervals between cut points; else the state of the same number: two plain numbers
    are one if they have the same label.

    >>> position = matcher(("1.0", "a"))
    >>> position("1"), position("a"), position("01")
    (0, 1, None)
    >>> matcher(("<30", ">=30"), cuts=(30.0,))("63")
    1
    """
    by_text = {state: k for k, state in enumerate(states)}
    by_number = {_number_label(s): k for s, k in reversed(by_text.items()) if is_plain_number(s)}

    def position(text: str) -> int | None:
        found = by_text.get(text)
        if found is not None or not is_plain_number(text):
            return found
        return by_number.get(_number_label(text)) if cuts is None else interval(float(text), cuts)

    return position


def interval(number: float, cuts: Sequence[float]) -> int | None:
    """The interval between increasing cut points, closed on the left, that a number falls in.

    None for what is not finite.

    >>> interval(30.0, (30.0, 50.0))
    1
    """
    return bisect(cuts, number) if math.isfinite(number) else None


def _number_label(text: str) -> str:
    if text.lstrip("-").isdigit():
        return "0" if text == "-0" else text
    number = float(text)
    return label(number) if math.isfinite(number) else text
