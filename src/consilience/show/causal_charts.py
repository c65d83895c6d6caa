"""Causal answers made visible (extra ``plot``): effects, bounds, parts of an effect, fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience import _check
from consilience.causal.audits import FairnessReport
from consilience.causal.effects import Effect
from consilience.causal.group_measures import Gaps, RateGap
from consilience.causal.necessity import Causation
from consilience.causal.path_parts import PathEffects
from consilience.causal.response import Bounds
from consilience.causal.what_if import Counterfactual
from consilience.causal.worlds import CounterfactualFairness
from consilience.errors import InputError
from consilience.network.factor import Factor
from consilience.show.belief import plot_belief
from consilience.show.picture import COLORS, STATE_COLORS, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = [
    "DIFFERENCES",
    "RATIOS",
    "in_graphs",
    "path_values",
    "plot_bounds",
    "plot_causation",
    "plot_counterfactual",
    "plot_effect",
    "plot_fairness",
    "plot_fairness_curve",
    "plot_groups",
    "plot_paths",
]

DIFFERENCES: Final = {
    "selection": "selection_difference",
    "odds": "odds_difference",
    "opportunity": "opportunity_difference",
}
RATIOS: Final = {"selection": "selection_ratio", "odds": "odds_ratio"}
RATES: Final = {
    "selected": "selection_rate",
    "accuracy": "accuracy",
    "true positive": "true_positive_rate",
    "false positive": "false_positive_rate",
}
ROUNDING = 1e-12
SHARP = "over all mechanisms"

Ends = tuple[float, float]


def plot_effect(effect: Effect, ax: Axes | None = None) -> Axes:
    """The effect in all and by source, with intervals; bounds are thick lines.

    Of a class of graphs there is a dot for each value, the larger the more members have it; of
    several networks a line for each.
    """
    lines: list[tuple[str, float | None, Ends | None, Ends | None]] = []
    if not effect.values:
        lines.append(("all", effect.value, effect.interval, effect.bounds))
    lines += [
        (name, one.value, one.interval, one.bounds)
        for name, one in (
            *effect.by_source.items(),
            *((f"network {i + 1}", one) for i, one in enumerate(effect.by_model)),
        )
    ]
    lines += [(in_graphs(n), value, None, None) for value, n in effect.values]
    ax = _axes(ax, len(lines))
    for place, (_, value, interval, bounds) in enumerate(lines):
        _line(ax, place, value, interval, bounds=bounds)
    _dress(ax, [name for name, *_ in lines], effect.question, zero=" - " in effect.question)
    return ax


def in_graphs(n: int | None) -> str:
    """How many members of a class, in words; None for more than were counted."""
    return "many graphs" if n is None else f"{n:,} graph{'s' * (n != 1)}"


def plot_bounds(bounds: Bounds, ax: Axes | None = None) -> Axes:
    """The lowest and highest probability of each state."""
    if not bounds.is_consistent:
        raise InputError("plot: the data contradict the graph, so there are no bounds.")
    states = bounds.variable.discrete_states
    ax = _axes(ax, len(states))
    for place, state in enumerate(states):
        _line(ax, place, None, None, bounds=bounds[state])
    title = f"bounds of {bounds.variable.name}{'' if bounds.is_sharp else ', not sharp'}"
    _dress(ax, states, title, zero=bool(np.any(bounds.low < 0)))
    return ax


def plot_counterfactual(answer: Counterfactual, ax: Axes | None = None) -> Axes:
    """The belief in the other world as dots, the bounds over all mechanisms as lines."""
    if answer.bounds is None:
        ax = plot_belief(answer.belief, ax)
        ax.set_title(plain(answer.question), fontsize=9, loc="left")
        return ax
    states = answer.bounds.variable.discrete_states
    ax = _axes(ax, len(states))
    for place, state in enumerate(states):
        value = float(answer.belief[state]) if isinstance(answer.belief, Factor) else None
        _line(ax, place, value, None, bounds=answer.bounds[state])
    ax.set_xlim(-0.02, 1.02)
    _dress(ax, states, answer.question)
    return ax


def plot_causation(found: Causation, ax: Axes | None = None) -> Axes:
    """The bounds of necessity, sufficiency and both; dots if the cause never prevents."""
    pairs = {"necessity": found.necessity, "sufficiency": found.sufficiency, "both": found.both}
    ax = _axes(ax, len(pairs))
    for place, (name, ends) in enumerate(pairs.items()):
        point = None if found.monotone is None else found.monotone[name]
        _line(ax, place, point, None, bounds=ends)
    ax.set_xlim(-0.02, 1.02)
    _dress(ax, list(pairs), "probabilities of causation")
    return ax


def path_values(found: PathEffects) -> dict[str, float]:
    """The parts of an effect by name; what is rounding is 0."""
    along = {} if found.along is None else {"along the arcs": found.along}
    parts = {
        "total": found.total,
        "direct": found.direct,
        "indirect": found.indirect,
        **along,
        "spurious": found.spurious,
    }
    return {name: 0.0 if abs(value) < ROUNDING else value for name, value in parts.items()}


def plot_paths(found: PathEffects, ax: Axes | None = None) -> Axes:
    """The parts of an effect as bars."""
    values = path_values(found)
    ax = _axes(ax, len(values))
    numbers = np.array(list(values.values()))
    colors = [STATE_COLORS[0], *[STATE_COLORS[5]] * (len(values) - 2), STATE_COLORS[6]]
    ax.barh(range(len(values)), numbers, color=colors, height=0.6)
    room = 0.02 * (np.ptp(np.append(numbers, 0.0)) or 1.0)
    for place, value in enumerate(numbers):
        side = "left" if value >= 0 else "right"
        x = value + (room if value >= 0 else -room)
        ax.text(x, place, f"{value:.4g}", va="center", ha=side, fontsize=8)
    ax.margins(x=0.18)
    _dress(ax, list(values), found.question, zero=True)
    return ax


def plot_fairness(report: FairnessReport) -> NDArray[Any]:
    """The gaps between groups with their intervals, in all and by source.

    Differences stand on the left, where 0 is equal treatment, ratios on the right, where 1 is.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    places = {"all": _known_gaps(report), **{n: one.gaps for n, one in report.by_source.items()}}
    height = 1.3 + 0.2 * len(places) * len(DIFFERENCES)
    _, axes = pyplot.subplots(
        1, 2, figsize=(8.6, min(height, 14.0)), sharey=True, layout="constrained"
    )
    for ax, kinds, equal in zip(axes, (DIFFERENCES, RATIOS), (0.0, 1.0), strict=True):
        _draw_gaps(ax, places, kinds)
        ax.axvline(equal, color=COLORS["arc"], linewidth=1)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)
        ax.set_xlabel("difference" if equal == 0 else "ratio", fontsize=9)
    axes[0].set_yticks(range(len(places)), [plain(name) for name in places], fontsize=9)
    axes[0].set_ylim(len(places) - 0.5, -0.5)
    return np.asarray(axes)


