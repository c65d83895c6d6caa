"""Lines over named positions, and reliability diagrams, as SVG text.

Lines are told apart by colour (Okabe and Ito's), by dashes and by their names at the right; beyond
eight they have one colour, and the table beside the chart has their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from consilience.classify.evaluation import CalibrationCurve
from consilience.show.calibration import wilson
from consilience.show.marks import number
from consilience.show.picture import SOURCE_COLORS, text_width, told_apart
from consilience.show.svg_axes import (
    BAR,
    GREY,
    SIZE,
    WIDTH,
    Chart,
    across,
    down,
    ticks,
    tipped,
    words,
)

__all__ = ["reliability_chart", "series_chart"]

HEIGHT = 190.0
SIDE = 260.0
LINE = 15.0  # between two names
NAME, KEY = 20, 30  # letters of a name beside a chart, and in its key
DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "1 3", "10 4", "6 2 1 2")
PALE = frozenset({"#E69F00", "#56B4E9"})
"""Colours that need an edge on white."""


def series_chart(
    positions: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    marked: int | None = None,
    label: str,
    below: str = "",
) -> Chart:
    """A line for each name; ``marked`` is a position set off, the last one apart from the line."""
    values = [x for line in series.values() for x in line if np.isfinite(x)]
    at = ticks(min(values), max(values)) if values else [0.0, 1.0]
    left = 52.0
    step = max(WIDTH / max(len(positions) - 1, 1), *(text_width(p, SIZE) + 6 for p in positions))
    width = step * max(len(positions) - 1, 1)

    def y(value: float) -> float:
        return HEIGHT * (1 - (value - at[0]) / (at[-1] - at[0]))

    body = [across(left, left + width, y(tick)) for tick in at]
    body += [words(f"{tick:.4g}", left - 8, y(tick), anchor="end", faint=True) for tick in at]
    body += [
        words(name, left + step * k, HEIGHT + 16, anchor="middle", length=12)
        for k, name in enumerate(positions)
    ]
    if marked is not None:
        body.append(down(left + step * marked, HEIGHT, GREY, 6, opacity=".35"))
    names = told_apart(series, NAME)
    ends = _apart([y(_last(line)) for line in series.values()])
    for i, (name, line) in enumerate(series.items()):
        points = [(left + step * k, y(v)) for k, v in enumerate(line) if np.isfinite(v)]
        is_apart = marked == len(positions) - 1 and len(points) > 1
        parts = (points[:-1], points[-1:]) if is_apart else (points,)
        drawn = "".join(_line(part, i, len(series)) for part in parts)
        body.append(tipped(drawn, name))
        body.append(words(name, left + width + 12, ends[i], shown=names[name]))
    if below:
        body.append(words(below, left + width / 2, HEIGHT + 36, anchor="middle", length=90))
    room = max((text_width(name, SIZE) for name in names.values()), default=0.0)
    foot = 48.0 if below else 28.0
    return Chart("".join(body), left + width + room + 24, max(HEIGHT, *ends, 0) + foot, label)


def reliability_chart(curves: Mapping[str, CalibrationCurve], *, label: str) -> Chart:
    """Predicted probability against the share that came true, with the rows of every bin.

    The first curve has Wilson's 95 % intervals and its counts; on the diagonal the two agree.
    """
    left, top = 52.0, 6.0

    def place(predicted: float, observed: float) -> tuple[float, float]:
        return left + SIDE * predicted, top + SIDE * (1 - observed)

    body = [_diagonal(left, top)]
    for i, (name, curve) in reversed(list(enumerate(curves.items()))):
        pairs = zip(curve.predicted.tolist(), curve.observed.tolist(), strict=True)
        points = [place(*pair) for pair in pairs]
        if i == 0:
            body.append(_ends(curve, points, top))
        body.append(tipped(_line(points, i, len(curves)), name))
    first = next(iter(curves.values()))
    foot = top + SIDE + 34
    body.append(words("predicted probability", left + SIDE / 2, foot, anchor="middle"))
    body.append(_counts(first, left, foot + 16))
    key_top = foot + 84
    names = told_apart(curves, KEY)
    for i, name in enumerate(curves):
        y = key_top + 18 * i
        body.append(_line([(left, y), (left + 26, y)], i, len(curves)))
        body.append(words(f"{names[name]} ({_rows(curves[name])} rows)", left + 36, y, length=60))
    return Chart("".join(body), left + SIDE + 60, key_top + 18 * len(curves), label)


def _line(points: Sequence[tuple[float, float]], i: int, n: int) -> str:
    """A line with a dot at each point in the colour of the i-th of n."""
    many = n > len(SOURCE_COLORS) and i > 0
    color = GREY if many else SOURCE_COLORS[i % len(SOURCE_COLORS)]
    pattern = DASHES[i % len(DASHES)]
    dashes = f' stroke-dasharray="{pattern}"' if pattern else ""
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    edge = (
        f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="3.4" '
        'stroke-opacity=".6"/>'
        if color in PALE
        else ""
    )
    rim = ' stroke="currentColor" stroke-width=".8"' if color in PALE else ""
    dots = "".join(
        f'<circle cx="{number(x)}" cy="{number(y)}" r="{3.4 if i == 0 else 2.6}" '
        f'fill="{color}"{rim}/>'
        for x, y in points
    )
    return (
        f'{edge}<polyline points="{path}" fill="none" stroke="{color}" '
        f'stroke-width="{2.2 if i == 0 else 1.5}"{dashes}/>{dots}'
    )


def _diagonal(left: float, top: float) -> str:
    parts = [
        f'<line x1="{number(left)}" y1="{number(top + SIDE)}" x2="{number(left + SIDE)}" '
        f'y2="{number(top)}" stroke="{GREY}" stroke-dasharray="4 4"/>'
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + SIDE * (1 - share)
        parts.append(across(left, left + SIDE, y))
        parts.append(words(f"{share:g}", left - 8, y, anchor="end", faint=True))
        parts.append(words(f"{share:g}", left + SIDE * share, top + SIDE + 14, anchor="middle"))
    middle = number(top + SIDE / 2)
    parts.append(
        f'<text x="10" y="{middle}" text-anchor="middle" '
        f'transform="rotate(-90 10 {middle})">share that came true</text>'
    )
    return "".join(parts)


def _ends(curve: CalibrationCurve, points: Sequence[tuple[float, float]], top: float) -> str:
    low, high = wilson(curve.observed, curve.n_rows)
    return "".join(
        f'<line x1="{number(x)}" x2="{number(x)}" y1="{number(top + SIDE * (1 - a))}" '
        f'y2="{number(top + SIDE * (1 - b))}" stroke="currentColor" stroke-opacity=".6"/>'
        for (x, _), a, b in zip(points, low.tolist(), high.tolist(), strict=True)
    )


def _counts(curve: CalibrationCurve, left: float, top: float) -> str:
    """Bars of the rows in each bin, at their predicted probability."""
    most = float(curve.n_rows.max())
    parts = [words("rows", left - 8, top + 40, anchor="end", faint=True)]
    for p, n in zip(curve.predicted.tolist(), curve.n_rows.tolist(), strict=True):
        height = 34 * n / most
        x = left + SIDE * p
        bar = (
            f'<rect x="{number(x - 4)}" y="{number(top + 46 - height)}" width="8" '
            f'height="{number(height)}" class="bar" fill="{BAR}"/>'
        )
        parts.append(tipped(bar, f"{n:,.6g} rows at {p:.3f}"))
    low, high = float(curve.n_rows.min()), most
    told = f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"
    parts.append(words(f"{told} rows a bin", left + SIDE, top + 56, anchor="end", faint=True))
    return "".join(parts)


def _rows(curve: CalibrationCurve) -> str:
    return f"{float(curve.n_rows.sum()):,.6g}"


def _last(line: Sequence[float]) -> float:
    known = [x for x in line if np.isfinite(x)]
    return known[-1] if known else 0.0


def _apart(wanted: Sequence[float]) -> list[float]:
    """Places near the wanted ones, far enough apart to be read and none below the chart."""
    places = np.array(wanted, dtype=float)
    order = np.argsort(places, kind="stable")
    gap = min(LINE, HEIGHT / max(len(places) - 1, 1))
    at = -np.inf
    for i in order:
        at = places[i] = max(places[i], at + gap)
    at = HEIGHT + gap
    for i in order[::-1]:
        at = places[i] = min(places[i], at - gap)
    found: list[float] = places.tolist()
    return found
