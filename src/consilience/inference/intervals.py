"""Events about continuous variables: intervals, open at an end that is None or infinite."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

from consilience import _check
from consilience.data.labels import is_null
from consilience.data.variable import Variable
from consilience.errors import InputError

__all__ = ["Interval", "intervals_of"]

Interval = tuple[float, float]


def intervals_of(
    variables: Mapping[str, Variable], event: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Interval]]:
    """What an event says of discrete variables, as it is, and the intervals of continuous ones.

    >>> intervals_of({"bp": Variable("bp")}, {"bp": (120, None)})
    ({}, {'bp': (120.0, inf)})
    """
    if not isinstance(event, Mapping):
        raise InputError(
            f"an event says something by variable, such as {{'bp': (120, 140)}}; got {event!r}. A "
            "text is read by cs.Event.parse('bp >= 120 and bp < 140').",
            parameter="event",
        )
    states, intervals = {}, {}
    for name, value in event.items():
        if name not in variables:
            _check.unknown("node", name, variables)
        if is_null(value):
            raise InputError(f"event {name!r}: nothing is said, got {value!r}.", variable=name)
        if variables[name].is_continuous:
            intervals[name] = _interval(name, value)
        else:
            states[name] = value
    return states, intervals


def _interval(name: str, value: Any) -> Interval:
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    if not is_pair or not all(one is None or _is_bound(one) for one in value):
        raise InputError(
            f"event {name!r}: an interval is wanted for a continuous variable, such as (120, 140), "
            f"(120, None) or (None, 140); got {value!r}. A single value has a density: "
            "cs.log_probability.",
            variable=name,
        )
    low = -math.inf if value[0] is None else float(value[0])
    high = math.inf if value[1] is None else float(value[1])
    if low > high:
        raise InputError(
            f"event {name!r}: the interval must go from low to high, got {value!r}.", variable=name
        )
    return low, high


def _is_bound(value: Any) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and not math.isnan(value)
