"""All families of a score that equivalent graphs share, from one number for each set of variables.

The complete graphs over a set of variables S are equivalent. A score that is the same for
equivalent graphs has therefore one value F(S) for them, and a child X with the parents P scores
F(P and X) - F(P). It is enough to score one family for each set: its last variable given the
others. For p variables these are p / 2 times fewer families than there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from consilience._typing import Bools, Floats, Integers
from consilience.structure.scores.score import may_refuse
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.parent_sets import Rule
from consilience.structure.searches.pruning import Pruning
from consilience.structure.searches.task import Task

__all__ = ["is_cheaper", "score_sets"]

MOST_VARIABLES = 25
"""For more, one number for each set would not fit in memory."""

MASKS_PER_BLOCK = 1 << 16


def is_cheaper(task: Task, rules: Sequence[Rule]) -> bool:
    """Whether this way is possible and scores fewer families than one child after the other."""
    p = len(rules)
    has_gaps = may_refuse(task.score)  # a family without a score leaves F unknown
    if not task.has_one_kind or not task.is_equivalent or has_gaps or p > MOST_VARIABLES:
        return False
    if task.n_rows <= p + 1 and task.strata.names:  # too few for the largest regressions
        return False
    most = max(rule.most for rule in rules)
    n_sets = sum(math.comb(p, k) for k in range(1, min(p, most + 1) + 1))
    return n_sets <= sum(rule.n_sets() for rule in rules)


def score_sets(
    task: Task, scores: LocalScores, rules: Sequence[Rule], pruning: Pruning | None
) -> Floats:
    """F(S) for every set; minus infinity for sets that no child can make use of."""
    p = len(rules)
    n_states = np.ones(p) if pruning is None else pruning.n_states.astype(np.float64)
    limit = _most_parent_states(rules, pruning, n_states)
    most = max(rule.most for rule in rules)
    of_set = np.full(1 << p, -np.inf)
    of_set[0] = 0.0
    scores.prepare_sets([(child, range(child)) for child in range(p)])
    for child in range(p):
        scored = scores.scored_sets(child, range(child))
        for start in range(0, 1 << child, MASKS_PER_BLOCK):
            masks = np.arange(start, min(start + MASKS_PER_BLOCK, 1 << child))
            masks = masks[_is_wanted(masks, child, most, limit, n_states=n_states)]
            done = 0
            for values in scored(masks):
                part = masks[done : done + len(values)]
                of_set[part | 1 << child] = of_set[part] + values
                done += len(values)
                share = float((1 << child) + part[-1]) / (1 << p)
                beat(task.clock, share, lambda: f"{scores.n_scored:,} families scored")
    return of_set


def _most_parent_states(rules: Sequence[Rule], pruning: Pruning | None, n_states: Floats) -> float:
    if pruning is None:
        return float("inf")
    required = [
        math.prod(n_states[i] for v, i in enumerate(rule.candidates) if rule.required >> v & 1)
        for rule in rules
    ]
    return max(1.0, pruning.most_parent_states(), *required)


def _is_wanted(masks: Integers, child: int, most: int, limit: float, *, n_states: Floats) -> Bools:
    """Whether the set with the child is of use: as a family of any of its members, or as parents.

    As parents its joint states must be few enough, and as a family those without some member.
    """
    is_small = np.bitwise_count(masks) <= most
    if math.isinf(limit):
        return is_small
    joint = np.full(len(masks), n_states[child])
    largest = joint.copy()
    for v in range(child):
        factor = np.where(masks >> v & 1, n_states[v], 1.0)
        joint *= factor
        np.maximum(largest, factor, out=largest)
    return is_small & (joint / largest <= limit)
