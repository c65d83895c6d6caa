"""How sources differ about a continuous node: a panel for each parameter of its regressions.

Parameters have units of their own, so that panels share an axis only with those of the same
parameter in other joint states of the discrete parents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import NEW_SOURCE
from consilience.distributions import LinearGaussian
from consilience.show.dots import draw_dots
from consilience.show.many import (
    MOST_NAMED,
    named_places,
    sorted_sources,
    sorting_note,
    source_label,
)
from consilience.show.picture import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["draw_regressions"]

N_COLUMNS = 4  # of the parameters of a single joint state


@dataclass(frozen=True, slots=True, eq=False)
class _Regressions:
    """The parameters of one node by source: (sources, joint states, parameters)."""

    child: str
    source: str
    sources: tuple[str, ...]
    names: tuple[str, ...]
    titles: tuple[str, ...]
    values: Floats
    ends: tuple[Floats, ...]


def draw_regressions(
    local: LinearGaussian, source: str, level: float, max_panels: int
) -> NDArray[Any]:
    """A dot for each source, in a panel for each parameter and joint state.

    A source without rows, such as ``new_source``, has the sd of a prediction, which is larger than
    the residual sd that the posterior is about; there is no line then.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    found = _regressions(local, source, level)
    n_parameters = len(found.names)
    lines = _most_different(found.values, max(1, max_panels // n_parameters))
    panels = [(j, k) for j in lines for k in range(n_parameters)]
    n_columns = n_parameters if len(lines) > 1 else min(n_parameters, N_COLUMNS)
    n_lines = math.ceil(len(panels) / n_columns)
    has_room = len(found.sources) <= MOST_NAMED
    height = min(0.85 + (0.25 if has_room else 0.06) * len(found.sources), 14.0)
    figure, grid = pyplot.subplots(
        n_lines,
        n_columns,
        figsize=(1.4 + 2.4 * n_columns, 0.6 + height * n_lines),
        sharex="col" if len(lines) > 1 else False,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, (j, k) in zip(grid.flat, panels, strict=False):
        _panel(ax, found, j, k)
    for ax in grid.flat[len(panels) :]:
        ax.set_axis_off()
    _label(figure, grid, found, lines)
    return np.asarray(grid)


def _regressions(local: LinearGaussian, source: str, level: float) -> _Regressions:
    axis = [variable.name for variable in local.discrete].index(source)
    others = [variable for variable in local.discrete if variable.name != source]
    titles = [
        ", ".join(f"{variable.name}={state}" for variable, state in zip(others, joint, strict=True))
        for joint in product(*(variable.discrete_states for variable in others))
    ]
    ends = () if local.posterior is None else local.posterior.interval(level)
    values = _sources_first(local.parameters, axis)
    names = local.discrete[axis].discrete_states
    order = sorted_sources(names, _what_differs(values))
    return _Regressions(
        local.child.name,
        source,
        tuple(names[i] for i in order),
        ("intercept", *(f"slope of {variable.name}" for variable in local.continuous), "sd"),
        tuple(titles),
        values[order],
        tuple(_sources_first(end, axis)[order] for end in ends),
    )


def _what_differs(values: Floats) -> Floats:
    """The mean over joint states of the first parameter in which sources differ at all."""
    means = values.mean(axis=1)
    differs = np.flatnonzero(np.ptp(means, axis=0) > 0)
    return np.asarray(means[:, differs[0] if len(differs) else 0])


def _sources_first(parameters: Floats, axis: int) -> Floats:
    moved = np.moveaxis(parameters, axis, 0)
    return moved.reshape(moved.shape[0], -1, moved.shape[-1])


def _most_different(values: Floats, n_lines: int) -> list[int]:
    """The joint states in which the sources differ most for what the parameter varies at all."""
    whole = np.ptp(values, axis=(0, 1))
    differences = (np.ptp(values, axis=0) / np.where(whole > 0, whole, 1.0)).max(axis=1)
    return sorted(int(j) for j in np.argsort(-differences, kind="stable")[:n_lines])


def _panel(ax: Axes, found: _Regressions, j: int, k: int) -> None:
    is_sd = k == len(found.names) - 1
    is_unseen = np.array([is_sd and source == NEW_SOURCE for source in found.sources])
    ends = tuple(np.where(is_unseen, np.nan, end[:, j, k]) for end in found.ends)
    draw_dots(ax, found.values[:, j, k], ends, has_room=len(found.sources) <= MOST_NAMED)


def _label(figure: Figure, grid: Any, found: _Regressions, lines: list[int]) -> None:
    """Names of the parameters above, of the joint states at the left, of the sources beside."""
    first = grid.flat[0]
    first.set_ylim(len(found.sources) - 0.4, -0.6)
    named = named_places(len(found.sources))
    labels = [source_label(found.sources[i]) for i in named]
    first.set_yticks(named, labels)
    for ax in grid[:, 0]:
        ax.tick_params(axis="y", labelsize=9 if len(named) == len(found.sources) else 7.5)
    n_named = grid.shape[1] if len(lines) > 1 else len(found.names)
    for ax, name in zip(grid.flat[:n_named], found.names, strict=False):
        ax.set_title(plain(name), fontsize=9)
    for line, j in enumerate(lines):
        if found.titles[j]:
            grid[line, 0].set_ylabel(plain(found.titles[j]), fontsize=9)
    left_out = len(found.titles) - len(lines)
    note = sorting_note(found.sources)
    note += (
        f" (the {len(lines)} of {len(found.titles)} states that differ most)" if left_out else ""
    )
    figure.suptitle(plain(f"{found.child} by {found.source}{note}"), fontsize=11)
