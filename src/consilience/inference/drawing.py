"""Random numbers that depend on a key and the place of a row, and what is needed to draw states.

They are made like those of :mod:`consilience.kernels.sampling`, the same in any order and blocks.
"""

from __future__ import annotations

import numpy as np

from consilience._lazy import later
from consilience._typing import Floats, Integers
from consilience.kernels.sampling import GAMMA, MIX_1, MIX_2

__all__ = ["new_key", "normals", "thresholds", "uniforms"]

special = later("scipy.special")


def new_key(rng: np.random.Generator) -> np.uint64:
    """A key for one node."""
    return rng.integers(0, 2**64, dtype=np.uint64)


def uniforms(key: np.uint64, first_row: int, n_rows: int) -> Floats:
    """A number between zero and one, both excluded, for each of the rows from ``first_row`` on.

    >>> bool((uniforms(np.uint64(7), 0, 5)[2:] == uniforms(np.uint64(7), 2, 3)).all())
    True
    """
    z = np.arange(first_row + 1, first_row + n_rows + 1, dtype=np.uint64) * GAMMA + key
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    z = (z ^ (z >> np.uint64(31))) >> np.uint64(12)  # a half more is still exact
    return (z.astype(np.float64) + 0.5) * 2.0**-52


def normals(key: np.uint64, first_row: int, n_rows: int) -> Floats:
    """A standard normal number for each of the rows from ``first_row`` on."""
    return np.asarray(special.ndtri(uniforms(key, first_row, n_rows)))


def thresholds(rows: Floats) -> tuple[int, Integers]:
    """Stride and cumulative sums of the rows in units of 2^-53, flat; see ``draw_states``."""
    q, r = rows.shape
    stride = r if r > 4 else 2 if r <= 2 else 4
    sums = np.full((q, stride), 2**53)
    sums[:, :r] = np.ceil(np.cumsum(rows, axis=1) * 2.0**53)
    last_possible = r - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    sums[np.arange(stride) >= last_possible[:, None]] = 2**53
    return stride, sums.ravel()
