"""The memory of one search: local scores by child and set of parents.

All neighbors of a family (one parent more or one less) are counted and scored in one request and
kept, so that a search that comes back to a family pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import MemoryLimitError, ModelError
from consilience.statistics.batch import CountBatch
from consilience.statistics.family import Family
from consilience.statistics.marginals import Marginals
from consilience.statistics.request import CountRequest, Engine
from consilience.statistics.toggles import ToggleRequest, ToggleRequests
from consilience.structure.scores.score import Batch, Score
from consilience.structure.searches.constraints import Constraints

__all__ = ["LocalScores", "unjudged"]

MOST_CELLS_KEPT = 1 << 25
"""Scores kept for neighbors; when there are more the memory starts anew (256 MiB)."""

FAMILIES_A_REQUEST = 4096
NODES_A_REQUEST = 64


class LocalScores:
    """Scores of families, each computed once; a cache with one owner, the search.

    Variables are numbers, positions in ``constraints.names``; sets of parents are bit masks.
    ``allowed[i, j]`` is whether a search may add i -> j: the constraints allow it, and neither has
    one state only, which an arc could tell nothing about. Families whose counts exceed the memory
    limit, or that the score cannot judge, have minus infinity.
    """

    def __init__(
        self,
        engine: Engine,
        score: Score,
        constraints: Constraints,
        *,
        max_parents: int | None,
        memory_limit: float,
    ) -> None:
        self.names = constraints.names
        self.n_scored = 0
        self._engine = engine
        self._score = score
        self._memory_limit = memory_limit
        self.most_parents = len(self.names) if max_parents is None else max_parents
        self._place = {name: i for i, name in enumerate(self.names)}
        is_variable = np.array([engine.schema[name].n_states > 1 for name in self.names])
        self.allowed = constraints.allowed & np.outer(is_variable, is_variable)
        self._candidates = [
            [int(i) for i in np.flatnonzero(self.allowed[:, child])]
            for child in range(len(self.names))
        ]
        self._known: dict[tuple[int, int], float] = {}
        self._neighbors: dict[tuple[int, int], Floats] = {}
        self._too_large: set[tuple[int, int]] = set()
        self._refused: set[tuple[int, int]] = set()

    def toggled(self, child: int, parents: int) -> Floats:
        """Scores of the child with each variable added to or taken from its parents.

        Entry ``child`` is the score with the parents as they are. A parent that may not be added
        (forbidden, or one more than ``max_parents``, or too large a table) gives minus infinity.
        The array belongs to the cache: do not write to it.
        """
        key = (child, parents)
        if key not in self._neighbors:
            request = self._request(child, parents)
            try:
                self._keep(key, request, self._scored(request.family, request.candidates))
            except MemoryLimitError:
                self._too_large.add(key)
                self._known[key] = -np.inf
                self._neighbors[key] = np.full(len(self.names), -np.inf)
        return self._neighbors[key]

    def prepare(self, families: Iterable[tuple[int, int]]) -> None:
        """Score the neighbors of several families together, which is faster than one by one."""
        unknown = [key for key in dict.fromkeys(families) if key not in self._neighbors]
        for start in range(0, len(unknown), NODES_A_REQUEST):
            some = unknown[start : start + NODES_A_REQUEST]
            asked = [self._request(child, parents) for child, parents in some]
            try:
                batch = self._engine.gather(ToggleRequests(tuple(asked)))
            except MemoryLimitError:
                return  # toggled will ask for them in smaller parts
            self.n_scored += len(batch)
            scores = self._checked(self._score.local(batch), batch)
            for key, request in zip(some, asked, strict=True):
                n_mine = 1 + len(request.family.parents) + len(request.candidates)
                self._keep(key, request, scores[:n_mine])
                scores = scores[n_mine:]

    def one(self, child: int, parents: int) -> float:
        """Score of one family."""
        return float(self.several(child, [parents])[0])

    def several(self, child: int, sets: Sequence[int]) -> Floats:
        """Scores of a child with several sets of parents; minus infinity where too large."""
        self._learn([(child, parents) for parents in sets])
        return np.array([self._known[child, parents] for parents in sets])

    def total(self, parents: Sequence[int]) -> float:
        """Score of the graph with these sets of parents, all of which must have one."""
        self._learn(list(enumerate(parents)))
        for key in enumerate(parents):
            if self._known[key] == -np.inf:
                self._raise(key)
        return float(sum(self._known[key] for key in enumerate(parents)))

    def marginals(self, child: int, candidates: Sequence[int]) -> Marginals:
        """The joint counts of a child and its candidates, for very many sets of parents of it."""
        family = Family(self.names[child], tuple(self.names[i] for i in candidates))
        request = CountRequest((family,), self._score.by_source, self._memory_limit)
        return Marginals(self._engine.gather(request)[0])

    def judged(self, batch: CountBatch) -> Floats:
        """Scores of a batch of families, which are not kept."""
        self.n_scored += len(batch)
        return self._checked(self._score.local(batch), batch)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know."""
        reasons = {
            "would have exceeded the memory limit": self._too_large,
            "could not be judged by the score": self._refused,
        }
        return tuple(
            f"{len(keys)} families {reason} and were left out, the first being "
            f"{self._text(min(keys))}. Use max_parents to leave them out knowingly."
            for reason, keys in reasons.items()
            if keys
        )

    def _text(self, key: tuple[int, int]) -> str:
        return f"{self.names[key[0]]!r} given {_check.listed(self._names_of(key[1]))}"

    def _raise(self, key: tuple[int, int]) -> NoReturn:
        family = Family(self.names[key[0]], self._names_of(key[1]))
        if key in self._refused:
            raise unjudged(self._score, family)
        raise MemoryLimitError(
            f"the counts of {self._text(key)} exceed the limit of "
            f"{_check.bytes_text(self._memory_limit)}. Raise memory_limit.",
            family=family,
        )

    def _names_of(self, parents: int) -> tuple[str, ...]:
        return tuple(name for i, name in enumerate(self.names) if parents >> i & 1)

    def _request(self, child: int, parents: int) -> ToggleRequest:
        names = self.names
        present = self._names_of(parents)
        others: tuple[str, ...] = ()
        if len(present) < self.most_parents:
            others = tuple(names[i] for i in self._candidates[child] if not parents >> i & 1)
        family = Family(names[child], present)
        return ToggleRequest(family, others, self._score.by_source, self._memory_limit)

    def _keep(self, key: tuple[int, int], request: ToggleRequest, scores: Floats) -> None:
        if (len(self._neighbors) + 1) * len(self.names) > MOST_CELLS_KEPT:
            self._neighbors.clear()
        values = np.full(len(self.names), -np.inf)
        order = (request.family.child, *request.family.parents, *request.candidates)
        values[[self._place[name] for name in order]] = scores
        self._neighbors[key] = values
        self._known[key] = float(scores[0])

    def _scored(self, family: Family, candidates: Sequence[str]) -> Floats:
        """Scores of a family and its neighbors; halved where the counts would be too large."""
        request = ToggleRequest(
            family, tuple(candidates), self._score.by_source, self._memory_limit
        )
        try:
            batch = self._engine.gather(request)
        except MemoryLimitError:
            if not candidates:
                raise
            if len(candidates) == 1:
                grown = Family(family.child, (*family.parents, *candidates))
                self._too_large.add(self._key(grown))
                return np.append(self._scored(family, ()), -np.inf)
            half = len(candidates) // 2
            n_less = 1 + len(family.parents)
            left = self._scored(family, candidates[:half])
            return np.append(left, self._scored(family, candidates[half:])[n_less:])
        self.n_scored += len(batch)
        return self._checked(self._score.local(batch), batch)

    def _learn(self, keys: Iterable[tuple[int, int]]) -> None:
        """Score the families that are not known yet, in requests of moderate size."""
        unknown = [key for key in dict.fromkeys(keys) if key not in self._known]
        for start in range(0, len(unknown), FAMILIES_A_REQUEST):
            self._learn_some(unknown[start : start + FAMILIES_A_REQUEST])

    def _learn_some(self, keys: Sequence[tuple[int, int]]) -> None:
        families = tuple(Family(self.names[c], self._names_of(mask)) for c, mask in keys)
        request = CountRequest(families, self._score.by_source, self._memory_limit)
        try:
            counts = self._engine.gather(request)
        except MemoryLimitError:
            if len(keys) == 1:
                self._too_large.add(keys[0])
                self._known[keys[0]] = -np.inf
                return
            half = len(keys) // 2
            self._learn_some(keys[:half])
            self._learn_some(keys[half:])
            return
        self.n_scored += len(counts)
        scores = self._checked(self._score.local(counts), counts)
        self._known.update(zip(keys, map(float, scores), strict=True))

    def _key(self, family: Family) -> tuple[int, int]:
        mask = sum(1 << self._place[name] for name in family.parents)
        return self._place[family.child], mask

    def _checked(self, scores: Floats, batch: Batch) -> Floats:
        if np.isfinite(scores).all():
            return scores
        for i, counts in enumerate(batch):
            if scores[i] == -np.inf and hasattr(self._score, "refusal"):
                self._refused.add(self._key(counts.family))
            elif not np.isfinite(scores[i]):
                raise unjudged(self._score, counts.family)
        return scores


def unjudged(score: Score, family: Family) -> ModelError:
    """The error for a family without a finite score."""
    if hasattr(score, "refusal"):
        return ModelError(score.refusal(family), family=family)
    return ModelError(
        f"the score {score!r} of {family.child!r} given {_check.listed(family.parents)} is not a "
        "finite number.",
        family=family,
    )
