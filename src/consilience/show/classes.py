"""Hidden states made visible (extra ``plot``): what each is like, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.latent.states import HiddenStates
from consilience.network.network import Network
from consilience.show.picture import COLORS, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_classes", "plot_hidden_states"]

N_NUMBERS = 500  # cells that still have room for a number


def plot_classes(
    net: Network, node: str, *, features: Iterable[str] | None = None, ax: Axes | None = None
) -> Axes:
    """What the states of a node are like: probability of each state of the features, given them.

    A column is a state of the node, with its own probability beside its name; a row is a state of a
    feature. Of a feature with two states the second is shown.

    Parameters
    ----------
    net, node
        A network and one of its discrete nodes, such as the class of a latent class model.
    features
        Other discrete nodes; the children of the node if not given.
    ax
        Where to draw; a new figure if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot_classes")
    _check.names("plot_classes", features=() if features is None else features)
    _check.known("node", [node], net.variables)
    names = [one for one in net.dag.children(node) if not net.variables[one].is_continuous]
    if features is not None:
        names = list(features)
        _check.known("node", names, net.variables)
    if not names or node in names:
        raise InputError(
            f"plot_classes: features must be other nodes than {node!r}, at least one of them.",
            parameter="features",
        )
    labels, profile, ends = _profile(net, node, names)
    if ax is None:
        size = (
            1.8 + 0.8 * profile.shape[1] + 0.06 * max(map(len, labels)),
            0.9 + 0.2 * len(labels),
        )
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    _draw(ax, net, node, labels, profile, ends)
    return ax


def plot_hidden_states(found: HiddenStates, ax: Axes | None = None) -> Axes:
    """What the criterion says of each number of states; the one that was chosen is marked.

    Parameters
    ----------
    found
        What :func:`consilience.hidden_states` or :func:`consilience.latent_classes` gives.
    ax
        Where to draw; a new figure if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot_hidden_states")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(5.0, 3.2), layout="constrained")
    tried = sorted(found.tried, key=lambda one: one.n_states)
    ax.plot([one.n_states for one in tried], [one.value for one in tried], "o-", color="#0072B2")
    best = max(tried, key=lambda one: one.value)
    ax.plot([best.n_states], [best.value], "o", markersize=11, fillstyle="none", color="#D55E00")
    ax.set_xticks([one.n_states for one in tried])
    ax.set_xlabel(f"states of {plain(found.node)}")
    ax.set_ylabel(type(found.criterion).__name__)
    ax.yaxis.set_major_formatter("{x:,.6g}")
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _profile(
    net: Network, node: str, features: Sequence[str]
) -> tuple[list[str], Floats, list[int]]:
    """Labels of the rows, probabilities (rows, states of the node), and where features end."""
    states = net.variables[node].discrete_states
    labels: list[str] = []
    rows: list[Floats] = []
    ends: list[int] = []
    for feature in features:
        its = net.variables[feature].discrete_states
        beliefs = [np.asarray(net.query(feature, given={node: state}).values) for state in states]
        shown = range(1, 2) if len(its) == 2 else range(len(its))
        labels += [f"{feature} = {its[k]}" for k in shown]
        rows += [np.array([belief[k] for belief in beliefs]) for k in shown]
        ends.append(len(labels))
    return labels, np.stack(rows), ends


def _draw(
    ax: Axes,
    net: Network,
    node: str,
    labels: Sequence[str],
    profile: Floats,
    ends: Sequence[int],
) -> None:
    ax.imshow(profile, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    shares = np.asarray(net.query(node).values)
    states = net.variables[node].discrete_states
    heads = [f"{plain(state)}\n{share:.0%}" for state, share in zip(states, shares, strict=True)]
    ax.set_xticks(range(len(states)), heads)
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(labels)), [plain(label) for label in labels], fontsize=8)
    ax.tick_params(length=0)
    ax.set_title(plain(node), fontsize=10, loc="left", color=COLORS["ink"])
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="white", linewidth=3)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if profile.size <= N_NUMBERS:
        for (i, j), value in np.ndenumerate(profile):
            color = "white" if value > 0.6 else COLORS["ink"]
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=color)
