"""Centred moments of rows in memory: block by block, merged in the order of the blocks.

Blocks have a fixed number of rows, so the answer has the same bits for any number of threads, and
whatever else is asked for at once. The values of a block are read once for all sets of discrete
variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Codes, Floats, Integers
from consilience.data.table import Table
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError
from consilience.kernels.fine import add_rows_finely
from consilience.kernels.moments import center, join
from consilience.kernels.threads import each_part
from consilience.statistics.counts import parent_states_of, source_axis
from consilience.statistics.moments import Moments
from consilience.statistics.request import MomentsBySets

__all__ = ["moments_of"]

ROWS_PER_BLOCK = 1 << 14
"""What fits in the caches of a processor."""

MOST_SMALL = 1 << 16
"""Groups that numbers of two bytes tell apart."""

ROWS_PER_GROUP = 1 << 8
"""Blocks have at least this many rows for each group, or merging them costs more than they do."""

FEW = 16
"""Moments of more variables by group are quicker had by sorting the rows and multiplying matrices
than by a loop over the rows."""


def moments_of(table: Table, request: MomentsBySets, threads: int) -> list[Moments]:
    """The moments of all rows of a table, set by set."""
    sizes: dict[int, list[int]] = {}
    for i, by in enumerate(request.sets):
        rows_a_block = max(ROWS_PER_BLOCK, ROWS_PER_GROUP * _checked_groups(table, request, by))
        sizes.setdefault(min(rows_a_block, table.n_rows), []).append(i)
    Moments.empty(table.schema, request.names)  # refuses what is not continuous
    if table.n_rows == 0:
        return request.empty(table.schema)
    found: dict[int, Moments] = {}
    for size, places in sizes.items():
        sets = tuple(request.sets[i] for i in places)
        found |= zip(places, _in_blocks(table, request, sets, size, threads=threads), strict=True)
    return [found[i] for i in range(len(request.sets))]


def _checked_groups(table: Table, request: MomentsBySets, by: Sequence[str]) -> int:
    """The number of groups of a set that can be asked for."""
    d = len(request.names)
    for name in by:
        if table.schema[name].is_continuous:
            raise InputError(f"moments by {name!r}: it is continuous.", variable=name)
    if request.by_source and table.source in by:
        raise InputError(f"moments by {table.source!r}: the source is an axis of its own already.")
    n_groups = parent_states_of([table.schema[name] for name in by])
    source = source_axis(table.schema, by_source=request.by_source)
    n_groups *= 1 if source is None else source.n_states
    _check.memory(
        f"the moments of {d} variables in {n_groups} groups",
        8.0 * n_groups * (d + 1) ** 2 * (2 if request.fine else 1),
        request.memory_limit,
        "Ask for fewer variables, or raise memory_limit.",
    )
    return n_groups


def _in_blocks(
    table: Table, request: MomentsBySets, sets: Sequence[Sequence[str]], size: int, *, threads: int
) -> list[Moments]:
    """The moments by sets that have blocks of the same size."""
    n_blocks = -(-table.n_rows // size)

    def work(block_from: int, block_to: int) -> list[list[Moments]]:
        starts = range(block_from * size, block_to * size, size)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            blocks = (_Block.of(table, request, sets, slice(s, s + size)) for s in starts)
            return [[block.moments(by) for by in sets] for block in blocks]

    parts = each_part(n_blocks, min(threads, n_blocks), work)
    return [_total(some) for some in zip(*(one for part in parts for one in part), strict=True)]


def _total(blocks: Sequence[Moments]) -> Moments:
    with np.errstate(over="ignore", invalid="ignore"):
        total = reduce(Moments.merge, blocks)
    if not np.isfinite(total.scatter).all():
        raise DataError(
            f"the products of {_check.listed(total.names)} are too large for a float. Divide the "
            "columns by a constant."
        )
    return total


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some rows, those without any gap in the continuous variables.

    Parameters
    ----------
    names
        The continuous variables.
    source
        The source variable, or None if sources are pooled.
    values, weights
        Shape (continuous variables, rows), and the weights of the rows, or None if all are one.
    place, codes
        The discrete variables and their states, shape (discrete variables, rows); the source is
        the first one.
    n_rows
        Weight of all rows of each source, also of those with gaps.
    fine
        Whether twice the digits are kept.
    """

    names: tuple[str, ...]
    source: Variable | None
    values: Floats
    weights: Floats | None
    place: dict[str, tuple[int, Variable]]
    codes: Codes
    n_rows: Floats
    fine: bool

    @classmethod
    def of(
        cls, table: Table, request: MomentsBySets, sets: Sequence[Sequence[str]], rows: slice
    ) -> _Block:
        """The block of these rows."""
        source = source_axis(table.schema, by_source=request.by_source)
        names = dict.fromkeys(name for by in sets for name in by)
        n = len(range(*rows.indices(table.n_rows)))
        values, codes = np.empty((len(request.names), n)), np.zeros((1 + len(names), n), np.int32)
        for k, name in enumerate(request.names):
            values[k] = table.column(name)[rows]
        if source is not None and table.source_codes is not None:
            codes[0] = table.source_codes[rows]
        for k, name in enumerate(names):
            codes[1 + k] = table.column(name)[rows]
        weights = None if table.weights is None else table.weights[rows].astype(float)
        n_sources = 1 if source is None else source.n_states
        n_rows = np.bincount(codes[0], weights, minlength=n_sources).astype(float)
        is_known = ~np.isnan(values).any(axis=0)
        if not is_known.all():
            values, codes = values[:, is_known], codes[:, is_known]
            weights = None if weights is None else weights[is_known]
        place = {name: (1 + k, table.schema[name]) for k, name in enumerate(names)}
        rows_of_sources = _freeze.read_only(n_rows)
        return cls(
            request.names, source, values, weights, place, codes, rows_of_sources, request.fine
        )

    def moments(self, by: Sequence[str]) -> Moments:
        """The moments of the rows by the joint states of some discrete variables."""
        members = [self.place[name] for name in by]
        given = tuple(variable for _, variable in members)
        places = np.array([0, *(k for k, _ in members)])
        sizes = np.array([len(self.n_rows), *(variable.n_states for variable in given)])
        shape, d = (len(self.n_rows), parent_states_of(given)), len(self.names)
        n_groups = shape[0] * shape[1]
        sums: tuple[Floats, ...]
        sums = np.zeros(n_groups), np.zeros((n_groups, d)), np.zeros((n_groups, d, d))
        if n_groups > 1 and d <= FEW and not self.fine:
            weights = np.ones(self.values.shape[1]) if self.weights is None else self.weights
            center(self.values, weights, self.codes, places, sizes, *sums)
        else:
            group = np.empty(self.values.shape[1], np.int64)
            join(self.codes, places, sizes, group)
            sums = self._by_groups(group, sums)
        weight, mean, scatter, *rest = map(_freeze.read_only, sums)
        return Moments(
            self.names,
            given,
            self.source,
            weight.reshape(shape),
            mean.reshape(*shape, d),
            scatter.reshape(*shape, d, d),
            self.n_rows,
            *(one.reshape(*shape, *one.shape[1:]) for one in rest),
        )

    def _by_groups(self, group: Integers, sums: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Fill in weight, mean and scatter of each group, and what rounding leaves of fine ones.

        Rows of no group are left out.
        """
        values, weights, is_known = self.values.T, self.weights, group >= 0
        if not is_known.all():
            values, group = values[is_known], group[is_known]
            weights = None if weights is None else weights[is_known]
        weight, mean, scatter = sums
        _add_groups(values, weights, group, weight, mean=mean, scatter=scatter)
        if not self.fine:
            return sums
        return _finely(values, weights, group, weight, near=mean, scatter=scatter)


def _add_groups(
    values: Floats,
    weights: Floats | None,
    group: Integers,
    weight: Floats,
    *,
    mean: Floats,
    scatter: Floats,
) -> None:
    """Fill in weight, mean and scatter of each group of rows; without weights they count one."""
    n_groups = len(weight)
    ends = np.cumsum(np.bincount(group, minlength=n_groups)).tolist()
    if n_groups > 1:
        small = group.astype(np.uint16) if n_groups <= MOST_SMALL else group
        order = np.argsort(small, kind="stable")  # of small numbers in linear time
        values = values[order]
        weights = None if weights is None else weights[order]
    for g, (a, b) in enumerate(pairwise([0, *ends])):
        if a == b:
            continue
        x = values[a:b]
        w = np.ones(b - a) if weights is None else weights[a:b]
        weight[g] = w.sum()
        if weight[g] > 0:
            # Shifted by a row first: means of small differences keep the digits of large values.
            mean[g] = x[0] + w @ (x - x[0]) / weight[g]
            centered = x - mean[g]
            weighted = centered if weights is None else w[:, None] * centered
            scatter[g] = weighted.T @ centered


def _finely(
    values: Floats,
    weights: Floats | None,
    code: Integers,
    weight: Floats,
    *,
    near: Floats,
    scatter: Floats,
) -> tuple[Floats, ...]:
    """Weight, mean and scatter of each group, and what rounding leaves of the last two."""
    w = np.ones(len(values)) if weights is None else weights
    mean, fine = near.copy(), np.zeros_like(scatter)
    mean_rest, rest = np.zeros_like(mean), np.zeros_like(scatter)
    add_rows_finely(np.ascontiguousarray(values), w, code, weight, mean, fine, mean_rest, rest)
    return weight, mean, fine, mean_rest, rest
