"""Families of continuous children, judged as regressions from moments.

Families with the same discrete parents are regressions from the same moments
(``statistics/strata.py``): they are judged together, and the rows are read once for each set of
discrete parents.

A score that takes gaps judges each family by the moments over the rows that are complete for it;
families with the same discrete parents and the same incomplete variables still share theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats, Integers
from consilience.errors import ConsilienceError, MemoryLimitError
from consilience.statistics.many_regressions import RegressionBatch
from consilience.statistics.moments import Moments
from consilience.statistics.strata import Given
from consilience.structure.precision import judged
from consilience.structure.scores.gaussian import too_few_rows, unbounded
from consilience.structure.scores.score import takes_gaps
from consilience.structure.searches.class_masks import bit_matrix, bits
from consilience.structure.searches.judge import Around, Grounds, Key, SetScores, mask_of

__all__ = ["RegressionJudge"]

SETS_PER_PART = 4096

Batches: TypeAlias = Callable[[Moments, Moments], RegressionBatch]
"""Families as a batch over moments by joint state and over those of all states together."""


class RegressionJudge:
    """Judges families of continuous children; see :class:`Judge`."""

    reason = "had more coefficients than rows"

    def __init__(self, grounds: Grounds) -> None:
        self.n_scored = 0
        self.too_large: set[Key] = set()
        self.refused: set[Key] = set()
        self._grounds, self._strata = grounds, grounds.strata
        self._by_source = grounds.score.by_source
        self._has_own_rows = takes_gaps(grounds.score)
        self._continuous = grounds.continuous
        self._is_continuous = bit_matrix([self._continuous], len(grounds.names))[0]
        self._place = self._places(self._strata.names)

    def neighbors(self, child: int, parents: int, candidates: Sequence[int]) -> Floats:
        """Scores with each parent taken and each candidate added, by number."""
        if self._strata.gaps:
            changed = [*bits(parents), *candidates]
            sets = [parents, *(parents ^ 1 << i for i in changed)]
            return self._grounds.around(child, parents, candidates, self._sets(child, sets))
        inside = list(bits(parents & self._continuous))
        more = [i for i in candidates if self._continuous >> i & 1]
        changed = [*bits(parents & ~self._continuous), *self._discrete(candidates)]
        one, regressors = int(self._place[child]), self._place[inside]
        values = np.full(len(self._grounds.names), -np.inf)
        values[[child, *inside, *more]] = self._over(
            (child, parents),
            lambda by, all_: RegressionBatch.toggled(
                by, all_, one, regressors, candidates=self._place[more]
            ),
        )
        alone = [
            _freeze.read_only(np.array(array, np.int64))
            for array in ([one], [0, len(inside)], regressors)
        ]
        for i in changed:
            key = child, parents ^ 1 << i
            values[i : i + 1] = self._over(key, lambda by, all_: RegressionBatch(by, all_, *alone))
        return values

    def prepare(self, families: Sequence[Around]) -> dict[Key, Floats]:
        """Ask for all moments that the neighbors of several families need, in one pass."""
        if self._is_continuous.all() or self._strata.gaps:
            return {}
        wanted: list[Given] = [()]
        for _, parents, candidates in families:
            given = parents & ~self._continuous
            changed = [*bits(given), *self._discrete(candidates)]
            wanted += map(self._grounds.names_of, [given, *(given ^ 1 << i for i in changed)])
        self._strata.prepare(wanted, by_source=self._by_source)
        return {}

    def several(self, keys: Sequence[Key]) -> Floats:
        """Scores of some families."""
        places: dict[int, list[int]] = {}
        for place, (child, _) in enumerate(keys):
            places.setdefault(child, []).append(place)
        values = np.empty(len(keys))
        for child, mine in places.items():
            values[mine] = self._sets(child, [keys[place][1] for place in mine])
        return values

    def scored_sets(self, child: int, candidates: Sequence[int]) -> SetScores:
        """Scores of very many sets."""

        def parts(masks: Integers) -> Iterator[Floats]:
            for start in range(0, len(masks), SETS_PER_PART):
                some = masks[start : start + SETS_PER_PART]
                chosen = np.zeros((len(some), len(self._grounds.names)), bool)
                chosen[:, list(candidates)] = some[:, None] >> np.arange(len(candidates)) & 1
                yield self._chosen(child, chosen)

        return parts

    def error(self, child: int, parents: int) -> ConsilienceError:
        """Why a family has no score."""
        if (child, parents) in self.too_large:
            return self._grounds.too_large("moments", child, parents)
        moments, _ = self._moments(1 << child | parents)
        n_rows = float(moments.weight.sum(axis=1).min())
        return too_few_rows(self._grounds.family(child, parents), n_rows)

    def _sets(self, child: int, sets: Sequence[int]) -> Floats:
        return self._chosen(child, bit_matrix(sets, len(self._grounds.names)))

    def _chosen(self, child: int, chosen: Bools) -> Floats:
        """Scores of a child; a row of ``chosen`` says which variables are parents."""
        groups, group = np.unique(chosen[:, self._deciding], axis=0, return_inverse=True)
        # The last parents first: sets that are counted upwards begin alike.
        inside = np.flatnonzero(self._is_continuous)[::-1]
        values = np.full(len(chosen), -np.inf)
        for g, deciding in enumerate(groups):
            rows = np.flatnonzero(group.ravel() == g)
            part = chosen[np.ix_(rows, inside)]
            try:
                moments, whole = self._moments(1 << child | mask_of(self._deciding[deciding]))
            except MemoryLimitError:
                self.too_large |= {(child, mask_of(np.flatnonzero(chosen[r]))) for r in rows}
                continue
            place = self._places(moments.names)
            starts = np.append(0, np.cumsum(part.sum(axis=1)))
            parents = place[inside][np.nonzero(part)[1]]
            children = np.full(len(rows), place[child])
            values[rows] = self._judged(RegressionBatch(moments, whole, children, starts, parents))
        return values

    def _over(self, key: Key, batch: Batches) -> Floats | float:
        """Scores of families that have the discrete parents of one of them, without gaps."""
        try:
            moments, whole = self._moments(key[1] & ~self._continuous)
        except MemoryLimitError:
            self.too_large.add(key)
            return -np.inf
        return self._judged(batch(moments, whole))

    def _moments(self, members: int) -> tuple[Moments, Moments]:
        """The moments that families with these variables share: by state, and all together."""
        given = self._grounds.names_of(members & ~self._continuous)
        inside = self._grounds.names_of(members & self._continuous)
        moments = self._strata.of(inside, given, by_source=self._by_source)
        if self._has_own_rows:
            return moments, moments.without_states()
        return moments, self._strata.by(by_source=self._by_source)

    def _judged(self, batch: RegressionBatch) -> Floats:
        self.n_scored += len(batch)
        values = judged(self._strata, batch, self._grounds.score.local)
        if np.isfinite(values).all():
            return values
        for family, value in zip(batch.families, values.tolist(), strict=True):
            if value == -np.inf:
                self.refused.add(self._grounds.key(family))
            elif not np.isfinite(value):
                raise unbounded(family)
        return values

    @cached_property
    def _deciding(self) -> Integers:
        """The variables that decide over which moments a family is judged."""
        has_gaps = [name in self._strata.gaps for name in self._grounds.names]
        return np.flatnonzero(~self._is_continuous | has_gaps)

    def _discrete(self, candidates: Sequence[int]) -> list[int]:
        return [i for i in candidates if not self._continuous >> i & 1]

    def _places(self, names: Sequence[str]) -> Integers:
        """Where each variable stands among these, -1 if it does not."""
        place = {name: i for i, name in enumerate(names)}
        return np.array([place.get(name, -1) for name in self._grounds.names], np.int64)
