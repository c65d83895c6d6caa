"""Pictures of networks in time (extra ``plot``): slices side by side, fans, bands, panels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.dynamic.beliefs_in_time import Beliefs
from consilience.dynamic.change_point_beliefs import ChangeBeliefs
from consilience.dynamic.dynamic_network import DynamicNetwork
from consilience.dynamic.forecasting import Forecast
from consilience.dynamic.graph_search import OrderChoice
from consilience.dynamic.influence_in_time import InfluenceInTime
from consilience.dynamic.lagged_names import split_lag
from consilience.dynamic.panel import Panel
from consilience.errors import InputError
from consilience.show.picture import COLORS, STATE_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_beliefs",
    "plot_changes",
    "plot_forecast",
    "plot_influence_in_time",
    "plot_orders",
    "plot_panel",
    "plot_slices",
]

LEVELS = (0.95, 0.8, 0.5)
"""Of the bands of a fan, the widest first."""

SHOWN = 60
"""Steps before a forecast that are shown."""

WIDTH, HEIGHT = 2.4, 0.9
"""Inches between slices and between nodes."""


def plot_slices(net: DynamicNetwork, ax: Axes | None = None) -> Axes:
    """The slices side by side, the current one on the right; arcs into the current slice.

    Hidden nodes are filled, inputs have a dotted border, and the source stands below.
    """
    ax = _axes(ax, (1.4 + WIDTH * (net.order + 1), 1.1 + HEIGHT * (len(net.variables) + 0.5)))
    names = [n for n in net.dag.topological_order() if n in net.transition]
    rows = {name: -float(i) for i, name in enumerate([*names, *net.inputs])}
    places = {
        node: (-float(split_lag(node)[1]), rows[split_lag(node)[0]])
        for node in net.dag.nodes
        if node != net.source
    }
    if net.source is not None and net.source in net.dag.nodes:
        places[net.source] = (-0.5 * net.order, -float(len(rows)))
    for start, end in net.dag.arcs:
        _arc(ax, places[start], places[end], is_source=start == net.source)
    for node, (x, y) in places.items():
        _node(ax, net, node, x, y=y)
    for lag in range(net.order + 1):
        text = "now" if lag == 0 else f"{lag} step{'s' * (lag > 1)} before"
        ax.text(-lag, 0.75, text, ha="center", va="center", fontsize=9, color=COLORS["arc"])
    ax.set_xlim(-net.order - 0.5, 0.7)
    ax.set_ylim(min(y for _, y in places.values()) - 0.6, 1.1)
    ax.set_axis_off()
    return ax


def plot_influence_in_time(found: InfluenceInTime, ax: Axes | None = None) -> Axes:
    """The hidden chains in two slices side by side, and the arcs between them."""
    ax = _axes(ax, (1.4 + 2 * WIDTH, 1.1 + HEIGHT * (len(found.groups) + 0.5)))
    rows = {name: -float(i) for i, name in enumerate(found.groups)}
    places = {
        node: (-float(split_lag(node)[1]), rows[split_lag(node)[0]]) for node in found.dag.nodes
    }
    for start, end in found.dag.arcs:
        _arc(ax, places[start], places[end], is_source=False)
    for node, (x, y) in places.items():
        _node(ax, found.network, node, x, y=y)
    ax.set_xlim(-1.5, 0.7)
    ax.set_ylim(min(rows.values()) - 0.6, 0.7)
    ax.set_axis_off()
    return ax


def plot_forecast(future: Forecast, name: str | None = None, ax: Axes | None = None) -> Axes:
    """The last steps of a sequence and the fan of what comes, or bars of a discrete node's states.

    Parameters
    ----------
    future
        What ``net.forecast(...)`` gives; of several sequences the first is drawn.
    name
        The node; the first continuous one if not given.
    ax
        Where to draw; a new figure if not given.
    """
    name = _name(name, [*future.mean, *future.probabilities])
    n = int(future.panel.lengths[0])
    ahead = np.arange(1, n + 1, dtype=float)
    ax = _axes(ax, (6.4, 3.2))
    if name in future.probabilities:
        _bands(ax, ahead - 0.5, future.probabilities[name][:n], future.states[name])
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("steps ahead")
        return ax
    history = future.history
    rows = slice(max(int(history.first[0]), int(history.first[1]) - SHOWN), int(history.first[1]))
    past = history.rows.column(name)[rows] if name in history.rows.variables else np.zeros(0)
    before = np.arange(-len(past) + 1, 1, dtype=float)
    ax.plot(before, past, color=COLORS["arc"], linewidth=1.2)
    for place, level in enumerate(LEVELS):
        ends = future.interval(name, level)[:n]
        ax.fill_between(
            ahead,
            ends[:, 0],
            ends[:, 1],
            color=STATE_COLORS[0],
            alpha=0.18 + 0.14 * place,
            linewidth=0,
            label=f"{level:.0%}",
        )
    ax.plot(ahead, future.mean[name][:n], color=STATE_COLORS[0], linewidth=1.6)
    ax.legend(loc="upper left", fontsize=8, frameon=False, ncols=len(LEVELS))
    ax.set_xlabel("steps ahead")
    ax.set_title(f"{name}, sequence {future.panel.sequences[0]}", fontsize=10)
    return ax


def plot_beliefs(
    beliefs: Beliefs, name: str | None = None, sequence: str | None = None, ax: Axes | None = None
) -> Axes:
    """Bands of the states of a discrete node over time, or mean and band of a continuous one.

    Parameters
    ----------
    beliefs
        What ``net.smooth(...)`` or ``net.filter(...)`` gives.
    name
        The node; the first one if not given.
    sequence
        Which sequence; the first if not given.
    ax
        Where to draw; a new figure if not given.
    """
    name = _name(name, [*beliefs.probabilities, *beliefs.mean])
    rows, title = _sequence(beliefs.panel, sequence)
    ax = _axes(ax, (6.4, 2.6))
    times = np.arange(rows.stop - rows.start, dtype=float)
    if name in beliefs.probabilities:
        _bands(ax, times - 0.5, beliefs.probabilities[name][rows], beliefs.states[name])
    else:
        mean, sd = beliefs.mean[name][rows], beliefs.sd[name][rows]
        ax.fill_between(
            times, mean - 1.96 * sd, mean + 1.96 * sd, color=STATE_COLORS[0], alpha=0.3, linewidth=0
        )
        ax.plot(times, mean, color=STATE_COLORS[0], linewidth=1.4)
    _time_axis(ax, beliefs.panel, rows)
    ax.set_title(f"{name} given {beliefs.given}, sequence {title}", fontsize=10)
    return ax


def plot_changes(
    found: ChangeBeliefs,
    name: str | None = None,
    sequence: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Bars of the probability of a change at each step, under the values of the node.

    Parameters
    ----------
    found
        What ``cs.dynamic.change_points(...)`` gives.
    name
        The node; the first one if not given.
    sequence
        Which sequence; the first if not given.
    ax
        Where to draw; a new figure if not given.
    """
    name = _name(name, list(found))
    rows, title = _sequence(found.panel, sequence)
    ax = _axes(ax, (6.4, 3.0))
    variable, column = found.panel.rows.variables[name], found.panel.rows.column(name)[rows]
    steps = np.arange(len(column), dtype=float)
    ax.bar(steps, found[name].probability[rows], width=1.0, color=STATE_COLORS[1], zorder=2)
    ax.set_ylim(0, 1)
    ax.set_ylabel("probability of a change")
    ax.set_xlim(-0.5, len(column) - 0.5)
    values = column if variable.is_continuous else np.where(column < 0, np.nan, column)
    other = ax.twinx()
    other.plot(steps, values, color=COLORS["arc"], linewidth=1.0, zorder=1)
    other.set_ylabel(name)
    if variable.states is not None:
        other.set_yticks(range(variable.n_states), variable.states)
    _time_axis(ax, found.panel, rows)
    ax.set_title(f"changes of {name}, sequence {title}", fontsize=10)
    return ax


