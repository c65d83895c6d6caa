"""The verbs of this room: :func:`count` and :func:`moments` on a table or on any engine."""

from __future__ import annotations

from collections.abc import Iterable

from consilience import _check
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.request import CountRequest, Engine, MomentRequest

__all__ = ["count", "engine_of", "moments"]


def count(
    rows: Table | Engine,
    families: Family | Iterable[Family],
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
        What to count: one family or several.
    by_source
        Keep the sources apart (first axis) or pool them.
    memory_limit
        Bytes of the answer; a larger one is refused before it is allocated. Working memory (bitmaps
        of about a bit for each row and state, a table for each thread) comes on top.
    """
    asked = (families,) if isinstance(families, Family) else tuple(families)
    for family in asked:
        if not isinstance(family, Family):
            raise InputError(f"families must be Family objects, got {family!r}.")
    return engine_of(rows).gather(CountRequest(asked, by_source, memory_limit))


def moments(
    rows: Table | Engine,
    names: Iterable[str],
    *,
    by: Iterable[str] = (),
    by_source: bool = False,
    memory_limit: float = MEMORY_LIMIT,
    fine: bool = False,
) -> Moments:
    """Centred moments over the rows in which all the variables (and ``by``) are known.

    ``fine`` ones have twice the digits, for columns that are nearly functions of each other.
    """
    _check.names("moments", names=names, by=by)
    request = MomentRequest(tuple(names), tuple(by), by_source, memory_limit, fine)
    return engine_of(rows).gather(request)


def engine_of(rows: Table | Engine) -> Engine:
    """The engine for a table in memory, or the engine that was given."""
    if isinstance(rows, Table):
        return Memory(rows)
    if not hasattr(rows, "gather"):
        raise InputError(
            f"rows must be a Table or an engine, got a {type(rows).__name__}. Read it first: "
            "cs.read(...)."
        )
    return rows
