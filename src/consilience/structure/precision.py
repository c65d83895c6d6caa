"""Judging regressions whose moments may have lost their digits.

Moments serve all families and are read once. Only where columns are nearly functions of each other
the rows are asked again, for fine moments, which the learner keeps from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from consilience.errors import PrecisionError
from consilience.statistics.many_regressions import RegressionBatch
from consilience.statistics.strata import Strata
from consilience.structure.scores.score import Batch

__all__ = ["judged"]

Answer = TypeVar("Answer")


def judged(strata: Strata, batch: Batch, judge: Callable[[Any], Answer]) -> Answer:
    """What a judge says about a batch, over fine moments where others have too few digits.

    Parameters
    ----------
    strata
        The moments that the batch was made of.
    batch
        The families; only regressions can lose digits.
    judge
        Such as a score's method ``local``.
    """
    try:
        return judge(batch)
    except PrecisionError:
        if not isinstance(batch, RegressionBatch) or batch.is_fine:
            raise
        return judge(strata.finer(batch))
