"""Tables that follow from larger ones: margins over variables that no row lacks.

A table of more variables has the one of fewer as its margin, to the last unit, if every row has a
value of each of them. A search asks for both, so what follows need not be asked for: fewer bytes,
and fewer families against the budgets of the sites.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from consilience import _freeze
from consilience._typing import Integers

__all__ = ["Known", "margin"]

Names: TypeAlias = tuple[str, ...]


class Known:
    """Sets of variables whose counts are known; mutable, with one owner."""

    def __init__(self) -> None:
        self._with: dict[str, set[Names]] = {}

    def add(self, key: Names) -> None:
        """Take a set in."""
        for name in key:
            self._with.setdefault(name, set()).add(key)

    def above(self, key: Names) -> Names | None:
        """The smallest set that has all of these variables and more; None if there is none."""
        each = sorted((self._with.get(name, set()) for name in key), key=len)
        found = set.intersection(*each) - {key}
        return min(found, key=lambda one: (len(one), one), default=None)

    def implied(self, keys: Iterable[Names]) -> dict[Names, Names]:
        """Which of some sets follow, each from which known one or other of them."""
        found: dict[Names, Names] = {}
        others = Known()
        for key in sorted(keys, key=len, reverse=True):
            larger = self.above(key) or others.above(key)
            if larger is None:
                others.add(key)
            else:
                found[key] = larger
        return found


def margin(table: Integers, names: Names, wanted: Names) -> Integers:
    """The counts over some of the variables of a table, whose first axis are the sites.

    Examples
    --------
    >>> import numpy as np
    >>> margin(np.array([[[1, 2], [3, 4]]]), ("a", "b"), ("b",)).tolist()
    [[4, 6]]
    """
    gone = tuple(1 + place for place, name in enumerate(names) if name not in wanted)
    return _freeze.read_only(table.sum(axis=gone))
