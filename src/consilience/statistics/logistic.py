r"""The statistic of a logistic node: log-likelihood, gradient and Hessian at given coefficients.

For each source :math:`f` and joint state :math:`j` of the discrete parents, with the continuous
parents standardized and a leading one, :math:`x = (1, (z - \text{center}) / \text{scale})`, and
coefficients :math:`\beta_k` of the states after the first (:math:`\beta_0 = 0`),

.. math::
    \pi_k = \frac{\exp \beta_k^\top x}{\sum_l \exp \beta_l^\top x}, \qquad
    \ell = \sum w \log \pi_y, \qquad
    g_k = \sum w\,([y = k] - \pi_k)\,x, \qquad
    H_{kl} = \sum w\,\pi_k ([k = l] - \pi_l)\,x x^\top .

All three add over rows, so parts of the rows merge by addition. A row counts if all variables of
the family are known in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Bools, Floats, Integers
from consilience.data.table import Table
from consilience.data.variable import Schema
from consilience.kernels.threads import each_part
from consilience.statistics.counts import MEMORY_LIMIT, parent_states_of, source_axis

if TYPE_CHECKING:
    from consilience.statistics.engines.memory import Memory

__all__ = ["LogisticPoint", "LogisticRequest", "LogisticStatistic"]

ROWS_PER_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class LogisticPoint:
    """A family and the coefficients at which its likelihood is asked for.

    Parameters
    ----------
    child
        A discrete variable.
    discrete, continuous
        Its parents; the last discrete one varies fastest.
    coefficients
        Of the states after the first, shape (sources, joint states, states - 1, 1 + continuous
        parents), on the standardized scale; the intercept comes first.
    center, scale
        What standardizes the continuous parents; a scale is positive.
    """

    child: str
    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    coefficients: Floats
    center: Floats
    scale: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticStatistic:
    """Log-likelihood and its derivatives by source and joint state of the discrete parents.

    Parameters
    ----------
    log_likelihood, weight
        Of the complete rows, shape (sources, joint states).
    gradient
        Shape (sources, joint states, states - 1, coefficients).
    hessian
        The negative second derivatives, shape (sources, joint states, m, m) with m = (states - 1)
        times coefficients, the coefficient varying fastest.
    n_rows
        Weight of all rows of each source, complete or not.
    """

    log_likelihood: Floats
    weight: Floats
    gradient: Floats
    hessian: Floats
    n_rows: Floats

    def __post_init__(self) -> None:
        _freeze.own(self)

    def merge(self, other: LogisticStatistic) -> LogisticStatistic:
        """The statistic of both sets of rows together, at the same coefficients."""
        return LogisticStatistic(
            *(getattr(self, name) + getattr(other, name) for name in type(self).__slots__)
        )

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return _freeze.rebuilt(self)


@dataclass(frozen=True, slots=True)
class LogisticRequest:
    """Likelihoods of many logistic families at once, each at its own coefficients.

    Parameters
    ----------
    points
        The families and their coefficients.
    by_source
        Keep the sources apart or pool them.
    memory_limit
        Bytes; a larger answer is refused before anything is allocated.
    """

    points: tuple[LogisticPoint, ...]
    by_source: bool = False
    memory_limit: float = MEMORY_LIMIT

    def empty(self, schema: Schema) -> list[LogisticStatistic]:
        """The statistics of no rows."""
        self._check_memory(schema)
        return [_empty(*self._shape(schema, point)) for point in self.points]

    def work(self, part: Memory) -> list[LogisticStatistic]:
        """The statistics of the rows of one part, block by block."""
        table = part.table
        empty = self.empty(table.schema)
        n_blocks = -(-table.n_rows // ROWS_PER_BLOCK)

        def work(block_from: int, block_to: int) -> list[list[LogisticStatistic]]:
            starts = range(block_from * ROWS_PER_BLOCK, block_to * ROWS_PER_BLOCK, ROWS_PER_BLOCK)
            blocks = (slice(start, start + ROWS_PER_BLOCK) for start in starts)
            return [[self._block(table, point, rows) for point in self.points] for rows in blocks]

        parts = each_part(n_blocks, min(part.threads, max(1, n_blocks)), work)
        return reduce(self.merge, (block for one in parts for block in one), empty)

    def merge(
        self, left: list[LogisticStatistic], right: list[LogisticStatistic]
    ) -> list[LogisticStatistic]:
        """The statistics of the rows of both, family by family."""
        return [a.merge(b) for a, b in zip(left, right, strict=True)]

    def _shape(self, schema: Schema, point: LogisticPoint) -> tuple[int, int, int, int]:
        source = source_axis(schema, by_source=self.by_source)
        return (
            1 if source is None else source.n_states,
            parent_states_of([schema[name] for name in point.discrete]),
            schema[point.child].n_states - 1,
            1 + len(point.continuous),
        )

    def _check_memory(self, schema: Schema) -> None:
        needed = 0.0
        for point in self.points:
            n_sources, n_groups, r, p = self._shape(schema, point)
            needed += 8.0 * n_sources * n_groups * (r * p + 1) ** 2
        _check.memory(
            f"the derivatives of {len(self.points)} logistic families",
            needed,
            self.memory_limit,
            "Use fewer parents or states, or raise memory_limit.",
        )

    def _block(self, table: Table, point: LogisticPoint, rows: slice) -> LogisticStatistic:
        n_sources, n_groups, r, p = self._shape(table.schema, point)
        design, is_known = _design(table, point, rows)
        group, child = np.zeros(len(design), np.int64), table.column(point.child)[rows]
        is_known &= child >= 0
        for name in point.discrete:
            column = table.column(name)[rows]
            is_known &= column >= 0
            group = group * table.schema[name].n_states + np.maximum(column, 0)
        weights = np.ones(len(design)) if table.weights is None else table.weights[rows] * 1.0
        source = np.zeros(len(design), np.int64)
        if self.by_source and table.source_codes is not None:
            source = table.source_codes[rows].astype(np.int64)
        code = (source * n_groups + group)[is_known]
        found = _empty(n_sources * n_groups, 1, r, p)
        sums = {name: np.array(getattr(found, name)) for name in type(found).__slots__}
        coefficients = point.coefficients.reshape(n_sources * n_groups, r, p)
        known = design[is_known], child[is_known], weights[is_known]
        for g, part in _groups(code, n_sources * n_groups):
            x, y, w = (array[part] for array in known)
            _add(sums, g, x, y, w=w, coefficients=coefficients[g])
        shape = (n_sources, n_groups)
        return LogisticStatistic(
            sums["log_likelihood"].reshape(shape),
            sums["weight"].reshape(shape),
            sums["gradient"].reshape(*shape, r, p),
            sums["hessian"].reshape(*shape, r * p, r * p),
            np.bincount(source, weights, minlength=n_sources).astype(float),
        )


def _empty(n_sources: int, n_groups: int, r: int, p: int) -> LogisticStatistic:
    groups = (n_sources, n_groups)
    return LogisticStatistic(
        np.zeros(groups),
        np.zeros(groups),
        np.zeros((*groups, r, p)),
        np.zeros((*groups, r * p, r * p)),
        np.zeros(n_sources),
    )


def _design(table: Table, point: LogisticPoint, rows: slice) -> tuple[Floats, Bools]:
    """A one and the standardized continuous parents, and which rows know all of them."""
    n_rows = len(range(*rows.indices(table.n_rows)))
    design = np.ones((n_rows, 1 + len(point.continuous)))
    for k, name in enumerate(point.continuous):
        design[:, 1 + k] = (table.column(name)[rows] - point.center[k]) / point.scale[k]
    return design, np.asarray(~np.isnan(design).any(axis=1))


def _groups(code: Integers, n_groups: int) -> Iterator[tuple[int, Any]]:
    """Each group that occurs and where its rows are."""
    if not len(code):
        return
    if n_groups == 1:
        yield 0, slice(None)
        return
    order = np.argsort(code, kind="stable")
    groups, starts = np.unique(code[order], return_index=True)
    for g, rows in zip(groups, np.split(order, starts[1:]), strict=True):
        yield int(g), rows


def _add(
    sums: dict[str, Floats], g: int, x: Floats, y: Integers, *, w: Floats, coefficients: Floats
) -> None:
    """Add the terms of the rows of one group."""
    linear = np.zeros((len(x), 1 + len(coefficients)))
    linear[:, 1:] = x @ coefficients.T
    linear -= linear.max(axis=1, keepdims=True)
    share = np.exp(linear)
    total = share.sum(axis=1)
    share /= total[:, None]
    sums["log_likelihood"][g] = w @ (linear[np.arange(len(y)), y] - np.log(total))
    sums["weight"][g] = w.sum()
    share = share[:, 1:]
    residual = (y[:, None] == np.arange(1, share.shape[1] + 1)) - share
    sums["gradient"][g] = (w[:, None] * residual).T @ x
    p, hessian = x.shape[1], sums["hessian"][g, 0]
    for k in range(share.shape[1]):
        for m in range(k + 1):
            curve = w * share[:, k] * ((k == m) - share[:, m])
            block = (curve[:, None] * x).T @ x
            hessian[k * p : (k + 1) * p, m * p : (m + 1) * p] = block
            hessian[m * p : (m + 1) * p, k * p : (k + 1) * p] = block
