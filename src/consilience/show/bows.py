"""Where hidden common causes are drawn: dashed curves with two heads, beside the arcs.

Each pair of nodes has several curves to choose from: from side to side, around the right or the
left of both boxes, above or below them if they stand in one row. The shortest one that meets no
other box is taken; ends that would fall together are moved apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from consilience.show.boxes import Arc, Box, Point

__all__ = ["DASHES", "Bow", "extent", "heads", "placed_bows", "shifted"]

Bow: TypeAlias = tuple[Point, Point, Point, Point]
"""A cubic curve: its start, two control points, its end."""

DASHES = 5.0, 3.5
HEAD = 7.5  # length of an arrow head
BULGES = 26.0, 44.0, 70.0, 110.0, 170.0
ENOUGH = 30.0  # boxes this far apart sideways are joined from side to side
HIT = 1000.0  # passing another box is as bad as this much way
SHARED = 14.0  # and so is ending where another curve or an arc ends
ENDS = "bottom", "top"  # the sides of its boxes that an arc leaves and enters
ALONG = 90.0  # running beside an arc between the same nodes
STEP = 7.0  # between two ends at one side of a box
N_POINTS = 25


def placed_bows(
    pairs: Iterable[Arc], boxes: Mapping[str, Box], arcs: Collection[Arc]
) -> dict[Arc, Bow]:
    """A curve for each pair of nodes, in the units of the layout."""
    joined = {frozenset(arc) for arc in arcs}
    busy = Counter((end, side) for arc in arcs for end, side in zip(arc, ENDS, strict=True))
    used: Counter[tuple[str, str]] = Counter()
    found = {}
    for pair in pairs:
        others = [box for name, box in boxes.items() if name not in pair]
        best, sides = min(
            _choices(pair, boxes, used),
            key=lambda choice: _cost(
                choice, others, frozenset(pair) in joined, used + busy, pair=pair
            ),
        )
        used.update(zip(pair, sides, strict=True))
        found[pair] = best
    return found


def heads(bow: Bow) -> list[list[Point]]:
    """The corners of both arrow heads."""
    first, second, third, last = bow
    return [_head(last, third), _head(first, second)]


def extent(bows: Iterable[Bow]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of all curves."""
    points = [point for bow in bows for point in _points(bow)]
    if not points:
        return 0.0, 0.0, 0.0, 0.0
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def shifted(bow: Bow, dx: float, dy: float) -> Bow:
    """The curve moved."""
    first, second, third, last = ((x + dx, y + dy) for x, y in bow)
    return first, second, third, last


def _choices(
    pair: Arc, boxes: Mapping[str, Box], used: Mapping[tuple[str, str], int]
) -> Iterator[tuple[Bow, tuple[str, str]]]:
    """Curves between two boxes, each with the sides that it leaves them by."""
    one, two = (boxes[name] for name in pair)
    nudges = {
        side: [_nudge(used.get((name, side), 0)) for name in pair]
        for side in ("left", "right", "top", "bottom")
    }
    for side, sign in (("right", 1.0), ("left", -1.0)):
        edges = [box.x + sign * box.width / 2 for box in (one, two)]
        ys = [box.y + nudge for box, nudge in zip((one, two), nudges[side], strict=True)]
        for bulge in BULGES:
            far = (max if sign > 0 else min)(edges) + sign * bulge
            points = (edges[0], ys[0]), (far, ys[0]), (far, ys[1]), (edges[1], ys[1])
            yield points, (side, side)
    if abs(one.y - two.y) < (one.height + two.height) / 2:
        yield from _over_and_under(one, two, nudges)
    yield from _across(one, two, nudges)


def _over_and_under(
    one: Box, two: Box, nudges: Mapping[str, Sequence[float]]
) -> Iterator[tuple[Bow, tuple[str, str]]]:
    toward = 1.0 if two.x > one.x else -1.0
    for side, sign in (("top", -1.0), ("bottom", 1.0)):
        xs = (
            one.x + toward * one.width / 4 + nudges[side][0],
            two.x - toward * two.width / 4 + nudges[side][1],
        )
        edges = [box.y + sign * box.height / 2 for box in (one, two)]
        for bulge in BULGES:
            far = (max if sign > 0 else min)(edges) + sign * bulge
            points = (xs[0], edges[0]), (xs[0], far), (xs[1], far), (xs[1], edges[1])
            yield points, (side, side)


def _across(
    one: Box, two: Box, nudges: Mapping[str, Sequence[float]]
) -> Iterator[tuple[Bow, tuple[str, str]]]:
    """From the side of one box to the facing side of the other."""
    sign, sides = (1.0, ("right", "left")) if two.x > one.x else (-1.0, ("left", "right"))
    start = one.x + sign * one.width / 2, one.y + nudges[sides[0]][0]
    end = two.x - sign * two.width / 2, two.y + nudges[sides[1]][1]
    gap = sign * (end[0] - start[0])
    if gap > ENOUGH:
        bend = sign * gap / 2
        yield (start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end), sides


def _cost(
    choice: tuple[Bow, tuple[str, str]],
    others: Sequence[Box],
    is_joined: bool,
    used: Mapping[tuple[str, str], int],
    *,
    pair: Arc,
) -> float:
    bow, sides = choice
    points = _points(bow)
    way = sum(math.dist(a, b) for a, b in pairwise(points))
    hits = sum(any(_is_inside(point, box) for point in points) for box in others)
    shared = sum(used.get((name, side), 0) for name, side in zip(pair, sides, strict=True))
    along = ALONG if is_joined and sides[0] != sides[1] else 0.0
    return HIT * hits + way + SHARED * shared + along


def _points(bow: Bow) -> list[Point]:
    found = []
    for i in range(N_POINTS + 1):
        t = i / N_POINTS
        weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
        found.append(
            (
                sum(w * x for w, (x, _) in zip(weights, bow, strict=True)),
                sum(w * y for w, (_, y) in zip(weights, bow, strict=True)),
            )
        )
    return found


def _is_inside(point: Point, box: Box) -> bool:
    margin = 4.0
    return (
        abs(point[0] - box.x) < box.width / 2 + margin
        and abs(point[1] - box.y) < box.height / 2 + margin
    )


def _nudge(n: int) -> float:
    """How far beside the middle the next end stands: 0, then to both sides in turn."""
    return STEP * ((n + 1) // 2) * (1 if n % 2 else -1)


def _head(tip: Point, before: Point) -> list[Point]:
    away = math.dist(tip, before) or 1.0
    dx, dy = (before[0] - tip[0]) / away, (before[1] - tip[1]) / away
    back = tip[0] + HEAD * dx, tip[1] + HEAD * dy
    half = HEAD * 0.46
    return [
        (back[0] - half * dy, back[1] + half * dx),
        tip,
        (back[0] + half * dy, back[1] - half * dx),
    ]
