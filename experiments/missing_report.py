"""Tables and figures of the study of missing data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from cells import mean_and_error, paired

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator

__all__ = ["TASKS", "figure", "tables"]

Row = Mapping[str, Any]
TASKS = {
    "parameters": "relative entropy of the truth to the estimate (nats)",
    "structure": "SHD to the class of the true graph",
}
WAYS = {
    "complete cases": "#D55E00",
    "available cases": "#CC79A7",
    "mode imputation": "#E69F00",
    "EM": "#0072B2",
    "data augmentation": "#56B4E9",
    "structural EM": "#0072B2",
    "PNAL": "#009E73",
    "no gaps": "#777777",
}
DIGITS = {"parameters": 4, "structure": 1}
SIMPLE = {"parameters": "EM", "structure": "structural EM"}
"""What the other ways are compared with."""

VERDICTS = ("better", "level", "worse", "not compared")


def tables(rows: Sequence[Row]) -> str:
    """All tables as markdown: means and standard errors, then rows left, comparisons and time."""
    parts = []
    for task, title in TASKS.items():
        of_task = [row for row in rows if row["task"] == task]
        parts.append(f"## {task.capitalize()}: {title}\n")
        for name, n_rows in _values(of_task, "network", "n_rows"):
            chosen = _where(of_task, network=name, n_rows=n_rows)
            repeats = len({row["repeat"] for row in chosen})
            times = f"{repeats} repeat{'s' * (repeats > 1)}"
            parts += [f"### {name}, {n_rows:,} rows, {times}\n", _means(chosen, task)]
        parts += [f"### {SIMPLE[task]} against the others\n", _comparison(of_task, task)]
    parts += ["## Rows without any gap, mean\n", _left(rows)]
    parts += ["## Seconds, mean over everything\n", _seconds(rows)]
    return "\n".join(parts)


def figure(rows: Sequence[Row], task: str, path: Path) -> None:
    """A panel for each network and mechanism, at the largest number of rows of each network."""
    of_task = [row for row in rows if row["task"] == task]
    names = [name for (name,) in _values(of_task, "network")]
    mechanisms = [one for (one,) in _values(of_task, "mechanism")]
    drawn, axes = plt.subplots(
        len(names),
        len(mechanisms),
        figsize=(3.4 * len(mechanisms) + 1.6, 2.7 * len(names)),
        layout="constrained",
        squeeze=False,
        sharey="row",
        sharex=True,
    )
    for (i, name), (j, mechanism) in product(enumerate(names), enumerate(mechanisms)):
        n_rows = max(row["n_rows"] for row in of_task if row["network"] == name)
        chosen = _where(of_task, network=name, mechanism=mechanism, n_rows=n_rows)
        _panel(axes[i, j], chosen, task)
        axes[i, j].set_title(f"{name}, {n_rows:,} rows, {mechanism}", fontsize=9, loc="left")
    axes[0, -1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    drawn.supxlabel("percent missing", fontsize=9)
    drawn.supylabel(TASKS[task], fontsize=9)
    drawn.savefig(path, dpi=150)
    plt.close(drawn)


def _panel(ax: Any, rows: Sequence[Row], task: str) -> None:
    for way, color in WAYS.items():
        chosen = [row for row in rows if row["way"] == way and row["value"] is not None]
        shares = sorted({row["share"] for row in chosen})
        if not shares:
            continue
        cells = [mean_and_error(_of(chosen, share)) for share in shares]
        means, errors = zip(*cells, strict=True)
        bars = [2 * e if np.isfinite(e) else 0.0 for e in errors]
        ax.errorbar(
            [100 * share for share in shares],
            means,
            bars,
            color=color,
            linestyle="--" if way == "no gaps" else "-",
            marker="o",
            markersize=3.5,
            linewidth=1.2,
            label=way,
        )
    if task == "parameters":
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(NullLocator())
    ax.grid(color="#eeeeee")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def _means(rows: Sequence[Row], task: str) -> str:
    ways = [way for way in WAYS if any(row["way"] == way for row in rows)]
    lines = []
    for mechanism, share in _values(rows, "mechanism", "share"):
        chosen = _where(rows, mechanism=mechanism, share=share)
        cells = [_cell([r["value"] for r in chosen if r["way"] == way], task) for way in ways]
        lines.append([mechanism, f"{100 * share:g} %", *cells])
    return _markdown(["gaps", "missing", *ways], lines)


def _cell(values: Sequence[float | None], task: str) -> str:
    """Mean and error; the number of repeats with a value if that is not all of them."""
    known = [value for value in values if value is not None]
    if not known:
        return "no rows"
    mean, error = mean_and_error(known)
    digits = DIGITS[task]
    told = f"{mean:.{digits}f}"
    if np.isfinite(error):
        told += f" ± {error:.{digits}f}"
    return told if len(known) == len(values) else f"{told} ({len(known)} of {len(values)})"


def _comparison(rows: Sequence[Row], task: str) -> str:
    """In how many cells the reference is better or worse than each way by two standard errors.

    Not compared are cells in which fewer than two repeats have both.
    """
    reference = SIMPLE[task]
    lines = []
    for mechanism, way in _values(rows, "mechanism", "way"):
        if way in (reference, "no gaps"):
            continue
        verdicts = []
        chosen = _where(rows, mechanism=mechanism)
        for name, n_rows, share in _values(chosen, "network", "n_rows", "share"):
            cell = _where(chosen, network=name, n_rows=n_rows, share=share)
            verdicts.append(_verdict(*_pairs(cell, reference, way)))
        lines.append([mechanism, way, *(str(verdicts.count(one)) for one in VERDICTS)])
    return _markdown(["gaps", "against", *VERDICTS], lines)


def _verdict(mine: Sequence[float], other: Sequence[float]) -> str:
    if len(mine) < 2:
        return "not compared"
    mean, error = paired(mine, other)
    if abs(mean) <= 2 * error:
        return "level"
    return "better" if mean < 0 else "worse"


def _pairs(rows: Sequence[Row], a: str, b: str) -> tuple[list[float], list[float]]:
    """Values of two ways in the repeats in which both have one."""
    values = {(row["way"], row["repeat"]): row["value"] for row in rows}
    repeats = sorted({row["repeat"] for row in rows})
    both = [
        (values[a, r], values[b, r])
        for r in repeats
        if values.get((a, r)) is not None and values.get((b, r)) is not None
    ]
    return [one for one, _ in both], [other for _, other in both]


def _left(rows: Sequence[Row]) -> str:
    chosen = _where(rows, task="parameters", way="EM")
    shares = [share for (share,) in _values(chosen, "share")]
    lines = []
    for name, n_rows, mechanism in _values(chosen, "network", "n_rows", "mechanism"):
        cells = _where(chosen, network=name, n_rows=n_rows, mechanism=mechanism)
        left = [[row["left"] for row in cells if row["share"] == share] for share in shares]
        told = [f"{np.mean(one):,.0f}" if one else "-" for one in left]
        lines.append([name, f"{n_rows:,}", mechanism, *told])
    return _markdown(["network", "rows", "gaps", *(f"{100 * s:g} %" for s in shares)], lines)


def _seconds(rows: Sequence[Row]) -> str:
    lines = []
    for task, way in _values(rows, "task", "way"):
        cells = _where(rows, task=task, way=way)
        names = [name for (name,) in _values(rows, "network")]
        means = [np.mean([row["seconds"] for row in _where(cells, network=n)]) for n in names]
        lines.append([task, way, *(f"{mean:.3f}" for mean in means)])
    return _markdown(["task", "way", *(name for (name,) in _values(rows, "network"))], lines)


def _of(rows: Sequence[Row], share: float) -> list[float]:
    return [row["value"] for row in rows if row["share"] == share]


def _where(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _values(rows: Sequence[Row], *names: str) -> list[tuple[Any, ...]]:
    """Combinations of values that occur, in the order of their first appearance."""
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
