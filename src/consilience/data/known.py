"""Reading rows to be predicted: what a model has never seen is no reason to stop.

``read(data, schema=...)`` refuses a value that is none of the states. A model at work meets new
values every day, and for it a value that it knows nothing about is as good as missing; so here such
a value becomes missing, or the state that stands for it, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from consilience._typing import Column
from consilience.data.coding import Fragment, code_known, floats
from consilience.data.parts import parts_of
from consilience.data.pieces import USUAL_MARKERS, Markers
from consilience.data.place import Place
from consilience.data.table import Table
from consilience.data.text_content import TextForm
from consilience.data.variable import Schema, Variable

__all__ = ["read_known"]


def read_known(
    data: Any,
    variables: Mapping[str, Variable],
    *,
    missing: Iterable[Any] = USUAL_MARKERS,
    stand_ins: Mapping[str, str] | None = None,
    sep: str | None = None,
    encoding: str = "utf-8",
) -> tuple[Table, dict[str, dict[str, int]]]:
    """Rows as known variables, unseen states as missing; and what was unseen, with its rows.

    What is no number is refused in a column of numbers.

    Parameters
    ----------
    data
        A data frame or a dict of columns; columns that are none of the variables are not read, and
        those that the data lack are missing.
    variables
        The variables of the table; none is the source.
    missing
        The texts that stand for a missing value, as for :func:`consilience.data.read.read`;
        one that is a state of the variable is that state.
    stand_ins
        For a variable the state that takes the place of an unseen value, instead of missing.
    sep, encoding
        How text files are written, as for :func:`consilience.data.read.read`.

    Returns
    -------
    The table, and for each column with unseen values ``{value: number of rows}``.

    Examples
    --------
    >>> sex = Variable("sex", ("F", "M"))
    >>> table, unseen = read_known({"sex": ["M", "F", "X"]}, {"sex": sex})
    >>> table.columns["sex"].tolist(), unseen
    ([1, 0, -1], {'sex': {'X': 1}})
    """
    [part] = parts_of(data, frozenset(variables), TextForm(sep, encoding))
    markers = Markers.of(missing)
    columns: dict[str, Column] = {}
    unseen: dict[str, dict[str, int]] = {}
    for name, variable in variables.items():
        place = Place(name)
        states = () if variable.is_continuous else variable.discrete_states
        piece = part.piece(name, markers.without(states), place)
        fragment = Fragment(piece, part.n_rows, place)
        if variable.is_continuous:
            columns[name] = floats([fragment])
            continue
        named = (stand_ins or {}).get(name)
        stand_in = -1 if named is None else variable.code(named)
        columns[name], found = code_known(variable, fragment, stand_in=stand_in)
        if found:
            unseen[name] = found
    return Table(Schema(variables), columns), unseen
