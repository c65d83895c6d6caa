r"""What completed values lack of the moments of what they stand for.

A value that is missing and was filled in by its expectation stands for a distribution. With the
covariance :math:`\Sigma_i` of what was filled in row :math:`i`, zero elsewhere, the expected
products are those of the filled rows and

.. math:: \sum_i w_i \Sigma_i .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from consilience._typing import Floats, Integers
from consilience.data.table import Table
from consilience.statistics.moments import Moments

__all__ = ["Spread", "with_spread"]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Covariances of some columns that were filled in together in some rows.

    Parameters
    ----------
    rows
        Places of the rows.
    names
        The columns.
    covariances
        Shape (rows, columns, columns).
    """

    rows: Integers
    names: tuple[str, ...]
    covariances: Floats


def with_spread(moments: Moments, table: Table, spread: Sequence[Spread]) -> Moments:
    """The moments of filled rows with the covariances of what was filled in."""
    extra = np.zeros_like(moments.scatter)
    flat = extra.reshape(-1, *extra.shape[2:])
    for one in spread:
        inside = [i for i, name in enumerate(one.names) if name in moments.names]
        if not inside:
            continue
        at = [moments.names.index(one.names[i]) for i in inside]
        source = np.zeros(len(one.rows), np.int64)
        if moments.source is not None and table.source_codes is not None:
            source = table.source_codes[one.rows].astype(np.int64)
        state = np.zeros(len(one.rows), np.int64)
        for variable in moments.given:
            state = state * variable.n_states + table.column(variable.name)[one.rows]
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        parts = weights[one.rows, None, None] * one.covariances[:, inside][:, :, inside]
        groups, total = _by_group(source * extra.shape[1] + state, parts)
        flat[groups[:, None, None], np.array(at)[:, None], at] += total
    scatter = moments.scatter + extra
    if moments.scatter_rest is None:
        return replace(moments, scatter=scatter)
    there = scatter - moments.scatter
    rest = (moments.scatter - (scatter - there)) + (extra - there)
    return replace(moments, scatter=scatter, scatter_rest=moments.scatter_rest + rest)


def _by_group(group: Integers, parts: Floats) -> tuple[Integers, Floats]:
    """The groups that there are, and the sums of their parts."""
    order = np.argsort(group, kind="stable")
    is_first = np.diff(group[order], prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    return group[order][is_first], np.add.reduceat(parts[order], starts, axis=0)
