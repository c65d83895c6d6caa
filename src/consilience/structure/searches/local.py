"""The memory of one search: local scores by child and set of parents.

All neighbors of a family (one parent more or one less) are counted and scored in one request and
kept, so that a search that comes back to a family pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.errors import MemoryLimitError, ModelError, TooDearError
from consilience.statistics.batch import CountBatch
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family
from consilience.statistics.marginals import Marginals
from consilience.statistics.request import CountRequest, Engine
from consilience.statistics.strata import Strata
from consilience.statistics.toggles import ToggleRequest, ToggleRequests
from consilience.structure.scores.score import Score, takes_gaps
from consilience.structure.scores.sources import bounded
from consilience.structure.searches.classes import bits
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.mixed import MixedScores

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
    limit, or that the score cannot judge, have minus infinity; but a score that could judge all of
    them by a bound is an error at the first that it cannot judge exactly. Families that have a
    continuous variable are judged in :class:`MixedScores`.
    """

    def __init__(
        self,
        engine: Engine,
        score: Score,
        constraints: Constraints,
        *,
        max_parents: int | None,
        memory_limit: float,
        strata: Strata | None = None,
    ) -> None:
        self.names = constraints.names
        self._n_tables = 0
        self._engine = engine
        self._score = score
        self._memory_limit = memory_limit
        self.most_parents = len(self.names) if max_parents is None else max_parents
        self._place = {name: i for i, name in enumerate(self.names)}
        variables = [engine.schema[name] for name in self.names]
        is_variable = np.array([v.is_continuous or v.n_states > 1 for v in variables])
        self.allowed = constraints.allowed & np.outer(is_variable, is_variable)
        self._candidates = [
            [int(i) for i in np.flatnonzero(self.allowed[:, child])]
            for child in range(len(self.names))
        ]
        continuous = [v.name for v in variables if v.is_continuous]
        self._mixed = MixedScores(
            engine,
            strata or Strata(engine, continuous, memory_limit=memory_limit),
            score,
            self.names,
            memory_limit=memory_limit,
        )
        usable = self.allowed | constraints.required
        is_continuous = self._mixed.is_continuous
        self._is_mixed = (is_continuous | usable[is_continuous].any(axis=0)).tolist()
        self._known: dict[tuple[int, int], float] = {}
        self._neighbors: dict[tuple[int, int], Floats] = {}
        self._gaining: dict[tuple[int, int, float], list[tuple[int, float]]] = {}
        self._too_large: set[tuple[int, int]] = set()
        self._refused: set[tuple[int, int]] = set()

    def toggled(self, child: int, parents: int) -> Floats:
        """Scores of the child with each variable added to or taken from its parents.

        Entry ``child`` is the score with the parents as they are. A parent that may not be added
        (forbidden, or one more than ``max_parents``, or too large a table) gives minus infinity.
        The array belongs to the cache: do not write to it.
        """
        key = (child, parents)
        if key not in self._neighbors and self._is_mixed[child]:
            self._keep_values(key, self._mixed_neighbors(child, parents))
        if key not in self._neighbors:
            request = self._request(child, parents)
            try:
                self._keep(key, request, self._scored(request.family, request.candidates))
            except MemoryLimitError:
                self._too_large.add(key)
                self._known[key] = -np.inf
                self._neighbors[key] = np.full(len(self.names), -np.inf)
        return self._neighbors[key]

    def gaining(self, child: int, parents: int, least: float) -> list[tuple[int, float]]:
        """Variables that gain more than ``least`` when toggled, in their order, and the gains."""
        key = (child, parents, least)
        if key not in self._gaining:
            values = self.toggled(child, parents)
            gains = values - values[child]
            found = np.flatnonzero(gains > least)
            self._gaining[key] = list(zip(found.tolist(), gains[found].tolist(), strict=True))
        return self._gaining[key]

    def prepare(self, families: Iterable[tuple[int, int]]) -> None:
        """Score the neighbors of several families together, which is faster than one by one."""
        new = [key for key in dict.fromkeys(families) if key not in self._neighbors]
        if self._mixed.has_both:
            mixed = [key for key in new if self._mixed.is_continuous[key[0]]]
            self._mixed.prepare([(*key, self._addable(*key)) for key in mixed])
        unknown = [key for key in new if not self._is_mixed[key[0]]]
        for start in range(0, len(unknown), NODES_A_REQUEST):
            some = unknown[start : start + NODES_A_REQUEST]
            asked = [self._request(child, parents) for child, parents in some]
            try:
                batch = self._engine.gather(ToggleRequests(tuple(asked)))
            except MemoryLimitError:
                return  # toggled will ask for them in smaller parts
            self._n_tables += len(batch)
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

    def scored_sets(
        self, child: int, candidates: Sequence[int]
    ) -> Callable[[Integers], Iterator[Floats]]:
        """For very many sets of parents of a child: a function that scores them, part by part.

        Bit ``v`` of a set stands for ``candidates[v]``; the sets must be increasing. Their scores
        are not kept.
        """
        if self._mixed.is_continuous[child]:
            return lambda masks: self._mixed.parts(child, candidates, masks)
        if self._is_mixed[child]:
            return lambda masks: self._parts(child, candidates, masks)
        if takes_gaps(self._score):  # sums of a larger family lack the rows with gaps in the rest
            return lambda masks: self._by_own_rows(child, candidates, masks)
        family = Family(self.names[child], tuple(self.names[i] for i in candidates))
        request = CountRequest((family,), self._score.by_source, self._memory_limit)
        marginals = Marginals(self._engine.gather(request)[0])
        return lambda masks: map(self._judged, marginals.batches(masks))

    @property
    def n_scored(self) -> int:
        """Number of families that were scored."""
        return self._n_tables + self._mixed.n_scored

    def count_more(self, n_scored: int) -> None:
        """Add families that another search has scored for this one."""
        self._n_tables += n_scored

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know."""
        reasons = {
            "would have exceeded the memory limit": self._too_large | self._mixed.too_large,
            "could not be judged by the score": self._refused,
            "had more coefficients than rows": self._mixed.refused,
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
        if key in self._mixed.refused | self._mixed.too_large:
            raise self._mixed.error(*key)
        raise MemoryLimitError(
            f"the counts of {self._text(key)} exceed the limit of "
            f"{_check.bytes_text(self._memory_limit)}. Raise memory_limit.",
            family=family,
        )

    def _names_of(self, parents: int) -> tuple[str, ...]:
        return tuple([self.names[i] for i in bits(parents)])

    def _request(self, child: int, parents: int) -> ToggleRequest:
        names = self.names
        present = self._names_of(parents)
        others = tuple([names[i] for i in self._addable(child, parents)])
        family = Family(names[child], present)
        return ToggleRequest(family, others, self._score.by_source, self._memory_limit)

    def _addable(self, child: int, parents: int) -> list[int]:
        """The candidates that are not parents yet; none if there are as many as may be."""
        if parents.bit_count() >= self.most_parents:
            return []
        return [i for i in self._candidates[child] if not parents >> i & 1]

    def _mixed_neighbors(self, child: int, parents: int) -> Floats:
        if self._mixed.is_continuous[child]:
            is_free = np.full(len(self.names), parents.bit_count() < self.most_parents)
            is_free[list(bits(parents))] = False
            more = np.flatnonzero(self.allowed[:, child] & is_free)
            return self._mixed.toggled(child, parents, more)
        values = np.full(len(self.names), -np.inf)
        changed = [*bits(parents), *self._addable(child, parents)]
        values[[child, *changed]] = self.several(
            child, [parents, *(parents ^ 1 << i for i in changed)]
        )
        return values

    def _parts(self, child: int, candidates: Sequence[int], masks: Integers) -> Iterator[Floats]:
        for start in range(0, len(masks), NODES_A_REQUEST):
            some = masks[start : start + NODES_A_REQUEST].tolist()
            yield self.several(child, [sum(1 << candidates[v] for v in bits(one)) for one in some])

    def _by_own_rows(
        self, child: int, candidates: Sequence[int], masks: Integers
    ) -> Iterator[Floats]:
        for start in range(0, len(masks), FAMILIES_A_REQUEST):
            some = masks[start : start + FAMILIES_A_REQUEST].tolist()
            sets = [sum(1 << candidates[v] for v in bits(one)) for one in some]
            yield self.several(child, sets)
            for parents in sets:
                self._known.pop((child, parents), None)

    def _judged(self, batch: CountBatch) -> Floats:
        self._n_tables += len(batch)
        return self._checked(self._score.local(batch), batch)

    def _keep(self, key: tuple[int, int], request: ToggleRequest, scores: Floats) -> None:
        values = np.full(len(self.names), -np.inf)
        order = (request.family.child, *request.family.parents, *request.candidates)
        values[[self._place[name] for name in order]] = scores
        self._keep_values(key, values)

    def _keep_values(self, key: tuple[int, int], values: Floats) -> None:
        if (len(self._neighbors) + 1) * len(self.names) > MOST_CELLS_KEPT:
            self._neighbors.clear()
            self._gaining.clear()
        self._neighbors[key] = values
        self._known[key] = float(values[key[0]])

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
        self._n_tables += len(batch)
        return self._checked(self._score.local(batch), batch)

    def _learn(self, keys: Iterable[tuple[int, int]]) -> None:
        """Score the families that are not known yet, in requests of moderate size."""
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        mixed: dict[int, list[int]] = {}
        for child, parents in new:
            if self._mixed.has(child, parents):
                mixed.setdefault(child, []).append(parents)
        for child, sets in mixed.items():
            values = self._mixed.several(child, sets).tolist()
            self._known.update(((child, one), v) for one, v in zip(sets, values, strict=True))
        unknown = [key for key in new if key not in self._known]
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
        self._n_tables += len(counts)
        scores = self._checked(self._score.local(counts), counts)
        self._known.update(zip(keys, map(float, scores), strict=True))

    def _key(self, family: Family) -> tuple[int, int]:
        mask = sum(1 << self._place[name] for name in family.parents)
        return self._place[family.child], mask

    def _checked(self, scores: Floats, batch: Sequence[Counts] | CountBatch) -> Floats:
        if np.isfinite(scores).all():
            return scores
        for i, counts in enumerate(batch):
            if scores[i] == -np.inf and bounded(self._score) is not None:
                raise unjudged(self._score, counts.family)
            if scores[i] == -np.inf and hasattr(self._score, "refusal"):
                self._refused.add(self._key(counts.family))
            elif not np.isfinite(scores[i]):
                raise unjudged(self._score, counts.family)
        return scores


def unjudged(score: Score, family: Family) -> ModelError:
    """The error for a family without a finite score."""
    if hasattr(score, "refusal"):
        kind = ModelError if bounded(score) is None else TooDearError
        return kind(score.refusal(family), family=family)
    return ModelError(
        f"the score {score!r} of {family.child!r} given {_check.listed(family.parents)} is not a "
        "finite number.",
        family=family,
    )
