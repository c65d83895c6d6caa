"""A graph whose arcs carry numbers, as the text of an SVG file: votes, or probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from consilience.graph.dag import DAG
from consilience.graph.names import Arc
from consilience.show import marks, picture as pic
from consilience.show.boxes import Point
from consilience.show.marks import LEGEND_STEP, MARGIN, TITLE_SIZE, number
from consilience.show.picture import COLORS

__all__ = ["Numbered", "line_width", "svg_numbered"]

THIN, THICK = 1.0, 3.2  # lines of a share of nothing and of all
CHIP = 15.0  # height of the box behind a number


@dataclass(frozen=True, slots=True)
class Numbered:
    """What an arc carries: its share of the most there can be, and a short text."""

    share: float
    text: str


def svg_numbered(
    dag: DAG, numbers: Mapping[Arc, Numbered], *, kind: str, words: str, title: str | None
) -> str:
    """The graph, every arc as wide as its share and with its text beside it.

    ``kind`` says what graph it is, ``words`` what the numbers are, ``title`` stands above.
    """
    drawn = pic.picture(dag)
    layout = drawn.layout
    head = 0.0 if title is None else TITLE_SIZE + 14
    legend = [(marks.sign(COLORS["arc"], 2.0), words)]
    texts = [marks.legend_width(words), 0.0 if title is None else marks.title_width(title)]
    width = max(layout.width, *texts) + 2 * MARGIN
    height = layout.height + head + LEGEND_STEP + 12 + 2 * MARGIN
    count = f"{kind} of {len(dag.nodes)} nodes and {len(dag.arcs)} arcs"
    body = [
        *([] if title is None else [marks.title_line(title, MARGIN, MARGIN + TITLE_SIZE - 3)]),
        f'<g transform="translate({number(MARGIN)} {number(MARGIN + head)})">',
        *(
            marks.arc(arc, marks.line(points, COLORS["arc"], line_width(numbers[arc])))
            for arc, points in layout.routes.items()
        ),
        *(marks.node(name, box, drawn.labels[name]) for name, box in layout.boxes.items()),
        *(_chip(numbers[arc].text, points) for arc, points in layout.routes.items()),
        *marks.legend_lines(legend, layout.height + 12),
        "</g>",
    ]
    description = count if title is None else f"{title}: {count}"
    return "\n".join([marks.opening(width, height, description), *body, "</svg>", ""])


def line_width(one: Numbered) -> float:
    """How wide the line of an arc is."""
    return THIN + (THICK - THIN) * min(one.share, 1.0)


def _chip(words: str, points: tuple[Point, ...]) -> str:
    """The number in a small box on the last piece of the arc."""
    (start_x, start_y), (end_x, end_y) = points[-2:]  # arcs may share the way before it
    x, y = (start_x + end_x) / 2, (start_y + end_y) / 2
    width = pic.text_width(words, 10.0) + 8
    return (
        f'<g class="votes"><rect x="{number(x - width / 2)}" y="{number(y - CHIP / 2)}" '
        f'width="{number(width)}" height="{number(CHIP)}" rx="4" fill="{COLORS["box"]}"/>'
        f'<text x="{number(x)}" y="{number(y)}" dy="0.35em" text-anchor="middle" font-size="10" '
        f'fill="{COLORS["ink"]}">{words}</text></g>'
    )
