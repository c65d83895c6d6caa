"""Sources of rows in the states of a network's source node, those never seen included.

A row from a source that the network does not know is no mistake, as an unknown state of any other
variable is: it is the state ``new_source`` of networks that have it, and unknown to the others. A
source is known by its letters or by its value, as states are: 1 is the source ``"1.0"``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience._typing import Codes
from consilience.data.align import aligned_codes
from consilience.data.labels import matcher
from consilience.data.table import Table, code_type
from consilience.data.variable import NEW_SOURCE, Variable

__all__ = ["codes_of_sources", "source_codes", "unknown_sources"]


def codes_of_sources(node: Variable, names: Sequence[str]) -> Codes:
    """The code of each source in the states of the node; of one it does not know, see above.

    >>> codes_of_sources(Variable("place", ("rome", "oslo", "new_source")), ["oslo", "kabul"])
    array([1, 2], dtype=int8)
    """
    position = matcher(node.discrete_states)
    new = position(NEW_SOURCE)
    other = -1 if new is None else new
    found = [position(name) for name in names]
    return np.array([other if k is None else k for k in found], code_type(node.n_states))


def source_codes(table: Table, node: Variable) -> Codes:
    """The table's source, or its column of that name, in codes of the network's source node."""
    mine = table.schema[node.name]
    if mine.is_continuous or mine.states == node.states:
        return aligned_codes(table, node)
    missing = np.array([-1], code_type(node.n_states))
    return np.append(codes_of_sources(node, mine.discrete_states), missing)[table.column(node.name)]


def unknown_sources(table: Table, node: Variable) -> dict[str, int]:
    """Sources of the table that the node does not know, each with its number of rows."""
    column, states = table.column(node.name), table.schema[node.name].discrete_states
    n_rows = np.bincount(column[column >= 0], minlength=len(states))
    position = matcher(node.discrete_states)
    return {s: int(n) for s, n in zip(states, n_rows, strict=True) if n and position(s) is None}
