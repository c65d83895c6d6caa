r"""Hybrid searches: tests say which pairs may be joined, a score says how.

The restriction finds the pairs that no set of variables separates. The search then looks for the
best graph by score among those that join no other pair. Arcs that are required stay, and what is
forbidden stays so.

References
----------
I. Tsamardinos, L. E. Brown, C. F. Aliferis (2006). The max-min hill-climbing Bayesian network
structure learning algorithm. Machine Learning 65.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from consilience.errors import InputError
from consilience.structure.independence.statements import IndependenceTest
from consilience.structure.searches.by_tests import Restriction, check_choice, record_of
from consilience.structure.searches.constraint_record import ConstraintRecord
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.interruption import Story, told
from consilience.structure.searches.max_min import MMPC
from consilience.structure.searches.parent_sets import required_sets
from consilience.structure.searches.plays import found_by
from consilience.structure.searches.skeletons import Asker, Skeleton
from consilience.structure.searches.task import Search, SearchResult, Task

__all__ = ["MMHC", "Hybrid"]


@dataclass(frozen=True, slots=True, init=False)
class Hybrid:
    """Tests restrict which pairs may be joined; a search by score chooses among the graphs left.

    The record is that of the search, with the tests of the restriction in ``tests``.

    Parameters
    ----------
    restrict
        What finds the pairs: ``PC()``, ``GrowShrink()``, ``IAMB()``, ``InterIAMB()`` or ``MMPC()``.
    search
        Any search that takes forbidden arcs, such as ``HillClimb()``, ``GES()`` or ``Exact()``.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.random_network(cs.DAG.parse("[x][y][z|x:y]"), n_states=2, seed=3).sample(
    ...     2000, seed=1)
    >>> cs.learn(rows, search=cs.searches.Hybrid(cs.PC(), cs.Exact())).arcs
    (('x', 'z'), ('y', 'z'))
    """

    restrict: Restriction
    best: Search
    by_tests: ClassVar[bool] = True

    def __init__(self, restrict: Restriction, search: Search) -> None:
        if isinstance(restrict, type) or not hasattr(restrict, "skeleton"):
            raise InputError(
                "Hybrid: restrict must be a search by tests such as cs.searches.MMPC() or cs.PC(), "
                f"got {restrict!r}.",
                parameter="restrict",
            )
        if isinstance(search, type) or not hasattr(search, "search"):
            raise InputError(
                f"Hybrid: search must be a choice such as cs.HillClimb(), got {search!r}.",
                parameter="search",
            )
        object.__setattr__(self, "restrict", restrict)
        object.__setattr__(self, "best", search)

    def __repr__(self) -> str:
        return f"Hybrid({self.restrict!r}, {self.best!r})"

    def search(self, task: Task) -> SearchResult:
        """The best graph among those that the tests leave."""
        asker = Asker(task, self.restrict.test)
        found: list[Skeleton] = []
        story = Story(required_sets(task))
        cut_short = told(
            task,
            task.local_scores(None),
            story,
            lambda: found.append(self.restrict.skeleton(asker)),
        )
        if not found:
            return replace(cut_short, tests=ConstraintRecord(asker.test, asker.n_tests))
        result = found_by(self.best, replace(task, constraints=_restricted(task, found[0])))
        return replace(result, tests=record_of(asker, found[0]))


@dataclass(frozen=True, slots=True)
class MMHC:
    """Max-min hill climbing: ``Hybrid(MMPC(test), HillClimb())``.

    Parameters
    ----------
    test
        The test; chosen as for :class:`PC` if not given.
    max_given
        Most variables of a separating set; no limit if None.
    max_parents
        Most parents of a node; no limit if None.
    """

    test: IndependenceTest | None = None
    max_given: int | None = None
    max_parents: int | None = None
    by_tests: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice(MMPC(self.test, max_given=self.max_given))
        HillClimb(max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """The best graph among those that the tests leave."""
        restrict = MMPC(self.test, max_given=self.max_given)
        return Hybrid(restrict, HillClimb(max_parents=self.max_parents)).search(task)


def _restricted(task: Task, skeleton: Skeleton) -> Constraints:
    before = task.constraints
    return Constraints(before.names, before.allowed & skeleton.adjacent, before.required)
