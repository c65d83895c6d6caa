r"""Families of a class under changed shrinkage, and what they say of rows that are left out.

The concentrations of a fitted chain are multiplied and its counts raised by a pseudo-count; the
means settle again, and no observation is fitted anew when it is left out: its customer leaves the
row of its family and, with the probability that it had opened a table there, a customer leaves the
level above, and so on (``kernels/chain.py``). Regressions are shrunken and left out in closed form
(``regression_chain.py``).

Of a row in which every family of the class is known whole (or ends in nothing that was recorded)
the class has the probability

.. math:: P_{-i}(c \mid x, f) \propto \prod_{\text{families of } c} P_{-i}(\text{family} \mid c) .

Any other row was counted in its complete families only; with a network :math:`B` that sums out what
is missing,

.. math:: P_{-i}(c \mid x, f) \propto P_B(c \mid x, f) \prod_{\text{complete families}}
    \frac{P_{-i}(\text{family} \mid c)}{P_B(\text{family} \mid c)} .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from consilience._typing import Bools, Floats, Integers
from consilience.classify.regression_chain import RegressionChain, RegressionRows
from consilience.data.table import Table
from consilience.distributions import Distribution, LinearGaussian
from consilience.inference.evidence_rows import posteriors
from consilience.kernels.chain import leave_out, settle
from consilience.network.network import Network
from consilience.parameters.backoff import SOURCE, Way
from consilience.parameters.chain import FittedChain
from consilience.parameters.chain_posterior import FIT_ROUNDS, TOLERANCE
from consilience.parameters.source_node import source_shares, with_new_source

__all__ = [
    "ClassFamily",
    "ClassRegression",
    "GraphChains",
    "LeftOut",
    "Shrinking",
    "shrunken_means",
]

ROUGH = 1e-4
"""Tolerance of the means where shrinkings are only compared."""

TINY = float(np.finfo(np.float64).tiny)
LOG_TINY = float(np.log(TINY))


@dataclass(frozen=True, slots=True)
class Shrinking:
    """How the families of a class are shrunken.

    Parameters
    ----------
    parent_factor
        By what the concentrations of tables are multiplied at the levels that drop a parent.
    source_factor
        The same for the level that drops the source, of regressions too.
    pseudo_count
        Added to every cell of a table.
    shares
        For each regression of the class, in their order, how far it goes to the one without; empty
        for not at all.
    orders
        For each of them, its back-off order by rank; empty for the first.
    """

    parent_factor: float = 1.0
    source_factor: float = 1.0
    pseudo_count: float = 0.0
    shares: tuple[float, ...] = ()
    orders: tuple[int, ...] = ()

    def concentrations(self, way: Way, s: Floats) -> Floats:
        """The concentrations of a way by level, multiplied."""
        return s * np.where(way.kinds == SOURCE, self.source_factor, self.parent_factor)

    def of_regression(self, place: int) -> tuple[int, float, float]:
        """The order, the share and the factor of the source of one regression."""
        order = self.orders[place] if self.orders else 0
        return order, self.shares[place] if self.shares else 0.0, self.source_factor


def shrunken_means(chain: FittedChain, shrinking: Shrinking) -> Floats:
    """The means of a chain under a shrinking, in the shape of ``chain.means``."""
    rows, total = chain.rows + shrinking.pseudo_count, np.zeros_like(chain.means)
    for i, (way, s) in enumerate(zip(chain.ways, chain.s, strict=True)):
        changed = shrinking.concentrations(way, s)
        *_, mean = settle(rows, way.up, way.start, way.rho, changed, FIT_ROUNDS, TOLERANCE)
        total += chain.weighted(i, mean)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class GraphChains:
    """The families of one graph, fitted.

    Parameters
    ----------
    chains
        Of the tables.
    regressions
        Of the continuous children, by each back-off order.
    logistic
        Discrete children of continuous parents, which are taken as they are.
    """

    chains: Sequence[FittedChain]
    regressions: Sequence[Sequence[RegressionChain]] = ()
    logistic: Sequence[Distribution] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """What networks say about the class of rows that are left out one at a time.

    Several graphs share families; each is asked about its own rows.

    Parameters
    ----------
    families
        The tables that have the class, of all graphs.
    regressions
        The regressions that have the class, of all graphs.
    others
        For each graph, the local distributions of all other nodes, the source among them.
    rows
        The rows, all of known class.
    target
        The class.
    graph
        The graph of each row.
    members
        For each graph, the children and parents of its families of the class.
    is_covered
        Whether all families of the class are known whole in a row, or end in nothing.
    """

    families: list[ClassFamily]
    regressions: list[ClassRegression]
    others: list[list[Distribution]]
    rows: Table
    target: str
    graph: Integers
    members: list[set[tuple[str, ...]]]
    is_covered: Bools

    @classmethod
    def of(
        cls,
        graphs: Sequence[GraphChains],
        rows: Table,
        target: str,
        graph: Integers | None = None,
    ) -> LeftOut:
        """Graphs fitted to a table that has these rows, and the graph of each row."""
        families: dict[tuple[str, ...], ClassFamily] = {}
        numbers: dict[tuple[str, ...], ClassRegression] = {}
        others, members = [], []
        graph = np.zeros(rows.n_rows, np.int64) if graph is None else graph
        is_covered = np.zeros(rows.n_rows, np.bool_)
        for k, one in enumerate(graphs):
            mine = {_key_of(chain): chain for chain in one.chains}
            with_class = [key for key in mine if target in key]
            for key in with_class:
                if key not in families:
                    families[key] = ClassFamily.of(mine[key], rows, target)
            regressions = {_key_of_regression(chains): chains for chains in one.regressions}
            of_class = [key for key in regressions if target in key]
            for key in of_class:
                if key not in numbers:
                    numbers[key] = ClassRegression.of(list(regressions[key]), rows, target)
            members.append({*with_class, *of_class})
            others.append(_others(one, target))
            complete = {key: families[key].is_complete for key in with_class}
            complete |= {key: numbers[key].is_complete for key in of_class}
            needs_network = any(target in (x.child.name, *x.parents) for x in one.logistic)
            parents = {key[0]: key[1:] for key in (*mine, *regressions)}
            parents |= {x.child.name: x.parents for x in one.logistic}
            found = _ends_in_nothing(parents, complete, rows) & (not needs_network)
            is_covered |= found & (graph == k)
        everything = list(families.values()), list(numbers.values())
        return cls(*everything, others, rows, target, graph, members, is_covered)

    @property
    def n_classes(self) -> int:
        """Number of states of the class."""
        return self.rows.variables[self.target].n_states

    def outside(self, base: Shrinking) -> Floats:
        """What the incomplete families say under a shrinking; zero for rows that are covered."""
        logs = np.zeros((self.rows.n_rows, self.n_classes))
        if self.is_covered.all():
            return logs
        found = [family.shrunken(base)[0] for family in self.families]
        counted = np.zeros_like(logs)
        for family, means in zip(self.families, found, strict=True):
            counted += self._used(family.key, family.logs(means))
        for k, one in enumerate(self.regressions):
            counted += self._used(one.key, one.with_row(*base.of_regression(k)))
        # Beliefs end where numbers end, and so must what is taken off them.
        counted = np.maximum(log_softmax(counted, axis=1), LOG_TINY)
        for g, others in enumerate(self.others):
            rows = np.flatnonzero(~self.is_covered & (self.graph == g))
            if not rows.size:
                continue
            net = Network.of([*others, *self._shrunken(g, found, base)])
            beliefs = posteriors(net, self.rows.take(rows), self.target)
            logs[rows] = np.log(np.maximum(beliefs, TINY)) - counted[rows]
        return logs

    def of_tables(self, shrinking: Shrinking) -> Floats:
        """Sum of the log probabilities of the complete tables, rows left out."""
        total = np.zeros((self.rows.n_rows, self.n_classes))
        for family in self.families:
            means, ratios = family.shrunken(shrinking)
            total += self._used(family.key, family.logs(means) + ratios)
        return total

    def of_regression(self, place: int, order: int, share: float, source_factor: float) -> Floats:
        """Log densities of one regression where it is complete, rows left out."""
        one = self.regressions[place]
        return self._used(one.key, one.without_row(order, share, source_factor))

    def _shrunken(self, graph: int, means: Sequence[Floats], base: Shrinking) -> list[Distribution]:
        """The local distributions of a graph's families of the class."""
        mine = self.members[graph]
        return [
            *(f.chain.local(m) for f, m in zip(self.families, means, strict=True) if f.key in mine),
            *(
                one.local(*base.of_regression(k))
                for k, one in enumerate(self.regressions)
                if one.key in mine
            ),
        ]

    def _used(self, key: tuple[str, ...], logs: Floats) -> Floats:
        """Zero where the graph of a row does not have the family."""
        if len(self.members) == 1:
            return logs
        has = np.array([key in mine for mine in self.members])
        return np.where(has[self.graph][:, None], logs, 0.0)


