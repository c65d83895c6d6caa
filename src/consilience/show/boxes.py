"""Pieces of a picture and how they are put together: boxes, parts, shelves, stacks and grids."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

__all__ = ["Arc", "Box", "Part", "Point", "Size", "grid", "shelves", "stacked"]

Arc = tuple[str, str]
Point = tuple[float, float]
Size = tuple[float, float]

NODE_GAP = 26.0  # between two nodes of a row
GRID_GAP = 22.0  # between two rows of nodes without arcs
PART_GAP = 54.0  # between two connected parts
ASPECT = 1.7  # wanted width / height


@dataclass(frozen=True, slots=True)
class Box:
    """A node in the picture: its centre and its size; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def top(self) -> float:
        """The y of the upper edge."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The y of the lower edge."""
        return self.y + self.height / 2

    @property
    def left(self) -> float:
        """The x of the left edge."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Part:
    """Some boxes and arcs on a canvas of their own, which begins at (0, 0)."""

    boxes: Mapping[str, Box] = field(default_factory=dict)
    routes: Mapping[Arc, tuple[Point, ...]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


def stacked(parts: Sequence[Part], gap: float = PART_GAP) -> Part:
    """Parts below each other; empty ones are left out."""
    whole = Part()
    for part in parts:
        if part.boxes:
            whole = _joined(whole, part, 0.0, whole.height + gap if whole.boxes else 0.0)
    return whole


def shelves(parts: Sequence[Part], limit: float) -> Part:
    """Parts side by side, the tallest first, in several rows if one would be too wide."""
    area = sum((part.width + PART_GAP) * (part.height + PART_GAP) for part in parts)
    limit = max([limit, math.sqrt(ASPECT * area), *(part.width for part in parts)])
    rows = [Part()]
    for part in sorted(parts, key=lambda part: -part.height):
        left = rows[-1].width + PART_GAP if rows[-1].boxes else 0.0
        if left + part.width > limit:
            rows.append(Part())
            left = 0.0
        rows[-1] = _joined(rows[-1], part, left, 0.0)
    return stacked(rows)


def grid(names: Sequence[str], sizes: Mapping[str, Size], limit: float) -> Part:
    """Boxes in rows and columns, about as wide as the limit."""
    if not names:
        return Part()
    widest = max(sizes[name][0] for name in names)
    n_columns = min(max(1, int((limit + NODE_GAP) / (widest + NODE_GAP))), len(names))
    columns = [names[i::n_columns] for i in range(n_columns)]
    steps = (max(sizes[name][0] for name in column) + NODE_GAP for column in columns)
    lefts = list(accumulate(steps, initial=0.0))
    rows = []
    for start in range(0, len(names), n_columns):
        row = names[start : start + n_columns]
        height = max(sizes[name][1] for name in row)
        boxes = {
            name: Box(left + sizes[name][0] / 2, height / 2, *sizes[name])
            for left, name in zip(lefts, row, strict=False)
        }
        rows.append(Part(boxes, {}, lefts[-1] - NODE_GAP, height))
    return stacked(rows, GRID_GAP)


def _joined(part: Part, other: Part, dx: float, dy: float) -> Part:
    boxes = {
        name: Box(box.x + dx, box.y + dy, box.width, box.height)
        for name, box in other.boxes.items()
    }
    routes = {arc: tuple((x + dx, y + dy) for x, y in path) for arc, path in other.routes.items()}
    return Part(
        {**part.boxes, **boxes},
        {**part.routes, **routes},
        max(part.width, other.width + dx),
        max(part.height, other.height + dy),
    )
