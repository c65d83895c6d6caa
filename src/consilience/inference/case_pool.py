"""Cases of several parts of the rows, merged: what two parts have in common is held once.

The number of different cases grows far more slowly than that of the rows, so the cases of rows that
do not fit in memory often do; and rounds of EM over them need no further pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from consilience._typing import Integers
from consilience.data.distinct import rows_alike
from consilience.kernels.cases import CaseArrays, merge_cases

__all__ = ["HiddenSet", "OpenRows", "Pool", "summed"]

HiddenSet: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The members of a hidden set, and their children that are barren."""


def summed(places: Integers, weights: Integers, n: int) -> Integers:
    """The exact sums of the weights at each place."""
    if weights.size == 0 or int(weights.sum()) < 1 << 53:
        return np.bincount(places, weights, minlength=n).astype(np.int64)
    sums = np.zeros(n, np.int64)
    np.add.at(sums, places, weights)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class OpenRows:
    """Rows whose hidden sets are too large to be enumerated: places, codes and weights."""

    places: Integers
    codes: npt.NDArray[np.int32]
    weights: Integers

    def scaled(self, factor: int) -> OpenRows:
        """The same rows with weights in smaller units."""
        return OpenRows(self.places, self.codes, self.weights * factor)

    def merge(self, other: OpenRows) -> OpenRows:
        """The rows of both, equal ones merged; their places are new."""
        codes = np.concatenate([self.codes, other.codes])
        weights = np.concatenate([self.weights, other.weights])
        if not len(codes):
            return self
        coded = ((column, int(column.max()) + 1) for column in codes.T)
        first, ranks = rows_alike(coded, len(codes))
        weights = summed(ranks, weights, len(first))
        return OpenRows(np.arange(len(first)), codes[first], weights)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Cases and the hidden sets that they are numbered by."""

    arrays: CaseArrays
    sets: tuple[HiddenSet, ...]

    def merge(self, other: Pool) -> Pool:
        """The cases of both, equal ones merged."""
        place = {one: s for s, one in enumerate(self.sets)}
        new = [s for s, one in enumerate(other.sets) if one not in place]
        place.update({other.sets[s]: len(self.sets) + k for k, s in enumerate(new)})
        renumbered = np.array([place[one] for one in other.sets], np.int32)
        mine, theirs = self.arrays, other.arrays
        of_set = np.concatenate([mine.of_set, renumbered[theirs.of_set]]).astype(np.int32)
        first = np.concatenate([mine.first, mine.first[-1] + theirs.first[1:]])
        offset = np.concatenate([mine.offset, theirs.offset])
        case_of = np.empty(len(of_set), np.int64)
        order = np.lexsort((_keys(first, offset), of_set))
        leaders = merge_cases(order, of_set, first, offset, case_of)
        weights = np.concatenate([mine.weight, theirs.weight])
        sizes = np.diff(first)[leaders]
        ends = np.append(0, np.cumsum(sizes)).astype(np.int64)
        taken = np.repeat(first[leaders] - ends[:-1], sizes) + np.arange(ends[-1])
        inside = [theirs.inside[slice(*theirs.inside_first[s : s + 2])] for s in new]
        inside_ends = mine.inside_first[-1] + np.cumsum([len(one) for one in inside])
        arrays = CaseArrays(
            of_set[leaders],
            summed(case_of, weights, len(leaders)),
            ends,
            offset[taken],
            np.concatenate([mine.n_joint, theirs.n_joint[new]]),
            np.concatenate([mine.n_families, theirs.n_families[new]]),
            np.concatenate([mine.inside, *inside]),
            np.concatenate([mine.inside_first, inside_ends]).astype(np.int64),
        )
        return Pool(arrays, (*self.sets, *(other.sets[s] for s in new)))


def _keys(first: Integers, offset: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """A number for each case that depends on all its offsets."""
    if not len(offset):
        return np.zeros(len(first) - 1, np.uint64)
    sizes = np.diff(first)
    place = np.arange(len(offset)) - np.repeat(first[:-1], sizes)
    mixed = (offset.astype(np.uint64) << np.uint64(8)) + place.astype(np.uint64)
    mixed = (mixed ^ mixed >> np.uint64(31)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.add.reduceat(mixed, first[:-1])
