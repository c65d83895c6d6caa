"""Tree-augmented naive Bayes as a search; the method is in ``structure/tan.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from consilience import _check
from consilience.structure.searches.chow_liu import refuse_constraints
from consilience.structure.searches.interruption import Story, beat, told
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.task import SearchResult, Task
from consilience.structure.tan import check_tan, tan_of

__all__ = ["TANSearch"]


@dataclass(frozen=True, slots=True)
class TANSearch:
    """Tree-augmented naive Bayes: the target is a parent of all features, and they form a tree.

    The tree is that of :func:`tan`; the score of the search does not matter, and edges are weighed
    within sources: to pool these, learn from ``table.pooled()``. Constraints are
    refused. Unlike :func:`tan`, ties and the root go by name and not by the order of the
    columns. If the search is interrupted, the result is naive Bayes. The tree is found in one step,
    so a budget of time that ends within it is overrun.

    Parameters
    ----------
    target
        The class.
    root
        The feature that has no parent but the target; if not given the first name of a discrete
        one, or the first.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"ill": list("0011"), "x": list("0101"), "y": list("0101")})
    >>> cs.learn(table, search=cs.searches.TANSearch("ill")).arcs
    (('ill', 'x'), ('ill', 'y'), ('x', 'y'))
    """

    target: str
    root: str | None = None
    within_sources: ClassVar[bool] = True
    takes_constraints: ClassVar[bool] = False

    def search(self, task: Task) -> SearchResult:
        """The graph of tree-augmented naive Bayes."""
        refuse_constraints("TANSearch", task)
        _check.known("variable", [self.target], task.names)
        features = [name for name in task.names if name != self.target]
        check_tan(task.engine.schema, features, self.target, self.root)
        scores = task.local_scores(None)
        target = task.names.index(self.target)
        naive = [0 if i == target else 1 << target for i in range(len(task.names))]
        story = Story(naive)
        return told(task, scores, story, lambda: self._work(task, scores, story, features))

    def _work(self, task: Task, scores: LocalScores, story: Story, features: Sequence[str]) -> None:
        beat(task.clock, 0.0, lambda: "weighing pairs")
        dag = tan_of(task.engine, features, self.target, self.root, memory_limit=task.memory_limit)
        story.keep(task.to_parents(dag), scores, "tree")
        beat(task.clock, 1.0, lambda: "the tree")
