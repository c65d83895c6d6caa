"""The verb :func:`read_panel`: rows of many sequences, put in order of time and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from consilience import _check
from consilience._typing import Column, Floats, Integers
from consilience.data.discretize import Discretizer
from consilience.data.key_columns import Keys, column_names_of, key_column
from consilience.data.pieces import USUAL_MARKERS
from consilience.data.read import read
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.dynamic.panel import Panel
from consilience.dynamic.time_grid import (
    OFF_GRID,
    Clock,
    advice_off_grid,
    checked_step,
    clock_of,
    default_step,
)
from consilience.errors import DataError, InputError

__all__ = ["Absent", "FillSteps", "SplitSequences", "read_panel"]


@dataclass(frozen=True, slots=True)
class FillSteps:
    """An absent step is a row without values."""


@dataclass(frozen=True, slots=True)
class SplitSequences:
    """After an absent step a new sequence begins, named ``anna#2`` and so on."""


Absent: TypeAlias = FillSteps | SplitSequences
"""What to do about absent steps."""


def read_panel(
    data: Any,
    *,
    sequence: str | None = None,
    time: str | None = None,
    step: Any = None,
    absent: Absent | None = None,
    inputs: Iterable[str] = (),
    source: str | None = None,
    weight: str | None = None,
    columns: Iterable[str] | None = None,
    states: Mapping[str, Iterable[Any]] | None = None,
    discrete: Iterable[str] = (),
    continuous: Iterable[str] = (),
    missing: Iterable[Any] = USUAL_MARKERS,
    discretize: Mapping[str, Discretizer] | None = None,
    schema: Schema | Mapping[str, Variable] | None = None,
    partial: bool = False,
) -> Panel:
    """A panel from files, data frames or columns; every argument of :func:`consilience.read` too.

    The order of the rows in the data does not matter if there are times: sequences stand in the
    order of first sight, the rows of each by time.

    Parameters
    ----------
    data
        As in :func:`consilience.read`.
    sequence
        The column that names the sequence of each row; without it all rows are one sequence.
    time
        The column of times: whole numbers, numbers, dates (``2020-01-31``, also with a time of day)
        or periods (``1980Q1``, ``1980M01``). Times of day with an offset from UTC are written in
        UTC, midnights with one are their dates. Without it the rows of a sequence are consecutive,
        as they stand, and a note says so.
    step
        How far the rows of a sequence are apart: a number, in days for dates and in seconds for
        times of day, or a ``timedelta``. By default 1; for numbers with a fraction and for dates
        the smallest distance between two rows, and a note says it.
    absent
        What to do about a step that a sequence does not have: ``FillSteps()`` or
        ``SplitSequences()``. Without it that is an error.
    inputs
        Variables that are given at every step and not modelled, such as a dose.
    source
        The source of a sequence; it may not change within one.
    weight
        How many sequences each stands for; it may not change within one.
    columns, states, discrete, continuous, missing, discretize, schema, partial
        As in :func:`consilience.read`; the columns of sequence and time are no variables.

    Raises
    ------
    DataError
        If a step is absent, two rows of a sequence have one time, a time is off the grid, the
        source or the weight changes within a sequence, or an input has no value; the message names
        sequence and time.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = {"who": ["b", "a", "b", "b"], "day": [2, 1, 1, 3], "x": ["u", "v", "v", "u"]}
    >>> panel = cs.dynamic.read_panel(rows, sequence="who", time="day")
    >>> panel.sequences, panel.lengths.tolist(), panel.times.tolist()
    (('b', 'a'), [3, 1], [1, 2, 3, 1])
    >>> panel.lagged(1).to_frame().values.tolist()
    [['u', 'v'], ['u', 'u']]
    """
    _check.names("read_panel", inputs=inputs)
    wanted = _columns(data, columns, schema, (sequence, time), roles=(source, weight))
    rows = read(
        data,
        source=source,
        weight=weight,
        columns=wanted,
        states=states,
        discrete=discrete,
        continuous=continuous,
        missing=missing,
        discretize=discretize,
        schema=schema,
        partial=partial,
    )
    _refuse_other(absent)
    who = _sequences(data, sequence, missing, rows.n_rows)
    found = _ordered(data, rows, who, time, step=step, missing=missing)
    _check_constant(found, rows)
    return _with_steps(found, rows, absent, sequence, time=time, inputs=tuple(inputs))


