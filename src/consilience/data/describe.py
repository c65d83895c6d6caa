"""What is in a table, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from consilience import _check
from consilience._freeze import FrozenMap
from consilience._typing import Floats
from consilience.data.labels import label
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Described", "Description", "DescriptionRow", "describe", "missing_shares", "titled"]

ALL = "all"

_WIDTH = 100
_NAME_WIDTH, _ORIGIN_WIDTH = 24, 30


class Described(Protocol):
    """What tells its variables and their gaps: a table, or rows that are not in memory."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name to variable."""
        ...

    @property
    def missing(self) -> Mapping[str, Mapping[str, float]]:
        """Share missing by source and column."""
        ...


@dataclass(frozen=True, slots=True)
class DescriptionRow:
    """One variable: states or range (None if it has no value), share missing, and why.

    ``of_source`` says whether it belongs to the source: one value within each source.
    """

    variable: str
    states: tuple[str, ...] | None
    range: tuple[float, float] | None
    missing: float
    origin: str
    of_source: bool = False

    @property
    def kind(self) -> str:
        """``"discrete"`` or ``"continuous"``."""
        return "continuous" if self.states is None else "discrete"

    @property
    def content(self) -> str:
        """States or range in words: ``"2: F, M"``, ``"29 to 77"``."""
        if self.states is not None:
            return f"{len(self.states)}: {', '.join(self.states)}"
        if self.range is None:
            return "no values"
        return " to ".join(map(_short, self.range))


@dataclass(frozen=True, slots=True)
class Description:
    """A table described: one row per variable, then the notes; the text fits 100 columns."""

    title: str
    rows: tuple[DescriptionRow, ...]
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame: variable, kind, content, missing, origin and of_source."""
        pandas = _check.extra("pandas", "pandas", "Description.to_frame")
        names = ("variable", "kind", "content", "missing", "origin", "of_source")
        frame = {name: [getattr(row, name) for row in self.rows] for name in names}
        return pandas.DataFrame(frame)

    def __str__(self) -> str:
        cells = [_HEADER, *map(_cells, self.rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(_HEADER))]
        widths[0] = min(widths[0], _NAME_WIDTH)
        widths[4] = min(widths[4], _ORIGIN_WIDTH)
        widths[2] = min(widths[2], _WIDTH - sum(widths) + widths[2] - 8)
        notes = [fill(f"note: {note}", _WIDTH, subsequent_indent="  ") for note in self.notes]
        return "\n".join([self.title, *(_line(row, widths) for row in cells), *notes])

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


_HEADER = ("variable", "kind", "states or range", "missing", "because")


def describe(table: Table) -> Description:
    """Kind, states or range, share missing (over all sources) and origin of every variable.

    Rows count by their weight: those of weight zero are no part of a share or a range. A state that
    only such rows have is a state all the same.
    """
    weights = _row_weights(table)
    total = float(weights.sum())
    rows = []
    for name, variable in table.variables.items():
        is_missing = _is_missing(table, name)
        share = float(weights[is_missing].sum()) / total if total > 0 else 0.0
        span = None
        known = table.columns[name][~is_missing & (weights > 0)]
        if variable.is_continuous and known.size:
            span = (float(known.min()), float(known.max()))
        origin = table.origins.get(name, "")
        of_source = name in table.of_source
        rows.append(DescriptionRow(name, variable.states, span, share, origin, of_source))
    return Description(_title(table), tuple(rows), table.notes)


def missing_shares(table: Table) -> FrozenMap[str, FrozenMap[str, float]]:
    """Share of missing values by source (``"all"`` without sources) and variable.

    Rows count by their weight. A source without rows misses nothing: its shares are 0.
    """
    sources = table.sources or (ALL,)
    codes = np.zeros(table.n_rows, np.int8) if table.source_codes is None else table.source_codes
    weights = _row_weights(table)
    totals = np.bincount(codes, weights, minlength=len(sources))
    shares = np.empty((len(table.variables), len(sources)))
    for k, name in enumerate(table.variables):
        is_missing = _is_missing(table, name)
        lost = np.bincount(codes[is_missing], weights[is_missing], minlength=len(sources))
        shares[k] = lost / np.where(totals > 0, totals, 1.0)
    return FrozenMap(
        {
            source: FrozenMap(dict(zip(table.variables, shares[:, f].tolist(), strict=True)))
            for f, source in enumerate(sources)
        }
    )


def _row_weights(table: Table) -> Floats:
    return np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)


def _is_missing(table: Table, name: str) -> Any:
    column = table.columns[name]
    return np.isnan(column) if table.variables[name].is_continuous else column < 0


def _title(table: Table) -> str:
    return titled(table.n_rows, table.total_weight, table.schema)


def titled(n_rows: int, weight: float, schema: Schema) -> str:
    """How many rows, variables and sources there are, in words."""
    source = schema.source
    sources = "" if source is None else f", {source.n_states} sources in {source.name!r}"
    of_weight = "" if weight == n_rows else f" of weight {label(float(weight))}"
    return f"{n_rows:,} rows{of_weight}, {len(schema.variables)} variables{sources}"


def _cells(row: DescriptionRow) -> tuple[str, ...]:
    return row.variable, _kind(row), row.content, f"{100 * row.missing:.1f} %", row.origin


def _kind(row: DescriptionRow) -> str:
    return f"{row.kind}, of the source" if row.of_source else row.kind


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name, kind, values, missing, origin = (
        _shortened(cell, width) for cell, width in zip(cells, widths, strict=True)
    )
    return (
        f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {values:<{widths[2]}}  "
        f"{missing:>{widths[3]}}  {origin}"
    ).rstrip()


def _short(number: float) -> str:
    return label(number) if number.is_integer() else f"{number:.6g}"


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