def _key_of(chain: FittedChain) -> tuple[str, ...]:
    family = chain.counts.family
    return (family.child, *family.parents)


def _key_of_regression(chains: Sequence[RegressionChain]) -> tuple[str, ...]:
    moments = chains[0].moments
    return (moments.names[-1], *(one.name for one in moments.given), *moments.names[:-1])


def _others(graph: GraphChains, target: str) -> list[Distribution]:
    """The local distributions of a graph's families without the class, and of its source."""
    sources = {chain.source for chain in graph.chains if chain.source is not None}
    sources |= {
        with_new_source(one.moments.source) for one, *_ in graph.regressions if one.moments.source
    }
    return [
        *(one.local(one.means) for one in graph.chains if target not in _key_of(one)),
        *(one[0].local() for one in graph.regressions if target not in _key_of_regression(one)),
        *graph.logistic,
        # every row has a source, so its distribution does not matter
        *(source_shares(source, np.ones(source.n_states - 1)) for source in sources),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class ClassRegression:
    """A regression of the class with the rows that it counted.

    Parameters
    ----------
    chains
        The family's chain by each back-off order.
    rows
        The rows of a table that are complete for it.
    asked
        Their joint states if the class had each of its states; shape (complete rows, states).
    n_rows
        Number of rows of the table.
    """

    chains: list[RegressionChain]
    rows: RegressionRows
    asked: Integers
    n_rows: int

    @classmethod
    def of(cls, chains: list[RegressionChain], table: Table, target: str) -> ClassRegression:
        """The family, which has the target, and the rows of a table."""
        rows = RegressionRows.of(chains[0], table)
        step = 1
        for variable in reversed(chains[0].moments.given):
            if variable.name == target:
                break
            step *= variable.n_states
        truth = table.column(target)[rows.rows].astype(np.int64)
        classes = np.arange(table.variables[target].n_states)
        asked = rows.states[:, None] + step * (classes - truth[:, None])
        return cls(chains, rows, asked, table.n_rows)

    @property
    def key(self) -> tuple[str, ...]:
        """Names of the child and its parents."""
        return _key_of_regression(self.chains)

    @property
    def is_complete(self) -> Bools:
        """Whether each row of the table is complete for the family."""
        found = np.zeros(self.n_rows, np.bool_)
        found[self.rows.rows] = True
        return found

    def local(self, order: int, share: float, source_factor: float) -> LinearGaussian:
        """The local distribution by an order and its shrinking."""
        return self.chains[order].local(share, source_factor)

    def with_row(self, order: int, share: float, source_factor: float) -> Floats:
        """Log densities with all rows; shape (rows, states of the class), 0 where incomplete."""
        found = self.chains[order].with_row
        return self._spread([found(self.rows, one, share, source_factor) for one in self.asked.T])

    def without_row(self, order: int, share: float, source_factor: float) -> Floats:
        """The same with each row left out."""
        found = self.chains[order].left_out
        return self._spread([found(self.rows, one, share, source_factor) for one in self.asked.T])

    def _spread(self, columns: list[Floats]) -> Floats:
        found = np.zeros((self.n_rows, len(columns)))
        found[self.rows.rows] = np.column_stack(columns)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ClassFamily:
    """A family of the class with the rows that it counted.

    Equal observations are predicted once: ``places`` has for each row of a table the observation
    among ``homes``, -1 where the family has a gap. Cells are numbered row by row of level K.

    Parameters
    ----------
    chain
        The family's fitted chain.
    homes, amounts
        The cells that were observed, and how much of them one row is: one, or its weight if less.
    asked
        The same cells if the class had each of its states; shape (observations, states of it).
    places
        Shape (rows,).
    """

    chain: FittedChain
    homes: Integers
    amounts: Floats
    asked: Integers
    places: Integers

    @classmethod
    def of(cls, chain: FittedChain, table: Table, target: str) -> ClassFamily:
        """The family, which has the target, and the rows of a table."""
        counts = chain.counts
        source = [] if counts.source is None else [counts.source]
        cell, step = np.zeros(table.n_rows, np.int64), 0
        is_complete = np.ones(table.n_rows, np.bool_)
        for variable in (*source, *counts.given, counts.child):
            codes = table.column(variable.name)
            cell = cell * variable.n_states + codes
            step = 1 if variable.name == target else step * variable.n_states
            is_complete &= codes >= 0
        weight = np.ones(table.n_rows) if table.weights is None else table.weights
        seen = np.column_stack([cell, np.minimum(weight, 1.0), table.column(target)])[is_complete]
        observed, places = np.unique(seen, axis=0, return_inverse=True)
        homes, classes = observed[:, 0].astype(np.int64), observed[:, 2].astype(np.int64)
        n_classes = table.variables[target].n_states
        asked = homes[:, None] + step * (np.arange(n_classes) - classes[:, None])
        all_places = np.full(table.n_rows, -1)
        all_places[is_complete] = places.ravel()
        return cls(chain, homes, np.ascontiguousarray(observed[:, 1]), asked, all_places)

    @property
    def key(self) -> tuple[str, ...]:
        """Names of the child and its parents."""
        return _key_of(self.chain)

    @property
    def is_complete(self) -> Bools:
        """Whether each row of the table is complete for the family."""
        return np.asarray(self.places >= 0)

    def shrunken(self, shrinking: Shrinking) -> tuple[Floats, Floats]:
        """Roughly, the means under a shrinking, and log ratios that leave rows out of them.

        The ratios are those of the family's probabilities without and with the row, for each state
        of the class; 0 where the family has a gap. Shape (rows, states of the class).
        """
        chain = self.chain
        rows = chain.rows + shrinking.pseudo_count
        means, without = chain.means.copy(), np.zeros(self.asked.shape)
        seen = means[: len(rows)]  # no row is of a source never seen: those means may stay
        seen[:] = 0.0
        row = self.asked // rows.shape[1]
        for i, (way, s) in enumerate(zip(chain.ways, chain.s, strict=True)):
            share = chain.row_shares(i)
            if not share.any():
                continue
            changed, up, start = shrinking.concentrations(way, s), way.up, way.start
            settled = settle(rows, up, start, way.rho, changed, FIT_ROUNDS, ROUGH)
            seen += share * settled[-1][start[-2] :]
            without += share[row, 0] * leave_out(
                *settled, changed, up, start, self.homes, self.amounts, self.asked
            )
        ratios = np.log(without / means.ravel()[self.asked])
        return means, np.vstack([ratios, np.zeros((1, ratios.shape[1]))])[self.places]

    def logs(self, means: Floats) -> Floats:
        """Log probabilities of rows by these means; 0 where the family has a gap."""
        found = np.log(means.ravel()[self.asked])
        return np.vstack([found, np.zeros((1, found.shape[1]))])[self.places]


def _ends_in_nothing(
    parents: dict[str, tuple[str, ...]], of_class: dict[tuple[str, ...], Bools], rows: Table
) -> Bools:
    """Rows in which each family of the class is complete or leads to nothing recorded."""
    below: dict[str, Bools] = {}

    def recorded_below(node: str) -> Bools:
        if node not in below:
            found = np.zeros(rows.n_rows, np.bool_)
            for child, given in parents.items():
                if node in given:
                    found |= _is_known(rows, child) | recorded_below(child)
            below[node] = found
        return below[node]

    covered = np.ones(rows.n_rows, np.bool_)
    for (child, *_), is_complete in of_class.items():
        covered &= is_complete | ~(_is_known(rows, child) | recorded_below(child))
    return covered


def _is_known(rows: Table, name: str) -> Bools:
    column = rows.column(name)
    return np.asarray(~np.isnan(column) if column.dtype.kind == "f" else column >= 0)
