"""The fused graph with its votes as the text of an SVG file."""

from __future__ import annotations

from consilience.fusion.fusion_record import Fusion
from consilience.show import marks, picture as pic
from consilience.show.boxes import Point
from consilience.show.marks import LEGEND_STEP, MARGIN, TITLE_SIZE, number
from consilience.show.picture import COLORS

__all__ = ["svg_fusion"]

THIN, THICK = 1.0, 3.2  # lines of no votes and of all votes
CHIP = 15.0  # height of the box behind a number


def svg_fusion(fusion: Fusion, *, title: str | None = None) -> str:
    """The fused graph as the text of an SVG file; every arc has its votes beside it.

    Parameters
    ----------
    fusion
        What :func:`consilience.fuse` gives.
    title
        A line above the picture.
    """
    drawn = pic.picture(fusion.dag)
    layout = drawn.layout
    head = 0.0 if title is None else TITLE_SIZE + 14
    words = f"votes of {len(fusion.sources)} sources; threshold {fusion.threshold:.3g}"
    legend = [(marks.sign(COLORS["arc"], 2.0), words)]
    texts = [marks.legend_width(words), 0.0 if title is None else marks.title_width(title)]
    width = max(layout.width, *texts) + 2 * MARGIN
    height = layout.height + head + LEGEND_STEP + 12 + 2 * MARGIN
    count = f"Fused graph of {len(fusion.dag.nodes)} nodes and {len(fusion.dag.arcs)} arcs"
    body = [
        *([] if title is None else [marks.title_line(title, MARGIN, MARGIN + TITLE_SIZE - 3)]),
        f'<g transform="translate({number(MARGIN)} {number(MARGIN + head)})">',
        *(_arc(fusion, arc, points) for arc, points in layout.routes.items()),
        *(
            f'<g class="node"><title>{marks.plain(name)}</title>'
            f"{marks.box(box, drawn.labels[name], box.y, COLORS['box'], COLORS['border'], 1.2)}</g>"
            for name, box in layout.boxes.items()
        ),
        *(_chip(fusion, arc, points) for arc, points in layout.routes.items()),
        *marks.legend_lines(legend, layout.height + 12),
        "</g>",
    ]
    description = count if title is None else f"{title}: {count}"
    return "\n".join([marks.opening(width, height, description), *body, "</svg>", ""])


def _arc(fusion: Fusion, arc: tuple[str, str], points: tuple[Point, ...]) -> str:
    share = min(fusion.votes[arc] / max(len(fusion.sources), 1), 1.0)
    line = marks.line(points, COLORS["arc"], THIN + (THICK - THIN) * share)
    return marks.arc(arc, line)


def _chip(fusion: Fusion, arc: tuple[str, str], points: tuple[Point, ...]) -> str:
    """The votes in a small box on the last piece of the arc."""
    words = f"{fusion.votes[arc]:.3g}"
    (start_x, start_y), (end_x, end_y) = points[-2:]  # arcs may share the way before it
    x, y = (start_x + end_x) / 2, (start_y + end_y) / 2
    width = pic.text_width(words, 10.0) + 8
    return (
        f'<g class="votes"><rect x="{number(x - width / 2)}" y="{number(y - CHIP / 2)}" '
        f'width="{number(width)}" height="{number(CHIP)}" rx="4" fill="{COLORS["box"]}"/>'
        f'<text x="{number(x)}" y="{number(y)}" dy="0.35em" text-anchor="middle" font-size="10" '
        f'fill="{COLORS["ink"]}">{words}</text></g>'
    )
