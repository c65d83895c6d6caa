"""Centred moments of rows in memory: block by block, merged in the order of the blocks.

Blocks have a fixed number of rows, so the answer has the same bits for any number of threads.
"""

from __future__ import annotations

from functools import reduce

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

ROWS_A_BLOCK = 1 << 16


def moments_of(table: Table, request: MomentRequest, threads: int) -> Moments:
    """The moments of all rows of a table."""
    _check_request(table, request)
    n_blocks = -(-table.n_rows // ROWS_A_BLOCK)

    def work(block_from: int, block_to: int) -> list[Moments]:
        starts = range(block_from * ROWS_A_BLOCK, block_to * ROWS_A_BLOCK, ROWS_A_BLOCK)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            return [_block(table, request, slice(start, start + ROWS_A_BLOCK)) for start in starts]

    parts = each_part(n_blocks, min(threads, max(1, n_blocks)), work)
    blocks = [block for part in parts for block in part]
    with np.errstate(over="ignore", invalid="ignore"):
        total = reduce(Moments.merge, blocks, request.empty(table.schema))
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
    values = np.empty((len(range(*rows.indices(table.n_rows))), len(request.names)))
    for k, name in enumerate(request.names):
        values[:, k] = table.column(name)[rows]
    weights = np.ones(len(values)) if table.weights is None else table.weights[rows].astype(float)
    source = np.zeros(len(values), np.int64)
    if empty.source and table.source_codes is not None:
        source = table.source_codes[rows].astype(np.int64)
    group, is_known = _group_code(table, request, rows)
    is_known &= ~np.isnan(values).any(axis=1)
    weight, mean, scatter = _grouped(
        values[is_known],
        weights[is_known],
        (source * n_groups + group)[is_known],
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
    values: Floats, weights: Floats, code: Integers, n_groups: int
) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and scatter of each group of rows."""
    d = values.shape[1]
    weight, mean = np.zeros(n_groups), np.zeros((n_groups, d))
    scatter = np.zeros((n_groups, d, d))
    order = np.argsort(code, kind="stable") if n_groups > 1 else slice(None)
    values, weights, code = values[order], weights[order], code[order]
    groups, starts = np.unique(code, return_index=True)
    ends = np.append(starts, len(code))[1:]
    for group, a, b in zip(groups, starts, ends, strict=False):
        w, x = weights[a:b], values[a:b]
        weight[group] = w.sum()
        if weight[group] > 0:
            # Shifted by a row first: means of small differences keep the digits of large values.
            mean[group] = x[0] + w @ (x - x[0]) / weight[group]
            centered = x - mean[group]
            scatter[group] = (w[:, None] * centered).T @ centered
    return weight, mean, scatter
