"""Families of discrete variables, judged by their counts.

All neighbors of a family (one parent more or one less) are counted and scored in one request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import ConsilienceError, MemoryLimitError, ModelError, TooDearError
from consilience.statistics.counts import Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.family import Family
from consilience.statistics.marginals import Marginals
from consilience.statistics.request import CountRequest
from consilience.structure.scores.score import Refusing, Score, may_refuse, takes_gaps
from consilience.structure.scores.source_scores import bounded
from consilience.structure.searches.judge import Around, Grounds, Key, SetScores, in_parts, mask_of

__all__ = ["TableJudge"]

FAMILIES_PER_REQUEST = 4096
NODES_PER_REQUEST = 64


class TableJudge:
    """Judges families of discrete variables; see :class:`Judge`.

    A score that could judge all of them by a bound is an error at the first that it cannot judge
    exactly.
    """

    reason = "could not be judged by the score"

    def __init__(self, grounds: Grounds) -> None:
        self.n_scored = 0
        self.too_large: set[Key] = set()
        self.refused: set[Key] = set()
        self._grounds = grounds
        self._engine, self._score, self._ahead = grounds.engine, grounds.score, grounds.ahead
        self._how = grounds.score.by_source, grounds.memory_limit

    def neighbors(self, child: int, parents: int, candidates: Sequence[int]) -> Floats:
        """Scores with each parent taken and each candidate added, by number."""
        try:
            found = self._neighbors(child, parents, candidates)
        except MemoryLimitError:
            self.too_large.add((child, parents))
            return np.full(len(self._grounds.names), -np.inf)
        return self._grounds.around(child, parents, candidates, found)

    def prepare(self, families: Sequence[Around]) -> dict[Key, Floats]:
        """Scores of the neighbors of several families, unless they are too large together."""
        found: dict[Key, Floats] = {}
        for start in range(0, len(families), NODES_PER_REQUEST):
            some = families[start : start + NODES_PER_REQUEST]
            try:
                scores = self.around(some)
            except MemoryLimitError:
                break  # they will be asked for one by one
            for child, parents, candidates in some:
                n_mine = 1 + parents.bit_count() + len(candidates)
                mine, scores = scores[:n_mine], scores[n_mine:]
                found[child, parents] = self._grounds.around(child, parents, candidates, mine)
        return found

    def around(self, families: Sequence[Around]) -> Floats:
        """Scores of families, without each parent and with each candidate, one after the other."""
        request = self._grounds.toggles(families)
        if self._ahead is None:
            return self._judged(self._engine.gather(request))
        scores = self._ahead.around(families)
        return self._checked(scores, lambda: (f for one in request.requests for f in one.families))

    def several(self, keys: Sequence[Key]) -> Floats:
        """Scores of some families, in requests of moderate size."""
        starts = range(0, len(keys), FAMILIES_PER_REQUEST)
        return np.concatenate([self._some(keys[a : a + FAMILIES_PER_REQUEST]) for a in starts])

    def scored_sets(self, child: int, candidates: Sequence[int]) -> SetScores:
        """Scores of sums of one large table; or of each set if sets have rows of their own."""
        if takes_gaps(self._score):  # sums of a larger family lack the rows with gaps in the rest
            return in_parts(self, child, candidates, FAMILIES_PER_REQUEST)
        family = self._grounds.family(child, mask_of(candidates))
        if self._ahead is not None:
            counts = self._ahead.table(family)
        else:
            (counts,) = self._engine.gather(CountRequest((family,), *self._how))
        marginals = Marginals(counts)
        return lambda masks: map(self._judged, marginals.batches(masks))

    def prepare_sets(self, wanted: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Ask for the large tables of several children together, where a pass is dear."""
        if self._ahead is not None and not takes_gaps(self._score):
            families = [self._grounds.family(child, mask_of(some)) for child, some in wanted]
            self._ahead.prepare_tables(families)

    def error(self, child: int, parents: int) -> ConsilienceError:
        """Why a family has no score."""
        if (child, parents) in self.refused:
            return _unjudged(self._score, self._grounds.family(child, parents))
        return self._grounds.too_large("counts", child, parents)

    def _neighbors(self, child: int, parents: int, candidates: Sequence[int]) -> Floats:
        """Scores of a family and its neighbors; halved where the counts would be too large."""
        try:
            return self.around([(child, parents, candidates)])
        except MemoryLimitError:
            if not candidates:
                raise
        if len(candidates) == 1:
            self.too_large.add((child, parents | 1 << candidates[0]))
            return np.append(self._neighbors(child, parents, ()), -np.inf)
        half = len(candidates) // 2
        left = self._neighbors(child, parents, candidates[:half])
        right = self._neighbors(child, parents, candidates[half:])
        return np.append(left, right[1 + parents.bit_count() :])

    def _some(self, keys: Sequence[Key]) -> Floats:
        families = tuple(self._grounds.family(*key) for key in keys)
        try:
            if self._ahead is not None:
                return self._checked(self._ahead.several(keys), lambda: families)
            return self._judged(self._engine.gather(CountRequest(families, *self._how)))
        except MemoryLimitError:
            if len(keys) == 1:
                self.too_large.add(keys[0])
                return np.array([-np.inf])
        half = len(keys) // 2
        return np.append(self._some(keys[:half]), self._some(keys[half:]))

    def _judged(self, batch: Sequence[Counts] | CountBatch) -> Floats:
        return self._checked(self._score.local(batch), lambda: (one.family for one in batch))

    def _checked(self, scores: Floats, families: Callable[[], Iterable[Family]]) -> Floats:
        self.n_scored += len(scores)
        if np.isfinite(scores).all():
            return scores
        is_bounded = bounded(self._score) is not None
        for score, family in zip(scores.tolist(), families(), strict=True):
            if score == -np.inf and may_refuse(self._score) and not is_bounded:
                self.refused.add(self._grounds.key(family))
            elif not np.isfinite(score):
                raise _unjudged(self._score, family)
        return scores


def _unjudged(score: Score, family: Family) -> ModelError:
    """The error for a family without a finite score."""
    if may_refuse(score):
        kind = ModelError if bounded(score) is None else TooDearError
        return kind(cast("Refusing", score).refusal(family), family=family)
    return ModelError(
        f"the score {score!r} of {family.child!r} given {_check.listed(family.parents)} is not a "
        "finite number.",
        family=family,
    )
