"""Two charts as SVG text, for pages without scripts: intervals, and curves with bands.

Text has the color of the page; lines and grounds are middle tones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats
from consilience.show.marks import attribute, number, plain
from consilience.show.picture import COLORS, STATE_COLORS, shortened, text_width

__all__ = ["Chart", "Interval", "bar_chart", "curve_chart", "interval_chart", "stacked_charts"]

SIZE = 11.5
STEP = 21.0
WIDTH = 300.0
N_TICKS = 5
LABEL = 30
TOP = 8.0
GREY = "#808080"


class Interval(NamedTuple):
    """A line of a chart: its name, a value if there is one, and two ends."""

    name: str
    value: float | None
    low: float
    high: float


class Chart(NamedTuple):
    """A drawn chart: its parts, its size, and what it is called when read aloud."""

    body: str
    width: float
    height: float
    label: str

    @property
    def svg(self) -> str:
        """The chart alone, in the color of the page."""
        return f"{_opening(self.width, self.height, self.label)}{self.body}</svg>"


def stacked_charts(charts: Sequence[Chart], title: str | None) -> str:
    """Charts below each other, each under its name, as the text of an SVG file."""
    words = [title or "", *(chart.label for chart in charts)]
    width = max([*(chart.width for chart in charts), *(1.1 * text_width(w, 17) for w in words)])
    top = 30.0 if title else 4.0
    body = [f'<text y="14" font-size="17" font-weight="600">{plain(title)}</text>' if title else ""]
    for chart in charts:
        body.append(
            f'<text y="{number(top + 10)}" font-weight="600">{plain(chart.label)}</text>'
            f'<g transform="translate(0 {number(top + 26)})">{chart.body}</g>'
        )
        top += chart.height + 44
    label = ", ".join(chart.label for chart in charts) if title is None else title
    return f"{_opening(width + 12, top, label, color=COLORS['words'])}{''.join(body)}</svg>\n"


def interval_chart(lines: Sequence[Interval], *, mark: float | None = None, label: str) -> Chart:
    """Dots with lines through them, one below the other; ``mark`` is a line down the chart."""
    ends = [end for one in lines for end in (one.low, one.high)]
    ends += [one.value for one in lines if one.value is not None]
    shown = ends if mark is None else [*ends, mark]
    ticks = _ticks(min(shown), max(shown))
    names = [shortened(one.name, LABEL) for one in lines]
    left = max(text_width(name, SIZE) for name in names) + 22
    height = STEP * len(lines)

    def x(value: float) -> float:
        return left + WIDTH * (value - ticks[0]) / (ticks[-1] - ticks[0])

    body = [_axis(ticks, x, height)]
    if mark is not None:
        body.append(_down(x(mark), height, GREY, 1.4))
    for i, (one, name) in enumerate(zip(lines, names, strict=True)):
        y = STEP * (i + 0.5)
        body.append(
            f'<text x="{number(left - 8)}" y="{number(y)}" dy=".35em" text-anchor="end">'
            f"{plain(name)}</text>"
            f'<line x1="{number(x(one.low))}" x2="{number(x(one.high))}" y1="{number(y)}" '
            f'y2="{number(y)}" stroke="{COLORS["bar"]}" stroke-width="4" stroke-opacity=".55" '
            f'stroke-linecap="round"/>'
        )
        if one.value is not None:
            dot = f'<circle cx="{number(x(one.value))}" cy="{number(y)}" r="4"'
            body.append(f'{dot} fill="{COLORS["highlight"]}"/>')
    return Chart("".join(body), left + WIDTH + 24, height + 22, label)


def bar_chart(values: Mapping[str, float], *, label: str) -> Chart:
    """Bars to both sides of 0, with their numbers."""
    ticks = _ticks(min([0.0, *values.values()]), max([0.0, *values.values()]))
    names = {name: shortened(name, LABEL) for name in values}
    left = max(text_width(name, SIZE) for name in names.values()) + 22
    height = STEP * len(values)

    def x(value: float) -> float:
        return left + WIDTH * (value - ticks[0]) / (ticks[-1] - ticks[0])

    body = [_axis(ticks, x, height), _down(x(0.0), height, GREY, 1.4)]
    for i, (name, value) in enumerate(values.items()):
        y, start = STEP * i + 4, min(x(0.0), x(value))
        color = COLORS["highlight" if i == 0 else "bar"]
        body.append(
            f'<text x="{number(left - 8)}" y="{number(y + 6.5)}" dy=".35em" text-anchor="end">'
            f"{plain(names[name])}</text>"
            f'<rect x="{number(start)}" y="{number(y)}" width="{number(abs(x(value) - x(0.0)))}" '
            f'height="13" rx="2" fill="{color}"><title>{value:.6g}</title></rect>'
            f'<text x="{number(left + WIDTH + 10)}" y="{number(y + 6.5)}" dy=".35em">'
            f"{value:.4g}</text>"
        )
    return Chart("".join(body), left + WIDTH + 70, height + 22, label)


def curve_chart(
    x: Floats,
    curves: Mapping[str, Floats],
    band: tuple[Floats, Floats] | None = None,
    *,
    label: str,
) -> Chart:
    """Curves between 0 and 1 over x, the first one thick, with a band behind them."""
    left, height = 34.0, 150.0
    low, high = float(x.min()), float(x.max())
    span = (high - low) or 1.0

    def at(value: float) -> float:
        return left + WIDTH * (value - low) / span

    def points(values: Floats) -> str:
        pairs = zip(x.tolist(), np.clip(values, 0, 1).tolist(), strict=True)
        return " ".join(f"{number(at(a))},{number(height * (1 - b))}" for a, b in pairs)

    body = [_axis([tick for tick in _ticks(low, high) if tick <= high + 1e-9], at, height)]
    for share in (0.0, 0.5, 1.0):
        y = height * (1 - share)
        body.append(
            f'<line x1="{number(left)}" x2="{number(left + WIDTH)}" y1="{number(y)}" '
            f'y2="{number(y)}" stroke="{GREY}" stroke-opacity=".25"/>'
            f'<text x="{number(left - 6)}" y="{number(y)}" dy=".35em" text-anchor="end">'
            f"{share:g}</text>"
        )
    if band is not None:
        back = " ".join(points(band[1]).split(" ")[::-1])
        ground = f'<polygon points="{points(band[0])} {back}" fill="{COLORS["bar"]}"'
        body.append(f'{ground} fill-opacity=".2"/>')
    for i, (name, values) in enumerate(curves.items()):
        color = COLORS["bar"] if i == 0 else STATE_COLORS[1]
        dashes = "" if i == 0 else ' stroke-dasharray="5 3"'
        body.append(
            f'<polyline points="{points(values)}" fill="none" stroke="{color}" '
            f'stroke-width="{2.2 if i == 0 else 1.4}"{dashes}><title>{plain(name)}</title>'
            "</polyline>"
        )
        body.append(_key(i, name, color, height + 34))
    return Chart("".join(body), left + WIDTH + 24, height + 34 + 18 * len(curves), label)


def _key(i: int, name: str, color: str, top: float) -> str:
    y = number(top + 18 * i)
    return (
        f'<line x1="34" x2="58" y1="{y}" y2="{y}" stroke="{color}" stroke-width="2"/>'
        f'<text x="64" y="{y}" dy=".35em">{plain(name)}</text>'
    )


def _axis(ticks: Sequence[float], place: Callable[[float], float], height: float) -> str:
    """Thin lines down the chart and their numbers below it."""
    parts = []
    for tick in ticks:
        at = place(tick)
        parts.append(_down(at, height, GREY, 0.8, opacity=".3"))
        parts.append(
            f'<text x="{number(at)}" y="{number(height + 14)}" text-anchor="middle" '
            f'fill-opacity=".75">{tick:.4g}</text>'
        )
    return "".join(parts)


def _down(x: float, height: float, color: str, stroke: float, *, opacity: str = "1") -> str:
    return (
        f'<line x1="{number(x)}" x2="{number(x)}" y1="0" y2="{number(height)}" stroke="{color}" '
        f'stroke-width="{stroke:g}" stroke-opacity="{opacity}"/>'
    )


def _opening(width: float, height: float, label: str, *, color: str = "currentColor") -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" '
        f'height="{number(height + TOP)}" viewBox="0 {-TOP:g} {number(width)} '
        f'{number(height + TOP)}" role="img" '
        f'aria-label={attribute(label)} font-family="system-ui, sans-serif" '
        f'font-size="{number(SIZE)}" fill="{color}">'
    )


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers that hold both ends between them."""
    span = (high - low) or 1.0
    raw = span / (N_TICKS - 1)
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw - 1e-12)
    first = np.floor(low / step + 1e-9)
    last = np.ceil(high / step - 1e-9)
    return [float(step * i) for i in np.arange(first, max(last, first + 1) + 1)]
