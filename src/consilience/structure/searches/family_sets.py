"""The families of all variables, scored the cheaper of two ways.

One child after the other (``parent_sets.py``), or all at once if the score allows it
(``set_scores.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from consilience._typing import Floats
from consilience.kernels.lattice import differences, undominated
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.parent_sets import ParentSets, Rule, grown, moved_bits
from consilience.structure.searches.pruning import Pruning, pruning_of
from consilience.structure.searches.set_scores import is_cheaper, score_sets
from consilience.structure.searches.task import Task

__all__ = ["scores_by_set", "useful_sets"]


def scores_by_set(task: Task, scores: LocalScores, *, prune: bool = True) -> Iterator[Floats]:
    """For each child the scores of all sets of the others; minus infinity if useless or illegal.

    The place of a set is its mask without the child's bit. Sets that cannot be best are useless
    only to a search: without ``prune`` they are scored as well.
    """
    p = len(task.names)
    rules = [Rule.of(task, scores, child) for child in range(p)]
    pruning = pruning_of(task, scores) if prune else None
    if is_cheaper(task, rules):
        yield from _at_once(task, scores, rules, pruning)
        return
    scores.prepare_sets([(child, rule.candidates) for child, rule in enumerate(rules)])
    for child, rule in enumerate(rules):
        found, _ = grown(task, scores, child, rule, pruning=pruning, tie=0.0)
        values = np.full(1 << p - 1, -np.inf)
        values[moved_bits(found.masks, [i - (i > child) for i in rule.candidates])] = found.scores
        yield values


def useful_sets(task: Task, scores: LocalScores, tie: float) -> list[ParentSets]:
    """For each child the sets of parents that are better than all their subsets by ``tie``."""
    p = len(task.names)
    rules = [Rule.of(task, scores, child) for child in range(p)]
    pruning = pruning_of(task, scores)
    if not is_cheaper(task, rules):
        scores.prepare_sets([(child, rule.candidates) for child, rule in enumerate(rules)])
        return [
            grown(task, scores, child, rule, pruning=pruning, tie=tie)[1]
            for child, rule in enumerate(rules)
        ]
    found = []
    for child, values in enumerate(_at_once(task, scores, rules, pruning)):
        best, is_kept = values.copy(), np.empty(len(values), bool)
        undominated(best, tie, is_kept)
        masks = np.flatnonzero(is_kept)
        others = tuple(i for i in range(p) if i != child)
        found.append(ParentSets(others, masks, values[masks]))
    return found


def _at_once(
    task: Task, scores: LocalScores, rules: Sequence[Rule], pruning: Pruning | None
) -> Iterator[Floats]:
    of_set = score_sets(task, scores, rules, pruning)
    for child, rule in enumerate(rules):
        values = np.empty(1 << len(rules) - 1)
        required = rule.as_variables(rule.required)
        differences(of_set, child, rule.allowed, required, rule.most, values)
        yield values
