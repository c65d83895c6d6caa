"""Tables of windows: each row a step of a sequence together with the steps before it.

In :func:`windows` a value before the first step of a sequence is missing; :func:`lagged_table` has
only the steps that have all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Bools, Column, Integers
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.dynamic.lagged_names import at, lagged
from consilience.dynamic.panel import Panel
from consilience.errors import DataError, InputError

__all__ = [
    "first_slices",
    "lagged_table",
    "rows_before",
    "standardized_rows",
    "take_rows",
    "take_sequences",
    "windows",
]


def lagged_table(panel: Panel, order: int) -> Table:
    """The steps that have so many steps before them, with the values of these; see the noun."""
    _check.whole("lagged", at_least=0, order=order)
    return windows(panel, order, order)


def windows(panel: Panel, order: int, start: int = 0) -> Table:
    """The steps from ``start`` on with the values of those before them; what is before the first
    step of a sequence is missing.
    """
    rows, steps = panel.rows, panel.steps
    chosen = np.flatnonzero(steps >= start)
    variables: dict[str, Variable] = {}
    columns: dict[str, Column] = {}
    for lag in range(order + 1):
        earlier, lacks = np.maximum(chosen - lag, 0), np.flatnonzero(steps[chosen] < lag)
        for name, variable in rows.variables.items():
            moved = replace(variable, name=lagged(name, lag)) if lag else variable
            variables[moved.name] = moved
            column = rows.column(name).take(earlier)
            column[lacks] = np.nan if column.dtype == np.float64 else -1
            columns[moved.name] = _freeze.read_only(column)
    return Table(
        Schema(variables, rows.schema.source),
        columns,
        None if rows.source_codes is None else rows.source_codes[chosen],
        None if rows.weights is None else rows.weights[chosen],
    )


def first_slices(panel: Panel, n_slices: int) -> Table:
    """A row for each sequence with the values of its first steps, ``x(0)`` on."""
    rows, lengths = panel.rows, panel.lengths
    begins = panel.first[:-1]
    variables: dict[str, Variable] = {}
    columns: dict[str, Column] = {}
    for step in range(n_slices):
        exists = lengths > step
        for name, variable in rows.variables.items():
            column = _blank(variable, len(begins), rows.column(name).dtype)
            column[exists] = rows.column(name)[begins[exists] + step]
            moved = replace(variable, name=at(name, step))
            variables[moved.name], columns[moved.name] = moved, column
    has_rows = lengths > 0
    safe = np.where(has_rows, begins, 0)
    return Table(
        Schema(variables, rows.schema.source),
        columns,
        None if rows.source_codes is None else rows.source_codes[safe],
        None if rows.weights is None else rows.weights[safe],
    )


def take_sequences(panel: Panel, sequences: Iterable[str]) -> Panel:
    """The panel of these sequences, in this order."""
    _check.names("take", sequences=sequences)
    names = [str(name) for name in sequences]
    _check.known("sequence", names, dict.fromkeys(panel.sequences))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"take names the sequence {twice!r} twice.", name=twice)
    place = {name: k for k, name in enumerate(panel.sequences)}
    chosen = np.array([place[name] for name in names], np.int64)
    return _of_sequences(panel, chosen, np.ones(len(panel), bool))


def rows_before(panel: Panel, time: Any) -> Panel:
    """The panel of the rows before a time."""
    if panel.clock.kind == "order":
        raise InputError(
            "before: the panel was read without times, so nothing stands before one. Read it with "
            "time=.",
            parameter="time",
        )
    kept = np.asarray(panel.ticks < panel.clock.tick(time))
    codes = panel.sequence_codes[kept]
    if not len(codes):
        raise DataError(f"before: no row stands before {time!r}.", time=time)
    return _of_sequences(panel, np.unique(codes), kept)


def take_rows(panel: Panel, kept: Bools) -> Panel:
    """The panel with the rows kept, which must be without a hole in each sequence."""
    return _of_sequences(panel, np.arange(panel.n_sequences), kept)


def _of_sequences(panel: Panel, chosen: Integers, kept: Bools) -> Panel:
    parts = [np.arange(panel.first[s], panel.first[s + 1]) for s in chosen]
    parts = [part[kept[part]] for part in parts]
    rows = np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)
    first = np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64)
    return replace(
        panel,
        rows=panel.rows.take(rows),
        sequences=tuple(panel.sequences[s] for s in chosen),
        first=first,
        ticks=panel.ticks[rows],
    )


def _blank(variable: Variable, n: int, dtype: Any) -> Column:
    return np.full(n, np.nan if variable.is_continuous else -1, dtype)


def standardized_rows(panel: Panel) -> Panel:
    """The panel with each column of numbers around its mean, in units of its sd."""
    columns = dict(panel.rows.columns)
    for name, variable in panel.rows.variables.items():
        if variable.is_continuous and not np.isnan(columns[name]).all():
            spread = float(np.nanstd(columns[name]))
            columns[name] = (columns[name] - np.nanmean(columns[name])) / (spread or 1.0)
    note = "Columns of numbers are around their means, in units of their sds."
    return replace(panel, rows=replace(panel.rows, columns=columns), notes=(*panel.notes, note))
