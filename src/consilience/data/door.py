"""Rows at the door of a verb: a table as it is, anything else that can be read as a table.

A verb that learns reads frames and files by the default rules of :func:`read`, and a note of the
table, which the records pass on, says so. A verb that asks a network reads them as variables of
that network.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from consilience import _check
from consilience._lazy import later
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable

__all__ = ["Frame", "Rows", "as_rows_of", "as_table"]

_reading = later("consilience.data.read")
_parts = later("consilience.data.parts")
_notes = later("consilience.data.notes")


class Frame(Protocol):
    """A data frame of any library: it has columns, and Arrow or narwhals understands it."""

    @property
    def columns(self) -> Any:
        """What it has columns of."""
        ...


Path: TypeAlias = str | os.PathLike[str]

Rows: TypeAlias = Table | Frame | Mapping[Any, Any] | Path | Sequence[Path]
"""What verbs take for a table: a table, or what :func:`read` takes."""


def as_table(rows: Rows) -> Table:
    """The table, or what is read by the default rules, with a note that says so.

    >>> as_table({"sex": ["F", "M"], "age": [71.5, 64.0]}).notes
    ("The rows were read by the default rules of cs.read: discrete 'sex'; continuous 'age'.",)
    """
    if isinstance(rows, Table):
        return rows
    given: Any = rows
    if isinstance(getattr(given, "schema", None), Schema) and hasattr(given, "to_table"):
        scanned: Table = given.to_table()
        return scanned
    table = _reading.read(rows)
    discrete = [name for name, v in table.variables.items() if not v.is_continuous]
    continuous = [name for name in table.variables if name not in discrete]
    note = (
        f"The rows were read by the default rules of cs.read: discrete {_check.listed(discrete)}; "
        f"continuous {_check.listed(continuous)}."
    )
    return replace(table, remarks={_notes.GENERAL: (note,), **table.remarks})


def as_rows_of(variables: Mapping[str, Variable], source: str | None, rows: Rows) -> Table:
    """The table, or what is read as the variables of a network, as far as they are recorded.

    Parameters
    ----------
    variables
        All nodes of the network, its source included.
    source
        Name of the source node, or None.
    rows
        A table, or what :func:`read` takes; columns that are no variables are not read.
    """
    if isinstance(rows, Table) or isinstance(getattr(rows, "schema", None), Schema):
        return as_table(rows)
    parts = _parts.parts_of(rows, frozenset())
    recorded = {name for part in parts for name in part.names}
    is_by_key = parts[0].source is not None
    named = source if source is not None and (is_by_key or source in recorded) else None
    chosen = {name: v for name, v in variables.items() if name in recorded and name != source}
    known = None if named is None else variables[named]
    return _reading.read(rows, schema=Schema(chosen, known), source=named)
