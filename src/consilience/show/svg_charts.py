"""Charts as SVG text, for pages without scripts: intervals, bars, and curves with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats
from consilience.show.marks import number, plain
from consilience.show.picture import COLORS, STATE_COLORS, shortened, text_width
from consilience.show.svg_axes import (
    BAR,
    GREY,
    SIZE,
    STEP,
    WIDTH,
    Chart,
    across,
    axis,
    down,
    names_beside,
    opening,
    rect,
    ticks,
    tipped,
    words,
)

__all__ = ["Interval", "bar_chart", "curve_chart", "interval_chart", "stack", "stacked_charts"]

NAME_LENGTH = 76  # of what stands above a chart


class Interval(NamedTuple):
    """A line of a chart: its name, a value if there is one, two ends, and words at its right."""

    name: str
    value: float | None
    low: float
    high: float
    note: str = ""


def stacked_charts(charts: Sequence[Chart], title: str | None) -> str:
    """Charts below each other, each under its name, as the text of an SVG file."""
    whole = stack(charts, title)
    head = opening(whole.width, whole.height, whole.label, color=COLORS["words"])
    return f"{head}{whole.body}</svg>\n"


def interval_chart(
    lines: Sequence[Interval],
    *,
    mark: float | None = None,
    bounds: tuple[float, float] | None = None,
    label: str,
) -> Chart:
    """Dots with lines through them, one below the other; ``mark`` is a line down the chart."""
    ends = [end for one in lines for end in (one.low, one.high)]
    ends += [one.value for one in lines if one.value is not None]
    shown = ends if mark is None else [*ends, mark]
    at = ticks(min(shown), max(shown)) if bounds is None else ticks(*bounds)
    names = names_beside([one.name for one in lines])
    left = names.width
    height = STEP * len(lines)

    def x(value: float) -> float:
        return left + WIDTH * (value - at[0]) / (at[-1] - at[0])

    body = [axis(at, x, height)]
    if mark is not None:
        body.append(down(x(mark), height, GREY, 1.4))
    for i, one in enumerate(lines):
        y = STEP * (i + 0.5)
        body.append(names.at(one.name, y))
        body.append(_whisker(one, x(one.low), x(one.high), y))
        if one.value is not None:
            dot = f'<circle cx="{number(x(one.value))}" cy="{number(y)}" r="4" class="bar"'
            body.append(f'{dot} fill="{BAR}"/>')
        if one.note:
            body.append(words(one.note, left + WIDTH + 14, y, faint=True))
    room = max((text_width(one.note, SIZE) for one in lines), default=0.0)
    return Chart("".join(body), left + WIDTH + 24 + room, height + 22, label)


def bar_chart(values: Mapping[str, float], *, label: str) -> Chart:
    """Bars to both sides of 0, with their numbers."""
    at = ticks(min([0.0, *values.values()]), max([0.0, *values.values()]))
    names = names_beside(list(values))
    left = names.width
    height = STEP * len(values)

    def x(value: float) -> float:
        return left + WIDTH * (value - at[0]) / (at[-1] - at[0])

    body = [axis(at, x, height), down(x(0.0), height, GREY, 1.4)]
    for i, (name, value) in enumerate(values.items()):
        y, start = STEP * i + 4, min(x(0.0), x(value))
        look = f'rx="2" class="bar" fill="{BAR}"'
        drawn = rect(start, y, abs(x(value) - x(0.0)), 13, look=look)
        body.append(names.at(name, y + 6.5))
        body.append(tipped(drawn, f"{name}: {value:.6g}"))
        body.append(words(f"{value:,.4g}", left + WIDTH + 10, y + 6.5))
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

    body = [axis([tick for tick in ticks(low, high) if tick <= high + 1e-9], at, height)]
    for share in (0.0, 0.5, 1.0):
        y = height * (1 - share)
        body.append(across(left, left + WIDTH, y))
        body.append(words(f"{share:g}", left - 6, y, anchor="end"))
    if band is not None:
        back = " ".join(points(band[1]).split(" ")[::-1])
        ground = f'<polygon points="{points(band[0])} {back}" class="bar" fill="{BAR}"'
        body.append(f'{ground} fill-opacity=".2"/>')
    for i, (name, values) in enumerate(curves.items()):
        color = BAR if i == 0 else STATE_COLORS[1]
        look = "" if i == 0 else ' stroke-dasharray="5 3"'
        body.append(
            f'<polyline points="{points(values)}" fill="none" stroke="{color}" '
            f'stroke-width="{2.2 if i == 0 else 1.4}"{look}><title>{plain(name)}</title>'
            "</polyline>"
        )
        body.append(_key(i, name, color, height + 34))
    return Chart("".join(body), left + WIDTH + 24, height + 34 + 18 * len(curves), label)


def stack(charts: Sequence[Chart], title: str | None = None) -> Chart:
    """Charts below each other, each under its name, as one."""
    names = [shortened(chart.label, NAME_LENGTH) for chart in charts]
    labels = (1.12 * text_width(name, SIZE) for name in names)
    head = 1.1 * text_width(title or "", 17)
    width = max([head, *labels, *(chart.width for chart in charts)])
    top = 30.0 if title else 4.0
    body = [f'<text y="14" font-size="17" font-weight="600">{plain(title)}</text>' if title else ""]
    for name, chart in zip(names, charts, strict=True):
        body.append(
            f'<text x="2" y="{number(top + 10)}" font-weight="600">{plain(name)}</text>'
            f'<g transform="translate(0 {number(top + 26)})">{chart.body}</g>'
        )
        top += chart.height + 44
    label = ", ".join(chart.label for chart in charts) if title is None else title
    return Chart("".join(body), width + 12, top, label)


def _whisker(one: Interval, low: float, high: float, y: float) -> str:
    tip = f"{one.name}: {one.low:.4g} to {one.high:.4g}"
    value = "" if one.value is None else f"{one.name}: {one.value:.4g}; "
    line = (
        f'<line x1="{number(low)}" x2="{number(high)}" y1="{number(y)}" y2="{number(y)}" '
        f'class="line" stroke="{BAR}" stroke-width="2.5" stroke-linecap="round"/>'
    )
    return tipped(line, f"{value}{tip}")


def _key(i: int, name: str, color: str, top: float) -> str:
    y = number(top + 18 * i)
    return (
        f'<line x1="34" x2="58" y1="{y}" y2="{y}" stroke="{color}" stroke-width="2"/>'
        f'<text x="64" y="{y}" dy=".35em">{plain(name)}</text>'
    )
