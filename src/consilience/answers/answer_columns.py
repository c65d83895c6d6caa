"""Records of this room as plain tables: columns by name, as text and as a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from consilience import _check

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "Frame", "columns_frame", "columns_text", "shown"]

Frame: TypeAlias = "pd.DataFrame"

Columns = Mapping[str, Sequence[Any]]
"""Names of columns, each with its texts, numbers, or None where there is none."""

N_ROWS = 40


def columns_text(title: str, columns: Columns, notes: Sequence[str] = ()) -> str:
    """A title, the columns side by side, numbers to the right, and notes.

    >>> print(columns_text("Two", {"name": ["a", "bc"], "value": [0.5, None]}))
    Two
    name  value
    a       0.5
    bc        -
    """
    n = len(next(iter(columns.values()), ()))
    cells = [
        [name, *map(shown, column[:N_ROWS])] for name, column in columns.items() if _is_told(column)
    ]
    sides = [_is_number(column) for column in columns.values() if _is_told(column)]
    widths = [max(map(len, column)) for column in cells]
    lines = [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in zip(*cells, strict=True)
    ]
    more = [f"... and {n - N_ROWS:,} more"] if n > N_ROWS else []
    return "\n".join([title, *lines, *more, *(f"note: {note}" for note in notes)])


def columns_frame(owner: str, columns: Columns) -> Frame:
    """The columns as a pandas frame."""
    pandas = _check.extra("pandas", "pandas", f"{owner}.to_frame")
    frame: Frame = pandas.DataFrame({name: list(c) for name, c in columns.items()})
    return frame


def shown(value: Any) -> str:
    """A cell: numbers in four digits, a dash for none."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_number(column: Sequence[Any]) -> bool:
    return all(one is None or isinstance(one, int | float) for one in column)


def _is_told(column: Sequence[Any]) -> bool:
    return not len(column) or any(one is not None for one in column)
