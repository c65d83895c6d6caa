"""How well found classes agree with known ones, whatever either of them are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from consilience._typing import Integers
from consilience.errors import InputError

__all__ = ["label_agreement"]


def label_agreement(found: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Share of rows whose labels agree under the best renaming of the found labels.

    Each found label is matched with at most one true label, by the assignment that makes most rows
    agree; with more found labels than true ones, some match nothing.

    Parameters
    ----------
    found, truth
        A label for each row: codes, or texts; none may be missing.

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
    row, column = _codes("found", rows), _codes("truth", columns)
    together = np.zeros((row.max() + 1, column.max() + 1))
    np.add.at(together, (row, column), 1)
    best = linear_sum_assignment(together, maximize=True)
    return float(together[best].sum() / rows.size)


def _codes(name: str, labels: npt.NDArray[Any]) -> Integers:
    """The labels as whole numbers from zero on; a missing one is refused."""
    places: dict[Any, int] = {}
    for i, label in enumerate(labels.tolist()):
        if label is None or not _equals_itself(label):
            raise InputError(
                f"label_agreement: {name} has no label in row {i + 1}, got {label!r}. Leave rows "
                "without a label out of both.",
                parameter=name,
                row=i + 1,
            )
        places.setdefault(label, len(places))
    return np.array([places[label] for label in labels.tolist()], np.int64)


def _equals_itself(label: object) -> bool:
    """False for the values that stand for nothing: NaN, NaT, NA."""
    same = label == label
    return isinstance(same, bool | np.bool_) and bool(same)
