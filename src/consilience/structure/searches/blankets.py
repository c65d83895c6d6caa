r"""Markov blankets first: Grow-Shrink and the IAMB family.

The blanket of a variable, its parents, children and the other parents of these, makes it
independent of all others. Each variable's blanket grows by variables that depend on it given the
blanket so far, and shrinks by those that do not given the rest. All variables go in step, so that
each step is one batch of tests.

- Grow-Shrink takes candidates one after the other, those that depend most on the variable first;
- IAMB takes in each step the candidate that depends most on it given the blanket so far;
- Inter-IAMB shrinks after each step of growth, so that the blankets given stay small.

Two variables may be neighbors if each is in the other's blanket, and are if no set out of either
blanket separates them. Dependence is weighed by p-values; those too small to differ by how many
standard deviations the statistic is above its mean, and then by name.

References
----------
D. Margaritis, S. Thrun (2000). Bayesian network induction via local neighborhoods. NIPS 12.
I. Tsamardinos, C. F. Aliferis, A. Statnikov (2003). Algorithms for large scale Markov blanket
discovery. FLAIRS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from consilience.structure.independence.asking import GapReport, Statement
from consilience.structure.independence.statements import IndependenceTest
from consilience.structure.searches.by_tests import check_choice, searched
from consilience.structure.searches.skeletons import (
    Asker,
    Skeleton,
    keep_discoveries,
    possible_pairs,
    separate,
    useful_parents,
)
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["IAMB", "GrowShrink", "InterIAMB", "dependence"]


@dataclass(frozen=True, slots=True)
class GrowShrink:
    """Grow-Shrink: Markov blankets by one pass after the other over the candidates.

    Parameters
    ----------
    test
        The test; chosen as for :class:`PC` if not given.
    orientation
        ``"standard"``, ``"conservative"`` or ``"majority"``; see :class:`PC`.
    max_given
        Most variables of a separating set of two neighbors; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> dag = cs.DAG.parse("[x][y][z|x:y]")
    >>> rows = cs.random_network(dag, n_states=2, seed=3).sample(2000, seed=1)
    >>> cs.search(rows, search=cs.searches.GrowShrink()).cpdag.directed
    (('x', 'z'), ('y', 'z'))
    """

    test: IndependenceTest | None = None
    orientation: str = "standard"
    max_given: int | None = None
    by_tests: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(self)

    def search(self, task: Task) -> SearchResult:
        """A graph of the class found, with the tests that led to it."""
        return searched(self, task)

    def skeleton(self, asker: Asker) -> Skeleton:
        """The pairs that no set separates."""
        blankets = _Blankets(asker)
        blankets.grow_in_order()
        blankets.shrink()
        return _neighbors(asker, blankets, self.max_given)


@dataclass(frozen=True, slots=True)
class IAMB:
    """Incremental association: blankets grow by the candidate that depends most.

    Parameters
    ----------
    test
        The test; chosen as for :class:`PC` if not given.
    orientation
        ``"standard"``, ``"conservative"`` or ``"majority"``; see :class:`PC`.
    max_given
        Most variables of a separating set of two neighbors; no limit if None.
    """

    test: IndependenceTest | None = None
    orientation: str = "standard"
    max_given: int | None = None
    by_tests: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(self)

    def search(self, task: Task) -> SearchResult:
        """A graph of the class found, with the tests that led to it."""
        return searched(self, task)

    def skeleton(self, asker: Asker) -> Skeleton:
        """The pairs that no set separates."""
        blankets = _Blankets(asker)
        while blankets.grow_by_best():
            pass
        blankets.shrink()
        return _neighbors(asker, blankets, self.max_given)


@dataclass(frozen=True, slots=True)
class InterIAMB:
    """IAMB whose blankets shrink after each step of growth.

    Parameters
    ----------
    test
        The test; chosen as for :class:`PC` if not given.
    orientation
        ``"standard"``, ``"conservative"`` or ``"majority"``; see :class:`PC`.
    max_given
        Most variables of a separating set of two neighbors; no limit if None.
    """

    test: IndependenceTest | None = None
    orientation: str = "standard"
    max_given: int | None = None
    by_tests: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(self)

    def search(self, task: Task) -> SearchResult:
        """A graph of the class found, with the tests that led to it."""
        return searched(self, task)

    def skeleton(self, asker: Asker) -> Skeleton:
        """The pairs that no set separates."""
        blankets = _Blankets(asker)
        while blankets.grow_by_best():
            blankets.shrink()
        return _neighbors(asker, blankets, self.max_given)


def dependence(told: GapReport, name: int) -> tuple[float, float, int]:
    """A key by which tests stand from the strongest dependence to the weakest."""
    df = told.df if 0 < told.df < np.inf else 1.0
    return told.p_value, -(told.statistic - df) / np.sqrt(2 * df), name


@dataclass(slots=True)
class _Blankets:
    """The blanket of each variable so far, and for each pair the last test outside of it.

    ``met`` has the blankets that each variable had already: one that comes back would go on for
    ever, since tests of samples may contradict each other, and is left as it is.
    """

    asker: Asker
    of: list[set[int]] = field(init=False)
    outside: dict[tuple[int, int], GapReport] = field(init=False, default_factory=dict)
    _met: list[set[frozenset[int]]] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.asker.task.names)
        self.of = [set() for _ in range(n)]
        self._met = [{frozenset()} for _ in range(n)]

    def grow_by_best(self) -> bool:
        """Each variable takes the candidate that depends most on it; whether any did."""
        found = self._tested(range(len(self.of)), self._candidates)
        has_grown = False
        for x, tests in found.items():
            told, y = min(
                ((told, y) for y, told in tests.items()), key=lambda one: dependence(*one)
            )
            if told.p_value <= self.asker.alpha:
                has_grown |= self._take(x, self.of[x] | {y})
        return has_grown

    def grow_in_order(self) -> None:
        """Each variable goes over its candidates until a whole pass takes none."""
        everyone = range(len(self.of))
        first = self._tested(everyone, self._candidates)
        order = {x: sorted(t, key=lambda y: dependence(t[y], y)) for x, t in first.items()}
        waiting = {x: list(candidates) for x, candidates in order.items()}
        has_grown = dict.fromkeys(order, False)
        while waiting:
            heads = {x: [candidates.pop(0)] for x, candidates in waiting.items()}
            for x, tests in self._tested(heads, heads.__getitem__).items():
                ((y, told),) = tests.items()
                if told.p_value <= self.asker.alpha:
                    has_grown[x] |= self._take(x, self.of[x] | {y})
            for x in [x for x, candidates in waiting.items() if not candidates]:
                again = [y for y in order[x] if y not in self.of[x]] if has_grown[x] else []
                has_grown[x] = False
                if again:
                    waiting[x] = again
                else:
                    del waiting[x]

    def shrink(self) -> None:
        """Each variable drops, one by one, what depends least on it given the rest."""
        active = [x for x, blanket in enumerate(self.of) if blanket]
        while active:
            found = self._tested(active, lambda x: sorted(self.of[x]))
            active = []
            for x, tests in found.items():
                told, y = max(
                    ((told, y) for y, told in tests.items()), key=lambda one: dependence(*one)
                )
                if told.p_value > self.asker.alpha and self._take(x, self.of[x] - {y}):
                    self.outside[x, y] = told
                    active.append(x)

    def _candidates(self, x: int) -> list[int]:
        return [y for y in range(len(self.of)) if y != x and y not in self.of[x]]

    def _take(self, x: int, blanket: set[int]) -> bool:
        if frozenset(blanket) in self._met[x]:
            return False
        self._met[x].add(frozenset(blanket))
        self.of[x] = blanket
        return True

    def _tested(
        self, some: Iterable[int], others: Callable[[int], Iterable[int]]
    ) -> dict[int, dict[int, GapReport]]:
        """Tests of each variable with each of others, given the rest of its blanket."""
        asked: list[Statement] = [
            (x, y, tuple(sorted(self.of[x] - {y}))) for x in some for y in others(x)
        ]
        found: dict[int, dict[int, GapReport]] = {}
        for (x, y, _), told in zip(asked, self.asker.tell(asked), strict=True):
            found.setdefault(x, {})[y] = told
            if y not in self.of[x] and told.p_value > self.asker.alpha:
                self.outside[x, y] = told
        return found


def _neighbors(asker: Asker, blankets: _Blankets, max_given: int | None) -> Skeleton:
    """The pairs in each other's blankets that no set out of either blanket separates."""
    n = len(blankets.of)
    inside = np.zeros((n, n), bool)  # inside[z, x]: z is in the blanket of x
    for x, blanket in enumerate(blankets.of):
        inside[list(blanket), x] = True
    required = asker.task.constraints.required
    possible = possible_pairs(asker.task)
    found = Skeleton(possible & (inside & inside.T | required | required.T))
    for x, y in np.argwhere(np.triu(possible & ~found.adjacent)).tolist():
        tests = [t for pair in ((x, y), (y, x)) if (t := blankets.outside.get(pair)) is not None]
        if tests:
            found.told[x, y] = max(tests, key=lambda told: (told.p_value, -len(told.given)))
    useful = useful_parents(asker.task)
    separate(asker, found, lambda: inside & useful, max_given=max_given)
    keep_discoveries(asker, found)
    return found
