"""Pictures of a cross-evaluation (extra ``plot``): contestants, sources, sizes, calibration.

An estimator has one colour in all pictures. The class prior is a grey dashed line, that by source a
dotted one: what is on their wrong side has learned nothing from the features. Infinite values
cannot be drawn; they are named at the edge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience.classify.evaluation import LOWER_IS_BETTER
from consilience.classify.results import (
    CLASS_PRIOR,
    MEASURES,
    SOURCE_PRIOR,
    CrossEvaluation,
    Summary,
)
from consilience.show.picture import COLORS, STATE_COLORS, shortened, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = [
    "plot_calibration_curves",
    "plot_calibrations",
    "plot_estimators",
    "plot_evaluated_sources",
    "plot_learning_curve",
    "plot_learning_curves",
    "plot_measures",
]

Contestant = tuple[str, str]

PRIOR_COLOR = "#888888"
PRIOR_LINES = {CLASS_PRIOR: "--", SOURCE_PRIOR: ":"}
N_NAMED = len(STATE_COLORS) - 1  # sources with a colour and a name of their own
MAIN_MEASURES = ("accuracy", "brier", "log_loss", "log_likelihood")
CURVE_MEASURES = ("accuracy", "log_loss")
ROW_INCHES = 0.27


def plot_estimators(
    evaluation: CrossEvaluation, measure: str = "log_loss", ax: Axes | None = None
) -> Axes:
    """A measure of every contestant with its standard error, by structure.

    Of a learning curve the largest size is shown.

    Parameters
    ----------
    evaluation
        What :func:`cross_evaluate` gives.
    measure
        One of the measures of the evaluation.
    ax
        Where to draw; a new figure if not given.
    """
    lines = _lines(evaluation, measure)
    places = _places(evaluation)
    ax = _axes(ax, (5.2, _height(places)))
    colors = _colors(evaluation)
    for line in lines:
        if line.estimator in PRIOR_LINES or not math.isfinite(line.mean):
            continue
        ax.errorbar(
            line.mean,
            places[line.structure, line.estimator],
            xerr=line.error,
            fmt="o",
            markersize=5,
            capsize=2.5,
            linewidth=1.4,
            color=colors[line.estimator],
        )
    _finish_rows(ax, evaluation, measure, lines, places=places)
    return ax


def plot_evaluated_sources(
    evaluation: CrossEvaluation, measure: str = "log_loss", ax: Axes | None = None
) -> Axes:
    """A measure of every contestant by source: a dot each, and a line from the best to the worst.

    Up to seven sources have a colour and a name; more are drawn in grey. Of a learning curve the
    largest size is shown. Arguments are those of :func:`plot_estimators`.
    """
    lines = _lines(evaluation, measure)
    places = _places(evaluation)
    sources = evaluation.sources
    ax = _axes(ax, (5.6, _height(places)))
    has_few = len(sources) <= N_NAMED
    drawn: set[str] = set()
    for contestant, place in places.items():
        values = evaluation.by_source(contestant, measure, evaluation.sizes[-1])
        finite = {name: value for name, value in values.items() if math.isfinite(value)}
        if finite:
            ends = min(finite.values()), max(finite.values())
            ax.hlines(place, *ends, color="#c8c8c8", linewidth=2.2, zorder=1)
        heights = _spread(finite, place, has_few=has_few)
        for name, value in finite.items():
            label = _plain(name) if has_few else "a source"
            ax.plot(
                value,
                heights[name],
                "o",
                markersize=4.5 if has_few else 3,
                alpha=1.0 if has_few else 0.4,
                color=STATE_COLORS[sources.index(name)] if has_few else "#777777",
                label=None if label in drawn else label,
                zorder=2,
            )
            drawn.add(label)
    _finish_rows(ax, evaluation, measure, lines, places=places)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return ax


def _spread(values: Mapping[str, float], place: float, *, has_few: bool) -> dict[str, float]:
    """How high each dot lies: many of them are spread, neighbors apart, so that all are seen."""
    if has_few:
        return dict.fromkeys(values, place)
    ranked = sorted(values, key=lambda name: values[name])
    steps = (0.0, 0.24, -0.12, 0.12, -0.24)
    return {name: place + steps[k % len(steps)] for k, name in enumerate(ranked)}


def plot_learning_curve(
    evaluation: CrossEvaluation,
    measure: str = "log_loss",
    structure: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A measure against the number of training rows, a line an estimator, with standard errors.

    Parameters
    ----------
    evaluation
        What :func:`cross_evaluate` gives for a ``LearningCurve``.
    measure
        One of the measures of the evaluation.
    structure
        The structure to be shown; by default the first.
    ax
        Where to draw; a new figure if not given.
    """
    structure = _structure(evaluation, structure)
    ax = _axes(ax, (5.2, 3.6))
    colors = _colors(evaluation)
    lines = evaluation.summary(measure)
    for estimator in [*PRIOR_LINES, *colors]:
        is_prior = estimator in PRIOR_LINES
        mine = [
            line
            for line in lines
            if (line.structure, line.estimator) == ("" if is_prior else structure, estimator)
            and math.isfinite(line.mean)
        ]
        if not mine:
            continue
        ax.errorbar(
            [line.size or 0 for line in mine],
            [line.mean for line in mine],
            yerr=[line.error or 0.0 for line in mine],
            color=PRIOR_COLOR if is_prior else colors[estimator],
            linestyle=PRIOR_LINES.get(estimator, "-"),
            marker=None if is_prior else "o",
            markersize=4,
            linewidth=1.4,
            capsize=0 if is_prior else 2,
            label=_plain(estimator),
        )
    ax.set_xscale("log")
    ax.set_xticks(
        [size or 1 for size in evaluation.sizes], [f"{size:,}" for size in evaluation.sizes]
    )
    ax.minorticks_off()
    ax.set_xlabel("rows to learn from")
    ax.set_ylabel(_heading(measure))
    ax.set_title(_plain(structure), fontsize=10)
    _name_infinite(ax, [line for line in lines if line.structure == structure])
    _clean(ax)
    return ax


