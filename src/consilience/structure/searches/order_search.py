r"""Search over orders of the variables rather than over graphs.

Given an order, the best graph in which arcs follow it is easy to find: each variable takes its best
set of parents among those before it, from a list made once. There are far fewer orders than graphs,
and a step from one order to another changes many arcs at once without ever closing a cycle. From
an order the search moves one variable at a time to the place where it helps most, past any number
of others, until no move gains. A restart moves some variables of the best order to random places.

References
----------
M. Teyssier, D. Koller (2005). Ordering-based search: a simple and effective algorithm for learning
Bayesian networks. Proceedings of UAI 21. (There with swaps of neighbors in the order.)
M. Scanagatta, C. de Campos, G. Corani, M. Zaffalon (2015). Learning Bayesian networks with
thousands of variables. NeurIPS 28. (Moves over any distance.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from consilience import _check
from consilience.structure.searches.hill_climb import HillClimb
from consilience.structure.searches.interruption import Story, begin_with, told
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.orders import OrderProblem, climbs
from consilience.structure.searches.parent_sets import (
    MOST_CANDIDATES,
    ParentSets,
    Rule,
    grown,
    required_sets,
    tie_of,
)
from consilience.structure.searches.pruning import pruning_of
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["OrderSearch"]


@dataclass(frozen=True, slots=True)
class OrderSearch:
    """Local search over orders of the variables, with restarts.

    All sets of up to ``max_parents`` of the candidates of each variable are scored before the
    search begins, which takes most of the time; the search itself sees no more rows. The result is
    never worse than the graph that hill climbing finds at the beginning.

    Parameters
    ----------
    restarts
        How many restarts in a row may find nothing better before the search ends.
    max_parents
        Most parents of a node; no limit if None.
    candidates
        How many possible parents of each node are looked at: those that gain most alone. Required
        parents come on top.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("abab") * 5, "z": list("abba") * 5})
    >>> len(cs.learn(table, search=cs.searches.OrderSearch()).arcs)  # one of them given both others
    2
    """

    restarts: int = 100
    max_parents: int | None = 4
    candidates: int = 16

    def __post_init__(self) -> None:
        _check.whole("OrderSearch", at_least=0, restarts=self.restarts)
        _check.whole("OrderSearch", at_least=1, candidates=self.candidates)
        if self.max_parents is not None:
            _check.whole("OrderSearch", at_least=0, max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """The best graph of the best order found."""
        scores = task.local_scores(self.max_parents)
        story = Story(required_sets(task))
        return told(task, scores, story, lambda: self._work(task, scores, story))

    def _work(self, task: Task, scores: LocalScores, story: Story) -> None:
        climb = HillClimb(tabu=0, restarts=0, max_parents=self.max_parents)
        begin_with(climb, task, scores, story, note="hill climbing")
        required, tie = required_sets(task), tie_of(task, scores)
        families = self._families(task, scores, required, tie)
        found = climbs(
            OrderProblem.of(families),
            range(len(families)),
            required,
            tie=tie,
            restarts=self.restarts,
            rng=task.rng,
            clock=task.clock,
        )
        for _, order, note in found:
            parents = _graph_of(families, order)
            if scores.total(parents) > story.trace[-1].score + tie:
                story.keep(parents, scores, note)

    def _families(
        self, task: Task, scores: LocalScores, required: Sequence[int], tie: float
    ) -> list[ParentSets]:
        pruning = pruning_of(task, scores)
        rules = []
        for child, mask in enumerate(required):
            gains = scores.toggled(child, mask)
            others = [i for i in range(len(required)) if i != child and not mask >> i & 1]
            most = min(self.candidates, MOST_CANDIDATES - mask.bit_count())
            among = sorted(others, key=lambda i: -gains[i])[:most]
            rules.append(Rule.of(task, scores, child, among))
        scores.prepare_sets([(child, rule.candidates) for child, rule in enumerate(rules)])
        return [
            grown(task, scores, child, rule, pruning=pruning, tie=tie)[1].best_first()
            for child, rule in enumerate(rules)
        ]


def _graph_of(families: Sequence[ParentSets], order: Sequence[int]) -> list[int]:
    """The best sets of parents in this order."""
    parents, after = [0] * len(order), set(order)
    for x in order:
        parents[x] = families[x].first_without(after)
        after.remove(x)
    return parents
