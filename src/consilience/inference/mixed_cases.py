r"""Expected statistics, draws and completions of rows with gaps in Gaussian and mixed networks.

Given all discrete states :math:`d` of a row, its continuous variables are jointly normal, so that
the posterior of what the row misses is a mixture over the joint states of its missing discrete
variables,

.. math:: P(d \mid x_O) \propto P(d)\, p(x_O \mid d), \qquad
    x_M \mid x_O, d \sim N\bigl(\mu_d(x_O), \Sigma_d\bigr) ,

and the expected statistics of EM are exact: the counts of discrete families, and of the others,
for each joint state :math:`j` of the discrete parents and with :math:`p_{id}` the posterior of a
completion times the weight of its row,

.. math:: n_j = \sum p_{id}, \quad m_j = \frac{1}{n_j} \sum p_{id}\, \hat x_{id}, \quad
    S_j = \sum p_{id} \bigl[(\hat x_{id} - m_j)(\hat x_{id} - m_j)^\top + \Sigma_d\bigr] ,

where :math:`\hat x` has missing values at their means and :math:`\Sigma_d` is zero outside of them.
All values are taken less the mean of their column, so large means cost no digits.

References: Little and Rubin (2002), Statistical Analysis with Missing Data, chapters 11 and 14;
Lauritzen (1995), The EM algorithm for graphical association models with missing data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from consilience._typing import Bools, Column, Floats, Integers
from consilience.data.table import Table
from consilience.errors import ImpossibleEvidenceError
from consilience.inference.drawing import new_key, normals, uniforms
from consilience.inference.mixed_totals import Stratum, Totals, family_code, strata_of
from consilience.inference.row_patterns import Block, Shape, blocks_of, values_of
from consilience.kernels.mixed_cases import (
    Regressions,
    add_draws,
    condition_rows,
    square_roots,
)
from consilience.network.network import MEMORY_LIMIT, Network
from consilience.statistics.moments import Moments

__all__ = ["MixedCases", "MixedExpected", "MixedStatistics"]

DRAWS_A_CHUNK = 1 << 16


class MixedExpected(NamedTuple):
    """Expected counts of discrete families in the shape of their tables, expected moments of the
    families of continuous nodes, and the log-likelihood of what the rows record.
    """

    counts: dict[str, Floats]
    moments: dict[str, Moments]
    log_likelihood: float


class MixedStatistics(NamedTuple):
    """Counts and moments of completed rows."""

    counts: dict[str, Floats]
    moments: dict[str, Moments]


@dataclass(frozen=True, slots=True, eq=False)
class MixedCases:
    """The rows of a table as cases of one graph with continuous nodes.

    Attributes
    ----------
    shape
        What of the network does not depend on its numbers.
    centers, spreads
        Mean and sd of what is known of each continuous column; zero where nothing is.
    blocks
        The rows, in order.
    """

    shape: Shape
    centers: Floats
    spreads: Floats
    blocks: tuple[Block, ...]
    _table: Table
    _strata: tuple[Stratum, ...]

    @classmethod
    def of(
        cls,
        net: Network,
        table: Table,
        *,
        apart: Collection[str] = (),
        memory_limit: float = MEMORY_LIMIT,
    ) -> MixedCases:
        """Prepare the rows of a table for the graph of a network; its numbers are not used.

        A column that the table lacks, or has nothing in, is missing in every row.

        Parameters
        ----------
        net
            A network of tables and regressions.
        table
            The rows.
        apart
            The continuous nodes whose moments have the sources of the table as their first axis;
            the source is not among the ``given`` of these. For all other nodes it is a parent like
            any other.
        memory_limit
            Bytes of what is prepared.

        Raises
        ------
        ModelError
            If a discrete node has continuous parents.
        DataError
            If the missing discrete variables of a row have more than 4,096 joint states.

        Examples
        --------
        Where the first variable is 3 the second is expected at 3, with variance 1:

        >>> import consilience as cs
        >>> x, y = cs.Variable("x"), cs.Variable("y")
        >>> first = cs.LinearGaussian(x, (), 0.0, [], 1.0)
        >>> net = cs.Network.of([first, cs.LinearGaussian(y, (x,), 0.0, [1.0], 1.0)])
        >>> rows = cs.read({"x": [1.5, 3.0], "y": [1.0, None]}, continuous=["x", "y"])
        >>> moments = MixedCases.of(net, rows).expected(net).moments["y"]
        >>> moments.names, moments.mean[0, 0].tolist()
        (('x', 'y'), [2.25, 2.0])
        >>> float(moments.scatter[0, 0, 1, 1])  # (1 - 2)^2 + (3 - 2)^2 + 1
        3.0
        """
        shape = Shape.of(net)
        values, centers = values_of(net, table, shape)
        blocks = blocks_of(net, table, shape, values, memory_limit=memory_limit)
        strata = strata_of(net, table, shape, apart)
        for one in strata:
            one.guard(memory_limit)
        return cls(shape, centers, _spreads(values), blocks, table, strata)

    def expected(self, net: Network) -> MixedExpected:
        """Expected statistics under a network with the graph of the cases.

        The log-likelihood is minus infinity if a row is impossible; it then does not count.

        Raises
        ------
        ModelError
            If the sd of a node is zero in some joint state.
        """
        total, log_likelihood = self._nothing(), 0.0
        for block, found in self._posteriors(net):
            log_likelihood += found.log_likelihood()
            shares = found.shares() * block.weights[block.normal.row[block.case]]
            total.count(block, slice(None), shares)
            weights = np.add.reduceat(shares, _first_of_cases(block))
            square_roots(block.normal, found.roots)
            total.gather(block, found.filled, weights, covariances=found.roots)
        return MixedExpected(total.counts(), total.moments(), log_likelihood)

    def drawn(self, net: Network, rng: np.random.Generator) -> MixedStatistics:
        """Statistics of one random joint completion of all rows, drawn from their posterior.

        A row whose weight is a whole number stands for as many rows, which are drawn
        independently; if there is a fractional weight, every row is drawn once and counts with its
        weight.
        """
        total, n_before = self._nothing(), 0
        keys = _Keys.of(rng, len(self.shape.continuous))
        for block, found in self._posteriors(net):
            found.refuse_impossible(block.weights > 0)
            for rows, weights in _copies(block.weights, self._is_whole()):
                chosen = found.chosen(rows, keys.uniforms(n_before, len(rows)))
                values = found.draw(chosen, keys.normals(n_before, len(rows)))
                total.count(block, chosen, weights)
                total.gather(block, values, weights, cases=block.case[chosen])
                n_before += len(rows)
        return MixedStatistics(total.counts(), total.moments())

    def completed(self, net: Network, rng: np.random.Generator | None = None) -> dict[str, Column]:
        r"""A column for every node with all gaps filled: codes of the network's states, or values.

        The most probable joint completion of each row is the one with the largest density of
        everything together: the discrete states :math:`d` that maximize :math:`P(d) \max_{x_M}
        p(x_O, x_M \mid d)`, and the mean of the missing values given them, which is where that
        maximum is. With a generator, a random joint completion of each row from its posterior
        instead. What a row knows stays as it is.
        """
        columns = _open_columns(net, self._table)
        keys = None if rng is None else _Keys.of(rng, len(self.shape.continuous))
        for block, found in self._posteriors(net):
            found.refuse_impossible(np.ones(block.n_rows, bool))
            if keys is None:
                chosen = found.best()
                values = found.filled[block.case[chosen]]
            else:
                everyone = np.arange(block.n_rows)
                chosen = found.chosen(everyone, keys.uniforms(block.start, block.n_rows))
                values = found.draw(chosen, keys.normals(block.start, block.n_rows))
            rows = slice(block.start, block.start + block.n_rows)
            for name in self.shape.n_states:
                columns[name][rows] = block.states(self.shape, name)[chosen]
            for j, name in enumerate(self.shape.continuous):
                is_gap = np.isnan(columns[name][rows])
                columns[name][rows][is_gap] = self.centers[j] + values[is_gap, j]
        return columns

    def _posteriors(self, net: Network) -> Iterator[tuple[Block, _Posterior]]:
        """The posterior of each block of rows."""
        self.shape.check(net)
        regressions = self.shape.regressions(net, self.centers)
        with np.errstate(divide="ignore"):
            log_tables = {name: np.log(local.table.ravel()) for name, local in net.tables.items()}
        for block in self.blocks:
            yield block, _Posterior.of(self.shape, block, regressions, log_tables)

    def _nothing(self) -> Totals:
        return Totals(self.shape, self._strata, self.centers, self._table.source_codes)

    def _is_whole(self) -> bool:
        weights = self._table.weights
        return weights is None or bool((weights == np.floor(weights)).all())


@dataclass(frozen=True, slots=True, eq=False)
class _Posterior:
    """What is known about the completions of a block under some network.

    ``filled`` has missing values at their means, shape (cases, variables); ``roots`` and
    ``log_volume`` are described in ``kernels/mixed_cases.py``; ``log_weight`` is the log of P(d)
    p(x_O | d) of each completion and ``log_evidence`` that of its sum in each row.
    """

    block: Block
    filled: Floats
    roots: Floats
    log_volume: Floats
    log_weight: Floats
    log_evidence: Floats

    @classmethod
    def of(
        cls, shape: Shape, block: Block, local: Regressions, log_tables: Mapping[str, Floats]
    ) -> _Posterior:
        rows = block.normal
        filled = np.empty((len(rows.row), len(shape.continuous)))
        log_density, log_volume = np.empty(len(rows.row)), np.empty(len(rows.codes))
        roots = np.empty(int(rows.root_starts[-1]))
        condition_rows(rows, local, filled, log_density, log_volume, roots)
        log_density[np.isnan(log_density)] = -np.inf  # residuals too large for a float
        log_weight = log_density[block.case]
        for name, log_table in log_tables.items():
            log_weight += log_table[family_code(shape, block, name)]
        return cls(block, filled, roots, log_volume, log_weight, _log_sums(block, log_weight))

    def log_likelihood(self) -> float:
        """Of the rows of the block, by their weights."""
        weights = self.block.weights
        return float(weights[weights > 0] @ self.log_evidence[weights > 0])

    def shares(self) -> Floats:
        """The posterior of each completion; zero in impossible rows."""
        row = self.block.normal.row[self.block.case]
        possible = np.where(self.log_evidence > -np.inf, self.log_evidence, np.inf)
        return np.exp(self.log_weight - possible[row])

    def refuse_impossible(self, is_wanted: Bools) -> None:
        """Raise if one of the wanted rows is impossible."""
        bad = np.flatnonzero(is_wanted & (self.log_evidence == -np.inf))
        if bad.size:
            row = self.block.start + int(bad[0]) + 1
            raise ImpossibleEvidenceError(
                f"row {row} has probability zero under the network.", row=row
            )

    def chosen(self, rows: Integers, numbers: Floats) -> Integers:
        """A completion for each of these rows of the block, by a uniform number each."""
        sums = np.cumsum(self.shares())
        first, after = self.block.first_completion[rows], self.block.first_completion[rows + 1]
        low = np.where(first > 0, sums[first - 1], 0.0)
        high = sums[after - 1]
        # Strictly below the last sum: a completion of probability zero is never chosen.
        targets = np.minimum(low + numbers * (high - low), np.nextafter(high, -np.inf))
        return np.asarray(np.clip(np.searchsorted(sums, targets, side="right"), first, after - 1))

    def best(self) -> Integers:
        """The completion of each row with the largest density, the first of equal ones."""
        rows, starts = self.block.normal, self.block.first_completion[:-1]
        density = self.log_weight - self.log_volume[rows.unit[self.block.case]]
        row = rows.row[self.block.case]
        is_best = np.flatnonzero(density == np.maximum.reduceat(density, starts)[row])
        return np.asarray(is_best[np.unique(row[is_best], return_index=True)[1]])

    def draw(self, chosen: Integers, noise: Floats) -> Floats:
        """Values of some completions, missing ones drawn with standard normal noise."""
        cases = self.block.case[chosen]
        values = self.filled[cases]
        add_draws(self.block.normal, self.roots, cases, noise, values)
        return values


class _Keys(NamedTuple):
    """Keys of the random numbers of draws: one for the states, one for each variable."""

    states: np.uint64
    values: list[np.uint64]

    @classmethod
    def of(cls, rng: np.random.Generator, n_variables: int) -> _Keys:
        return cls(new_key(rng), [new_key(rng) for _ in range(n_variables)])

    def uniforms(self, start: int, n: int) -> Floats:
        """A number for each of the draws from ``start`` on."""
        return uniforms(self.states, start, n)

    def normals(self, start: int, n: int) -> Floats:
        """Noise for each of the draws from ``start`` on, shape (draws, variables)."""
        noise = np.empty((n, len(self.values)))
        for j, key in enumerate(self.values):
            noise[:, j] = normals(key, start, n)
        return noise


def _spreads(values: Floats) -> Floats:
    """The sd of what is known of each column, of values less their mean."""
    n_known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    return np.asarray(np.sqrt(np.nansum(values**2, axis=0) / n_known))


def _open_columns(net: Network, table: Table) -> dict[str, Column]:
    """The continuous columns of a table, and empty ones for all other nodes."""
    columns: dict[str, Column] = {}
    for name, variable in net.variables.items():
        if not variable.is_continuous:
            columns[name] = np.full(table.n_rows, -1, np.int32)
        elif name in table.schema:
            columns[name] = np.array(table.column(name))
        else:
            columns[name] = np.full(table.n_rows, np.nan)
    return columns


def _log_sums(block: Block, log_weight: Floats) -> Floats:
    """Log of the sum of the weights of each row's completions."""
    starts, row = block.first_completion[:-1], block.normal.row[block.case]
    peak = np.maximum.reduceat(log_weight, starts)
    level = np.where(peak > -np.inf, peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(level + np.log(np.add.reduceat(np.exp(log_weight - level[row]), starts)))


def _first_of_cases(block: Block) -> Integers:
    """The first completion of each case."""
    return np.flatnonzero(np.diff(block.case, prepend=-1))


def _copies(weights: Floats, is_whole: bool) -> Iterator[tuple[Integers, Floats]]:
    """Rows and weights of the draws of a block, chunk by chunk."""
    if not is_whole:
        yield np.arange(len(weights)), weights
        return
    ends = np.cumsum(weights)
    for start in range(0, int(ends[-1]), DRAWS_A_CHUNK):
        places = np.arange(start, min(start + DRAWS_A_CHUNK, int(ends[-1])))
        yield np.searchsorted(ends, places, side="right"), np.ones(len(places))
