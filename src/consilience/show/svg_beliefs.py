"""Beliefs as SVG text: a row for each state with its bar, a tick for before, a stroke a source.

The belief about a number is an area under its density, with a dashed line for before.

Differences between sources are drawn as two bars a line, one for each part that they are split
into.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consilience._typing import Floats
from consilience.show.marks import number
from consilience.show.svg_axes import (
    BAR,
    GREY,
    STEP,
    WARM,
    WIDTH,
    Chart,
    axis,
    down,
    hatching,
    names_beside,
    rect,
    ticks,
    tipped,
    words,
)

__all__ = ["BeliefLine", "PartsLine", "belief_chart", "density_chart", "parts_chart"]

LANE = 9.0  # below a bar, for the strokes of the sources
HILL = 110.0  # height of a density
N_POINTS = 100  # of a density


class BeliefLine(NamedTuple):
    """A state: its probability, the one before, if it differs, and that of each source."""

    state: str
    probability: float
    before: float | None = None
    by_source: Mapping[str, float] = {}


class PartsLine(NamedTuple):
    """A difference: what of it is population and mechanism, and whether each is clear."""

    name: str
    population: float
    mechanism: float
    population_is_clear: bool | None = None
    mechanism_is_clear: bool | None = None


def belief_chart(lines: Sequence[BeliefLine], *, label: str) -> Chart:
    """Bars from 0 to 1, one below the other."""
    names = names_beside([one.state for one in lines])
    left = names.width
    has_sources = any(one.by_source for one in lines)
    step = STEP + (LANE if has_sources else 0.0)
    height = step * len(lines)

    def x(share: float) -> float:
        return left + WIDTH * share

    body = [axis((0, 0.25, 0.5, 0.75, 1), x, height)]
    for i, one in enumerate(lines):
        y = step * i + 4
        ground = rect(
            left, y, WIDTH, 12, look=f'rx="2" class="ground" fill="{GREY}" fill-opacity=".22"'
        )
        bar = rect(left, y, WIDTH * one.probability, 12, look=f'rx="2" class="bar" fill="{BAR}"')
        body.append(names.at(one.state, y + 6))
        body.append(tipped(ground + bar, f"{one.state}: {one.probability:.6g}"))
        if one.before is not None:
            body.append(tipped(_tick(x(one.before), y - 2, 16, 2.0), f"before {one.before:.6g}"))
        for source, share in one.by_source.items():
            stroke = _tick(x(share), y + 13, LANE - 2, 1.6)
            body.append(tipped(stroke, f"{source}: {share:.6g}"))
        body.append(words(f"{one.probability:.1%}", left + WIDTH + 10, y + 6))
    return Chart("".join(body), left + WIDTH + 64, height + 22, label)


def density_chart(
    density: tuple[Floats, Floats],
    before: tuple[Floats, Floats] | None = None,
    means: Mapping[str, float] | None = None,
    *,
    label: str,
) -> Chart:
    """Places and density as an area, the one before dashed, a stroke at the mean of each source."""
    curves = [density] if before is None else [density, before]
    means = {} if means is None else means
    places = [*(curve[0] for curve in curves), np.fromiter(means.values(), float)]
    shown = np.concatenate(places)
    at = ticks(float(shown.min()), float(shown.max()))
    left, top = 18.0, max(float(heights.max()) for _, heights in curves)

    def x(value: float) -> float:
        return left + WIDTH * (value - at[0]) / (at[-1] - at[0])

    def points(curve: tuple[Floats, Floats]) -> str:
        every = max(1, len(curve[0]) // N_POINTS)
        pairs = zip(curve[0][::every].tolist(), curve[1][::every].tolist(), strict=True)
        return " ".join(f"{number(x(a))},{number(HILL * (1 - b / top))}" for a, b in pairs)

    line = points(density)
    ends = [number(x(float(end))) for end in (density[0][0], density[0][-1])]
    ground = f"{ends[0]},{number(HILL)} {line} {ends[1]},{number(HILL)}"
    lane = LANE if means else 0.0
    body = [
        axis(at, x, HILL + lane),
        f'<polygon points="{ground}" class="bar" fill="{BAR}" fill-opacity=".25"/>',
        f'<polyline points="{line}" fill="none" class="line" stroke="{BAR}" stroke-width="2"/>',
    ]
    if before is not None:
        look = 'fill="none" stroke="currentColor" stroke-width="1.4" stroke-dasharray="5 3"'
        body.append(tipped(f'<polyline points="{points(before)}" {look}/>', "before"))
    for source, mean in means.items():
        body.append(tipped(_tick(x(mean), HILL + 1, LANE - 2, 1.6), f"{source}: {mean:.6g}"))
    return Chart("".join(body), left + WIDTH + 24, HILL + lane + 22, label)


def parts_chart(lines: Sequence[PartsLine], *, label: str) -> Chart:
    """Two bars a line, from 0 to the left or right; hatched if the interval holds 0."""
    values = [x for one in lines for x in (one.population, one.mechanism)]
    at = ticks(min([0.0, *values]), max([0.0, *values]))
    names = names_beside([one.name for one in lines])
    left = names.width
    step = STEP + 6
    height = step * len(lines)

    def x(value: float) -> float:
        return left + WIDTH * (value - at[0]) / (at[-1] - at[0])

    body = [axis(at, x, height), down(x(0.0), height, GREY, 1.4)]
    for i, one in enumerate(lines):
        y = step * i + 3
        body.append(names.at(one.name, y + 10))
        parts = (
            ("population", one.population, one.population_is_clear, "bar", BAR),
            ("mechanism", one.mechanism, one.mechanism_is_clear, "warm", WARM),
        )
        for k, (what, value, is_clear, kind, color) in enumerate(parts):
            box = (min(x(0.0), x(value)), y + 11 * k, abs(x(value) - x(0.0)), 9.0)
            drawn = rect(*box, look=f'class="{kind}" fill="{color}"')
            lines_over = hatching(*box, gap=4.0) if is_clear is False else ""
            body.append(tipped(drawn + lines_over, f"{one.name}, {what}: {value:+.6g}"))
        total = one.population + one.mechanism
        body.append(words(f"{total:+.3f}", left + WIDTH + 10, y + 10))
    body.append(_key(left, height + 34))
    return Chart("".join(body), left + WIDTH + 70, height + 62, label)


def _tick(x: float, y: float, height: float, width: float) -> str:
    return (
        f'<line x1="{number(x)}" x2="{number(x)}" y1="{number(y)}" y2="{number(y + height)}" '
        f'stroke="currentColor" stroke-width="{width:g}"/>'
    )


def _key(left: float, y: float) -> str:
    first = rect(left, y - 5, 16, 9, look=f'class="bar" fill="{BAR}"')
    second = rect(left, y + 13, 16, 9, look=f'class="warm" fill="{WARM}"')
    return (
        first
        + words("another population", left + 24, y)
        + second
        + words("another mechanism; hatched: may be chance", left + 24, y + 18, length=60)
    )