def plot_calibration_curves(
    evaluation: CrossEvaluation, structure: str | None = None, ax: Axes | None = None
) -> Axes:
    """Predicted probability against the share that came true, a line an estimator.

    On the diagonal the two agree. Of a learning curve the largest size is shown. Arguments are
    those of :func:`plot_learning_curve`.
    """
    structure = _structure(evaluation, structure)
    ax = _axes(ax, (4.8, 4.4))
    ax.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1, linestyle="--", zorder=1)
    curve = None
    for estimator, color in _colors(evaluation).items():
        if (structure, estimator) not in evaluation.contestants:
            continue
        curve = evaluation.curve((structure, estimator), evaluation.sizes[-1])
        ax.plot(
            curve.predicted,
            curve.observed,
            marker="o",
            markersize=3.5,
            linewidth=1.3,
            color=color,
            label=_plain(estimator),
        )
    of = "the predicted state" if evaluation.positive is None else repr(evaluation.positive)
    n_rows = "" if curve is None else f", {float(curve.n_rows.mean()):,.3g} rows a bin"
    ax.set_xlabel(wrapped(f"predicted probability of {of}{n_rows}"))
    ax.set_ylabel("share that came true")
    ax.set_title(_plain(structure), fontsize=10)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    _clean(ax)
    return ax


def plot_measures(evaluation: CrossEvaluation) -> NDArray[Any]:
    """The main measures of every contestant, a panel each."""
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    measures = [name for name in MAIN_MEASURES if name in evaluation.measures]
    size = (1.8 + 2.5 * len(measures), _height(_places(evaluation)))
    _, axes = pyplot.subplots(
        1, len(measures), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for k, (ax, measure) in enumerate(zip(axes.flat, measures, strict=True)):
        plot_estimators(evaluation, measure, ax)
        if k:
            ax.tick_params(labelleft=False)
    return np.asarray(axes)


def plot_learning_curves(evaluation: CrossEvaluation) -> NDArray[Any]:
    """Accuracy and log loss against the number of training rows, a panel for each structure."""
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    names = _structures(evaluation)
    shape = len(CURVE_MEASURES), len(names)
    size = (1.6 + 3.4 * len(names), 2.9 * len(CURVE_MEASURES))
    figure, axes = pyplot.subplots(
        *shape, figsize=size, sharex=True, sharey="row", squeeze=False, layout="constrained"
    )
    for row, measure in enumerate(CURVE_MEASURES):
        for column, name in enumerate(names):
            ax = plot_learning_curve(evaluation, measure, name, axes[row, column])
            ax.label_outer()
            if row:
                ax.set_title("")
    _legend(figure, axes[0, 0])
    return np.asarray(axes)


def plot_calibrations(evaluation: CrossEvaluation) -> NDArray[Any]:
    """Predicted probability against the share that came true, a panel for each structure."""
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    names = _structures(evaluation)
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(1.6 + 3.6 * len(names), 3.9), squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes.flat, names, strict=True):
        plot_calibration_curves(evaluation, name, ax).label_outer()
    _legend(figure, axes[0, 0])
    return np.asarray(axes)


