"""All tables of a network as one vector, family after family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.distributions import Categorical

__all__ = ["HasTables", "Layout"]

NORMALISED = 1e-9
"""Rows of a table whose sums differ from one by no more are normalised."""


class HasTables(Protocol):
    """A network, or the families of one."""

    @property
    def tables(self) -> Mapping[str, Categorical]:
        """The tables by name."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the tables of a network stand in a vector of all their cells.

    Attributes
    ----------
    shapes
        For each node the shape of its table, one axis per parent and the node last.
    first
        Where each table starts, and the length of the vector; shape (nodes + 1,).
    row_of
        For each cell the number of its row (a parent state of a family); rows are contiguous.
    """

    shapes: Mapping[str, tuple[int, ...]]
    first: Integers
    row_of: Integers

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def of(cls, net: HasTables) -> Layout:
        """The layout of the tables of a network, in the order of its nodes.

        >>> import consilience as cs
        >>> coin = cs.Variable("coin", ("heads", "tails"))
        >>> net = cs.Network.of([cs.Categorical(coin, (), [0.25, 0.75])])
        >>> Layout.of(net).flatten({"coin": net["coin"].table})
        array([0.25, 0.75])
        """
        shapes = {name: local.table.shape for name, local in net.tables.items()}
        first = [0, *accumulate(map(math.prod, shapes.values()))]
        n_states = [shape[-1] for shape in shapes.values()]
        n_rows = [math.prod(shape[:-1]) for shape in shapes.values()]
        widths = np.repeat(np.array(n_states, np.int64), n_rows)
        return cls(shapes, np.array(first, np.int64), np.repeat(np.arange(len(widths)), widths))

    def flatten(self, tables: Mapping[str, Floats]) -> Floats:
        """The cells of all tables in one vector."""
        parts = [np.asarray(tables[name], float).ravel() for name in self.shapes]
        return np.concatenate([*parts, np.zeros(0)])

    def split(self, vector: Floats) -> dict[str, Floats]:
        """The tables of a vector, each in its shape."""
        ends = zip(self.first[:-1], self.first[1:], strict=True)
        return {
            name: vector[start:stop].reshape(shape)
            for (name, shape), (start, stop) in zip(self.shapes.items(), ends, strict=True)
        }

    def cells(self, names: Iterable[str]) -> Integers:
        """Where the cells of some tables stand, those of one table after the other."""
        number = {name: k for k, name in enumerate(self.shapes)}
        ranges = [np.arange(*self.first[number[name] :][:2]) for name in names]
        return np.concatenate([*ranges, np.zeros(0, np.int64)])

    def row_sums(self, vector: Floats) -> Floats:
        """For each cell the sum of its row."""
        sums: Floats = np.bincount(self.row_of, vector, 0).astype(float)
        return sums[self.row_of]

    def normalised(self, vector: Floats) -> set[str]:
        """The tables whose rows are distributions; those of variational Bayes are not."""
        is_off = np.abs(self.row_sums(vector) - 1.0) > NORMALISED
        has_off = np.logical_or.reduceat(is_off, self.first[:-1]) if is_off.size else is_off
        return {name for name, off in zip(self.shapes, has_off.tolist(), strict=True) if not off}
