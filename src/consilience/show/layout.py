"""Layered pictures of directed acyclic graphs: where every node and every arc is drawn.

The steps are those of Sugiyama's framework, one file each: rows (:mod:`consilience.show.layers`),
the order within a row (:mod:`consilience.show.crossings`), places in the row
(:mod:`consilience.show.positions`), and the arcs (:mod:`consilience.show.routes`).

Connected parts stand side by side, nodes without arcs in rows below them. The result depends on
the graph and the sizes of its nodes only, not on the order in which nodes and arcs are given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from consilience import _check, _freeze
from consilience.graph.dag import DAG
from consilience.show.boxes import (
    ASPECT,
    NODE_GAP,
    Arc,
    Box,
    Part,
    Point,
    Size,
    grid,
    shelves,
    stacked,
)
from consilience.show.routes import connected_part

__all__ = ["Box", "Layout", "layout"]

NARROW = 760.0  # a row up to this width is never split
ROW_GAP = 60.0  # about how far two rows are apart
STUB = 17.0  # length of an arc that is only hinted at


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is drawn, in units of a pixel at normal size; x and y start at 0.

    Parameters
    ----------
    boxes
        Centre and size of every node.
    routes
        The points each arc passes, from the lower edge of its tail to the upper edge of its head.
        Between two points of the same x it runs straight down, between others in a curve that
        begins and ends vertically.
    stubs
        Arcs whose route is only a short hint at their head.
    width, height
        Size of the picture.
    """

    boxes: Mapping[str, Box]
    routes: Mapping[Arc, tuple[Point, ...]]
    stubs: frozenset[Arc]
    width: float
    height: float

    def __post_init__(self) -> None:
        _freeze.own(self)


def layout(dag: DAG, sizes: Mapping[str, Size] | None = None, *, hub: str | None = None) -> Layout:
    """A layered picture of a graph.

    Time grows with the number of rows that arcs pass: a graph of 50 nodes takes about 0.2 s, one
    of 450 about 2 s.

    Parameters
    ----------
    dag
        The graph.
    sizes
        Width and height of each node's box; 80 x 30 for those not named.
    hub
        A node without parents whose arcs would cover the picture: they become stubs at their
        heads, and the node stands above the rest.

    Examples
    --------
    >>> drawn = layout(DAG([("smoke", "lung"), ("lung", "xray")]))
    >>> drawn.boxes["smoke"].bottom < drawn.boxes["lung"].top
    True
    """
    given = {} if sizes is None else sizes
    hubs = [] if hub is None else [hub]
    _check.known("node", [*given, *hubs], dag.nodes)
    for name, (width, height) in given.items():
        _check.positive(f"size of node {name!r}", width=width, height=height)
    names = [name for name in sorted(dag.nodes, key=_natural) if name not in hubs]
    boxes = {name: given.get(name, (80.0, 30.0)) for name in dag.nodes}
    arcs = [(tail, head) for tail, head in dag.arcs if tail not in hubs]
    limit = _width_limit([boxes[name] for name in names])
    groups = _connected(names, arcs)
    parts = [connected_part(group, arcs, boxes, limit) for group in groups if len(group) > 1]
    alone = [group[0] for group in groups if len(group) == 1]
    whole = stacked([grid(hubs, boxes, limit), shelves(parts, limit), grid(alone, boxes, limit)])
    return _with_stubs(whole, [(each, head) for each in hubs for head in dag.children(each)], dag)


def _natural(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """A key that puts x2 before x10."""
    pieces = re.findall(r"[0-9]{1,9}|[^0-9]+", name)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p.casefold()) for p in pieces], name


def _width_limit(sizes: Sequence[Size]) -> float:
    """More than the width of all nodes in rows that fill a picture of the wanted aspect."""
    widths = [width for width, _ in sizes]
    total = sum(width + NODE_GAP for width in widths)
    step = ROW_GAP + sum(height for _, height in sizes) / max(len(sizes), 1)
    return max([math.sqrt(1.6 * ASPECT * step * total), NARROW, *widths])


def _connected(names: Sequence[str], arcs: Sequence[Arc]) -> list[list[str]]:
    """The connected parts, the largest first, each in the order of the names."""
    near: dict[str, list[str]] = {name: [] for name in names}
    for tail, head in arcs:
        near[tail].append(head)
        near[head].append(tail)
    part_of: dict[str, int] = {}
    for start in names:
        stack = [start] if start not in part_of else []
        number = len(part_of)
        while stack:
            name = stack.pop()
            if name not in part_of:
                part_of[name] = number
                stack += near[name]
    groups: dict[int, list[str]] = {}
    for name in names:
        groups.setdefault(part_of[name], []).append(name)
    return sorted(groups.values(), key=len, reverse=True)


def _with_stubs(whole: Part, stubs: Sequence[Arc], dag: DAG) -> Layout:
    routes = dict(whole.routes)
    for tail, head in stubs:
        box = whole.boxes[head]
        x = box.left + min(8.0, box.width / 4)
        routes[tail, head] = ((x, box.top - STUB), (x, box.top))
    return Layout(
        {name: whole.boxes[name] for name in dag.nodes},
        {arc: routes[arc] for arc in dag.arcs},
        frozenset(stubs),
        whole.width,
        whole.height,
    )
