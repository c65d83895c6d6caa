"""Choices of how rows are split into those to learn from and those to be tested on.

All of them leave out rows without a class, and count a row once, whatever its weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from consilience import _check
from consilience._typing import Integers, Seed
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.simulate.stratified import stratified_order

__all__ = ["LearningCurve", "LeaveOneSourceOut", "Split", "Splits", "StratifiedFolds"]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One training set and the rows that it is tested on.

    Parameters
    ----------
    name
        What the split is called: ``"fold 2"``, ``"repeat 1"``, or the source that is left out.
    train, test
        Positions of rows.
    """

    name: str
    train: Integers
    test: Integers

    @property
    def size(self) -> int:
        """Number of training rows."""
        return len(self.train)


class Splits(Protocol):
    """Any choice of splits."""

    by_size: bool
    """Whether splits of different size are to be told apart."""

    @property
    def overlap(self) -> float:
        """Test rows for each training row if the same rows are divided anew, else 0."""
        ...

    def split(self, table: Table, target: str, seed: Seed) -> list[Split]:
        """The splits of a table."""
        ...


@dataclass(frozen=True, slots=True)
class StratifiedFolds:
    """Cross-validation: every row is tested once a repeat, by what the other folds taught.

    Folds are drawn at random within each class of each source, so all have nearly the same shares.

    Parameters
    ----------
    folds
        Number of folds, at least 2.
    repeats
        How often the rows are divided anew.
    """

    folds: int = 5
    repeats: int = 1
    by_size = False

    @property
    def overlap(self) -> float:
        """Test rows for each training row, by which errors are corrected."""
        return 1 / (self.folds - 1)

    def __post_init__(self) -> None:
        _check.whole("StratifiedFolds", at_least=2, folds=self.folds)
        _check.whole("StratifiedFolds", at_least=1, repeats=self.repeats)

    def __str__(self) -> str:
        repeated = f", {self.repeats} times" if self.repeats > 1 else ""
        return f"{self.folds} folds{repeated}"

    def split(self, table: Table, target: str, seed: Seed) -> list[Split]:
        """The folds of all repeats."""
        rows = _known(table, target)
        if len(rows) < self.folds:
            raise DataError(
                f"{len(rows)} rows with a class cannot be divided into {self.folds} folds."
            )
        found = []
        for repeat, rng in enumerate(_generators(seed, self.repeats)):
            order = rows[_by_stratum(table.take(rows), target, rng)]
            of_row = np.arange(len(order)) % self.folds
            prefix = f"repeat {repeat + 1}, " if self.repeats > 1 else ""
            for fold in range(self.folds):
                train, test = np.sort(order[of_row != fold]), np.sort(order[of_row == fold])
                found.append(Split(f"{prefix}fold {fold + 1}", train, test))
        return found


@dataclass(frozen=True, slots=True)
class LeaveOneSourceOut:
    """Every source in turn is one that was never seen: it is tested by what the others taught."""

    by_size = False
    overlap = 0.0

    def __str__(self) -> str:
        return "one source left out at a time"

    def split(self, table: Table, target: str, seed: Seed) -> list[Split]:
        """One split a source that has rows; nothing is random."""
        rows = _known(table, target)
        codes = np.zeros(0) if table.source_codes is None else table.source_codes[rows]
        present = np.unique(codes)
        if len(present) < 2:
            raise DataError(
                f"leaving one source out needs rows of at least two sources, got {len(present)}. "
                "Name the column of the sources when the table is read: source=."
            )
        return [
            Split(table.sources[int(code)], rows[codes != code], rows[codes == code])
            for code in present
        ]


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Training sets of growing size, each within the next, and one test set for all of a repeat.

    Both keep the shares of the classes within each source, see :func:`stratified_order`.

    Parameters
    ----------
    sizes
        Increasing numbers of training rows.
    repeats
        How often all is drawn anew.
    n_test
        Number of test rows; by default all that are not in the largest training set.
    """

    sizes: Sequence[int] = (20, 60, 120, 260, 500)
    repeats: int = 5
    n_test: int | None = None
    by_size = True
    overlap = 0.0

    def __post_init__(self) -> None:
        given: Any = self.sizes
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError(
                f"LearningCurve: sizes must be a list of increasing numbers, got {given!r}.",
                parameter="sizes",
            )
        object.__setattr__(self, "sizes", tuple(self.sizes))
        for size in self.sizes:
            _check.whole("LearningCurve", at_least=1, sizes=size)
        if not self.sizes or list(self.sizes) != sorted(set(self.sizes)):
            raise InputError(
                f"LearningCurve: sizes must be increasing numbers, got {list(self.sizes)}.",
                parameter="sizes",
            )
        _check.whole("LearningCurve", at_least=1, repeats=self.repeats)
        if self.n_test is not None:
            _check.whole("LearningCurve", at_least=1, n_test=self.n_test)

    def __str__(self) -> str:
        return f"training sets of {', '.join(map(str, self.sizes))} rows, {self.repeats} repeats"

    def split(self, table: Table, target: str, seed: Seed) -> list[Split]:
        """One split for each size of each repeat."""
        rows = _known(table, target)
        n_free = len(rows) - self.sizes[-1]
        n_test = n_free if self.n_test is None else self.n_test
        if n_free < max(n_test, 1):
            raise InputError(
                f"LearningCurve: {self.sizes[-1]:,} rows to learn from and {max(n_test, 1):,} to "
                f"be tested on are more than the {len(rows):,} rows with a class.",
                parameter="sizes",
            )
        found = []
        for repeat, rng in enumerate(_generators(seed, self.repeats)):
            order = rows[stratified_order(table.take(rows), by=[target], seed=rng)]
            test = np.sort(order[len(order) - n_test :])
            name = f"repeat {repeat + 1}"
            found += [Split(name, np.sort(order[:size]), test) for size in self.sizes]
        return found


def _known(table: Table, target: str) -> Integers:
    return np.flatnonzero(table.column(target) >= 0)


def _generators(seed: Seed, n: int) -> list[np.random.Generator]:
    """One generator a repeat; the first few do not depend on how many there are."""
    return [np.random.default_rng(part) for part in _check.generator(seed).integers(2**63, size=n)]


def _by_stratum(table: Table, target: str, rng: np.random.Generator) -> Integers:
    """Row positions, shuffled within each class of each source, one stratum after the other."""
    order = rng.permutation(table.n_rows)
    codes = np.zeros(table.n_rows) if table.source_codes is None else table.source_codes
    return order[np.lexsort((table.column(target)[order], codes[order]))]
