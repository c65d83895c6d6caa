"""What the library advises in Python, as options of the command line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

__all__ = ["arguments_as_options"]


def arguments_as_options(message: str) -> str:
    """The message with arguments of ``read`` as options.

    >>> arguments_as_options('Leave it out with drop=["patient id"].')
    "Leave it out with --drop 'patient id'."
    """
    for argument, options in _OPTIONS.items():
        start = message.find(argument)
        while start >= 0:
            value, n_letters = _value(message[start + len(argument) :])
            text = options(value) if n_letters else ""
            end = start + len(argument) + n_letters
            message = message[:start] + text + message[end:] if n_letters else message
            start = message.find(argument, start + max(len(text), 1))
    return message


def _value(text: str) -> tuple[Any, int]:
    """The value that a text begins with, and how many letters it has: 0 if there is none."""
    if text[:1] == "'":
        end = text.find("'", 1) + 1
        return text[1 : end - 1].replace("\\t", "tab"), end
    try:
        return json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError:
        return None, 0


def _each(option: str, values: Any) -> str:
    return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


_OPTIONS: dict[str, Callable[[Any], str]] = {
    "drop=": lambda names: _each("--drop", names),
    "missing=": lambda texts: _each("--missing", [text for text in texts if text]),
    "missing_in=": lambda by_column: _each(
        "--missing-in", [f"{name}={text}" for name, texts in by_column.items() for text in texts]
    ),
    "sep=": lambda sign: f"--sep {shlex.quote(sign)}",
    "encoding=": lambda name: f"--encoding {name}",
}
