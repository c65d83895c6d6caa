"""The way of a search (extra ``plot``): the score that was reached after so many families."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience import _check
from consilience.show.picture import STATE_COLORS
from consilience.structure.searches.task import SearchResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_trace"]

N_MARKED = 60  # longer traces are drawn as a line without dots


def plot_trace(result: SearchResult, ax: Axes | None = None) -> Axes:
    """The score of the best graph so far against the number of families scored.

    Parameters
    ----------
    result
        What :func:`consilience.search` gives.
    ax
        Where to draw; a new figure if not given. In axes that have a trace already it becomes one
        more line in another colour, so that searches with one score can be compared.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.0, 3.6), layout="constrained")
    n_before = len(ax.lines)
    if n_before == 0:
        _dress(ax, result)
    families = [step.n_scored for step in result.trace]
    scores = [step.score for step in result.trace]
    if families and families[-1] < result.n_scored:  # it went on without finding better
        families.append(result.n_scored)
        scores.append(scores[-1])
    ax.plot(
        families,
        scores,
        drawstyle="steps-post",
        marker="o" if len(families) <= N_MARKED else "",
        markersize=3.5,
        linewidth=1.4,
        color=STATE_COLORS[n_before % len(STATE_COLORS)],
    )
    return ax


def _dress(ax: Axes, result: SearchResult) -> None:
    ax.set_title(
        f"score {result.score:,.2f} after {result.n_scored:,} families, {result.seconds:.2g} s; "
        f"stopped by {result.stopped_by}",
        fontsize=9,
        loc="left",
    )
    ax.set_xlabel("families scored")
    ax.set_ylabel("best score so far")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:,.6g}")
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
