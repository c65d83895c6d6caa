"""All panels, in the order in which they are shown."""

from __future__ import annotations

from consilience import _check
from consilience.show.panels import (
    answers,
    arcs,
    borrowing,
    compare,
    differences,
    evaluation,
    gaps,
    node,
    provenance,
)
from consilience.show.panels.question import Panel

__all__ = ["panel", "panels"]


def panels() -> tuple[Panel, ...]:
    """Every panel; a new one is a file in this folder and a name here."""
    files = (
        node,
        differences,
        borrowing,
        gaps,
        compare,
        evaluation,
        answers,
        arcs,
        provenance,
    )
    return tuple(file.PANEL for file in files)


def panel(name: str) -> Panel:
    """The panel of that name."""
    named = {one.name: one for one in panels()}
    _check.known("panel", [name], named)
    return named[name]
