"""A belief as a picture (extra ``plot``): bars of states, the density of a number, or both."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.errors import InputError
from consilience.network.factor import Factor
from consilience.network.mixed_belief import MixedBelief
from consilience.network.mixture import Mixture
from consilience.show.patches import letters_color
from consilience.show.picture import COLORS, STATE_COLORS, plain, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["density_curve", "plot_belief"]

N_POINTS = 400
N_BARS = 30  # the most probable joint states are shown
N_COMPONENTS = 30  # of more components none is drawn by itself
MARGIN = 1e-3  # probability beyond each end of the axis


def plot_belief(
    belief: Factor | Mixture | MixedBelief, ax: Axes | None = None, *, level: float = 0.95
) -> Axes:
    """What a query answers, drawn: bars for states, a density for a number.

    The density of a continuous variable is drawn with its mean and a band that holds it with
    probability ``level``; faint lines are the components of the mixture, if they are few. A value
    that has a probability of its own is a stem as high as that. For states and a number together
    there is a curve for each joint state, its area the probability of the state.

    Parameters
    ----------
    belief
        What ``net.query`` gives; of continuous variables it must hold one.
    ax
        Where to draw; a new figure of fitting size if not given.
    level
        Probability of the band.

    Raises
    ------
    InputError
        If the belief is about several continuous variables, or about too many states with one.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    _check_belief(belief, level)
    if ax is None:
        n_bars = min(belief.values.size, N_BARS) if isinstance(belief, Factor) else 0
        height = 0.9 + 0.28 * n_bars if n_bars else 3.2
        _, ax = pyplot.subplots(figsize=(5.6, height), layout="constrained")
    if isinstance(belief, Factor):
        _draw_bars(ax, belief)
    elif isinstance(belief, Mixture):
        _draw_density(ax, belief, level)
    else:
        _draw_states(ax, belief)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)
    return ax


def density_curve(belief: Mixture) -> tuple[Floats, Floats | None]:
    """Places, and the density there of one variable; None if it has single values only."""
    x = _places(belief)
    return x, _parts(belief, x)[0]


def _check_belief(belief: Any, level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"plot: level must lie between 0 and 1, got {level!r}.", parameter="level")
    n_discrete = len(belief.discrete.names) if isinstance(belief, MixedBelief) else 0
    continuous = () if isinstance(belief, Factor) else belief.names[n_discrete:]
    if len(continuous) > 1:
        raise InputError(
            f"plot draws one continuous variable, got {_check.listed(continuous)}. Ask "
            "belief.marginal(name) of a mixture, or query fewer variables."
        )
    if isinstance(belief, MixedBelief) and belief.discrete.values.size > len(STATE_COLORS):
        raise InputError(
            f"plot draws a curve for each of at most {len(STATE_COLORS)} joint states, got "
            f"{belief.discrete.values.size} of {_check.listed(belief.discrete.names)}. Draw "
            "belief.discrete and belief.continuous, or query fewer variables."
        )


