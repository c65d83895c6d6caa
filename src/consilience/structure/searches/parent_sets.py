"""The sets of parents that can be part of a best graph, for searches that need all of them.

The sets of a child are grown one parent at a time. A set is scored if all its subsets were and no
bound shows that it and all larger ones are useless (``pruning.py``); it is kept if it is better
than all its subsets. Nothing that a best graph may need is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from consilience import _freeze
from consilience._typing import Bools, Floats, Integers
from consilience.errors import MemoryLimitError
from consilience.structure.searches.climber import TIE
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.local import LocalScores
from consilience.structure.searches.pruning import Pruning
from consilience.structure.searches.task import Task

__all__ = [
    "MOST_CANDIDATES",
    "ParentSets",
    "Rule",
    "grown",
    "moved_bits",
    "required_sets",
    "tie_of",
]

MOST_CANDIDATES = 62
"""A set of parents is one machine word."""

MOST_SETS = 1 << 24
"""Sets of parents of one child that are scored."""


_Scored: TypeAlias = Callable[[Integers], Iterator[Floats]]
"""Scores of sets of candidates, part by part."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What the parents of a child may be.

    Attributes
    ----------
    candidates
        Variables that are allowed; bit ``v`` of a set stands for ``candidates[v]``.
    required
        The set of those that must be there.
    most
        How many there may be. Required parents are there however few are allowed.
    """

    candidates: tuple[int, ...]
    required: int
    most: int

    @classmethod
    def of(
        cls, task: Task, scores: LocalScores, child: int, among: Sequence[int] | None = None
    ) -> Rule:
        """The rule of a task for a child, with all candidates or with these and the required."""
        is_required = task.constraints.required[:, child]
        allowed = np.flatnonzero(scores.allowed[:, child] | is_required).tolist()
        kept = [i for i in allowed if among is None or i in among or is_required[i]]
        required = sum(1 << v for v, i in enumerate(kept) if is_required[i])
        most = max(min(scores.most_parents, len(kept)), required.bit_count())
        return cls(tuple(kept), required, most)

    def allows(self, parents: int) -> bool:
        """Whether a set, as a mask over all variables, follows the rule."""
        is_within = (
            parents & ~self.allowed == 0 and self.as_variables(self.required) & ~parents == 0
        )
        return is_within and parents.bit_count() <= self.most

    @property
    def allowed(self) -> int:
        """All candidates, as a mask over all variables."""
        return self.as_variables((1 << len(self.candidates)) - 1)

    def as_variables(self, mask: int) -> int:
        """A set of candidates as a mask over all variables."""
        return as_variables(mask, self.candidates)

    def n_sets(self) -> int:
        """Number of sets that follow the rule."""
        n_required = self.required.bit_count()
        n_free = len(self.candidates) - n_required
        return sum(math.comb(n_free, k) for k in range(self.most - n_required + 1))


@dataclass(frozen=True, slots=True, eq=False)
class ParentSets:
    """Sets of parents of one child with their scores.

    Attributes
    ----------
    candidates
        Variables; bit ``v`` of a set stands for ``candidates[v]``.
    masks, scores
        The sets and their scores.
    """

    candidates: tuple[int, ...]
    masks: Integers
    scores: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def best_first(self) -> ParentSets:
        """The same sets, the best first; equal ones by size, then by number."""
        order = np.lexsort((self.masks, np.bitwise_count(self.masks), -self.scores))
        return ParentSets(self.candidates, self.masks[order], self.scores[order])

    def first_without(self, barred: Collection[int]) -> int:
        """The first set without any of these variables, as a mask over all variables."""
        not_these = sum(1 << v for v, one in enumerate(self.candidates) if one in barred)
        mask = int(self.masks[np.flatnonzero(self.masks & not_these == 0)[0]])
        return as_variables(mask, self.candidates)


def as_variables(mask: int, candidates: Sequence[int]) -> int:
    """A set of candidates as a mask over all variables, however many there are."""
    return sum(1 << one for v, one in enumerate(candidates) if mask >> v & 1)


def moved_bits(masks: Integers, places: Sequence[int]) -> Integers:
    """Masks whose bit ``v`` has become bit ``places[v]``; places below 0 are left out."""
    moved = np.zeros_like(masks)
    for v, place in enumerate(places):
        if place >= 0:
            moved |= (masks >> v & 1) << place
    return moved


def required_sets(task: Task) -> list[int]:
    """The parents that each variable must have."""
    arcs = task.constraints.required
    return [sum(1 << int(i) for i in np.flatnonzero(column)) for column in arcs.T]


def tie_of(task: Task, scores: LocalScores) -> float:
    """Scores that differ by less are equal but for rounding."""
    required = required_sets(task)
    scores.total(required)  # in one request
    return TIE * max(1.0, *(abs(scores.one(x, mask)) for x, mask in enumerate(required)))


def grown(
    task: Task, scores: LocalScores, child: int, rule: Rule, *, pruning: Pruning | None, tie: float
) -> tuple[ParentSets, ParentSets]:
    """All sets that had to be scored, and those better than all their subsets by ``tie``."""
    _check_number(task, child, rule, pruning)
    scored = scores.scored_sets(child, rule.candidates)
    free = [v for v in range(len(rule.candidates)) if not rule.required >> v & 1]
    level = _first_level(task, child, rule, pruning, scored=scored)
    levels = [level]
    n_sets = 1
    for _ in range(rule.most - rule.required.bit_count()):
        level = _next_level(level, child, rule, free, pruning=pruning)
        if not len(level.masks):
            break
        n_sets += len(level.masks)
        _check_sets(task, child, n_sets)
        level = _scored(task, child, scored, level, tie=tie)
        levels.append(level)
    masks = np.concatenate([one.masks for one in levels])
    values = np.concatenate([one.scores for one in levels])
    kept = np.concatenate([one.is_kept for one in levels])
    candidates = rule.candidates
    return ParentSets(candidates, masks, values), ParentSets(candidates, masks[kept], values[kept])


@dataclass(slots=True)
class _Level:
    """Sets of one size, increasing; ``best`` is the score of the best set kept within each."""

    masks: Integers
    n_parent_states: Floats
    best: Floats
    scores: Floats
    is_kept: Bools


def _first_level(
    task: Task, child: int, rule: Rule, pruning: Pruning | None, *, scored: _Scored
) -> _Level:
    required = [i for v, i in enumerate(rule.candidates) if rule.required >> v & 1]
    states = [] if pruning is None else pruning.n_states[required].tolist()
    level = _Level(
        np.array([rule.required], np.int64),
        np.array([math.prod(map(float, states))]),
        np.full(1, -np.inf),
        np.empty(1),
        np.ones(1, bool),
    )
    return _scored(task, child, scored, level, tie=0.0)


def _next_level(
    level: _Level, child: int, rule: Rule, free: Sequence[int], *, pruning: Pruning | None
) -> _Level:
    """The sets with one parent more, not scored yet; ``best`` is that of their subsets."""
    taken = level.masks & ~rule.required
    masks = np.sort(np.concatenate([level.masks[taken < 1 << v] | 1 << v for v in free]))
    best, n_states = np.full(len(masks), -np.inf), np.ones(len(masks))
    is_open = np.ones(len(masks), bool)
    for v in free:
        has = np.flatnonzero(masks >> v & 1)
        smaller = masks[has] ^ 1 << v
        at = np.minimum(np.searchsorted(level.masks, smaller), len(level.masks) - 1)
        best[has] = np.maximum(best[has], level.best[at])
        if pruning is not None:
            more = rule.candidates[v]
            n_states[has] = level.n_parent_states[at] * float(pruning.n_states[more])
            useless = pruning.is_hopeless(child, more, level.scores[at], level.n_parent_states[at])
            is_open[has] &= (level.masks[at] == smaller) & ~useless
    kept = np.flatnonzero(is_open)
    return _Level(masks[kept], n_states[kept], best[kept], np.empty(len(kept)), is_open[kept])


def _scored(task: Task, child: int, scored: _Scored, level: _Level, *, tie: float) -> _Level:
    name, p = task.names[child], len(task.names)
    done = 0
    for values in scored(level.masks):
        level.scores[done : done + len(values)] = values
        done += len(values)
        beat(task.clock, child / p, lambda: f"sets of parents of {name!r}")
    is_kept = level.scores > level.best + tie
    best = np.where(is_kept, level.scores, level.best)
    return _Level(level.masks, level.n_parent_states, best, level.scores, is_kept)


def _check_number(task: Task, child: int, rule: Rule, pruning: Pruning | None) -> None:
    if len(rule.candidates) > MOST_CANDIDATES:
        raise MemoryLimitError(
            f"{task.names[child]!r} has {len(rule.candidates)} candidate parents; at most "
            f"{MOST_CANDIDATES} can be looked through. Forbid some, or use a search that is not "
            "exact, such as cs.HillClimb().",
            child=task.names[child],
        )
    if pruning is None:
        _check_sets(task, child, rule.n_sets())


def _check_sets(task: Task, child: int, n_sets: int) -> None:
    if n_sets > MOST_SETS:
        raise MemoryLimitError(
            f"{task.names[child]!r} has more than {MOST_SETS:,} sets of parents to be scored. "
            "Lower max_parents, forbid arcs, or use a search that does not look at all of them, "
            "such as cs.searches.OrderSearch() or cs.HillClimb().",
            child=task.names[child],
        )
