r"""One graph for each source, under a prior on how much they differ.

All sources share an order of the variables and a common graph along it. In source f each possible
arc is there or not otherwise than in the common graph with a probability r, and its tables are its
own. The evidence is a sum over all orders, common graphs and graphs of sources,

.. math:: \sum_{\text{orders}} \prod_x \sum_{P \subseteq U_x} \prod_f \sum_{Q \subseteq U_x}
    r^{|P \triangle Q|} (1 - r)^{|U_x| - |P \triangle Q|}\; e^{\mathrm{score}_f(x \mid Q)} ,

with :math:`U_x` the variables before x; it is computed exactly. With r = 0 all sources have one
graph: the ratio of both evidences says whether they do.

References
----------
D. Geiger, D. Heckerman (1996). Knowledge representation and inference in similarity networks and
Bayesian multinets. Artificial Intelligence 82.
C. Oates, J. Smith, S. Mukherjee, J. Cussens (2016). Exact estimation of multiple directed acyclic
graphs. Statistics and Computing 26.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from consilience import _freeze
from consilience._typing import Floats
from consilience.averaging.arc_beliefs import ArcBeliefs
from consilience.averaging.lattice_draws import set_at
from consilience.averaging.lattice_sums import OrderModular
from consilience.averaging.subsets import set_weights
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.kernels.averages import orders_from_below, orders_to_the_top
from consilience.kernels.noisy_sets import noisy_arcs, noisy_sums
from consilience.statistics.counts import MEMORY_LIMIT
from consilience.statistics.gather import engine_of
from consilience.structure.scores.bayesian import BDeu
from consilience.structure.scores.score import Score, check_score
from consilience.structure.searches.constraints import Constraints
from consilience.structure.searches.rows_task import look_at, task_on
from consilience.structure.searches.task import Clock, Progress

__all__ = ["Difference", "Multinets", "multinets"]

MOST_VARIABLES = 13
"""Time grows as the number of sources times 3 to this power."""

RATES = (0.01, 0.03, 0.1)


class Difference(NamedTuple):
    """A pair that is joined in a source and not in the common graph, or the other way round."""

    source: str
    start: str
    end: str
    probability: float
    is_joined: bool


@dataclass(frozen=True, slots=True, eq=False)
class Multinets:
    """Whether sources have one graph, and where they differ.

    Attributes
    ----------
    log_evidence, log_evidence_common
        Log probability of the rows if each source may have a graph of its own, and if all have one.
    common
        Probability of arcs of the common graph.
    by_source
        Probability of arcs in each source.
    differs
        For each source the probability that an arc is not as in the common graph, from (row) to
        (column), if each source may have a graph of its own.
    tables_differ
        For each node the probability that its tables differ between sources whose parents are the
        same, with one table for all and one for each equally likely beforehand.
    notes
        What the reader should know.
    """

    log_evidence: float
    log_evidence_common: float
    common: ArcBeliefs
    by_source: Mapping[str, ArcBeliefs]
    differs: Mapping[str, Floats]
    tables_differ: Mapping[str, float]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The variables."""
        return self.common.nodes

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources."""
        return tuple(self.by_source)

    @property
    def log_bayes_factor(self) -> float:
        """Log evidence for graphs that differ, against one common graph."""
        return self.log_evidence - self.log_evidence_common

    @property
    def probability(self) -> float:
        """Probability that the graphs differ, if that and one graph are equally likely before."""
        return float(expit(self.log_bayes_factor))

    def differences(self, least: float = 0.5) -> list[Difference]:
        """Pairs that are joined otherwise in a source with a probability above ``least``.

        That the graphs differ at all is part of the probability. The most probable come first.
        """
        found = []
        for source, matrix in self.differs.items():
            either = self.probability * (matrix + matrix.T)
            arcs = self.by_source[source]
            for i, j in np.argwhere(np.triu(either > least, 1)):
                if arcs.matrix[j, i] > arcs.matrix[i, j]:
                    i, j = j, i
                start, end = self.nodes[i], self.nodes[j]
                is_joined = arcs.adjacency(start, end) > 0.5
                found.append(Difference(source, start, end, float(either[i, j]), is_joined))
        return sorted(found, key=lambda one: (-one.probability, one.source, one.start, one.end))

    def agreed(self, least: float = 0.5) -> list[tuple[str, str]]:
        """The arcs of pairs that every source joins with a probability above ``least``."""
        both = np.min([one.adjacencies for one in self.by_source.values()], axis=0)
        return [
            (one.start, one.end)
            for one in self.common.listed(0.0)
            if both[self.nodes.index(one.start), self.nodes.index(one.end)] > least
        ]

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __repr__(self) -> str:
        found = self.differences()
        return (
            f"Multinets({len(self.sources)} sources, {len(self.nodes)} nodes; the graphs differ "
            f"with probability {self.probability:.3f}, in {len(found)} arcs)"
        )


def multinets(
    rows: Rows,
    *,
    score: Score | None = None,
    rates: Sequence[float] = RATES,
    max_parents: int | None = None,
    progress: Progress | None = None,
    memory_limit: float = MEMORY_LIMIT,
) -> Multinets:
    """Whether the sources of a table have one graph, and which arcs differ; exact sums.

    Parameters
    ----------
    rows
        A table with at least two sources that have rows, without gaps, of at most 13 variables.
    score
        Log evidence of a family on the rows of one source; ``BDeu(ess=1)`` if not given.
    rates
        Probabilities that an arc of a source is not as in the common graph, all equally likely
        beforehand; each above 0 and below one half.
    max_parents
        Most parents of a node in any source; no limit if None.
    progress
        Called now and then with the share done (None if unknown) and a text.
    memory_limit
        Bytes of the counts of one request.

    Examples
    --------
    >>> import consilience as cs
    >>> alike = {"x": list("aabb") * 20, "y": list("abab") * 20}
    >>> other = {"x": list("aabb") * 20, "y": list("aabb") * 20}
    >>> rows = cs.read({"rome": alike, "oslo": alike, "bonn": other})
    >>> found = cs.averaging.multinets(rows)
    >>> [(one.source, one.start, one.end) for one in found.differences()]
    [('bonn', 'x', 'y')]
    """
    judge = BDeu(ess=1.0) if score is None else score
    rows = as_table(rows)
    _check_input(rows, judge, rates)
    names = tuple(sorted(rows.variables))
    sources = _with_rows(rows)
    clock = Clock(None, progress)

    def weights(table: Table) -> Floats:
        engine = engine_of(table)
        task = task_on(
            look_at(engine, names, memory_limit),
            judge,
            Constraints.of(names),
            rng=np.random.default_rng(0),
            clock=clock,
            memory_limit=memory_limit,
        )
        return set_weights(task, task.local_scores(max_parents))

    each = np.stack([weights(part) for part in sources.values()], axis=1)
    pooled = weights(rows.pooled())
    return _compared(names, tuple(rows.variables), tuple(sources), each, pooled=pooled, rates=rates)


def _with_rows(rows: Table) -> dict[str, Table]:
    """The rows of each source that has some, without their source."""
    codes = rows.source_codes
    parts = {name: rows.take(codes == f).pooled() for f, name in enumerate(rows.sources)}
    return {name: part for name, part in parts.items() if part.n_rows}


def _check_input(rows: Table, score: Score, rates: Sequence[float]) -> None:
    if not isinstance(rows, Table) or len(rows.sources) < 2 or len(_with_rows(rows)) < 2:
        raise InputError(
            "multinets: rows must be a Table with at least two sources that have rows.",
            parameter="rows",
        )
    check_score("multinets", score, rows.variables)
    if len(rows.variables) > MOST_VARIABLES:
        raise InputError(
            f"multinets: at most {MOST_VARIABLES} variables, got {len(rows.variables)}. "
            "Select some: rows.select([...]).",
            parameter="rows",
        )
    if not rates or not all(0 < rate < 0.5 for rate in rates):
        raise InputError(
            f"multinets: rates must lie between 0 and 1/2, got {tuple(rates)!r}.",
            parameter="rates",
        )


class _Sums(NamedTuple):
    """The sums for one rate: total, and arcs given it."""

    log_total: float
    common: Floats  # (variables, variables)
    own: Floats  # (sources, variables, variables)
    differs: Floats


def _compared(
    names: tuple[str, ...],
    nodes: tuple[str, ...],
    sources: tuple[str, ...],
    each: Floats,
    *,
    pooled: Floats,
    rates: Sequence[float],
) -> Multinets:
    """The record from weights of families, shape (variables, sources, sets)."""
    one_graph = OrderModular().sums(each.sum(axis=1))
    found = [_sums_at(each, rate) for rate in rates]
    totals = np.array([one.log_total for one in found])
    shares = np.exp(totals - logsumexp(totals))
    common, own, differs = (
        np.tensordot(shares, np.stack([getattr(one, what) for one in found]), 1)
        for what in ("common", "own", "differs")
    )
    is_apart = expit(each.sum(axis=1) - pooled)
    is_apart = np.where(one_graph.families > 0, is_apart, 0.0)
    tables = (one_graph.families * is_apart).sum(axis=1)
    places = [names.index(node) for node in nodes]
    grid = np.ix_(places, places)
    return Multinets(
        float(logsumexp(totals) - np.log(len(rates))),
        one_graph.log_total,
        ArcBeliefs(nodes, common[grid]),
        _freeze.FrozenMap({s: ArcBeliefs(nodes, own[f][grid]) for f, s in enumerate(sources)}),
        {source: differs[f][grid] for f, source in enumerate(sources)},
        {node: float(tables[names.index(node)]) for node in nodes},
        (
            "All sources share an order of the variables; graphs count as often as they have "
            "orders. Tables are each source's own.",
        ),
    )


def _sums_at(each: Floats, rate: float) -> _Sums:
    """Sums over orders, common graphs and graphs of sources for one rate of difference."""
    p, n_sources, n_sets = each.shape
    within = np.empty((p, n_sets))
    for x in range(p):
        noisy_sums(np.ascontiguousarray(each[x]), rate, within[x])
    below, above = np.empty((2, 1 << p))
    orders_from_below(within, below)
    orders_to_the_top(within, above)
    total = float(below[-1])
    common = np.zeros((p, p))
    own, differs = np.zeros((2, n_sources, p, p))
    for x in range(p):
        sets = set_at(np.arange(n_sets), x)
        share = np.exp(below[sets] + within[x] + above[sets | 1 << x] - total)
        arcs = np.zeros(p - 1), np.zeros((n_sources, p - 1)), np.zeros((n_sources, p - 1))
        noisy_arcs(np.ascontiguousarray(each[x]), rate, share, *arcs, np.zeros(n_sets))
        others = [y for y in range(p) if y != x]
        common[others, x], own[:, others, x], differs[:, others, x] = arcs
    return _Sums(total, common, own, differs)
