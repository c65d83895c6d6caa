"""Families of discrete children that may have continuous parents, by logistic regression.

Those without a continuous parent are tables. The fits are dear and are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from consilience._typing import Floats
from consilience.errors import ConsilienceError, DataError, MemoryLimitError
from consilience.structure.scores.gaussian import too_few_rows, unbounded
from consilience.structure.scores.logistic import LogisticBatch
from consilience.structure.scores.score import Refusing, takes_gaps
from consilience.structure.searches.class_masks import bits
from consilience.structure.searches.judge import Around, Grounds, Key, SetScores, in_parts
from consilience.structure.searches.table_judge import TableJudge

__all__ = ["LogisticJudge"]

SETS_PER_PART = 64


class LogisticJudge:
    """Judges families of discrete children, whatever their parents; see :class:`Judge`.

    Parameters
    ----------
    grounds
        What families are judged by.
    tables
        Judges the families without a continuous parent.
    """

    reason = "had more coefficients than rows"

    def __init__(self, grounds: Grounds, tables: TableJudge) -> None:
        self.n_scored = 0
        self.too_large: set[Key] = set()
        self.refused: set[Key] = set()
        self._grounds, self._tables = grounds, tables
        self._continuous = grounds.continuous
        self._known: dict[Key, float] = {}

    def neighbors(self, child: int, parents: int, candidates: Sequence[int]) -> Floats:
        """Scores with each parent taken and each candidate added, by number."""
        changed = [*bits(parents), *candidates]
        keys = [(child, parents), *((child, parents ^ 1 << i) for i in changed)]
        return self._grounds.around(child, parents, candidates, self.several(keys))

    def prepare(self, families: Sequence[Around]) -> dict[Key, Floats]:
        """Nothing: fits share no statistics."""
        return {}

    def several(self, keys: Sequence[Key]) -> Floats:
        """Scores of some families; those of one child are fitted together."""
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        tables = [key for key in new if not key[1] & self._continuous]
        fits: dict[int, list[Key]] = {}
        for key in new:
            if key[1] & self._continuous:
                fits.setdefault(key[0], []).append(key)
        for some in fits.values():
            self._known.update(zip(some, self._fitted(some).tolist(), strict=True))
        if tables:
            self._known.update(zip(tables, self._tables.several(tables).tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def scored_sets(self, child: int, candidates: Sequence[int]) -> SetScores:
        """Scores of very many sets, which are kept."""
        return in_parts(self, child, candidates, SETS_PER_PART)

    def error(self, child: int, parents: int) -> ConsilienceError:
        """Why a family has no score."""
        if not parents & self._continuous:
            return self._tables.error(child, parents)
        if (child, parents) in self.too_large:
            return self._grounds.too_large("moments", child, parents)
        family, score = self._grounds.family(child, parents), self._grounds.score
        if takes_gaps(score):
            return DataError(cast("Refusing", score).refusal(family), family=family)
        moments = self._grounds.strata.by(by_source=score.by_source)
        return too_few_rows(family, float(moments.weight.sum(axis=1).min()))

    def _fitted(self, keys: Sequence[Key]) -> Floats:
        """Scores of families with continuous parents; in halves where they are too large."""
        grounds = self._grounds
        try:
            batch = LogisticBatch.of(
                grounds.engine,
                [grounds.family(*key) for key in keys],
                by_source=grounds.score.by_source,
                memory_limit=grounds.memory_limit,
            )
        except MemoryLimitError:
            if len(keys) == 1:
                self.too_large.add(keys[0])
                return np.array([-np.inf])
            half = len(keys) // 2
            return np.append(self._fitted(keys[:half]), self._fitted(keys[half:]))
        self.n_scored += len(batch)
        values = grounds.score.local(batch)
        for key, value in zip(keys, values.tolist(), strict=True):
            if value == -np.inf:
                self.refused.add(key)
            elif not np.isfinite(value):
                raise unbounded(grounds.family(*key))
        return values
