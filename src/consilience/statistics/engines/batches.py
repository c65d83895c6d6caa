"""The engine for rows that come in batches: any iterable of tables with one schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from consilience import _check
from consilience.data.row_sample import RowSample
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.errors import InputError
from consilience.statistics.engines.ledger import by_total
from consilience.statistics.engines.memory import Memory
from consilience.statistics.engines.neighbors import MOST_CELLS_KEPT
from consilience.statistics.request import Answer, Request, map_merge

__all__ = ["SAMPLE", "Batches"]

SAMPLE = 100_000
"""Rows of a scout."""


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """Rows in batches that need not be in memory together; each request reads all of them once.

    Parameters
    ----------
    schema
        The schema that all batches were read with.
    parts
        The batches; iterated over anew for every request, so not a generator that can be used only
        once. Those of a list are in memory and stay there, with their bitmaps.
    sample
        Rows of the scout, by which searches guess what they will ask for; it takes a pass of its
        own and changes the number of passes, never an answer.
    """

    schema: Schema
    parts: Iterable[Table]
    sample: int = SAMPLE
    _held: list[Memory] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.parts, list):
            object.__setattr__(self, "parts", tuple(self.parts))
        _check.whole("Batches", at_least=1, sample=self.sample)
        if iter(self.parts) is self.parts:
            raise InputError(
                "Batches: the parts can be read only once, but every request reads them; give a "
                "list, or an object that starts anew when it is iterated over."
            )

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows of all batches."""
        n_rows = 0

        def counted() -> Iterator[Memory]:
            nonlocal n_rows
            for part in self._memories():
                n_rows += part.table.n_rows
                yield part

        answer = map_merge(self.schema, counted(), request)
        settled: Answer = by_total(answer, n_rows)
        return settled

    def scout(self) -> Table:
        """A sample of the rows that does not depend on how they are cut into batches."""
        found, first = RowSample.empty(self.schema), 0
        for part in self.parts:
            found = found.merge(RowSample.of(part, first, self.sample), self.sample)
            first += part.n_rows
        return found.rows

    def _memories(self) -> Iterable[Memory]:
        """The parts as engines: kept for later requests if the parts stay in memory anyway."""
        if not isinstance(self.parts, tuple):
            return map(Memory, self.parts)
        if not self._held:
            room = MOST_CELLS_KEPT // max(1, len(self.parts))
            self._held.extend(Memory(part, most_cells=room) for part in self.parts)
        return self._held
