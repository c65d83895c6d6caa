"""Figures 3.3 to 3.5 of the first seed: the three hierarchies as factor graphs.

Two sources, two parent states: circles are unknown, grey ones are counted, squares are the factors
between them. What shares a base hangs below the same circle.

    python experiments/hierarchies.py [docs/images/hierarchies.svg]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT, MARGIN = 300, 330, 20
LEVELS = {"prior": 62, "base": 132, "theta": 212, "counts": 290}
RADIUS, HALF = 19, 5
SUB = 'font-size="9"'


class Panel(NamedTuple):
    """A hierarchy: its bases, and for each base its groups with what is counted in them."""

    title: str
    about: str
    bases: tuple[str, ...]
    groups: tuple[tuple[tuple[str, str], ...], ...]


PANELS = (
    Panel(
        "HDS",
        "parent states share a base",
        ("",),
        ((("pa=1", "pa=1"), ("pa=2", "pa=2")),),
    ),
    Panel(
        "HDMJS",
        "sources share a base of (pa, x)",
        ("pa,x",),
        ((("f=1", "f=1"), ("f=2", "f=2")),),
    ),
    Panel(
        "HDMCS*",
        "sources share a base, one for each parent state",
        ("pa=1", "pa=2"),
        (
            (("f=1", "f=1"), ("f=2", "f=2")),
            (("f=1", "f=1"), ("f=2", "f=2")),
        ),
    ),
)


def main() -> None:
    default = Path(__file__).parents[1] / "docs" / "images" / "hierarchies.svg"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    path.write_text(picture(), encoding="utf-8")


def picture() -> str:
    """All three panels side by side."""
    width = WIDTH * len(PANELS)
    drawn = "\n".join(
        f'<g transform="translate({i * WIDTH} 0)">\n{panel_of(panel)}\n</g>'
        for i, panel in enumerate(PANELS)
    )
    title = "The three hierarchies as factor graphs: which groups share which base"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        f'width="{width}" height="{HEIGHT}" role="img" font-family="system-ui, sans-serif" '
        f'font-size="13" text-anchor="middle">\n<title>{title}</title>\n'
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>\n{drawn}\n</svg>\n'
    )


def panel_of(panel: Panel) -> str:
    """Title, prior, bases, groups and counts, each level below the last."""
    middle = WIDTH / 2
    parts = [
        f'<text x="{middle}" y="18" font-weight="bold">{panel.title}</text>',
        f'<text x="{middle}" y="36" font-size="11" fill="#475569">{panel.about}</text>',
    ]
    n_groups = sum(len(each) for each in panel.groups)
    step = (WIDTH - 2 * MARGIN) / n_groups
    places = iter(MARGIN + step * (k + 0.5) for k in range(n_groups))
    lines, nodes = [], []
    for base, groups in zip(panel.bases, panel.groups, strict=True):
        at = [next(places) for _ in groups]
        x = sum(at) / len(at)
        lines.append(joined((x, LEVELS["prior"]), (x, LEVELS["base"])))
        nodes += [text_node(x, LEVELS["prior"], "α₀"), circle(x, LEVELS["base"], "a", base)]
        for place, (theta, counts) in zip(at, groups, strict=True):
            lines.append(joined((x, LEVELS["base"]), (place, LEVELS["theta"])))
            lines.append(joined((place, LEVELS["theta"]), (place, LEVELS["counts"])))
            nodes.append(circle(place, LEVELS["theta"], "θ", theta))
            nodes.append(circle(place, LEVELS["counts"], "N", counts, is_known=True))
    return "\n".join([*parts, *lines, *nodes])


def joined(one: tuple[float, float], two: tuple[float, float]) -> str:
    """A line between two nodes with the square of a factor in its middle."""
    x, y = (one[0] + two[0]) / 2, (one[1] + two[1]) / 2
    return (
        f'<line x1="{one[0]:g}" y1="{one[1]:g}" x2="{two[0]:g}" y2="{two[1]:g}" stroke="#64748b"/>'
        f'<rect x="{x - HALF:g}" y="{y - HALF:g}" width="{2 * HALF}" height="{2 * HALF}" '
        'fill="#1e293b"/>'
    )


def circle(x: float, y: float, letter: str, below: str, *, is_known: bool = False) -> str:
    """A variable; what is counted is grey."""
    fill = "#cbd5e1" if is_known else "#ffffff"
    beside = f'<text x="{x:g}" y="{y + 13:g}" {SUB}>{below}</text>' if below else ""
    shift = 1 if below else 5
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}" fill="{fill}" stroke="#1e293b"/>'
        f'<text x="{x:g}" y="{y + shift:g}" font-style="italic">{letter}</text>{beside}'
    )


def text_node(x: float, y: float, text: str) -> str:
    """A number that is given."""
    return (
        f'<rect x="{x - 14:g}" y="{y - 14:g}" width="28" height="20" fill="#ffffff"/>'
        f'<text x="{x:g}" y="{y:g}" font-style="italic">{text}</text>'
    )


if __name__ == "__main__":
    main()
