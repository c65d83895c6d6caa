"""A user's own score: a function of the counts of a family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.statistics.counts import Counts
from consilience.structure.scores.score import Batch, tables_of

__all__ = ["CustomScore"]

MOST_CELLS = 1 << 16
"""Tables of at most so many cells are given to the function in full."""


@dataclass(frozen=True, slots=True)
class CustomScore:
    """A score from a function of :class:`Counts`, called once for each family.

    ``counts.values`` has the shape (sources, parent states, states), with one source if they are
    pooled. A table of at most 65,536 cells is full, with every parent state, seen or not. A larger
    one may hold those that were seen only (``counts.seen``), depending on the search; then
    ``counts.n_parent_states`` has the number of all, ``counts.to_dense()`` the full table.

    Parameters
    ----------
    function
        From the counts of a family to a finite number; higher is better.
    name
        What errors and records call it.
    by_source
        Whether the function wants the sources apart.
    score_equivalent
        Whether it gives equivalent graphs the same score; searches over classes need that.

    Examples
    --------
    >>> import consilience as cs
    >>> def seen(counts):
    ...     return -float((counts.values > 0).sum())
    >>> table = cs.read({"x": ["a", "b", "b"]})
    >>> cs.score(cs.DAG(nodes=["x"]), table, cs.scores.CustomScore(seen, name="cells"))
    -2.0
    """

    function: Callable[[Counts], float] = field(repr=False)
    name: str = "custom"
    by_source: bool = False
    score_equivalent: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"CustomScore: function must be a function of Counts, got {self.function!r}.",
                parameter="function",
            )

    def local(self, batch: Batch) -> Floats:
        """What the function says of each family."""
        counts = tables_of(f"the score {self.name!r}", batch, by_source=self.by_source)
        return np.array([self._of(one) for one in counts])

    def _of(self, counts: Counts) -> float:
        value: object = self.function(_full(counts))
        if isinstance(value, int | float | np.integer | np.floating) and np.isfinite(value):
            return float(value)
        family = counts.family
        raise InputError(
            f"the score {self.name!r} must give a finite number, got {value!r} for "
            f"{family.child!r} given {_check.listed(family.parents)}.",
            family=family,
        )


def _full(counts: Counts) -> Counts:
    """The counts with all parent states, unless the table is large."""
    n_sources, _, r = counts.table.shape
    return counts.to_dense() if n_sources * counts.n_parent_states * r <= MOST_CELLS else counts
