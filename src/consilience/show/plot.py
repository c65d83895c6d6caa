"""Pictures with matplotlib (extra ``plot``): the graph, and how sources differ about one node."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import InputError
from consilience.network.network import Network
from consilience.show import picture as pic
from consilience.show.many import (
    MOST_NAMED,
    named_places,
    sorted_sources,
    sorting_note,
    source_label,
)
from consilience.show.patches import MARGIN, draw_arc, draw_bow, draw_node, frame, inches
from consilience.show.picture import COLORS, STATE_COLORS, Graph, plain, wrapped
from consilience.show.regressions import draw_regressions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["plot_graph", "plot_sources", "sources_first"]


@dataclass(frozen=True, slots=True, eq=False)
class _Differences:
    """One node's distribution by source: (sources, other parents' states, shown states)."""

    child: str
    source: str
    sources: tuple[str, ...]
    states: tuple[str, ...]
    titles: tuple[str, ...]
    table: Floats
    ends: tuple[Floats, ...]


def plot_graph(model: Graph, ax: Axes | None = None, *, highlight: Iterable[str] = ()) -> Axes:
    """A graph, or a network's graph, drawn as :func:`consilience.show.svg` lays it out.

    Labels are drawn as outlines, so that they keep fitting their boxes at any size of the axes.

    Parameters
    ----------
    model
        A graph, in which edges without direction have no heads and hidden common causes are dashed
        curves with two, or a network, whose source is
        marked by its colour.
    ax
        Where to draw; a new figure of fitting size if not given.
    highlight
        Nodes to be set off.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    drawn = pic.picture(model)
    _check.names("plot", highlight=highlight)
    chosen = frozenset(highlight)
    _check.known("node", sorted(chosen), drawn.labels)
    if ax is None:
        size = inches(drawn.layout.width + 2 * MARGIN, drawn.layout.height + 2 * MARGIN)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    for arc, points in drawn.layout.routes.items():
        is_told = arc[0] == drawn.source and arc[1] in drawn.differing
        color = COLORS["source" if is_told else "arc"]
        draw_arc(ax, points, color, has_head=frozenset(arc) not in drawn.edges)
    for bow in drawn.bows.values():
        draw_bow(ax, bow, COLORS["hidden"])
    for name, label in drawn.labels.items():
        kind = "highlight" if name in chosen else "source" if name == drawn.source else ""
        fill, edge = COLORS[f"{kind} box" if kind else "box"], COLORS[kind or "border"]
        draw_node(ax, drawn.layout.boxes[name], label, fill, edge=edge)
    frame(ax, drawn.layout)
    return ax


def plot_sources(
    net: Network,
    node: str,
    *,
    states: Iterable[str] | None = None,
    level: float = 0.95,
    max_panels: int = 12,
) -> NDArray[Any]:
    """How the distribution of one node differs between sources: a dot for each source and state.

    There is one panel for each state of the other parents. Of a continuous node there are panels
    for the intercept, the coefficients and the sd in each joint state of its other discrete
    parents. If the node has a posterior, lines show its central credible intervals. More than 40
    sources are sorted by the last state shown, or the intercept, and every few of them named.

    Parameters
    ----------
    net, node
        A network, and one of its nodes that has the network's source as a parent.
    states
        The states of a discrete node to be shown. If not given: all, up to eight; of two states the
        last.
    level
        Probability of the intervals.
    max_panels
        If there would be more, those states of the other parents are shown in which the sources
        differ most.

    Raises
    ------
    InputError
        If the network has no source, the node does not depend on it, or is discrete and has a
        continuous parent.
    """
    local = _by_source(net, node)
    _check.whole("plot", at_least=1, max_panels=max_panels)
    if not 0 < level < 1:
        raise InputError(f"plot: level must lie between 0 and 1, got {level!r}.", level=level)
    if isinstance(local, Categorical):
        return _draw_panels(_differences(local, str(net.source), states, level), max_panels)
    if states is not None:
        raise InputError(
            f"plot: node {node!r} is continuous and has no states to choose.", node=node
        )
    return draw_regressions(local, str(net.source), level, max_panels)


def _by_source(net: Network, node: str) -> Categorical | LinearGaussian:
    """The node's distribution, once it is known to depend on the source."""
    local = net[node]
    if isinstance(local, Logistic):
        raise InputError(
            f"plot: node {node!r} is discrete and has the continuous parents "
            f"{_check.listed(variable.name for variable in local.continuous)}; only tables and "
            "regressions of continuous nodes are drawn. The numbers are "
            "cs.estimators.parameter_intervals(net, node).",
            node=node,
        )
    if net.source is None:
        raise InputError(
            "plot: the network has no source. Fit one to a table of several sources, or "
            "load it with source=.",
            node=node,
        )
    if net.source not in local.parents:
        raise InputError(
            f"plot: node {node!r} does not depend on the source {net.source!r}. Nodes that "
            f"do: {_check.listed(net.dag.children(net.source))}.",
            node=node,
        )
    return local


