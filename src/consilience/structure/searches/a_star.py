r"""The best graph of all, by the shortest path through sets of variables.

A path begins with no variable and places one after the other; placing X after the variables C costs
what its best set of parents within C scores less than its best set of all. Every order of the
variables is a path, and the shortest path is an order of the best graph. A* looks at sets in the
order of the cost so far plus a lower bound of what is to come. The bound divides the variables into
groups and lets those outside a variable's group be its parents whatever the order, so that only
cycles within a group are avoided; the cost of a group is known for each subset of it (a pattern
database, additive over groups).

Three things make the problem smaller before. Only sets of parents better than all their subsets
are kept. If nobody in a set of variables has candidates that lead back to it, it is solved alone:
one problem for each strongly connected component of the graph of candidates. And variables whose
best set of all is placed already follow at once.

References
----------
C. Yuan, B. Malone (2013). Learning optimal Bayesian networks: a shortest path perspective. Journal
of Artificial Intelligence Research 48.
X. Fan, B. Malone, C. Yuan (2014). Finding optimal Bayesian network structures with constraints
learned from data. Proceedings of UAI 30.
S. Karan, J. Zola (2016). Exact structure learning of Bayesian networks by optimal path extension.
IEEE International Conference on Big Data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from consilience import _check
from consilience.graph.cpdag import CPDAG
from consilience.graph.dag import DAG
from consilience.structure.searches.family_sets import useful_sets
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.interruption import Story, begin_with, told
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.orders import OrderProblem, climbs
from consilience.structure.searches.parent_sets import ParentSets, Rule, required_sets, tie_of
from consilience.structure.searches.shortest_path import grouped, shortest_order
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["AStar"]

GRID = 0.1
"""Costs are rounded to this share of a tie, so that their sums are exact."""

RESTARTS = 50
"""In vain, of the search over orders that gives A* an upper bound."""


@dataclass(frozen=True, slots=True)
class AStar:
    """The graph of the best score, for more variables than :class:`Exact` if few parents help.

    What it costs depends on the rows: on how many sets of parents are better than all their
    subsets, and how much they contradict each other. Limit ``max_parents`` beyond 20 variables. It
    finds a graph of the same score as :class:`Exact`. If time runs out or the search is
    interrupted, the result is the best graph known then.

    Parameters
    ----------
    max_parents
        Most parents of a node; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("abab") * 5, "z": list("abba") * 5})
    >>> cs.learn(table, search=cs.searches.AStar(max_parents=2)).arcs  # z tells if x equals y
    (('x', 'z'), ('y', 'z'))
    """

    max_parents: int | None = None

    def __post_init__(self) -> None:
        if self.max_parents is not None:
            _check.whole("AStar", at_least=0, max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """A graph that no other one beats."""
        scores = task.local_scores(self.max_parents)
        story = Story(required_sets(task))
        return told(task, scores, story, lambda: self._work(task, scores, story))

    def _work(self, task: Task, scores: LocalScores, story: Story) -> None:
        climb = HillClimb(restarts=0, max_parents=self.max_parents)
        begin_with(climb, task, scores, story, note="hill climbing")
        tie = tie_of(task, scores)
        families = [one.best_first() for one in useful_sets(task, scores, tie)]
        parts = [grouped(members, families, GRID * tie) for members in _components(families)]
        parents, bounds = [0] * len(families), []
        for problem, groups in parts:
            cost, order = _good_order(task, problem, is_hard=len(groups) > 2)
            bounds.append(cost)
            _take(families, problem, order, parents)
        note = "search over orders"
        for (problem, groups), bound in zip(parts, bounds, strict=True):
            if scores.total(parents) > story.trace[-1].score:
                story.keep(parents, scores, note)
            found = shortest_order(problem, groups, bound, task.clock)
            if found is not None:
                _take(families, problem, found, parents)
                note = f"best order of {len(problem.members)} variables"
        story.keep(_standard_member(task, scores, parents), scores, "best of all")


def _components(families: Sequence[ParentSets]) -> list[list[int]]:
    """Variables that can be ancestors of each other, by the sets of parents that are left."""
    leads = np.zeros((len(families), len(families)), bool)
    for child, family in enumerate(families):
        used = int(np.bitwise_or.reduce(family.masks))
        leads[[i for v, i in enumerate(family.candidates) if used >> v & 1], child] = True
    n, label = connected_components(leads, directed=True, connection="strong")
    return sorted(np.flatnonzero(label == k).tolist() for k in range(n))


def _good_order(task: Task, problem: OrderProblem, *, is_hard: bool) -> tuple[float, list[int]]:
    """Cost and order of a search over orders, always the same one; A* has to beat it."""
    place = {variable: x for x, variable in enumerate(problem.members)}
    everyone = required_sets(task)
    required = [
        sum(1 << x for one, x in place.items() if everyone[variable] >> one & 1)
        for variable in problem.members
    ]
    found = climbs(
        problem,
        range(len(place)),
        required,
        tie=0.0,
        restarts=RESTARTS if is_hard else 0,
        rng=np.random.default_rng(0),
        clock=task.clock,
    )
    *_, (cost, order, _) = found
    return cost, order


def _take(
    families: Sequence[ParentSets], problem: OrderProblem, order: Sequence[int], parents: list[int]
) -> None:
    """The best parents of the members in this order, if all other variables come before."""
    after = set(problem.members)
    for x in order:
        child = problem.members[x]
        parents[child] = families[child].first_without(after)
        after.remove(child)


def _standard_member(task: Task, scores: LocalScores, parents: list[int]) -> list[int]:
    """The graph of the same class in which late names are children, if that is legal and as good.

    Many orders are equally short; this makes the answer that of :class:`Exact`.
    """
    if not task.is_equivalent:
        return parents
    found = task.to_dag(parents)
    other = task.to_parents(CPDAG.of(DAG(found.arcs, nodes=task.names)).to_dag())
    rules = [Rule.of(task, scores, child) for child in range(len(parents))]
    is_legal = all(rule.allows(mask) for rule, mask in zip(rules, other, strict=True))
    return other if is_legal else parents
