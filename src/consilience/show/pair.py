"""Two graphs over the same nodes in one common layout: where every arc runs, and how it looks.

The layout is that of the two graphs together: all arcs of the other graph, and those of the learned
one that it does not have. An arc that would close a cycle is laid out the other way round and drawn
upwards, and so is one that the two graphs direct differently, in one of the pictures.

Arcs differ in colour and in their dashes, so that they are told apart in grey and by colour-blind
readers. Those of different kinds that run down the same bends stand a little apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from consilience import _freeze
from consilience.errors import InputError
from consilience.graph.arc_comparison import arc_differences
from consilience.graph.dag import DAG
from consilience.graph.names import check_same_nodes
from consilience.show.boxes import Arc, Point
from consilience.show.layout import Layout
from consilience.show.picture import COLORS, picture, shortened, together

__all__ = ["LOOKS", "DrawnArc", "Look", "Pair", "drawn_arcs", "pair_of"]

NAME_LENGTH = 40
WIDE = 1300.0  # wider pictures stand one above the other
PORT_STEP = 10.0  # between the tips of arcs that land below a box
PORT_ROOM = 0.42  # how far from the middle of a box they may, as a share of its width


@dataclass(frozen=True, slots=True)
class Look:
    """How arcs of one kind are drawn; dashes are lengths of strokes and gaps, none for a line.

    ``aside`` is how far beside its bends such an arc passes.
    """

    color: str
    width: float
    dashes: tuple[float, ...] = ()
    aside: float = 0.0


LOOKS: Final = {
    "shared": Look(COLORS["arc"], 1.3),
    "turned": Look("#AA4499", 2.0, (9, 3, 2, 3), -3.5),
    "extra": Look("#D55E00", 2.0, (7, 4), 3.5),
    "missing": Look("#0072B2", 2.0, (2, 2.5), 3.5),
}
"""Shared; directed differently; only in the learned graph; only in the other."""


@dataclass(frozen=True, slots=True)
class DrawnArc:
    """An arc, its kind (a key of ``LOOKS``) and the points it passes."""

    arc: Arc
    kind: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two graphs ready to be drawn.

    Parameters
    ----------
    layout
        Where the nodes are, in both pictures.
    labels
        What is written in each box.
    names
        What the two graphs are called.
    sides
        The arcs of the learned and of the other graph, shared ones first.
    counts
        How many arcs of each kind there are.
    """

    layout: Layout
    labels: Mapping[str, str]
    names: tuple[str, str]
    sides: tuple[tuple[DrawnArc, ...], tuple[DrawnArc, ...]]
    counts: Mapping[str, int]

    def __post_init__(self) -> None:
        _freeze.own(self)

    @property
    def is_stacked(self) -> bool:
        """Whether the pictures are too wide to stand side by side."""
        return self.layout.width > WIDE

    @property
    def headings(self) -> list[str]:
        """The line above each picture."""
        return [
            f"{name}: {len(side)} arc{'' if len(side) == 1 else 's'}"
            for name, side in zip(self.names, self.sides, strict=True)
        ]

    @property
    def legend(self) -> dict[str, str]:
        """Words for each kind of arc that occurs."""
        first, second = self.names
        words = {
            "shared": "in both graphs",
            "turned": "directed differently",
            "extra": f"only in {first}",
            "missing": f"only in {second}",
        }
        return {kind: f"{words[kind]} ({n})" for kind, n in self.counts.items() if n}


def pair_of(learned: DAG, other: DAG, names: Sequence[str]) -> Pair:
    """Layout, labels and kinds of arcs of two graphs over the same nodes."""
    for graph in (learned, other):
        if not isinstance(graph, DAG):
            raise InputError(f"a pair is of two DAGs, got a {type(graph).__name__}.")
    if isinstance(names, str) or len(names) != 2:
        raise InputError(f"names must be two texts, got {names!r}.", parameter="names")
    check_same_nodes(learned.nodes, other.nodes)
    found = arc_differences(learned, other)
    drawn = picture(together(other, found.extra))
    turned = tuple(arc[::-1] for arc in found.turned)
    sides = (
        drawn_arcs(
            drawn.layout,
            {"shared": found.shared, "turned": found.turned, "extra": found.extra},
            LOOKS,
        ),
        drawn_arcs(
            drawn.layout,
            {"shared": found.shared, "turned": turned, "missing": found.missing},
            LOOKS,
        ),
    )
    counts = {kind: len(getattr(found, kind)) for kind in LOOKS}
    first, second = (shortened(name, NAME_LENGTH) for name in names)
    return Pair(drawn.layout, drawn.labels, (first, second), sides, counts)


def drawn_arcs(
    layout: Layout, kinds: Mapping[str, Sequence[Arc]], looks: Mapping[str, Look]
) -> tuple[DrawnArc, ...]:
    """The arcs of one graph with their routes; those that run upwards land beside the others.

    ``kinds`` are the arcs of each kind, ``looks`` how each is drawn.
    """
    drawn = [
        DrawnArc(arc, kind, _route(arc, layout.routes, looks[kind].aside))
        for kind, arcs in kinds.items()
        for arc in arcs
    ]
    ports = _ports([each for each in drawn if each.arc not in layout.routes], drawn, layout)
    return tuple(
        DrawnArc(each.arc, each.kind, _landed(each.points, ports.get(each.arc, 0.0)))
        for each in drawn
    )


def _route(arc: Arc, routes: Mapping[Arc, tuple[Point, ...]], aside: float) -> tuple[Point, ...]:
    """The points of an arc, from below upwards if it was laid out the other way round."""
    first, *bends, last = routes[arc] if arc in routes else routes[arc[::-1]][::-1]
    return (first, *((x + aside, y) for x, y in bends), last)


def _ports(
    upward: Sequence[DrawnArc], drawn: Sequence[DrawnArc], layout: Layout
) -> dict[Arc, float]:
    """How far beside the middle of its head each arc from below lands.

    Other arcs leave below the middle: only one that is alone lands there, the others on that side
    of those that leave from which they come.
    """
    leaving: dict[str, list[float]] = {name: [] for name in layout.boxes}
    for each in drawn:
        if each not in upward:
            leaving[each.arc[0]].append(each.points[1][0])
    n_below = Counter(each.arc[1] for each in upward)
    n_landed: Counter[tuple[str, bool]] = Counter()
    ports: dict[Arc, float] = {}
    for each in sorted(upward, key=lambda one: abs(one.points[-2][0] - one.points[-1][0])):
        head, come_from = each.arc[1], each.points[-2][0]
        if n_below[head] + len(leaving[head]) > 1:
            is_left = come_from < fmean(leaving[head] or [layout.boxes[head].x])
            n_landed[head, is_left] += 1
            away = PORT_STEP * n_landed[head, is_left]
            away = min(away, PORT_ROOM * layout.boxes[head].width)
            ports[each.arc] = -away if is_left else away
    return ports


def _landed(points: tuple[Point, ...], port: float) -> tuple[Point, ...]:
    *before, (x, y) = points
    return (*before, (x + port, y))
