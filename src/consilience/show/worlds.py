"""The worlds of an intervention side by side: as it is, as it is set, and both in one graph.

In the third picture the nodes of the other world are marked by a star. What is not changed is
shared by both; a node and its star answer to the same noise, which is drawn as a hidden common
cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from consilience import _check
from consilience.causal.effect_question import set_text
from consilience.causal.twins import STAR
from consilience.errors import InputError
from consilience.graph.admg import ADMG
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.show import marks, picture as pic
from consilience.show.marks import MARGIN, TITLE_SIZE, number
from consilience.show.patches import MARGIN as PLOT_MARGIN, inches
from consilience.show.plot import plot_graph
from consilience.show.svg import graph_group

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["World", "plot_worlds", "svg_worlds", "worlds_of"]

GAP = 48.0
NAME_SIZE = 14.0


class World(NamedTuple):
    """A graph, what it is called, and the nodes that are set."""

    name: str
    graph: DAG | ADMG
    set_nodes: tuple[str, ...]


def worlds_of(model: DAG | Network, do: Mapping[str, Any]) -> tuple[World, World, World]:
    """The graph as it is, with the arcs into what is set cut, and both worlds together.

    Examples
    --------
    >>> [world.graph.nodes for world in worlds_of(DAG([("x", "y")]), {"x": "yes"})]
    [('x', 'y'), ('x', 'y'), ('x', 'y', 'x*', 'y*')]
    """
    dag = model.dag if isinstance(model, Network) else model
    if not isinstance(do, Mapping) or not do:
        raise InputError("worlds: do= names what is set, such as {'x': 'yes'}.", parameter="do")
    _check.known("node", do, dag.nodes)
    cut = DAG((arc for arc in dag.arcs if arc[1] not in do), dag.nodes)
    copied = dag.descendants(list(do)) | frozenset(do)
    star = {name: name + STAR if name in copied else name for name in dag.nodes}
    arcs = [(star[a], star[b]) for a, b in cut.arcs if b in copied]
    shared = [(name, star[name]) for name in dag.nodes if name in copied and name not in do]
    both = ADMG(
        [*dag.arcs, *arcs], shared, [*dag.nodes, *(star[n] for n in dag.nodes if n in copied)]
    )
    told = ", ".join(set_text(name, state) for name, state in do.items())
    return (
        World("as it is", dag, ()),
        World(f"do({told})", cut, tuple(do)),
        World("both worlds", both, tuple(star[name] for name in do)),
    )


def svg_worlds(model: DAG | Network, *, do: Mapping[str, Any], title: str | None = None) -> str:
    """The three worlds side by side, as the text of an SVG file.

    Parameters
    ----------
    model, do
        The graph, and what is set in the other world.
    title
        A line above the pictures.
    """
    worlds = worlds_of(model, do)
    drawn = [pic.picture(world.graph) for world in worlds]
    top = MARGIN + (0.0 if title is None else TITLE_SIZE + 14)
    body, left = [], MARGIN
    for world, one in zip(worlds, drawn, strict=True):
        body += [
            marks.title_line(world.name, left, top + NAME_SIZE - 3, size=NAME_SIZE),
            f'<g transform="translate({number(left)} {number(top + NAME_SIZE + 16)})">',
            *graph_group(one, world.graph, frozenset(world.set_nodes)),
            "</g>",
        ]
        left += max(one.layout.width, marks.title_width(world.name, size=NAME_SIZE)) + GAP
    height = top + NAME_SIZE + 16 + max(one.layout.height for one in drawn)
    legend = [(marks.bow_sign(), f"a node and its {STAR} answer to the same noise")]
    words = [marks.legend_width(line) for _, line in legend]
    words += [] if title is None else [marks.title_width(title)]
    width = max(left - GAP, *(word + MARGIN for word in words)) + MARGIN
    described = title or f"The worlds of {worlds[1].name}"
    return "\n".join(
        [
            marks.opening(width, height + 14 + marks.LEGEND_STEP + MARGIN, described),
            *([] if title is None else [marks.title_line(title, MARGIN, MARGIN + TITLE_SIZE - 3)]),
            *body,
            f'<g transform="translate({number(MARGIN)} 0)">',
            *marks.legend_lines(legend, height + 14),
            "</g>",
            "</svg>",
            "",
        ]
    )


def plot_worlds(model: DAG | Network, *, do: Mapping[str, Any]) -> NDArray[Any]:
    """The three worlds side by side.

    Parameters
    ----------
    model, do
        The graph, and what is set in the other world.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    worlds = worlds_of(model, do)
    layouts = [pic.picture(world.graph).layout for world in worlds]
    widths = [one.width + 2 * PLOT_MARGIN for one in layouts]
    size = inches(sum(widths) + 60, max(one.height for one in layouts) + 50)
    _, axes = pyplot.subplots(1, 3, figsize=size, width_ratios=widths, layout="constrained")
    for ax, world in zip(axes, worlds, strict=True):
        plot_graph(world.graph, ax, highlight=world.set_nodes)
        ax.set_anchor("NW")
        ax.set_title(pic.plain(world.name), fontsize=10, loc="left")
    return np.asarray(axes)
