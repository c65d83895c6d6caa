"""An engine that remembers the counts it was asked for, also on disk.

What is kept is keyed by the schema, a fingerprint of the rows, the family with the order of its
parents, and whether sources are kept apart: other rows never meet it. The fingerprint is that of
the files where the engine knows them (``inputs``), else a sum of hashes of all rows, which does not
depend on their order and takes a pass.

On disk a pass is one block: its tables as a plain array, mapped when it is read again, and beside
it what they are of. The description is written last, so a block that was cut off is not there.
Only full tables go to disk; sparse ones are counted anew in the next process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from consilience._freeze import read_only
from consilience._write import write_text, written
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.statistics.counts import Counts, source_axis
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.engines.ledger import schema_hash
from consilience.statistics.engines.memory import Memory
from consilience.statistics.family import Family
from consilience.statistics.request import Answer, CountRequest, DearEngine, Request
from consilience.statistics.toggles import ToggleRequest, ToggleRequests

__all__ = ["Cached"]

_Key = tuple[Family, bool]


class Cached:
    """Rows whose counts are kept once they were asked for.

    Parameters
    ----------
    engine
        Where the rows are.
    folder
        Where counts are kept for later processes; None for this one only. It may be shared by
        several data sets.

    Examples
    --------
    >>> import consilience as cs
    >>> from consilience.statistics.engines import Batches
    >>> table = cs.read({"x": list("aabb"), "y": list("abab")})
    >>> rows = cs.engines.Cached(Batches(table.schema, [table]))
    >>> cs.count(rows, cs.Family("x"))[0].table.tolist(), rows.n_passes
    ([[[2, 2]]], 1)
    >>> cs.count(rows, cs.Family("x"))[0].table.tolist(), rows.n_passes
    ([[[2, 2]]], 1)
    """

    def __init__(self, engine: DearEngine, folder: str | Path | None = None) -> None:
        self.engine, self.n_passes = engine, 0
        self._kept: dict[_Key, Counts] = {}
        self._scout: Table | None = None
        self._folder: Path | None = None
        if folder is not None:
            mark = f"{schema_hash(engine.schema)} {self._fingerprint()}"
            self._folder = Path(folder) / hashlib.sha256(mark.encode()).hexdigest()
            self._folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(self._folder.glob("*.json")):
                self._load(path)

    @property
    def schema(self) -> Schema:
        """What the rows are about."""
        return self.engine.schema

    def scout(self) -> Table:
        """The sample of the rows, taken once."""
        if self._scout is None:
            self.n_passes += 1
            self._scout = self.engine.scout()
        return self._scout

    def gather(self, request: Request[Answer]) -> Answer:
        """The answer for all rows; only what is not known yet is asked for."""
        asked: Any = request
        if isinstance(asked, CountRequest):
            return cast(Answer, self._counts(asked))
        if isinstance(asked, ToggleRequest):
            asked = ToggleRequests((asked,))
        if isinstance(asked, ToggleRequests) and asked.requests:
            return cast(Answer, self._toggles(asked.requests))
        self.n_passes += 1
        return self.engine.gather(request)

    def _counts(self, request: CountRequest) -> list[Counts]:
        by_source = request.by_source
        new = tuple(one for one in request.families if (one, by_source) not in self._kept)
        if new:
            self.n_passes += 1
            more = CountRequest(new, by_source, request.memory_limit)
            counted: list[Counts] = self.engine.gather(more)
            self._keep(counted, by_source=by_source)
        return [self._kept[one, by_source] for one in request.families]

    def _toggles(self, requests: Sequence[ToggleRequest]) -> CountBatch:
        by_source = requests[0].by_source
        families = [one.families for one in requests]
        new = tuple(
            request
            for request, mine in zip(requests, families, strict=True)
            if any((one, by_source) not in self._kept for one in mine)
        )
        if new:
            self.n_passes += 1
            counted: CountBatch = self.engine.gather(ToggleRequests(new))
            self._keep(counted, by_source=by_source)
        found = [self._kept[one, by_source] for mine in families for one in mine]
        return CountBatch.of(found, by_source=True)

    def _keep(self, found: Iterable[Counts], *, by_source: bool) -> None:
        new = {(one.family, by_source): one for one in found}
        self._kept.update(new)
        full = [one for one in new.values() if one.seen is None]
        if self._folder is not None and full:
            _save(self._folder, full, by_source=by_source)

    def _load(self, path: Path) -> None:
        """Take in a block of counts."""
        told = json.loads(path.read_text("utf-8"))
        tables = np.load(path.with_suffix(".npy"), mmap_mode="r", allow_pickle=False)
        source = source_axis(self.schema, by_source=told["by_source"])
        n_rows, start = read_only(np.array(told["n_rows"], np.int64)), 0
        for child, parents, shape in told["families"]:
            size = int(np.prod(shape))
            table = read_only(tables[start : start + size].reshape(shape))
            given = tuple(self.schema[name] for name in parents)
            counts = Counts(self.schema[child], given, source, table, n_rows, told["scale"])
            self._kept[counts.family, told["by_source"]] = counts
            start += size

    def _fingerprint(self) -> str:
        inputs = getattr(self.engine, "inputs", ())
        if inputs:
            return repr(inputs)
        self.n_passes += 1
        return repr(self.engine.gather(_RowHashes()))


def _save(folder: Path, found: Sequence[Counts], *, by_source: bool) -> None:
    tables = np.concatenate([one.table.ravel() for one in found])
    name = hashlib.sha256(repr([one.family for one in found]).encode()).hexdigest()[:32]
    with written(folder / f"{name}{int(by_source)}.npy") as file:
        np.save(file, tables, allow_pickle=False)
    told = {
        "by_source": by_source,
        "scale": found[0].scale,
        "n_rows": found[0].n_rows.tolist(),
        "families": [[one.child.name, one.family.parents, one.table.shape] for one in found],
    }
    write_text(json.dumps(told), folder / f"{name}{int(by_source)}.json")


@dataclass(frozen=True, slots=True)
class _RowHashes:
    """The sum of hashes of all rows, and their number: whatever their order and their parts."""

    def empty(self, _: Schema) -> tuple[int, int]:
        return 0, 0

    def work(self, part: Memory) -> tuple[int, int]:
        table = part.table
        mixed = np.full(table.n_rows, 0x9E3779B97F4A7C15, np.uint64)
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        more: list[Any] = [weights.astype(np.float64)]
        more += [] if table.source_codes is None else [table.source_codes]
        for column in (*table.columns.values(), *more):
            mixed = _mixed(mixed ^ _bits(column))
        return int(np.add.reduce(mixed, dtype=np.uint64)), table.n_rows

    def merge(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
        return (left[0] + right[0]) % 2**64, left[1] + right[1]


def _bits(column: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    is_float = np.issubdtype(column.dtype, np.floating)
    return column.view(np.uint64) if is_float else column.astype(np.int64).view(np.uint64)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)