def _differences(
    local: Categorical, source: str, states: Iterable[str] | None, level: float
) -> _Differences:
    """The table with the sources on the first axis, cut to the states that are shown."""
    axis = local.parents.index(source)
    chosen = _chosen_states(local, states)
    ends = () if local.posterior is None else local.posterior.interval(level)
    others = [parent for parent in local.given if parent.name != source]
    table = sources_first(local.table, axis)[:, :, chosen]
    names = local.given[axis].discrete_states
    order = sorted_sources(names, table[:, :, -1].mean(axis=1))
    titles = [
        ", ".join(f"{parent.name}={state}" for parent, state in zip(others, combined, strict=True))
        for combined in product(*(parent.discrete_states for parent in others))
    ]
    return _Differences(
        local.child.name,
        source,
        tuple(names[i] for i in order),
        tuple(local.child.discrete_states[code] for code in chosen),
        tuple(titles),
        table[order],
        tuple(sources_first(end, axis)[order][:, :, chosen] for end in ends),
    )


def _chosen_states(local: Categorical, states: Iterable[str] | None) -> list[int]:
    n_states = local.child.n_states
    if states is None:
        return [1] if n_states == 2 else list(range(min(n_states, len(STATE_COLORS))))
    _check.names("plot", states=states)
    chosen = [local.child.code(state) for state in states]
    if not 1 <= len(chosen) <= len(STATE_COLORS):
        raise InputError(
            f"plot: from 1 to {len(STATE_COLORS)} states can be shown, got {len(chosen)}.",
            node=local.child.name,
        )
    return chosen


def sources_first(table: Floats, axis: int) -> Floats:
    """The table as (sources, states of all other parents, states)."""
    moved = np.moveaxis(table, axis, 0)
    return moved.reshape(moved.shape[0], -1, moved.shape[-1])


def _draw_panels(found: _Differences, max_panels: int) -> NDArray[Any]:
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    panels = _most_different(found.table, max_panels)
    n_columns = min(len(panels), 4 if len(panels) > 9 else 3)
    n_lines = math.ceil(len(panels) / n_columns)
    n_sources = len(found.sources)
    each = 0.16 + 0.09 * len(found.states) if n_sources <= MOST_NAMED else 0.06
    height = min(0.75 + n_sources * each, 14.0)
    figure, grid = pyplot.subplots(
        n_lines,
        n_columns,
        figsize=(1.6 + 2.6 * n_columns, 0.9 + height * n_lines),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, panel in zip(grid.flat, panels, strict=False):
        _draw_dots(ax, found, panel)
    for ax in grid.flat[len(panels) :]:
        ax.set_axis_off()
    for ax in grid.flat[max(0, len(panels) - n_columns) : len(panels)]:
        ax.tick_params(labelbottom=True)
    _label_figure(figure, grid, found, len(panels))
    return np.asarray(grid)


def _most_different(table: Floats, n_panels: int) -> list[int]:
    """The panels in which the sources differ most, in their own order."""
    differences = np.ptp(table, axis=0).max(axis=1)
    most = np.argsort(-differences, kind="stable")[:n_panels]
    return sorted(int(panel) for panel in most)


def _draw_dots(ax: Axes, found: _Differences, panel: int) -> None:
    places = np.arange(len(found.sources))
    n_states, has_room = len(found.states), len(places) <= MOST_NAMED
    for k, state in enumerate(found.states):
        y = places + (0.56 * ((k + 0.5) / n_states - 0.5) if has_room else 0.0)
        color = STATE_COLORS[k]
        if found.ends:
            low, high = (end[:, panel, k] for end in found.ends)
            width = 1.6 if has_room else 0.9
            ax.hlines(y, low, high, color=color, linewidth=width, alpha=0.55 if has_room else 0.35)
        size = 4.5 if has_room else 2.6
        ax.plot(found.table[:, panel, k], y, "o", color=color, markersize=size, label=plain(state))
    if found.titles[panel]:
        ax.set_title(plain(found.titles[panel]), fontsize=9)
    ax.grid(axis="x", color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _label_figure(figure: Figure, grid: Any, found: _Differences, n_panels: int) -> None:
    first = grid.flat[0]
    first.set_xlim(-0.02, 1.02)
    first.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    first.set_ylim(len(found.sources) - 0.4, -0.6)
    named = named_places(len(found.sources))
    labels = [source_label(found.sources[i]) for i in named]
    first.set_yticks(named, labels)
    for ax in grid[:, 0]:
        ax.tick_params(axis="y", labelsize=9 if len(named) == len(found.sources) else 7.5)
    if len(found.states) == 1:
        figure.supxlabel(wrapped(f"P({found.child} = {found.states[0]})"), fontsize=10)
    else:
        figure.supxlabel(wrapped(f"P({found.child})"), fontsize=10)
        handles, labels = first.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9)
    left_out = len(found.titles) - n_panels
    note = sorting_note(found.sources)
    note += f" (the {n_panels} of {len(found.titles)} panels that differ most)" if left_out else ""
    figure.suptitle(plain(f"{found.child} by {found.source}{note}"), fontsize=11)
