"""The verb :func:`beside`: what a notebook shows of several things, next to each other."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from consilience import _check
from consilience.errors import InputError
from consilience.show.html import heading

__all__ = ["Beside", "beside"]

ROW = "display:flex;flex-wrap:wrap;gap:1.6em;align-items:flex-start"
ONE = "min-width:0;max-width:100%;overflow-x:auto"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Beside:
    """Things that stand next to each other in a notebook; narrow windows show them below.

    Parameters
    ----------
    things
        Nouns and records, frames, anything.
    names
        What stands above each; empty for nothing.
    """

    things: tuple[Any, ...]
    names: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        names = self.names or ("",) * len(self.things)
        each = (
            f'<div style="{ONE}">{heading(name) if name else ""}{_view(thing)}</div>'
            for name, thing in zip(names, self.things, strict=True)
        )
        return f'<div style="{ROW}">{"".join(each)}</div>'

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.things))


def beside(*things: Any, names: Sequence[str] = ()) -> Beside:
    """Several things next to each other in a notebook: networks, graphs, records, frames.

    Parameters
    ----------
    things
        What is shown; a thing without a view of its own is shown as text.
    names
        A heading for each.

    Examples
    --------
    >>> import consilience as cs
    >>> pair = beside(cs.DAG([("a", "b")]), cs.DAG([("b", "a")]), names=["first", "second"])
    >>> pair._repr_html_().count("<svg ")
    2
    """
    if not things:
        raise InputError("beside: give at least one thing to show.", parameter="things")
    if names:
        _check.names("beside", names=names)
        if len(names) != len(things):
            raise InputError(
                f"beside: {len(things)} things need {len(things)} names, got {len(names)}.",
                parameter="names",
            )
    return Beside(things, tuple(names))


def _view(thing: Any) -> str:
    view = getattr(thing, "_repr_html_", None)
    found = view() if callable(view) else None
    return found if isinstance(found, str) else f"<pre>{html.escape(repr(thing))}</pre>"
