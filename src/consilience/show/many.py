"""Many sources in one picture: sorted by what is shown, and only some of them named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience._typing import Floats, Integers
from consilience.data.variable import NEW_SOURCE
from consilience.show.picture import shortened

__all__ = ["MOST_NAMED", "named_places", "sorted_sources", "sorting_note", "source_label"]

MOST_NAMED = 40
"""More sources are sorted, and only so many are named."""

LABEL = 26


def sorted_sources(sources: Sequence[str], values: Floats) -> Integers:
    """Places of many sources by rising value, the one never seen last; a few stay as they are."""
    if len(sources) <= MOST_NAMED:
        return np.arange(len(sources))
    is_new = np.array([source == NEW_SOURCE for source in sources])
    return np.lexsort((values, is_new))


def named_places(n_sources: int) -> list[int]:
    """Which lines have a name: all, or evenly spaced ones with the first and the last."""
    if n_sources <= MOST_NAMED:
        return list(range(n_sources))
    return np.unique(np.linspace(0, n_sources - 1, MOST_NAMED).round().astype(int)).tolist()


def sorting_note(sources: Sequence[str]) -> str:
    """What the title says of many sources: how many rows come from, and that they are sorted."""
    n_seen = sum(source != NEW_SOURCE for source in sources)
    return f", {n_seen} sources by value" if len(sources) > MOST_NAMED else ""


def source_label(source: str) -> str:
    """The name of a source beside its line."""
    return shortened(source, LABEL).replace("$", r"\$")
