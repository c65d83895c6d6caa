r"""Where in its row each node stands, so that arcs are short and most of them run straight down.

First the arcs are treated as springs that pull sideways,

.. math:: \min_x \sum_{(u, v)} w_{uv} (x_u - x_v)^2 \quad \text{with } x_j - x_i \ge s_{ij}
    \text{ for neighbors } i, j \text{ in a row,}

with larger weights for the pieces of long arcs. One row at a time, the rest being fixed, this is a
weighted isotonic regression, solved exactly by pooling adjacent violators; the rows are swept down
and up.

Then what is nearly straight is made straight: bends of one arc, and nodes that stand almost above
each other, form chains; each chain is cut into as few runs as may be, and each run gets one
coordinate. This is done twice: first as if the chains were alone, which says where they would like
to be and lets the others make room, then within the room there is.

References
----------
E. Gansner, E. Koutsofios, S. North, K.-P. Vo (1993). A technique for drawing directed graphs. IEEE
Transactions on Software Engineering 19(3), 214-230 (the weights).
R. Barlow, D. Bartholomew, J. Bremner, H. Brunk (1972). Statistical Inference under Order
Restrictions. Wiley.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from consilience.show.layers import Adjacency

__all__ = ["place_nodes", "spread"]

WEIGHTS = 1.0, 2.0, 8.0  # of a piece with no, one and two bends as its ends
STIFF = 10_000.0  # of the pull of a chain towards its straight line
NEAR = 22.0  # nodes closer to being above each other than this are aligned
REACH = (
    48.0,
    150.0,
)  # the most that a node, and a bend that only passes, is moved to make an arc straight
GIVE = 3.0  # by how much the gap between two nodes may shrink for that
EFFORT = 300_000  # nodes times sweeps; about a second

Springs = list[list[tuple[int, float]]]
Beside = Mapping[int, tuple[int | None, int | None]]


def place_nodes(
    rows: list[list[int]], neighbors: Adjacency, widths: Sequence[float], is_bend: Sequence[bool]
) -> list[float]:
    """The centre of every node; neighbors in a row do not overlap, and the leftmost edge is 0.

    Parameters
    ----------
    rows
        The nodes of every row from left to right.
    neighbors
        Parents and children of every node, all of them in the rows next to its own.
    widths
        The room each node takes, gaps included.
    is_bend
        Whether a node is only a bend of a long arc.
    """
    n_nodes = len(widths)
    springs = _springs(neighbors, is_bend)
    x = _packed(rows, widths)
    _relax(rows, x, springs, widths, n_sweeps=max(12, min(120, EFFORT // n_nodes)))
    chains = _chains(rows, x, neighbors[0], is_bend)
    reach = _reach(neighbors, is_bend)
    straight = x[:]
    _straighten(chains, straight, {}, widths, reach=reach)
    for node in (node for chain in chains if len(chain) > 1 for node in chain):
        springs[node].append((n_nodes + node, STIFF))
    x += straight
    _relax(rows, x, springs, widths, n_sweeps=8)
    _straighten(chains, x, _beside(rows), widths, reach=reach)
    edge = min(x[node] - widths[node] / 2 for node in range(n_nodes))
    return [center - edge for center in x[:n_nodes]]


def spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones (least weighted squares) that keep order and gaps."""
    offsets = list(accumulate(gaps, initial=0.0))
    blocks: list[tuple[float, float, int]] = []  # place of the first, weight, number of members
    for place, weight, offset in zip(wanted, weights, offsets, strict=True):
        place, n_members = place - offset, 1
        while blocks and blocks[-1][0] >= place:
            before, other_weight, n_others = blocks.pop()
            place = (place * weight + before * other_weight) / (weight + other_weight)
            weight += other_weight
            n_members += n_others
        blocks.append((place, weight, n_members))
    places = (place for place, _, n_members in blocks for _ in range(n_members))
    return [place + offset for place, offset in zip(places, offsets, strict=True)]


def _springs(neighbors: Adjacency, is_bend: Sequence[bool]) -> Springs:
    return [
        [(other, WEIGHTS[is_bend[node] + is_bend[other]]) for other in above + below]
        for node, (above, below) in enumerate(zip(*neighbors, strict=True))
    ]


