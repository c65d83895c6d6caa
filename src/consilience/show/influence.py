"""The influence graph as a picture: each model is one box with its observed variables inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from consilience import _check
from consilience.latent.influence_record import Influence
from consilience.show import marks, picture as pic
from consilience.show.boxes import Box
from consilience.show.layout import Layout, layout
from consilience.show.marks import MARGIN, TITLE_SIZE
from consilience.show.patches import draw_arc, frame, inches
from consilience.show.picture import COLORS, shortened, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_influence", "svg_influence"]

LINE_HEIGHT = 17.0
LINE_SIZE = 11.0
EDGE = 8.0  # between a text and the edge of its box, at least
CAPITAL = 0.73  # height of a capital letter as a share of the size of the font
N_LINES = 8
"""A box lists at most so many observed variables."""


@dataclass(frozen=True, slots=True)
class _Folded:
    """The layout of the hidden nodes, and what stands in each box."""

    layout: Layout
    labels: Mapping[str, str]
    lines: Mapping[str, tuple[str, ...]]


def svg_influence(found: Influence, *, title: str | None = None) -> str:
    """The influence graph as the text of an SVG file; a model is a box with its variables.

    Parameters
    ----------
    found
        What :func:`consilience.influence` gives.
    title
        A line above the picture.
    """
    drawn = _folded(found)
    head = 0.0 if title is None else TITLE_SIZE + 14
    words = [] if title is None else [marks.title_width(title)]
    width = max([drawn.layout.width, *words]) + 2 * MARGIN
    height = drawn.layout.height + head + 2 * MARGIN
    count = f"{len(drawn.labels)} models and {len(found.dag.arcs)} arcs of influence"
    body = [
        *([] if title is None else [marks.title_line(title, MARGIN, MARGIN + TITLE_SIZE - 3)]),
        f'<g transform="translate({marks.number(MARGIN)} {marks.number(MARGIN + head)})">',
        *(
            marks.arc(arc, marks.line(points, COLORS["arc"], 1.4))
            for arc, points in drawn.layout.routes.items()
        ),
        *(_svg_box(name, drawn) for name in drawn.labels),
        "</g>",
    ]
    description = count if title is None else f"{title}: {count}"
    return "\n".join([marks.opening(width, height, description), *body, "</svg>", ""])


def plot_influence(found: Influence, ax: Axes | None = None) -> Axes:
    """The influence graph with matplotlib (extra ``plot``); a model is a box with its variables.

    Parameters
    ----------
    found
        What :func:`consilience.influence` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    drawn = _folded(found)
    if ax is None:
        size = inches(drawn.layout.width + 2 * MARGIN, drawn.layout.height + 2 * MARGIN)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    for points in drawn.layout.routes.values():
        draw_arc(ax, points, COLORS["arc"])
    for name, label in drawn.labels.items():
        _draw_box(ax, drawn.layout.boxes[name], label, drawn.lines[name])
    frame(ax, drawn.layout)
    return ax


def _folded(found: Influence) -> _Folded:
    labels = {name: shortened(name, pic.LABEL_LENGTH) for name in found.dag.nodes}
    lines = {name: _lines(found.groups[name]) for name in found.dag.nodes}
    sizes = {
        name: _size(label, lines[name], len(found.dag.parents(name)))
        for name, label in labels.items()
    }
    return _Folded(layout(found.dag, sizes), labels, lines)


def _lines(names: tuple[str, ...]) -> tuple[str, ...]:
    shown = tuple(shortened(name, pic.LABEL_LENGTH) for name in names)
    if len(shown) <= N_LINES:
        return shown
    return (*shown[: N_LINES - 1], f"and {len(shown) - N_LINES + 1} more")


def _size(label: str, lines: tuple[str, ...], n_parents: int) -> tuple[float, float]:
    tips = 10.0 * min(n_parents, 12) + 16
    inside = max(text_width(line, LINE_SIZE) for line in lines)
    width = max(text_width(label, pic.FONT_SIZE) + 2 * pic.PADDING, inside + 30, tips, 64.0)
    return round(width), pic.BOX_HEIGHT + LINE_HEIGHT * len(lines) + 7


def _line_y(box: Box, line: int) -> float:
    return box.top + pic.BOX_HEIGHT + LINE_HEIGHT * (line + 0.5)


def _svg_box(name: str, drawn: _Folded) -> str:
    box = drawn.layout.boxes[name]
    outer = marks.box(
        box,
        drawn.labels[name],
        box.top + pic.BOX_HEIGHT / 2,
        COLORS["highlight box"],
        stroke=COLORS["highlight"],
        stroke_width=1.2,
    )
    rule = marks.number(box.top + pic.BOX_HEIGHT - 2)
    inner = [
        f'<line x1="{marks.number(box.left)}" x2="{marks.number(box.right)}" y1="{rule}" '
        f'y2="{rule}" stroke="{COLORS["highlight"]}" stroke-width="0.6"/>'
    ]
    for i, line in enumerate(drawn.lines[name]):
        inner.append(
            f'<text x="{marks.number(box.x)}" y="{marks.number(_line_y(box, i))}" dy="0.35em" '
            f'text-anchor="middle" font-size="{marks.number(LINE_SIZE)}" '
            f'fill="{COLORS["faint ink"]}">{marks.plain(line)}</text>'
        )
    return f'<g class="model">{outer}{"".join(inner)}</g>'


def _draw_box(ax: Axes, box: Box, label: str, lines: tuple[str, ...]) -> None:
    patches = _check.extra("matplotlib.patches", "plot", "plot")
    ax.add_patch(
        patches.FancyBboxPatch(
            (box.left, box.top),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=8",
            facecolor=COLORS["highlight box"],
            edgecolor=COLORS["highlight"],
            linewidth=0.9,
            zorder=2,
        )
    )
    _draw_text(
        ax, box, label, box.top + pic.BOX_HEIGHT / 2, size=pic.FONT_SIZE, color=COLORS["ink"]
    )
    for i, line in enumerate(lines):
        _draw_text(ax, box, line, _line_y(box, i), size=LINE_SIZE, color=COLORS["faint ink"])
    rule = box.top + pic.BOX_HEIGHT - 2
    ax.plot([box.left, box.right], [rule, rule], color=COLORS["highlight"], lw=0.5, zorder=2)


def _draw_text(ax: Axes, box: Box, text: str, y: float, *, size: float, color: str) -> None:
    """A line of a box, centered, as a patch in the units of the layout, which grows with it.

    Its ends are those of the control points, and it is no patch that limits of axes are asked of:
    both would look for the extremes of every curve of every letter.
    """
    outline = _check.extra("matplotlib.textpath", "plot", "plot").TextPath
    patches = _check.extra("matplotlib.patches", "plot", "plot")
    turn = _check.extra("matplotlib.transforms", "plot", "plot").Affine2D
    letters = outline((0, 0), text.replace("$", r"\$"), size=size)
    across = letters.vertices[:, 0] if len(letters.vertices) else [0.0]
    left, right = float(min(across)), float(max(across))
    squeeze = min(1.0, (box.width - 2 * EDGE) / max(right - left, 1e-9))
    move = turn().translate(-(left + right) / 2, -CAPITAL * size / 2)
    move = move.scale(squeeze, -squeeze).translate(box.x, y)
    ax.add_artist(
        patches.PathPatch(move.transform_path(letters), facecolor=color, edgecolor="none", zorder=3)
    )
