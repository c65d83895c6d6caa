"""What a search asks for: a family as it is, without each parent, and with each other one.

These are all families that a move at one node leads to. One pass over the rows forms the joint
states of the family once and joins them with every candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from consilience.data.variable import Schema, Variable
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.family import Family

if TYPE_CHECKING:
    from consilience.statistics.engines.memory import Memory

__all__ = ["ToggleRequest", "ToggleRequests", "ToggledParents"]


@dataclass(frozen=True, slots=True)
class ToggleRequest:
    """Counts of a family, then without each of its parents, then with each candidate as one more.

    Parameters
    ----------
    family
        The child and its parents. Neither may be the source if sources are kept apart.
    candidates
        Further parents, each added alone and last.
    by_source
        Keep the sources apart or pool them.
    memory_limit
        Bytes; a larger answer is refused before anything is allocated.
    """

    family: Family
    candidates: tuple[str, ...]
    by_source: bool = False
    memory_limit: float = MEMORY_LIMIT

    @property
    def families(self) -> tuple[Family, ...]:
        """The families of the answer, in its order."""
        child, parents = self.family.child, self.family.parents
        fewer = (Family(child, tuple(p for p in parents if p != left)) for left in parents)
        more = (Family(child, (*parents, candidate)) for candidate in self.candidates)
        return (self.family, *fewer, *more)

    def empty(self, schema: Schema) -> CountBatch:
        """Counts of no rows."""
        none = [Counts.empty(schema, family, by_source=self.by_source) for family in self.families]
        return CountBatch.of(none, by_source=True)

    def work(self, part: Memory) -> CountBatch:
        """Counts of the rows of one part."""
        return part.toggle([self])

    def merge(self, left: CountBatch, right: CountBatch) -> CountBatch:
        """Counts of the rows of both."""
        return left.merge(right)


@dataclass(frozen=True, slots=True)
class ToggleRequests:
    """Several requests of one kind at once; the answers stand one after the other."""

    requests: tuple[ToggleRequest, ...]

    def empty(self, schema: Schema) -> CountBatch:
        """Counts of no rows."""
        none = [counts for request in self.requests for counts in request.empty(schema)]
        return CountBatch.of(none, by_source=True)

    def work(self, part: Memory) -> CountBatch:
        """Counts of the rows of one part."""
        return part.toggle(self.requests)

    def merge(self, left: CountBatch, right: CountBatch) -> CountBatch:
        """Counts of the rows of both."""
        return left.merge(right)


class ToggledParents(Sequence[tuple[Variable, ...]]):
    """The parents of all families of some requests, listed only when asked for: few scores do."""

    def __init__(
        self, requests: Sequence[ToggleRequest], variables: Mapping[str, Variable]
    ) -> None:
        self._requests = requests
        self._variables = variables

    @cached_property
    def _listed(self) -> tuple[tuple[Variable, ...], ...]:
        known = self._variables
        given: list[tuple[Variable, ...]] = []
        for request in self._requests:
            parents = tuple(known[name] for name in request.family.parents)
            given += [parents, *(tuple(p for p in parents if p is not left) for left in parents)]
            given += [(*parents, known[name]) for name in request.candidates]
        return tuple(given)

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, place: Any) -> Any:
        return self._listed[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._listed == tuple(other)

    def __hash__(self) -> int:
        return hash(self._listed)
