r"""Rows with gaps, prepared once for many rounds of inference in one graph.

EM, variational Bayes and data augmentation ask the same question again and again with other
numbers in the tables: what are the missing values of each row? What does not depend on the numbers
is done once, in :meth:`Cases.of`:

- a family of which a row has everything adds the same count in every round;
- a missing value below which nothing is known is left out with its family: to fill it would say
  nothing and only slow the climb (so naive Bayes with gaps in its features needs no second round);
- the other missing values of a row fall apart into hidden sets that are independent given the row
  (``kernels/cases.py``); for each of them only the families that touch it matter, so rows that
  agree about those share one case;
- rows with a hidden set of more than ``MOST_JOINT_STATES`` joint states go through the junction
  tree of the whole network, which is compiled once.

A round then costs time in proportion to the different cases, which grow far more slowly than the
rows. The expected counts of the families are

.. math:: N_{jk} = \sum_{\text{rows } i} w_i\, P(\mathrm{Pa} = j, X = k \mid x_i) ,

over the rows in which X is not left out.

Sources are no special case: the source is a node that every row has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from consilience import _check
from consilience._typing import Bools, Codes, Floats, Integers
from consilience.data.distinct import rows_alike
from consilience.data.table import Table, code_type
from consilience.errors import DataError, ImpossibleEvidenceError
from consilience.graph.moral import moral_graph
from consilience.inference.batch import network_codes
from consilience.inference.large_cases import LargeCases, number_lists
from consilience.inference.layout import Layout
from consilience.inference.traceback import best_rows, draw_rows, expand_rows
from consilience.kernels.cases import (
    CaseArrays,
    case_offsets,
    draw_cases,
    expect_cases,
    hidden_sets,
    hide_barren,
    merge_cases,
)
from consilience.network.network import MEMORY_LIMIT, Network, discrete_only

__all__ = ["Cases", "Completions", "Expected", "check_whole_weights"]

MOST_JOINT_STATES = 512
"""Hidden sets with more joint states than this go through the junction tree."""


_NONE = np.zeros(0, np.int64)


class Expected(NamedTuple):
    """Expected counts of every family in the shape of its table, and the log-likelihood of what
    the rows record.
    """

    counts: dict[str, Floats]
    log_likelihood: float


class Completions(NamedTuple):
    """Joint completions of rows: for each, its row, its states and its posterior weight.

    The weights of a row's completions add up to the weight of the row.
    """

    rows: Integers
    columns: dict[str, Codes]
    weights: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The rows of a table as cases of one graph.

    Attributes
    ----------
    net
        The network whose graph the cases are for.
    layout
        How its tables stand in a vector.
    counted
        Counts, as a vector, of the families of which rows have everything.
    small
        The cases of hidden sets that are enumerated.
    large
        The rows for the junction tree, or None.
    """

    net: Network
    layout: Layout
    counted: Floats
    small: CaseArrays
    large: LargeCases | None
    _rows: _Rows

    @classmethod
    def of(cls, net: Network, table: Table, *, memory_limit: float = MEMORY_LIMIT) -> Cases:
        """Prepare the rows of a table for the graph of a network; its numbers are not used.

        A column that the table lacks, or has nothing in, is missing in every row.

        Examples
        --------
        >>> import consilience as cs
        >>> rows = cs.read({"x": ["a", "b", None], "y": ["c", "d", "c"]})
        >>> net = cs.fit(cs.DAG([("x", "y")]), rows, cs.MLE())
        >>> tables = {"x": [0.5, 0.5], "y": [[0.75, 0.25], [0.25, 0.75]]}
        >>> Cases.of(net, rows).expected(tables).counts["x"]  # P(x = a | y = c) is 3/4
        array([1.75, 1.25])
        """
        discrete_only("Cases", net)
        layout = Layout.of(net)
        rows = _Rows.of(net, table)
        pairs = _Pairs.of(net, rows)
        is_large = np.zeros(len(rows.codes), bool)
        is_large[pairs.rows[pairs.n_joint[pairs.of_set] > MOST_JOINT_STATES]] = True
        counted = _counted(net, layout, rows, ~is_large)
        small = pairs.cases(net, layout, rows, ~is_large[pairs.rows], memory_limit)
        large = _large(net, rows, np.flatnonzero(is_large), memory_limit)
        return cls(net, layout, counted, small, large, rows)

    def expected(self, tables: Mapping[str, Floats]) -> Expected:
        """Expected counts under these tables; they need not be normalised.

        The log-likelihood is minus infinity if a row is impossible; it then does not count.
        """
        counts, log_likelihood = self.expect(self.layout.flatten(tables))
        return Expected(self.layout.split(counts), log_likelihood)

    def expect(self, theta: Floats) -> tuple[Floats, float]:
        """Expected counts and log-likelihood, with tables and counts as vectors."""
        counts = self.counted.copy()
        is_counted = counts > 0
        with np.errstate(divide="ignore"):
            log_likelihood = float(counts[is_counted] @ np.log(theta[is_counted]))
        log_likelihood += expect_cases(self.small, theta, counts, self._room())
        if self.large is not None:
            log_likelihood += self.large.expect(self.layout, theta, counts)
        return counts, log_likelihood

    def drawn(self, tables: Mapping[str, Floats], rng: np.random.Generator) -> dict[str, Floats]:
        """Counts of the families in one random joint completion of all rows."""
        return self.layout.split(self.draw(self.layout.flatten(tables), rng))

    def draw(self, theta: Floats, rng: np.random.Generator) -> Floats:
        """Counts of one random joint completion, with tables and counts as vectors."""
        counts = self.counted.copy()
        n_draws = int(self.small.weight.sum())
        states, room = np.empty(n_draws, np.int32), self._room()
        if not draw_cases(self.small, theta, rng.random(n_draws), counts, states, room):
            raise ImpossibleEvidenceError("a row has probability zero under the network.")
        if self.large is not None:
            self.large.draw(self.layout, theta, counts, rng)
        return counts

    def completed(
        self, tables: Mapping[str, Floats], rng: np.random.Generator | None = None
    ) -> dict[str, Codes]:
        """The columns with every gap filled: the most probable joint completion of each row.

        With a generator, a random joint completion of each row from its posterior instead.
        """
        every = _large(self.net, self._rows, self._rows.incomplete(), MEMORY_LIMIT)
        codes = self._rows.codes[self._rows.ranks] if rng is not None else self._rows.codes.copy()
        if rng is None:
            if every is not None:
                codes[every.rows] = best_rows(every.at(tables).tree, every.codes)
            return self._rows.columns(codes[self._rows.ranks])
        if every is None:
            return self._rows.columns(codes)
        has_gap = np.flatnonzero((codes < 0).any(axis=1))
        each = np.searchsorted(every.rows, self._rows.ranks[has_gap])
        codes[has_gap] = draw_rows(every.at(tables), each, rng)
        return self._rows.columns(codes)

    def completions(self, tables: Mapping[str, Floats], smallest: float = 1e-6) -> Completions:
        """Every joint completion of every row with its posterior weight.

        Completions of a smaller posterior than ``smallest`` are cut and the others of the row
        scaled up. Equal rows are merged, so there may be fewer rows than in the table.
        """
        rows, incomplete = self._rows, self._rows.incomplete()
        complete = np.setdiff1d(np.arange(len(rows.codes)), incomplete)
        every = _large(self.net, rows, incomplete, MEMORY_LIMIT)
        place, codes, weights = complete, rows.codes[complete], rows.weights[complete]
        if every is not None:
            which, filled, share = expand_rows(every.at(tables), smallest)
            place = np.concatenate([place, incomplete[which]])
            codes = np.concatenate([codes, filled])
            weights = np.concatenate([weights, share * rows.weights[incomplete[which]]])
        return Completions(place, rows.columns(codes), weights)

    def _room(self) -> Floats:
        return np.empty(max(1, int(self.small.n_joint.max(initial=1))))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The different rows of a table in codes of the network: shape (rows, nodes)."""

    net: Network
    codes: npt.NDArray[np.int32]
    weights: Floats
    ranks: Integers

    @classmethod
    def of(cls, net: Network, table: Table) -> _Rows:
        columns = network_codes(net, table)
        coded = ((column, net.variables[name].n_states) for name, column in columns.items())
        first, ranks = rows_alike(coded, table.n_rows) if table.n_rows else (_NONE, _NONE)
        codes = np.full((len(first), len(net.variables)), -1, np.int32)
        for v, name in enumerate(net.variables):
            if name in columns:
                codes[:, v] = columns[name][first]
        weights = None if table.weights is None else table.weights.astype(float)
        return cls(net, codes, np.bincount(ranks, weights).astype(float), ranks)

    def incomplete(self) -> Integers:
        """Places of the rows in which something is missing."""
        return np.flatnonzero((self.codes < 0).any(axis=1))

    def columns(self, codes: npt.NDArray[np.int32]) -> dict[str, Codes]:
        """Rows of codes as a column for each node."""
        return {
            name: codes[:, v].astype(code_type(variable.n_states))
            for v, (name, variable) in enumerate(self.net.variables.items())
        }


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of a row and one of its hidden sets; sets are numbered, equal ones alike.

    ``members[s]`` are the variables of set ``s``, ``barren[s]`` their children that are barren, and
    ``n_joint[s]`` the number of joint states of the members.
    """

    rows: Integers
    of_set: npt.NDArray[np.int32]
    members: tuple[tuple[int, ...], ...]
    barren: tuple[tuple[int, ...], ...]
    n_joint: Floats

    @classmethod
    def of(cls, net: Network, rows: _Rows) -> _Pairs:
        names = list(net.variables)
        near = number_lists(net, moral_graph(net.dag))
        children = number_lists(net, {name: net.dag.children(name) for name in names})
        codes = rows.codes.copy()
        hide_barren(codes, *children)
        pair_rows, starts, members = hidden_sets(codes, *near, *children)
        ranks, firsts = _ranks_of_sets(starts, members, 2 * len(names))
        listed = [members[starts[p] : starts[p + 1]] for p in firsts]
        sets = tuple(tuple(one[one < len(names)].tolist()) for one in listed)
        barren = tuple(tuple((one[one >= len(names)] - len(names)).tolist()) for one in listed)
        n_states = [float(variable.n_states) for variable in net.variables.values()]
        n_joint = np.array([np.prod([n_states[v] for v in one]) for one in sets])
        return cls(pair_rows, ranks.astype(np.int32), sets, barren, n_joint)

    def cases(
        self, net: Network, layout: Layout, rows: _Rows, kept: Bools, memory_limit: float
    ) -> CaseArrays:
        """The cases of the pairs that are kept, equal ones merged."""
        shape = _Shape.of(net, layout)
        is_small = self.n_joint <= MOST_JOINT_STATES
        sets = [one if small else () for one, small in zip(self.members, is_small, strict=True)]
        touched = [shape.touched(*one) for one in zip(sets, self.barren, strict=True)]
        n_families = np.array([len(one) for one in touched], np.int64)
        pairs = np.flatnonzero(kept)
        pair_rows, of_set = self.rows[pairs], self.of_set[pairs]
        first = np.append(0, np.cumsum(n_families[of_set])).astype(np.int64)
        _check.memory(
            "the cases of the incomplete rows", 4.0 * first[-1], memory_limit, "Use fewer rows."
        )
        offset = np.empty(first[-1], np.int32)
        key = np.empty(len(pairs), np.uint64)
        case_offsets(
            rows.codes,
            pair_rows,
            of_set,
            first,
            np.array([f for one in touched for f in one], np.int64),
            np.append(0, np.cumsum(n_families)).astype(np.int64),
            layout.first,
            shape.axes,
            shape.strides,
            shape.axes_first,
            offset,
            key,
        )
        order = np.lexsort((key, of_set))
        case_of = np.empty(len(pairs), np.int64)
        leaders = merge_cases(order, of_set, first, offset, case_of)
        weight = np.bincount(case_of, rows.weights[pair_rows], minlength=len(leaders))
        taken = np.concatenate([np.arange(first[p], first[p + 1]) for p in leaders] or [first[:0]])
        inside = [shape.inside(one, families) for one, families in zip(sets, touched, strict=True)]
        return CaseArrays(
            of_set[leaders],
            weight.astype(float),
            np.append(0, np.cumsum(n_families[of_set[leaders]])).astype(np.int64),
            offset[taken],
            np.where(is_small, self.n_joint, 1).astype(np.int64),
            n_families,
            np.concatenate([*(one.ravel() for one in inside), np.zeros(0)]).astype(np.int32),
            np.append(0, np.cumsum([one.size for one in inside])).astype(np.int64),
        )


