"""The record of a study: rounds, bytes, refusals, what was withheld, and under which policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from consilience import _freeze

__all__ = ["Round", "StudyRecord"]


@dataclass(frozen=True, slots=True)
class Round:
    """One question to all sites.

    Attributes
    ----------
    number, kind
        Its place in the study and what was asked for.
    n_families, n_cells
        Families, and cells of their tables.
    bytes_asked, bytes_answered
        Sent to and by all sites together.
    seconds
        Time until the last site had answered.
    """

    number: int
    kind: str
    n_families: int
    n_cells: int
    bytes_asked: int
    bytes_answered: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """What happened in a study so far.

    Attributes
    ----------
    study, mode
        Its name, and how counts leave the sites.
    n_rows
        Rows of each site.
    policies
        The hash of each site's policy.
    rounds
        All rounds, those that agreed on the study included.
    refusals
        What sites refused, in words.
    withheld
        Families that were not answered, each with the reason.
    notes
        What a reader should know.
    """

    study: str
    mode: str
    n_rows: Mapping[str, float]
    policies: Mapping[str, str]
    rounds: tuple[Round, ...] = ()
    refusals: tuple[str, ...] = ()
    withheld: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the sites."""
        return tuple(self.policies)

    @property
    def bytes_asked(self) -> int:
        """Bytes sent to all sites."""
        return sum(one.bytes_asked for one in self.rounds)

    @property
    def bytes_answered(self) -> int:
        """Bytes sent by all sites."""
        return sum(one.bytes_answered for one in self.rounds)

    @property
    def n_families(self) -> int:
        """Families that were asked for."""
        return sum(one.n_families for one in self.rounds)

    def _repr_html_(self) -> str:
        from consilience.show.notebook import view

        return view(self)

    def __str__(self) -> str:
        answered = self.bytes_answered / 1e6
        lines = [
            f"study {self.study!r}, mode {self.mode!r}: {len(self.sites)} sites, "
            f"{sum(self.n_rows.values()):g} rows",
            f"{len(self.rounds)} rounds, {self.n_families} families, {answered:.3f} MB answered, "
            f"{len(self.withheld)} families withheld, {len(self.refusals)} refusals",
        ]
        return "\n".join([*lines, *self.refusals, *self.notes])
