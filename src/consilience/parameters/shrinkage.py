r"""Shrinkage of each row towards a target by an amount that the data choose (James and Stein).

.. math::
    \hat\theta = \lambda\, t + (1 - \lambda)\, \hat\theta^{ML}, \qquad
    \lambda = \frac{1 - \sum_k (\hat\theta^{ML}_k)^2}{(n - 1) \sum_k (t_k - \hat\theta^{ML}_k)^2}

clipped to [0, 1]; with at most one row, or where the row equals its target, :math:`\lambda = 1`.

Reference: Hausser and Strimmer (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from consilience._typing import Floats
from consilience.distributions.categorical import Categorical, proportions
from consilience.parameters.maximum_likelihood import pooled_rows, shaped
from consilience.statistics.counts import Counts

__all__ = ["Shrinkage"]


@dataclass(frozen=True, slots=True)
class Shrinkage:
    r"""Each row shrunk towards a target, pooled over the sources; it has no posterior.

    A state that no row shows keeps the probability zero where a parent state's rows are all alike,
    since :math:`\lambda` is zero there, or where the target has none (``to_margin``). So the loss
    on new rows may be infinite; the record says which families have such zeros. Use ``HDC()``
    where new rows matter.

    Parameters
    ----------
    to_margin
        Shrink towards the child's distribution over all parent states rather than towards the
        uniform one.
    """

    to_margin: bool = False
    by_source: ClassVar[bool] = False

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distribution of each family."""
        return [shaped(counts, self._rows(pooled_rows(counts))) for counts in families]

    def _rows(self, rows: Floats) -> Floats:
        n = rows.sum(axis=1, keepdims=True)
        margin = rows.sum(axis=0, keepdims=True) if self.to_margin else np.zeros((1, rows.shape[1]))
        target = proportions(margin)
        likeliest = proportions(rows)
        spread = 1 - (likeliest**2).sum(axis=1, keepdims=True)
        distance = (n - 1) * ((target - likeliest) ** 2).sum(axis=1, keepdims=True)
        share = np.divide(spread, distance, out=np.ones_like(spread), where=distance > 0)
        share = np.where(n <= 1, 1.0, np.clip(share, 0.0, 1.0))
        return share * target + (1 - share) * likeliest
