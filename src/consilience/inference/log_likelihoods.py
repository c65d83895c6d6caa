"""Log probabilities of the rows of any engine: one for each row, or their sum.

The sum is of whole numbers, each log probability rounded to :math:`2^{-36}` before it is weighted
and added, so it has the same bits for any partition of the rows (``whole_sums.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.door import Rows
from consilience.data.variable import Schema
from consilience.inference.estimate_ways import Way
from consilience.inference.evidence_rows import log_likelihood
from consilience.inference.whole_sums import WholeSums, weights_of
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.statistics.engines.memory import Memory
from consilience.statistics.gather import engine_of
from consilience.statistics.request import Engine

__all__ = ["of_engine", "total_log_likelihood"]


def of_engine(net: Network, engine: Engine, by: Way | None = None) -> Floats:
    """Log probability of what each row of an engine records, in the order of its parts."""
    limit = getattr(by, "memory_limit", MEMORY_LIMIT)
    return np.concatenate(engine.gather(_OfRows(net, by, limit)))


def total_log_likelihood(net: Network, rows: Rows | Engine, *, by: Way | None = None) -> float:
    """Log probability of all that the rows record, weights applied; the same bits on any engine.

    Minus infinity if a row is impossible.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": ["a", "a", "b", None]})
    >>> net = cs.fit(cs.DAG(nodes=["x"]), rows, cs.MLE())
    >>> round(cs.inference.total_log_likelihood(net, rows), 4)  # 2 log(2/3) + log(1/3)
    -1.9095
    """
    return engine_of(rows).gather(_Total(net, by)).log_likelihood


@dataclass(frozen=True, slots=True, eq=False)
class _OfRows:
    """One number for each row, part by part."""

    net: Network
    by: Way | None
    memory_limit: float

    def empty(self, _: Schema) -> list[Floats]:
        return [np.zeros(0)]

    def work(self, part: Memory) -> list[Floats]:
        return [log_likelihood(self.net, part.table, by=self.by)]

    def merge(self, left: list[Floats], right: list[Floats]) -> list[Floats]:
        both = [*left, *right]
        held = 8.0 * sum(map(len, both))
        advice = "cs.inference.total_log_likelihood gives the sum alone."
        _check.memory("one number for each row", held, self.memory_limit, advice)
        return both


@dataclass(frozen=True, slots=True, eq=False)
class _Total:
    """The weighted sum."""

    net: Network
    by: Way | None

    def empty(self, _: Schema) -> WholeSums:
        return WholeSums.none(0, 1)

    def work(self, part: Memory) -> WholeSums:
        weights, scale = weights_of(part.table)
        logs = log_likelihood(self.net, part.table, by=self.by)
        return WholeSums.none(0, scale).with_logs(logs, weights)

    def merge(self, left: WholeSums, right: WholeSums) -> WholeSums:
        return left.merge(right)
