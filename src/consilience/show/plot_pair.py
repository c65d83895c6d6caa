"""Two graphs side by side with matplotlib (extra ``plot``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience.graph.dag import DAG
from consilience.show.pair import LOOKS, Pair, pair_of
from consilience.show.patches import MARGIN, draw_arc, draw_node, frame, inches
from consilience.show.picture import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["plot_pair"]

GAP = 30.0  # between the two pictures
HEAD = 40.0  # for the names
LEGEND_ROW, LEGEND_COLUMN = 22.0, 240.0
POINTS = 0.72  # of a line's width in an SVG picture


def plot_pair(
    learned: DAG, other: DAG, *, names: Sequence[str] = ("learned", "other")
) -> NDArray[Any]:
    """Two graphs over the same nodes side by side, drawn as :func:`svg_pair` draws them.

    Parameters
    ----------
    learned, other
        The graph on the left and the one on the right.
    names
        What they are called in the picture.

    Raises
    ------
    GraphError
        If the graphs have different nodes.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    pair = pair_of(learned, other, names)
    n_beside, n_below = (1, 2) if pair.is_stacked else (2, 1)
    width = max(n_beside * (pair.layout.width + 2 * MARGIN) + GAP, LEGEND_COLUMN)
    n_columns = int(width / LEGEND_COLUMN)
    foot = LEGEND_ROW * (1 + math.ceil(len(pair.legend) / n_columns))
    size = inches(width, n_below * (pair.layout.height + 2 * MARGIN + HEAD) + foot)
    figure, axes = pyplot.subplots(n_below, n_beside, figsize=size, layout="constrained")
    for k, ax in enumerate(axes):
        _draw(ax, pair, k)
    _legend(figure, pair, n_columns)
    return np.asarray(axes)


def _draw(ax: Axes, pair: Pair, k: int) -> None:
    for drawn in pair.sides[k]:
        look = LOOKS[drawn.kind]
        dashes = [each / look.width for each in look.dashes]  # which matplotlib multiplies again
        draw_arc(ax, drawn.points, look.color, linewidth=POINTS * look.width, dashes=dashes)
    for name, box in pair.layout.boxes.items():
        draw_node(ax, box, pair.labels[name], COLORS["box"], edge=COLORS["border"])
    heading = pair.headings[k].replace("$", r"\$")
    ax.set_title(heading, fontsize=10, loc="left")
    frame(ax, pair.layout)


def _legend(figure: Figure, pair: Pair, n_columns: int) -> None:
    lines = _check.extra("matplotlib.lines", "plot", "plot")
    handles = [
        lines.Line2D(
            [],
            [],
            color=LOOKS[kind].color,
            linewidth=POINTS * LOOKS[kind].width,
            linestyle=(0, [each / LOOKS[kind].width for each in LOOKS[kind].dashes] or None),
            label=words.replace("$", r"\$"),
        )
        for kind, words in pair.legend.items()
    ]
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower left",
            ncols=min(n_columns, len(handles)),
            frameon=False,
            fontsize=9,
            handlelength=3.4,
        )
