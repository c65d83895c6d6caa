"""Amounts and estimates of records as bars and dots (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.incomplete.assessment import GapAssessment
from consilience.incomplete.imputation import Imputation
from consilience.incomplete.rubin import PooledAnswer
from consilience.network.record import Record
from consilience.show.patches import letters_color
from consilience.show.picture import COLORS, STATE_COLORS, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_assessment", "plot_imputation", "plot_pooled", "plot_rows"]

MOST = 40
LABEL = 40
SMALLEST = 1e-12  # a p-value below is drawn as this one


def plot_assessment(found: GapAssessment, ax: Axes | None = None) -> Axes:
    """How clearly each test speaks against gaps completely at random; the line is the level.

    Parameters
    ----------
    found
        What :func:`consilience.gaps.assess_gaps` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    tests = found.tests[:MOST]
    if not tests:
        raise InputError("plot: there are no tests to draw.", parameter="thing")
    p = np.maximum([test.adjusted for test in tests], SMALLEST)
    labels = [f"{shortened(t.variable, 18)} by {shortened(t.against, 22)}" for t in tests]
    colors = [STATE_COLORS[1] if t.adjusted <= found.level else COLORS["border"] for t in tests]
    ax = _bars(ax, labels, [("", -np.log10(p), colors)])
    ax.axvline(
        -np.log10(found.level), color=letters_color(ax), linewidth=0.9, linestyle=(0, (4, 3))
    )
    ax.set_xlabel("-log10 of the adjusted p-value", fontsize=9)
    _title(ax, "gaps that depend on what is recorded", len(found.tests))
    return ax


def plot_imputation(found: Imputation, ax: Axes | None = None) -> Axes:
    """How many values of each column were filled in, and how many are still missing.

    Parameters
    ----------
    found
        What :func:`consilience.impute` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    gaps = {
        name: found.n_filled.get(name, 0) + found.n_left.get(name, 0)
        for name in dict.fromkeys([*found.n_filled, *found.n_left])
    }
    names = sorted((name for name, n in gaps.items() if n), key=lambda name: -gaps[name])
    if not names:
        raise InputError("plot: nothing was missing.", parameter="thing")
    shown = names[:MOST]
    filled = np.array([found.n_filled.get(name, 0) for name in shown], float)
    left = np.array([found.n_left.get(name, 0) for name in shown], float)
    ax = _bars(
        ax, shown, [("filled in", filled, STATE_COLORS[0]), ("missing", left, STATE_COLORS[1])]
    )
    ax.set_xlabel("values in a table", fontsize=9)
    _title(ax, "values filled in, by column", len(names))
    return ax


def plot_rows(record: Record, ax: Axes | None = None) -> Axes:
    """From how many rows each family of a network was learned.

    Parameters
    ----------
    record
        What ``net.record`` is.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    if not record.n_rows:
        raise InputError("plot: the record does not tell numbers of rows.", parameter="thing")
    names = sorted(record.n_rows, key=lambda name: record.n_rows[name])
    shown = names[:MOST]
    complete = np.array([record.n_rows[name] for name in shown], float)
    gaps = np.array([record.n_incomplete.get(name, 0.0) for name in shown], float)
    ax = _bars(
        ax, shown, [("complete", complete, STATE_COLORS[0]), ("with gaps", gaps, STATE_COLORS[1])]
    )
    ax.set_xlabel("rows", fontsize=9)
    _title(ax, "rows of each family", len(names))
    return ax


def plot_pooled(answer: PooledAnswer, ax: Axes | None = None) -> Axes:
    """The pooled estimates with their intervals; grey is what would be left without gaps.

    Parameters
    ----------
    answer
        What :func:`consilience.gaps.pool_answers` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    places = list(np.ndindex(answer.estimate.shape))
    labels = [", ".join(map(str, place)) for place in places[:MOST]]
    values, low, high, within = (
        np.asarray(one, float).ravel()[:MOST]
        for one in (answer.estimate, answer.low, answer.high, answer.within)
    )
    ax = _prepared(ax, labels)
    y = np.arange(len(labels))
    ax.hlines(y, low, high, color=STATE_COLORS[0], linewidth=1.6, alpha=0.6)
    sd = np.sqrt(within)
    ax.hlines(y, values - sd, values + sd, color=COLORS["border"], linewidth=5, alpha=0.6)
    ax.plot(values, y, "o", color=STATE_COLORS[0], markersize=4.5)
    ax.set_xlabel(
        f"estimate, {100 * answer.level:g} % interval; grey: ± sd without gaps", fontsize=9
    )
    _title(ax, f"pooled from {answer.n_tables} tables", len(places))
    return ax


def _bars(
    ax: Axes | None,
    labels: Sequence[str],
    stacks: Sequence[tuple[str, Floats, str | list[str]]],
) -> Axes:
    ax = _prepared(ax, labels)
    start = np.zeros(len(labels))
    for name, values, color in stacks:
        if values.any():
            ax.barh(np.arange(len(labels)), values, left=start, color=color, label=name, height=0.7)
        start = start + values
    if len([one for one in stacks if one[1].any()]) > 1:
        ax.legend(fontsize=8.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _prepared(ax: Axes | None, labels: Sequence[str]) -> Axes:
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is None:
        size = (6.2, 1.0 + 0.22 * max(len(labels), 2))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    named = [shortened(label, LABEL).replace("$", r"\$") if label else "" for label in labels]
    ax.set_yticks(range(len(labels)), named, fontsize=8)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8)
    return ax


def _title(ax: Axes, words: str, n: int) -> None:
    note = f"; {MOST} of {n:,}" if n > MOST else ""
    ax.set_title(f"{words}{note}", fontsize=9, loc="left")