def _legend(figure: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9)


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax


def _lines(evaluation: CrossEvaluation, measure: str) -> list[Summary]:
    """The summaries of all contestants, of the largest size only."""
    return [line for line in evaluation.summary(measure) if line.size == evaluation.sizes[-1]]


def _structures(evaluation: CrossEvaluation) -> list[str]:
    return list(dict.fromkeys(name for name, _ in evaluation.contestants if name))


def _structure(evaluation: CrossEvaluation, structure: str | None) -> str:
    names = _structures(evaluation)
    if structure is not None:
        _check.known("structure", [structure], names)
        return structure
    return names[0] if names else ""


def _colors(evaluation: CrossEvaluation) -> dict[str, str]:
    names = dict.fromkeys(name for _, name in evaluation.contestants if name not in PRIOR_LINES)
    return {name: STATE_COLORS[k % len(STATE_COLORS)] for k, name in enumerate(names)}


def _places(evaluation: CrossEvaluation) -> dict[Contestant, float]:
    """The height of each contestant, structures a little apart; the class priors have none."""
    places, height, before = {}, 0.0, None
    for structure, estimator in evaluation.contestants:
        if estimator in PRIOR_LINES:
            continue
        height += 0.0 if before is None else 1.0 if before == structure else 2.0
        places[structure, estimator] = height
        before = structure
    return places


def _height(places: Mapping[Contestant, float]) -> float:
    return 1.4 + ROW_INCHES * (max(places.values(), default=0.0) + 1)


def _finish_rows(
    ax: Axes,
    evaluation: CrossEvaluation,
    measure: str,
    lines: Sequence[Summary],
    *,
    places: Mapping[Contestant, float],
) -> None:
    """The class priors, the names of the rows, and where the better side is."""
    tops = {
        structure: min(place for (name, _), place in places.items() if name == structure) - 1.0
        for structure in _structures(evaluation)
    }
    ax.set_yticks(
        [*places.values(), *tops.values()],
        [*(_plain(estimator) for _, estimator in places), *map(_plain, tops)],
    )
    for label in ax.get_yticklabels()[len(places) :]:
        label.set_fontweight("bold")
    ax.set_ylim(max(places.values(), default=0.0) + 0.7, -1.7)
    better = "lower" if measure in LOWER_IS_BETTER else "higher"
    ax.set_xlabel(f"{_heading(measure)}\n({better} is better)", fontsize=9)
    _clean(ax)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="y", visible=False)
    for line in lines:
        if line.estimator in PRIOR_LINES:
            _draw_prior(ax, line.estimator, line.mean)
        elif not math.isfinite(line.mean):
            place = places[line.structure, line.estimator]
            _note(ax, 0.98, place, "infinite", ha="right", transform=ax.get_yaxis_transform())


def _draw_prior(ax: Axes, name: str, value: float) -> None:
    ax.axvline(value, color=PRIOR_COLOR, linestyle=PRIOR_LINES[name], linewidth=1, zorder=0)
    low, high = ax.get_xlim()
    is_left = value < (low + high) / 2
    height = -1.4 if name == CLASS_PRIOR else -1.0  # one name above the other
    _note(
        ax, value, height, f" {name}" if is_left else f"{name} ", ha="left" if is_left else "right"
    )


def _name_infinite(ax: Axes, lines: Sequence[Summary]) -> None:
    names = dict.fromkeys(line.estimator for line in lines if not math.isfinite(line.mean))
    if names:
        text = f"infinite: {', '.join(map(_plain, names))}"
        _note(ax, 0.98, 0.95, text, ha="right", transform=ax.transAxes)


def _note(ax: Axes, x: float, y: float, text: str, **place: Any) -> None:
    ax.text(x, y, text, va="center", fontsize=8, color=COLORS["faint ink"], **place)


def _heading(measure: str) -> str:
    name = MEASURES[measure]
    return f"{name} per row" if measure == "log_likelihood" else name


def _clean(ax: Axes) -> None:
    ax.grid(color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)


def _plain(text: str) -> str:
    """Text that matplotlib does not take for mathematics."""
    return shortened(text, 40).replace("$", r"\$")
