"""Nodes that no row has a value of, as columns in which everything is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from consilience import _check
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.errors import InputError
from consilience.graph.dag import DAG

__all__ = ["Hidden", "hidden_variables", "with_hidden"]

Hidden = Mapping[str, int | Sequence[str]]
"""For each hidden node the number of its states, or their names."""


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
    if not hidden:
        return table
    variables = hidden_variables(hidden)
    for name in variables:
        if name in table.schema:
            raise InputError(
                f"hidden: {name!r} is a column of the table; a hidden node is one that the table "
                "does not have.",
                variable=name,
            )
        if name not in dag.nodes:
            _check.unknown("node", name, dag.nodes)
    columns = {
        name: np.full(table.n_rows, -1, code_type(variable.n_states))
        for name, variable in variables.items()
    }
    return Table(
        schema=Schema({**table.variables, **variables}, table.schema.source),
        columns={**table.columns, **columns},
        source_codes=table.source_codes,
        weights=table.weights,
        origins=table.origins,
        remarks=table.remarks,
        of_source=table.of_source,
    )


def hidden_variables(hidden: Hidden) -> dict[str, Variable]:
    """The variables of hidden nodes; states that are only counted are named 1, 2, ..."""
    if not isinstance(hidden, Mapping):
        raise InputError(
            "hidden must map nodes to their number of states or to a list of states, got "
            f"{hidden!r}.",
            parameter="hidden",
        )
    found = {}
    for name, states in hidden.items():
        if isinstance(states, str):
            raise InputError(
                f"hidden: the states of {name!r} must be a number or a list of names, got "
                f"{states!r}.",
                variable=name,
            )
        if not isinstance(states, Sequence):
            _check.whole("hidden", at_least=1, **{name: states})
            states = [str(k + 1) for k in range(states)]
        found[name] = Variable(name, tuple(states))
    return found