def plot_panel(panel: Panel, name: str | None = None, ax: Axes | None = None) -> Axes:
    """One variable of all sequences against the step, missing values left out.

    Of a discrete variable the states are the levels of the axis.
    """
    name = _name(name, list(panel.rows.variables))
    variable, column = panel.rows.variables[name], panel.rows.column(name)
    ax = _axes(ax, (6.4, 3.0))
    values = column if variable.is_continuous else np.where(column < 0, np.nan, column)
    faint = max(0.15, min(1.0, 3.0 / max(panel.n_sequences, 1)))
    for s in range(panel.n_sequences):
        part = values[panel.first[s] : panel.first[s + 1]]
        ax.plot(np.arange(len(part)), part, color=STATE_COLORS[0], alpha=faint, linewidth=1.2)
    if variable.states is not None:
        ax.set_yticks(range(variable.n_states), variable.states)
    ax.set_xlabel("step")
    n = panel.n_sequences
    ax.set_title(f"{name}, {n:,} sequence{'s' * (n != 1)}", fontsize=10)
    return ax


def plot_orders(choice: OrderChoice, ax: Axes | None = None) -> Axes:
    """The score of each order; the best is marked."""
    ax = _axes(ax, (4.8, 3.0))
    orders = list(choice.scores)
    values = [choice.scores[order] for order in orders]
    ax.plot(orders, values, color=COLORS["arc"], linewidth=1.2, marker="o", markersize=4)
    ax.plot([choice.order], [choice.scores[choice.order]], "o", color=STATE_COLORS[0], markersize=9)
    ax.set_xticks(orders)
    ax.set_xlabel("order")
    ax.set_ylabel("score")
    return ax


