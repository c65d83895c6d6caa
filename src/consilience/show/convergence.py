"""The climb of EM or variational Bayes (extra ``plot``): what was reached after each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.incomplete.em import Convergence
from consilience.incomplete.variational import VariationalResult
from consilience.show.picture import STATE_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_convergence"]

SHORT = 5  # climbs of fewer steps are shown whole
N_MARKED = 60  # longer climbs are drawn as a line without dots
SKIPPED = 0.1  # share of the steps that may lie below the axes
SQUASHED = 3.0  # if they are so many times as far below the end as the others
ROOM = 0.05  # between the end of the line and the marks of the starts, as a share of the steps


def plot_convergence(story: Convergence[Any] | VariationalResult, ax: Axes | None = None) -> Axes:
    """The objective against the step, and where the other starts ended.

    The line is the climb of the best start. If there were several, a bar right of its end marks
    what each of them reached: bars that lie apart are different optima. First steps from far below,
    a tenth of them at most, are cut off if the others could not be told apart with them; the axis
    says so.

    Parameters
    ----------
    story
        What :func:`consilience.em` or :func:`consilience.gaps.variational` gives.
    ax
        Where to draw; a new figure if not given. In axes that have a climb already it becomes one
        more line in another color, so that climbs on the same rows can be compared.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    name, values, first = _climb(story)
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.0, 3.6), layout="constrained")
    n_before = len(ax.lines)
    if n_before == 0:
        _dress(ax, name, values, story, first=first)
    color = STATE_COLORS[n_before % len(STATE_COLORS)]
    steps = np.arange(first, first + len(values))
    ax.plot(
        steps,
        values,
        marker="o" if len(steps) <= N_MARKED else "",
        markersize=3.5,
        linewidth=1.4,
        color=color,
    )
    if len(story.starts) > 1:
        right = float(steps[-1]) + ROOM * max(len(steps), 1)
        ax.scatter(
            [right] * len(story.starts),
            story.starts,
            s=90,
            marker="_",
            color=color,
            linewidth=1.2,
            label=f"ends of {len(story.starts):,} starts",
        )
        ax.legend(loc="best", fontsize=8, frameon=False)
    _limit(ax)
    return ax


def _climb(story: Convergence[Any] | VariationalResult) -> tuple[str, Floats, int]:
    """What is climbed, its value after each step, and the number of the first step."""
    if isinstance(story, Convergence):
        return "objective", story.objective, 0
    return "bound", story.trace, 1


def _limit(ax: Axes) -> None:
    """Let the axes begin where the climbs have left their first steps, if these are far below."""
    lines = [np.asarray(line.get_ydata(), float) for line in ax.lines]
    marks = [np.ma.getdata(one.get_offsets())[:, 1] for one in ax.collections]
    later = np.concatenate([*(_later(values) for values in lines), *marks])
    whole = np.concatenate([*lines, later])
    later, whole = later[np.isfinite(later)], whole[np.isfinite(whole)]
    floor = later.max() - SQUASHED * np.ptp(later) if len(later) else -np.inf
    if not len(later) or np.ptp(later) == 0 or whole.min() >= floor:
        ax.autoscale(axis="y")
        ax.set_xlabel("step")
        return
    kept = whole[whole >= floor]
    room = 0.06 * float(np.ptp(kept))
    ax.set_ylim(float(kept.min()) - room, float(kept.max()) + room)
    n_cut = max(int((values < floor).sum()) for values in lines)
    first = "the first lies" if n_cut == 1 else f"the first {n_cut:,} lie"
    ax.set_xlabel(f"step ({first} below, from {whole.min():,.6g} on)")


def _later(values: Floats) -> Floats:
    """A climb without its first steps, one of them at least; a short one whole."""
    return values if len(values) < SHORT else values[max(1, round(SKIPPED * len(values))) :]


def _dress(
    ax: Axes, name: str, values: Floats, story: Convergence[Any] | VariationalResult, *, first: int
) -> None:
    n_starts = len(story.starts)
    starts = f", best of {n_starts} starts" if n_starts > 1 else ""
    ax.set_title(
        f"{name} {values[-1]:,.2f} after {len(values) - 1 + first:,} steps{starts}; "
        f"stopped by {story.stopped_by}",
        fontsize=9,
        loc="left",
    )
    ax.set_ylabel(name)
    ax.locator_params(axis="x", integer=True)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:,.6g}")
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
