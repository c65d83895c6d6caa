r"""Parents and children by the max-min heuristic.

The candidates of a variable X are the others. In each step every candidate Y is weighed by its
weakest dependence, the largest p-value of X and Y given any subset of the parents and children so
far; those that some subset makes independent of X are out for good, and of the others the one with
the strongest weakest dependence is taken. Then each of those taken is tested again given all
subsets of the others. Two variables are neighbors if each is among the other's parents and
children.

All variables go in step, and only subsets with the variable taken last are new.

References
----------
I. Tsamardinos, L. E. Brown, C. F. Aliferis (2006). The max-min hill-climbing Bayesian network
structure learning algorithm. Machine Learning 65.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, islice
from typing import ClassVar

import numpy as np

from consilience._typing import Bools
from consilience.structure.independence.asking import GapReport, Statement
from consilience.structure.independence.statements import IndependenceTest
from consilience.structure.searches.blankets import dependence
from consilience.structure.searches.by_tests import check_choice, searched
from consilience.structure.searches.skeletons import (
    TIE,
    Asker,
    Skeleton,
    keep_discoveries,
    possible_pairs,
)
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["MMPC"]


@dataclass(frozen=True, slots=True)
class MMPC:
    """Max-min parents and children: which pairs are joined, and by colliders how.

    Parameters
    ----------
    test
        The test; chosen as for :class:`PC` if not given.
    orientation
        ``"standard"``, ``"conservative"`` or ``"majority"``; see :class:`PC`.
    max_given
        Most variables of a separating set; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> dag = cs.DAG.parse("[x][y][z|x:y]")
    >>> rows = cs.random_network(dag, n_states=2, seed=3).sample(2000, seed=1)
    >>> cs.search(rows, search=cs.searches.MMPC()).cpdag.directed
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
        possible = possible_pairs(asker.task)
        targets = [_Target(x, np.flatnonzero(row).tolist()) for x, row in enumerate(possible)]
        active = targets
        while active := [one for one in active if one.others]:
            _weigh(
                asker,
                [(one, y, one.new_sets(self.max_given)) for one in active for y in one.others],
            )
            for one in active:
                one.take_strongest(asker.alpha)
        active = targets
        while active:
            _weigh(
                asker,
                [
                    (one, y, one.sets_without(y, self.max_given))
                    for one in active
                    for y in one.taken
                ],
            )
            active = [one for one in active if one.drop_weakest(asker.alpha)]
        return _joined(asker, targets, possible)


@dataclass(slots=True)
class _Target:
    """A variable on its way: candidates, those taken, and the weakest dependence of each."""

    x: int
    others: list[int]
    taken: list[int] = field(default_factory=list)
    weakest: dict[int, GapReport] = field(default_factory=dict)

    def new_sets(self, max_given: int | None) -> list[tuple[int, ...]]:
        """Subsets of those taken that were not given yet: with the one taken last."""
        if not self.taken:
            return [()]
        *before, last = self.taken
        most = len(before) if max_given is None else max_given - 1
        return [tuple(sorted((*some, last))) for some in _subsets(before, most)]

    def sets_without(self, y: int, max_given: int | None) -> list[tuple[int, ...]]:
        """Subsets of those taken but one."""
        rest = sorted(one for one in self.taken if one != y)
        return list(_subsets(rest, len(rest) if max_given is None else max_given))

    def see(self, y: int, told: GapReport) -> None:
        """Keep the test with the largest p-value, of equal ones the smaller set."""
        before = self.weakest.get(y)
        if before is None or told.p_value > before.p_value * (1 + TIE):
            self.weakest[y] = told

    def take_strongest(self, alpha: float) -> None:
        """Leave out what some set makes independent, and take the strongest of the others."""
        self.others = [y for y in self.others if self.weakest[y].p_value <= alpha]
        if self.others:
            best = min(self.others, key=lambda y: dependence(self.weakest[y], y))
            self.others.remove(best)
            self.taken.append(best)

    def drop_weakest(self, alpha: float) -> bool:
        """Drop the weakest of those taken if some set makes it independent; whether one was."""
        if not self.taken:
            return False
        last = max(self.taken, key=lambda y: dependence(self.weakest[y], y))
        if self.weakest[last].p_value <= alpha:
            return False
        self.taken.remove(last)
        return True


def _subsets(members: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    sizes = range(1 + min(most, len(members)))
    return chain.from_iterable(combinations(members, size) for size in sizes)


def _weigh(asker: Asker, wanted: Sequence[tuple[_Target, int, Sequence[tuple[int, ...]]]]) -> None:
    """Test targets with others given sets, all in one batch for each size."""
    asked: list[Statement] = [(one.x, y, given) for one, y, sets in wanted for given in sets]
    found = iter(asker.tell(asked))
    for one, y, sets in wanted:
        for told in islice(found, len(sets)):
            one.see(y, told)


def _joined(asker: Asker, targets: Sequence[_Target], possible: Bools) -> Skeleton:
    """The pairs that are joined as both their variables say."""
    taken = np.zeros_like(possible)
    for one in targets:
        taken[one.x, one.taken] = True
    required = asker.task.constraints.required
    found = Skeleton(taken & taken.T | required | required.T)
    for x, y in np.argwhere(np.triu(possible)).tolist():
        tests = [told for a, b in ((x, y), (y, x)) if (told := targets[a].weakest.get(b))]
        if tests:
            found.told[x, y] = max(tests, key=lambda told: told.p_value)
    keep_discoveries(asker, found)
    return found
