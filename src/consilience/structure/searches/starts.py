"""Where a search begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience.errors import GraphError
from consilience.graph.dag import DAG
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.task import Task
from consilience.structure.trees import arcs_from_root, spanning_tree

__all__ = ["RandomStart", "Start", "TreeStart", "start_of"]


@dataclass(frozen=True, slots=True)
class RandomStart:
    """A random graph with this many parents for each node on average."""

    mean_parents: float = 1.0

    def __post_init__(self) -> None:
        _check.non_negative("RandomStart", mean_parents=self.mean_parents)


@dataclass(frozen=True, slots=True)
class TreeStart:
    """The tree of largest total gain, directed away from the first variable."""


Start = DAG | RandomStart | TreeStart


def start_of(start: Start | None, task: Task, scores: LocalScores) -> list[int]:
    """Sets of parents of the start graph, with the required arcs and without the forbidden ones."""
    wanted: list[tuple[int, int]] = []
    if isinstance(start, DAG):
        wanted = _given(start, task)
    elif isinstance(start, RandomStart):
        wanted = _random(start, task)
    elif isinstance(start, TreeStart):
        wanted = _tree(task, scores)
    required = [(int(i), int(j)) for i, j in np.argwhere(task.constraints.required)]
    parents = [0] * len(task.names)
    for i, j in [*required, *wanted]:
        room = parents[j].bit_count() < scores.most_parents or (i, j) in required
        if (scores.allowed[i, j] or (i, j) in required) and room and not _leads(parents, j, i):
            parents[j] |= 1 << i
    return _judged(parents, required, scores) if wanted else parents


def _judged(parents: list[int], required: list[tuple[int, int]], scores: LocalScores) -> list[int]:
    """The graph without the wanted arcs of families that have no score, being too large."""
    scores.prepare(enumerate(parents))
    return [
        mask
        if np.isfinite(scores.toggled(child, mask)[child])
        else sum(1 << i for i, j in required if j == child)
        for child, mask in enumerate(parents)
    ]


def _given(dag: DAG, task: Task) -> list[tuple[int, int]]:
    place = {name: i for i, name in enumerate(task.names)}
    for node in dag.nodes:
        if node not in place:
            raise GraphError(
                f"the start graph has the node {node!r}, which is not a variable of the search. "
                f"Variables: {_check.listed(task.names)}.",
                node=node,
            )
    return [(place[start], place[end]) for start, end in dag.arcs]


def _random(start: RandomStart, task: Task) -> list[tuple[int, int]]:
    p = len(task.names)
    order = task.rng.permutation(p)
    share = min(1.0, 2 * start.mean_parents / max(1, p - 1))
    return [
        (int(order[a]), int(order[b]))
        for b in range(p)
        for a in range(b)
        if task.rng.random() < share
    ]


def _tree(task: Task, scores: LocalScores) -> list[tuple[int, int]]:
    p = len(task.names)
    gains = np.zeros((p, p))
    for child in range(p):
        values = scores.toggled(child, 0)
        gains[:, child] = np.maximum(values - values[child], 0.0)
    weights = np.maximum(gains, gains.T)
    tree = [(i, j) for i, j in spanning_tree(weights) if weights[i, j] > 0]
    reached: set[int] = set()
    arcs: list[tuple[int, int]] = []
    for root in range(p):
        if root not in reached:
            part = arcs_from_root(tree, root)
            arcs += part
            reached |= {root, *(child for _, child in part)}
    return arcs


def _leads(parents: list[int], start: int, end: int) -> bool:
    """Whether a path leads from ``start`` to ``end``."""
    waiting, above = [end], 0
    while waiting:
        node = waiting.pop()
        if node == start:
            return True
        new = parents[node] & ~above
        above |= new
        waiting += [i for i in range(new.bit_length()) if new >> i & 1]
    return False
