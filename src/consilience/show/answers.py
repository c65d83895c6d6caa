"""What stands behind an answer as bars and dots (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.answers.answer_intervals import AnswerIntervals
from consilience.answers.findings import BeliefShift, Conflict
from consilience.answers.next_questions import InformationValue
from consilience.answers.row_distances import ArcStrengths
from consilience.answers.sensitivities import Sensitivity
from consilience.answers.source_differences import DIFFER, Differences
from consilience.errors import InputError
from consilience.show.dots import draw_dots
from consilience.show.patches import letters_color
from consilience.show.picture import COLORS, STATE_COLORS, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "information_bars",
    "plot_conflict",
    "plot_differences",
    "plot_information",
    "plot_intervals",
    "plot_shift",
    "plot_strengths_of_arcs",
    "plot_tornado",
    "shift_bars",
    "tornado_ends",
]

MOST, LABEL = 20, 64
UP, DOWN = STATE_COLORS[0], STATE_COLORS[1]


def plot_tornado(found: Sensitivity, n_bars: int = 15, ax: Axes | None = None) -> Axes:
    """The answer if each parameter is less or more: a tornado chart, the widest on top.

    Parameters
    ----------
    found
        What :func:`consilience.sensitivity` gives.
    n_bars
        How many parameters are drawn.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    _check.whole("plot", at_least=1, n_bars=n_bars)
    now, lines = tornado_ends(found, n_bars)
    if not lines:
        raise InputError("plot: no parameter changes this answer.", parameter="thing")
    ax = _prepared(ax, list(lines))
    y = np.arange(len(lines))
    for color, name, ends in (
        (DOWN, "parameter less", np.array([low for low, _ in lines.values()])),
        (UP, "parameter more", np.array([high for _, high in lines.values()])),
    ):
        ax.barh(y, ends - now, left=now, color=color, height=0.7, label=name)
    ax.axvline(now, color=letters_color(ax), linewidth=0.9)
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    ax.set_xlabel(f"the answer if a parameter changes by {found.change:g}", fontsize=9)
    _title(ax, found.title.split(",")[0], len(found.effects), len(lines))
    return ax


def plot_information(found: InformationValue, ax: Axes | None = None) -> Axes:
    """What each variable would tell, the most on top; the next best questions are set off.

    Parameters
    ----------
    found
        What :func:`consilience.information_value` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    bars = information_bars(found, MOST)
    names, values = list(bars), np.array(list(bars.values()))
    asked = {question.name for question in found.questions}
    colors = [COLORS["highlight"] if n in asked else COLORS["bar ground"] for n in names]
    if found.between is not None:
        colors = [UP if value > 0 else DOWN for value in values]
    ax = _bars(ax, names, values, colors)
    unit = "nats" if found.unit == "nats" else "expected loss"
    ax.set_xlabel(f"expected reduction, {unit}", fontsize=9)
    _title(ax, f"what to ask about {found.target}", len(found.values), len(names))
    return ax


def plot_shift(found: BeliefShift, ax: Axes | None = None) -> Axes:
    """How far each finding moved the belief: Shapley shares, or by leaving each out.

    Parameters
    ----------
    found
        What :func:`consilience.explain` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    bars = shift_bars(found, MOST)
    values = np.array(list(bars.values()))
    ax = _bars(ax, list(bars), values, [UP if v > 0 else DOWN for v in values])
    ax.axvline(0, color=letters_color(ax), linewidth=0.9)
    what = "without each finding" if found.shares is None else "Shapley share of each finding"
    ax.set_xlabel(f"change of the belief: {what}", fontsize=9)
    _title(ax, found.title, len(found.left_out), len(bars))
    return ax


def plot_conflict(found: Conflict, ax: Axes | None = None) -> Axes:
    """The conflict of each finding with all others; above zero they contradict each other.

    Parameters
    ----------
    found
        What :func:`consilience.conflict` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    columns = found.columns
    names = list(columns["finding"])[:MOST]
    values = np.array(columns["conflict"][:MOST], float)
    labels = [f"{n}={found.given[n]}" for n in names]
    ax = _bars(ax, labels, values, [DOWN if v > 0 else UP for v in values])
    ax.axvline(0, color=letters_color(ax), linewidth=0.9)
    ax.set_xlabel("conflict with the other findings, nats", fontsize=9)
    _title(ax, found.title, len(columns["finding"]), len(names))
    return ax


def plot_intervals(found: AnswerIntervals, ax: Axes | None = None) -> Axes:
    """The answer as dots with the credible interval of each.

    Parameters
    ----------
    found
        What :func:`consilience.intervals` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    ax = _prepared(ax, found.states[:MOST])
    ends = found.low[:MOST], found.high[:MOST]
    draw_dots(ax, found.answer[:MOST], ends)
    if found.between is not None:
        ax.axvline(0, color=letters_color(ax), linewidth=0.9)
    ax.set_xlabel(f"answer and {100 * found.level:g} % interval", fontsize=9)
    _title(ax, found.title.split(":")[0], len(found.states), min(MOST, len(found.states)))
    return ax


