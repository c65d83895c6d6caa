"""The best score that any graph over a few variables can have: where a climb may end.

All sets of parents of a handful of discrete variables are soon scored, and with them the best graph
is known by the dynamic programming of ``exact.py``. A climb that reaches its score has nothing left
to look for.
"""

from __future__ import annotations

import math

import numpy as np

from consilience.kernels.lattice import best_of_sets, best_of_subsets
from consilience.structure.scores.custom import CustomScore
from consilience.structure.scores.score import may_refuse
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.task import Task

__all__ = ["best_possible"]

FEW = 6
"""Variables up to which all families are scored: 192 of them."""

FEW_CELLS = 1 << 12
"""Joint states of all variables up to which that is a trifle."""


def best_possible(task: Task, scores: LocalScores) -> float:
    """The score of the best graph, or infinity where finding it would take long."""
    p = len(scores.names)
    if task.clock.is_over() or not (0 < p <= FEW and _is_quick(task, scores)):
        return math.inf
    sets = [_legal_sets(task, scores, child) for child in range(p)]
    scores.learn((child, mask) for child, masks in enumerate(sets) for mask in masks)
    of_child = np.full((p, 1 << p - 1), -np.inf)
    for child, masks in enumerate(sets):
        below = (1 << child) - 1
        places = [(mask & below) | (mask >> 1 & ~below) for mask in masks]
        of_child[child, places] = scores.several(child, masks)
        best_of_subsets(of_child[child])
    best = np.empty(1 << p)
    best_of_sets(of_child, best, 0, 1 << p)
    return float(best[-1])


def _is_quick(task: Task, scores: LocalScores) -> bool:
    """Whether all families are soon judged: small tables, and a score that judges every family."""
    if isinstance(task.score, CustomScore) or may_refuse(task.score):
        return False
    variables = [scores.schema[name] for name in scores.names]
    if any(v.is_continuous for v in variables):
        return False
    source = scores.schema.source
    n_sources = source.n_states if source is not None and task.score.by_source else 1
    n_cells = math.prod(v.n_states for v in variables)
    return n_cells <= FEW_CELLS and 8 * n_cells * n_sources <= task.memory_limit


def _legal_sets(task: Task, scores: LocalScores, child: int) -> list[int]:
    """Masks of the sets that hold all required parents and no forbidden ones."""
    required = sum(1 << int(i) for i in np.flatnonzero(task.constraints.required[:, child]))
    usable = required | sum(1 << int(i) for i in np.flatnonzero(scores.allowed[:, child]))
    return [
        mask
        for mask in range(1 << len(scores.names))
        if mask & ~usable == 0
        and mask & required == required
        and mask.bit_count() <= max(scores.most_parents, required.bit_count())
    ]
