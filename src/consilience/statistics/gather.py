"""The verbs of this room: :func:`count` and :func:`moments` on a table or on any engine."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from consilience import _check
from consilience.data.door import Rows, as_table
from consilience.data.notes import notes_of
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.errors import InputError
from consilience.statistics.counts import MEMORY_LIMIT, Counts
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.moments import Moments
from consilience.statistics.request import CountRequest, Engine, MomentRequest

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "bytes_guessed",
    "columns_of_source",
    "count",
    "engine_of",
    "held_rows",
    "is_engine",
    "moments",
    "notes_on",
]


def count(
    rows: Rows | Engine,
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
        A table, a frame, a path or an engine. A learner that asks repeatedly makes the engine once,
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
    engine = engine_of(rows)
    return engine.gather(CountRequest(asked, by_source, memory_limit)) if asked else []


def moments(
    rows: Rows | Engine,
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


def engine_of(rows: Rows | Engine) -> Engine:
    """The engine for rows in memory, read if they are no table yet; or the engine as it is."""
    if not is_engine(rows):
        return Memory(as_table(rows))
    mapped: Memory | None = getattr(rows, "mapped", None)  # of a store, which is a table
    return rows if mapped is None else mapped


def is_engine(rows: Rows | Engine) -> TypeIs[Engine]:
    """Whether rows come as an engine."""
    given: Any = rows
    return isinstance(getattr(given, "schema", None), Schema) and not isinstance(given, Table)


def held_rows(rows: Rows | Engine) -> Table | Engine:
    """The rows as a table if they are in memory, read if they are no table yet; or their engine."""
    engine = engine_of(rows)
    return engine.table if isinstance(engine, Memory) else engine


def notes_on(engine: Engine, names: Iterable[str]) -> tuple[str, ...]:
    """What a reader should know about these columns, as far as the engine tells."""
    if isinstance(engine, Memory):
        return notes_of(engine.table, names)
    tell = getattr(engine, "notes_on", None)
    return () if tell is None else tell(names)


def bytes_guessed(engine: Engine) -> float:
    """How much a search that looks ahead may ask for on a guess, as a share of what it knows.

    Infinite unless the engine tells: where bytes travel, they are dear beside passes.
    """
    return float(getattr(engine, "bytes_guessed", math.inf))


def columns_of_source(engine: Engine) -> tuple[str, ...]:
    """The variables that belong to the source, as far as the engine tells."""
    rows: Any = engine.table if isinstance(engine, Memory) else engine
    return getattr(rows, "of_source", ())
