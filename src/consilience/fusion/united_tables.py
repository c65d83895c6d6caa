"""Tables of many sources over one set of variables: their states united, split and put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from consilience._typing import Bools, Column, Floats, Integers
from consilience.data.align import aligned_codes
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.errors import DataError

__all__ = [
    "by_source",
    "complete_rows",
    "pooled_table",
    "recoded",
    "united_variables",
]


def united_variables(named: Mapping[str, Mapping[str, Variable]]) -> dict[str, Variable]:
    """The variables of all sources in the order of first sight, each with all states it has.

    Raises
    ------
    DataError
        If a variable is discrete in one source and continuous in another, or cut into states at
        different points.
    """
    united: dict[str, Variable] = {}
    first: dict[str, str] = {}
    for source, variables in named.items():
        for name, variable in variables.items():
            known = united.setdefault(name, variable)
            first.setdefault(name, source)
            if variable != known:
                united[name] = _united(known, variable, (first[name], source))
    return united


def _united(one: Variable, other: Variable, sources: tuple[str, str]) -> Variable:
    first, second = sources
    if one.is_continuous != other.is_continuous:
        words = ("continuous", "discrete") if one.is_continuous else ("discrete", "continuous")
        raise DataError(
            f"variable {one.name!r} is {words[0]} in source {first!r} and {words[1]} in source "
            f"{second!r}. Read all sources together, or with discrete= or continuous=.",
            variable=one.name,
            source=second,
        )
    if one.cuts != other.cuts:
        raise DataError(
            f"variable {one.name!r} is cut into states at different points in the sources "
            f"{first!r} and {second!r}. Use the same cut points: cs.Cuts(...).",
            variable=one.name,
            source=second,
        )
    states = dict.fromkeys((*one.discrete_states, *other.discrete_states))
    return Variable(one.name, tuple(states), one.ordered and other.ordered, one.cuts)


def recoded(table: Table, variables: Mapping[str, Variable]) -> Table:
    """The rows with exactly these variables and no source; what the table lacks is missing."""
    columns: dict[str, Column] = {}
    for name, variable in variables.items():
        if name not in table.variables:
            columns[name] = _missing(variable, table.n_rows)
        elif variable.is_continuous:
            columns[name] = table.column(name)
        else:
            columns[name] = aligned_codes(table, variable)
    return Table(Schema(variables), columns, weights=table.weights, origins=table.origins)


def by_source(table: Table) -> dict[str, Table]:
    """The rows of each source by themselves, with the variables that it has a value of."""
    parts = {}
    for code, name in enumerate(table.sources):
        rows = table.take(np.asarray(table.source_codes) == code)
        kept = [n for n in rows.variables if not _is_missing(rows, n).all()]
        parts[name] = recoded(rows, {n: table.variables[n] for n in kept})
    return parts


def complete_rows(table: Table) -> Table:
    """The rows without any gap."""
    has_gap = np.zeros(table.n_rows, bool)
    for name in table.variables:
        has_gap |= _is_missing(table, name)
    return table.take(~has_gap) if has_gap.any() else table


def pooled_table(tables: Mapping[str, Table], source: str = "source") -> Table:
    """One table of the rows of all sources, over all their variables.

    Parameters
    ----------
    tables
        The rows of each source; variables of the same name must be equal.
    source
        Name of the source; an underscore is added if a variable has it.
    """
    variables = united_variables({name: table.variables for name, table in tables.items()})
    while source in variables:
        source += "_"
    parts = [recoded(table, variables) for table in tables.values()]
    columns = {name: np.concatenate([part.column(name) for part in parts]) for name in variables}
    codes = np.repeat(np.arange(len(parts)), [part.n_rows for part in parts])
    return Table(
        Schema(variables, Variable(source, tuple(tables))),
        columns,
        codes.astype(code_type(len(parts))),
        _weights(parts),
    )


def _weights(parts: Sequence[Table]) -> Integers | Floats | None:
    if all(part.weights is None for part in parts):
        return None
    weights = [np.ones(p.n_rows, np.int64) if p.weights is None else p.weights for p in parts]
    joined: Integers | Floats = np.concatenate(weights)  # type: ignore[assignment]
    return joined


def _missing(variable: Variable, n_rows: int) -> Column:
    if variable.is_continuous:
        return np.full(n_rows, np.nan)
    return np.full(n_rows, -1, code_type(variable.n_states))


def _is_missing(table: Table, name: str) -> Bools:
    column = table.column(name)
    return np.isnan(column) if table.variables[name].is_continuous else column < 0
