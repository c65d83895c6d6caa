"""The memory of one search: local scores by child and set of parents.

All neighbors of a family (one parent more or one less) are scored in one request and kept, so that
a search that comes back to a family pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from consilience._typing import Bools, Floats
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.structure.scores.score import Score
from consilience.structure.searches.class_masks import bits, row_masks
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.judge import Ahead, Grounds, Key, SetScores
from consilience.structure.searches.judges import Judges

__all__ = ["LocalScores"]

MOST_CELLS_KEPT = 1 << 25
"""Scores kept for neighbors; when there are more the memory starts anew (256 MiB)."""


class LocalScores:
    """Scores of families, each computed once; a cache with one owner, the search.

    Variables are numbers, positions in ``constraints.names``; sets of parents are bit masks.
    ``allowed[i, j]`` is whether a search may add i -> j: the constraints allow it, and neither has
    one state only, which an arc could tell nothing about. Families whose statistics exceed the
    memory limit, or that the score cannot judge, have minus infinity. ``n_looked_around`` is how
    many families were scored together with their neighbors.
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
        ahead: Ahead | None = None,
    ) -> None:
        self.names = constraints.names
        self.schema = engine.schema
        self.most_parents = len(self.names) if max_parents is None else max_parents
        variables = [engine.schema[name] for name in self.names]
        is_variable = np.array([v.is_continuous or v.n_states > 1 for v in variables])
        self.allowed = constraints.allowed & np.outer(is_variable, is_variable)
        self._choose(self.allowed)
        self._near: dict[Key, Floats] | None = None
        continuous = [v.name for v in variables if v.is_continuous]
        strata = strata or Strata(engine, continuous, memory_limit=memory_limit)
        self._grounds = Grounds(engine, strata, score, self.names, memory_limit, ahead)
        possible = (constraints.allowed | constraints.required).T
        self._judges = Judges(self._grounds, row_masks(possible))
        self._n_more = self.n_looked_around = 0
        self._known: dict[Key, float] = {}
        self._neighbors: dict[Key, Floats] = {}
        self._gaining: dict[tuple[int, int, float], list[tuple[int, float]]] = {}

    def toggled(self, child: int, parents: int) -> Floats:
        """Scores of the child with each variable added to or taken from its parents.

        Entry ``child`` is the score with the parents as they are. A parent that may not be added
        (forbidden, or one more than ``max_parents``, or too large a table) gives minus infinity.
        The array belongs to the cache: do not write to it.
        """
        key = (child, parents)
        found = self._found(key)
        if found is None:
            self._assemble(key)
            found = self._found(key)
        if found is None:
            judge = self._judges.of[child]
            found = judge.neighbors(child, parents, self._addable(child, parents))
            self._keep(key, found)
            self.n_looked_around += 1
        return found

    def gaining(self, child: int, parents: int, least: float) -> list[tuple[int, float]]:
        """Variables that gain more than ``least`` when toggled, in their order, and the gains."""
        key = (child, parents, least)
        if key not in self._gaining:
            values = self.toggled(child, parents)
            gains = values - values[child]
            found = np.flatnonzero(gains > least)
            self._gaining[key] = list(zip(found.tolist(), gains[found].tolist(), strict=True))
        return self._gaining[key]

    def prepare(self, families: Iterable[Key]) -> None:
        """Score the neighbors of several families together, which is faster than one by one."""
        asked_for = dict.fromkeys(families)
        for key in asked_for:
            self._assemble(key)
        new = [key for key in asked_for if self._found(key) is None]
        for judge, keys in self._judges.split(new):
            found = judge.prepare([(*key, self._addable(*key)) for key in keys])
            self.n_looked_around += len(found)
            for key, values in found.items():
                self._keep(key, values)

    def around(self, families: Iterable[Key]) -> Iterator[tuple[int, int, Floats]]:
        """Families with their :meth:`toggled` scores, asked for together.

        What is found while only near candidates are looked at is not kept: the caller does.
        """
        asked_for = list(families)
        self.prepare(asked_for)
        for child, parents in asked_for:
            yield child, parents, self.toggled(child, parents)
        if self._near is not None:
            self._near.clear()

    def one(self, child: int, parents: int) -> float:
        """Score of one family."""
        return float(self.several(child, [parents])[0])

    def several(self, child: int, sets: Sequence[int]) -> Floats:
        """Scores of a child with several sets of parents; minus infinity where too large."""
        self.learn([(child, parents) for parents in sets])
        return np.array([self._known[child, parents] for parents in sets])

    def learn(self, keys: Iterable[Key]) -> None:
        """Score the families that are not known yet."""
        new = [key for key in dict.fromkeys(keys) if not self._is_known(key)]
        self._known.update(self._judges.several(new))

    def narrow(self, is_near: Bools) -> None:
        """Look from now on only at candidates that are near.

        Others have minus infinity in :meth:`toggled` and are not counted, until :meth:`widen`.
        """
        self._near = {}
        self._choose(self.allowed & is_near)

    def widen(self) -> None:
        """Look at all candidates again."""
        self._near = None
        self._choose(self.allowed)

    def total(self, parents: Sequence[int]) -> float:
        """Score of the graph with these sets of parents, all of which must have one."""
        self.learn(enumerate(parents))
        for child, mask in enumerate(parents):
            if self._known[child, mask] == -np.inf:
                raise self._judges.of[child].error(child, mask)
        return float(sum(self._known[key] for key in enumerate(parents)))

    def scored_sets(self, child: int, candidates: Sequence[int]) -> SetScores:
        """For very many sets of parents of a child: a function that scores them, part by part.

        Bit ``v`` of a set stands for ``candidates[v]``; the sets must be increasing. Their scores
        are not kept.
        """
        return self._judges.of[child].scored_sets(child, candidates)

    def prepare_sets(self, wanted: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Ask together for what :meth:`scored_sets` needs for several children, if that helps."""
        tables = self._judges.tables
        tables.prepare_sets([one for one in wanted if self._judges.of[one[0]] is tables])

    @property
    def n_scored(self) -> int:
        """Number of families that were scored."""
        return self._n_more + self._judges.n_scored

    def count_more(self, n_scored: int) -> None:
        """Add families that another search has scored for this one."""
        self._n_more += n_scored

    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know."""
        return tuple(
            f"{len(keys)} families {reason} and were left out, the first being "
            f"{self._grounds.text(*min(keys))}. Use max_parents to leave them out knowingly."
            for reason, keys in self._judges.left_out().items()
            if keys
        )

    def _choose(self, is_candidate: Bools) -> None:
        self._candidates = [np.flatnonzero(column).tolist() for column in is_candidate.T]
        self._may_add = row_masks(is_candidate.T)

    def _is_known(self, key: Key) -> bool:
        """Whether a family was scored, alone or as the neighbor of another one."""
        if key in self._known:
            return True
        child, parents = key
        for parent in bits(parents):
            values = self._neighbors.get((child, parents ^ 1 << parent))
            if values is not None and values[parent] != -np.inf:
                self._known[key] = float(values[parent])
                return True
        return False

    def _assemble(self, key: Key) -> None:
        """Put the neighbors of a family together from scores that are known, if all are."""
        child, parents = key
        if key not in self._known or self._found(key) is not None:
            return
        changed = [*bits(parents), *self._addable(child, parents)]
        found = [self._known.get((child, parents ^ 1 << i)) for i in changed]
        if None not in found:
            values = np.full(len(self.names), -np.inf)
            values[[child, *changed]] = [self._known[key], *found]
            self._keep(key, values)

    def _addable(self, child: int, parents: int) -> list[int]:
        """The candidates that are not parents yet; none if there are as many as may be."""
        if parents.bit_count() >= self.most_parents:
            return []
        found = self._candidates[child].copy()
        for parent in bits(parents & self._may_add[child]):
            found.remove(parent)
        return found

    def _found(self, key: Key) -> Floats | None:
        found = self._neighbors.get(key)
        return self._near.get(key) if found is None and self._near is not None else found

    def _keep(self, key: Key, values: Floats) -> None:
        self._known[key] = float(values[key[0]])
        if self._near is not None:
            self._near[key] = values
            return
        if (len(self._neighbors) + 1) * len(self.names) > MOST_CELLS_KEPT:
            self._neighbors.clear()
            self._gaining.clear()
        self._neighbors[key] = values
