"""Several requests as one, so that an engine reads its rows once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from consilience.data.variable import Schema
from consilience.statistics.request import Answer, Request

if TYPE_CHECKING:
    from consilience.statistics.engines.memory import Memory

__all__ = ["Together"]


@dataclass(frozen=True, slots=True)
class Together(Generic[Answer]):
    """The answers to several requests of one kind, in their order.

    Parameters
    ----------
    requests
        What is asked.
    """

    requests: tuple[Request[Answer], ...]

    def empty(self, schema: Schema) -> list[Answer]:
        """The answers for no rows."""
        return [request.empty(schema) for request in self.requests]

    def work(self, part: Memory) -> list[Answer]:
        """The answers for the rows of one part."""
        return [request.work(part) for request in self.requests]

    def merge(self, left: list[Answer], right: list[Answer]) -> list[Answer]:
        """The answers for the rows of both, request by request."""
        both = zip(self.requests, left, right, strict=True)
        return [request.merge(a, b) for request, a, b in both]
