"""The tests behind a graph made visible (extra ``plot``): which decisions were close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consilience import _check
from consilience.show.picture import COLORS, STATE_COLORS, plain, shortened
from consilience.structure.searches.constraint_record import ConstraintRecord, EdgeTest, nearness

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["N_PAIRS", "plot_edge_tests"]

N_PAIRS = 30
"""Pairs that are drawn unless more are asked for."""

LEAST = 1e-12
"""Smaller p-values are drawn here."""

LONGEST = 44  # characters of a label


def plot_edge_tests(
    record: ConstraintRecord, *, n_pairs: int = N_PAIRS, ax: Axes | None = None
) -> Axes:
    """The largest p-value of each pair of variables, those nearest to the limit.

    Pairs to the right of the line were parted: some set makes them independent. Those to the left
    are joined: no set does.

    Parameters
    ----------
    record
        What a search by tests gives as ``tests``.
    n_pairs
        Most pairs.
    ax
        Where to draw; a new figure if not given.
    """
    _check.whole("plot", at_least=1, n_pairs=n_pairs)
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    alpha, kept, near = record.test.alpha, set(record.kept), _nearest(record, n_pairs)
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 1.2 + 0.21 * len(near)), layout="constrained")
    for place, one in enumerate(near):
        color = STATE_COLORS[0] if one in kept else STATE_COLORS[1]
        marker = "<" if one.p_value < LEAST else "o"
        ax.plot([max(one.p_value, LEAST)], [place], marker, color=color, markersize=5)
    ax.axvline(alpha, color=COLORS["arc"], linewidth=1)
    _dress(ax, record, near)
    return ax


def _nearest(record: ConstraintRecord, n_pairs: int) -> list[EdgeTest]:
    """The pairs nearest to the limit, about as many joined as parted ones, by p-value."""
    sides = [
        sorted(some, key=lambda one: nearness(one, record.test.alpha))
        for some in (record.kept, record.removed)
    ]
    n_kept = min(len(sides[0]), max(n_pairs // 2, n_pairs - len(sides[1])))
    near = [*sides[0][:n_kept], *sides[1][: n_pairs - n_kept]]
    return sorted(near, key=lambda one: one.p_value)


def _dress(ax: Axes, record: ConstraintRecord, near: list[EdgeTest]) -> None:
    ax.set_xscale("log")
    ax.set_xlim(LEAST / 3, 2)
    ax.set_ylim(-0.7, len(near) - 0.3)
    ax.set_yticks(range(len(near)), [_label(one) for one in near], fontsize=8)
    ax.set_xlabel("largest p-value")
    n_pairs = len(record.removed) + len(record.kept)
    which = f"{len(near)} of {n_pairs:,} pairs" if len(near) < n_pairs else f"{n_pairs:,} pairs"
    ax.set_title(
        f"{which}, {record.n_tests:,} tests; joined left of {record.test.alpha:g}, parted right",
        fontsize=9,
        loc="left",
    )
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _label(one: EdgeTest) -> str:
    given = f" | {', '.join(one.given)}" if one.given else ""
    return plain(shortened(f"{one.x}, {one.y}{given}", LONGEST))
