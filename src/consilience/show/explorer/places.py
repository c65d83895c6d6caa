"""What the page knows of a network before anything is asked: nodes, sources, places, panels.

Every box has room for the bars of its node. The source stands above the rest, and its arcs are
short stubs, since they would cover the picture.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from consilience import __version__, _check
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.show.boxes import Point, Size
from consilience.show.layout import Layout, layout
from consilience.show.panels import borrowing
from consilience.show.panels.provenance import model_hash, rows_by_source
from consilience.show.panels.question import Subject
from consilience.show.panels.registry import panels
from consilience.show.picture import differing_nodes, shortened, text_width

__all__ = ["MOST_ROWS", "laid_out", "model_facts", "near", "places", "points_of", "sizes_of"]

MOST_ROWS = 8
"""States that a box shows; of more the last line is the others."""

HEAD, ROW, FOOT = 22.0, 19.0, 5.0  # heights: of the name, of a state with its strokes, below
DENSITY = 62.0  # height of the density of a continuous node and its number
LEAST_WIDTH = 196.0
NAME_SIZE, NAME_LENGTH = 13.0, 28


def model_facts(subject: Subject) -> dict[str, Any]:
    """Names, sources, places and panels, ready for JSON."""
    net = subject.network
    differing = differing_nodes(net)
    rows = rows_by_source(subject)
    states = () if net.source is None else net.variables[net.source].discrete_states
    return {
        "name": subject.name,
        "source": net.source,
        "sources": {name: rows.get(name) for name in states},
        "rows": None if subject.table is None else subject.table.n_rows,
        "target": subject.target,
        "nodes": {
            name: {
                "states": None if variable.is_continuous else list(variable.discrete_states),
                "parents": list(net.dag.parents(name)),
                "by_source": name in differing,
            }
            for name, variable in net.variables.items()
        },
        "compared": subject.compare is not None,
        "positions": _positions(subject),
        "layout": places(net, net.dag.nodes),
        "panels": [
            {
                "name": one.name,
                "title": one.title,
                "ready": not lacks,
                "needs": lacks,
                "follows": list(one.follows),
            }
            for one in panels()
            for lacks in [one.missing(subject)]
        ],
        "hash": model_hash(net),
        "version": __version__,
    }


def places(net: Network, names: Collection[str]) -> dict[str, Any]:
    """Boxes and routes of some nodes and the arcs among them, ready for JSON."""
    kept = [name for name in net.dag.nodes if name in names]
    chosen = set(kept)
    arcs = [(tail, head) for tail, head in net.dag.arcs if tail in chosen and head in chosen]
    hub = net.source if net.source in chosen else None
    drawn = laid_out(DAG(arcs, nodes=kept), sizes_of(net, kept), hub)
    routes = [[*arc, points_of(points)] for arc, points in drawn.layout.routes.items()]
    return {**drawn.places, "routes": routes}


class LaidOut(NamedTuple):
    """A layout, and its boxes and size ready for JSON."""

    layout: Layout
    places: dict[str, Any]


def laid_out(dag: DAG, sizes: Mapping[str, Size], hub: str | None) -> LaidOut:
    """A graph laid out with boxes of these sizes."""
    drawn = layout(dag, sizes, hub=hub)
    boxes = {
        name: [round(x, 1) for x in (box.left, box.top, box.width, box.height)]
        for name, box in drawn.boxes.items()
    }
    return LaidOut(drawn, {"boxes": boxes, "size": [round(drawn.width, 1), round(drawn.height, 1)]})


def sizes_of(net: Network, names: Iterable[str]) -> dict[str, Size]:
    """Width and height of the boxes of some nodes, with room for their bars."""
    return {name: _size(net, name) for name in names}


def points_of(route: Iterable[Point]) -> list[list[float]]:
    """The points of a route, ready for JSON."""
    return [[round(x, 1), round(y, 1)] for x, y in route]


def near(net: Network, focus: str, steps: int) -> set[str]:
    """The nodes at most so many arcs from a node, in any direction; not by way of the source."""
    _check.known("node", [focus], net.dag.nodes)
    _check.whole("layout", at_least=0, steps=steps)
    found, edge = {focus}, {focus}
    for _ in range(steps):
        edge = {
            other
            for name in edge
            if name != net.source or name == focus
            for other in (*net.dag.parents(name), *net.dag.children(name))
        } - found
        found |= edge
    return found


def _positions(subject: Subject) -> list[str] | None:
    """From separate sources to pooled ones, and the network as it is; if it can be fitted again."""
    if borrowing.PANEL.missing(subject):
        return None
    return [*borrowing.POSITIONS, borrowing.FITTED]


def _size(net: Network, name: str) -> tuple[float, float]:
    label = text_width(shortened(name, NAME_LENGTH), NAME_SIZE) + 44
    variable = net.variables[name]
    if variable.is_continuous:
        return max(LEAST_WIDTH, round(label)), HEAD + DENSITY
    height = HEAD + ROW * min(variable.n_states, MOST_ROWS) + FOOT
    return max(LEAST_WIDTH, round(label)), height
