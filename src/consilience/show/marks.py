"""Pieces of SVG text that all pictures are put together from: lines, boxes, titles, legends.

They name no fonts, styles or identifiers from or for elsewhere, so that many pictures can stand in
one page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from consilience.show import picture as pic
from consilience.show.bows import DASHES, Bow, heads
from consilience.show.boxes import Box, Point
from consilience.show.picture import COLORS, curve

__all__ = [
    "LEGEND_SIZE",
    "LEGEND_STEP",
    "MARGIN",
    "TITLE_SIZE",
    "arc",
    "attribute",
    "bow",
    "bow_sign",
    "box",
    "legend_lines",
    "legend_width",
    "line",
    "node",
    "number",
    "opening",
    "plain",
    "sign",
    "title_line",
    "title_width",
]

MARGIN = 16.0
HEAD = 8.0  # length of an arrow head
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
TITLE_SIZE = 17.0
LEGEND_SIZE = 11.5
LEGEND_STEP = 19.0
SIGN_WIDTH = 30.0  # of the sign before the words of a legend
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def opening(width: float, height: float, description: str) -> str:
    """The first line of a picture of that size; the description is read aloud in its place."""
    label = attribute(description)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'width="{number(width)}" height="{number(height)}" '
        f'role="img" aria-label={label} font-family="{FONTS}" '
        f'font-size="{number(pic.FONT_SIZE)}">'
    )


def title_line(title: str, x: float, y: float, *, size: float = TITLE_SIZE) -> str:
    """A heading whose letters stand on the line through y."""
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" '
        f'font-weight="600" fill="{COLORS["words"]}">{plain(title)}</text>'
    )


def title_width(title: str, *, size: float = TITLE_SIZE) -> float:
    """About how wide a heading is."""
    return 1.06 * pic.text_width(title, size)


def arc(ends: tuple[str, str], drawn: str, *, kind: str = "", sign: str = "→") -> str:
    """A drawn line with what it says when pointed at."""
    tip = f"<title>{plain(ends[0])} {sign} {plain(ends[1])}</title>"
    return f'<g class="{kind}{" " if kind else ""}arc">{tip}{drawn}</g>'


def line(
    points: Sequence[Point],
    color: str,
    stroke: float,
    *,
    dashes: Sequence[float] = (),
    has_head: bool = True,
) -> str:
    """A path and its arrow head, whose tip is the last point; it points down or up."""
    *before, (x, y) = points
    back = -HEAD if y >= before[-1][1] else HEAD
    stop = y + back * (1 - 1 / HEAD) if has_head else y
    path = f"M{_at(before[0])}" + "".join(
        "C" + " ".join(map(_at, piece)) for piece in curve([*before, (x, stop)])
    )
    half = HEAD * 0.46
    tip = " ".join(map(_at, [(x - half, y + back), (x, y), (x + half, y + back)]))
    pattern = f' stroke-dasharray="{" ".join(map(number, dashes))}"' if dashes else ""
    head = f'<polygon points="{tip}" fill="{color}"/>' if has_head else ""
    return (
        f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{number(stroke)}"{pattern}/>'
        f"{head}"
    )


def bow(points: Bow, color: str, stroke: float) -> str:
    """A dashed curve with a head at both ends."""
    first, *rest = points
    path = f"M{_at(first)}C{' '.join(map(_at, rest))}"
    tips = "".join(
        f'<polygon points="{" ".join(map(_at, corners))}" fill="{color}"/>'
        for corners in heads(points)
    )
    pattern = " ".join(map(number, DASHES))
    return (
        f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{number(stroke)}" '
        f'stroke-dasharray="{pattern}"/>{tips}'
    )


def bow_sign() -> str:
    """A hidden common cause, for a legend."""
    return bow(((1.0, 5.0), (4.0, -6.0), (20.0, -6.0), (23.0, 5.0)), COLORS["hidden"], 1.4)


def node(name: str, place: Box, label: str) -> str:
    """A node in the usual colors."""
    drawn = box(place, label, place.y, COLORS["box"], stroke=COLORS["border"], stroke_width=1.2)
    return f'<g class="node"><title>{plain(name)}</title>{drawn}</g>'


def box(
    place: Box, label: str, label_y: float, fill: str, *, stroke: str, stroke_width: float
) -> str:
    """The box of a node with its label."""
    return (
        f'<rect x="{number(place.left)}" y="{number(place.top)}" width="{number(place.width)}" '
        f'height="{number(place.height)}" rx="8" fill="{fill}" stroke="{stroke}" '
        f'stroke-width="{number(stroke_width)}"/>'
        f'<text x="{number(place.x)}" y="{number(label_y)}" dy="0.35em" text-anchor="middle" '
        f'fill="{COLORS["ink"]}">{plain(label)}</text>'
    )


def sign(color: str, stroke: float, *, dashes: Sequence[float] = (), length: float = 19.0) -> str:
    """An arrow to the right, for a legend."""
    arrow = line([(0.0, 0.0), (0.0, length)], color, stroke, dashes=dashes)
    return f'<g transform="translate(2 0) rotate(-90)">{arrow}</g>'


def legend_width(words: str, *, room: float = SIGN_WIDTH) -> float:
    """About how wide a line of a legend is."""
    return room + pic.text_width(words, LEGEND_SIZE)


def legend_lines(
    legend: Sequence[tuple[str, str]], top: float, *, room: float = SIGN_WIDTH
) -> list[str]:
    """Signs and their words, one below the other."""
    return [
        f'<g class="legend" transform="translate(0 {number(top + LEGEND_STEP * (i + 0.5))})">{mark}'
        f'<text x="{number(room)}" y="0" dy="0.35em" font-size="{number(LEGEND_SIZE)}" '
        f'fill="{COLORS["words"]}">{plain(words)}</text></g>'
        for i, (mark, words) in enumerate(legend)
    ]


def attribute(text: str) -> str:
    """Text as the value of an attribute, with its quotes."""
    return quoteattr(_NOT_XML.sub("\ufffd", text))


def plain(text: str) -> str:
    """Text as the content of an element."""
    return escape(_NOT_XML.sub("\ufffd", text))


def number(value: float) -> str:
    """A number with one digit, if it needs it."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _at(point: Point) -> str:
    return f"{number(point[0])},{number(point[1])}"
