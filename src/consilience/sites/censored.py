r"""Counts from ranges: what a learner makes of cells that a site shows as ``low`` to ``high``.

Each cell of each site is taken to be a Poisson number with a rate in common,
:math:`N_{sc} \sim \mathrm{Poisson}(n_s \lambda_c)`. Given :math:`\lambda`, a censored cell is

.. math:: e_{sc} = E\left[N \mid l_{sc} \le N \le h_{sc}\right]
    = \frac{\sum_{m=l}^{h} m\,\mu^m / m!}{\sum_{m=l}^{h} \mu^m / m!}, \qquad \mu = n_s \lambda_c

and :math:`\lambda_c = \sum_s e_{sc} / \sum_s n_s`, alternated until they agree: EM for censored
counts (Dempster, Laird and Rubin 1977). A hidden cell is never zero: small cells taken for zeros
look like dependence, and a search would find arcs that are not there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from consilience._typing import Floats, Integers
from consilience.statistics.counts import FIXED_POINT

__all__ = ["estimated", "in_fixed_point"]

N_STEPS = 40
CELLS_AT_ONCE = 1 << 16


def estimated(low: Integers, high: Integers, n_rows: Integers) -> Floats:
    """Expected counts of cells that are known by their ranges.

    Parameters
    ----------
    low, high
        Ends of the ranges, shape (sites, cells).
    n_rows
        Rows of each site.

    Examples
    --------
    >>> low, high = np.array([[1, 7], [0, 7]]), np.array([[4, 7], [0, 7]])
    >>> estimated(low, high, np.array([50, 50])).round(2).tolist()
    [[1.38, 7.0], [0.0, 7.0]]
    """
    found = (low + high) / 2.0
    open_cells = np.flatnonzero((low < high).any(axis=0))
    for start in range(0, len(open_cells), CELLS_AT_ONCE):
        some = open_cells[start : start + CELLS_AT_ONCE]
        found[:, some] = _climbed(low[:, some], high[:, some], n_rows)
    return found


def _climbed(low: Integers, high: Integers, n_rows: Integers) -> Floats:
    share = np.maximum(n_rows, 1)[:, None] / max(int(n_rows.sum()), 1)
    width = int((high - low).max()) + 1
    steps = np.arange(width)
    values = low[..., None] + steps  # (sites, cells, width)
    log_factorial = np.where(steps <= (high - low)[..., None], gammaln(values + 1.0), np.inf)
    found = (low + high) / 2.0
    for _ in range(N_STEPS):
        rate = np.maximum(found.sum(axis=0), 1e-9) * share
        weight = values * np.log(rate)[..., None] - log_factorial
        weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
        found = (weight * values).sum(axis=-1) / weight.sum(axis=-1)
    return found


def in_fixed_point(
    found: Floats, low: Integers, high: Integers, totals: Sequence[int] | None
) -> Integers:
    """Expected counts of one table as multiples of ``1 / FIXED_POINT``.

    Without gaps the cells of each site are moved within their ranges until they add up to its rows.
    """
    if totals is None:
        return np.rint(found * FIXED_POINT).astype(np.int64)
    whole = np.array(totals, np.int64)
    missing = (whole - found.sum(axis=1))[:, None]
    room = np.where(missing < 0, found - low, high - found)
    share = room / np.maximum(room.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    table = np.rint((found + missing * share) * FIXED_POINT).astype(np.int64)
    largest = table.argmax(axis=1)
    table[np.arange(len(table)), largest] += whole * FIXED_POINT - table.sum(axis=1)
    return table
