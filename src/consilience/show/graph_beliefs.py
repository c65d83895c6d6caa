"""Pictures of beliefs about graphs (extra ``plot``): arcs, the averaged graph, chains, sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.averaging.arc_beliefs import ArcBeliefs
from consilience.averaging.graph_belief import GraphBelief
from consilience.averaging.graph_chains import GraphChains
from consilience.averaging.source_multinets import Multinets
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.show import picture as pic
from consilience.show.arc_matrix import draw_matrix
from consilience.show.chains import draw_legend, draw_ranks, draw_trace
from consilience.show.patches import MARGIN, draw_arc, draw_node, frame, inches
from consilience.show.picture import COLORS, plain
from consilience.show.svg_numbered import Numbered, line_width, svg_numbered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = [
    "plot_arc_beliefs",
    "plot_believed_graph",
    "plot_graph_chains",
    "plot_multinets",
    "plot_strengths",
    "svg_belief",
]

POINTS = 0.72  # of a line's width
CHIP_SIZE = 8.5


def plot_strengths(belief: GraphBelief, ax: Axes | None = None) -> Axes:
    """Probability of every arc as a heat map; the arcs of the averaged graph are framed.

    Parameters
    ----------
    belief
        What :func:`consilience.average` gives.
    ax
        Where to draw; a new figure if not given.
    """
    words = f"probability of arcs; threshold of adjacency {belief.threshold:.3g}"
    return _matrix(belief.arcs, belief.averaged(), words, ax)


def plot_arc_beliefs(arcs: ArcBeliefs, ax: Axes | None = None) -> Axes:
    """Probability of every arc as a heat map; arcs of pairs above one half are framed."""
    return _matrix(arcs, arcs.averaged(0.5), "probability of arcs", ax)


def plot_believed_graph(
    belief: GraphBelief, ax: Axes | None = None, *, threshold: float | None = None
) -> Axes:
    """The averaged graph; every arc has the probability that its pair is joined.

    Parameters
    ----------
    belief
        What :func:`consilience.average` gives.
    ax
        Where to draw; a new figure if not given.
    threshold
        Adjacency above which a pair is drawn; that of the belief if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    dag = belief.averaged(threshold)
    numbers = _numbers(belief.arcs, dag)
    drawn = pic.picture(dag)
    if ax is None:
        size = inches(drawn.layout.width + 2 * MARGIN, drawn.layout.height + 2 * MARGIN)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    for arc, points in drawn.layout.routes.items():
        draw_arc(ax, points, COLORS["arc"], linewidth=POINTS * line_width(numbers[arc]))
        (start_x, start_y), (end_x, end_y) = points[-2:]
        ax.text(
            (start_x + end_x) / 2,
            (start_y + end_y) / 2,
            numbers[arc].text,
            ha="center",
            va="center",
            fontsize=CHIP_SIZE * 0.8,
            color=COLORS["ink"],
            bbox={"boxstyle": "round,pad=0.15", "facecolor": COLORS["box"], "edgecolor": "none"},
        )
    for name, label in drawn.labels.items():
        draw_node(ax, drawn.layout.boxes[name], label, COLORS["box"], edge=COLORS["border"])
    frame(ax, drawn.layout)
    return ax


