"""What a notebook shows of what stands behind an answer: its title and its table."""

from __future__ import annotations

from typing import Protocol

from consilience.answers.answer_columns import Columns, shown
from consilience.show.html import N_LINES, Cell, grid, heading, notes, number

__all__ = ["Tabled", "tabled"]


class Tabled(Protocol):
    """A record with a title and columns."""

    @property
    def title(self) -> str:
        """One line that says what was found."""
        ...

    @property
    def columns(self) -> Columns:
        """The table."""
        ...


def tabled(found: Tabled) -> str:
    """The title and the first lines of the table; columns that say nothing are left out."""
    columns = {n: c for n, c in found.columns.items() if any(one is not None for one in c)}
    n = len(next(iter(columns.values()), ()))
    lines = [[_cell(column[i]) for column in columns.values()] for i in range(min(n, N_LINES))]
    table = grid(tuple(columns), [tuple(line) for line in lines], n=n) if n else ""
    return heading(type(found).__name__, found.title) + table + notes(getattr(found, "notes", ()))


def _cell(value: object) -> str | Cell:
    return number(shown(value)) if isinstance(value, int | float) else shown(value)
