"""Rows with gaps over any engine: their cases, or their expected statistics, as requests.

The cases of a graph of tables merge (``case_pool.py``), so that one pass serves all rounds. Where
they are too many, or rows have continuous values, each round is a request of its own: a network
goes to the rows, and sums of whole numbers come back, which have the same bits for any partition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats
from consilience.data.row_sample import RowSample
from consilience.data.variable import Schema
from consilience.distributions import LinearGaussian
from consilience.errors import MemoryLimitError
from consilience.inference.cases import Cases, Expected, ExpectedSums
from consilience.inference.layout import Layout
from consilience.inference.normal_cases import normal_order
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.statistics.engines.memory import Memory
from consilience.statistics.moments import Moments
from consilience.statistics.request import Engine, MomentRequest
from consilience.statistics.together import Together

__all__ = ["CasesRequest", "ExpectedRequest", "RowsOfEngine", "prepared"]


@dataclass(frozen=True, slots=True, eq=False)
class CasesRequest:
    """The rows as cases of one graph.

    Parameters
    ----------
    net
        A network of the graph; its numbers are not used.
    apart, keeps_barren, memory_limit
        As for :meth:`Cases.of`.
    """

    net: Network
    apart: Collection[str] = ()
    keeps_barren: bool = False
    memory_limit: float = MEMORY_LIMIT

    def empty(self, schema: Schema) -> Cases:
        """The cases of no rows."""
        return self.work(Memory(RowSample.empty(schema).rows))

    def work(self, part: Memory) -> Cases:
        """The cases of the rows of one part."""
        return Cases.of(
            self.net,
            part.table,
            apart=self.apart,
            keeps_barren=self.keeps_barren,
            memory_limit=self.memory_limit,
        )

    def merge(self, left: Cases, right: Cases) -> Cases:
        """The cases of the rows of both."""
        both = left.merge(right)
        both.check_memory(self.memory_limit)
        return both


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRequest:
    """Expected statistics of the rows under one network, as sums that merge.

    Parameters
    ----------
    cases
        How the rows become cases.
    theta, regressions
        The numbers of the tables, as a vector, and the regressions.
    """

    cases: CasesRequest
    theta: Floats
    regressions: Mapping[str, LinearGaussian] = field(default_factory=dict)

    def empty(self, schema: Schema) -> ExpectedSums:
        """The sums over no rows."""
        return self.cases.empty(schema).sums(self.theta, self.regressions)

    def work(self, part: Memory) -> ExpectedSums:
        """The sums over the rows of one part."""
        return self.cases.work(part).sums(self.theta, self.regressions)

    def merge(self, left: ExpectedSums, right: ExpectedSums) -> ExpectedSums:
        """The sums over the rows of both."""
        return left.merge(right)


class _Scales(NamedTuple):
    """The continuous nodes, parents before children, with mean and sd of what is known of each."""

    names: tuple[str, ...]
    centers: Floats
    spreads: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfEngine:
    """The rows of an engine for rounds of inference in one graph, each of which is a request.

    Parameters
    ----------
    engine
        Where the rows are.
    cases
        How they become cases.
    layout
        How the tables stand in a vector.
    normal
        The continuous columns with their means and sds.
    """

    engine: Engine
    cases: CasesRequest
    layout: Layout
    normal: _Scales

    @classmethod
    def of(cls, engine: Engine, cases: CasesRequest) -> RowsOfEngine:
        """The rows of an engine, whose columns are measured first."""
        return cls(engine, cases, Layout.of(cases.net), _scales(engine, cases.net))

    def expected(self, net: Network) -> Expected:
        """Expected statistics under a network with the graph of the cases."""
        theta = self.layout.flatten({name: local.table for name, local in net.tables.items()})
        return self.expect(theta, net.regressions)

    def expect(
        self, theta: Floats, regressions: Mapping[str, LinearGaussian] | None = None
    ) -> Expected:
        """Expected statistics under tables, given as a vector, and regressions."""
        request = ExpectedRequest(self.cases, theta, regressions or {})
        return self.engine.gather(request).expected(theta)


def prepared(engine: Engine, request: CasesRequest) -> Cases | RowsOfEngine:
    """The rows of an engine, prepared for many rounds of inference in one graph.

    As cases if they are in memory, or if the graph has tables only and its cases fit there.
    """
    if isinstance(engine, Memory):
        return request.work(engine)
    if not request.net.regressions:
        try:
            return engine.gather(request)
        except MemoryLimitError:
            pass  # each round then is a request
    return RowsOfEngine.of(engine, request)


def _scales(engine: Engine, net: Network) -> _Scales:
    names = normal_order(net)
    known = [name for name in names if name in engine.schema]
    alone = Together(tuple(MomentRequest((name,)) for name in known))
    centers, spreads = np.zeros(len(names)), np.zeros(len(names))
    if known:
        found: list[Moments] = engine.gather(alone)
        for name, one in zip(known, found, strict=True):
            weight = float(one.weight.sum())
            if weight:
                centers[names.index(name)] = one.mean[0, 0, 0]
                spreads[names.index(name)] = np.sqrt(one.scatter[0, 0, 0, 0] / weight)
    return _Scales(tuple(names), centers, spreads)