def _ranks_of_sets(
    starts: Integers, members: npt.NDArray[np.int32], n_variables: int
) -> tuple[Integers, Integers]:
    """For each set of members a number, equal sets alike; and the first set of each number."""
    n_sets = len(starts) - 1
    if not n_sets:
        return _NONE, _NONE
    n_words = n_variables // 32 + 1
    words = np.zeros((n_sets, n_words), np.int64)
    of_set = np.repeat(np.arange(n_sets), np.diff(starts))
    used = members[: starts[-1]].astype(np.int64)
    np.add.at(words, (of_set, used // 32), np.int64(1) << (used % 32))
    first, ranks = rows_alike(((column, 2**32) for column in words.T), n_sets)
    return ranks, first


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """The families of a network as flat arrays: variables and strides of each."""

    n_states: tuple[int, ...]
    axes: npt.NDArray[np.int32]
    strides: Integers
    axes_first: Integers
    families_of: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, net: Network, layout: Layout) -> _Shape:
        index = {name: v for v, name in enumerate(net.variables)}
        axes = [[index[n] for n in (*net.tables[name].parents, name)] for name in layout.shapes]
        strides = [
            [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
            for shape in layout.shapes.values()
        ]
        families = [[f for f, one in enumerate(axes) if v in one] for v in range(len(index))]
        return cls(
            tuple(variable.n_states for variable in net.variables.values()),
            np.array([v for one in axes for v in one], np.int32),
            np.array([step for one in strides for step in one], np.int64),
            np.append(0, np.cumsum([len(one) for one in axes])).astype(np.int64),
            tuple(map(tuple, families)),
        )

    def touched(self, members: tuple[int, ...], barren: tuple[int, ...]) -> list[int]:
        """The families that have one of these variables, without those of the barren ones.

        Families are numbered like their children.
        """
        return sorted({f for v in members for f in self.families_of[v]} - set(barren))

    def inside(self, members: tuple[int, ...], families: list[int]) -> Integers:
        """How far into each family every joint state of the members leads.

        Shape (families, joint states); the last member varies fastest.
        """
        sizes = [self.n_states[v] for v in members]
        out = np.zeros((len(families), *sizes), np.int64)
        for k, f in enumerate(families):
            for a in range(self.axes_first[f], self.axes_first[f + 1]):
                if self.axes[a] in members:
                    at = members.index(int(self.axes[a]))
                    step = self.strides[a] * np.arange(sizes[at])
                    out[k] += step.reshape([-1 if i == at else 1 for i in range(len(sizes))])
        return out.reshape(len(families), int(np.prod(sizes)))


def _counted(net: Network, layout: Layout, rows: _Rows, is_kept: Bools) -> Floats:
    """Counts of the families of which the kept rows have everything, as a vector."""
    index = {name: v for v, name in enumerate(net.variables)}
    tables = {}
    for name, shape in layout.shapes.items():
        columns = [rows.codes[:, index[n]] for n in (*net.tables[name].parents, name)]
        known = np.flatnonzero(is_kept & np.logical_and.reduce([c >= 0 for c in columns]))
        place = np.ravel_multi_index([column[known] for column in columns], shape)
        counts = np.bincount(place, rows.weights[known], minlength=int(np.prod(shape)))
        tables[name] = counts.astype(float)
    return layout.flatten(tables)


def _large(net: Network, rows: _Rows, places: Integers, memory_limit: float) -> LargeCases | None:
    if not len(places):
        return None
    return LargeCases.of(net, places, rows.codes[places], rows.weights[places], memory_limit)


def check_whole_weights(owner: str, table: Table) -> None:
    """Refuse fractional weights where rows are drawn one by one."""
    if table.weights is not None and (np.floor(table.weights) != table.weights).any():
        row = int(np.flatnonzero(np.floor(table.weights) != table.weights)[0])
        raise DataError(
            f"{owner} completes whole rows, but row {row + 1} has the weight "
            f"{table.weights[row]:g}. Use whole-number weights.",
            row=row + 1,
        )
