"""One row as what is known: a mapping, or a row of a frame; missing values say nothing.

A row of a frame has columns that a network knows nothing about, so these are passed over, as they
are where a whole frame is read; but one that is likely a misspelt name of a variable that the row
lacks is refused. A mapping is written by hand, and all its names must be known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from consilience import _check
from consilience.data.labels import is_null
from consilience.data.spelling import misspelt
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError

__all__ = ["known_values"]

_RENAMED = re.compile("_[0-9]+")


def known_values(row: Any, variables: Mapping[str, Variable]) -> dict[str, Any]:
    """The values of a row by variable, without those that are missing.

    Parameters
    ----------
    row
        A mapping; a row of a pandas frame (``frame.iloc[0]``, or one of ``frame.itertuples()``); or
        None, which says nothing.
    variables
        The variables that something may be known about.

    Examples
    --------
    >>> known_values({"sex": "F", "age": None}, {"sex": Variable("sex", ("F", "M"))})
    {'sex': 'F'}
    """
    if row is None:
        return {}
    if isinstance(row, Mapping):
        values = {name: value for name, value in row.items() if not is_null(value)}
        _check.known("node", values, variables)
        return values
    values = _fields(row)
    for name in [name for name in values if name not in variables]:
        near = misspelt(str(name), [known for known in variables if known not in values])
        if near is not None:
            raise DataError(f"the row has a column {name!r}; is it {near!r}?", column=name)
    return {name: v for name, v in values.items() if name in variables and not is_null(v)}


def _fields(row: Any) -> dict[str, Any]:
    """The columns of a row of a frame."""
    if hasattr(row, "_asdict"):
        fields = dict(row._asdict())
        if any(map(_RENAMED.fullmatch, fields)):
            raise InputError(
                "a row of frame.itertuples() has lost names that are no names of Python; give "
                "frame.iloc[0] and the like.",
                parameter="given",
            )
        return fields
    if hasattr(row, "items") and getattr(row, "ndim", None) == 1:
        return dict(row.items())
    is_frame = hasattr(row, "columns")
    advice = " Give one row, frame.iloc[0]; net.posteriors takes them all." * is_frame
    raise InputError(
        "given must say something by variable, such as {'smoke': 'yes'}, or be a row of a frame; "
        f"got {f'a {type(row).__name__}' if is_frame else repr(row)}.{advice}",
        parameter="given",
    )