def _draw_bars(ax: Axes, belief: Factor) -> None:
    probabilities = belief.values.ravel()
    labels = _labels(belief)
    shown = np.sort(np.argsort(-probabilities, kind="stable")[:N_BARS])
    values, places = probabilities[shown], np.arange(len(shown))
    ax.barh(places, values, height=0.68, color=COLORS["bar"])
    ends = values
    if belief.standard_errors is not None:
        errors = belief.standard_errors.ravel()[shown]
        ax.hlines(places, values - errors, values + errors, color=letters_color(ax), linewidth=1.2)
        ends = values + errors
    for place, value, end in zip(places, values, ends, strict=True):
        ax.annotate(
            f"{value:.3g}" if value < 0.9995 or value == 1 else ">0.999",
            (end, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    ax.set_yticks(places, [plain(labels[i]) for i in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, float(ends.max()) * 1.14)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    left_out = len(probabilities) - len(shown)
    note = f", the {len(shown)} most probable of {len(probabilities):,}" if left_out else ""
    ax.set_xlabel(wrapped(f"P({', '.join(belief.names)}){note}"), fontsize=9.5)


def _draw_density(ax: Axes, belief: Mixture, level: float) -> None:
    low, high = belief.interval(level)
    x = _places(belief)
    curve, points = _parts(belief, x)
    color = STATE_COLORS[0]
    if curve is not None:
        for each in _components(belief, x):
            ax.plot(x, each, color=color, linewidth=0.8, alpha=0.4)
        inside = (x >= low) & (x <= high)
        ax.fill_between(x[inside], curve[inside], color=color, alpha=0.15, linewidth=0)
        ax.plot(x, curve, color=color, linewidth=1.6)
    _draw_stems(ax, points, color, 1.0 if curve is None else float(curve.max()))
    if belief.sd > 0:
        ax.axvline(belief.mean, color=letters_color(ax), linewidth=0.9, linestyle=(0, (4, 3)))
    if curve is None:
        ax.margins(x=0.15)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(plain(belief.names[0]), fontsize=9.5)
    ax.set_ylabel("probability" if curve is None else "density", fontsize=9.5)
    ax.set_title(_summary(belief, level, low, high), fontsize=9, loc="left")


def _summary(belief: Mixture, level: float, low: float, high: float) -> str:
    if belief.sd == 0:
        return f"certain: {belief.mean:.4g}"
    return (
        f"mean {belief.mean:.4g}, sd {belief.sd:.3g}; {100 * level:g} % between {low:.4g} and "
        f"{high:.4g}"
    )


def _draw_states(ax: Axes, belief: MixedBelief) -> None:
    """A curve for each joint state, all of them together with the area one."""
    x = _places(belief.continuous)
    places = list(np.ndindex(belief.discrete.values.shape))
    found = {}
    for k, (label, place) in enumerate(zip(_labels(belief.discrete), places, strict=True)):
        share = float(belief.discrete.values[place])
        if share > 0:
            name = plain(f"{label} ({share:.3g})")
            found[name] = (STATE_COLORS[k], share, *_parts(belief.mixtures[place], x))
    curves = [share * curve for _, share, curve, _ in found.values() if curve is not None]
    top = max((float(curve.max()) for curve in curves), default=1.0)
    for name, (color, share, curve, points) in found.items():
        if curve is not None:
            ax.fill_between(x, share * curve, color=color, alpha=0.1, linewidth=0)
        drawn = np.full(len(x), np.nan) if curve is None else share * curve
        ax.plot(x, drawn, color=color, linewidth=1.6, label=name)
        _draw_stems(ax, {value: share * p for value, p in points.items()}, color, top)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(plain(belief.names[-1]), fontsize=9.5)
    ax.set_ylabel("density, by probability" if curves else "probability", fontsize=9.5)
    title = plain(", ".join(belief.discrete.names))
    ax.legend(title=title, fontsize=8.5, title_fontsize=8.5, frameon=False)


def _draw_stems(ax: Axes, points: Mapping[float, float], color: str, height: float) -> None:
    """Single values with their probabilities, the highest stem possible of that height."""
    for value, probability in points.items():
        ax.vlines(value, 0, probability * height, color=color, linewidth=1.8)
        ax.plot([value], [probability * height], "o", color=color, markersize=4.5)
        ax.annotate(
            f"{probability:.3g}",
            (value, probability * height),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )


def _labels(belief: Factor) -> list[str]:
    return [", ".join(states) for states in product(*belief.states.values())]


def _places(belief: Mixture) -> Floats:
    """Where the density is drawn: almost all of the probability, and a little more."""
    low, high = belief.quantile(MARGIN), belief.quantile(1 - MARGIN)
    if high == low:
        return np.linspace(low - 1, low + 1, N_POINTS)
    return np.linspace(low - 0.05 * (high - low), high + 0.05 * (high - low), N_POINTS)


def _parts(belief: Mixture, x: Floats) -> tuple[Floats | None, dict[float, float]]:
    """The density without single values, None if there is nothing else; and those values."""
    if belief.effective_size is not None:  # its points are draws, smoothed by the belief itself
        return np.asarray(belief.density(x)), {}
    is_point = belief.covariances[:, 0, 0] == 0
    points: dict[float, float] = {}
    for value, p in zip(belief.means[is_point, 0], belief.weights[is_point], strict=True):
        points[float(value)] = points.get(float(value), 0.0) + float(p)
    if is_point.all():
        return None, points
    share = float(belief.weights[~is_point].sum())
    rest = Mixture(
        belief.names,
        belief.weights[~is_point] / share,
        belief.means[~is_point],
        belief.covariances[~is_point],
    )
    return share * np.asarray(rest.density(x)), points


def _components(belief: Mixture, x: Floats) -> list[Floats]:
    """The weighted densities of the components, if there are a few."""
    sds = np.sqrt(belief.covariances[:, 0, 0])
    if not 1 < len(sds) <= N_COMPONENTS:
        return []
    parts = zip(belief.weights, belief.means[:, 0], sds, strict=True)
    return [
        weight * np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        for weight, mean, sd in parts
        if sd > 0
    ]
