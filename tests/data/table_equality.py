"""When two tables are the same."""

from __future__ import annotations

import numpy as np

from consilience.data.table import Table


def assert_same(one: Table, other: Table, *, cuts: bool = True) -> None:
    """Same schema (cut points included if asked), columns, sources and weights."""
    assert list(one.variables) == list(other.variables)
    for name, variable in one.variables.items():
        twin = other.variables[name]
        assert (variable.states, variable.ordered) == (twin.states, twin.ordered), name
        assert not cuts or variable.cuts == twin.cuts
        assert one.columns[name].dtype == other.columns[name].dtype
        np.testing.assert_array_equal(one.columns[name], other.columns[name], err_msg=name)
    assert one.schema.source == other.schema.source
    np.testing.assert_array_equal(one.source_codes, other.source_codes)
    np.testing.assert_array_equal(one.weights, other.weights)


def labels_of(table: Table, name: str) -> list[str | None]:
    """The states of a column's rows, None where missing."""
    states = (*table.schema[name].discrete_states, None)
    return [states[code] for code in table.column(name)]
