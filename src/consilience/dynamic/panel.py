"""The noun :class:`Panel`: sequences of rows in order of time.

The rows of a sequence are consecutive steps; sequences have any lengths. Values may be missing,
steps may not: an absent one was filled with a row without values, or split its sequence, when the
panel was read. Order is the information here, so equal rows are never merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.dynamic.lagged_names import check_plain
from consilience.dynamic.time_grid import Clock
from consilience.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Panel", "steps_of"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Panel:
    """Rows in order of sequence and time; immutable.

    Parameters
    ----------
    rows
        All rows, one sequence after the other, times increasing.
    sequences
        Names of the sequences.
    first
        Where the rows of each sequence start, and their number; shape (sequences + 1,).
    ticks
        The time of each row, as a number.
    clock
        How times are written, and how far a step is.
    inputs
        Variables that are given and never modelled.
    sequence, time
        Names of the columns that said it; None if there was none.
    notes
        What was done when the panel was read, one sentence each.
    """

    rows: Table
    sequences: tuple[str, ...]
    first: Integers
    ticks: Floats
    clock: Clock
    inputs: tuple[str, ...] = ()
    sequence: str | None = None
    time: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)
        check_plain(self.rows.variables)
        _check.known("variable", self.inputs, self.rows.variables)
        if len(self.first) != len(self.sequences) + 1 or self.first[-1] != self.rows.n_rows:
            raise DataError("the rows of a panel must be those of its sequences.")
        _check_inputs(self)

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.sequences)

    @property
    def lengths(self) -> Integers:
        """Number of steps of each sequence."""
        return np.asarray(np.diff(self.first), np.int64)

    @property
    def times(self) -> npt.NDArray[Any]:
        """The time of each row, as it was written."""
        return self.clock.labels(self.ticks)

    @property
    def steps(self) -> Integers:
        """How many rows of its sequence stand before each row."""
        return steps_of(self.first)

    @property
    def sequence_codes(self) -> Integers:
        """The sequence of each row, as a position in ``sequences``."""
        return np.repeat(np.arange(self.n_sequences), self.lengths)

    def place(self, row: int) -> str:
        """Sequence and time of a row in words."""
        return ", ".join(f"{what} {name!r}" for what, name in self.culprits(row).items())

    def culprits(self, row: int) -> dict[str, str]:
        """Sequence and time of a row, as an error names them."""
        sequence = self.sequences[int(np.searchsorted(self.first, row, side="right")) - 1]
        return {"sequence": sequence, "time": self.clock.shown(float(self.ticks[row]))}

    def lagged(self, order: int) -> Table:
        """A row for each step that has so many steps before it, with their values as columns.

        Columns ``x``, then ``x(t-1)`` to ``x(t-order)``, for every variable; sources and weights
        stay. No row reaches into another sequence.
        """
        from consilience.dynamic.lagged_rows import lagged_table

        return lagged_table(self, order)

    def take(self, sequences: Iterable[str]) -> Panel:
        """The panel of these sequences, in this order."""
        from consilience.dynamic.lagged_rows import take_sequences

        return take_sequences(self, sequences)

    def before(self, time: Any) -> Panel:
        """The panel of the rows before a time; sequences that start later are left out."""
        from consilience.dynamic.lagged_rows import rows_before

        return rows_before(self, time)

    def standardized(self) -> Panel:
        """The panel with each column of numbers around its mean, in units of its sd.

        Mean and sd are those of all rows, so that rows know of later ones: right for change points
        and graphs, not for judging forecasts.
        """
        from consilience.dynamic.lagged_rows import standardized_rows

        return standardized_rows(self)

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame with the columns of sequence and time first."""
        from consilience.dynamic.panel_frames import panel_frame

        return panel_frame(self)

    def __len__(self) -> int:
        return self.rows.n_rows

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        lengths = self.lengths
        steps = f"{lengths.min()} to {lengths.max()}" if len(lengths) else "no"
        if len(lengths) and lengths.min() == lengths.max():
            steps = f"{lengths.min()}"
        steps += " step" if steps == "1" else " steps"
        sources = f", {len(self.rows.sources)} sources" if self.rows.sources else ""
        return (
            f"Panel({self.n_sequences:,} sequence{'s' * (self.n_sequences != 1)} of {steps}, "
            f"{len(self.rows.variables)} variable{'s' * (len(self.rows.variables) != 1)}{sources})"
        )


def steps_of(first: Integers) -> Integers:
    """How many rows of its sequence stand before each row."""
    return np.arange(first[-1]) - np.repeat(first[:-1], np.diff(first))


def _check_inputs(panel: Panel) -> None:
    for name in panel.inputs:
        column = panel.rows.column(name)
        is_missing = np.isnan(column) if column.dtype == np.float64 else column < 0
        if is_missing.any():
            row = int(np.flatnonzero(is_missing)[0])
            raise DataError(
                f"{panel.place(row)}: the input {name!r} has no value. Inputs are given and never "
                "filled in: give a value for every step, or read it as a variable.",
                column=name,
                **panel.culprits(row),
            )
