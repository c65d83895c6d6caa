"""Hidden states made visible (extra ``plot``): what each is like, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.dynamic.chain_states import ChainStates
from consilience.errors import InputError
from consilience.latent.number_of_states import HiddenStates
from consilience.latent.tried_states import TriedStates
from consilience.network.network import Network
from consilience.show.picture import COLORS, plain, shortened, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_classes", "plot_hidden_states"]

N_NUMBERS = 500  # cells that still have room for a number


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A state of a feature, or a continuous feature, whose shares are NaN: only words are drawn."""

    feature: str
    label: str
    shares: Floats
    words: tuple[str, ...]


def plot_classes(
    net: Network, node: str, *, features: Iterable[str] | None = None, ax: Axes | None = None
) -> Axes:
    """What the states of a node are like: probability of each state of the features, given them.

    A column is a state of the node, with its own probability beside its name; a row is a state of a
    feature. Of a feature with two states the second is shown; a continuous feature is one row, with
    its mean ± standard deviation in each state of the node.

    Parameters
    ----------
    net, node
        A network and one of its discrete nodes, such as the class of a latent class model.
    features
        Other nodes; the children of the node if not given.
    ax
        Where to draw; a new figure if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    rows = _profile(net, node, _features(net, node, features))
    if ax is None:
        size = (
            1.8 + 0.8 * net.variables[node].n_states + 0.06 * max(len(one.label) for one in rows),
            1.1 + 0.2 * len(rows),
        )
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    _draw(ax, net, node, rows)
    return ax


def plot_hidden_states(found: HiddenStates | ChainStates, ax: Axes | None = None) -> Axes:
    """What the criterion says of each number of states; the one that was chosen is marked.

    Parameters
    ----------
    found
        What :func:`consilience.hidden_states` or :func:`consilience.latent_classes` gives.
    ax
        Where to draw; a new figure if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(5.0, 3.2), layout="constrained")
    every: tuple[TriedStates[Any], ...] = found.tried
    tried = sorted(every, key=lambda one: one.n_states)
    ax.plot([one.n_states for one in tried], [one.value for one in tried], "o-", color="#0072B2")
    best = max(tried, key=lambda one: one.value)
    ax.plot([best.n_states], [best.value], "o", markersize=11, fillstyle="none", color="#D55E00")
    ax.set_xticks([one.n_states for one in tried])
    ax.set_xlabel(wrapped(f"states of {found.node}"))
    ax.set_ylabel(type(found.criterion).__name__)
    ax.yaxis.set_major_formatter("{x:,.6g}")
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _features(net: Network, node: str, features: Iterable[str] | None) -> list[str]:
    """The nodes to show; refuses what cannot be."""
    _check.names("plot", features=() if features is None else features)
    _check.known("node", [node], net.variables)
    if net.variables[node].is_continuous:
        raise InputError(
            f"plot: the node {node!r} is continuous; classes are the states of a discrete node.",
            variable=node,
        )
    names = list(net.dag.children(node) if features is None else features)
    _check.known("node", names, net.variables)
    if features is None and not names:
        raise InputError(
            f"plot: the node {node!r} has no children to show. Name other nodes: features=[...].",
            parameter="features",
        )
    if not names or node in names:
        raise InputError(
            f"plot: features must be other nodes than {node!r}, at least one of them.",
            parameter="features",
        )
    return names


def _profile(net: Network, node: str, features: Sequence[str]) -> list[_Row]:
    """The rows of the picture, feature by feature."""
    states = net.variables[node].discrete_states
    rows: list[_Row] = []
    for feature in features:
        answers: list[Any] = [net.query(feature, given={node: state}) for state in states]
        if net.variables[feature].is_continuous:
            words = tuple(f"{one.mean:.3g} ± {one.sd:.3g}" for one in answers)
            rows.append(_Row(feature, feature, np.full(len(states), np.nan), words))
            continue
        its = net.variables[feature].discrete_states
        for k in range(1, 2) if len(its) == 2 else range(len(its)):
            shares = np.array([one.values[k] for one in answers])
            words = tuple(f"{share:.2f}" for share in shares)
            rows.append(_Row(feature, f"{feature} = {its[k]}", shares, words))
    return rows


def _draw(ax: Axes, net: Network, node: str, rows: Sequence[_Row]) -> None:
    profile = np.stack([row.shares for row in rows])
    ax.imshow(profile, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    shares = np.asarray(net.query(node).values)
    states = net.variables[node].discrete_states
    heads = [f"{plain(state)}\n{share:.0%}" for state, share in zip(states, shares, strict=True)]
    ax.set_xticks(range(len(states)), heads)
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(rows)), [plain(row.label) for row in rows], fontsize=8)
    ax.tick_params(length=0)
    ax.set_title(plain(node), fontsize=10, loc="left")
    ax.set_xlabel(_meaning(node, profile), fontsize=8, color=COLORS["faint ink"])
    for i, (row, after) in enumerate(pairwise(rows)):
        if row.feature != after.feature:
            ax.axhline(i + 0.5, color="white", linewidth=3)
    for spine in ax.spines.values():
        spine.set_visible(False)
    has_room = profile.size <= N_NUMBERS
    for (i, j), value in np.ndenumerate(profile):
        if has_room or np.isnan(value):
            color = "white" if value > 0.6 else COLORS["ink"]
            text = rows[i].words[j]
            ax.text(j, i, text, ha="center", va="center", fontsize=7.5, color=color)


def _meaning(node: str, profile: Floats) -> str:
    """What the cells are, in words."""
    is_number = np.isnan(profile[:, 0])
    name = shortened(node, 20).replace("$", r"\$")
    kinds = [
        *([] if is_number.all() else [f"P(state | {name})"]),
        *([f"mean ± sd given {name}"] if is_number.any() else []),
    ]
    return f"cells: {', '.join(kinds)}"
