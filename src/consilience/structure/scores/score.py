"""What a score is: the one contract of all of them.

A score is a choice, a frozen dataclass with its parameters. It judges a family by its counts alone,
and a graph by the sum over its families; natural logarithms, higher is better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.errors import DataError, InputError
from consilience.statistics.batch import CountBatch
from consilience.statistics.counts import Counts
from consilience.statistics.family import Family

__all__ = ["Batch", "Refusing", "Score", "check_score", "whole_counts"]

Batch = Sequence[Counts] | CountBatch
"""Counts of some families over the same rows."""


class Score(Protocol):
    """How well families fit the rows.

    Attributes
    ----------
    score_equivalent
        Whether all graphs of an equivalence class have the same score.
    by_source
        Whether the counts must keep the sources apart; otherwise they are pooled.
    """

    @property
    def score_equivalent(self) -> bool: ...

    @property
    def by_source(self) -> bool: ...

    def local(self, batch: Batch) -> Floats:
        """One number for each family of the batch.

        Minus infinity for a family that the score cannot judge; then it has a method
        ``refusal(family)`` that says why (:class:`Refusing`).
        """
        ...


class Refusing(Protocol):
    """A score that cannot judge every family."""

    @property
    def refusal(self) -> Callable[[Family], str]:
        """Why the score of this family is minus infinity, and what to do about it."""
        ...


def check_score(owner: str, score: object) -> None:
    """Refuse what is not a score."""
    if isinstance(score, type) or not hasattr(score, "local"):
        raise InputError(
            f"{owner}: score must be a choice such as cs.BIC() or cs.BDeu(), got {score!r}.",
            parameter="score",
        )


def whole_counts(owner: str, batch: Batch, *, by_source: bool) -> CountBatch:
    """The batch in units of rows, for scores that are sums over whole rows."""
    counts = CountBatch.of(batch, by_source=by_source)
    if counts.scale == 1:
        return counts
    whole, rest = np.divmod(counts.table, counts.scale)
    if rest.any():
        sizes = counts.shapes.prod(axis=1)
        place = int(np.searchsorted(np.cumsum(sizes), np.flatnonzero(rest)[0], side="right"))
        family = counts.families[place]
        raise DataError(
            f"{owner}: the counts of {family.child!r} given {_check.listed(family.parents)} are "
            "not whole numbers; this score is defined for whole rows. Use whole-number weights, or "
            "a score that accepts fractions, such as cs.BIC() or cs.BDeu().",
            family=family,
        )
    return CountBatch(
        counts.children,
        counts.given,
        counts.source,
        _freeze.read_only(whole),
        counts.shapes,
        counts.n_rows // counts.scale,
        seen=counts.seen,
    )
