r"""Times on a grid: whole numbers, numbers, dates and periods as ticks that a step apart follow.

A time becomes a tick :math:`\tau`; the place of a row in its sequence, which starts at
:math:`\tau_0`, is :math:`(\tau - \tau_0) / \text{step}`, and must be whole.

========== ============================== ==========================================
kind       written as                     unit of ticks and step
========== ============================== ==========================================
order      no times: rows as they stand   rows
whole      ``1898``                       one
number     ``0.25``                       one
date       ``2020-01-31``                 days
moment     ``2020-01-31 06:30:00+01:00``  seconds
quarter    ``1980Q1``                     quarters
month      ``1980M01`` or ``1980-01``     months
========== ============================== ==========================================

A moment with an offset from UTC is that instant, and is written in UTC; midnights with offsets are
the dates that they begin, so that days of 23 and 25 hours are a day apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Floats
from consilience.data.labels import is_plain_number, label
from consilience.errors import DataError, InputError

__all__ = ["Clock", "clock_of"]

OFF_GRID = 1e-6
"""Share of a step that a time may be off by rounding."""

SECONDS_PER_DAY = 86_400

SHORT_MONTH = 28
"""Days; steps that are no shorter and differ are those of months, quarters or years."""

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]([\d:.]+)(?:Z|([+-])(\d{2}):?(\d{2})?)?)?")


@dataclass(frozen=True, slots=True)
class Clock:
    """How ticks are written, and how many of them make a step."""

    kind: str
    step: float

    def labels(self, ticks: Floats) -> npt.NDArray[Any]:
        """The times of ticks as they were written."""
        return _WRITERS[self.kind](ticks)

    def tick(self, time: Any) -> float:
        """The tick of one time, written in any way that reading it would understand."""
        text = _written(time)
        found = _parsed([text], self.kind)
        if found is None:
            raise InputError(
                f"the time {text!r} is none of this panel, whose times are written as "
                f"{label(self.labels(np.zeros(1))[0])!r}.",
                time=text,
            )
        return float(found[0])

    def shown(self, tick: float) -> str:
        """One time in words."""
        return label(self.labels(np.array([tick]))[0])


def clock_of(texts: Sequence[str], step: Any, column: str) -> tuple[Floats, str]:
    """The ticks of distinct times and their kind.

    Raises
    ------
    DataError
        If the times are not all of one kind.
    """
    for kind in _READERS:
        ticks = _parsed(texts, kind)
        if ticks is not None:
            return ticks, kind
    odd = next(
        (t for t in texts if all(_parsed([t], kind) is None for kind in _READERS)), texts[-1]
    )
    raise DataError(
        f"column {column!r}: the time {odd!r} cannot be placed among the others. Times are whole "
        "numbers, numbers, dates such as '2020-01-31', or periods such as '1980Q1' and '1980M01', "
        "all of one kind.",
        column=column,
        time=odd,
    )


def checked_step(step: Any, kind: str) -> float:
    """The step in units of the kind of time."""
    if isinstance(step, timedelta | np.timedelta64):
        seconds = np.timedelta64(step) / np.timedelta64(1, "s")
        step = float(seconds if kind == "moment" else seconds / SECONDS_PER_DAY)
    _check.positive("read_panel", step=step)
    return float(step)


def advice_off_grid(kind: str, step: float) -> str:
    """What to do about times that are off the grid."""
    days = {"date": step, "moment": step / SECONDS_PER_DAY}.get(kind, 0.0)
    if days < SHORT_MONTH:
        return "Say the step with step=, or correct the time."
    return (
        "Months, quarters and years are not equally long: write the times as periods such as "
        "'1980M01' or '1980Q1', or as years."
    )


def default_step(kind: str, gaps: Floats) -> float:
    """One, or the smallest distance between two rows of a sequence for numbers and dates."""
    if kind not in ("number", "date", "moment") or not gaps.size:
        return 1.0
    return float(gaps.min())


def _written(time: Any) -> str:
    if isinstance(time, np.datetime64):
        return str(time).replace("T", " ")
    return label(time)


def _parsed(texts: Sequence[str], kind: str) -> Floats | None:
    """The ticks of texts of one kind, or None if one of them is of another."""
    read = _READERS.get(kind, _whole)
    found = [read(text) for text in texts]
    return None if any(tick is None for tick in found) else np.array(found, float)


def _whole(text: str) -> float | None:
    return float(text) if text.lstrip("-").isdigit() and is_plain_number(text) else None


def _number(text: str) -> float | None:
    return float(text) if is_plain_number(text) else None


def _period(pattern: str, a_year: int) -> Callable[[str], float | None]:
    compiled = re.compile(pattern)

    def read(text: str) -> float | None:
        found = compiled.fullmatch(text)
        if found is None or not 1 <= int(found[2]) <= a_year:
            return None
        return float(a_year * int(found[1]) + int(found[2]) - 1)

    return read


def _date(text: str) -> float | None:
    found = _local(text)
    if found is None or found[0] % SECONDS_PER_DAY:
        return None
    return found[0] / SECONDS_PER_DAY


def _moment(text: str) -> float | None:
    found = _local(text)
    return None if found is None else found[0] - found[1]


def _local(text: str) -> tuple[float, float] | None:
    """The seconds that a calendar and a clock show, and how far they are ahead of UTC."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    try:
        shown = np.datetime64(f"{found[1]}T{found[2] or '00'}", "us")
    except ValueError:
        return None
    ahead = 3600.0 * int(found[4] or 0) + 60.0 * int(found[5] or 0)
    return float(shown.astype(np.int64)) / 1e6, -ahead if found[3] == "-" else ahead


_READERS: dict[str, Callable[[str], float | None]] = {
    "whole": _whole,
    "number": _number,
    "quarter": _period(r"(\d{4})-?Q([1-4])", 4),
    "month": _period(r"(\d{4})(?:-?M|-)(\d{2})", 12),
    "date": _date,
    "moment": _moment,
}


def _as_whole(ticks: Floats) -> npt.NDArray[Any]:
    return np.rint(ticks).astype(np.int64)


def _as_quarter(ticks: Floats) -> npt.NDArray[Any]:
    return np.array([f"{tick // 4:04d}Q{tick % 4 + 1}" for tick in _as_whole(ticks)], dtype=object)


def _as_month(ticks: Floats) -> npt.NDArray[Any]:
    months = _as_whole(ticks)
    return np.array([f"{tick // 12:04d}M{tick % 12 + 1:02d}" for tick in months], dtype=object)


def _as_date(ticks: Floats) -> npt.NDArray[Any]:
    return _as_whole(ticks).astype("datetime64[D]")


def _as_moment(ticks: Floats) -> npt.NDArray[Any]:
    return np.rint(ticks * 1e6).astype(np.int64).astype("datetime64[us]")


_WRITERS: dict[str, Callable[[Floats], npt.NDArray[Any]]] = {
    "order": _as_whole,
    "whole": _as_whole,
    "number": lambda ticks: ticks.copy(),
    "quarter": _as_quarter,
    "month": _as_month,
    "date": _as_date,
    "moment": _as_moment,
}