def _packed(rows: list[list[int]], widths: Sequence[float]) -> list[float]:
    x = [0.0] * len(widths)
    for row in rows:
        left = -sum(widths[node] for node in row) / 2
        for node in row:
            x[node] = left + widths[node] / 2
            left += widths[node]
    return x


def _relax(
    rows: list[list[int]],
    x: list[float],
    springs: Springs,
    widths: Sequence[float],
    *,
    n_sweeps: int,
) -> None:
    """The best places of one row after the other, all others fixed."""
    weights = [sum(pull for _, pull in pulls) for pulls in springs]
    gaps = [[_apart(a, b, widths) for a, b in pairwise(row)] for row in rows]
    for sweep in range(n_sweeps):
        order = range(len(rows))
        for i in order if sweep % 2 == 0 else reversed(order):
            row = rows[i]
            wanted = [
                sum([x[other] * pull for other, pull in springs[node]]) / weights[node]
                for node in row
            ]
            places = spread(wanted, [weights[node] for node in row], gaps[i])
            for node, place in zip(row, places, strict=True):
                x[node] = place


def _apart(left: int, right: int, widths: Sequence[float]) -> float:
    return (widths[left] + widths[right]) / 2


def _chains(
    rows: list[list[int]], x: list[float], parents: list[list[int]], is_bend: Sequence[bool]
) -> list[list[int]]:
    """Bends of one arc, and nodes nearly above each other, from top to bottom; longest first."""
    chain_of: dict[int, list[int]] = {}
    chains = []
    for row in rows:
        pairs = [(parent, node) for node in row for parent in parents[node]]
        close = {
            pair: -1.0 if is_bend[pair[0]] and is_bend[pair[1]] else abs(x[pair[0]] - x[pair[1]])
            for pair in pairs
        }
        continued = set()
        for parent, node in sorted(pairs, key=lambda pair: (close[pair], pair)):
            if close[parent, node] < NEAR and parent not in continued and node not in chain_of:
                continued.add(parent)
                chain_of[node] = chain_of[parent]
                chain_of[node].append(node)
        for node in row:
            if node not in chain_of:
                chain_of[node] = [node]
                chains.append(chain_of[node])
    return sorted(chains, key=len, reverse=True)


def _reach(neighbors: Adjacency, is_bend: Sequence[bool]) -> list[float]:
    return [
        REACH[is_bend[node] and len(above) == len(below) == 1]
        for node, (above, below) in enumerate(zip(*neighbors, strict=True))
    ]


def _beside(rows: list[list[int]]) -> Beside:
    return {
        node: (row[i - 1] if i else None, row[i + 1] if i + 1 < len(row) else None)
        for row in rows
        for i, node in enumerate(row)
    }


def _straighten(
    chains: list[list[int]],
    x: list[float],
    beside: Beside,
    widths: Sequence[float],
    *,
    reach: Sequence[float],
) -> None:
    for chain in chains:
        run: list[int] = []
        low, high = -math.inf, math.inf
        for node in chain:
            least, most = _window(node, x, beside, widths, reach=reach[node])
            if max(low, least) > min(high, most):
                _align(run, x, low, high)
                run, low, high = [], -math.inf, math.inf
            run.append(node)
            low, high = max(low, least), min(high, most)
        _align(run, x, low, high)


def _window(
    node: int, x: list[float], beside: Beside, widths: Sequence[float], *, reach: float
) -> tuple[float, float]:
    """The places a node can go to without meeting its neighbors, and not too far."""
    left, right = beside.get(node, (None, None))
    least, most = x[node] - reach, x[node] + reach
    if left is not None:
        least = max(least, min(x[left] + _apart(left, node, widths) - GIVE, x[node]))
    if right is not None:
        most = min(most, max(x[right] - _apart(node, right, widths) + GIVE, x[node]))
    return least, most


def _align(run: list[int], x: list[float], low: float, high: float) -> None:
    """One coordinate for a run: the mean, within the bounds."""
    place = sum(x[node] for node in run) / len(run)
    for node in run:
        x[node] = min(max(place, low), high)
