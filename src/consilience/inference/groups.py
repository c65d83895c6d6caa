r"""Rows of evidence for one junction tree, answered a block at a time.

Rows that agree about a variable need no axis for it: its tables are sliced at the state. So the
rows are first grouped by the variables for which that pays, above all a source that is a parent of
every node. If the cliques have :math:`C` cells, and a variable of :math:`r` states that is known in
the share :math:`p` of the rows occurs in cliques with :math:`C_v` of them, then

.. math:: C' = C - p\,(1 - 1/r)\,C_v

cells are left for a row, and each of its :math:`d` different values, missing among them, makes a
group of its own of every group so far. Variables are added, the most useful first, while the work

.. math:: C\,(n + b\,g) + c\,g

of :math:`n` rows in :math:`g` groups falls; :math:`b` and :math:`c` are what a cell and a call of
the kernels cost before the first row.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from consilience._typing import Bools, Codes, Floats, Integers
from consilience.data.distinct import rows_alike
from consilience.inference.evidence import Scope
from consilience.inference.junction import Entry, JunctionTree
from consilience.kernels.propagation import collect, distribute, margins
from consilience.kernels.threads import each_part
from consilience.kernels.trees import Sizes, indicators

__all__ = ["Batch", "Upward"]

BLOCK_BYTES = 1 << 20  # tables and messages of a block stay in the second cache
MOST_ROWS = 512
CELL_COST = 4.0  # in rows: what a cell costs whatever the number of rows
GROUP_COST = 60_000.0  # in cells of one row: what a call costs whatever the number of cells


class _Group(NamedTuple):
    """What the kernels need to know about rows that agree: the states that are left of each
    variable and the first of them, and where tables and messages of a row start.
    """

    sizes: Sizes
    states: Sizes
    table_start: Integers
    message_start: Integers


class Upward(NamedTuple):
    """Tables of a block of rows after the first pass, as ``kernels/propagation.py`` has them.

    ``rows`` are the places of the rows in the batch. The table of clique ``c`` is
    ``tables[n * start[c]:n * start[c + 1]]`` for ``n`` rows; a variable of size one is known to be
    in its state of ``states``.
    """

    rows: Integers
    sizes: Integers
    states: Integers
    start: Integers
    tables: Floats
    log_evidence: Floats


class Batch:
    """Rows of evidence for one tree; threads take separate rows.

    Inside, the rows stand in the order of their groups, and ``_order`` has their own places.
    Beside the codes there may be likelihoods over scopes, for every joint state and row.
    """

    def __init__(
        self,
        tree: JunctionTree,
        columns: Mapping[str, Codes],
        n_rows: int,
        likelihoods: Mapping[Scope, Floats] | None = None,
    ) -> None:
        self.tree, self.n_rows = tree, n_rows
        names = [name for name in columns if name in tree.index]
        observed = np.array([tree.index[name] for name in names], np.int64)
        codes = np.empty((len(names), n_rows), np.int32)
        for k, name in enumerate(names):
            codes[k] = columns[name]
        agreed = _worth_grouping_by(tree, observed, codes)
        others = np.setdiff1d(np.arange(len(names)), agreed)
        n_states = tree.arrays.n_states.astype(np.int64)
        coded = ((codes[k], int(n_states[observed[k]])) for k in agreed)
        first, ranks = rows_alike(coded, n_rows)
        self._order = np.argsort(ranks, kind="stable")
        self._ends = np.append(0, np.cumsum(np.bincount(ranks)))  # of the groups
        self._agreed, self._agreed_codes = observed[agreed], codes[np.ix_(agreed, first)]
        self._observed = observed[others]
        self._codes = codes[others] if len(first) == 1 else codes[np.ix_(others, self._order)]
        self._n_states = n_states[self._observed]
        self._hard = [(names[k],) for k in others]
        self._entries: dict[tuple[Scope, ...], Entry] = {}
        self._take({} if likelihoods is None else likelihoods)

    def log_evidence(self) -> Floats:
        """Log probability of each row."""
        answer = np.empty(self.n_rows)

        def work(row_from: int, row_to: int) -> None:
            for group, rows in self._blocks(row_from, row_to, keeps_tables=False):
                answer[self._order[rows]] = self._collect(group, rows, keeps_tables=False)[-1]

        self._each_part(work)
        return answer

    def posteriors(self, target: str) -> tuple[Floats, Floats]:
        """Posterior of the variable that the tree eliminates last, and log probability, by row.

        The variable is not observed.
        """
        answer = np.empty((self.n_rows, self.tree.n_states[target]))
        log = np.empty(self.n_rows)

        def work(row_from: int, row_to: int) -> None:
            for group, rows in self._blocks(row_from, row_to, keeps_tables=False):
                tables, _, scales, log_evidence = self._collect(group, rows, keeps_tables=False)
                shared = group._replace(table_start=np.zeros_like(group.table_start))
                weight, _ = self._margins(((target,),), shared, tables, scales.shape[1])
                total = weight.sum(axis=0)
                is_possible = (total > 0) & (log_evidence > -np.inf)
                answer[self._order[rows]] = np.divide(
                    weight, total, out=np.zeros_like(weight), where=is_possible
                ).T
                log[self._order[rows]] = log_evidence

        self._each_part(work)
        return answer, log

    def beliefs(self, scopes: Mapping[Scope, Floats]) -> Floats:
        """Fill in the posteriors of scopes, shape (states..., rows); log probability of each row.

        Cliques hold the scopes. A row that is impossible is all zero.
        """
        answer = np.empty(self.n_rows)
        for group, rows in self._blocks(0, self.n_rows, keeps_tables=True):
            tables, messages, scales, log_evidence = self._collect(group, rows, keeps_tables=True)
            own = self._order[rows]
            answer[own] = log_evidence
            self._distribute(group, tables, messages, scales)
            self._write(scopes, group, tables, own)
        return answer

    def expected_sums(
        self,
        weights: Integers,
        dot: Callable[[Floats, Integers], Integers],
        beliefs: Mapping[Scope, Floats] = MappingProxyType({}),
        left_out: Mapping[str, Bools] = MappingProxyType({}),
    ) -> tuple[Integers, Floats]:
        """Weighted sums of the posteriors of all families; log probability of each row.

        ``dot`` weighs and adds the posteriors of rows, as whole numbers in rows of digits; the sums
        have the shape (digits, cells of the tree's tables, one after the other). A row that is
        impossible adds nothing and has minus infinity. The posteriors of the scopes in ``beliefs``,
        which cliques hold, are written there, shape (states..., rows). The rows in
        ``left_out[name]`` do not count for that family.
        """
        scopes = tuple(self.tree.tables.values())
        out = {k: left_out[name] for k, name in enumerate(self.tree.tables) if name in left_out}
        n_digits = len(dot(np.zeros((1, 0)), np.zeros(0, np.int64)))
        n_cells = self._entry(scopes).starts(self.tree.arrays.n_states)[-1]
        totals = np.zeros((n_digits, n_cells), np.int64)
        answer = np.empty(self.n_rows)
        for group, rows in self._blocks(0, self.n_rows, keeps_tables=True):
            tables, messages, scales, log_evidence = self._collect(group, rows, keeps_tables=True)
            own = self._order[rows]
            answer[own] = log_evidence
            self._distribute(group, tables, messages, scales)
            found, start = self._margins(scopes, group, tables, len(own))
            for k, is_out in out.items():
                found[start[k] : start[k + 1], is_out[own]] = 0.0
            self._add(dot(found, weights[own]), start, group, totals)
            self._write(beliefs, group, tables, own)
        return totals, answer

    def by_family(self, sums: Integers) -> dict[str, Integers]:
        """Sums over the cells of all tables in the shapes of these, digits first; not copied."""
        n_states, first, found = self.tree.n_states, 0, {}
        for name, axes in self.tree.tables.items():
            shape = [n_states[axis] for axis in axes]
            stop = first + math.prod(shape)
            found[name] = sums[:, first:stop].reshape(-1, *shape)
            first = stop
        return found

    def upward(self) -> Iterator[Upward]:
        """The tables of the cliques after the first pass, a block of rows at a time."""
        for group, rows in self._blocks(0, self.n_rows, keeps_tables=True):
            tables, _, _, log_evidence = self._collect(group, rows, keeps_tables=True)
            yield Upward(
                self._order[rows],
                group.sizes.astype(np.int64),
                group.states.astype(np.int64),
                group.table_start,
                tables,
                log_evidence,
            )

    def with_tables(
        self, tables: Mapping[str, Floats], likelihoods: Mapping[Scope, Floats] | None = None
    ) -> Batch:
        """The same rows under other tables, which need not be normalised, and likelihoods."""
        changed = copy(self)
        changed.tree = self.tree.with_tables(tables)
        if likelihoods is not None:
            changed._take(likelihoods)  # noqa: SLF001 - its own kind
        return changed

    def _take(self, likelihoods: Mapping[Scope, Floats]) -> None:
        """Keep likelihoods in the order of the groups, and what bounds all from below."""
        is_in_order = len(self._ends) == 2  # one group has the rows in their own order
        self.likelihoods = {
            scope: one if is_in_order else one[..., self._order]
            for scope, one in likelihoods.items()
        }
        soft = [np.min(one, where=one > 0.0, initial=1.0) for one in likelihoods.values()]
        self._least = np.array([*np.ones(len(self._hard)), *soft])

    def _entry(self, scopes: tuple[Scope, ...]) -> Entry:
        """Where likelihoods enter, found once for all blocks and tables."""
        if scopes not in self._entries:
            self._entries[scopes] = self.tree.entry(scopes)
        return self._entries[scopes]

    def _add(self, sums: Integers, start: Integers, group: _Group, totals: Integers) -> None:
        """Add sums over the states of families that the group leaves to those over all states."""
        if totals.shape == sums.shape:  # it leaves all
            totals += sums
            return
        for (name, total), (a, b) in zip(
            self.by_family(totals).items(), pairwise(start.tolist()), strict=True
        ):
            axes = self.tree.tables[name]
            sizes = self._sizes(axes, group)
            for digits, one in zip(total, sums, strict=True):
                self._left(axes, group, digits)[...] += one[a:b].reshape(sizes)

    def _write(
        self, beliefs: Mapping[Scope, Floats], group: _Group, tables: Floats, own: Integers
    ) -> None:
        """Write the posteriors of scopes in some rows, which are in these places."""
        if not beliefs:
            return
        found, start = self._margins(tuple(beliefs), group, tables, len(own))
        for (scope, belief), (a, b) in zip(beliefs.items(), pairwise(start), strict=True):
            sizes = self._sizes(scope, group)
            belief[..., own] = 0.0
            self._left(scope, group, belief)[..., own] = found[a:b].reshape(*sizes, len(own))

    def _margins(
        self, scopes: tuple[Scope, ...], group: _Group, tables: Floats, n_rows: int
    ) -> tuple[Floats, Integers]:
        """Posteriors of scopes in each row, shape (states that are left, rows), and where those of
        each start.
        """
        tree, entry = self.tree, self._entry(scopes)
        start = entry.starts(group.sizes)
        out = np.zeros(start[-1] * n_rows)
        margins(
            tree.arrays,
            group.sizes,
            group.states,
            n_rows,
            *entry[1:],
            group.table_start * n_rows,
            tables,
            start[entry.order] * n_rows,
            start[entry.order + 1] * n_rows,
            out,
            tree.room(n_rows),
        )
        return out.reshape(-1, n_rows), start

    def _left(self, names: Scope, group: _Group, array: Floats) -> Floats:
        """The part of an array over all states that the group leaves."""
        v = self._numbers(names)
        first, left = group.states[v].astype(int), group.sizes[v].astype(int)
        return array[tuple(slice(a, a + n) for a, n in zip(first, left, strict=True))]

    def _sizes(self, names: Scope, group: _Group) -> tuple[int, ...]:
        return tuple(group.sizes[self._numbers(names)].astype(int).tolist())

    def _numbers(self, names: Scope) -> Integers:
        return np.array([self.tree.index[name] for name in names], np.int64)

    def _collect(
        self, group: _Group, rows: slice, *, keeps_tables: bool
    ) -> tuple[Floats, Floats, Floats, Floats]:
        arrays, n = self.tree.arrays, rows.stop - rows.start
        more = {scope: self._left(scope, group, one) for scope, one in self.likelihoods.items()}
        sizes = [*self._n_states, *(math.prod(one.shape[:-1]) for one in more.values())]
        start = np.array([0, *accumulate(sizes)], np.int64) * n
        values = np.empty(start[-1])
        codes = np.ascontiguousarray(self._codes[:, rows])
        indicators(codes, self._n_states, start, n, values)
        for at, one in zip(start[len(self._hard) :], more.values(), strict=False):
            part = one[..., rows]
            values[at : at + part.size] = part.ravel()
        likely = self._entry((*self._hard, *more)).of(start, values, self._least)
        table_start = group.table_start * n if keeps_tables else np.zeros_like(group.table_start)
        tables = np.empty(_cells_a_row(group, keeps_tables=keeps_tables) * n)
        messages = np.empty(group.message_start[-1] * n)
        scales, log_evidence = np.empty((len(arrays.parent), n)), np.empty(n)
        collect(
            arrays,
            group.sizes,
            group.states,
            likely,
            n,
            table_start,
            tables,
            group.message_start * n,
            messages,
            scales,
            log_evidence,
            self.tree.room(n),
        )
        return tables, messages, scales, log_evidence

    def _distribute(self, group: _Group, tables: Floats, messages: Floats, scales: Floats) -> None:
        n = scales.shape[1]
        distribute(
            self.tree.arrays,
            group.sizes,
            group.states,
            n,
            group.table_start * n,
            tables,
            group.message_start * n,
            messages,
            scales,
            np.empty_like(messages),
            self.tree.room(n),
        )

    def _blocks(
        self, row_from: int, row_to: int, *, keeps_tables: bool
    ) -> Iterator[tuple[_Group, slice]]:
        """Rows from one place to another, each block from one group."""
        number = int(np.searchsorted(self._ends, row_from, side="right")) - 1
        while row_from < row_to:
            group, stop = self._group(number), min(int(self._ends[number + 1]), row_to)
            cells_a_row = _cells_a_row(group, keeps_tables=keeps_tables)
            bytes_a_row = 8 * (cells_a_row + int(group.message_start[-1]))
            n = min(max(BLOCK_BYTES // max(bytes_a_row, 1), 1), MOST_ROWS)
            for first in range(row_from, stop, n):
                yield group, slice(first, min(first + n, stop))
            row_from, number = stop, number + 1

    def _group(self, number: int) -> _Group:
        n_states, codes = self.tree.arrays.n_states, self._agreed_codes[:, number]
        sizes, states = n_states.copy(), np.zeros_like(n_states)
        known = self._agreed[codes >= 0]
        sizes[known], states[known] = 1, codes[codes >= 0]
        return _Group(sizes, states, *self.tree.starts(sizes))

    def _each_part(self, work: Callable[[int, int], None]) -> None:
        n_parts = min(os.cpu_count() or 1, max(1, self.n_rows // MOST_ROWS))
        each_part(self.n_rows, n_parts, work)


def _cells_a_row(group: _Group, *, keeps_tables: bool) -> int:
    """Cells of all tables, or of the one that the cliques share."""
    start = group.table_start
    return int(start[-1] if keeps_tables else np.diff(start).max(initial=0))


def _worth_grouping_by(tree: JunctionTree, observed: Integers, codes: Codes) -> Integers:
    """Places of the observed variables by which to group the rows, by the rule of the module."""
    arrays = tree.arrays
    cells = np.diff(tree.starts(arrays.n_states)[0]).astype(float)
    clique = np.repeat(np.arange(len(cells)), np.diff(arrays.start))
    n_rows, n_groups = codes.shape[1], 1.0
    counts = [np.bincount(column + 1, minlength=1) for column in codes]  # missing first
    n_codes = np.array([np.count_nonzero(one) for one in counts])
    n_known = np.array([n_rows - one[0] for one in counts])
    saved = n_known / max(n_rows, 1) * (1 - 1 / arrays.n_states[observed])
    chosen: list[int] = []
    while len(chosen) < len(observed):
        by_variable = np.bincount(arrays.axes, cells[clique], len(arrays.n_states))
        left = cells.sum() - saved * by_variable[observed]
        work = left * (n_rows + CELL_COST * n_groups * n_codes) + GROUP_COST * n_groups * n_codes
        work[chosen] = np.inf
        best = int(np.argmin(work))
        if work[best] >= cells.sum() * (n_rows + CELL_COST * n_groups) + GROUP_COST * n_groups:
            break
        chosen.append(best)
        cells[clique[arrays.axes == observed[best]]] *= 1 - saved[best]
        n_groups *= n_codes[best]
    return np.array(chosen, np.int64)
