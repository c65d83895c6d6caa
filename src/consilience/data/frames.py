"""Tables as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consilience import _check
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WEIGHT", "to_frame"]

WEIGHT = "weight"
"""Name of the column of weights in a frame."""


def to_frame(table: Table) -> pd.DataFrame:
    """The table as a pandas frame: the source first, then the variables, ``weight`` last.

    Discrete variables are categoricals with all their states, ordered if the variable is;
    continuous ones are floats. Reading the frame again, ``read(frame, source=table.source,
    weight="weight", schema=table.schema)``, gives the same table; the schema tells cut points, and
    that a continuous variable that happens to hold few whole numbers is one.
    """
    pandas = _check.extra("pandas", "pandas", "Table.to_frame")
    taken = {*table.variables, table.source}
    if table.weights is not None and WEIGHT in taken:
        raise DataError(
            f"the table has weights and a column {WEIGHT!r}; in a frame both would have that name.",
            column=WEIGHT,
        )
    columns: dict[str, Any] = {}
    if table.schema.source is not None:
        columns[table.schema.source.name] = _series(pandas, table, table.schema.source)
    for name, variable in table.variables.items():
        columns[name] = _series(pandas, table, variable)
    if table.weights is not None:
        columns[WEIGHT] = table.weights
    return pandas.DataFrame(columns)


def _series(pandas: Any, table: Table, variable: Variable) -> Any:
    column = table.column(variable.name)
    if variable.is_continuous:
        return column
    dtype = pandas.CategoricalDtype(list(variable.discrete_states), ordered=variable.ordered)
    return pandas.Categorical.from_codes(column, dtype=dtype, validate=False)
