"""Choices for change points: how often parameters change, and what they are like in a segment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.structure.scores.score import Batch

__all__ = ["ChangePoints", "SegmentPrior"]


@dataclass(frozen=True, slots=True)
class SegmentPrior:
    r"""What the parameters of a segment are like before its rows are seen.

    .. math:: \sigma^2 \sim \mathrm{InvGamma}(\text{shape}, \text{scale}), \quad
        \beta_0 \sim N(\text{mean}, \sigma^2 / \text{precision}), \quad
        \beta_k \sim N(0, \sigma^2 / \text{slope\_precision})

    independently for each joint state of the discrete parents; a table has a Dirichlet with
    ``ess`` spread over its cells.
    """

    mean: float = 0.0
    precision: float = 1.0
    slope_precision: float = 1.0
    shape: float = 1.0
    scale: float = 1.0
    ess: float = 1.0

    def __post_init__(self) -> None:
        _check.finite("SegmentPrior", mean=self.mean)
        _check.positive(
            "SegmentPrior",
            precision=self.precision,
            slope_precision=self.slope_precision,
            shape=self.shape,
            scale=self.scale,
            ess=self.ess,
        )


@dataclass(frozen=True, slots=True)
class ChangePoints:
    """Parameters that change at unknown times, each step with the probability ``hazard``.

    The choice of :func:`consilience.dynamic.change_points`, and as ``score=`` of
    :func:`consilience.dynamic.learn` the log evidence of a family whose parameters change: the sum
    over all segmentations. It is not score equivalent.

    Parameters
    ----------
    hazard
        Probability of a change at each step but the first of a sequence.
    prior
        What the parameters of a segment are like.
    """

    hazard: float = 0.01
    prior: SegmentPrior = field(default_factory=SegmentPrior)
    score_equivalent: ClassVar[bool] = False
    by_source: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.positive("ChangePoints", hazard=self.hazard)
        if not self.hazard < 1:
            raise InputError(
                f"ChangePoints: hazard must be between 0 and 1, got {self.hazard!r}.",
                parameter="hazard",
            )
        if not isinstance(self.prior, SegmentPrior):
            raise InputError(
                f"ChangePoints: prior must be cs.dynamic.SegmentPrior(...), got {self.prior!r}.",
                parameter="prior",
            )

    def local(self, batch: Batch) -> Floats:
        """Refused: statistics of a table do not say the order of its rows."""
        raise InputError(
            "ChangePoints judges rows in their order, which a table does not have. Use it with "
            "cs.dynamic.learn, search or score.",
            parameter="score",
        )
