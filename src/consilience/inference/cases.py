r"""Rows with gaps, prepared once for many rounds of inference in one graph.

EM, variational Bayes and data augmentation ask the same question again and again with other
numbers in the tables: what are the missing values of each row? What does not depend on the numbers
is done once, in :meth:`Cases.of`:

- a family of which a row has everything adds the same count, or moments, in every round;
- a missing value below which nothing is known is left out with its family: to fill it would say
  nothing and only slow the climb (so naive Bayes with gaps in its features needs no second round);
- what is known about continuous nodes is a likelihood over their missing discrete parents
  (:mod:`consilience.inference.normal_cases`), one more family of the row;
- the missing states of a row fall apart into hidden sets that are independent given the row
  (``kernels/cases.py``); for each of them only the families that touch it matter, so rows that
  agree about those share one case;
- rows with a hidden set of more than ``MOST_JOINT_STATES`` joint states go through the junction
  tree of the whole network, which is compiled once, or through trees of their own if that one is
  too large.

A round then costs time in proportion to the different cases, which grow far more slowly than the
rows. The expected counts of the families are

.. math:: N_{jk} = \sum_{\text{rows } i} w_i\, P(\mathrm{Pa} = j, X = k \mid x_i) ,

over the rows in which X is not left out. The counts of a likelihood are the posterior weights of
its states, and weigh the moments of the continuous families.

Sources are no special case: the source is a node that every row has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.distributions import LinearGaussian
from consilience.errors import (
    DataError,
    ImpossibleEvidenceError,
    InputError,
    MemoryLimitError,
    ModelError,
)
from consilience.inference.case_pool import HiddenSet, OpenRows, Pool
from consilience.inference.case_sets import CaseRows, Pairs, counted_families
from consilience.inference.cut_cases import CutCases
from consilience.inference.large_cases import LargeCases
from consilience.inference.layout import Layout
from consilience.inference.normal_cases import Cells, NormalCases
from consilience.inference.whole_sums import UNIT, WholeSums
from consilience.kernels.cases import (
    CaseArrays,
    draw_cases,
    expect_cases,
)
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.statistics.moments import Moments

__all__ = [
    "Cases",
    "Expected",
    "ExpectedSums",
    "check_whole_weights",
    "refuse_logistic_nodes",
]

Trees = TypeVar("Trees", LargeCases, CutCases)


class ExpectedSums(NamedTuple):
    """Expected statistics that merge: the same bits for any partition, but for the moments.

    ``counted`` are the counts of families of which rows have everything, in units of ``1 / scale``;
    ``whole`` has those of all others, ``log_scale`` what the continuous part adds to the
    log-likelihood.
    """

    counted: Integers
    scale: int
    whole: WholeSums
    moments: Mapping[str, Moments]
    log_scale: float

    def merge(self, other: ExpectedSums) -> ExpectedSums:
        """The sums over the rows of both."""
        scale = max(self.scale, other.scale)
        return ExpectedSums(
            self.counted * (scale // self.scale) + other.counted * (scale // other.scale),
            scale,
            self.whole.merge(other.whole),
            {name: one.merge(other.moments[name]) for name, one in self.moments.items()},
            self.log_scale + other.log_scale,
        )

    def expected(self, theta: Floats) -> Expected:
        """The expected statistics under the tables that the sums were found with."""
        known = self.counted / self.scale
        log_likelihood = self.whole.log_likelihood + _log_of(known, theta) + self.log_scale
        return Expected(self.whole.values + known, self.moments, log_likelihood)


class Expected(NamedTuple):
    """Expected counts of every discrete family, moments of every continuous one, and the
    log-likelihood of what the rows record.

    The counts are a vector over the cells of all tables (:class:`Layout`).
    """

    counts: Floats
    moments: Mapping[str, Moments]
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Cases:
    """The rows of a table as cases of one graph.

    Attributes
    ----------
    net
        The network whose graph the cases are for.
    layout
        How its tables stand in a vector.
    counted, scale
        Counts, as a vector, of the families of which rows have everything, and what a row counts.
    normal
        The continuous part of the rows.
    small, sets
        The cases of hidden sets that are enumerated, and these sets.
    open_rows
        The rows for junction trees.
    keeps_barren, memory_limit
        As for :meth:`of`.
    """

    net: Network
    layout: Layout
    counted: Integers
    scale: int
    normal: NormalCases
    small: CaseArrays
    sets: tuple[HiddenSet, ...]
    open_rows: OpenRows
    keeps_barren: bool
    memory_limit: float

    @classmethod
    def of(
        cls,
        net: Network,
        table: Table,
        *,
        apart: Collection[str] = (),
        keeps_barren: bool = False,
        memory_limit: float = MEMORY_LIMIT,
    ) -> Cases:
        """Prepare the rows of a table for the graph of a network; its numbers are not used.

        A column that the table lacks, or has nothing in, is missing in every row.

        Parameters
        ----------
        net
            A network of tables and regressions.
        table
            The rows.
        apart
            Continuous nodes whose moments have the sources of the table as their first axis; the
            source is not among the ``given`` of these. For all other nodes it is a parent like any
            other.
        keeps_barren
            Whether missing values below which nothing is known are filled too.
        memory_limit
            Bytes of what is prepared.

        Raises
        ------
        ModelError
            If a discrete node has continuous parents.

        Examples
        --------
        >>> import consilience as cs
        >>> rows = cs.read({"x": ["a", "b", None], "y": ["c", "d", "c"]})
        >>> net = cs.fit(cs.DAG([("x", "y")]), rows, cs.MLE())
        >>> cases = Cases.of(net, rows)
        >>> tables = {"x": [0.5, 0.5], "y": [[0.75, 0.25], [0.25, 0.75]]}
        >>> found = cases.expect(cases.layout.flatten(tables))
        >>> cases.layout.split(found.counts)["x"]  # P(x = a | y = c) is 3/4
        array([1.75, 1.25])
        """
        refuse_logistic_nodes(net)
        layout = Layout.of(net)
        rows = CaseRows.of(net, table)
        source = _source_apart(net, table, apart)
        normal = NormalCases.of(
            net,
            rows.values,
            rows.by_name(net),
            rows.weights / rows.scale,
            apart=apart,
            source=source,
            keeps_barren=keeps_barren,
            memory_limit=memory_limit,
        )
        pairs = Pairs.of(net, rows, normal, keeps_barren=keeps_barren)
        is_large = np.zeros(len(rows.codes), bool)
        is_large[pairs.rows[~pairs.is_small[pairs.of_set]]] = True
        counted = counted_families(net, layout, rows, ~is_large)
        small = pairs.cases(
            net, layout, rows, normal, kept=~is_large[pairs.rows], memory_limit=memory_limit
        )
        places = np.flatnonzero(is_large)
        sets = tuple(zip(pairs.members, pairs.barren, strict=True))
        found = cls(
            net,
            layout,
            counted,
            rows.scale,
            normal,
            small,
            sets,
            OpenRows(places, rows.codes[places], rows.weights[places]),
            keeps_barren,
            memory_limit,
        )
        _ = found.large  # what is too large is refused now
        return found

    def expected(self, net: Network) -> Expected:
        """Expected statistics under a network with the graph of the cases."""
        if net.dag != self.net.dag:
            raise InputError("the network must have the graph that the rows were prepared for.")
        theta = self.layout.flatten({name: local.table for name, local in net.tables.items()})
        return self.expect(theta, net.regressions)

    def expect(
        self, theta: Floats, regressions: Mapping[str, LinearGaussian] | None = None
    ) -> Expected:
        """Expected statistics under tables, given as a vector, and regressions.

        Tables need not be normalised. The log-likelihood is minus infinity if a row is impossible;
        it then does not count.
        """
        return self.sums(theta, regressions).expected(theta)

    def sums(
        self, theta: Floats, regressions: Mapping[str, LinearGaussian] | None = None
    ) -> ExpectedSums:
        """The same as sums that merge with those of other rows."""
        cells = self.normal.cells({} if regressions is None else regressions)
        whole, n_cells = self._sums(theta, cells), len(theta)
        moments = {}
        if self.normal.names:
            moments = self.normal.moments(cells, whole.values[n_cells:])
            whole = whole._replace(counts=whole.counts[:, :n_cells])
        return ExpectedSums(self.counted, self.scale, whole, moments, cells.log_scale)

    def merge(self, other: Cases) -> Cases:
        """The cases of the rows of both, equal ones merged; the graph has no continuous node."""
        scale = max(self.scale, other.scale)
        one, two = (
            Pool(each.small._replace(weight=each.small.weight * (scale // each.scale)), each.sets)
            for each in (self, other)
        )
        both = one.merge(two)
        open_rows = [each.open_rows.scaled(scale // each.scale) for each in (self, other)]
        return replace(
            self,
            counted=self.counted * (scale // self.scale) + other.counted * (scale // other.scale),
            scale=scale,
            small=both.arrays,
            sets=both.sets,
            open_rows=open_rows[0].merge(open_rows[1]),
        )

    def check_memory(self, limit: float) -> None:
        """Refuse cases that take more than so many bytes."""
        held = sum(array.nbytes for array in (*self.small, self.open_rows.codes))
        _check.memory("the cases of the incomplete rows", held, limit, "Use fewer rows.")

    @cached_property
    def large(self) -> LargeCases | CutCases | None:
        """The rows for junction trees, in one tree or, if that is too large, in one for each."""
        if not len(self.open_rows.places):
            return None
        try:
            return self._trees(LargeCases)
        except MemoryLimitError:  # what a row knows can cut the tree into pieces that fit
            return self._trees(CutCases)

    def _trees(self, kind: type[Trees]) -> Trees:
        return kind.of(
            self.net,
            self.open_rows.codes,
            self.open_rows.weights,
            self.normal,
            places=self.open_rows.places,
            keeps_barren=self.keeps_barren,
            memory_limit=self.memory_limit,
        )

    def _sums(self, theta: Floats, cells: Cells) -> WholeSums:
        """Expected counts of tables and of cells, one after the other, and the log-likelihood.

        Without the counts of the families of which rows have everything.
        """
        numbers = np.concatenate([theta, cells.values]) if len(cells.values) else theta
        sums = WholeSums.none(len(numbers), self.scale)
        totals, log_scales = np.empty((2, len(self.small.of_set)))
        room = self._room()
        digits = np.empty((2, len(room)), np.int64)
        expect_cases(self.small, numbers, UNIT, sums.counts, totals, log_scales, room, digits)
        with np.errstate(divide="ignore"):
            sums = sums.with_logs(np.log(totals) + log_scales, self.small.weight)
        return sums if self.large is None else self.large.expect(self.layout, numbers, sums)

    def draw(
        self,
        theta: Floats,
        rng: np.random.Generator,
        regressions: Mapping[str, LinearGaussian] | None = None,
    ) -> Expected:
        """Statistics of one random joint completion of all rows, drawn from their posterior.

        A row of weight w stands for w rows. The log-likelihood is not given.
        """
        cells = self.normal.cells({} if regressions is None else regressions)
        counts = np.concatenate([self.counted / self.scale, np.zeros(len(cells.values))])
        numbers = np.concatenate([theta, cells.values])
        n_draws = int(self.small.weight.sum())
        states, room = np.empty(n_draws, np.int32), self._room()
        if not draw_cases(self.small, numbers, rng.random(n_draws), counts, states, room):
            raise ImpossibleEvidenceError("a row has probability zero under the network.")
        if self.large is not None:
            self.large.draw(self.layout, numbers, counts, rng)
        drawn = counts[len(theta) :]
        moments = self.normal.drawn(cells, drawn, rng) if self.normal.names else {}
        return Expected(counts[: len(theta)], moments, float("nan"))

    def _room(self) -> Floats:
        return np.empty(max(1, int(self.small.n_joint.max(initial=1))))


def _log_of(counted: Floats, theta: Floats) -> float:
    """Log probability of families that were counted."""
    has = counted > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(counted[has] * np.log(theta[has])))


def refuse_logistic_nodes(net: Network) -> None:
    """Refuse discrete nodes with continuous parents, whose gaps have no exact statistics."""
    for name, local in net.logistic.items():
        raise ModelError(
            f"node {name!r} is discrete and has the continuous parents "
            f"{_check.listed(v.name for v in local.continuous)}: its missing values have no exact "
            "statistics. Reverse these arcs, discretize the parents, or use cs.AvailableCases().",
            variable=name,
        )


def _source_apart(net: Network, table: Table, apart: Collection[str]) -> Variable | None:
    _check.known("continuous node", apart, net.regressions)
    if apart and table.schema.source is None:
        raise DataError(
            f"the moments of {_check.listed(apart)} cannot be kept apart by source: the table has "
            "no source."
        )
    return table.schema.source if apart else None


def check_whole_weights(owner: str, table: Table) -> None:
    """Refuse fractional weights where rows are drawn one by one."""
    if table.weights is not None and (np.floor(table.weights) != table.weights).any():
        row = int(np.flatnonzero(np.floor(table.weights) != table.weights)[0])
        raise DataError(
            f"{owner} completes whole rows, but row {row + 1} has the weight "
            f"{table.weights[row]:g}. Use whole-number weights.",
            row=row + 1,
        )
