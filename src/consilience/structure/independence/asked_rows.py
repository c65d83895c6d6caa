"""The rows that tests ask, and the tables of many statements from few requests.

Statements about one variable given the same others are the tables of one family with each of many
candidates as one more parent, which is what engines count fastest (``statistics/toggles.py``). The
tables of a batch come grouped by shape, so that a test is array arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.errors import InputError
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.family import Family
from consilience.statistics.request import Engine
from consilience.statistics.strata import Strata
from consilience.statistics.toggles import ToggleRequest, ToggleRequests
from consilience.structure.independence.statements import Statements

__all__ = ["AskedRows", "TableGroup"]

CELLS_PER_REQUEST = 1 << 21
"""Counts asked for at once (16 MiB)."""

LARGE_TABLE = 1 << 16
"""Cells from which on a table may be mostly empty; such tables are asked for one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class TableGroup:
    """Tables of equal shape.

    Attributes
    ----------
    places
        Which statements they belong to.
    counts
        Weights of rows, shape (statements, sources, given states, states of x, states of y). Given
        states that no row shows may be left out.
    n_given_states
        Number of joint states of the given variables, seen or not.
    """

    places: Integers
    counts: Floats
    n_given_states: float


class _Asked(NamedTuple):
    """Statements: their places, the set of each, and where x and y stand in it."""

    places: Integers
    of_set: Integers
    at: Integers


class AskedRows:
    """Where the rows are, and the numbers that statements know their variables by.

    Parameters
    ----------
    engine
        The rows.
    names
        The variables; a statement names them by their place.
    strata
        Moments of the continuous ones; made here if not given.
    memory_limit
        Bytes of one request.
    """

    def __init__(
        self,
        engine: Engine,
        names: Sequence[str],
        *,
        strata: Strata | None = None,
        memory_limit: float = MEMORY_LIMIT,
    ) -> None:
        self.engine = engine
        self.names = tuple(names)
        self.memory_limit = memory_limit
        self._strata = strata

    @cached_property
    def is_continuous(self) -> Bools:
        """Whether each variable is continuous."""
        return np.array([self.engine.schema[name].is_continuous for name in self.names], bool)

    @cached_property
    def n_states(self) -> Integers:
        """Number of states of each variable; zero for continuous ones."""
        variables = [self.engine.schema[name] for name in self.names]
        return np.array([0 if one.is_continuous else one.n_states for one in variables], np.int64)

    @cached_property
    def strata(self) -> Strata:
        """The moments of the continuous variables."""
        if self._strata is not None:
            return self._strata
        numbers = [name for name in self.names if self.engine.schema[name].is_continuous]
        return Strata(self.engine, sorted(numbers), memory_limit=self.memory_limit)

    def n_sources(self, *, by_source: bool) -> int:
        """Length of the axis of sources."""
        source = self.engine.schema.source
        return 1 if source is None or not by_source else source.n_states

    def name(self, places: Integers) -> tuple[str, ...]:
        """The variables in some places."""
        return tuple(self.names[place] for place in places.tolist())

    def check_kind(self, test: object, *, continuous: bool) -> None:
        """Refuse a test that does not take one of the variables."""
        wrong = np.flatnonzero(self.is_continuous != continuous)
        if not wrong.size:
            return
        kinds = ("discrete", "continuous") if continuous else ("continuous", "discrete")
        name = self.names[wrong[0]]
        raise InputError(
            f"{type(test).__name__} tests {kinds[1]} variables, and {name!r} is {kinds[0]}. Use "
            "cs.independence.LikelihoodRatio(), which takes both kinds"
            + ("." if continuous else ", or read the column with discretize=."),
            variable=name,
        )

    def tables(self, asked: Statements, *, by_source: bool) -> Iterator[TableGroup]:
        """The tables of all statements, in groups of equal shape; all variables are discrete."""
        sets, of_set, at = self._sets(asked)
        n_sources = self.n_sources(by_source=by_source)
        cells = self.n_states[sets].prod(axis=1, dtype=np.float64) * n_sources
        order = np.argsort(of_set, kind="stable")
        begins = np.searchsorted(of_set[order], np.arange(len(sets) + 1))
        for a, b in _portions(cells):
            some = order[begins[a] : begins[b]]
            batch, entries = self._counted(sets[a:b], by_source=by_source)
            mine = _Asked(some, of_set[some] - a, at[some])
            if batch.seen:
                yield from _one_by_one(batch, entries, mine)
            else:
                yield from _by_shape(batch, entries, self.n_states[sets[a:b]], mine)

    def _sets(self, asked: Statements) -> tuple[Integers, Integers, Integers]:
        """The sets of variables of statements, the set of each, and where x and y stand in it.

        Statements about one set share its counts. The variables of a set stand by their numbers of
        states, so that there are few shapes, then by their own.
        """
        members = np.column_stack([asked.x, asked.y, asked.given])
        order = np.argsort(self.n_states[members] * len(self.names) + members, axis=1)
        rows = np.take_along_axis(members, order, axis=1)
        sets, of_set = np.unique(rows, axis=0, return_inverse=True)
        at = np.column_stack([(order == i).argmax(axis=1) for i in (0, 1)])
        return sets, of_set.ravel(), at

    def _counted(self, sets: Integers, *, by_source: bool) -> tuple[CountBatch, Integers]:
        """The joint counts of sets in one request, and the place of each in the batch.

        Sets that begin alike are counted together; the batch has other tables before theirs.
        """
        heads = sets[:, :-1]
        is_new = np.append(True, (heads[1:] != heads[:-1]).any(axis=1))
        starts = np.append(np.flatnonzero(is_new), len(sets)).tolist()
        requests = tuple(
            ToggleRequest(
                Family(self.names[sets[a, -2]], self.name(sets[a, :-2])),
                self.name(sets[a:b, -1]),
                by_source,
                self.memory_limit,
            )
            for a, b in pairwise(starts)
        )
        n_before = np.cumsum(is_new) * (sets.shape[1] - 1)
        return self.engine.gather(ToggleRequests(requests)), n_before + np.arange(len(sets))


