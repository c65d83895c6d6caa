"""Change points as a score: families judged by rows in their order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from consilience._typing import Floats
from consilience.data.table import Table
from consilience.dynamic.change_choices import ChangePoints
from consilience.dynamic.lagged_names import split_lag
from consilience.dynamic.panel import Panel
from consilience.dynamic.segmentations import FamilyRows, segmented
from consilience.errors import DataError
from consilience.structure.scores.priors import MAP
from consilience.structure.scores.score import Batch, Score, batch_of

__all__ = ["in_time"]


@dataclass(frozen=True, slots=True, eq=False)
class _OfPanel:
    """The choice together with the rows of a lagged table, whose order statistics do not have.

    Lagged nodes and inputs, which are no children in any graph, count nothing.
    """

    choice: ChangePoints
    table: Table = field(repr=False)
    lengths: tuple[int, ...] = field(repr=False)
    inputs: tuple[str, ...]
    memory_limit: float
    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False

    def __repr__(self) -> str:
        return repr(self.choice)

    def local(self, batch: Batch) -> Floats:
        """Log evidence of each family, summed over all segmentations."""
        return np.array([self._of(family) for family in batch_of(batch).families])

    def _of(self, family: Any) -> float:
        if split_lag(family.child)[1] or family.child in self.inputs:
            return 0.0
        rows = FamilyRows.of(family, self.table)
        total, start = 0.0, 0
        for n in self.lengths:
            part = slice(start, start + n)
            total += segmented(
                [rows], part, self.choice, memory_limit=self.memory_limit
            ).log_evidence
            start += n
        return total


AnyScore = TypeVar("AnyScore", bound=Score | None)


def in_time(
    score: AnyScore, panel: Panel, table: Table, order: int, *, memory_limit: float
) -> AnyScore | Score:
    """The score, bound to the order of the rows if it asks for it."""
    if isinstance(score, MAP):
        inner = in_time(score.score, panel, table, order, memory_limit=memory_limit)
        return replace(score, score=inner) if inner is not score.score else score
    if not isinstance(score, ChangePoints):
        return score
    for name, column in table.columns.items():
        missing = np.isnan(column) if column.dtype == np.float64 else column < 0
        if missing.any():
            raise DataError(
                f"column {name!r} has gaps, and graphs whose parameters change are compared over "
                "complete rows. Fill the gaps, or leave these rows out.",
                column=name,
            )
    lengths = tuple(int(n) - order for n in panel.lengths if n > order)
    return _OfPanel(score, table, lengths, panel.inputs, memory_limit)
