"""Answers on their way from workers, and the check that every part of the rows counts once.

A worker may be started twice, lose its answer, or read other rows than were meant. So each answer
carries the ids of the parts it covers, the rows seen and a hash of the schema: a merge refuses an
id seen before and another schema, and at the end nothing may be missing. Answers are merged in the
order of the parts, whatever the order in which they arrive.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from consilience import _check
from consilience.data.variable import Schema
from consilience.errors import DataError, WorkerError
from consilience.statistics.counts import Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.engines.memory import SMALL_TABLE
from consilience.statistics.request import Answer

__all__ = ["Returned", "by_total", "collected", "schema_hash"]


@dataclass(frozen=True, slots=True, eq=False)
class Returned(Generic[Answer]):
    """The answer for some parts of the rows.

    Parameters
    ----------
    ids
        The parts that it covers.
    n_rows
        Rows seen.
    schema
        Hash of the schema that the rows were read with.
    answer
        The answer itself.
    """

    ids: frozenset[str]
    n_rows: int
    schema: str
    answer: Answer

    def merge(
        self, other: Returned[Answer], merge: Callable[[Answer, Answer], Answer]
    ) -> Returned[Answer]:
        """The answer for the parts of both, none of which may be in both."""
        for part in sorted(self.ids & other.ids):
            raise DataError(f"the part {part!r} came back twice; it must count once.", part=part)
        if self.schema != other.schema:
            part = min(other.ids, default="")
            raise DataError(
                f"the part {part!r} was read with another schema. Read all parts with one.",
                part=part,
            )
        n_rows, both = self.n_rows + other.n_rows, merge(self.answer, other.answer)
        return Returned(self.ids | other.ids, n_rows, self.schema, both)


def collected(
    arrivals: Iterable[Returned[Answer]],
    expected: Mapping[str, int | None],
    schema: str,
    merge: Callable[[Answer, Answer], Answer],
) -> Returned[Answer] | None:
    """All answers as one, merged in the order of the expected parts; None if none is expected.

    Parameters
    ----------
    arrivals
        Answers, each for one part, in any order.
    expected
        The rows of each part by its id; None where they are not known.
    schema
        Hash of the schema that all parts must have been read with.
    merge
        The merge of two answers.

    Raises
    ------
    DataError
        A part that came back twice, that nobody asked for, or with other rows or another schema.
    WorkerError
        Parts that did not come back.
    """
    waiting: dict[str, Returned[Answer]] = {}
    turn = iter(expected)
    awaited, total = next(turn, None), None
    seen: set[str] = set()
    for one in arrivals:
        _check_arrival(one, expected, schema, seen)
        seen |= one.ids
        waiting |= dict.fromkeys(one.ids, one)
        while awaited in waiting:
            due = waiting.pop(awaited)
            total = due if total is None else total.merge(due, merge)
            awaited = next(turn, None)
    lost = [part for part in expected if part not in seen]
    if lost:
        raise WorkerError(
            f"{len(lost)} of {len(expected)} parts did not come back: {_check.listed(lost)}.",
            part=lost[0],
        )
    return total


def schema_hash(schema: Schema) -> str:
    """A text that tells schemas apart: names, states and their order, cut points."""
    described = [
        (v.name, v.states, v.ordered, v.cuts)
        for v in [*schema.variables.values(), *([schema.source] if schema.source else [])]
    ]
    text = json.dumps([schema.source is not None, described])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def by_total(answer: Any, n_rows: int) -> Any:
    """The answer with tables of counts that are full unless mostly empty for all rows.

    A part of few rows counts only the parent states that it has seen; whether that pays is decided
    by the rows of all parts.
    """
    if isinstance(answer, list):
        return [by_total(one, n_rows) for one in answer]
    if isinstance(answer, CountBatch) and any(seen is not None for seen in answer.seen):
        return CountBatch.of([by_total(one, n_rows) for one in answer], by_source=True)
    if isinstance(answer, Counts) and answer.seen is not None:
        n_cells = float(answer.n_parent_states) * answer.table.shape[0] * answer.table.shape[2]
        if not answer.given or n_cells <= max(SMALL_TABLE, 2 * n_rows):
            return answer.to_dense()
    return answer


def _check_arrival(
    one: Returned[Any], expected: Mapping[str, int | None], schema: str, seen: set[str]
) -> None:
    if len(one.ids) != 1:
        raise DataError("an answer must be for one part.")
    (part,) = one.ids
    if part in seen:
        raise DataError(f"the part {part!r} came back twice; it must count once.", part=part)
    if part not in expected:
        raise DataError(f"the part {part!r} was not asked for.", part=part)
    if one.schema != schema:
        raise DataError(
            f"the part {part!r} was read with another schema. Read all parts with one.", part=part
        )
    n_rows = expected[part]
    if n_rows is not None and one.n_rows != n_rows:
        raise DataError(
            f"the part {part!r} has {one.n_rows:,} rows, and had {n_rows:,} when it was first "
            "looked at.",
            part=part,
        )
