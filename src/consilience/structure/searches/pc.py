r"""The PC algorithm, in its stable form.

From the graph in which all variables are joined, pairs are parted that are independent given a set
out of the neighbors of either (:mod:`consilience.structure.searches.skeletons`). Colliders and what
follows from them direct edges (:mod:`consilience.structure.searches.orientation`).

If every test is right and the distribution has just the independences of some DAG, the result is
the class of that DAG.

References
----------
P. Spirtes, C. Glymour (1991). An algorithm for fast recovery of sparse causal graphs. Social
Science Computer Review 9.
D. Colombo, M. H. Maathuis (2014). Order-independent constraint-based causal structure learning.
JMLR 15.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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

__all__ = ["PC"]


@dataclass(frozen=True, slots=True)
class PC:
    """PC-stable: edges are removed by tests of independence, colliders direct the others.

    The record's ``cpdag`` is what the tests found, ``dag`` a member of that class, and ``tests``
    which test removed which edge. All sets of a size are tested, so the order of rows and columns
    does not matter. If time runs out, the result is the graph of the required arcs.

    Parameters
    ----------
    test
        The test, such as ``cs.independence.GSquare(alpha=0.01)``. If not given, Pearson's X² with
        adjusted degrees of freedom, the exact t test, or likelihood ratios, by the kinds of the
        variables; within sources if there are several.
    orientation
        When two variables are parents of one that joins them: it is not in the set that separates
        them (``"standard"``), in none of their separating sets (``"conservative"``), or in less
        than half of these (``"majority"``).
    max_given
        Most variables of a separating set; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 9, "y": list("abab") * 9, "z": list("abba") * 9})
    >>> cs.search(table, search=cs.PC()).cpdag.undirected  # z is whether x and y are alike
    ()
    >>> rows = cs.random_network(cs.DAG.parse("[x][y][z|x:y]"), n_states=2, seed=3).sample(
    ...     2000, seed=1)
    >>> cs.search(rows, search=cs.PC()).cpdag.directed
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
        found = Skeleton(possible_pairs(asker.task))
        useful = useful_parents(asker.task)
        separate(asker, found, lambda: found.adjacent & useful, max_given=self.max_given)
        keep_discoveries(asker, found)
        return found
