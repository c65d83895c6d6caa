"""Pictures of chains of draws (extra ``plot``): have they met, do they move?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from consilience import _check
from consilience._typing import Floats
from consilience.incomplete.augmentation import Augmentation
from consilience.incomplete.parameter_names import parameter_names
from consilience.show.picture import COLORS, STATE_COLORS, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["draw_legend", "draw_ranks", "draw_trace", "plot_chains"]

N_BINS = 20
CHILD_LENGTH = 28
STATE_LENGTH = 14
GIVEN_LENGTH = 40


def plot_chains(
    story: Augmentation, nodes: Sequence[str] | None = None, *, n_parameters: int = 4
) -> NDArray[Any]:
    """Traces and ranks of the parameters whose chains agree least, one row a parameter.

    Left, the draws of each chain one after the other: chains that have met lie over each other
    and wander to and fro. Right, how the draws of each chain rank among those of all: every line
    is level, near the dashed one, if the chains draw from one distribution (Vehtari et al. 2021).

    Parameters
    ----------
    story
        What :func:`consilience.gaps.augment` gives.
    nodes
        Show parameters of these nodes only; of all if not given.
    n_parameters
        How many, those with the largest R-hat first; of two that mirror each other, one.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    _check.whole("plot", at_least=1, n_parameters=n_parameters)
    if nodes is not None:
        _check.names("plot", nodes=nodes)
        _check.known("node", nodes, story.draws)
    chosen = _worst(story, list(story.draws if nodes is None else nodes), n_parameters)
    figure, axes = pyplot.subplots(
        len(chosen),
        2,
        figsize=(8.4, 0.8 + 1.75 * len(chosen)),
        width_ratios=[2, 1],
        layout="constrained",
        squeeze=False,
    )
    for (trace, ranks), (name, place) in zip(axes, chosen, strict=True):
        drawn = story.draws[name].reshape(story.n_chains, story.n_draws, -1)[:, :, place]
        draw_trace(trace, drawn)
        draw_ranks(ranks, drawn)
        label = _label(parameter_names(story.network[name])[place], name)
        size = float(story.bulk_size[name].ravel()[place])
        ratio = float(story.r_hat[name].ravel()[place])
        trace.set_title(
            f"{label}\nR-hat {ratio:.3f}, worth {size:,.0f} draws".replace("$", r"\$"),
            fontsize=9,
            loc="left",
        )
    axes[0, 1].set_title("ranks by chain", fontsize=9, loc="left")
    axes[-1, 0].set_xlabel("draw")
    axes[-1, 1].set_xlabel("rank among all draws")
    draw_legend(figure, axes[0, 0])
    return np.asarray(axes)


def _worst(story: Augmentation, nodes: list[str], n_parameters: int) -> list[tuple[str, int]]:
    """Nodes and places of parameters by falling R-hat; the last state of two is told by the first,
    and what never moves is not shown.
    """
    found = []
    for name in nodes:
        local = story.network[name]
        is_mirrored = not local.child.is_continuous and local.child.n_states == 2
        values = story.r_hat[name].ravel()
        moves = np.ptp(story.draws[name], axis=(0, 1)).ravel() > 0
        places = range(0, values.size, 2 if is_mirrored else 1)
        found += [(-float(values[i]), name, i) for i in places if moves[i]]
    worst = sorted(found, key=lambda one: one[0])[:n_parameters]
    return [(name, i) for _, name, i in worst] or [(nodes[0], 0)]


def _label(text: str, name: str) -> str:
    """A parameter in words: long names are cut, each by itself, so that the parents stay."""
    head, bar, given = text[len(name) :].partition(" | ")
    parents = given.split(", ")
    if len(given) > GIVEN_LENGTH:
        each = max(9, GIVEN_LENGTH // len(parents) - 2)
        given = shortened(", ".join(shortened(one, each) for one in parents), GIVEN_LENGTH)
    state = shortened(head, STATE_LENGTH)
    return f"{shortened(name, CHILD_LENGTH - len(state))}{state}{bar}{given}"


def draw_legend(figure: Figure, traces: Axes) -> None:
    """Which color is which chain, above the picture; colors come again after eight."""
    lines = traces.lines[: len(STATE_COLORS)]
    more = len(traces.lines) - len(lines)
    names = [f"chain {k + 1}" for k in range(len(lines))]
    if more:
        names[-1] += f" (and {more} more in the same colors)"
    legend = figure.legend(
        lines, names, loc="outside upper left", ncols=len(lines), fontsize=8, frameon=False
    )
    for line in legend.get_lines():
        line.set(linewidth=2, alpha=1)


def draw_trace(ax: Axes, drawn: Floats) -> None:
    """The draws of each chain, one after the other."""
    for k, chain in enumerate(drawn):
        color = STATE_COLORS[k % len(STATE_COLORS)]
        ax.plot(np.arange(1, len(chain) + 1), chain, color=color, linewidth=0.5, alpha=0.75)
    ax.set_xlim(1, drawn.shape[1])
    ax.margins(y=0.04)
    _quiet(ax)


def draw_ranks(ax: Axes, drawn: Floats) -> None:
    """How the draws of each chain rank among those of all."""
    n_chains, n_draws = drawn.shape
    n_bins = min(N_BINS, max(2, n_draws // 5))
    edges = np.linspace(0.5, drawn.size + 0.5, n_bins + 1)
    ranks = rankdata(drawn).reshape(drawn.shape)
    for k in range(n_chains):
        heights, _ = np.histogram(ranks[k], edges)
        color = STATE_COLORS[k % len(STATE_COLORS)]
        ax.stairs(heights, edges, baseline=None, color=color, linewidth=1.2)
    ax.axhline(n_draws / n_bins, color=COLORS["faint ink"], linewidth=0.9, linestyle="--")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, None)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.locator_params(axis="x", nbins=4)
    _quiet(ax)


def _quiet(ax: Axes) -> None:
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