def plot_graph_chains(belief: GraphBelief | GraphChains, *, n_arcs: int = 3) -> NDArray[Any]:
    """Traces and ranks of the log score, and of the arcs whose chains agree least.

    The trace of an arc is the share of graphs that had it, over the last twentieth of the chain.

    Parameters
    ----------
    belief
        What :func:`consilience.average` gives by a chain, or its ``chains``.
    n_arcs
        How many arcs are shown, those with the largest R-hat first.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    _check.whole("plot", at_least=0, n_arcs=n_arcs)
    chains = belief if isinstance(belief, GraphChains) else belief.chains
    if chains is None:
        raise InputError("plot: this belief does not come from chains.", view="chains")
    rows = [("log score", chains.log_scores, chains.r_hat_score)]
    ratios = np.where(chains.is_open, chains.r_hat, -np.inf)
    for place in np.argsort(-ratios, axis=None)[: min(n_arcs, int(chains.is_open.sum()))]:
        i, j = divmod(int(place), len(chains.nodes))
        words = f"{chains.nodes[i]} → {chains.nodes[j]}"
        rows.append((words, _running(chains.arcs[:, :, i, j]), float(ratios[i, j])))
    figure, axes = pyplot.subplots(
        len(rows),
        2,
        figsize=(8.4, 0.8 + 1.75 * len(rows)),
        width_ratios=[2, 1],
        layout="constrained",
        squeeze=False,
    )
    for (trace, ranks), (words, drawn, ratio) in zip(axes, rows, strict=True):
        draw_trace(trace, drawn)
        draw_ranks(ranks, drawn)
        title = f"{plain(words)}, R-hat {ratio:.3f}"
        trace.set_title(title, fontsize=9, loc="left")
    axes[0, 1].set_title("ranks by chain", fontsize=9, loc="left")
    axes[-1, 0].set_xlabel("graph")
    axes[-1, 1].set_xlabel("rank among all graphs")
    draw_legend(figure, axes[0, 0])
    return np.asarray(axes)


def plot_multinets(found: Multinets, *, max_panels: int = 12) -> NDArray[Any]:
    """For each source a heat map of its arcs; pairs that differ from the common graph are framed.

    Parameters
    ----------
    found
        What :func:`consilience.averaging.multinets` gives.
    max_panels
        Sources that are shown, at most; those that differ most.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    _check.whole("plot", at_least=1, max_panels=max_panels)
    ordered = sorted(found.sources, key=lambda one: -float(found.differs[one].max(initial=0.0)))
    shown = [one for one in found.sources if one in ordered[:max_panels]]
    n_columns = min(len(shown), 3)
    n_lines = -(-len(shown) // n_columns)
    side = min(1.9 + 0.36 * len(found.nodes), 9.0)
    figure, axes = pyplot.subplots(
        n_lines,
        n_columns,
        figsize=(n_columns * (side + 0.6), n_lines * side),
        squeeze=False,
        layout="constrained",
    )
    for ax, source in zip(axes.flat, shown, strict=False):
        mine = [one for one in found.differences() if one.source == source]
        draw_matrix(
            found.nodes,
            found.by_source[source].matrix,
            most=1,
            framed=[(one.start, one.end) for one in mine],
            title=plain(source),
            ax=ax,
        )
    for ax in axes.flat[len(shown) :]:
        ax.set_axis_off()
    words = f"the graphs differ with probability {found.probability:.3g}"
    figure.suptitle(words, fontsize=10)
    return np.asarray(axes)


def svg_belief(
    belief: GraphBelief, *, title: str | None = None, threshold: float | None = None
) -> str:
    """The averaged graph as the text of an SVG file; arcs carry what is believed of them.

    Parameters
    ----------
    belief
        What :func:`consilience.average` gives.
    title
        A line above the picture.
    threshold
        Adjacency above which a pair is drawn; that of the belief if not given.
    """
    dag = belief.averaged(threshold)
    return svg_numbered(
        dag,
        _numbers(belief.arcs, dag),
        kind="Averaged graph",
        words="probability that the pair is joined",
        title=title,
    )


def _matrix(arcs: ArcBeliefs, dag: DAG, words: str, ax: Axes | None) -> Axes:
    return draw_matrix(arcs.nodes, arcs.matrix, most=1, framed=dag.arcs, title=words, ax=ax)


def _numbers(arcs: ArcBeliefs, dag: DAG) -> dict[Arc, Numbered]:
    adjacency = {arc: arcs.adjacency(*arc) for arc in dag.arcs}
    return {arc: Numbered(p, f"{p:.2f}".lstrip("0")) for arc, p in adjacency.items()}


def _running(values: Any) -> Floats:
    """Means over the last twentieth of a chain, shape (chains, draws)."""
    n = max(1, values.shape[1] // 20)
    sums = np.cumsum(np.pad(values.astype(np.float64), ((0, 0), (n, 0)), mode="edge"), axis=1)
    return np.asarray((sums[:, n:] - sums[:, :-n]) / n)
