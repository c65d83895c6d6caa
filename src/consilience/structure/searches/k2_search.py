"""Greedy search along a given order of the variables.

Each variable takes one parent after the other from those before it in the order, always the one
that gains most, until none gains.

References
----------
G. Cooper, E. Herskovits (1992). A Bayesian method for the induction of probabilistic networks from
data. Machine Learning 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience.errors import GraphError, InputError
from consilience.structure.searches.interruption import Story, beat, told
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.parent_sets import required_sets, tie_of
from consilience.structure.searches.task import SearchResult, Task

__all__ = ["K2Search"]


@dataclass(frozen=True, slots=True)
class K2Search:
    """The K2 algorithm: arcs follow a given order, each variable's parents are added greedily.

    The score may be any, not only :class:`K2`. Equal gains go to the first name.

    Parameters
    ----------
    order
        All variables, parents before children.
    max_parents
        Most parents of a node; no limit if None.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("aabb") * 5})
    >>> cs.learn(table, search=cs.searches.K2Search(["y", "x"])).arcs
    (('y', 'x'),)
    """

    order: Sequence[str]
    max_parents: int | None = None

    def __post_init__(self) -> None:
        given: object = self.order
        if isinstance(given, str):
            raise InputError(
                f"K2Search: order must be a list of names, got the text {given!r}.",
                parameter="order",
            )
        object.__setattr__(self, "order", tuple(self.order))
        for name in self.order:
            if self.order.count(name) > 1:
                raise InputError(f"K2Search: {name!r} stands twice in the order.", variable=name)
        if self.max_parents is not None:
            _check.whole("K2Search", at_least=0, max_parents=self.max_parents)

    def search(self, task: Task) -> SearchResult:
        """The graph that the greedy steps lead to."""
        order = self._places(task)
        scores = task.local_scores(self.max_parents)
        story = Story(required_sets(task))
        return told(task, scores, story, lambda: _walk(task, scores, story, order))

    def _places(self, task: Task) -> list[int]:
        _check.known("variable of the order", self.order, task.names)
        missing = [name for name in task.names if name not in self.order]
        if missing:
            raise InputError(
                f"K2Search: the order must name all variables; {_check.listed(missing)} are "
                "missing.",
                variable=missing[0],
            )
        place = {name: k for k, name in enumerate(self.order)}
        for i, j in np.argwhere(task.constraints.required):
            start, end = task.names[i], task.names[j]
            if place[start] > place[end]:
                raise GraphError(
                    f"the required arc {start!r} -> {end!r} leads back in the order of K2Search.",
                    arc=(start, end),
                )
        return [task.names.index(name) for name in self.order]


def _walk(task: Task, scores: LocalScores, story: Story, order: Sequence[int]) -> None:
    tie, before = tie_of(task, scores), 0
    parents = list(story.parents)
    for k, child in enumerate(order):
        beat(task.clock, k / len(order), lambda: f"{len(order)} variables")
        parents[child] = _grown_greedily(scores, child, parents[child], before, tie=tie)
        story.parents = tuple(parents)
        before |= 1 << child
    story.keep(parents, scores, "end of the order")


def _grown_greedily(
    scores: LocalScores, child: int, parents: int, before: int, *, tie: float
) -> int:
    """The parents with all that gain, one after the other."""
    while True:
        values = scores.toggled(child, parents)
        may = np.array([before >> i & 1 and not parents >> i & 1 for i in range(len(values))], bool)
        gains = np.where(may, values - values[child], -np.inf)
        largest = gains.max()
        if not largest > tie:
            return parents
        parents |= 1 << int(np.flatnonzero(gains >= largest - tie)[0])
