"""The choice to answer approximately where continuous nodes and unknown regimes are tied."""

from __future__ import annotations

from dataclasses import dataclass

from consilience import _check

__all__ = ["Collapse"]


@dataclass(frozen=True, slots=True)
class Collapse:
    """Regimes of the last ``window`` slices are kept apart, older ones matched in moments.

    Where a missing or hidden continuous value depends on regimes that are not known, the exact law
    is a mixture of as many normal laws as there are paths of regimes. Here paths that differ only
    before the window become one normal law with their mean and covariance. Exact if no sequence is
    longer than the window. Time and memory grow with the number of regimes to the power of
    ``window + 1``.
    """

    window: int = 4

    def __post_init__(self) -> None:
        _check.whole("Collapse", at_least=1, window=self.window)