def plot_differences(found: Differences, ax: Axes | None = None) -> Axes:
    """How far sources are from what they have in common, by family; orange where it matters.

    Parameters
    ----------
    found
        What :func:`consilience.differences` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    rows = found.families[:MOST]
    labels = [str(text) for text in found.columns["family"][:MOST]]
    ax = _prepared(ax, labels)
    y = np.arange(len(rows))
    is_told = np.array([one.verdict == DIFFER for one in rows])
    color = np.where(is_told, COLORS["source"], COLORS["border"]).tolist()
    ax.barh(y, [one.size for one in rows], color=color, height=0.7)
    ax.plot([one.largest for one in rows], y, "o", color=letters_color(ax), markersize=4)
    for i, one in enumerate(rows):
        if is_told[i]:
            ax.annotate(
                shortened(one.source, 20).replace("$", r"\$"),
                (one.largest, i),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    ax.margins(x=0.15)
    ax.set_xlabel("nats a row: mean of all sources, and the largest (dot)", fontsize=9)
    _title(ax, found.title.split(" (")[0], len(found.families), len(rows))
    return ax


def plot_strengths_of_arcs(found: ArcStrengths, ax: Axes | None = None) -> Axes:
    """The strength of each arc, the strongest on top.

    Parameters
    ----------
    found
        What :func:`consilience.inference.arc_strengths` gives.
    ax
        Where to draw; a new figure of fitting size if not given.
    """
    arcs = list(found.values)[:MOST]
    values = np.array([found.values[arc] for arc in arcs])
    labels = [f"{start} → {end}" for start, end in arcs]
    ax = _bars(ax, labels, values, [COLORS["bar"]] * len(arcs))
    ax.set_xlim(0 if found.between is None else -1, 1)
    ax.set_xlabel("mean Hellinger distance between the rows", fontsize=9)
    _title(ax, found.title, len(found.values), len(arcs))
    return ax


def tornado_ends(found: Sensitivity, n: int) -> tuple[float, dict[str, tuple[float, float]]]:
    """The answer now, and what it is if each of the first parameters is less and more."""
    now = float(found.answer.ravel()[found.states.index(found.focus)])
    effects = found.effects[:n]
    return now, {_parameter(e.node, e.parents, e.parameter): (e.low, e.high) for e in effects}


def information_bars(found: InformationValue, n: int) -> dict[str, float]:
    """What each of the first variables would tell."""
    return {name: found.values[name] for name in list(found.values)[:n]}


def shift_bars(found: BeliefShift, n: int) -> dict[str, float]:
    """How far each of the first findings moved the belief: its share, or by leaving it out."""
    columns = found.columns
    moves = columns["left out"] if found.shares is None else columns["share"]
    pairs = zip(columns["finding"], columns["given"], moves, strict=True)
    return {f"{name}={value}": float(move) for name, value, move in list(pairs)[:n]}


def _parameter(node: str, parents: str, parameter: str) -> str:
    given = f" | {parents}" if parents else ""
    return f"{node}={parameter}{given}"


def _bars(ax: Axes | None, labels: Sequence[str], values: Floats, colors: list[str]) -> Axes:
    if not labels:
        raise InputError("plot: there is nothing to draw.", parameter="thing")
    ax = _prepared(ax, labels)
    ax.barh(np.arange(len(labels)), values, color=colors, height=0.7)
    return ax


def _prepared(ax: Axes | None, labels: Sequence[str]) -> Axes:
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is None:
        size = (7.2, 1.0 + 0.26 * max(len(labels), 2))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    named = [shortened(label, LABEL).replace("$", r"\$") for label in labels]
    ax.set_yticks(range(len(labels)), named, fontsize=8)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8)
    return ax


def _title(ax: Axes, words: str, n: int, shown: int) -> None:
    note = f"; {shown} of {n:,}" if n > shown else ""
    text = shortened(words, 90).replace("$", r"\$")
    ax.set_title(f"{text}{note}", fontsize=9, loc="left")
