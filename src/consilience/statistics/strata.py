"""The moments of all continuous variables, by the joint states of any discrete ones.

What a learner of mixed networks asks again and again: one request for each set of discrete parents
answers for all children and all continuous parents, and is kept. Without discrete variables it is
one pass over the rows, after which memory does not depend on their number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

from consilience.statistics.counts import MEMORY_LIMIT, parent_states_of
from consilience.statistics.many_regressions import RegressionBatch
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine, MomentRequest, MomentsBySets
from consilience.statistics.together import Together

__all__ = ["Strata"]

Given: TypeAlias = tuple[str, ...]

_Key: TypeAlias = tuple[Given, Given, bool]
"""Continuous variables, discrete ones, and whether sources are kept apart."""


class Strata:
    """Moments that were asked for, the latest of them kept; a cache with one owner, the learner.

    Parameters
    ----------
    engine
        Where the rows are.
    names
        The continuous variables.
    memory_limit
        Bytes of one request and of all that are kept.
    """

    def __init__(
        self, engine: Engine, names: Sequence[str], *, memory_limit: float = MEMORY_LIMIT
    ) -> None:
        self.names = tuple(names)
        self._engine = engine
        self._memory_limit = memory_limit
        self._kept: OrderedDict[_Key, Moments] = OrderedDict()
        self._n_bytes_kept = 0.0

    @cached_property
    def gaps(self) -> frozenset[str]:
        """The continuous variables that are missing in some rows."""
        if self.by().n_incomplete.sum() == 0:
            return frozenset()
        alone = tuple(self._request(((name,), (), False)) for name in self.names)
        found = self._engine.gather(Together(alone))
        return frozenset(one.names[0] for one in found if one.n_incomplete.sum() > 0)

    def of(self, members: Iterable[str], given: Given, *, by_source: bool = False) -> Moments:
        """The moments over the rows in which these continuous variables and ``given`` are known.

        Variables without gaps are there too, so that families share what is the same.
        """
        if not self.gaps:
            return self.by(given, by_source=by_source)
        left_out = self.gaps - {*members}
        names = tuple(name for name in self.names if name not in left_out)
        return self._by((names, given, by_source))

    def by(self, given: Given = (), *, by_source: bool = False) -> Moments:
        """The moments of all continuous variables by the joint states of some discrete ones."""
        return self._by((self.names, given, by_source))

    def _by(self, key: _Key) -> Moments:
        if key not in self._kept:
            self._keep([key], [self._engine.gather(self._request(key))])
        self._kept.move_to_end(key)
        return self._kept[key]

    def finer(self, batch: RegressionBatch) -> RegressionBatch:
        """The same families over fine moments, which are kept in place of the others."""
        moments = batch.moments
        by_source = moments.source is not None
        given = tuple(one.name for one in moments.given)
        wanted: list[_Key] = [(moments.names, given, by_source), (moments.names, (), by_source)]
        keys = [
            key
            for key in dict.fromkeys(wanted)
            if not (key in self._kept and self._kept[key].is_fine)
        ]
        if keys:
            sets = tuple(given for _, given, _ in keys)
            request = MomentsBySets(moments.names, sets, by_source, self._memory_limit, fine=True)
            self._keep(keys, self._engine.gather(request))
        fine = self._kept[wanted[0]]
        whole = fine.without_states()
        return RegressionBatch(fine, whole, batch.children, batch.starts, batch.parents)

    def prepare(self, wanted: Iterable[Given], *, by_source: bool = False) -> None:
        """Ask for several together, which reads the rows once; what is too large is left out."""
        keys: list[_Key] = []
        room = self._memory_limit
        for given in dict.fromkeys(wanted):
            key = self.names, given, by_source
            if key not in self._kept and (size := self._n_bytes(key)) <= room:
                room -= size
                keys.append(key)
        if keys:
            sets = tuple(given for _, given, _ in keys)
            request = MomentsBySets(self.names, sets, by_source, self._memory_limit)
            self._keep(keys, self._engine.gather(request))

    def _request(self, key: _Key) -> MomentRequest:
        return MomentRequest(*key, self._memory_limit)

    def _n_bytes(self, key: _Key) -> float:
        names, given, by_source = key
        source = self._engine.schema.source
        n_sources = source.n_states if by_source and source is not None else 1
        n_states = parent_states_of([self._engine.schema[name] for name in given])
        return 8.0 * n_sources * n_states * (len(names) + 1) ** 2

    def _keep(self, keys: Sequence[_Key], found: list[Moments]) -> None:
        """Keep what is new, and let go of what was not asked for the longest if it is too much.

        The moments of all variables without states stay.
        """
        for key, moments in zip(keys, found, strict=True):
            self._drop(key)
            self._kept[key] = moments
            self._n_bytes_kept += _n_bytes_of(moments)
        if self._n_bytes_kept <= self._memory_limit:
            return
        for key in list(self._kept)[: -len(keys)]:
            if self._n_bytes_kept <= self._memory_limit:
                return
            if key[0] != self.names or key[1]:
                self._drop(key)

    def _drop(self, key: _Key) -> None:
        if key in self._kept:
            self._n_bytes_kept -= _n_bytes_of(self._kept.pop(key))


def _n_bytes_of(moments: Moments) -> float:
    return float(sum(array.nbytes for array in moments.arrays))
