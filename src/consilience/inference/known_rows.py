"""Evidence of many rows about the same variables.

A single body of evidence is one row. Arrays have the rows as their first axis, or one entry there
that stands for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.data.distinct import rows_alike
from consilience.inference.evidence import Evidence
from consilience.network.network import Network

__all__ = ["Rows", "alike", "constants", "joint_code", "rows_of", "sliced"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What is known in each row: codes, values, and likelihoods that all rows have.

    Parameters
    ----------
    known
        Codes of discrete variables, shape (rows,) or (1,).
    values
        Values of continuous variables, shape (rows,) or (1,).
    likelihoods
        Likelihood of each state, for all rows.
    n_rows
        Number of rows; one if all are alike.
    """

    known: Mapping[str, Integers]
    values: Mapping[str, Floats]
    likelihoods: Mapping[str, Floats] = field(default_factory=dict)
    n_rows: int = field(init=False)

    def __post_init__(self) -> None:
        columns = (*self.known.values(), *self.values.values())
        object.__setattr__(self, "n_rows", max(map(len, columns), default=1))

    @property
    def observed(self) -> set[str]:
        """The variables whose state or value is known."""
        return {*self.known, *self.values}

    @property
    def names(self) -> tuple[str, ...]:
        """All variables that something is known about."""
        return (*self.known, *self.values, *self.likelihoods)

    def with_values(self, more: Mapping[str, Floats]) -> Rows:
        """The same with more values."""
        return Rows(self.known, {**self.values, **more}, self.likelihoods)

    def take(self, rows: slice) -> Rows:
        """Some of the rows."""
        return Rows(
            {name: x[rows] if len(x) > 1 else x for name, x in self.known.items()},
            {name: x[rows] if len(x) > 1 else x for name, x in self.values.items()},
            self.likelihoods,
        )


def rows_of(net: Network, evidence: Evidence) -> Rows:
    """One body of evidence as a row, with the nodes that are constants by definition."""
    values = {**constants(net), **evidence.values}
    return Rows(
        {name: np.array([code]) for name, code in evidence.known.items()},
        {name: np.array([value]) for name, value in values.items()},
        evidence.likelihoods,
    )


def alike(is_known: Bools) -> list[Integers]:
    """Places of the rows that know the same, by a mask of shape (rows, variables).

    >>> [places.tolist() for places in alike(np.array([[True], [False], [True]]))]
    [[0, 2], [1]]
    """
    if not len(is_known):
        return []
    if is_known.all() or not is_known.shape[1]:
        return [np.arange(len(is_known))]
    if is_known.shape[1] == 1:
        parts = np.flatnonzero(is_known), np.flatnonzero(~is_known)
        return [part for part in parts if part.size]
    packed = np.packbits(is_known, axis=1).T  # bytes are sorted by counting
    if len(packed) == 1:
        rank = packed[0]
    else:
        _, rank = rows_alike(((byte, 256) for byte in packed), len(is_known))
    order = np.argsort(rank, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(rank[order])) + 1)


def constants(net: Network) -> dict[str, float]:
    """Continuous nodes without parents and without variance: their value is known."""
    return {
        name: float(local.intercept)
        for name, local in net.regressions.items()
        if not local.given and local.sd == 0
    }


def sliced(array: Floats, axes: Sequence[str], known: Mapping[str, Integers]) -> Floats:
    """An array (rows or 1, an axis per variable) at the known states of each row."""
    fixed = [i for i, name in enumerate(axes) if name in known]
    if not fixed:
        return array
    moved = np.moveaxis(array, [i + 1 for i in fixed], range(1, len(fixed) + 1))
    codes = tuple(known[axes[i]] for i in fixed)
    if len(array) == 1:
        return np.asarray(moved[0][codes])
    return np.asarray(moved[(np.arange(len(array)), *codes)])


def joint_code(n_states: Mapping[str, int], codes: Mapping[str, Integers]) -> Integers:
    """One number for the states of several variables, the last varying fastest; shape (n or 1,)."""
    code = np.zeros(1, np.int64)
    for name, r in n_states.items():
        code = code * r + codes[name]
    return code
