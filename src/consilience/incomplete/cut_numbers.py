"""Gaps among numbers that a network has cut into intervals.

The network says in which interval a missing number lies and nothing of where in it. What the table
records in that interval says more: the middle of those numbers is put into a gap (of two in the
middle the lower, so that whole numbers stay whole), or, for a completion at random, one of them
drawn at random, which is the hot deck of surveys. An interval in which the table records nothing
has its own middle; at an open end, its cut point or the next number below.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Codes, Floats
from consilience.data.discretize import numbers_of
from consilience.data.labels import is_plain_number
from consilience.data.table import Table
from consilience.data.variable import Variable

__all__ = ["fill_numbers", "recorded_numbers"]


def recorded_numbers(table: Table, node: Variable) -> Floats | None:
    """The numbers of a column that the node has cut, NaN where missing; None if it has none."""
    if node.cuts is None or node.name not in table.variables:
        return None
    mine = table.variables[node.name]
    if not (mine.is_continuous or all(map(is_plain_number, mine.discrete_states))):
        return None
    numbers = numbers_of(table, node.name)
    return None if np.isnan(numbers).all() else numbers


def fill_numbers(
    numbers: Floats, codes: Codes, node: Variable, rng: np.random.Generator | None = None
) -> Floats:
    """The numbers with a number of the interval of each gap; ``codes`` are the intervals.

    Examples
    --------
    >>> age = Variable("age", ("<30", ">=30"), cuts=(30.0,))
    >>> fill_numbers(np.array([np.nan, 63, 70, 41]), np.array([1, 1, 1, 1]), age).tolist()
    [63.0, 63.0, 70.0, 41.0]
    """
    is_gap = np.isnan(numbers)
    filled = numbers.copy()
    for code in np.unique(codes[is_gap]).tolist():
        gaps = np.flatnonzero(is_gap & (codes == code))
        known = np.sort(numbers[~is_gap & (codes == code)])
        if not known.size:
            filled[gaps] = _middle(node.cuts or (), code)
        elif rng is None:
            filled[gaps] = known[(len(known) - 1) // 2]
        else:
            filled[gaps] = rng.choice(known, len(gaps))
    return filled


def _middle(cuts: tuple[float, ...], code: int) -> float:
    """A number of an interval: its middle, or the one at its closed end or below its open one."""
    if code == 0:
        return float(np.nextafter(cuts[0], -np.inf))
    return cuts[-1] if code == len(cuts) else cuts[code - 1] / 2 + cuts[code] / 2
