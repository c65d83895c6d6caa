r"""The tree of largest likelihood.

The log-likelihood of a tree is, with :math:`N` rows,

.. math:: \log L = N \sum_{(i, j) \in \text{tree}} \hat I(X_i; X_j) + \text{const} ,

so the best tree is the spanning tree of largest total information. Which variable is the root does
not change the likelihood. Among forests, the best by a score that is the same for equivalent graphs
has the edges of the spanning tree of largest total gain in score that gain at all.

References
----------
C. Chow, C. Liu (1968). Approximating discrete probability distributions with dependence trees. IEEE
Transactions on Information Theory 14.
D. Edwards, G. de Abreu, R. Labouriau (2010). Selecting high-dimensional mixed graphical models
using minimal AIC or BIC forests. BMC Bioinformatics 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError, MemoryLimitError
from consilience.structure.scores.likelihood import LogLikelihood
from consilience.structure.scores.node_average import NAL
from consilience.structure.scores.score import takes_gaps
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.parent_sets import tie_of
from consilience.structure.searches.story import Story, beat, told
from consilience.structure.searches.task import SearchResult, Task
from consilience.structure.trees import arcs_from_root, spanning_tree

__all__ = ["ChowLiu", "refuse_constraints"]


@dataclass(frozen=True, slots=True)
class ChowLiu:
    """The tree of Chow and Liu: each node but the root has one parent.

    Constraints are refused. Edges of equal weight go to the first names. If time runs out or the
    search is interrupted, the result is the graph without arcs. A pair whose counts exceed the
    memory limit is refused, as the tree may need it; a forest does without.

    Parameters
    ----------
    root
        The node that all arcs lead away from; the first name if not given.
    forest
        Weigh the edges by what they gain in the score of the search rather than by their
        information, and leave out those that gain nothing: the best forest by that score.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("aabb") * 5, "z": list("abab") * 5})
    >>> cs.learn(table, search=cs.ChowLiu(root="y")).arcs
    (('y', 'x'), ('x', 'z'))
    >>> cs.learn(table, search=cs.ChowLiu(forest=True)).arcs
    (('x', 'y'),)
    """

    root: str | None = None
    forest: bool = False

    def search(self, task: Task) -> SearchResult:
        """The tree, or the forest."""
        _check_kinds(task)
        refuse_constraints("ChowLiu", task)
        if self.root is not None:
            _check.known("variable", [self.root], task.names)
        scores = task.local_scores(None)
        story = Story([0] * len(task.names))
        return told(task, scores, story, lambda: self._work(task, scores, story))

    def _work(self, task: Task, scores: LocalScores, story: Story) -> None:
        parents = list(story.parents)
        for parent, child in self._arcs(task, scores):
            parents[child] = 1 << parent
        story.keep(parents, scores, "forest" if self.forest else "tree")

    def _arcs(self, task: Task, scores: LocalScores) -> list[tuple[int, int]]:
        if self.forest:
            least, weights = tie_of(task, scores), _gains(task, scores)
        else:
            least, weights = -np.inf, _information(task)
        edges = [edge for edge in spanning_tree(weights) if weights[edge] > least]
        p = len(task.names)
        first = 0 if self.root is None else task.names.index(self.root)
        arcs: list[tuple[int, int]] = []
        reached: set[int] = set()
        for root in (first, *range(p)):
            if root not in reached:
                arcs += arcs_from_root(edges, root)
                reached |= {root, *(child for _, child in arcs)}
        return arcs


def _check_kinds(task: Task) -> None:
    if not task.has_one_kind:
        raise InputError(
            "ChowLiu needs variables of one kind, all discrete or all continuous: in a tree of "
            f"both, continuous variables such as {task.strata.names[0]!r} would have discrete "
            "children. Use cs.HillClimb(max_parents=1), or read the columns with discretize=.",
            variable=task.strata.names[0],
        )


def refuse_constraints(owner: str, task: Task) -> None:
    """Refuse required and forbidden arcs, which a tree cannot honor without being another one."""
    p = len(task.names)
    if task.constraints.required.any() or task.constraints.allowed.sum() < p * (p - 1):
        raise InputError(
            f"{owner} finds the best tree and takes no require=, forbid= or tiers=. Leave them "
            "out, or use a search that honors them, such as cs.HillClimb(start=cs.TreeStart()).",
            search=owner,
        )


def _information(task: Task) -> Floats:
    """What an arc between two nodes gains in log-likelihood; nothing if one has one state only."""
    scores = LocalScores(
        task.engine,
        NAL() if takes_gaps(task.score) else LogLikelihood(),
        task.constraints,
        max_parents=1,
        memory_limit=task.memory_limit,
        strata=task.strata,
    )
    scores.total([0] * len(task.names))  # in one request
    weights = np.where(scores.allowed, _gains(task, scores), 0.0)
    unknown = np.argwhere(weights == -np.inf)
    if len(unknown):
        pair = tuple(task.names[i] for i in unknown[0])
        raise MemoryLimitError(
            f"the counts of {pair[0]!r} and {pair[1]!r} exceed the limit of "
            f"{_check.bytes_text(task.memory_limit)}, and the tree may need them. Raise "
            "memory_limit, or use cs.ChowLiu(forest=True), which leaves such pairs out.",
            pair=pair,
        )
    return weights


def _gains(task: Task, scores: LocalScores) -> Floats:
    """What an arc between two nodes gains, the larger of both directions."""
    p = len(task.names)
    gains = np.full((p, p), -np.inf)
    for child in range(p):
        values = scores.toggled(child, 0)
        if values[child] > -np.inf:
            gains[:, child] = values - values[child]
        beat(task.clock, child / p, lambda: "weighing pairs")
    return np.maximum(gains, gains.T)
