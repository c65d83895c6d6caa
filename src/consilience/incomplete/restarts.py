"""Several starts of one climb: how many, what an interrupt leaves of them, what nobody recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from consilience import _check
from consilience.errors import DataError

__all__ = ["all_starts", "ended_by", "note_on_hidden", "number_of_starts"]

RESTARTS_IF_HIDDEN = 9
RESTARTS_IF_CONTINUOUS = 2


class _Climb(Protocol):
    stopped_by: str


AnyClimb = TypeVar("AnyClimb", bound=_Climb)


def number_of_starts(restarts: int | None, *, is_blind: bool, is_continuous: bool = False) -> int:
    """One and the restarts; if these are not given, 9 of them for a climb that begins blindly, and
    2 if all that is hidden is continuous, where there are few tops.
    """
    if restarts is None:
        blind = RESTARTS_IF_CONTINUOUS if is_continuous else RESTARTS_IF_HIDDEN
        restarts = blind if is_blind else 0
    return 1 + restarts


def all_starts(one_start: Callable[[int], AnyClimb], n_starts: int) -> list[AnyClimb]:
    """The climbs from all starts, those left out that the rows forbid (a variance of zero).

    After an interrupt those that were finished, and what the last one had reached.
    """
    climbs: list[AnyClimb] = []
    for number in range(n_starts):
        try:
            climbs.append(one_start(number))
        except DataError:
            if number + 1 == n_starts and not climbs:
                raise
            continue
        except KeyboardInterrupt:
            if not climbs:
                raise
            climbs[-1].stopped_by = "interrupt"
        if climbs[-1].stopped_by == "interrupt":
            break
    return climbs


def ended_by(climbs: Sequence[AnyClimb], best: AnyClimb) -> str:
    """Why the best start ended, or that the last one was interrupted."""
    last = climbs[-1].stopped_by
    return last if last == "interrupt" else best.stopped_by


def note_on_hidden(hidden: Collection[str]) -> list[str]:
    """What the states of hidden nodes mean, if there are any."""
    if not hidden:
        return []
    return [
        f"Hidden: {_check.listed(hidden)}. The states are ordered by their probability, the most "
        "frequent first; they have no other meaning."
    ]
