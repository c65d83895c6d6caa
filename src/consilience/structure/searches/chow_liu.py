r"""The tree of largest likelihood.

The log-likelihood of a tree is, with :math:`N` rows,

.. math:: \log L = N \sum_{(i, j) \in \text{tree}} \hat I(X_i; X_j) + \text{const} ,

so the best tree is the spanning tree of largest total information. Which variable is the root does
not change the likelihood. Rows of several sources are compared within them, and variables of both
kinds by what regressions gain over chance (``structure/pairs.py``): a continuous variable has
discrete children only where logistic nodes are asked for, so that the best tree is a branching.
Among forests, the best by a score has the branching of largest total gain in score from a root
above all, whose arcs gain nothing; by a score that is the same for equivalent graphs that is the
spanning tree without the edges that do not gain.

References
----------
C. Chow, C. Liu (1968). Approximating discrete probability distributions with dependence trees. IEEE
Transactions on Information Theory 14.
D. Edwards, G. de Abreu, R. Labouriau (2010). Selecting high-dimensional mixed graphical models
using minimal AIC or BIC forests. BMC Bioinformatics 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError, MemoryLimitError
from consilience.statistics.family import Family
from consilience.structure.logistic_pairs import logistic_gains
from consilience.structure.pairs import has_several_sources, pair_weights
from consilience.structure.scores.likelihood import LogLikelihood
from consilience.structure.scores.node_average import NAL
from consilience.structure.scores.score import takes_gaps
from consilience.structure.searches.interruption import Story, beat, told
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.parent_sets import tie_of
from consilience.structure.searches.task import SearchResult, Task
from consilience.structure.trees import (
    arcs_from_root,
    best_branching,
    rooted_tree,
    spanning_tree,
)

__all__ = ["ChowLiu", "refuse_constraints"]


@dataclass(frozen=True, slots=True)
class ChowLiu:
    """The tree of Chow and Liu: each node but the root has one parent.

    With one source and one kind of variables it is the tree of largest likelihood. The information
    of several sources is taken within them, whatever the score, so that margins or means that
    differ between sources make no edges; the tree of all rows together is that of
    ``table.pooled()``. Constraints are refused. Edges of equal weight go to the first names. If
    time runs out or the search is interrupted, the result is the graph without arcs. A pair whose
    counts exceed the memory limit is refused, as the tree may need it; a forest does without.

    Parameters
    ----------
    root
        The node that all arcs lead away from; if not given the first name, of a discrete variable
        if there are any, or with ``logistic=True`` that of the best tree, since directions differ
        then. Without ``logistic=True`` a continuous one leads to no discrete variable.
    forest
        Weigh the edges by what they gain in the score of the search rather than by their
        information, and leave out those that gain nothing: the best forest by that score, which
        also says what becomes of several sources.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": list("aabb") * 5, "z": list("abab") * 5})
    >>> cs.learn(table, search=cs.searches.ChowLiu(root="y")).arcs
    (('y', 'x'), ('x', 'z'))
    >>> cs.learn(table, search=cs.searches.ChowLiu(forest=True)).arcs
    (('x', 'y'),)
    """

    root: str | None = None
    forest: bool = False
    takes_constraints: ClassVar[bool] = False

    @property
    def within_sources(self) -> bool:
        """Whether edges are weighed within sources; a forest follows the score of the search."""
        return not self.forest

    def search(self, task: Task) -> SearchResult:
        """The tree, or the forest."""
        refuse_constraints("ChowLiu", task)
        if self.root is not None:
            _check.known("variable", [self.root], task.names)
            self._check_root(task)
        scores = task.local_scores(None)
        story = Story([0] * len(task.names))
        return told(task, scores, story, lambda: self._work(task, scores, story))

    def _check_root(self, task: Task) -> None:
        if self.forest or task.has_one_kind or task.logistic:
            return
        if self.root in task.strata.names:
            raise InputError(
                f"ChowLiu: the root {self.root!r} is continuous and leads to no discrete variable. "
                "Choose a discrete root, or say logistic=True.",
                variable=self.root,
            )

    def _work(self, task: Task, scores: LocalScores, story: Story) -> None:
        parents = list(story.parents)
        for parent, child in self._arcs(task, scores):
            parents[child] = 1 << parent
        story.keep(parents, scores, "forest" if self.forest else "tree")

    def _arcs(self, task: Task, scores: LocalScores) -> list[tuple[int, int]]:
        root = None if self.root is None else task.names.index(self.root)
        if not self.forest:
            return rooted_tree(_information(task), root)
        least, gains = tie_of(task, scores), _gains(task, scores)
        if task.is_equivalent and task.has_one_kind:
            return _forest(np.maximum(gains, gains.T), least, root or 0)
        return _branches(gains, least, root)


def _forest(gains: Floats, least: float, first: int) -> list[tuple[int, int]]:
    """Arcs of the best forest where an arc and its reverse gain the same."""
    edges = [edge for edge in spanning_tree(gains) if gains[edge] > least]
    arcs: list[tuple[int, int]] = []
    reached: set[int] = set()
    for root in (first, *range(len(gains))):
        if root not in reached:
            arcs += arcs_from_root(edges, root)
            reached |= {root, *(child for _, child in arcs)}
    return arcs


def _branches(gains: Floats, least: float, root: int | None) -> list[tuple[int, int]]:
    """Arcs of the best forest where directions differ: a root above all offers ``least``."""
    p = len(gains)
    whole = np.full((p + 1, p + 1), least)
    whole[:p, :p] = np.where(gains > least, gains, -np.inf)
    if root is not None:
        whole[:p, root] = -np.inf
    return [(parent, child) for parent, child in best_branching(whole, p) if parent != p]


def refuse_constraints(owner: str, task: Task) -> None:
    """Refuse required and forbidden arcs, which a tree cannot honor without being another one."""
    p, n_continuous = len(task.names), len(task.strata.names)
    barred = 0 if task.logistic else n_continuous * (p - n_continuous)
    allowed = int(task.constraints.allowed.sum())
    if task.constraints.required.any() or allowed < p * (p - 1) - barred:
        raise InputError(
            f"{owner} finds the best tree and takes no require=, forbid= or tiers=. Leave them "
            "out, or use a search that honors them, such as "
            "cs.HillClimb(start=cs.searches.TreeStart()).",
            search=owner,
        )


def _information(task: Task) -> Floats:
    """Weights of all arcs, minus infinity where there must be none."""
    if task.has_one_kind and not has_several_sources(task.engine):
        return _likelihood_gains(task)
    weights = pair_weights(task.engine, task.names, memory_limit=task.memory_limit)
    if task.logistic and not task.has_one_kind:
        pairs = [
            (i, j)
            for i, parent in enumerate(task.names)
            for j, child in enumerate(task.names)
            if parent in task.strata.names and child not in task.strata.names
        ]
        families = [Family(task.names[j], (task.names[i],)) for i, j in pairs]
        gains = logistic_gains(task.engine, families, memory_limit=task.memory_limit)
        weights[tuple(zip(*pairs, strict=True))] = gains
    return weights


def _likelihood_gains(task: Task) -> Floats:
    """What an arc between two nodes gains in log-likelihood; nothing if one has one state only."""
    scores = _log_likelihoods(task)
    gains = _gains(task, scores)
    weights = np.where(scores.allowed, np.maximum(gains, gains.T), 0.0)
    unknown = np.argwhere(weights == -np.inf)
    if len(unknown):
        pair = tuple(task.names[i] for i in unknown[0])
        raise MemoryLimitError(
            f"the counts of {pair[0]!r} and {pair[1]!r} exceed the limit of "
            f"{_check.bytes_text(task.memory_limit)}, and the tree may need them. Raise "
            "memory_limit, or use cs.searches.ChowLiu(forest=True), which leaves such pairs out.",
            pair=pair,
        )
    return weights


def _log_likelihoods(task: Task) -> LocalScores:
    scores = LocalScores(
        task.engine,
        NAL() if takes_gaps(task.score) else LogLikelihood(),
        task.constraints,
        max_parents=1,
        memory_limit=task.memory_limit,
        strata=task.strata,
    )
    scores.total([0] * len(task.names))  # in one request
    return scores


def _gains(task: Task, scores: LocalScores) -> Floats:
    """What each arc gains, shape (parents, children); minus infinity where it has no score."""
    p = len(task.names)
    gains = np.full((p, p), -np.inf)
    for child in range(p):
        values = scores.toggled(child, 0)
        if values[child] > -np.inf:
            gains[:, child] = values - values[child]
        beat(task.clock, child / p, lambda: "weighing pairs")
    return gains
