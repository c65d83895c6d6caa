"""The classes y and the weights of rows: what can be accepted, and in which form it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats, Integers
from consilience.classify import scikit
from consilience.data.labels import LARGEST_EXACT, label
from consilience.data.table import LARGEST_TOTAL
from consilience.data.variable import Variable
from consilience.errors import DataError, InputError

__all__ = ["Classes", "check_length", "classes_of", "labels_of", "name_of", "weights_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The target: its name, the classes as they were given, and the class of each row."""

    name: str
    values: npt.NDArray[Any]
    codes: Integers

    @property
    def variable(self) -> Variable:
        """The node of the target; its states are the classes as text, in their order."""
        states = tuple(map(label, self.values.tolist()))
        if "" in states:
            raise DataError("y has the empty text as a class. Give the class a name.", column="y")
        return Variable(self.name, states)


def labels_of(y: Any) -> npt.NDArray[Any]:
    """The classes of the rows as an array, none missing."""
    if y is None:
        raise InputError(
            "a classifier requires y to be passed, but the target y is None.", parameter="y"
        )
    values = scikit.column_or_1d(y, warn=True)
    # an array of text made from a list has the text "nan" for NaN
    as_given = np.asarray(y, dtype=object).ravel() if isinstance(y, list | tuple) else values
    if as_given.dtype.kind == "O" and set(map(type, as_given)) == {str}:
        return np.asarray(values)
    missing = np.flatnonzero(_is_missing(as_given))
    if missing.size:
        row = int(missing[0]) + 1
        raise DataError(
            f"row {row} of y has no class, but {as_given[row - 1]!r}. Leave out rows without one.",
            column="y",
            row=row,
        )
    scikit.check_classification_targets(values)
    return np.asarray(values)


def classes_of(name: str, y: npt.NDArray[Any]) -> Classes:
    """The target of this name, its classes in ascending order."""
    encoder = scikit.LabelEncoder().fit(y)
    return Classes(name, encoder.classes_, encoder.transform(y))


def weights_of(sample_weight: Any, n_rows: int) -> Integers | Floats:
    """Weights of at least zero, not all zero: int64 if they are whole, else float64."""
    given = np.asarray(sample_weight)
    weights = given.astype(np.float64)
    if weights.ndim != 1:
        raise InputError(
            f"sample_weight must have one axis, got shape {weights.shape}.",
            parameter="sample_weight",
        )
    check_length("sample_weight", len(weights), n_rows)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise InputError(
            f"sample_weight of row {bad[0] + 1} must be a number of at least zero, "
            f"got {weights[bad[0]]}.",
            parameter="sample_weight",
            row=int(bad[0]) + 1,
        )
    if not weights.any():
        raise InputError("sample_weight is zero for every row.", parameter="sample_weight")
    if given.dtype.kind in "biu" and np.all(weights < LARGEST_TOTAL):
        return given.astype(np.int64)
    is_whole = np.all((np.floor(weights) == weights) & (weights < LARGEST_EXACT))
    return weights.astype(np.int64) if is_whole else weights


def name_of(values: Any, default: str) -> str:
    """The name of a series, or the default for what has none."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else default


def check_length(what: str, length: int, n_rows: int) -> None:
    """Refuse an array beside X that is not as long."""
    if length != n_rows:
        raise InputError(f"{what} has {length} values for {n_rows} rows of X.", parameter=what)


def _is_missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return ~np.isfinite(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), np.bool_)
    return np.array([_is_null(value) for value in values], np.bool_)


def _is_null(value: Any) -> bool:
    # pandas' NA is asked by name: compared with anything it gives itself, which is no truth value
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
