"""A number for each arc as a heat map, from (rows) to (columns) (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from consilience import _check
from consilience._typing import Floats
from consilience.graph.names import Arc
from consilience.show.picture import COLORS, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_matrix"]

N_NUMBERS = 20  # of more nodes no numbers are written


def draw_matrix(
    nodes: Sequence[str],
    matrix: Floats,
    *,
    most: float,
    framed: Iterable[Arc],
    title: str,
    ax: Axes | None,
) -> Axes:
    """The matrix in shades up to ``most``; some arcs are framed."""
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    n = len(nodes)
    if ax is None:
        side = min(1.8 + 0.42 * n, 14.0)
        _, ax = pyplot.subplots(figsize=(side + 0.6, side), layout="constrained")
    image = ax.imshow(matrix, cmap="Blues", vmin=0, vmax=most)
    names = [shortened(name, 24).replace("$", r"\$") for name in nodes]
    ax.set_xticks(range(n), names, rotation=0 if max(map(len, names)) < 4 else 90)
    ax.set_yticks(range(n), names)
    ax.set_xlabel("to")
    ax.set_ylabel("from")
    ax.tick_params(length=0)
    ax.set_title(title, fontsize=10, loc="left")
    _frames(ax, nodes, framed)
    if n <= N_NUMBERS:
        _numbers(ax, matrix, most)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
    if most > 1:
        bar.ax.yaxis.get_major_locator().set_params(integer=True)
    bar.outline.set_visible(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _frames(ax: Axes, nodes: Sequence[str], arcs: Iterable[Arc]) -> None:
    patches = _check.extra("matplotlib.patches", "plot", "plot")
    place = {node: i for i, node in enumerate(nodes)}
    for start, end in arcs:
        corner = (place[end] - 0.5, place[start] - 0.5)
        ax.add_patch(
            patches.Rectangle(corner, 1, 1, fill=False, edgecolor="#D55E00", linewidth=1.8)
        )


def _numbers(ax: Axes, matrix: Floats, most: float) -> None:
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            text = f"{value:.3g}" if most > 1 else f"{value:.2f}".lstrip("0")
            if value and text != ".00":
                color = "white" if value > 0.6 * most else COLORS["ink"]
                ax.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
