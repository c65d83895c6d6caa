"""A* over the sets of variables that come first in an order; see ``a_star.py``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from consilience._typing import Floats, Integers
from consilience.errors import MemoryLimitError
from consilience.kernels.orders import (
    EMPTY,
    GOAL,
    NO_ROOM,
    NOTHING_LEFT,
    expand,
    fill_pattern,
    find,
    rehash,
    with_free,
)
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.orders import OrderProblem
from consilience.structure.searches.parent_sets import MOST_CANDIDATES, ParentSets
from consilience.structure.searches.task import Clock

__all__ = ["grouped", "shortest_order"]

LARGEST_GROUP = 20
"""Variables of a group; its patterns double with each."""

MOST_STATES = 1 << 25
"""Sets of variables kept: 2 GiB with the hash table and the heap."""

FIRST_ROOM = 1 << 12
"""Places of the hash table and of the heap at first; they double when there is no room left."""

WORK = 100_000_000
"""Steps of the innermost loops, roughly, before the clock is looked at."""


def grouped(
    members: Sequence[int], families: Sequence[ParentSets], grid: float
) -> tuple[OrderProblem, Integers]:
    """The problem of some variables, sorted by group, and the first member of each group.

    Members that want each other as parents belong together: their conflict is then in the bound.
    The strongest conflicts are joined first, as long as a group does not get too large.
    """
    n = len(members)
    if n > MOST_CANDIDATES:
        raise MemoryLimitError(
            f"A* orders at most {MOST_CANDIDATES} variables that can be ancestors of each other; "
            f"here are {n}. Lower max_parents, forbid arcs, or use cs.searches.OrderSearch() or "
            "cs.HillClimb().",
            limit=MOST_CANDIDATES,
        )
    problem = OrderProblem.among(members, families, grid)
    if n <= LARGEST_GROUP:
        return problem, np.array([0, n], np.int64)
    group = {x: [x] for x in range(n)}
    for one, other in _conflicts(problem):
        mine, theirs = group[one], group[other]
        if mine is not theirs and len(mine) + len(theirs) <= LARGEST_GROUP:
            mine += theirs
            group |= dict.fromkeys(theirs, mine)
    packed: list[list[int]] = []
    for part in sorted({id(one): one for one in group.values()}.values(), key=len, reverse=True):
        room = [one for one in packed if len(one) + len(part) <= LARGEST_GROUP]
        (room[0] if room else _new(packed)).extend(sorted(part))
    first = np.cumsum([0, *map(len, packed)]).astype(np.int64)
    return OrderProblem.among([members[x] for one in packed for x in one], families, grid), first


def shortest_order(
    problem: OrderProblem, first: Integers, bound: float, clock: Clock
) -> list[int] | None:
    """The order of least cost, as places among the members; None if no cost is below the bound."""
    facts = problem.start, problem.sets, problem.costs
    n = len(problem.members)
    n_steps = 1 + WORK // (len(problem.sets) + 4 * n * n)
    starts, patterns = _patterns(problem, first, n_steps, clock)
    root = int(with_free(*facts, 0))
    if _least_cost(root, first, starts, patterns) >= bound:
        return None
    states = _States(root)
    while True:
        outcome = expand(
            *facts,
            first,
            starts,
            patterns,
            bound,
            states.keys,
            states.cost_of,
            states.came_from,
            states.came_by,
            states.heap_rank,
            states.heap_key,
            states.counters,
            n_steps,
        )
        if outcome == GOAL:
            return _traced(problem, states)
        if outcome == NOTHING_LEFT:
            return None
        if outcome == NO_ROOM:
            states.grow(n)
        beat(clock, None, lambda: f"{states.counters[0]:,} sets of {n} variables")


def _conflicts(problem: OrderProblem) -> list[tuple[int, int]]:
    """Pairs of members, the strongest conflict first: what the one loses that gives way."""
    n = len(problem.members)
    everyone = (1 << n) - 1
    loss = {}
    for one, other in combinations(range(n), 2):
        rest = everyone ^ 1 << one ^ 1 << other
        lost = problem.cheapest(one, rest), problem.cheapest(other, rest)
        loss[one, other] = (-min(lost), -max(lost))
    return sorted(loss, key=lambda pair: (loss[pair], pair))


def _new(groups: list[list[int]]) -> list[int]:
    groups.append([])
    return groups[-1]


def _patterns(
    problem: OrderProblem, first: Integers, n_steps: int, clock: Clock
) -> tuple[Integers, Floats]:
    """Patterns of all groups, one after the other, and where each begins."""
    facts = problem.start, problem.sets, problem.costs
    found = []
    for begin, end in pairwise(map(int, first)):
        out = np.empty(1 << end - begin)
        for above in range(len(out), 0, -n_steps):
            fill_pattern(*facts, begin, end - begin, above, max(0, above - n_steps), out)
            beat(clock, None, lambda: "preparing the bound")
        found.append(out)
    return np.cumsum([0, *map(len, found)]).astype(np.int64), np.concatenate(found)


def _least_cost(placed: int, first: Integers, starts: Integers, patterns: Floats) -> float:
    parts = zip(first, np.diff(first), starts, strict=False)
    return float(sum(patterns[start + (placed >> a & (1 << n) - 1)] for a, n, start in parts))


class _States:
    """The sets of variables that were reached, in a hash table, and the heap of those waiting."""

    def __init__(self, root: int) -> None:
        self._make_table(FIRST_ROOM)
        self.counters = np.array([1, 1], np.int64)
        self.heap_rank, self.heap_key = np.zeros(FIRST_ROOM), np.zeros(FIRST_ROOM, np.int64)
        at = find(self.keys, root)
        self.keys[at], self.cost_of[at] = root, 0.0
        self.came_from[at], self.came_by[at] = EMPTY, 0
        self.heap_key[0] = root

    def _make_table(self, size: int) -> None:
        self.keys = np.full(size, EMPTY, np.int64)
        self.cost_of = np.empty(size)
        self.came_from = np.empty(size, np.int64)
        self.came_by = np.empty(size, np.int8)

    def grow(self, n: int) -> None:
        """Make room where there is none for the states that follow one more."""
        if max(self.counters) > MOST_STATES:
            raise MemoryLimitError(
                f"A* needs more than {MOST_STATES:,} sets of variables to prove which graph is "
                "best. Lower max_parents, forbid arcs, give it seconds=, or use "
                "cs.searches.OrderSearch() "
                "or cs.HillClimb().",
                limit=MOST_STATES,
            )
        if 2 * (self.counters[0] + n) > len(self.keys):
            old = self.keys, self.cost_of, self.came_from, self.came_by
            self._make_table(2 * len(self.keys))
            rehash(*old, self.keys, self.cost_of, self.came_from, self.came_by)
        if self.counters[1] + n > len(self.heap_key):
            self.heap_rank = np.append(self.heap_rank, np.zeros(len(self.heap_rank)))
            self.heap_key = np.append(self.heap_key, np.zeros(len(self.heap_key), np.int64))


def _traced(problem: OrderProblem, states: _States) -> list[int]:
    """The order that led to the goal."""
    placed = (1 << len(problem.members)) - 1
    order: list[int] = []
    while placed != EMPTY:
        at = find(states.keys, placed)
        before = int(states.came_from[at])
        begin = [] if before == EMPTY else [int(states.came_by[at]) % 64]
        begun = max(before, 0) | sum(1 << x for x in begin)
        order = [*begin, *_free(problem, begun, placed), *order]
        placed = before
    return order


def _free(problem: OrderProblem, placed: int, end: int) -> list[int]:
    """Members that follow at once because their cheapest set of all fits, until ``end``."""
    order: list[int] = []
    while placed != end:
        for x in range(len(problem.members)):
            if end >> x & 1 and not placed >> x & 1 and problem.cheapest(x, placed) == 0:
                order.append(x)
                placed |= 1 << x
    return order
