"""Results as pictures, in the seed's order: one figure a data set and structure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from cells import mean_and_error
from preparation import Problem
from summaries import grouped

mpl.use("Agg")
import matplotlib.pyplot as plt

__all__ = ["both", "divergence", "reference", "shares", "sizes"]

Row = dict[str, Any]

LOOKS = {
    "MLE": ("MLE", "#8c8c8c", "s"),
    "BMD a={}": ("BMD", "#4c72b0", "v"),
    "HDS+1 s={}": ("HDS", "#55a868", "^"),
    "HDMJS+1 s={}": ("HDMJS", "#c44e52", "o"),
    "HDMCS*+1 s={}": ("HDMCS*", "#dd8452", "D"),
    "HDC": ("HDC (ours)", "#8172b3", "P"),
}
TITLES = {"accuracy": "accuracy", "log_loss": "log loss", "brier": "Brier score"}
WIDTHS = (5.0, 3.0, 1.2, 5.0, 3.0, 1.2)
"""Lines that cover each other are drawn one inside the other."""
PRIOR = {"color": "black", "linestyle": ":", "linewidth": 1, "label": "class prior"}

plt.rcParams.update(
    {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9,
        "legend.frameon": False,
        "lines.markersize": 4,
        "lines.linewidth": 1.3,
        "svg.hashsalt": "consilience",
    }
)


def shares(problem: Problem, path: Path) -> None:
    """Bars of class, source, and both: Figures 4.1 and 4.2."""
    table = problem.table
    states = table.variables[problem.target].discrete_states
    cells = np.array(
        [
            np.bincount(table.column(problem.target)[table.source_codes == f], minlength=2)
            for f in range(len(table.sources))
        ]
    )
    figure, axes = plt.subplots(1, 3, figsize=(8.6, 2.4), layout="constrained")
    axes[0].bar(states, cells.sum(axis=0), color="#4c72b0")
    axes[1].bar(table.sources, cells.sum(axis=1), color="#4c72b0")
    for k, state in enumerate(states):
        places = np.arange(len(table.sources)) + 0.4 * (k - 0.5)
        axes[2].bar(places, cells[:, k], 0.38, label=state, color=("#4c72b0", "#dd8452")[k])
    axes[2].set_xticks(range(len(table.sources)), table.sources)
    axes[2].legend(title=problem.target, loc="center left", bbox_to_anchor=(1, 0.5))
    titles = (problem.target, table.source, f"{problem.target} by {table.source}")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title)
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes[0].set_ylabel("rows")
    _save(figure, path)


def reference(rows: Sequence[Row], path: Path) -> None:
    """HDMJS at every size, right and with counts that see too many rows."""
    figure, axis = plt.subplots(figsize=(7.2, 3.0), layout="constrained")
    names = [name for name, _ in grouped(rows, "estimator") if name != "class prior"]
    colors = ("#c44e52", "#dd8452", "#55a868", "#4c72b0", "#64b5cd", "#8172b3")
    for name, color in zip(names, colors, strict=True):
        part = [row for row in rows if row["estimator"] == name]
        leaks = name.startswith("counts")
        style = {"color": color, "linestyle": "--" if leaks else "-", "marker": "o"}
        _line(axis, part, "n", "accuracy", label=name, **style)
    _prior(axis, rows, "accuracy")
    _log_sizes(axis, rows)
    axis.set_ylabel("accuracy")
    axis.set_title("Adult, naive Bayes, source = sex, s = 10")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    _save(figure, path)


def sizes(rows: Sequence[Row], title: str, measure: str, path: Path) -> None:
    """Figures 4.3 to 4.6: a measure against the number of training rows, alpha 1 and 10."""
    if measure == "log_loss":  # maximum likelihood would flatten all others
        rows = [row for row in rows if row["estimator"] != "MLE"]
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.9), sharey=True, layout="constrained")
    for axis, alpha in zip(axes, (1, 10), strict=True):
        _curves(axis, rows, alpha, "n", measure)
        _log_sizes(axis, rows)
        axis.set_title(rf"{title}, $\alpha$ = {alpha}")
    axes[0].set_ylabel(TITLES[measure])
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    _save(figure, path)


def divergence(rows: Sequence[Row], title: str, path: Path) -> None:
    """Figures 4.7 to 4.10: accuracy against delta, alpha 1 and 10."""
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.9), sharey=True, layout="constrained")
    for axis, alpha in zip(axes, (1, 10), strict=True):
        _curves(axis, rows, alpha, "delta", "accuracy", widths=WIDTHS)
        axis.set_xlabel(r"$\delta$")
        axis.set_title(rf"{title}, $\alpha$ = {alpha}")
    axes[0].set_ylabel("accuracy")
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    _save(figure, path)


def both(rows: Sequence[Row], title: str, alpha: int, path: Path) -> None:
    """Figures 4.11 to 4.14 and those of the appendix: accuracy against delta for each size."""
    by_size = grouped(rows, "n")
    figure, axes = plt.subplots(
        1, len(by_size), figsize=(9.6, 2.8), sharey=True, layout="constrained"
    )
    for axis, (n, part) in zip(axes, by_size, strict=True):
        _curves(axis, part, alpha, "delta", "accuracy")
        axis.set_title(f"N = {n}")
        axis.set_xlabel(r"$\delta$")
    axes[0].set_ylabel("accuracy")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.suptitle(rf"{title}, $\alpha$ = {alpha}", fontsize=10)
    _save(figure, path)


def _curves(
    axis: Any,
    rows: Sequence[Row],
    alpha: int,
    field: str,
    measure: str,
    widths: Sequence[float] = (1.3,) * len(LOOKS),
) -> None:
    for (pattern, (label, color, marker)), width in zip(LOOKS.items(), widths, strict=True):
        part = [row for row in rows if row["estimator"] == pattern.format(alpha)]
        if part:
            style = {"color": color, "marker": marker, "linewidth": width}
            _line(axis, part, field, measure, label=label, **style)
    _prior(axis, rows, measure)


def _line(axis: Any, rows: Sequence[Row], field: str, measure: str, **style: Any) -> None:
    points = [
        (x, *mean_and_error(row[measure] for row in part)) for x, part in _sorted(rows, field)
    ]
    x, mean, error = zip(*points, strict=True)
    axis.errorbar(x, mean, _bars_of(error), capsize=2, elinewidth=0.8, **style)


def _bars_of(errors: Sequence[float]) -> Any:
    return None if not np.isfinite(errors).all() else errors


def _prior(axis: Any, rows: Sequence[Row], measure: str) -> None:
    values = [row[measure] for row in rows if row["estimator"] == "class prior"]
    axis.axhline(float(np.mean(values)), **PRIOR)


def _sorted(rows: Sequence[Row], field: str) -> list[tuple[Any, list[Row]]]:
    return sorted(grouped(rows, field), key=lambda pair: pair[0])


def _log_sizes(axis: Any, rows: Sequence[Row]) -> None:
    values = sorted({row["n"] for row in rows})
    axis.set_xscale("log")
    axis.set_xticks(values, [f"{n:,}" for n in values])
    axis.minorticks_off()
    axis.set_xlabel("training rows N")


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
