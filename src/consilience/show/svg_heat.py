"""A heat map as SVG text: a box for each row and column, its number in it.

Of one-sided values the stronger are more blue; of signed ones those below zero are blue and those
above it orange. A box without data is a dashed outline; a hatched one is not to be relied on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from consilience.show.marks import number, plain
from consilience.show.picture import text_width, told_apart
from consilience.show.svg_axes import (
    BAR,
    GREY,
    SIZE,
    WARM,
    Chart,
    hatching,
    names_beside,
    rect,
    tipped,
    words,
)

__all__ = ["MOST_CELLS", "Cell", "heat_chart"]

MOST_CELLS = 40
"""Rows, and columns, that are drawn at most."""

HEIGHT = 24.0
STRONGEST = 0.6  # opacity of the largest value; letters on it can still be read
NAME = 22  # letters of a column's name


class Cell(NamedTuple):
    """A box: a value from -1 to 1, what is written in it, and whether it is hatched."""

    value: float
    text: str
    tip: str = ""
    hatched: bool = False


def heat_chart(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Cell | None]],
    *,
    label: str,
) -> Chart:
    """One line for each row; of long ones the first are drawn."""
    rows, columns = rows[:MOST_CELLS], columns[:MOST_CELLS]
    shown = [line[: len(columns)] for line in cells[: len(rows)]]
    texts = [cell.text for line in shown for cell in line if cell is not None]
    width = max([26.0, *(text_width(text, SIZE) + 10 for text in texts)])
    apart = told_apart(columns, NAME)
    names = [apart[name] for name in columns]
    is_turned = any(text_width(name, SIZE) > width - 4 for name in names)
    head = (0.72 * max((text_width(n, SIZE) for n in names), default=0) + 16) if is_turned else 20.0
    sides = names_beside(rows)
    left = sides.width
    body = [_column(n, left + width * (k + 0.5), head, is_turned) for k, n in enumerate(names)]
    for i, (name, line) in enumerate(zip(rows, shown, strict=True)):
        y = head + HEIGHT * i
        body.append(sides.at(name, y + HEIGHT / 2))
        body += [_box(cell, left + width * k, y, width) for k, cell in enumerate(line)]
    turned = 0.72 * text_width(names[-1], SIZE) if is_turned and names else 0.0
    total = left + width * len(columns) + max(16.0, turned)
    return Chart("".join(body), total, head + HEIGHT * len(rows) + 4, label)


def _column(name: str, x: float, head: float, is_turned: bool) -> str:
    turn = f' transform="rotate(-45 {number(x)} {number(head - 8)})"' if is_turned else ""
    side = "start" if is_turned else "middle"
    return (
        f'<text x="{number(x)}" y="{number(head - 6)}" text-anchor="{side}"{turn}>'
        f"{plain(name)}</text>"
    )


def _box(cell: Cell | None, x: float, y: float, width: float) -> str:
    inner = (x + 1, y + 1, width - 2, HEIGHT - 2)
    if cell is None:
        look = f'rx="2" fill="none" stroke="{GREY}" stroke-dasharray="2 3" stroke-opacity=".8"'
        return tipped(rect(*inner, look=look), "no rows")
    color = WARM if cell.value > 0 else BAR
    strength = STRONGEST * min(abs(cell.value), 1.0)
    ground = rect(*inner, look=f'rx="2" fill="{GREY}" fill-opacity=".12"')
    shade = rect(*inner, look=f'rx="2" fill="{color}" fill-opacity="{strength:.3f}"')
    lines = hatching(*inner, gap=7.0, opacity=0.3) if cell.hatched else ""
    text = words(cell.text, x + width / 2, y + HEIGHT / 2, anchor="middle")
    return tipped(ground + shade + lines + text, cell.tip or cell.text)
