"""What every estimator is: a choice with one working method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from consilience.distributions.categorical import Categorical
from consilience.statistics.counts import Counts

__all__ = ["Estimator"]


class Estimator(Protocol):
    """Any choice of how counts become tables."""

    def estimate(self, families: Sequence[Counts]) -> list[Categorical]:
        """The local distributions of all families."""
        ...
