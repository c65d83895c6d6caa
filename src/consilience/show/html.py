"""Pieces of HTML that the views of a notebook are put together from.

A view has no script and no style sheet. Text inherits its color, and lines, bars and grounds are
middle tones, so that it can be read on a light and on a dark page. Names are escaped, and of long
lists the first lines are shown with a last one that says how many there are.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from consilience._typing import Floats
from consilience.show.picture import shortened
from consilience.show.svg_axes import BAR

__all__ = [
    "N_LINES",
    "Cell",
    "Line",
    "bar",
    "facts",
    "grid",
    "heading",
    "line_chart",
    "notes",
    "number",
    "shaded",
]

N_LINES = 40
"""A view shows at most so many lines of a list."""

N_COLUMNS = 14
N_POINTS = 300  # of a line
TEXT_LENGTH = 160
LINE = "rgba(128,128,128,.35)"
GROUND = "rgba(128,128,128,.22)"
FILL = BAR
CELL = "padding:2px 9px;border:0;background:none;color:inherit;"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a grid: HTML that is ready, its style, and whether it is a number."""

    html: str
    style: str = ""
    is_number: bool = False


Line: TypeAlias = Sequence["str | Cell"]
"""The cells of one line; a text is escaped."""


def heading(title: str, more: str = "") -> str:
    """The name of a thing, and what it is about in a few words."""
    rest = f' <span style="opacity:.75">{_text(more)}</span>' if more else ""
    return f'<div style="margin:.3em 0"><b>{_text(title)}</b>{rest}</div>'


def notes(sentences: Iterable[str]) -> str:
    """Sentences below each other."""
    shown = list(sentences)
    more = [f"and {len(shown) - N_LINES} more notes"] if len(shown) > N_LINES else []
    return "".join(
        f'<div style="opacity:.8;font-size:92%">{_text(each, 400)}</div>'
        for each in [*shown[:N_LINES], *more]
    )


def facts(known: Mapping[str, str]) -> str:
    """Names and values, one line each."""
    return grid((), [(name, value) for name, value in known.items()])


def grid(head: Sequence[str], lines: Sequence[Line], *, n: int | None = None) -> str:
    """A table of texts and cells; ``n`` is how many lines there are, if not all are given."""
    total = len(lines) if n is None else n
    shown = list(lines)[:N_LINES]
    width = max((len(line) for line in (head, *shown)), default=0)
    columns = range(min(width, N_COLUMNS))
    numbers = {k for k in columns if any(_is_number(line[k : k + 1]) for line in shown)}
    parts = ['<table style="border-collapse:collapse;border:0;font-size:92%;color:inherit">']
    if head:
        cells = "".join(_head(head[k : k + 1], k in numbers) for k in columns)
        parts.append(f"<thead><tr>{cells}</tr></thead>")
    parts.append("<tbody>")
    for line in shown:
        cells = "".join(_cell(line[k], k in numbers) for k in columns if k < len(line))
        parts.append(f'<tr style="background:none">{cells}</tr>')
    parts.append("</tbody></table>")
    if width > N_COLUMNS:
        parts.append(_left_out(f"and {width - N_COLUMNS:,} more columns"))
    if total > len(shown):
        parts.append(_left_out(f"and {total - len(shown):,} more"))
    return "".join(parts)


def bar(share: float, text: str) -> Cell:
    """A number as a bar of at most its full width, with its text beside it."""
    width = 90 * min(max(share, 0.0), 1.0)
    drawn = (
        f'<svg width="90" height="10" style="vertical-align:middle" role="img" '
        f'aria-label="{html.escape(text)}"><rect width="90" height="10" rx="2" fill="#808080" '
        f'fill-opacity=".22"/><rect width="{width:.1f}" height="10" rx="2" fill="{FILL}"/></svg>'
    )
    return Cell(f"{drawn} {_text(text)}", "white-space:nowrap;")


def shaded(share: float, text: str) -> Cell:
    """A probability on a ground that is the stronger the larger it is."""
    strength = 0.55 * min(max(share, 0.0), 1.0)
    return Cell(_text(text), f"background:rgba(91,141,239,{strength:.3f});", is_number=True)


def number(text: str) -> Cell:
    """A number, set at the right."""
    return Cell(_text(text), is_number=True)


def line_chart(x: Floats, y: Floats, *, label: str) -> str:
    """A small line without axes: the smallest and the largest x and y stand beside it."""
    width, height, margin = 320.0, 90.0, 4.0
    every = -(-len(x) // N_POINTS)
    x, y = np.append(x[:-1:every], x[-1]), np.append(y[:-1:every], y[-1])
    spread_x = float(x.max() - x.min()) or 1.0
    spread_y = float(y.max() - y.min()) or 1.0
    points = " ".join(
        f"{margin + (width - 2 * margin) * (float(a) - float(x.min())) / spread_x:.1f},"
        f"{height - margin - (height - 2 * margin) * (float(b) - float(y.min())) / spread_y:.1f}"
        for a, b in zip(x, y, strict=True)
    )
    return (
        f'<div><svg width="{width:.0f}" height="{height + 18:.0f}" style="max-width:100%" '
        f'role="img" aria-label="{html.escape(label)}">'
        f'<line x1="0" x2="{width:.0f}" y1="{height:.0f}" y2="{height:.0f}" stroke="#808080" '
        f'stroke-opacity=".5"/>'
        f'<polyline points="{points}" fill="none" stroke="{FILL}" stroke-width="1.8"/>'
        f'<text x="0" y="{height + 14:.0f}" font-size="11" fill="currentColor">'
        f"{float(x.min()):.4g}</text>"
        f'<text x="{width:.0f}" y="{height + 14:.0f}" font-size="11" text-anchor="end" '
        f'fill="currentColor">{float(x.max()):.4g}</text></svg></div>'
    )


def _head(name: Sequence[str], is_number: bool) -> str:
    style = f"{CELL}border-bottom:1px solid {LINE};text-align:{'right' if is_number else 'left'}"
    return f'<th style="{style}">{_text(name[0]) if name else ""}</th>'


def _cell(content: str | Cell, is_number: bool) -> str:
    cell = content if isinstance(content, Cell) else Cell(_text(content))
    style = f"{CELL}text-align:{'right' if is_number else 'left'};{cell.style}"
    if cell.is_number:
        style += "white-space:nowrap;"
    return f'<td style="{style}">{cell.html}</td>'


def _is_number(cells: Sequence[str | Cell]) -> bool:
    return any(isinstance(cell, Cell) and cell.is_number for cell in cells)


def _left_out(words: str) -> str:
    return f'<div style="opacity:.75;font-size:92%;padding:2px 9px">... {_text(words)}</div>'


def _text(text: str, length: int = TEXT_LENGTH) -> str:
    return html.escape(shortened(text, length)) if text else ""
