"""The verbs of this room: :func:`count` and :func:`moments` on a table or on any engine."""

from __future__ import annotations

from collections.abc import Iterable

from consilience.data.table import Table
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.request import CountRequest, Engine, MomentRequest

__all__ = ["count", "engine_of", "moments"]


def count(
    rows: Table | Engine,
    families: Iterable[Family],
    *,
    by_source: bool = False,
    memory_limit: float = MEMORY_LIMIT,
) -> list[Counts]:
    """Counts of many families, in their order.

    A row counts for a family if no variable of the family is missing in it; ``Counts.n_incomplete``
    says how many rows did not. Ask for many families at once: what they have in common is counted
    once.

    Parameters
    ----------
    rows
        A table or an engine. A learner that asks repeatedly makes the engine once,
        ``Memory(table)``, which keeps what requests share.
    families
        What to count.
    by_source
        Keep the sources apart (first axis) or pool them.
    memory_limit
        Bytes; a request that needs more is refused before anything is allocated.
    """
    return engine_of(rows).gather(CountRequest(tuple(families), by_source, memory_limit))


def moments(
    rows: Table | Engine,
    names: Iterable[str],
    *,
    by: Iterable[str] = (),
    by_source: bool = False,
    memory_limit: float = MEMORY_LIMIT,
) -> Moments:
    """Centred moments over the rows in which all the variables (and ``by``) are known."""
    request = MomentRequest(tuple(names), tuple(by), by_source, memory_limit)
    return engine_of(rows).gather(request)


def engine_of(rows: Table | Engine) -> Engine:
    """The engine for a table in memory, or the engine that was given."""
    return Memory(rows) if isinstance(rows, Table) else rows
