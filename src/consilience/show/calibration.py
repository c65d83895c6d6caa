"""Picture of a calibration curve (extra ``plot``): what was predicted beside what came true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.classify.evaluation import CalibrationCurve, Evaluation
from consilience.show.patches import letters_color
from consilience.show.picture import STATE_COLORS, shortened, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_counts", "plot_calibration", "wilson"]

NORMAL_95 = 1.959963984540054
N_NAMED = 6  # sources with a colour and a name of their own


def plot_calibration(evaluation: Evaluation, ax: Axes | None = None) -> Axes:
    """Predicted probability against the share that came true, overall and for each source.

    A dot is a bin of the calibration curve; on the diagonal the two agree. Lines through the dots
    of all rows are 95 % intervals of the share (Wilson), the numbers are rows of a bin. Up to six
    sources have a colour and a name; more are drawn in grey.

    Parameters
    ----------
    evaluation
        What :func:`consilience.classify.evaluate` gives.
    ax
        Where to draw; a new figure if not given.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(4.8, 4.6), layout="constrained")
    ax.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1, linestyle="--", zorder=1)
    _draw_sources(ax, evaluation)
    _draw_overall(ax, evaluation.overall.curve)
    _label(ax, evaluation)
    return ax


def _draw_sources(ax: Axes, evaluation: Evaluation) -> None:
    has_few = len(evaluation.by_source) <= N_NAMED
    for k, (source, measures) in enumerate(evaluation.by_source.items()):
        name = shortened(source, 30).replace("$", r"\$") if has_few else "a source"
        ax.plot(
            measures.curve.predicted,
            measures.curve.observed,
            marker="o",
            markersize=3,
            linewidth=1,
            alpha=0.85 if has_few else 0.4,
            color=STATE_COLORS[k] if has_few else "#999999",
            label=name if has_few or k == 0 else None,
            zorder=2,
        )


def _draw_overall(ax: Axes, curve: CalibrationCurve) -> None:
    low, high = wilson(curve.observed, curve.n_rows)
    ax.vlines(curve.predicted, low, high, color=letters_color(ax), linewidth=1, zorder=3)
    draw_counts(ax, curve)
    ax.plot(
        curve.predicted,
        curve.observed,
        marker="o",
        markersize=5,
        linewidth=1.6,
        color=letters_color(ax),
        label="all",
        zorder=4,
    )


def draw_counts(ax: Axes, curve: CalibrationCurve) -> None:
    """How many rows each bin has, above its dot."""
    for x, y, n in zip(curve.predicted, curve.observed, curve.n_rows, strict=True):
        ax.annotate(
            f"{n:,.6g}",
            (x, y),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=6.5,
            alpha=0.8,
            zorder=5,
        )


def wilson(share: Floats, n_rows: Floats) -> tuple[Floats, Floats]:
    """Wilson's interval (1927) of a share of that many rows."""
    z2 = NORMAL_95**2
    middle = (share + z2 / (2 * n_rows)) / (1 + z2 / n_rows)
    spread = np.sqrt(share * (1 - share) / n_rows + z2 / (4 * n_rows**2))
    half = NORMAL_95 * spread / (1 + z2 / n_rows)
    return middle - half, middle + half


def _label(ax: Axes, evaluation: Evaluation) -> None:
    of = "the predicted state" if evaluation.positive is None else repr(evaluation.positive)
    error = evaluation.overall.calibration_error
    ax.set_title(f"calibration error {error:.3f}", fontsize=10)
    ax.set_xlabel(wrapped(f"predicted probability of {of}"))
    ax.set_ylabel("share that came true")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.grid(color="#eeeeee", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if evaluation.by_source:
        ax.legend(loc="upper left", frameon=False, fontsize=9)
