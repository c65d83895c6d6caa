"""What a learner asks for, and the one contract of all engines.

A request is mapped over parts of the rows and the answers are merged; it knows the answer for no
rows. An engine says only where the parts are and how the merge is organised, so all engines give
the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol, TypeVar

from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from consilience.statistics.engines.memory import Memory

__all__ = [
    "CountRequest",
    "DearEngine",
    "Engine",
    "MomentRequest",
    "MomentsBySets",
    "Request",
    "is_dear",
    "map_merge",
]

Answer = TypeVar("Answer")
AnswerOut = TypeVar("AnswerOut", covariant=True)


class Request(Protocol[Answer]):
    """A question whose answers for parts of the rows merge into the answer for all of them."""

    def empty(self, schema: Schema) -> Answer:
        """The answer for no rows."""
        ...

    def work(self, part: Memory) -> Answer:
        """The answer for the rows of one part."""
        ...

    def merge(self, left: Answer, right: Answer) -> Answer:
        """The answer for the rows of both."""
        ...


class Engine(Protocol):
    """Where the rows are. All engines give the same answer to the same request."""

    @property
    def schema(self) -> Schema:
        """What the rows are about."""
        ...

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows."""
        ...


class DearEngine(Engine, Protocol):
    """An engine that reads all rows for each request, so that learners look ahead.

    The scout is a sample of the rows: how few passes a search makes depends on it, its answer does
    not.
    """

    def scout(self) -> Table:
        """Some of the rows, chosen by a hash of their numbers and not by their parts."""
        ...


def is_dear(engine: Engine) -> TypeIs[DearEngine]:
    """Whether an engine has a scout, as those do whose passes are dear."""
    return hasattr(engine, "scout")


@dataclass(frozen=True, slots=True)
class CountRequest:
    """Counts of many families at once.

    Parameters
    ----------
    families
        What to count; the source may be named like any other variable.
    by_source
        Keep the sources apart (first axis of the tables) or pool them.
    memory_limit
        Bytes; a larger answer is refused before anything is allocated.
    """

    families: tuple[Family, ...]
    by_source: bool = False
    memory_limit: float = MEMORY_LIMIT

    def empty(self, schema: Schema) -> list[Counts]:
        """Counts of no rows."""
        return [Counts.empty(schema, family, by_source=self.by_source) for family in self.families]

    def work(self, part: Memory) -> list[Counts]:
        """Counts of the rows of one part."""
        return part.count(self)

    def merge(self, left: list[Counts], right: list[Counts]) -> list[Counts]:
        """Counts of the rows of both, family by family."""
        return [a.merge(b) for a, b in zip(left, right, strict=True)]


@dataclass(frozen=True, slots=True)
class MomentRequest:
    """Centred moments of some continuous variables over the rows in which all of them are known.

    Parameters
    ----------
    names
        Continuous variables.
    by
        Discrete variables for whose joint states the moments are kept apart.
    by_source
        Keep the sources apart or pool them.
    memory_limit
        Bytes; a larger answer is refused before anything is allocated.
    fine
        Keep twice the digits: for columns that are nearly functions of each other.
    """

    names: tuple[str, ...]
    by: tuple[str, ...] = ()
    by_source: bool = False
    memory_limit: float = MEMORY_LIMIT
    fine: bool = False

    def empty(self, schema: Schema) -> Moments:
        """Moments of no rows."""
        return Moments.empty(
            schema, self.names, by=self.by, by_source=self.by_source, fine=self.fine
        )

    def work(self, part: Memory) -> Moments:
        """Moments of the rows of one part."""
        alone = MomentsBySets(self.names, (self.by,), self.by_source, self.memory_limit, self.fine)
        return part.moments(alone)[0]

    def merge(self, left: Moments, right: Moments) -> Moments:
        """Moments of the rows of both."""
        return left.merge(right)


@dataclass(frozen=True, slots=True)
class MomentsBySets:
    """Moments of the same continuous variables by several sets of discrete ones.

    Parameters
    ----------
    names
        Continuous variables.
    sets
        Discrete variables for whose joint states the moments are kept apart, set by set.
    by_source
        Keep the sources apart or pool them.
    memory_limit
        Bytes of the moments by one set; more are refused before anything is allocated.
    fine
        Keep twice the digits.
    """

    names: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    by_source: bool = False
    memory_limit: float = MEMORY_LIMIT
    fine: bool = False

    def empty(self, schema: Schema) -> list[Moments]:
        """Moments of no rows."""
        return [
            Moments.empty(schema, self.names, by=by, by_source=self.by_source, fine=self.fine)
            for by in self.sets
        ]

    def work(self, part: Memory) -> list[Moments]:
        """Moments of the rows of one part, which are read once."""
        return part.moments(self)

    def merge(self, left: list[Moments], right: list[Moments]) -> list[Moments]:
        """Moments of the rows of both, set by set."""
        return [a.merge(b) for a, b in zip(left, right, strict=True)]


def map_merge(schema: Schema, parts: Iterable[Memory], request: Request[Answer]) -> Answer:
    """The answer for all parts, merged in their order."""
    nothing = request.empty(schema)
    if isinstance(nothing, list) and not nothing:  # nothing is asked, so no row need be read
        return nothing
    answers = map(request.work, parts)
    return reduce(request.merge, answers, next(answers, nothing))
