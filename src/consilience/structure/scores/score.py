"""What a score is: the one contract of all of them.

A score is a choice, a frozen dataclass with its parameters. It judges a family by its statistics
alone, and a graph by the sum over its families; natural logarithms, higher is better. Families of
discrete variables come as counts, those of continuous children as regressions from moments, those
of discrete children with continuous parents as fitted logistic regressions. A score that judges
tables only refuses the others (:func:`tables_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Floats
from consilience.errors import DataError, InputError
from consilience.statistics.counts import Counts
from consilience.statistics.counts_batch import CountBatch
from consilience.statistics.family import Family
from consilience.statistics.many_regressions import RegressionBatch
from consilience.structure.scores.logistic import LogisticBatch

__all__ = [
    "Batch",
    "Refusing",
    "Score",
    "batch_of",
    "check_score",
    "check_variables",
    "child_of",
    "is_equivalent_given_source",
    "may_refuse",
    "tables_of",
    "takes_gaps",
    "whole_counts",
]

Batch = Sequence[Counts] | CountBatch | RegressionBatch | LogisticBatch
"""Statistics of some families of one kind over the same rows."""


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

        Minus infinity for a family that the score cannot judge; then it is one that
        ``may_refuse``, and ``refusal(family)`` says why (:class:`Refusing`).
        """
        ...


class Refusing(Protocol):
    """A score that cannot judge every family; its class attribute ``may_refuse`` is True."""

    @property
    def refusal(self) -> Callable[[Family], str]:
        """Why the score of this family is minus infinity, and what to do about it."""
        ...


def takes_gaps(score: object) -> bool:
    """Whether a score judges families of different rows, each by those complete for it.

    Such a score has a class attribute ``needs_complete_rows`` that is False. All others compare
    families over the same rows only.
    """
    return not getattr(score, "needs_complete_rows", True)


def may_refuse(score: object) -> bool:
    """Whether a score may be minus infinity for want of an answer; see :class:`Refusing`.

    Such a score has a class attribute ``may_refuse`` that is True; one of the user's own needs the
    method ``refusal`` only.
    """
    return bool(getattr(score, "may_refuse", getattr(score, "refusal", None) is not None))


def is_equivalent_given_source(score: Score) -> bool:
    """Whether graphs of a class have the same score as far as their arcs from the source agree.

    Such a score has a class attribute ``equivalent_given_source``. Searches over classes take it
    for equivalent.
    """
    return score.score_equivalent or bool(getattr(score, "equivalent_given_source", False))


def check_score(owner: str, score: object, variables: Collection[str] | None = None) -> None:
    """Refuse what is not a score, and one that names other variables than those of the table."""
    if isinstance(score, type) or not hasattr(score, "local"):
        raise InputError(
            f"{owner}: score must be a choice such as cs.BIC() or cs.BDeu(), got {score!r}.",
            parameter="score",
        )
    if variables is not None:
        check_variables(score, variables)


def check_variables(choice: object, variables: Collection[str]) -> None:
    """Ask a score or a prior whether all variables that it names are among these.

    A score sees families and not the table, so one that names variables has a method of this name,
    which refuses those that do not exist; others need none.
    """
    check = getattr(choice, "check_variables", None)
    if check is not None:
        check(variables)


def batch_of(
    batch: Batch, *, by_source: bool = False
) -> CountBatch | RegressionBatch | LogisticBatch:
    """The batch held flat; its sources are pooled unless asked for by source."""
    if isinstance(batch, LogisticBatch):
        return batch
    if isinstance(batch, RegressionBatch):
        return batch if by_source else batch.pooled()
    return CountBatch.of(batch, by_source=by_source)


def tables_of(owner: str, batch: Batch, *, by_source: bool) -> CountBatch:
    """The counts of a batch, for scores that judge families of discrete variables only."""
    if isinstance(batch, RegressionBatch | LogisticBatch):
        raise InputError(
            f"{owner} judges families of discrete variables; the family of {child_of(batch)!r} has "
            "a continuous one. Use cs.BIC(), cs.AIC() or cs.scores.EBIC(), or cs.scores.BGe() if "
            "all variables "
            "are continuous, or read the columns with discretize=.",
            variable=child_of(batch),
        )
    return CountBatch.of(batch, by_source=by_source)


def child_of(batch: Batch) -> str:
    """Name of the first child of a batch."""
    if isinstance(batch, RegressionBatch | LogisticBatch | CountBatch):
        return batch.families[0].child
    return batch[0].child.name


def whole_counts(owner: str, batch: Batch, *, by_source: bool) -> CountBatch:
    """The batch in units of rows, for scores that are sums over whole rows."""
    counts = tables_of(owner, batch, by_source=by_source)
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
