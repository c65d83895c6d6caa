"""Where a value stands, for messages: source, file, column and row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
    """

    column: str
    path: str | None = None
    source_of: Callable[[int], str | None] = lambda _: None

    def error(self, row: int, fact: str, **culprits: Any) -> DataError:
        """The error for a row (counted from zero here and from one in the message)."""
        source = self.source_of(row)
        where = [] if source is None else [f"source {source!r}"]
        where += [f"file {self.path!r}"] if self.path and source is None else []
        where += [f"column {self.column!r}", f"row {row + 1}"]
        return DataError(
            f"{', '.join(where)}: {fact}",
            source=source,
            file=self.path,
            column=self.column,
            row=row + 1,
            **culprits,
        )

    def unusable(self, kind: str) -> DataError:
        """The error for values that are neither states nor numbers."""
        return DataError(
            f"column {self.column!r} holds values of type {kind}, neither states nor numbers. "
            "Turn it into numbers or text first, or leave it out with columns=.",
            column=self.column,
            type=kind,
        )
