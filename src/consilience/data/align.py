"""Codes of a table's columns in the states of other variables: a network's, or another table's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Codes
from consilience.data.discretize import cut
from consilience.data.table import Table, code_type
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError, UnknownNameError

__all__ = ["aligned_codes"]


def aligned_codes(table: Table, variable: Variable) -> Codes:
    """The column of that name in codes of the variable's states; other states are an error.

    Numbers fall into the intervals of a variable that has cut points.
    """
    mine = table.schema[variable.name]
    if mine.is_continuous and variable.cuts is not None:
        return cut(table.column(variable.name), variable.cuts)
    if mine.is_continuous:
        raise InputError(
            f"column {variable.name!r} is continuous; the states "
            f"{_check.listed(variable.discrete_states)} are wanted. Read the table with schema=.",
            column=variable.name,
        )
    column = table.column(variable.name)
    if mine.states == variable.states:
        return column
    codes = np.full(
        mine.n_states + 1, -1, code_type(variable.n_states)
    )  # the last stands for missing
    occurs = np.bincount(column[column >= 0], minlength=mine.n_states) > 0
    for code, state in enumerate(mine.discrete_states):
        if occurs[code]:
            codes[code] = _code(variable, state, column == code)
    return codes[column]


def _code(variable: Variable, state: str, where: npt.NDArray[np.bool_]) -> int:
    try:
        return variable.code(state)
    except UnknownNameError:
        row = int(np.flatnonzero(where)[0]) + 1
        raise DataError(
            f"column {variable.name!r}, row {row}: the state {state!r} is not known. "
            f"{variable.accepted(state)}",
            column=variable.name,
            row=row,
            state=state,
        ) from None
