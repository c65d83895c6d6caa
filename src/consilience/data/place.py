"""Where a value stands, for messages: source, file, column and row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from consilience import _check
from consilience.errors import DataError

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """A column of one part of the data.

    Parameters
    ----------
    column
        Name of the column.
    path
        The file, or None.
    source_of
        The source of a row of this part, or None where it is not known.
    first_row
        How many rows of the file stand before this part.
    row_group
        The row group of the file that the part is of, counted from zero; None if it has none.
    """

    column: str
    path: str | None = None
    source_of: Callable[[int], str | None] = lambda _: None
    first_row: int = 0
    row_group: int | None = None

    def error(self, row: int, fact: str, **culprits: Any) -> DataError:
        """The error for a row (counted from zero here and from one in the message)."""
        source = self.source_of(row)
        row += self.first_row
        where = [] if source is None else [f"source {source!r}"]
        is_one_of_many = source is None or self.first_row > 0 or self.row_group is not None
        where += [f"file {self.path!r}"] if self.path and is_one_of_many else []
        where += [] if self.row_group is None else [f"row group {self.row_group + 1}"]
        where += [f"column {self.column!r}", f"row {row + 1}"]
        return DataError(
            f"{', '.join(where)}: {fact}",
            source=source,
            file=self.path,
            column=self.column,
            row=row + 1,
            **({} if self.row_group is None else {"row_group": self.row_group + 1}),
            **culprits,
        )

    def unusable(self, kind: str) -> DataError:
        """The error for values that are neither states nor numbers."""
        return DataError(
            f"column {self.column!r} holds values of type {kind}, neither states nor numbers. "
            "Turn it into numbers or text first, or leave it out with "
            f"{_check.argument('drop', [self.column])}.",
            column=self.column,
            type=kind,
        )
