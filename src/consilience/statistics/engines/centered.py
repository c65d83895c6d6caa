"""Centred moments of rows in memory: block by block, merged in the order of the blocks.

Blocks have a fixed number of rows, so the answer has the same bits for any number of threads.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np

from consilience import _check
from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.kernels.threads import each_part
from consilience.statistics.counts import parent_states_of, source_axis
from consilience.statistics.moments import Moments
from consilience.statistics.request import MomentRequest

__all__ = ["moments_of"]

ROWS_A_BLOCK = 1 << 14
"""What fits in the caches of a processor."""

MOST_SMALL = 1 << 16
"""Groups that numbers of two bytes tell apart."""

ROWS_A_GROUP = 1 << 8
"""Blocks have at least this many rows for each group, or merging them costs more than they do."""


def moments_of(table: Table, request: MomentRequest, threads: int) -> Moments:
    """The moments of all rows of a table."""
    _check_request(table, request)
    empty = request.empty(table.schema)
    size = max(ROWS_A_BLOCK, ROWS_A_GROUP * empty.weight.size)
    n_blocks = -(-table.n_rows // size)

    def work(block_from: int, block_to: int) -> list[Moments]:
        starts = range(block_from * size, block_to * size, size)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            return [_block(table, request, slice(start, start + size)) for start in starts]

    parts = each_part(n_blocks, min(threads, max(1, n_blocks)), work)
    blocks = [block for part in parts for block in part]
    with np.errstate(over="ignore", invalid="ignore"):
        total = reduce(Moments.merge, blocks[1:], blocks[0]) if blocks else empty
    if not np.isfinite(total.scatter).all():
        raise DataError(
            f"the products of {_check.listed(request.names)} are too large for a float. Divide the "
            "columns by a constant."
        )
    return total


def _check_request(table: Table, request: MomentRequest) -> None:
    d = len(request.names)
    for name in request.by:
        if table.schema[name].is_continuous:
            raise InputError(f"moments by {name!r}: it is continuous.", variable=name)
    if request.by_source and table.source in request.by:
        raise InputError(f"moments by {table.source!r}: the source is an axis of its own already.")
    groups = parent_states_of([table.schema[name] for name in request.by])
    source = source_axis(table.schema, by_source=request.by_source)
    groups *= 1 if source is None else source.n_states
    _check.memory(
        f"the moments of {d} variables in {groups} groups",
        8.0 * groups * (d + 1) ** 2,
        request.memory_limit,
        "Ask for fewer variables, or raise memory_limit.",
    )


def _block(table: Table, request: MomentRequest, rows: slice) -> Moments:
    empty = request.empty(table.schema)
    n_sources, n_groups = empty.weight.shape
    shape = len(range(*rows.indices(table.n_rows))), len(request.names)
    values = np.empty(shape, order="F")  # column by column, as they are read
    group, is_known = _group_code(table, request, rows)
    for k, name in enumerate(request.names):
        values[:, k] = table.column(name)[rows]
        is_known &= ~np.isnan(values[:, k])
    weights = None if table.weights is None else table.weights[rows].astype(float)
    source = np.zeros(len(values), np.int64)
    if empty.source and table.source_codes is not None:
        source = table.source_codes[rows].astype(np.int64)
    known = slice(None) if is_known.all() else is_known
    weight, mean, scatter = _grouped(
        values[known],
        None if weights is None else weights[known],
        (source * n_groups + group)[known],
        n_sources * n_groups,
    )
    n_rows = np.bincount(source, weights, minlength=n_sources).astype(float)
    return Moments(
        empty.names,
        empty.given,
        empty.source,
        weight.reshape(empty.weight.shape),
        mean.reshape(empty.mean.shape),
        scatter.reshape(empty.scatter.shape),
        n_rows,
    )


def _group_code(
    table: Table, request: MomentRequest, rows: slice
) -> tuple[Integers, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    n_rows = len(range(*rows.indices(table.n_rows)))
    code, is_known = np.zeros(n_rows, np.int64), np.ones(n_rows, bool)
    for name in request.by:
        column = table.column(name)[rows]
        is_known &= column >= 0
        code = code * table.schema[name].n_states + np.maximum(column, 0)
    return code, is_known


def _grouped(
    values: Floats, weights: Floats | None, code: Integers, n_groups: int
) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and scatter of each group of rows; rows without weights count one each."""
    d = values.shape[1]
    weight, mean = np.zeros(n_groups), np.zeros((n_groups, d))
    scatter = np.zeros((n_groups, d, d))
    ends = np.cumsum(np.bincount(code, minlength=n_groups)).tolist()
    if n_groups > 1:
        small = code.astype(np.uint16) if n_groups <= MOST_SMALL else code
        order = np.argsort(small, kind="stable")  # of small numbers in linear time
        values = values[order]
        weights = None if weights is None else weights[order]
    for group, (a, b) in enumerate(pairwise([0, *ends])):
        if a == b:
            continue
        x = values[a:b]
        w = np.ones(b - a) if weights is None else weights[a:b]
        weight[group] = w.sum()
        if weight[group] > 0:
            # Shifted by a row first: means of small differences keep the digits of large values.
            mean[group] = x[0] + w @ (x - x[0]) / weight[group]
            centered = x - mean[group]
            weighted = centered if weights is None else w[:, None] * centered
            scatter[group] = weighted.T @ centered
    return weight, mean, scatter
