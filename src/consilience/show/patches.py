"""Pieces of a picture as patches of matplotlib, in the units of a layout (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from consilience import _check
from consilience.show import picture as pic
from consilience.show.bows import DASHES, Bow, heads
from consilience.show.boxes import Box, Point
from consilience.show.layout import Layout
from consilience.show.picture import COLORS, curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MARGIN", "draw_arc", "draw_bow", "draw_node", "frame", "inches", "letters_color"]

HEAD = 8.0  # length of an arrow head
MARGIN = 8.0
UNITS_PER_INCH = 100.0
MAX_INCHES = 40.0


def letters_color(ax: Axes) -> str:
    """The colour of letters in the style in which the axes were made."""
    return str(ax.title.get_color())


def inches(width: float, height: float) -> tuple[float, float]:
    """Size of a figure for a picture of that size."""
    scale = min(1 / UNITS_PER_INCH, MAX_INCHES / max(width, height))
    return width * scale, height * scale


def frame(ax: Axes, layout: Layout) -> None:
    """Make the axes show the whole layout and nothing else."""
    ax.set_xlim(-MARGIN, layout.width + MARGIN)
    ax.set_ylim(layout.height + MARGIN, -MARGIN)
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw_arc(
    ax: Axes,
    points: Sequence[Point],
    color: str,
    *,
    linewidth: float = 1.0,
    dashes: Sequence[float] = (),
    has_head: bool = True,
) -> None:
    """A curve and its arrow head, whose tip is the last point; it points down or up."""
    patches = _check.extra("matplotlib.patches", "plot", "plot")
    path = _check.extra("matplotlib.path", "plot", "plot").Path
    *before, (x, y) = points
    back = -HEAD if y >= before[-1][1] else HEAD
    pieces = curve([*before, (x, y + back * (1 - 1 / HEAD) if has_head else y)])
    vertices = [before[0], *(point for piece in pieces for point in piece)]
    codes = [path.MOVETO, *[path.CURVE4] * (3 * len(pieces))]
    ax.add_patch(
        patches.PathPatch(
            path(vertices, codes),
            fill=False,
            edgecolor=color,
            linewidth=linewidth,
            linestyle=(0, tuple(dashes)) if dashes else "-",
            capstyle="butt",
        )
    )
    if not has_head:
        return
    half = HEAD * 0.46
    tip = [(x - half, y + back), (x, y), (x + half, y + back)]
    ax.add_patch(patches.Polygon(tip, closed=True, facecolor=color, edgecolor="none"))


def draw_bow(ax: Axes, bow: Bow, color: str, *, linewidth: float = 1.0) -> None:
    """A dashed curve with a head at both ends."""
    patches = _check.extra("matplotlib.patches", "plot", "plot")
    path = _check.extra("matplotlib.path", "plot", "plot").Path
    ax.add_patch(
        patches.PathPatch(
            path(list(bow), [path.MOVETO, *[path.CURVE4] * 3]),
            fill=False,
            edgecolor=color,
            linewidth=linewidth,
            linestyle=(0, DASHES),
        )
    )
    for corners in heads(bow):
        ax.add_patch(patches.Polygon(corners, closed=True, facecolor=color, edgecolor="none"))


def draw_node(ax: Axes, box: Box, label: str, fill: str, *, edge: str) -> None:
    """A box and its label."""
    patches = _check.extra("matplotlib.patches", "plot", "plot")
    ax.add_patch(
        patches.FancyBboxPatch(
            (box.left, box.top),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=8",
            facecolor=fill,
            edgecolor=edge,
            linewidth=0.9,
            zorder=2,
        )
    )
    ax.add_patch(_label(label, box.x, box.y, box.width - 2 * pic.PADDING * 0.6))


def _label(text: str, x: float, y: float, room: float) -> Any:
    """The text as a patch in the units of the layout, centred, upside down as the axis is."""
    outline = _check.extra("matplotlib.textpath", "plot", "plot").TextPath
    patches = _check.extra("matplotlib.patches", "plot", "plot")
    turn = _check.extra("matplotlib.transforms", "plot", "plot").Affine2D
    letters = outline((0, 0), text.replace("$", r"\$"), size=pic.FONT_SIZE)
    capital = outline((0, 0), "H", size=pic.FONT_SIZE).get_extents()
    extents = letters.get_extents()
    squeeze = min(1.0, room / extents.width) if extents.width > 0 else 1.0
    move = turn().translate(-(extents.x0 + extents.x1) / 2, -capital.height / 2)
    move = move.scale(squeeze, -squeeze).translate(x, y)
    return patches.PathPatch(
        move.transform_path(letters), facecolor=COLORS["ink"], edgecolor="none", zorder=3
    )
