"""Which arcs a search may use, must use and must not use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience import _check, _freeze
from consilience._typing import Bools
from consilience.errors import GraphError, InputError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc, unique_pairs

__all__ = ["Constraints", "without_arcs_into", "without_logistic"]


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Arcs by position in ``names``: ``allowed[i, j]`` and ``required[i, j]`` speak of i -> j.

    A required arc is allowed, and its reverse is not.
    """

    names: tuple[str, ...]
    allowed: Bools
    required: Bools

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def is_free(self) -> bool:
        """Whether every arc is allowed and none is required."""
        p = len(self.names)
        return int(self.allowed.sum()) == p * (p - 1)

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        *,
        require: Iterable[Arc] = (),
        forbid: Iterable[Arc] = (),
        tiers: Iterable[Iterable[str]] = (),
        source: str | None = None,
    ) -> Constraints:
        """The constraints of a call: checked, free of contradictions and of cycles.

        ``tiers`` lists groups of variables from the earliest to the latest; an arc may not lead
        from a later tier to an earlier one. Variables in no tier are free. Tiers of one variable
        each are an ordering. ``source`` is the name that no arc may have.
        """
        place = {name: i for i, name in enumerate(names)}
        allowed = ~np.eye(len(names), dtype=bool)
        _forbid_backward(allowed, _checked_tiers(tiers, place), place)
        for start, end in _checked_arcs("forbid", forbid, place, source):
            allowed[place[start], place[end]] = False
        required = np.zeros_like(allowed)
        must = _checked_arcs("require", require, place, source)
        DAG(must)  # refuses a cycle and names it
        for start, end in must:
            if not allowed[place[start], place[end]]:
                raise GraphError(
                    f"the required arc {start!r} -> {end!r} is forbidden as well, by forbid= or "
                    "by tiers=.",
                    arc=(start, end),
                )
            required[place[start], place[end]] = True
            allowed[place[end], place[start]] = False
        return cls(tuple(names), allowed, required)


def without_arcs_into(constraints: Constraints, children: Collection[str]) -> Constraints:
    """The constraints with all arcs from other variables into these forbidden, unless required."""
    is_child = np.array([name in children for name in constraints.names], bool)
    barred = np.outer(~is_child, is_child) & ~constraints.required
    return Constraints(constraints.names, constraints.allowed & ~barred, constraints.required)


def without_logistic(constraints: Constraints, is_continuous: Bools) -> Constraints:
    """The constraints with all arcs from continuous to discrete variables forbidden."""
    barred = np.outer(is_continuous, ~is_continuous)
    for i, j in np.argwhere(constraints.required & barred):
        start, end = constraints.names[i], constraints.names[j]
        raise GraphError(
            f"the required arc {start!r} -> {end!r} leads from a continuous to a discrete "
            "variable, which needs a logistic regression. Say logistic=True, or turn it round.",
            arc=(start, end),
        )
    return Constraints(constraints.names, constraints.allowed & ~barred, constraints.required)


def _checked_arcs(
    what: str, arcs: Iterable[Any], place: dict[str, int], source: str | None
) -> tuple[Arc, ...]:
    if isinstance(arcs, str):
        raise InputError(
            f"{what} must be a list of pairs (from, to), got the text {arcs!r}.", parameter=what
        )
    pairs = unique_pairs(arcs)
    for pair in pairs:
        if source in pair:
            raise GraphError(
                f"{what}: {source!r} is the source, which is in no graph that is learned. Add it "
                "as a parent when the network is fitted.",
                arc=pair,
            )
        _check.known("variable", pair, place)
    return pairs


def _checked_tiers(
    tiers: Iterable[Iterable[str]], place: dict[str, int]
) -> tuple[tuple[str, ...], ...]:
    given = [tiers] if isinstance(tiers, str) else list(tiers)
    if any(isinstance(tier, str) for tier in given):
        raise InputError(
            'tiers must be a list of lists of names, as in [["age"], ["smoke", "lung"]].',
            parameter="tiers",
        )
    checked = tuple(tuple(tier) for tier in given)
    everyone = [name for tier in checked for name in tier]
    _check.known("variable", everyone, place)
    for name in everyone:
        if everyone.count(name) > 1:
            raise InputError(f"tiers: {name!r} stands twice.", variable=name)
    return checked


def _forbid_backward(allowed: Bools, tiers: Sequence[Sequence[str]], place: dict[str, int]) -> None:
    for k, tier in enumerate(tiers):
        later = [place[name] for after in tiers[k + 1 :] for name in after]
        earlier = [place[name] for name in tier]
        allowed[np.ix_(later, earlier)] = False
