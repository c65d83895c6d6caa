"""How the work of counting many families is shared.

A family's counts are the joint counts of a *set* of variables, laid out in the family's order, so
families over one set share one count. Sets that differ in a single variable share the joint states
of what they have in common: a :class:`Group` is a base with all the variables that extend it, so
that "this family with each of many candidate parents" is one group and so are all pairs with one
variable. And a set that lacks one variable of a counted set is a sum over that variable, provided
that the variable is never missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Axes", "Group", "Plan", "plan"]

Axes: TypeAlias = tuple[str, ...]
"""The variables of a joint count, in the schema's order."""

LARGEST_SUM = 4096  # cells; summing a larger table costs more than counting the smaller one


@dataclass(frozen=True, slots=True)
class Group:
    """A base and the variables that extend it, each to one set of variables that is counted."""

    base: Axes
    extensions: Axes

    def axes(self, extension: str) -> Axes:
        """Axes of the count of base and extension: the base in its order, the extension last."""
        return (*self.base, extension)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to count, and what to sum afterwards.

    ``sums`` maps a set to the larger set that it is a sum of; a larger set stands before those it
    is summed to.
    """

    groups: tuple[Group, ...]
    sums: Mapping[frozenset[str], frozenset[str]]


def plan(
    sets: Iterable[frozenset[str]],
    *,
    complete: Collection[str],
    n_cells: Callable[[frozenset[str]], float],
    position: Mapping[str, int],
) -> Plan:
    """Groups that count each set once, and sums for the sets that need no counting.

    Parameters
    ----------
    sets
        Sets of at least one variable.
    complete
        Variables that are never missing.
    n_cells
        Size of the joint table of a set.
    position
        Place of each variable in the schema; it breaks ties.
    """
    wanted = sorted(set(sets), key=lambda s: (-len(s), sorted(position[v] for v in s)))
    larger = {
        one - {v}: one for one in reversed(wanted) for v in one & set(complete) if len(one) > 1
    }
    sums = {
        one: larger[one] for one in wanted if one in larger and n_cells(larger[one]) <= LARGEST_SUM
    }
    return Plan(_groups([one for one in wanted if one not in sums], position), sums)


def _groups(sets: list[frozenset[str]], position: Mapping[str, int]) -> tuple[Group, ...]:
    # Each set takes as its base the part that it shares with most other sets.
    shared = Counter(one - {v} for one in sets for v in one)
    extensions: dict[frozenset[str], list[str]] = {}
    for one in sets:
        last = max(one, key=lambda v: (shared[one - {v}], position[v]))
        extensions.setdefault(one - {last}, []).append(last)
    by_position = position.__getitem__
    return tuple(
        Group(tuple(sorted(base, key=by_position)), tuple(sorted(ends, key=by_position)))
        for base, ends in extensions.items()
    )
