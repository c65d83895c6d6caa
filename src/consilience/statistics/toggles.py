"""What a search asks for: a family as it is, without each parent, and with each other one.

These are all families that a move at one node leads to. One pass over the rows forms the joint
states of the family once and joins them with every candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from consilience.data.variable import Schema
from consilience.statistics.batch import CountBatch
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.family import Family

if TYPE_CHECKING:
    from consilience.statistics.engines.memory import Memory

__all__ = ["ToggleRequest", "ToggleRequests"]


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
