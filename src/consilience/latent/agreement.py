"""How well found classes agree with known ones, whatever either of them are called."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from consilience.errors import InputError

__all__ = ["label_agreement"]


def label_agreement(found: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Share of rows whose labels agree under the best renaming of the found labels.

    Each found label is matched with at most one true label, by the assignment that makes most rows
    agree; with more found labels than true ones, some match nothing.

    Parameters
    ----------
    found, truth
        A label for each row: codes, or texts.

    Examples
    --------
    >>> label_agreement([1, 1, 0, 0], ["a", "a", "b", "a"])
    0.75
    """
    rows, columns = np.asarray(found), np.asarray(truth)
    if rows.ndim != 1 or rows.shape != columns.shape or not rows.size:
        raise InputError(
            f"label_agreement: found and truth must be labels of the same rows, got shapes "
            f"{rows.shape} and {columns.shape}."
        )
    mine, row = np.unique(rows, return_inverse=True)
    theirs, column = np.unique(columns, return_inverse=True)
    together = np.zeros((len(mine), len(theirs)))
    np.add.at(together, (row, column), 1)
    best = linear_sum_assignment(together, maximize=True)
    return float(together[best].sum() / rows.size)
