"""Families with their neighbors in the arrays that a climb reads (``kernels/climbing.py``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience._typing import Bools, Floats, Integers, Words
from consilience.kernels.climbing import enter
from consilience.structure.searches.judge import Key

__all__ = ["FamilyRows", "mask_from", "words_of"]

MOST_VALUES = 1 << 24
"""Scores that are kept, if graphs have fewer; with more the rows begin anew (128 MiB)."""


class FamilyRows:
    """Rows of scores, one for each family that was met, found by child and parents.

    Parameters
    ----------
    is_near
        For each child (a row) which nodes its scores are kept of, itself among them.
    """

    def __init__(self, is_near: Bools) -> None:
        self._look_at(is_near)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.n = self._n_values = 0
        self._known: set[Key] = set()
        self.keys = np.zeros((64, self.near.shape[1] + 1), np.uint64)
        self.slots = np.full(256, -1)
        self.starts, self.largest = np.zeros(64, np.int64), np.zeros(64)
        self.values = np.zeros(1024)

    def change(self, is_near: Bools) -> None:
        """Let other nodes be near; rows of children that other nodes are near are forgotten."""
        before = self.near
        self._look_at(is_near)
        is_same = (before == self.near).all(axis=1)
        kept = np.flatnonzero(is_same[self.keys[: self.n, -1].astype(np.int64)])
        self.n = len(kept)
        for array in (self.keys, self.starts, self.largest):
            array[: self.n] = array[kept]
        self._known = {key for key in self._known if is_same[key[0]]}
        self.slots[:] = -1
        enter(self.keys, self.slots, 0, self.n)

    @property
    def is_full(self) -> bool:
        """Whether there are more scores than should be kept."""
        return self._n_values > self._most

    def new(self, families: Iterable[Key]) -> list[Key]:
        """Those of some families that have no row, each once."""
        return [key for key in dict.fromkeys(families) if key not in self._known]

    def keep(self, rows: Iterable[tuple[int, int, Floats]]) -> None:
        """Take in families, each with the scores of its neighbors by number."""
        first = self.n
        for child, parents, scores in rows:
            self._append(child, parents, scores)
        if 2 * self.n > len(self.slots):
            self.slots, first = np.full(1 << (4 * self.n).bit_length(), -1), 0
        enter(self.keys, self.slots, first, self.n)

    def arrays(self) -> tuple[Words, Words, Integers, Integers, Floats, Floats]:
        """What a kernel needs to find and read the rows."""
        return self.near, self.keys, self.slots, self.starts, self.largest, self.values

    def _look_at(self, is_near: Bools) -> None:
        self._most = max(MOST_VALUES, 4 * int(is_near.sum()))
        self._near = [np.flatnonzero(row) for row in is_near]
        packed = np.packbits(is_near, axis=1, bitorder="little")
        self.near = np.zeros((len(is_near), (len(is_near) + 63) // 64), np.uint64)
        self.near.view(np.uint8)[:, : packed.shape[1]] = packed

    def _append(self, child: int, parents: int, scores: Floats) -> None:
        self._known.add((child, parents))
        start, end = self._n_values, self._n_values + len(self._near[child])
        if self.n == len(self.starts):
            self.keys, self.starts, self.largest = map(
                _doubled, (self.keys, self.starts, self.largest)
            )
        while end > len(self.values):
            self.values = _doubled(self.values)
        found = self.values[start:end]
        scores.take(self._near[child], out=found)
        self.keys[self.n, :-1] = words_of(parents, self.near.shape[1])
        self.keys[self.n, -1] = child
        self.starts[self.n] = start
        own = scores[child]
        self.largest[self.n] = -np.inf if own == -np.inf else found.max() - own
        self.n, self._n_values = self.n + 1, end


def words_of(mask: int, n_words: int) -> Words:
    """A set as words of 64 bits."""
    return np.frombuffer(mask.to_bytes(8 * n_words, "little"), "<u8")


def mask_from(words: Words) -> int:
    """The set that some words stand for."""
    return int.from_bytes(words.tobytes(), "little")


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array with as much room again behind it."""
    return np.concatenate([array, np.empty_like(array)])
