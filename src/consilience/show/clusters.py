"""Clusters of sources: a bar for each source, as long as it is sure of its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from consilience import _check
from consilience.fusion.source_clusters import Clusters
from consilience.show.html import grid, heading, number
from consilience.show.picture import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["clusters_html", "plot_cluster_scores", "plot_clusters"]

HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")


def plot_clusters(found: Clusters, ax: Axes | None = None) -> Axes:
    """The sources by cluster; a bar says what its best other place would cost, in logs.

    Parameters
    ----------
    found
        What :func:`consilience.fusion.clusters` gives.
    ax
        Where to draw; a new figure if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    sources = [source for part in found.members for source in part]
    if ax is None:
        size = (5.6, 1.1 + 0.24 * len(sources))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    cost = np.array([found.margins[source] for source in sources])
    finite = cost[np.isfinite(cost)]
    length = np.where(np.isfinite(cost), cost, finite.max(initial=1.0))
    places = [i + 0.6 * found.labels[source] for i, source in enumerate(sources)]
    for k, part in enumerate(found.members):
        at = [i for i, source in enumerate(sources) if source in part]
        words = f"{len(part)} sources, {len(found.graphs[k].arcs)} arcs"
        hue = HUES[k % len(HUES)]
        ax.barh([places[i] for i in at], length[at], height=0.7, color=hue, label=words)
    ax.set_yticks(places, [plain(source) for source in sources])
    ax.invert_yaxis()
    ax.set_xlabel("what the best other cluster would cost")
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def plot_cluster_scores(found: Clusters, ax: Axes | None = None) -> Axes:
    """The score of the best partition by number of clusters, beside the best of all.

    Parameters
    ----------
    found
        What :func:`consilience.fusion.clusters` gives.
    ax
        Where to draw; a new figure if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(5.0, 3.2), layout="constrained")
    numbers = sorted(found.scores)
    best = max(found.scores.values())
    ax.plot(numbers, [found.scores[k] - best for k in numbers], "o-", color=HUES[0])
    ax.plot([len(found.members)], [0.0], "o", markersize=11, fillstyle="none", color=HUES[1])
    ax.set_xticks(numbers)
    ax.set_xlabel("clusters")
    ax.set_ylabel(f"{found.score} beside the best")
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def clusters_html(found: Clusters) -> str:
    """The clusters with their sources, arcs and least margin."""
    about = heading("Clusters", f"{len(found.members)} of {len(found.labels)} sources")
    lines = [
        (
            str(k),
            ", ".join(part),
            number(f"{len(found.graphs[k].arcs)}"),
            number(f"{min(found.margins[source] for source in part):.4g}"),
        )
        for k, part in enumerate(found.members)
    ]
    return about + grid(("cluster", "sources", "arcs", "least margin"), lines)