class _Order(NamedTuple):
    """Rows by sequence and time: their positions in the data, and what is known of each."""

    rows: Integers
    codes: Integers
    ticks: Floats
    places: Integers
    names: tuple[str, ...]
    clock: Clock
    notes: tuple[str, ...]

    def where(self, k: int, tick: float | None = None) -> str:
        """Sequence and time of the k-th row, in words."""
        time = self.clock.shown(float(self.ticks[k]) if tick is None else tick)
        return f"sequence {self.names[self.codes[k]]!r}, time {time!r}"


def _columns(
    data: Any,
    columns: Iterable[str] | None,
    schema: Any,
    keys: tuple[str | None, str | None],
    *,
    roles: tuple[str | None, str | None],
) -> Iterable[str] | None:
    """The columns that are variables: those named, or all but sequence and time."""
    if columns is not None:
        _check.names("read_panel", columns=columns)
        listed = list(columns)
        for role, name in zip(("sequence", "time"), keys, strict=True):
            if name in listed:
                raise InputError(
                    f"column {name!r} is the {role} and cannot be a variable as well.", column=name
                )
        return listed
    if schema is not None:
        return None
    names, is_by_source = column_names_of(data)
    source = (roles[0] or "source") if is_by_source else roles[0]
    return [name for name in names if name not in (*keys, source, roles[1])]


def _refuse_other(absent: object) -> None:
    if absent is not None and not isinstance(absent, FillSteps | SplitSequences):
        raise InputError(
            "read_panel: absent must be cs.dynamic.FillSteps() or cs.dynamic.SplitSequences(), "
            f"got {absent!r}.",
            parameter="absent",
        )


def _sequences(data: Any, name: str | None, missing: Iterable[Any], n_rows: int) -> Keys:
    if name is None:
        return Keys(("1",), np.zeros(n_rows, np.int64))
    return key_column(data, name, missing)


def _ordered(
    data: Any, rows: Table, who: Keys, time: str | None, *, step: Any, missing: Iterable[Any]
) -> _Order:
    """The rows by sequence and time, each with its place on the grid of its sequence."""
    if not rows.n_rows:
        raise DataError("a panel needs at least one row.")
    if time is None:
        if step is not None:
            raise InputError("read_panel: step says nothing without time=.", parameter="step")
        order = np.argsort(who.codes, kind="stable")
        codes = who.codes[order]
        begins = np.flatnonzero(np.diff(codes, prepend=-1))
        places = np.arange(len(codes)) - np.repeat(begins, np.diff(np.append(begins, len(codes))))
        note = "There are no times: the rows of each sequence are taken as consecutive steps."
        return _Order(
            order, codes, places.astype(float), places, who.texts, Clock("order", 1.0), (note,)
        )
    when = key_column(data, time, missing)
    distinct, kind = clock_of(when.texts, step, time)
    ticks = distinct[when.codes]
    order = np.lexsort((ticks, who.codes))
    codes, ticks = who.codes[order], ticks[order]
    is_next = np.diff(codes, prepend=-1) == 0
    gaps = np.diff(ticks, prepend=np.nan)
    whole = Clock(kind, 1.0)
    plain = _Order(order, codes, ticks, np.zeros(0, np.int64), who.texts, whole, ())
    _refuse_repeated(plain, is_next & (gaps == 0), time)
    notes: tuple[str, ...] = ()
    if step is None:
        size = default_step(kind, gaps[is_next])
        if kind in ("number", "date", "moment"):
            notes = (f"A step is {size:g} {_UNITS[kind]}, the smallest distance of two rows.",)
    else:
        size = checked_step(step, kind)
    return _on_grid(plain, is_next, size, time, notes=notes)


_UNITS = {"number": "in units of time", "date": "days", "moment": "seconds"}


def _refuse_repeated(order: _Order, is_repeated: Any, time: str) -> None:
    twice = np.flatnonzero(is_repeated)
    if twice.size:
        k = int(twice[0])
        pair = sorted((int(order.rows[k - 1]) + 1, int(order.rows[k]) + 1))
        raise DataError(
            f"{order.where(k)}: rows {pair[0]} and {pair[1]} have the same time. A sequence has "
            "one row a step; name the sequences with sequence= if these are several.",
            sequence=order.names[order.codes[k]],
            time=order.clock.shown(float(order.ticks[k])),
            column=time,
        )


def _on_grid(
    order: _Order, is_next: Any, size: float, time: str, *, notes: tuple[str, ...]
) -> _Order:
    begins = np.flatnonzero(~is_next)
    lengths = np.diff(np.append(begins, len(is_next)))
    exact = (order.ticks - np.repeat(order.ticks[begins], lengths)) / size
    places = np.rint(exact).astype(np.int64)
    off = np.flatnonzero(np.abs(exact - places) > OFF_GRID)
    if off.size:
        k = int(off[0])
        first = begins[np.searchsorted(begins, k, side="right") - 1]
        raise DataError(
            f"{order.where(k)}: the time is off the grid, which starts at "
            f"{order.clock.shown(float(order.ticks[first]))!r} and has steps of {size:g}. "
            f"{advice_off_grid(order.clock.kind, size)}",
            sequence=order.names[order.codes[k]],
            time=order.clock.shown(float(order.ticks[k])),
            column=time,
        )
    return order._replace(places=places, clock=Clock(order.clock.kind, size), notes=notes)


