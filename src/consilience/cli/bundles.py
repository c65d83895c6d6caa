"""Options that belong together arrive at a command as one argument."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

__all__ = ["bundled"]

Command = TypeVar("Command", bound=Callable[..., Any])


def bundled(name: str, kind: type, options: Sequence[Any]) -> Callable[[Command], Command]:
    """A decorator that adds the options and passes them on as ``name``, a record of that kind.

    The record has a field for each option, named as click names it.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**values: Any) -> Any:
            record = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            return command(**values, **{name: record})

        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value]

    return decorate
