"""Two graphs side by side as a standalone SVG text."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.graph.dag import DAG
from consilience.show import marks
from consilience.show.marks import LEGEND_STEP, MARGIN, TITLE_SIZE, number
from consilience.show.pair import LOOKS, DrawnArc, Pair, pair_of

__all__ = ["svg_pair"]

GAP = 44.0  # between the two pictures
NAME_SIZE = 14.0
HEADING = NAME_SIZE + 16  # room for the name above a picture
SIGN_LENGTH = 34.0
SIGN_ROOM = SIGN_LENGTH + 12


def svg_pair(
    learned: DAG,
    other: DAG,
    *,
    names: Sequence[str] = ("learned", "other"),
    title: str | None = None,
) -> str:
    """Two graphs over the same nodes side by side, as the text of an SVG file.

    Every node has the same place in both. Arcs that both graphs have are thin and grey; the others
    are told apart by colour and by their dashes: only in the first graph, only in the second, or
    directed differently. Wide pictures stand one above the other.

    Parameters
    ----------
    learned, other
        The graph on the left and the one on the right.
    names
        What they are called in the picture.
    title
        A line above the pictures.

    Raises
    ------
    GraphError
        If the graphs have different nodes.

    Examples
    --------
    >>> "directed differently (1)" in svg_pair(DAG([("a", "b")]), DAG([("b", "a")]))
    True
    """
    pair = pair_of(learned, other, names)
    legend = [(_sign(kind), words) for kind, words in pair.legend.items()]
    words = [marks.legend_width(line, room=SIGN_ROOM) for _, line in legend]
    words += [] if title is None else [marks.title_width(title)]
    top = MARGIN + (0.0 if title is None else TITLE_SIZE + 14)
    right, down = _second_place(pair)
    bottom = top + down + HEADING + pair.layout.height
    foot = 14 + LEGEND_STEP * len(legend) if legend else 0.0
    width = max([right + _panel_width(pair), *words]) + 2 * MARGIN
    lines = [
        marks.opening(width, bottom + foot + MARGIN, _description(pair, title)),
        *([] if title is None else [marks.title_line(title, MARGIN, MARGIN + TITLE_SIZE - 3)]),
        *_panel(pair, 0, MARGIN, top),
        *_panel(pair, 1, MARGIN + right, top + down),
        f'<g transform="translate({number(MARGIN)} 0)">',
        *marks.legend_lines(legend, bottom + 14, room=SIGN_ROOM),
    ]
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _panel_width(pair: Pair) -> float:
    names = (marks.title_width(heading, size=NAME_SIZE) for heading in pair.headings)
    return max(pair.layout.width, *names)


def _second_place(pair: Pair) -> tuple[float, float]:
    """How far right of the first picture and how far below it the second one stands."""
    if pair.is_stacked:
        return 0.0, HEADING + pair.layout.height + GAP
    return _panel_width(pair) + GAP, 0.0


def _sign(kind: str) -> str:
    look = LOOKS[kind]
    return marks.sign(look.color, look.width, dashes=look.dashes, length=SIGN_LENGTH)


def _description(pair: Pair, title: str | None) -> str:
    first, second = (
        f"{name} with {len(side)} arcs" for name, side in zip(pair.names, pair.sides, strict=True)
    )
    text = f"Two graphs of {len(pair.labels)} nodes: {first}, {second}"
    details = ", ".join(pair.legend.values())
    return f"{'' if title is None else f'{title}: '}{text}{'; ' if details else ''}{details}"


def _panel(pair: Pair, k: int, left: float, top: float) -> list[str]:
    """One of the graphs under its name, the arcs that differ on top."""
    return [
        marks.title_line(pair.headings[k], left, top + NAME_SIZE - 3, size=NAME_SIZE),
        f'<g transform="translate({number(left)} {number(top + HEADING)})">',
        *map(_arc, pair.sides[k]),
        *(marks.node(name, box, pair.labels[name]) for name, box in pair.layout.boxes.items()),
        "</g>",
    ]


def _arc(drawn: DrawnArc) -> str:
    look = LOOKS[drawn.kind]
    line = marks.line(drawn.points, look.color, look.width, dashes=look.dashes)
    return marks.arc(drawn.arc, line, kind=drawn.kind)