def _check_constant(order: _Order, rows: Table) -> None:
    """Refuse a source, or a weight, that changes within a sequence."""
    is_next = np.diff(order.codes, prepend=-1) == 0
    for what, column in (("source", rows.source_codes), ("weight", rows.weights)):
        if column is None:
            continue
        values = column[order.rows]
        changed = np.flatnonzero(is_next & (np.append(values[:1], values[:-1]) != values))
        if changed.size:
            k = int(changed[0])
            names: Any = rows.sources if what == "source" else None
            pair = [names[v] if names else f"{v:g}" for v in (values[k - 1], values[k])]
            raise DataError(
                f"{order.where(k)}: the {what} changes from {pair[0]!r} to {pair[1]!r}. A sequence "
                f"has one {what}; name the sequences with sequence=, or give those of different "
                f"{what}s different names.",
                sequence=order.names[order.codes[k]],
                time=order.clock.shown(float(order.ticks[k])),
                **{what: pair[1]},
            )


def _with_steps(
    order: _Order,
    rows: Table,
    absent: Absent | None,
    sequence: str | None,
    *,
    time: str | None,
    inputs: tuple[str, ...],
) -> Panel:
    """The panel, absent steps refused, filled or made the start of a new sequence."""
    is_next = np.diff(order.codes, prepend=-1) == 0
    jump = np.where(is_next, np.diff(order.places, prepend=0), 1)
    holes = np.flatnonzero(jump > 1)
    if holes.size and absent is None:
        k = int(holes[0])
        tick = float(order.ticks[k - 1]) + order.clock.step
        raise DataError(
            f"{order.where(k, tick)}: the step is absent. Say absent=cs.dynamic.FillSteps() for a "
            "row without values, absent=cs.dynamic.SplitSequences() for a new sequence after it, "
            "or the distance of the rows with step=.",
            sequence=order.names[order.codes[k]],
            time=order.clock.shown(tick),
            column=time,
        )
    if holes.size and isinstance(absent, FillSteps):
        return _filled(order, rows, jump, sequence, time=time, inputs=inputs)
    begins = ~is_next
    begins[holes] = True
    firsts = np.flatnonzero(begins)
    names = _split_names([order.names[order.codes[k]] for k in firsts])
    notes = order.notes
    if holes.size:
        notes = (*notes, f"Absent steps split sequences in {holes.size:,} places.")
    return Panel(
        rows.take(order.rows),
        names,
        np.append(firsts, len(begins)).astype(np.int64),
        order.ticks,
        order.clock,
        inputs,
        sequence,
        time,
        notes,
    )


def _split_names(names: list[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise DataError(f"two sequences would be named {twice!r}.", sequence=twice)
    return tuple(found)


def _filled(
    order: _Order,
    rows: Table,
    jump: Integers,
    sequence: str | None,
    *,
    time: str | None,
    inputs: tuple[str, ...],
) -> Panel:
    """The panel with a row without values for each absent step."""
    place = np.cumsum(jump) - 1
    n = int(place[-1]) + 1
    near = order.rows[np.searchsorted(place, np.arange(n))]  # the next row of the same sequence
    is_there = np.zeros(n, bool)
    is_there[place] = True
    taken = rows.take(near)
    columns: dict[str, Column] = {}
    for name, column in taken.columns.items():
        nothing = np.nan if column.dtype == np.float64 else np.array(-1, column.dtype)
        columns[name] = np.where(is_there, column, nothing)
    is_next = np.diff(order.codes, prepend=-1) == 0
    firsts = place[~is_next]
    lengths = np.diff(np.append(firsts, n))
    steps = np.arange(n) - np.repeat(firsts, lengths)
    ticks = np.repeat(order.ticks[~is_next], lengths) + steps * order.clock.step
    ticks[place] = order.ticks
    note = f"{n - len(place):,} absent steps became rows without values."
    return Panel(
        replace(taken, columns=columns),
        tuple(order.names[code] for code in order.codes[~is_next]),
        np.append(firsts, n).astype(np.int64),
        ticks,
        order.clock,
        inputs,
        sequence,
        time,
        (*order.notes, note),
    )
