r"""Which pairs of variables some set separates: the part that all constraint-based searches share.

For sets of size 0, 1, 2, ... every pair that is still joined is tested given every set of that size
out of what may separate it, all of a size in one batch and with the joined pairs as they were
before it (PC-stable): so no order of the variables matters. A pair that some test lets be
independent is joined no more. Of several sets of one size the one with the largest p-value is kept,
of equal ones the first by name.

A set that separates X and Y can be looked for among the parents of X and among those of Y, so that
variables which background knowledge keeps from being parents of either need not be given.

References
----------
P. Spirtes, C. Glymour, R. Scheines (2000). Causation, Prediction, and Search. MIT Press.
D. Colombo, M. H. Maathuis (2014). Order-independent constraint-based causal structure learning.
JMLR 15.
A. P. Armen, I. Tsamardinos (2014). Estimation and control of the false discovery rate of Bayesian
network skeleton identification using the MMPC algorithm. Technical report, University of Crete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import comb

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.asking import Asking, GapReport
from consilience.structure.independence.default_tests import default_test
from consilience.structure.independence.false_discovery import bh_adjusted
from consilience.structure.independence.statements import IndependenceTest, Statements, Verdicts
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.task import Task

__all__ = [
    "Asker",
    "Skeleton",
    "keep_discoveries",
    "possible_pairs",
    "separate",
    "statements_about",
    "useful_parents",
]

TIE = 1e-9
"""P-values that differ by less, relatively, are equal: rounding must not choose between sets."""

STATEMENTS_AT_ONCE = 50_000

Pair = tuple[int, int]


class Asker:
    """Makes the tests of one search, looking at the clock; variables are numbers by name."""

    def __init__(self, task: Task, test: IndependenceTest | None) -> None:
        self.task = task
        rows = AskedRows(
            task.engine, task.names, strata=task.strata, memory_limit=task.memory_limit
        )
        chosen = default_test(task.engine, task.names) if test is None else test
        self._asking = Asking(chosen, rows)
        self.test = chosen
        self.alpha = chosen.alpha

    @property
    def n_tests(self) -> int:
        """Number of tests so far."""
        return self._asking.n_tests

    @property
    def adjusts(self) -> bool:
        """Whether p-values are to be adjusted for many tests at the end."""
        return self._asking.adjusts

    def ask(self, asked: Statements) -> Verdicts:
        """The answers to a batch."""
        self._beat()
        return self._asking.ask(asked)

    def tell(self, statements: list[tuple[int, int, tuple[int, ...]]]) -> list[GapReport]:
        """The answers to statements of any sizes, each made once in a search."""
        self._beat()
        return self._asking.tell(statements)

    def _beat(self) -> None:
        beat(self.task.clock, None, lambda: f"{self.n_tests:,} tests")


@dataclass(slots=True)
class Skeleton:
    """Pairs that are joined, and for each pair the test that spoke most for independence.

    Attributes
    ----------
    adjacent
        Whether two variables are joined; symmetric.
    told
        By pair (smaller number first) the test with the largest p-value: of a pair that is not
        joined the one that parted it. Pairs that were never tested are not there.
    """

    adjacent: Bools
    told: dict[Pair, GapReport] = field(default_factory=dict)

    def neighbors(self, node: int) -> list[int]:
        """The variables that one is joined to."""
        return np.flatnonzero(self.adjacent[node]).tolist()

    def part(self, x: int, y: int) -> None:
        """Join a pair no more."""
        self.adjacent[x, y] = self.adjacent[y, x] = False

    def p_value(self, x: int, y: int) -> float:
        """The largest p-value of a pair; zero if it was never tested."""
        told = self.told.get((min(x, y), max(x, y)))
        return 0.0 if told is None else told.p_value

    def separating(self, x: int, y: int) -> tuple[int, ...] | None:
        """The set that separates a pair; None if the pair is joined or was never tested."""
        told = self.told.get((min(x, y), max(x, y)))
        return None if told is None or self.adjacent[x, y] else told.given


def possible_pairs(task: Task) -> Bools:
    """The pairs that some arc may join; variables with one state have none but required ones."""
    may = task.constraints.allowed | task.constraints.required
    return np.asarray(may | may.T)


def useful_parents(task: Task) -> Bools:
    """Which variables may be parents of which, so that they can help to separate it from others.

    That continuous variables have no discrete children without logistic regression is a bound of
    the model, not knowledge about the world: such variables may still separate others.
    """
    is_number = np.array([task.engine.schema[name].is_continuous for name in task.names], bool)
    barred = np.outer(is_number, ~is_number) & (not task.logistic)
    return np.asarray(task.constraints.allowed | barred)


def separate(
    asker: Asker,
    skeleton: Skeleton,
    pools: Callable[[], Bools],
    *,
    max_given: int | None = None,
) -> None:
    """Part all pairs that a set of variables separates, by sets of growing size.

    Parameters
    ----------
    asker
        Makes the tests.
    skeleton
        The pairs to begin with, changed in place.
    pools
        Which variables, now, may help to separate which: ``pools()[z, x]`` says whether z may be
        given because of x.
    max_given
        Most variables of a set.
    """
    required = asker.task.constraints.required
    is_fixed = required | required.T
    size = 0
    while max_given is None or size <= max_given:
        best = _Best(len(skeleton.adjacent))
        for asked in statements_about(skeleton.adjacent & ~is_fixed, pools(), size):
            best.see(asked, asker.ask(asked))
        if best.is_empty:
            break
        for pair, told in best.found():
            before = skeleton.told.get(pair)
            if told.p_value > asker.alpha:
                skeleton.part(*pair)
                skeleton.told[pair] = told
            elif before is None or told.p_value > before.p_value:
                skeleton.told[pair] = told
        size += 1


def keep_discoveries(asker: Asker, skeleton: Skeleton) -> None:
    """Part the pairs beyond the rate of false discoveries, if the test asks for that."""
    if not asker.adjusts or not skeleton.told:
        return
    pairs = list(skeleton.told)
    adjusted = bh_adjusted(np.array([skeleton.told[pair].p_value for pair in pairs]))
    for pair, p_value in zip(pairs, adjusted.tolist(), strict=True):
        if p_value > asker.alpha:
            skeleton.part(*pair)


def statements_about(adjacent: Bools, pools: Bools, size: int) -> Iterator[Statements]:
    """All statements about joined pairs given sets of one size, some ten thousand at a time.

    A set that serves both variables of a pair is asked once.
    """
    waiting: list[tuple[Integers, Integers, Integers]] = []
    n_waiting = 0
    for x in range(len(adjacent)):
        others = np.flatnonzero(adjacent[x])
        pool = np.flatnonzero(pools[:, x])
        if not others.size or len(pool) < size:
            continue
        sets = combinations(pool.tolist(), size)
        at_once = max(1, STATEMENTS_AT_ONCE // len(others))
        for _ in range(-(-comb(len(pool), size) // at_once)):
            drawn = list(islice(sets, at_once))
            some = np.array(drawn, np.int64).reshape(len(drawn), size)
            part = _crossed(x, others, some, pools)
            waiting.append(part)
            n_waiting += len(part[0])
            if n_waiting >= STATEMENTS_AT_ONCE:
                yield _joined(waiting)
                waiting, n_waiting = [], 0
    if n_waiting:
        yield _joined(waiting)


def _crossed(
    x: int, others: Integers, sets: Integers, pools: Bools
) -> tuple[Integers, Integers, Integers]:
    """X with each of the others given each set without them, as far as no other one asks it."""
    is_outside = (sets[:, None, :] != others[None, :, None]).all(axis=2)
    serves_both = pools[sets[:, :, None], others[None, None, :]].all(axis=1)
    row, column = np.nonzero(is_outside & ((x < others)[None] | ~serves_both))
    return np.full(len(row), x), others[column], sets[row]


def _joined(parts: list[tuple[Integers, Integers, Integers]]) -> Statements:
    return Statements(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class _Best:
    """For each pair the set with the largest p-value, of equal ones the first."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._parts: list[tuple[Integers, Integers, Floats]] = []

    @property
    def is_empty(self) -> bool:
        return not self._parts

    def see(self, asked: Statements, found: Verdicts) -> None:
        """Look at the answers of some statements."""
        low, high = np.minimum(asked.x, asked.y), np.maximum(asked.x, asked.y)
        numbers = np.column_stack([found.p_value, found.statistic, found.df, found.n_rows])
        self._parts.append(_first_best(low * self._n + high, asked.given, numbers))

    def found(self) -> Iterator[tuple[Pair, GapReport]]:
        """The best set of each pair and what the test given it said."""
        arrays = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        pairs, given, numbers = _first_best(*arrays)
        for pair, some, (p, s, d, n) in zip(
            pairs.tolist(), given.tolist(), numbers.tolist(), strict=True
        ):
            yield divmod(pair, self._n), GapReport(tuple(some), s, d, p, n)


def _first_best(
    pairs: Integers, given: Integers, numbers: Floats
) -> tuple[Integers, Integers, Floats]:
    """Of each pair the row with the largest p-value, the first number, ties by the given set."""
    order = np.lexsort((*given.T[::-1], pairs))
    pairs, given, numbers = pairs[order], given[order], numbers[order]
    starts = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1]))
    largest = np.maximum.reduceat(numbers[:, 0], starts)
    sizes = np.diff(np.append(starts, len(pairs)))
    is_best = numbers[:, 0] >= np.repeat(largest * (1 - TIE), sizes)
    first = np.flatnonzero(is_best)[np.searchsorted(np.flatnonzero(is_best), starts)]
    return pairs[first], given[first], numbers[first]
