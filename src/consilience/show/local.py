"""Pictures of local distributions (extra ``plot``): a table as a heat map, regressions as dots."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import InputError
from consilience.show.dots import draw_dots
from consilience.show.picture import COLORS, shortened
from consilience.show.text import family_text, layout_of, probability_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["plot_local", "plot_table"]

MOST_ROWS = 40
MOST_COLUMNS = 30
N_NUMBERS = 400  # cells that still have room for a number
LABEL = 52


def plot_table(local: Categorical, ax: Axes | None = None) -> Axes:
    """The table of a discrete node as a heat map: a row for each parent state.

    Parameters
    ----------
    local
        What ``net[node]`` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    rows = local.rows[:MOST_ROWS, :MOST_COLUMNS]
    states = [_label(state) for state in local.child.discrete_states[:MOST_COLUMNS]]
    labels = [_label(label) for label in _joint_labels(local)] or [""]
    if ax is None:
        width = 1.4 + 0.075 * max(map(len, labels)) + 0.62 * len(states)
        size = (max(width, 3.2), 1.1 + 0.26 * len(rows))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    ax.imshow(rows, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    has_long_names = max(map(len, states)) > 7
    ax.set_xticks(range(len(states)), states, fontsize=8, rotation=45 if has_long_names else 0)
    for text in list(ax.get_xticklabels()):
        text.set_ha("left" if has_long_names else "center")
        text.set_rotation_mode("anchor")
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(rows)), labels, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if rows.size <= N_NUMBERS:
        for (i, j), p in np.ndenumerate(rows):
            color = "white" if p > 0.6 else COLORS["ink"]
            words = probability_text(float(p)) if p not in (0.0, 1.0) else f"{p:.0f}"
            ax.text(j, i, words, ha="center", va="center", fontsize=7, color=color)
    ax.set_xlabel(_foot(local), fontsize=8.5, color=COLORS["faint ink"])
    return ax


def plot_local(local: LinearGaussian | Logistic, *, level: float = 0.95) -> NDArray[Any]:
    """The regressions of a node: a panel for each coefficient, a dot for each joint state.

    Lines are central credible intervals, if the node has a posterior.

    Parameters
    ----------
    local
        What ``net[node]`` gives.
    level
        Probability of the intervals.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if not 0 < level < 1:
        raise InputError(f"plot: level must lie between 0 and 1, got {level!r}.", parameter="level")
    _, columns, values = layout_of(local)
    shown = values[:MOST_ROWS, :MOST_COLUMNS]
    labels = [_label(label) for label in _joint_labels(local)] or [""]
    ends = () if local.posterior is None else local.posterior.interval(level)
    limits = [end.reshape(len(values), -1)[:MOST_ROWS] for end in ends]
    n_columns = min(shown.shape[1], 4)
    n_lines = -(-shown.shape[1] // n_columns)
    figure, grid = pyplot.subplots(
        n_lines,
        n_columns,
        figsize=(
            1.2 + 0.06 * max(map(len, labels)) + 2.2 * n_columns,
            0.5 + n_lines * (0.8 + 0.24 * len(shown)),
        ),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for k, ax in enumerate(grid.flat):
        if k < shown.shape[1]:
            draw_dots(ax, shown[:, k], tuple(end[:, k] for end in limits))
            ax.set_title(_label(columns[k]), fontsize=9)
        else:
            ax.set_axis_off()
    grid.flat[0].set_yticks(range(len(labels)), labels, fontsize=8)
    grid.flat[0].set_ylim(len(shown) - 0.4, -0.6)
    figure.suptitle(_foot(local), fontsize=10)
    return np.asarray(grid)


def _joint_labels(local: Categorical | LinearGaussian | Logistic) -> list[str]:
    by, _, _ = layout_of(local)
    states = product(*(variable.discrete_states for variable in by))
    return [
        ", ".join(f"{one.name}={state}" for one, state in zip(by, joint, strict=True))
        for joint in islice(states, MOST_ROWS)
    ]


def _foot(local: Categorical | LinearGaussian | Logistic) -> str:
    """What is shown, and how much of it."""
    _, columns, values = layout_of(local)
    parts = [
        f"the first {most} of {n:,} {what}"
        for n, most, what in (
            (len(values), MOST_ROWS, "parent states"),
            (len(columns), MOST_COLUMNS, "columns"),
        )
        if n > most
    ]
    note = f"\n{', '.join(parts)}" if parts else ""
    return _label(family_text(local), 50) + note


def _label(text: str, length: int = LABEL) -> str:
    return shortened(text, length).replace("$", r"\$") if text else ""
