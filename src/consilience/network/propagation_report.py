"""What an answer of loopy propagation carries beside its numbers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PropagationReport"]


@dataclass(frozen=True, slots=True)
class PropagationReport:
    """Whether the messages settled.

    Parameters
    ----------
    n_iterations
        Rounds of messages.
    residual
        Largest change of a message in the last of them.
    is_settled
        Whether it was below the tolerance.
    """

    n_iterations: int
    residual: float
    is_settled: bool

    def __str__(self) -> str:
        end = "settled" if self.is_settled else "had not settled"
        return f"loopy propagation {end} after {self.n_iterations:,} rounds ({self.residual:.2g})"
