"""Orders of variables in which each takes its best set of parents among those before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from consilience import _freeze
from consilience._typing import Floats, Integers
from consilience.kernels.orders import mark_minimal, move_best, place_order
from consilience.structure.searches.interruption import beat
from consilience.structure.searches.parent_sets import ParentSets, moved_bits
from consilience.structure.searches.task import Clock

__all__ = ["OrderProblem", "climbs", "sorted_order"]

MOST_COMPARED = 1024
"""Sets of a variable that are looked at as subsets of others; what is not left out does no harm."""

MOST_MOVES = 6
"""Variables that a restart moves, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderProblem:
    """Sets of parents with costs for some variables, each variable's cheapest sets first.

    Attributes
    ----------
    members
        The variables; ``x`` below is a place in this list.
    start, sets, costs
        The sets of member ``x`` are ``sets[start[x]:start[x + 1]]``.
    bits
        ``bits[x, y]`` is the bit of member ``y`` in the sets of member ``x``; 0 if there is none.
    """

    members: tuple[int, ...]
    start: Integers
    sets: Integers
    costs: Floats
    bits: Integers

    def __post_init__(self) -> None:
        _freeze.own(self)

    @classmethod
    def of(cls, families: Sequence[ParentSets]) -> OrderProblem:
        """The problem of all variables, each with bits of its own; costs are negative scores."""
        p = len(families)
        bits = np.zeros((p, p), np.int64)
        for x, family in enumerate(families):
            bits[x, list(family.candidates)] = 1 << np.arange(len(family.candidates))
        ordered = [family.best_first() for family in families]
        return cls._joined(range(p), [(one.masks, -one.scores) for one in ordered], bits)

    @classmethod
    def among(
        cls, members: Sequence[int], families: Sequence[ParentSets], grid: float
    ) -> OrderProblem:
        """The problem of some variables, if all others may be parents; bit ``k`` is member ``k``.

        Costs are whole multiples of ``grid`` below the score of the best set, so that sums are
        exact. Sets that cost no less than a subset of theirs can be left out.
        """
        place = {variable: k for k, variable in enumerate(members)}
        parts = []
        for x in members:
            family = families[x]
            sets = moved_bits(family.masks, [place.get(one, -1) for one in family.candidates])
            costs = np.rint((family.scores.max() - family.scores) / grid)
            order = np.lexsort((sets, np.bitwise_count(sets), costs))
            sets, costs = sets[order], costs[order]
            is_kept = np.empty(len(sets), bool)
            mark_minimal(sets, MOST_COMPARED, is_kept)
            parts.append((sets[is_kept], costs[is_kept]))
        bits = np.tile(np.int64(1) << np.arange(len(members)), (len(members), 1))
        return cls._joined(members, parts, bits)

    @classmethod
    def _joined(
        cls, members: Sequence[int], parts: Sequence[tuple[Integers, Floats]], bits: Integers
    ) -> OrderProblem:
        start = np.cumsum([0, *(len(sets) for sets, _ in parts)]).astype(np.int64)
        sets = np.concatenate([sets for sets, _ in parts]).astype(np.int64)
        costs = np.concatenate([costs for _, costs in parts])
        return cls(tuple(members), start, sets, costs, bits)

    def cheapest(self, x: int, available: int) -> float:
        """Cost of the cheapest set of a member within a set."""
        mine = slice(int(self.start[x]), int(self.start[x + 1]))
        fits = np.flatnonzero(self.sets[mine] & ~available == 0)
        return float(self.costs[mine][fits[0]]) if len(fits) else float("inf")


def climbs(
    problem: OrderProblem,
    order: Sequence[int],
    required: Sequence[int],
    *,
    tie: float,
    restarts: int,
    rng: np.random.Generator,
    clock: Clock,
) -> Iterator[tuple[float, list[int], str]]:
    """Cost and order of the first climb and of every better one, with what led to it.

    A climb moves one variable at a time to its best place until none gains; a restart first moves
    some variables of the best order to random places. Ends after so many restarts in vain.
    ``required`` are the parents that each member must have before it.
    """
    cost, best = _climbed(problem, sorted_order(order, required), tie, clock)
    yield cost, best, "first optimum"
    in_vain, n_restarts = 0, 0
    while in_vain < restarts and len(best) > 1:
        in_vain, n_restarts = in_vain + 1, n_restarts + 1
        beat(clock, None, lambda: "searching over orders")
        start = sorted_order(_shaken(best, rng), required)
        found, better = _climbed(problem, start, tie, clock)
        if found < cost - tie:
            cost, best, in_vain = found, better, 0
            yield cost, best, f"restart {n_restarts}"


def sorted_order(order: Sequence[int], parents: Sequence[int]) -> list[int]:
    """The order with every variable moved behind its parents, given as masks without cycles."""
    waiting, done, placed = list(order), [], 0
    while waiting:
        x = next(x for x in waiting if parents[x] & ~placed == 0)
        waiting.remove(x)
        done.append(x)
        placed |= 1 << x
    return done


def _climbed(
    problem: OrderProblem, order: Sequence[int], tie: float, clock: Clock
) -> tuple[float, list[int]]:
    places = np.array(order, np.int64)
    before, now = np.zeros(len(places), np.int64), np.zeros(len(places))
    facts = problem.bits, problem.start, problem.sets, problem.costs
    place_order(places, *facts, before, now)
    while move_best(places, *facts, before, now, tie) > 0 and not clock.is_over():
        pass
    return float(now.sum()), places.tolist()


def _shaken(order: Sequence[int], rng: np.random.Generator) -> list[int]:
    """The order with some variables moved to random places."""
    moved = list(order)
    for _ in range(int(rng.integers(1, MOST_MOVES + 1))):
        x = moved.pop(int(rng.integers(len(moved))))
        moved.insert(int(rng.integers(len(moved) + 1)), x)
    return moved
