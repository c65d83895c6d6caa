"""The record that a network carries: how it was made, from what, and what to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from consilience import _freeze

__all__ = ["Record"]


@dataclass(frozen=True, slots=True)
class Record:
    """The story of a network; all of it is plain data and survives in the JSON format.

    Parameters
    ----------
    method
        What made the network: an estimator with its parameters, or the file it was read from.
    n_rows
        Weight of the rows complete for each family.
    n_incomplete
        Weight of the rows in which a variable of the family was missing; the notes say whether they
        were left out or what was done about the gaps.
    unidentified
        Number of parent states of each family that no row shows, or too few rows for a regression
        of their own; for a family counted by source, of pairs of a source and a parent state
        (``new_source`` is none of them). Those rows of the table hold the prior, what other sources
        or parent states lend them, or are uniform without either.
    pooling
        For each family that was counted by source, the log evidence of its counts if the sources
        were pooled, tied by a hierarchy, or kept apart; with the s and alpha0 of the estimator if
        it ties sources by a hierarchy, else with a learned strength. It is computed when it is
        first asked for. For a continuous child, the log evidence of its regressions.
    known
        How many numbers of a family were given and not estimated, for families that have some.
    notes
        Anything else a reader should know, one sentence each.
    """

    method: str = ""
    n_rows: Mapping[str, float] = field(default_factory=dict)
    n_incomplete: Mapping[str, float] = field(default_factory=dict)
    unidentified: Mapping[str, int] = field(default_factory=dict)
    pooling: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    known: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)
        object.__setattr__(self, "notes", tuple(self.notes))

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)
