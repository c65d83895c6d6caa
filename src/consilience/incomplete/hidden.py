"""Nodes that no row has a value of, as columns in which everything is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from consilience import _check
from consilience._typing import Column
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.statistics.engines.memory import Memory
from consilience.statistics.request import Answer, Engine, Request

__all__ = [
    "Hidden",
    "blank_columns",
    "continuous_of",
    "engine_with_hidden",
    "hidden_variables",
    "with_hidden",
]

Hidden = Mapping[str, int | Sequence[str] | type[float]]
"""For each hidden node the number of its states, or their names; ``float`` if it is continuous."""


def with_hidden(table: Table, dag: DAG, hidden: Hidden) -> Table:
    """The table with a column for each hidden node of the graph, missing in every row.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"cough": ["yes", "no"]})
    >>> wide = with_hidden(table, cs.DAG([("cold", "cough")]), {"cold": 2})
    >>> wide.variables["cold"].states, wide.column("cold").tolist()
    (('1', '2'), [-1, -1])
    """
    return _widened(table, _new_variables(table.schema, dag, hidden)) if hidden else table


def engine_with_hidden(engine: Engine, dag: DAG, hidden: Hidden) -> Engine:
    """The same for the rows of an engine."""
    if not hidden:
        return engine
    if isinstance(engine, Memory):
        return Memory(with_hidden(engine.table, dag, hidden))
    return _WithHidden(engine, _new_variables(engine.schema, dag, hidden))


@dataclass(frozen=True, slots=True, eq=False)
class _WithHidden:
    """An engine whose rows have more columns, without any value."""

    engine: Engine
    variables: Mapping[str, Variable]

    @property
    def schema(self) -> Schema:
        """What the rows are about, hidden nodes included."""
        schema = self.engine.schema
        return Schema({**schema.variables, **self.variables}, schema.source)

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows."""
        return self.engine.gather(_OfWidened(request, self.variables, self.schema))


@dataclass(frozen=True, slots=True, eq=False)
class _OfWidened(Generic[Answer]):
    """A request for rows with more columns."""

    request: Request[Answer]
    variables: Mapping[str, Variable]
    schema: Schema

    def empty(self, _: Schema) -> Answer:
        return self.request.empty(self.schema)

    def work(self, part: Memory) -> Answer:
        return self.request.work(Memory(_widened(part.table, self.variables)))

    def merge(self, left: Answer, right: Answer) -> Answer:
        return self.request.merge(left, right)


def _new_variables(schema: Schema, dag: DAG, hidden: Hidden) -> dict[str, Variable]:
    """The hidden nodes of the graph, none of which may be a column."""
    variables = hidden_variables(hidden)
    for name in variables:
        if name in schema:
            raise InputError(
                f"hidden: {name!r} is a column of the table; a hidden node is one that the table "
                "does not have.",
                variable=name,
            )
        if name not in dag.nodes:
            _check.unknown("node", name, dag.nodes)
    return variables


def _widened(table: Table, variables: Mapping[str, Variable]) -> Table:
    """The table with columns without any value."""
    columns = blank_columns(variables, table.n_rows)
    return Table(
        schema=Schema({**table.variables, **variables}, table.schema.source),
        columns={**table.columns, **columns},
        source_codes=table.source_codes,
        weights=table.weights,
        origins=table.origins,
        remarks=table.remarks,
        of_source=table.of_source,
    )


def blank_columns(variables: Mapping[str, Variable], n_rows: int) -> dict[str, Column]:
    """Columns without any value."""
    return {
        name: np.full(n_rows, np.nan)
        if variable.is_continuous
        else np.full(n_rows, -1, code_type(variable.n_states))
        for name, variable in variables.items()
    }


def continuous_of(names: Sequence[str], variables: Mapping[str, Variable]) -> tuple[str, ...]:
    """Those of some nodes that are continuous."""
    return tuple(name for name in names if variables[name].is_continuous)


def hidden_variables(hidden: Hidden) -> dict[str, Variable]:
    """The variables of hidden nodes; states that are only counted are named 1, 2, ..."""
    if not isinstance(hidden, Mapping):
        raise InputError(
            "hidden must map nodes to their number of states, to a list of states, or to float, "
            f"got {hidden!r}.",
            parameter="hidden",
        )
    found = {}
    for name, states in hidden.items():
        if states is float:
            found[name] = Variable(name)
            continue
        if isinstance(states, str | type):
            raise InputError(
                f"hidden: the states of {name!r} must be a number or a list of names, or float if "
                f"it is continuous, got {states!r}.",
                variable=name,
            )
        if not isinstance(states, Sequence):
            _check.whole("hidden", at_least=1, **{name: states})
            states = [str(k + 1) for k in range(states)]
        found[name] = Variable(name, tuple(states))
    return found
