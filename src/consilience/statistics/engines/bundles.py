"""Bundles: several columns in one code, so that one increment counts all of them.

The joint states of a few variables with few states are numbered below 64 and kept as one column of
bytes. Counting a base with a bundle costs one increment a row; the tables of base and each member
are sums of the bundle's table. This pays where the base has too many joint states for bitmaps.
Only variables that are never missing are bundled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from consilience._typing import Integers
from consilience.data.table import Table
from consilience.kernels.counting import STRIDE, spread_bundles, tally_bundles

__all__ = ["Bundles"]


class Bundles:
    """A cache with one owner, the engine of the table.

    Parameters
    ----------
    table
        The rows.
    n_states
        Number of states of the variables to bundle, none of which is ever missing.
    """

    def __init__(self, table: Table, n_states: Mapping[str, int]) -> None:
        self._n_states = n_states
        self._members = _bundled(n_states)
        self._place = {name: b for b, names in enumerate(self._members) for name in names}
        self._codes = np.zeros((len(self._members), table.n_rows), np.uint8)
        self._state = np.zeros((len(n_states), STRIDE), np.uint8)  # of each member, by code
        self._row = {name: i for i, name in enumerate(n_states)}
        for codes, names in zip(self._codes, self._members, strict=True):
            size = 1
            for name in names:
                r = n_states[name]
                np.multiply(codes, r, out=codes)
                codes += table.column(name).astype(np.uint8, copy=False)
                size *= r
            for name in names:
                size //= n_states[name]
                self._state[self._row[name]] = np.arange(STRIDE) // size % n_states[name]

    def __contains__(self, name: str) -> bool:
        return name in self._place

    def needed(self, names: Iterable[str]) -> list[int]:
        """The bundles that hold these variables."""
        return sorted({self._place[name] for name in names})

    def count(
        self, code: npt.NDArray[np.uint32], n_base: int, names: Sequence[str], row_from: int
    ) -> Integers:
        """Joint counts of a base with each of the variables, one table after the other.

        ``code`` are the base's joint states of the rows from ``row_from`` on, times ``STRIDE``.
        """
        which = self.needed(names)
        tables = np.zeros((len(which), n_base * STRIDE), np.uint32)
        tally_bundles(code, self._codes, np.array(which, np.int64), row_from, tables)
        position = {b: i for i, b in enumerate(which)}
        sizes = np.array([self._n_states[name] for name in names], np.int64)
        out = np.zeros(int(n_base * sizes.sum()), np.int64)
        spread_bundles(
            tables,
            np.array([position[self._place[name]] for name in names], np.int64),
            self._state[[self._row[name] for name in names]],
            sizes,
            out,
        )
        return out


def _bundled(n_states: Mapping[str, int]) -> list[list[str]]:
    """Variables in bundles of fewer than 64 joint states, each put where it leaves least room."""
    bundles: list[list[str]] = []
    sizes: list[int] = []
    for name in sorted(n_states, key=lambda name: (-n_states[name], name)):
        r = n_states[name]
        fitting = [b for b, size in enumerate(sizes) if size * r <= STRIDE]
        if not fitting:
            bundles.append([name])
            sizes.append(r)
            continue
        best = max(fitting, key=lambda b: sizes[b])
        bundles[best].append(name)
        sizes[best] *= r
    return bundles
