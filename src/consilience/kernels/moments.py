"""Weights, means and centred products of groups of rows.

Two passes over the rows: the first makes the means, of differences from the first row of each
group, so that large values keep their digits; the second the products around them.
"""

from __future__ import annotations

import numpy as np

from consilience._typing import Codes, Floats, Integers
from consilience.kernels.compile import inner, kernel

__all__ = ["center", "join"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)


@kernel
def join(codes: Codes, members: Integers, sizes: Integers, group: Integers) -> None:
    """Fill in the joint state of some variables in each row, the last varying fastest.

    Parameters
    ----------
    codes
        States of all variables, shape (variables, rows); negative where missing.
    members, sizes
        Which of them, and their numbers of states.
    group
        The answer for each row: -1 if one of them is missing.
    """
    _join(codes, members, sizes, group)


@kernel
def center(
    values: Floats,
    weights: Floats,
    codes: Codes,
    members: Integers,
    sizes: Integers,
    weight: Floats,
    mean: Floats,
    scatter: Floats,
) -> None:
    """Fill in weight, mean and centred products of the rows of each joint state.

    Parameters
    ----------
    values, weights
        Shape (continuous variables, rows), none of them missing, and the weight of each row.
    codes, members, sizes
        The discrete variables, as in :func:`join`. Rows in which one of them is missing are left
        out.
    weight, mean, scatter
        The answers, zero before; shapes (states,), (states, d) and (states, d, d).
    """
    d, n_rows = values.shape
    group = np.empty(n_rows, np.int64)
    _join(codes, members, sizes, group)
    shift = np.zeros((len(weight), d))
    for row in range(n_rows):
        g, w = group[row], weights[row]
        if g < 0 or w == 0.0:
            continue
        if weight[g] == 0.0:
            for j in range(d):
                shift[g, j] = values[j, row]
        weight[g] += w
        for j in range(d):
            mean[g, j] += w * (values[j, row] - shift[g, j])
    for g in range(len(weight)):
        if weight[g] > 0.0:
            for j in range(d):
                mean[g, j] = shift[g, j] + mean[g, j] / weight[g]
    off = np.empty(d)
    for row in range(n_rows):
        g, w = group[row], weights[row]
        if g < 0:
            continue
        for j in range(d):
            off[j] = values[j, row] - mean[g, j]
            along = w * off[j]
            for i in range(j + 1):
                scatter[g, j, i] += along * off[i]
    for g in range(len(weight)):
        for j in range(d):
            for i in range(j):
                scatter[g, i, j] = scatter[g, j, i]


@inner
def _join(codes: Codes, members: Integers, sizes: Integers, group: Integers) -> None:
    group[:] = 0
    for m in range(len(members)):
        states, size = codes[members[m]], sizes[m]
        for row in range(len(group)):
            if group[row] >= 0:
                group[row] = group[row] * size + states[row] if states[row] >= 0 else -1
