"""What a site lets a coordinator ask, as it tells it, and what all sites of a study give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from consilience.errors import SiteError
from consilience.files.objects import Content
from consilience.sites.message import KINDS, MODES
from consilience.statistics.counts import FIXED_POINT

__all__ = ["SiteLimits", "common_limits", "limits_of"]


@dataclass(frozen=True, slots=True)
class SiteLimits:
    """The limits of a site, or the strictest of several."""

    modes: tuple[str, ...]
    key: str
    scale: int
    kinds: tuple[str, ...]
    max_parents: float
    max_cells: float
    max_families: float
    gaps: tuple[str, ...] = ()


def limits_of(told: Content) -> SiteLimits:
    """The limits that a site tells, refused if they cannot be."""
    parents = told.take("max_parents", int, is_optional=True)
    found = SiteLimits(
        tuple(told.texts("modes")),
        told.take("key", str),
        told.take("scale", int),
        tuple(told.texts("kinds")),
        inf if parents is None else parents,
        told.take("max_cells", int),
        told.take("max_families", int),
        tuple(told.texts("gaps")),
    )
    is_known = {*found.modes} <= {*MODES} and {*found.kinds} <= {*KINDS}
    if not is_known or found.scale not in (1, FIXED_POINT):
        raise SiteError(f"{told.file} tells limits that are not known here.", site=told.file)
    if min(found.max_parents, found.max_cells, found.max_families) < 0:
        raise SiteError(f"{told.file} tells limits that cannot be.", site=told.file)
    return found


def common_limits(limits: Sequence[SiteLimits]) -> SiteLimits:
    """What all sites give."""
    kinds = [kind for kind in KINDS if all(kind in one.kinds for one in limits)]
    return SiteLimits(
        (),
        "",
        max(one.scale for one in limits),
        tuple(kinds),
        min(one.max_parents for one in limits),
        min(one.max_cells for one in limits),
        min(one.max_families for one in limits),
        tuple(dict.fromkeys(name for one in limits for name in one.gaps)),
    )
