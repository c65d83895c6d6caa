"""Many tests of the same rows: each statement is judged once, those of one size together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.completed import Completed
from consilience.structure.independence.false_discovery import BenjaminiHochberg
from consilience.structure.independence.statements import IndependenceTest, Statements, Verdicts

__all__ = ["Asking", "GapReport", "Statement"]

Statement: TypeAlias = tuple[int, int, tuple[int, ...]]
"""x, y and the given variables, as places in names."""


class GapReport(NamedTuple):
    """A test that was made: the given variables, and what it said."""

    given: tuple[int, ...]
    statistic: float
    df: float
    p_value: float
    n_rows: float


class Asking:
    """Rows and a test; a cache of answers with one owner.

    Parameters
    ----------
    test
        The test. Of :class:`BenjaminiHochberg` the p-values are not yet adjusted here: that is for
        the owner, who knows what belongs together. :class:`Completed` completes the rows now.
    rows
        What is asked.
    """

    def __init__(self, test: IndependenceTest, rows: AskedRows) -> None:
        self.test = test
        self.n_tests = 0
        self.adjusts = isinstance(test, BenjaminiHochberg)
        each = test.of if isinstance(test, BenjaminiHochberg) else test
        if isinstance(each, Completed):
            rows = each.rows(rows)
            each = each.of
        self._each, self._rows = each, rows
        self._known: dict[Statement, GapReport] = {}

    def ask(self, asked: Statements) -> Verdicts:
        """The answers to a batch."""
        self.n_tests += len(asked)
        return self._each.judge(self._rows, asked)

    def tell(self, statements: Sequence[Statement]) -> list[GapReport]:
        """The answers to statements of any sizes, each made once."""
        keys = [(min(x, y), max(x, y), tuple(sorted(given))) for x, y, given in statements]
        new: dict[int, list[Statement]] = {}
        for key in dict.fromkeys(keys):
            if key not in self._known:
                new.setdefault(len(key[2]), []).append(key)
        for size, some in new.items():
            x, y = (np.array([key[i] for key in some], np.int64) for i in (0, 1))
            given = np.array([key[2] for key in some], np.int64).reshape(len(some), size)
            for key, found in zip(some, self.ask(Statements(x, y, given)), strict=True):
                self._known[key] = GapReport(key[2], *found)
        return [self._known[key] for key in keys]
