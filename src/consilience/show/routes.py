"""One connected part of a layered picture: its boxes, and the points that its arcs pass.

An arc that passes a row takes a place of its own in it, a *bend*, and runs straight down through
the row, so that it meets no node. Long arcs with the same tail share their bends as far as they go
together, and so do long arcs with the same head where there are many of those: thirty children of
one parent hang on one trunk. All arcs leave below the middle of a box; they arrive side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from consilience.show.boxes import NODE_GAP, Arc, Box, Part, Point, Size
from consilience.show.crossings import n_crossings, order_layers
from consilience.show.layers import adjacency, assign_layers
from consilience.show.positions import place_nodes, spread

__all__ = ["connected_part"]

BEND_WIDTH = 16.0  # room of an arc that passes a row
ROW_GAPS = 46.0, 120.0  # between two rows: least and most, by how far the arcs go sideways
PORT_STEP = 11.0  # between the tips of two arcs at one node
PORT_ROOM = 0.45  # how far from the middle of a box arcs may arrive, as a share of its width
STRAIGHT = 16.0  # how far beside the middle of a box an arc may end in order to run straight
SHARED_HEADS = 6  # long arcs with one head share their bends if there are at least so many
CROSSING = 120.0  # a crossing is as bad as this much way sideways
N_ORDERS, FEW = 6, 400  # so many orders are tried for graphs of up to so many nodes and bends

TINY = 0.01

Pair = tuple[int, int]


def connected_part(
    names: Sequence[str], arcs: Iterable[Arc], sizes: Mapping[str, Size], limit: float
) -> Part:
    """The picture of the nodes with these names and of the arcs among them.

    Parameters
    ----------
    names
        Nodes; their order decides between pictures that are equally good.
    arcs
        Arcs; those of other nodes are left out.
    sizes
        Width and height of each node's box.
    limit
        Rows of nodes that would be wider are split.
    """
    number = {name: i for i, name in enumerate(names)}
    pairs = sorted((number[tail], number[head]) for tail, head in arcs if tail in number)
    widths = [sizes[name][0] for name in names]
    layers = assign_layers(len(names), pairs, [width + NODE_GAP for width in widths], limit)
    passed = _with_bends(layers, pairs)
    pieces = sorted({piece for nodes in passed.values() for piece in pairwise(nodes)})
    x = _arranged(layers, pieces, widths)
    widths += [BEND_WIDTH] * (len(layers) - len(names))
    edge = min(center - width / 2 for center, width in zip(x, widths, strict=True))
    x = [center - edge for center in x]
    bands = _bands(layers, [sizes[name][1] for name in names], x, pieces)
    boxes = [Box(x[i], sum(bands[layers[i]]) / 2, *sizes[name]) for i, name in enumerate(names)]
    points = _points(passed, x, layers, bands, boxes=boxes)
    return Part(
        dict(zip(names, boxes, strict=True)),
        {(names[tail], names[head]): path for (tail, head), path in points.items()},
        max(center + width / 2 for center, width in zip(x, widths, strict=True)),
        bands[-1][1],
    )


def _with_bends(layers: list[int], pairs: Sequence[Pair]) -> dict[Pair, list[int]]:
    """The nodes and bends that each arc passes; the layers of new bends are appended."""
    long = [(tail, head) for tail, head in pairs if layers[head] - layers[tail] > 1]
    n_out = Counter(tail for tail, _ in long)
    n_in = Counter(head for _, head in long)
    bends: dict[tuple[bool, int, int], int] = {}
    passed = {}
    for tail, head in pairs:
        by_head = n_in[head] > n_out[tail] and n_in[head] >= SHARED_HEADS
        nodes = [tail]
        for layer in range(layers[tail] + 1, layers[head]):
            key = (by_head, head if by_head else tail, layer)
            if key not in bends:
                bends[key] = len(layers)
                layers.append(layer)
            nodes.append(bends[key])
        passed[tail, head] = [*nodes, head]
    return passed


def _arranged(
    layers: Sequence[int], pieces: Sequence[Pair], widths: Sequence[float]
) -> list[float]:
    """The places in the order, of several good ones, whose arcs cross little and run short.

    The first that comes near the best is taken: the first ones keep nodes in the order of names.
    """
    n_bends = len(layers) - len(widths)
    room = [width + NODE_GAP for width in widths] + [BEND_WIDTH] * n_bends
    is_bend = [False] * len(widths) + [True] * n_bends
    neighbors = adjacency(len(layers), pieces)
    orders = order_layers(layers, neighbors)
    arranged = []
    for rows in orders[: N_ORDERS if len(layers) <= FEW else 1]:
        x = place_nodes(rows, neighbors, room, is_bend)
        sideways = sum(abs(x[tail] - x[head]) for tail, head in pieces) + max(x) - min(x)
        arranged.append((sideways + CROSSING * n_crossings(rows, neighbors), x))
    best = min(cost for cost, _ in arranged)
    return next(x for cost, x in arranged if cost <= 1.06 * best)


def _bands(
    layers: Sequence[int], heights: Sequence[float], x: Sequence[float], pieces: Sequence[Pair]
) -> list[tuple[float, float]]:
    """Top and bottom of every row; rows are further apart where arcs go far sideways."""
    n_rows = max(layers) + 1
    tallest, furthest = [0.0] * n_rows, [0.0] * n_rows
    for layer, height in zip(layers, heights, strict=False):
        tallest[layer] = max(tallest[layer], height)
    for tail, head in pieces:
        furthest[layers[tail]] = max(furthest[layers[tail]], abs(x[head] - x[tail]))
    bands = []
    top = 0.0
    for height, far in zip(tallest, furthest, strict=True):
        bands.append((top, top + height))
        top += height + min(max(ROW_GAPS[0], 30 + 0.16 * far), ROW_GAPS[1])
    return bands


def _points(
    passed: Mapping[Pair, list[int]],
    x: Sequence[float],
    layers: Sequence[int],
    bands: Sequence[tuple[float, float]],
    *,
    boxes: Sequence[Box],
) -> dict[Pair, tuple[Point, ...]]:
    ports = _ports(passed, x, boxes)
    points = {}
    for (tail, head), nodes in passed.items():
        first, last = boxes[tail], boxes[head]
        is_below = len(nodes) > 2 and _is_straight(x[nodes[1]] - first.x, first.width)
        start = x[nodes[1]] if is_below else first.x
        end = last.x + ports[nodes[-2], head]
        inner = [(start, bands[layers[tail]][1])]
        for bend in nodes[1:-1]:
            inner += [(x[bend], edge) for edge in bands[layers[bend]]]
        inner.append((end, bands[layers[head]][0]))
        points[tail, head] = _apart([(start, first.bottom), *inner, (end, last.top)])
    return points


def _apart(path: Sequence[Point]) -> tuple[Point, ...]:
    """The path without inner points that are not clearly below one another."""
    *inner, last = path
    kept = inner[:1]
    for point in inner[1:]:
        if kept[-1][1] + TINY < point[1] < last[1] - TINY:
            kept.append(point)
    return (*kept, last)


def _ports(
    passed: Mapping[Pair, list[int]], x: Sequence[float], boxes: Sequence[Box]
) -> dict[Pair, float]:
    """How far beside the middle of its head each last piece of an arc arrives."""
    arriving: dict[int, set[int]] = {}
    for (_, head), nodes in passed.items():
        arriving.setdefault(head, set()).add(nodes[-2])
    ports: dict[Pair, float] = {}
    for head, found in arriving.items():
        tails = sorted(found, key=lambda tail: (x[tail], tail))
        away = [x[tail] - x[head] for tail in tails]
        near = [_is_straight(dx, boxes[head].width) for dx in away]
        wanted = [dx if is_near else 0.0 for dx, is_near in zip(away, near, strict=True)]
        weights = [1000.0 if is_near else 1.0 for is_near in near]
        step = min(PORT_STEP, 0.7 * boxes[head].width / len(tails))
        places = _within(
            spread(wanted, weights, [step] * (len(tails) - 1)), step, PORT_ROOM * boxes[head].width
        )
        ports |= {(tail, head): place for tail, place in zip(tails, places, strict=True)}
    return ports


def _within(places: Sequence[float], step: float, room: float) -> list[float]:
    """Places at least a step apart, moved no further than needed to lie at most ``room`` from 0."""
    last = len(places) - 1
    return [
        min(max(place, i * step - room), room - (last - i) * step) for i, place in enumerate(places)
    ]


def _is_straight(dx: float, width: float) -> bool:
    """Whether an arc may leave or enter a box so far beside its middle in order to run straight."""
    return abs(dx) <= min(STRAIGHT, 0.2 * width)
