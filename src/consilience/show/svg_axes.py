"""What all SVG charts share: sizes, colours, text, axes and the frame around them.

A chart has no background, no style and no identifiers. Text has the colour of the page; fills and
lines are middle tones that can be told from white and from black. Every part has a class, so that
a page may set its own colours: :data:`CHART_STYLE` are those of the explorer and the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consilience.show.marks import attribute, number, plain
from consilience.show.picture import shortened, text_width, told_apart

__all__ = [
    "BAR",
    "CHART_STYLE",
    "GREY",
    "LABEL",
    "SIZE",
    "STEP",
    "WARM",
    "WIDTH",
    "Chart",
    "Names",
    "across",
    "axis",
    "down",
    "hatching",
    "names_beside",
    "nested",
    "opening",
    "rect",
    "ticks",
    "tipped",
    "words",
]

SIZE = 11.5
STEP = 21.0
WIDTH = 300.0
MOST_WIDTH = 460.0  # of a picture among charts, so that their letters stay legible
N_TICKS = 5
LABEL = 30
TOP = 8.0
GREY = "#808080"
BAR = "#3a78e8"
WARM = "#b45309"

CHART_STYLE = (
    ".chart .bar{fill:#1d5fd0}.chart .ground{fill:#dbe3ec;fill-opacity:1}"
    ".chart .warm{fill:#b45309}.chart .line{stroke:#1d5fd0}"
    "@media(prefers-color-scheme:dark){.chart .bar{fill:#6ea0ff}"
    ".chart .ground{fill:#333d4b}.chart .warm{fill:#f5a524}.chart .line{stroke:#6ea0ff}}"
    "@media print{.chart .bar{fill:#1d5fd0}.chart .ground{fill:#dbe3ec}.chart .warm{fill:#b45309}"
    ".chart .line{stroke:#1d5fd0}}"
)
"""Colours of charts on light, dark and printed pages."""


class Chart(NamedTuple):
    """A drawn chart: its parts, its size, and what it is called when read aloud."""

    body: str
    width: float
    height: float
    label: str

    @property
    def svg(self) -> str:
        """The chart alone, in the color of the page."""
        return f"{opening(self.width, self.height, self.label)}{self.body}</svg>"


def opening(width: float, height: float, label: str, *, color: str = "currentColor") -> str:
    """The first line of a chart of that size; the label is read aloud in its place."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{number(width)}" '
        f'height="{number(height + TOP)}" viewBox="0 {-TOP:g} {number(width)} '
        f'{number(height + TOP)}" role="img" '
        f'aria-label={attribute(label)} font-family="system-ui, sans-serif" '
        f'font-size="{number(SIZE)}" fill="{color}">'
    )


def words(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    length: int = LABEL,
    faint: bool = False,
    shown: str | None = None,
) -> str:
    """A text beside or below a point; ``shown`` in its place, or its middle left out if long."""
    shown = shortened(text, length) if shown is None and text else shown or ""
    shade = ' fill-opacity=".8"' if faint else ""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    whole = f"<title>{plain(text)}</title>" if len(text) > length else ""
    return (
        f'<text x="{number(x)}" y="{number(y)}" dy=".35em"{side}{shade}>'
        f"{plain(shown)}{whole}</text>"
    )


def rect(x: float, y: float, width: float, height: float, *, look: str) -> str:
    """A box; ``look`` are its attributes."""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(width, 0.0))}" '
        f'height="{number(height)}" {look}/>'
    )


def tipped(drawn: str, tip: str) -> str:
    """A part of a chart that says something when pointed at."""
    return f"<g><title>{plain(tip)}</title>{drawn}</g>"


def axis(at: Sequence[float], place: Callable[[float], float], height: float) -> str:
    """Thin lines down the chart and their numbers below it."""
    return "".join(
        down(place(tick), height, GREY, 0.8, opacity=".3")
        + f'<text x="{number(place(tick))}" y="{number(height + 14)}" text-anchor="middle" '
        f'fill-opacity=".8">{tick:.4g}</text>'
        for tick in at
    )


def down(x: float, height: float, color: str, stroke: float, *, opacity: str = "1") -> str:
    """A line down the chart."""
    return (
        f'<line x1="{number(x)}" x2="{number(x)}" y1="0" y2="{number(height)}" stroke="{color}" '
        f'stroke-width="{stroke:g}" stroke-opacity="{opacity}"/>'
    )


def across(left: float, right: float, y: float) -> str:
    """A thin line across the chart."""
    return (
        f'<line x1="{number(left)}" x2="{number(right)}" y1="{number(y)}" y2="{number(y)}" '
        f'stroke="{GREY}" stroke-opacity=".25"/>'
    )


def hatching(
    x: float, y: float, width: float, height: float, *, gap: float = 6.0, opacity: float = 0.6
) -> str:
    """Thin lines from the lower left to the upper right of a box."""
    lines = []
    for shift in np.arange(gap, width + height, gap).tolist():
        start = (x + max(0.0, shift - height), y + min(shift, height))
        end = (x + min(shift, width), y + max(0.0, shift - width))
        lines.append(f"M{number(start[0])},{number(start[1])}L{number(end[0])},{number(end[1])}")
    return (
        f'<path d="{"".join(lines)}" fill="none" stroke="currentColor" stroke-width=".7" '
        f'stroke-opacity="{opacity:g}"/>'
    )


def nested(svg: str, label: str) -> Chart:
    """A whole picture as a chart, made smaller if it is wider than other charts."""
    sizes = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)" width="[0-9.]+" height="[0-9.]+"', svg)
    assert sizes is not None, "a picture of the library has its size in its first line"
    width, height = float(sizes[1]), float(sizes[2])
    scale = min(1.0, MOST_WIDTH / width)
    seen = (
        f'viewBox="0 0 {sizes[1]} {sizes[2]}" width="{number(scale * width)}" '
        f'height="{number(scale * height)}"'
    )
    return Chart(svg.replace(sizes[0], seen, 1), scale * width, scale * height, label)


class Names(NamedTuple):
    """Names at the left of a chart, shortened so that they can be told apart."""

    shown: Mapping[str, str]
    width: float

    def at(self, name: str, y: float) -> str:
        """One of them, at the left of its line."""
        return words(name, self.width - 8, y, anchor="end", shown=self.shown[name])


def names_beside(names: Sequence[str]) -> Names:
    """Names and the room that they take."""
    shown = told_apart(names, LABEL)
    return Names(shown, max((text_width(n, SIZE) for n in shown.values()), default=0.0) + 22)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers that hold both ends between them."""
    span = (high - low) or 1.0
    raw = span / (N_TICKS - 1)
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw - 1e-12)
    first = np.floor(low / step + 1e-9)
    last = np.ceil(high / step - 1e-9)
    return [float(step * i) for i in np.arange(first, max(last, first + 1) + 1)]
