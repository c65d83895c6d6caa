"""Scores that are known, of families alone and of families with their neighbors.

The bits of a score depend on the order of the parents' axes: the candidate that is added to a
family stands last, wherever its number would put it. So the score of a neighbor and that of the
same family asked for alone are kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience._typing import Floats
from consilience.structure.searches.class_masks import bits
from consilience.structure.searches.judge import Key

__all__ = ["KnownScores", "places_of"]


def places_of(child: int, parents: int, candidates: Sequence[int]) -> list[int]:
    """Where the scores of a family and its neighbors stand in an array by number."""
    return [child, *bits(parents), *candidates]


class KnownScores:
    """Scores by child and parents.

    ``alone`` has those of families with their parents in order, ``around`` arrays by number with
    the scores of a family, without each parent and with each candidate; NaN where unknown.
    """

    def __init__(self, n_variables: int) -> None:
        self.alone: dict[Key, float] = {}
        self.around: dict[Key, Floats] = {}
        self._n = n_variables

    def keep(self, child: int, parents: int, candidates: Sequence[int], values: Floats) -> None:
        """Take in the scores of a family, without each parent and with each candidate."""
        key = child, parents
        if key not in self.around:
            self.around[key] = np.full(self._n, np.nan)
        self.around[key][places_of(child, parents, candidates)] = values
        self.alone[key] = float(values[0])
        for parent, value in zip(bits(parents), values[1:].tolist(), strict=False):
            self.alone[child, parents ^ 1 << parent] = value

    def found(self, child: int, parents: int, candidates: Sequence[int]) -> Floats:
        """The scores of a family, without each parent and with each candidate; NaN if unknown."""
        places = places_of(child, parents, candidates)
        around = self.around.get((child, parents))
        return np.full(len(places), np.nan) if around is None else around[places]

    def nearly(self, key: Key) -> float | None:
        """The score of a family whatever the order of its parents, if it is known."""
        if key in self.alone:
            return self.alone[key]
        child, parents = key
        for parent in bits(parents):
            around = self.around.get((child, parents ^ 1 << parent))
            if around is not None and not np.isnan(around[parent]):
                return float(around[parent])
        return None
