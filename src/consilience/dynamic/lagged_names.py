"""Names of nodes in time: ``x`` now, ``x(t-1)`` a step before, ``x(0)`` in the first slice."""

from __future__ import annotations

import re
from collections.abc import Iterable

from consilience import _check
from consilience.errors import DataError

__all__ = ["at", "check_plain", "lagged", "split_lag", "split_slice"]

_LAGGED = re.compile(r"(.+)\(t-([1-9][0-9]*)\)")
_SLICE = re.compile(r"(.+)\((0|[1-9][0-9]*)\)")


def lagged(name: str, lag: int) -> str:
    """The name of a variable so many steps before the present.

    >>> lagged("x", 2), lagged("x", 0)
    ('x(t-2)', 'x')
    """
    return f"{name}(t-{lag})" if lag else name


def at(name: str, step: int) -> str:
    """The name of a variable at a step counted from the first.

    >>> at("x", 0)
    'x(0)'
    """
    return f"{name}({step})"


def split_lag(node: str) -> tuple[str, int]:
    """The variable of a node and how many steps before the present it stands.

    >>> split_lag("x(t-2)"), split_lag("x")
    (('x', 2), ('x', 0))
    """
    found = _LAGGED.fullmatch(node)
    return (found[1], int(found[2])) if found else (node, 0)


def split_slice(node: str) -> tuple[str, int] | None:
    """The variable of a node of the first slices and its step; None if it names no step.

    >>> split_slice("x(1)"), split_slice("x")
    (('x', 1), None)
    """
    found = _SLICE.fullmatch(node)
    return (found[1], int(found[2])) if found else None


def check_plain(names: Iterable[str]) -> None:
    """Refuse a column that has the name of another one in time."""
    existing = set(names)
    for name in sorted(existing):
        in_time = split_slice(name)
        base = split_lag(name)[0] if split_lag(name)[1] else in_time[0] if in_time else None
        if base in existing:
            raise DataError(
                f"column {name!r} has the name that column {base!r} gets at another time. Rename "
                f"it, or leave it out with {_check.argument('drop', [name])}.",
                column=name,
            )
