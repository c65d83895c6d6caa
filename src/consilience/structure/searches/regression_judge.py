"""Scores of families that have a continuous variable, by number and bit mask.

Families of a continuous child with the same discrete parents are regressions from the same moments
(``statistics/strata.py``): they are judged together, and the rows are read once for each set of
discrete parents. Families of a discrete child with continuous parents are fitted by logistic
regression.

A score that takes gaps judges each family by the moments over the rows that are complete for it;
families with the same discrete parents and the same incomplete variables still share theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import numpy as np

from consilience import _check
from consilience._typing import Bools, Floats, Integers
from consilience.errors import ConsilienceError, DataError, MemoryLimitError
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.regressions import RegressionBatch
from consilience.statistics.request import Engine
from consilience.statistics.strata import Given, Strata
from consilience.structure.scores.gaussian import too_few_rows, unbounded
from consilience.structure.scores.logistic import LogisticBatch
from consilience.structure.scores.score import Refusing, Score, takes_gaps
from consilience.structure.searches.classes import bit_matrix, bits

__all__ = ["MixedScores"]

SETS_A_PART = 4096


class MixedScores:
    """Scores of families with a continuous child, or with continuous parents of a discrete one.

    Parameters
    ----------
    engine, strata
        Where the rows are, and the moments of their continuous variables.
    score
        How families are judged.
    names
        The variables; numbers are places in it.
    """

    def __init__(
        self,
        engine: Engine,
        strata: Strata,
        score: Score,
        names: Sequence[str],
        *,
        memory_limit: float,
    ) -> None:
        self.is_continuous = np.array([engine.schema[name].is_continuous for name in names], bool)
        self.has_both = len({*self.is_continuous.tolist()}) == 2
        self.n_scored = 0
        self.too_large: set[tuple[int, int]] = set()
        self.refused: set[tuple[int, int]] = set()
        self._engine, self._strata, self._score = engine, strata, score
        self._names = tuple(names)
        self._memory_limit = memory_limit
        self._has_own_rows = takes_gaps(score)
        self._mask = sum(1 << int(i) for i in np.flatnonzero(self.is_continuous))
        place = {name: i for i, name in enumerate(strata.names)}
        self._place = np.array([place.get(name, -1) for name in names], np.int64)

    def has(self, child: int, parents: int) -> bool:
        """Whether a family is judged here: it has a continuous variable."""
        return bool(self.is_continuous[child]) or parents & self._mask != 0

    def several(self, child: int, sets: Sequence[int]) -> Floats:
        """Scores of a child with several sets of parents; minus infinity where there is none."""
        if not self.is_continuous[child]:
            return self._logistic(child, sets)
        if self._has_own_rows:
            return self._by_own_rows(child, sets)
        return self._regressions(child, bit_matrix(sets, len(self._names)))

    def parts(self, child: int, candidates: Sequence[int], masks: Integers) -> Iterator[Floats]:
        """Scores of a continuous child with very many sets, whose bits stand for candidates."""
        for start in range(0, len(masks), SETS_A_PART):
            some = masks[start : start + SETS_A_PART]
            if self._has_own_rows:
                sets = [_mask_of(candidates[v] for v in bits(one)) for one in some.tolist()]
                yield self._by_own_rows(child, sets)
                continue
            chosen = np.zeros((len(some), len(self._names)), bool)
            chosen[:, list(candidates)] = some[:, None] >> np.arange(len(candidates)) & 1
            yield self._regressions(child, chosen)

    def toggled(self, child: int, parents: int, candidates: Integers) -> Floats:
        """Scores of a continuous child with each variable added or taken, by number."""
        if self._has_own_rows:
            return self._toggled_by_own_rows(child, parents, candidates.tolist())
        inside, given = list(bits(parents & self._mask)), list(bits(parents & ~self._mask))
        is_inside = self.is_continuous[candidates]
        more, others = candidates[is_inside], candidates[~is_inside].tolist()
        values = np.full(len(self._names), -np.inf)
        found = self._around(child, given, inside, more)
        values[[child, *inside]] = found[: 1 + len(inside)]
        values[more] = found[1 + len(inside) :]
        for i in [*given, *others]:
            states = sorted({*given} ^ {i})
            values[i] = self._around(child, states, inside, None)[0]
        return values

    def prepare(self, families: Iterable[tuple[int, int, Sequence[int]]]) -> None:
        """Ask for all moments that the neighbors of several families need, in one pass.

        Each with its child, parents and candidates.
        """
        if self._has_own_rows:
            return
        wanted: list[Given] = [()]
        for _, parents, candidates in families:
            given = set(bits(parents & ~self._mask))
            others = [i for i in candidates if not self.is_continuous[i]]
            wanted += [self._given(given), *(self._given(given ^ {i}) for i in [*given, *others])]
        self._strata.prepare(wanted, by_source=self._score.by_source)

    def error(self, child: int, parents: int) -> ConsilienceError:
        """Why a family has no score."""
        family = self._family(child, parents)
        if (child, parents) in self.too_large:
            return MemoryLimitError(
                f"the moments of {family.child!r} given {_check.listed(family.parents)} exceed the "
                f"limit of {_check.bytes_text(self._memory_limit)}. Raise memory_limit.",
                family=family,
            )
        if self._has_own_rows and not self.is_continuous[child]:
            return DataError(cast("Refusing", self._score).refusal(family), family=family)
        by_source = self._score.by_source
        if self._has_own_rows:
            moments = self._strata.of(*self._split(child, parents), by_source=by_source)
        else:
            moments = self._strata.by(by_source=by_source)
        return too_few_rows(family, float(moments.weight.sum(axis=1).min()))

    def _around(
        self, child: int, given: Sequence[int], inside: Sequence[int], more: Integers | None
    ) -> Floats:
        """A family, and unless ``more`` is None without each continuous parent and with more."""
        place = self._place
        n_families = 1 if more is None else 1 + len(inside) + len(more)
        try:
            moments, whole = self._moments(self._given(given))
        except MemoryLimitError:
            self.too_large.add((child, _mask_of([*given, *inside])))
            return np.full(n_families, -np.inf)
        one, parents = int(place[child]), place[np.array(inside, np.int64)]
        if more is None:
            batch = RegressionBatch.listed(moments, whole, [one], [parents.tolist()])
        else:
            batch = RegressionBatch.toggled(moments, whole, one, parents, place[more])
        return self._judged(batch)

    def _regressions(self, child: int, chosen: Bools) -> Floats:
        """Scores of a continuous child; a row of ``chosen`` says which variables are parents."""
        discrete = np.flatnonzero(~self.is_continuous)
        groups, group = np.unique(chosen[:, discrete], axis=0, return_inverse=True)
        # The last parents first: sets that are counted upwards begin alike.
        inside = np.flatnonzero(self.is_continuous)[::-1]
        values = np.full(len(chosen), -np.inf)
        for g, states in enumerate(groups):
            rows = np.flatnonzero(group.ravel() == g)
            part = chosen[np.ix_(rows, inside)]
            try:
                moments, whole = self._moments(self._given(discrete[states]))
            except MemoryLimitError:
                self.too_large |= {(child, _mask_of(np.flatnonzero(chosen[r]))) for r in rows}
                continue
            starts = np.append(0, np.cumsum(part.sum(axis=1)))
            parents = self._place[inside][np.nonzero(part)[1]]
            children = np.full(len(rows), self._place[child])
            values[rows] = self._judged(RegressionBatch(moments, whole, children, starts, parents))
        return values

    def _toggled_by_own_rows(self, child: int, parents: int, candidates: list[int]) -> Floats:
        values = np.full(len(self._names), -np.inf)
        changed = [*bits(parents), *candidates]
        sets = [parents, *(parents ^ 1 << i for i in changed)]
        values[[child, *changed]] = self._by_own_rows(child, sets)
        return values

    def _by_own_rows(self, child: int, sets: Sequence[int]) -> Floats:
        """Scores of a continuous child, each family by the rows that are complete for it."""
        groups: dict[tuple[frozenset[str], Given], list[int]] = {}
        for place, parents in enumerate(sets):
            members, given = self._split(child, parents)
            groups.setdefault((self._strata.gaps & {*members}, given), []).append(place)
        values = np.full(len(sets), -np.inf)
        for (incomplete, given), places in groups.items():
            families = [self._family(child, sets[place]) for place in places]
            try:
                moments = self._strata.of(incomplete, given, by_source=self._score.by_source)
            except MemoryLimitError:
                self.too_large |= {(child, sets[place]) for place in places}
                continue
            values[places] = self._judged(RegressionBatch.of(moments, families))
        return values

    def _logistic(self, child: int, sets: Sequence[int]) -> Floats:
        """Scores of a discrete child, fitted together; in halves where they are too large."""
        families = [self._family(child, parents) for parents in sets]
        try:
            batch = LogisticBatch.of(
                self._engine,
                families,
                by_source=self._score.by_source,
                memory_limit=self._memory_limit,
            )
        except MemoryLimitError:
            if len(sets) == 1:
                self.too_large.add((child, sets[0]))
                return np.full(1, -np.inf)
            half = len(sets) // 2
            parts = [self._logistic(child, some) for some in (sets[:half], sets[half:])]
            return np.concatenate(parts)
        return self._judged(batch)

    def _moments(self, given: Given) -> tuple[Moments, Moments]:
        by_source = self._score.by_source
        return self._strata.by(given, by_source=by_source), self._strata.by(by_source=by_source)

    def _judged(self, batch: RegressionBatch | LogisticBatch) -> Floats:
        self.n_scored += len(batch)
        values = self._score.local(batch)
        if np.isfinite(values).all():
            return values
        for family, value in zip(batch.families, values, strict=True):
            if value == -np.inf:
                self.refused.add(self._key(family))
            elif not np.isfinite(value):
                raise unbounded(family)
        return values

    def _split(self, child: int, parents: int) -> tuple[Given, Given]:
        """Names of the continuous variables of a family, and of its discrete parents."""
        inside = self._given([child, *bits(parents & self._mask)])
        return inside, self._given(bits(parents & ~self._mask))

    def _given(self, numbers: Iterable[int]) -> Given:
        return tuple(self._names[i] for i in sorted(numbers))

    def _family(self, child: int, parents: int) -> Family:
        return Family(self._names[child], tuple(self._names[i] for i in bits(parents)))

    def _key(self, family: Family) -> tuple[int, int]:
        numbers = [self._names.index(name) for name in family.parents]
        return self._names.index(family.child), _mask_of(numbers)


def _mask_of(numbers: Iterable[int]) -> int:
    return sum(1 << int(i) for i in numbers)
