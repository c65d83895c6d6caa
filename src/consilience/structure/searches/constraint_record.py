"""What a constraint-based search says about its tests."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from consilience.graph.meek import Triple
from consilience.structure.independence.statements import IndependenceTest

__all__ = ["Conflict", "ConstraintRecord", "EdgeTest", "nearness"]


SMALLEST = 1e-300


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """The test of a pair of variables that spoke most for their independence.

    Attributes
    ----------
    x, y
        The pair, in the order of names.
    given
        The given variables: of a pair that is not joined the set that separates it.
    statistic, df, p_value, n_rows
        What the test said.
    """

    x: str
    y: str
    given: tuple[str, ...]
    statistic: float
    df: float
    p_value: float
    n_rows: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """An edge about which the tests, or tests and knowledge, contradict each other.

    Attributes
    ----------
    edge
        The two variables.
    why
        What contradicts what, in words.
    """

    edge: tuple[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class ConstraintRecord:
    """The tests behind a graph.

    Attributes
    ----------
    test
        The choice.
    n_tests
        Number of tests that were made.
    removed
        For each pair that was tested and is not joined, the test that parted it.
    kept
        For each pair that was tested and is joined, the test that came nearest to parting it.
    ambiguous
        Triples (end, middle, end) of which it is not clear whether they are colliders.
    conflicts
        Edges about which tests contradict each other; they are not decided by any order.
    """

    test: IndependenceTest
    n_tests: int
    removed: tuple[EdgeTest, ...] = ()
    kept: tuple[EdgeTest, ...] = ()
    ambiguous: tuple[Triple, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def separating_sets(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The set that separates each pair which was tested and is not joined."""
        return {(one.x, one.y): one.given for one in self.removed}

    def __repr__(self) -> str:
        return (
            f"ConstraintRecord({self.test!r}: {self.n_tests} tests, {len(self.removed)} pairs "
            f"removed, {len(self.kept)} kept, {len(self.ambiguous)} ambiguous triples, "
            f"{len(self.conflicts)} conflicts)"
        )

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)


def nearness(test: EdgeTest, alpha: float) -> float:
    """How far a p-value is from the limit, as the logarithm of their ratio."""
    return abs(log(max(test.p_value, SMALLEST) / alpha))