def _portions(cells: Floats) -> Iterator[tuple[int, int]]:
    """Ranges of tables that are asked for together; large ones alone."""
    start, total = 0, 0.0
    for i, size in enumerate(cells.tolist()):
        is_large = size > LARGE_TABLE
        if start < i and (is_large or total + size > CELLS_PER_REQUEST):
            yield start, i
            start, total = i, 0.0
        total += size
        if is_large:
            yield i, i + 1
            start, total = i + 1, 0.0
    if start < len(cells):
        yield start, len(cells)


def _by_shape(
    batch: CountBatch, entries: Integers, sizes: Integers, asked: _Asked
) -> Iterator[TableGroup]:
    """Tables of statements, by the sizes of their sets and where x and y stand in them."""
    lengths = batch.shapes.prod(axis=1)
    begins = (np.cumsum(lengths) - lengths)[entries]
    n_sources = int(batch.shapes[0, 0])
    rows = np.column_stack([sizes[asked.of_set], asked.at])
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    for k, (*shape, x, y) in enumerate(kinds.tolist()):
        some = np.flatnonzero(kind.ravel() == k)
        cells = begins[asked.of_set[some], None] + np.arange(n_sources * prod(shape))
        counts = (batch.table[cells] / batch.scale).reshape(len(some), n_sources, *shape)
        r, c = shape[x], shape[y]
        q = prod(shape) // (r * c)
        table = np.moveaxis(counts, (2 + x, 2 + y), (-2, -1))
        shaped = table.reshape(len(some), n_sources, q, r, c)
        yield TableGroup(asked.places[some], shaped, float(q))


def _one_by_one(batch: CountBatch, entries: Integers, asked: _Asked) -> Iterator[TableGroup]:
    """Tables of statements about sets whose counts stand alone, or hold only states that occur."""
    wanted = {entry: i for i, entry in enumerate(entries.tolist())}
    for entry, counts in enumerate(batch):
        if entry not in wanted:
            continue
        codes, values, sizes = _listed(counts)
        for i in np.flatnonzero(asked.of_set == wanted[entry]):
            x, y = asked.at[i].tolist()
            heads, head = np.unique(np.delete(codes, [x, y], 1), axis=0, return_inverse=True)
            table = np.zeros((1, len(values), len(heads), sizes[x], sizes[y]))
            table[0, :, head.ravel(), codes[:, x], codes[:, y]] = values.T
            n_given = prod(float(n) for at, n in enumerate(sizes) if at not in (x, y))
            yield TableGroup(asked.places[i : i + 1], table, n_given)


def _listed(counts: Counts) -> tuple[Integers, Floats, list[int]]:
    """Joint states that rows show, the weights of each by source, and the numbers of states.

    The variables stand in the order of their set: the child before the last parent.
    """
    where, state = np.nonzero(counts.table.sum(axis=0))
    parents = np.array([one.n_states for one in counts.given])
    seen = counts.seen
    if seen is None:
        seen = np.column_stack(np.unravel_index(np.arange(counts.table.shape[1]), parents))
    codes = np.column_stack([seen[where, :-1], state, seen[where, -1]])
    sizes = [*parents[:-1].tolist(), counts.child.n_states, int(parents[-1])]
    return codes, counts.values[:, where, state], sizes