def _axes(ax: Axes | None, size: tuple[float, float]) -> Any:
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is not None:
        return ax
    _, made = pyplot.subplots(figsize=size, layout="constrained")
    return made


def _name(name: str | None, names: list[str]) -> str:
    if not names:
        raise InputError("plot: there is nothing that was missing or hidden to be shown.")
    if name is None:
        return names[0]
    _check.known("node", [name], names)
    return name


def _sequence(panel: Panel, name: str | None) -> tuple[slice, str]:
    if name is not None:
        _check.known("sequence", [name], panel.sequences)
    s = 0 if name is None else panel.sequences.index(name)
    return slice(int(panel.first[s]), int(panel.first[s + 1])), panel.sequences[s]


def _bands(ax: Axes, left: Floats, table: Floats, states: tuple[str, ...]) -> None:
    """Probabilities stacked to one, a band for each state."""
    below = np.zeros(len(table))
    edges = np.append(left, left[-1] + 1.0)
    for k, state in enumerate(states):
        top = below + table[:, k]
        ax.fill_between(
            edges,
            np.append(below, below[-1]),
            np.append(top, top[-1]),
            step="post",
            color=STATE_COLORS[k % len(STATE_COLORS)],
            linewidth=0,
            label=state,
        )
        below = top
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 1)
    ax.set_ylabel("probability")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)


def _time_axis(ax: Axes, panel: Panel, rows: slice) -> None:
    times = panel.times[rows]
    shown = np.unique(np.linspace(0, len(times) - 1, min(7, len(times))).astype(int))
    ax.set_xticks(shown, [str(times[k]) for k in shown])


def _node(ax: Axes, net: DynamicNetwork, node: str, x: float, *, y: float) -> None:
    name = split_lag(node)[0]
    is_source = node == net.source
    fill = COLORS["source box"] if is_source else COLORS["box"]
    ax.text(
        x,
        y,
        node,
        ha="center",
        va="center",
        fontsize=10,
        zorder=3,
        bbox={
            "boxstyle": "round,pad=0.45",
            "facecolor": "#dfe6ee" if name in net.hidden else fill,
            "edgecolor": COLORS["source"] if is_source else COLORS["border"],
            "linestyle": ":" if name in net.inputs else "-",
        },
    )


def _arc(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], *, is_source: bool
) -> None:
    is_inside = start[0] == end[0]
    bend = -0.35 if is_inside and abs(start[1] - end[1]) > 1 else 0.0
    if not is_inside and start[1] == end[1] and end[0] - start[0] > 1:
        bend = -0.2
    ax.annotate(
        "",
        xy=end,
        xytext=start,
        zorder=1,
        arrowprops={
            "arrowstyle": "-|>",
            "color": COLORS["source" if is_source else "arc"],
            "shrinkA": 16 if is_inside else 26,
            "shrinkB": 16 if is_inside else 26,
            "linewidth": 1.1,
            "connectionstyle": f"arc3,rad={bend}",
        },
    )