def plot_groups(report: FairnessReport, ax: Axes | None = None) -> Axes:
    """The rates of each group."""
    _known_gaps(report)
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    groups = list(report.groups.items())
    if ax is None:
        size = (6.4, 1.3 + 0.22 * len(groups) * len(RATES))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    for k, (name, group) in enumerate(groups):
        rates = [getattr(group, field) for field in RATES.values()]
        shown = [(i, rate) for i, rate in enumerate(rates) if rate is not None]
        y = [i + 0.7 * ((k + 0.5) / len(groups) - 0.5) for i, _ in shown]
        color = STATE_COLORS[k % len(STATE_COLORS)]
        width = 0.62 / len(groups)
        ax.barh(y, [rate for _, rate in shown], height=width, color=color, label=plain(name))
    _dress(ax, list(RATES), "")
    ax.set_xlim(0, 1)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, fontsize=8)
    return ax


def plot_fairness_curve(
    found: FairnessReport | CounterfactualFairness, ax: Axes | None = None
) -> Axes:
    """How probable it is that the prediction changes by more than eps in another world.

    The line is the mean over rows, dashes the worst row, the band the bounds over all mechanisms.
    Of several models each mean is drawn.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    check = found.counterfactual if isinstance(found, FairnessReport) else found
    if check is None:
        raise InputError("plot: this report has no counterfactual check; give model=.")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(5.6, 3.6), layout="constrained")
    models = found.by_model if isinstance(found, FairnessReport) else ()
    for other in models if len(models) > 1 else ():
        if other.curve.mean is not None:
            ax.plot(other.curve.eps, other.curve.mean, color="#999999", linewidth=0.9, alpha=0.7)
    _draw_curve(ax, check)
    ax.set_xlabel("change of the prediction beyond eps", fontsize=9)
    ax.set_ylabel("probability", fontsize=9)
    ax.set_ylim(-0.02, 1.02)
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)
    return ax


def _draw_curve(ax: Axes, check: CounterfactualFairness) -> None:
    curve, color = check.curve, STATE_COLORS[0]
    if curve.low is not None and curve.high is not None:
        ax.fill_between(curve.eps, curve.low, curve.high, color=color, alpha=0.14, label=SHARP)
    if curve.mean is None or curve.worst is None:
        return
    if curve.error is not None:
        ax.fill_between(
            curve.eps,
            curve.mean - 1.96 * curve.error,
            curve.mean + 1.96 * curve.error,
            color=color,
            alpha=0.3,
            label="95 % of the draws",
        )
    ax.plot(curve.eps, curve.worst, "--", color=STATE_COLORS[1], linewidth=1.2, label="worst row")
    ax.plot(curve.eps, curve.mean, "o-", color=color, markersize=4, label="mean over rows")


def _draw_gaps(ax: Axes, places: Mapping[str, Gaps], kinds: Mapping[str, str]) -> None:
    for k, (label, field) in enumerate(kinds.items()):
        shift = 0.6 * ((k + 0.5) / len(kinds) - 0.5)
        known: list[tuple[float, RateGap]] = [
            (place + shift, gap)
            for place, gaps in enumerate(places.values())
            if (gap := getattr(gaps, field)) is not None
        ]
        color = STATE_COLORS[k]
        for y, gap in known:
            ax.hlines(y, *gap.interval, color=color, linewidth=1.8, alpha=0.5)
        ys, values = [y for y, _ in known], [gap.value for _, gap in known]
        ax.plot(values, ys, "o", color=color, markersize=4.5, label=label)
    ax.grid(axis="x", color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _known_gaps(report: FairnessReport) -> Gaps:
    if report.gaps is None:
        raise InputError("plot: a continuous target has no group measures; see view='curve'.")
    return report.gaps


def _axes(ax: Axes | None, n_lines: int) -> Axes:
    if ax is not None:
        return ax
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    _, new = pyplot.subplots(figsize=(6.0, min(1.1 + 0.3 * n_lines, 14.0)), layout="constrained")
    made: Axes = new
    return made


def _line(
    ax: Axes, place: int, value: float | None, interval: Ends | None, *, bounds: Ends | None
) -> None:
    """One row: a thick pale line for bounds, a thin one for an interval, a dot for the value."""
    if bounds is not None:
        ax.hlines(place, *bounds, color=STATE_COLORS[5], linewidth=7, alpha=0.45)
        ax.plot(bounds, [place, place], "|", color=STATE_COLORS[0], markersize=11)
    if interval is not None:
        ax.hlines(place, *interval, color=STATE_COLORS[0], linewidth=1.8, alpha=0.6)
    if value is not None:
        ax.plot([value], [place], "o", color=STATE_COLORS[0], markersize=5)


def _dress(ax: Axes, labels: Sequence[str], title: str, *, zero: bool = False) -> None:
    ax.set_yticks(range(len(labels)), [plain(label) for label in labels], fontsize=9)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_title(plain(title), fontsize=9, loc="left")
    if zero:
        ax.axvline(0, color=COLORS["arc"], linewidth=1, zorder=1)
    ax.grid(axis="x", color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
