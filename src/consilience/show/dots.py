"""Dots in a row of their own each, with a line where an interval is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from consilience._typing import Floats
from consilience.show.picture import STATE_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_dots"]


def draw_dots(
    ax: Axes, values: Floats, ends: tuple[Floats, ...] = (), *, has_room: bool = True
) -> None:
    """Draw a dot for each value, from the top down, and the intervals that hold their value.

    An interval that does not is about something else: the sd of a source never seen is that of a
    prediction, which its posterior is not about.

    Parameters
    ----------
    ends
        The lower and the upper ends, NaN where there is no line; nothing if there is no posterior.
    has_room
        Whether the rows are far enough apart for dots and lines of full size.
    """
    places = np.arange(len(values))
    if ends:
        low, high = ends
        is_about = (low <= values) & (values <= high)
        ax.hlines(
            places[is_about],
            low[is_about],
            high[is_about],
            color=STATE_COLORS[0],
            linewidth=1.6 if has_room else 0.9,
            alpha=0.55 if has_room else 0.35,
        )
    ax.plot(values, places, "o", color=STATE_COLORS[0], markersize=4.5 if has_room else 2.6)
    ax.grid(axis="x", color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8)
    ax.locator_params(axis="x", nbins=4)
