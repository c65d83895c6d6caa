"""Tables of a cross-evaluation for people: headings and cells of text, and all in one text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from consilience.classify.results import MEASURES, CrossEvaluation

__all__ = ["Grid", "curve_table", "detail_table", "means_table", "tables_of", "text_of", "title_of"]

Grid: TypeAlias = tuple[list[str], list[list[str]]]
"""Headings, and rows of cells; the first two columns are the contestant."""

SHOWN = ("accuracy", "f1", "brier", "log_loss", "calibration_error", "log_likelihood")
"""The measures of the first table; all are in the results."""

DETAILED = "log_loss"
N_LETTERS = 20


def title_of(evaluation: CrossEvaluation) -> str:
    """What was evaluated, in one line."""
    positive = "" if evaluation.positive is None else f" (positive: {evaluation.positive!r})"
    title = f"{evaluation.target!r}{positive}, {evaluation.splits}"
    if evaluation.stopped_by == "interrupt":
        title += f"; interrupted after {len(evaluation.cells)} of {evaluation.n_cells} cells"
    return title


def means_table(evaluation: CrossEvaluation) -> Grid:
    """Means over all splits of the main measures, one row a contestant."""
    shown = [name for name in SHOWN if name in evaluation.measures]
    means = {
        (line.structure, line.estimator, name): line.mean
        for name in shown
        for line in evaluation.summary(name)
    }
    rows = [
        [*who, *(_number(means.get((*who, name))) for name in shown)]
        for who in evaluation.contestants
    ]
    return ["structure", "estimator", *(MEASURES[name] for name in shown)], rows


def detail_table(evaluation: CrossEvaluation, measure: str) -> Grid:
    """One measure with its errors, the distance to the best, and the worst source."""
    header = ["structure", "estimator", MEASURES[measure], "behind the best"]
    if evaluation.sources:
        header += ["worst source", "there", "gap"]
    rows = []
    for line in evaluation.summary(measure):
        is_best = line.behind == 0 and not line.behind_error
        behind = "best" if is_best else _with_error(line.behind, line.behind_error)
        cells = [line.structure, line.estimator, _with_error(line.mean, line.error), behind]
        if evaluation.sources:
            cells += [_cut(line.worst), _number(line.worst_value), _number(line.gap)]
        rows.append(cells)
    return header, rows


def curve_table(evaluation: CrossEvaluation, measure: str) -> Grid:
    """One measure by the size of the training set."""
    found = {
        (line.structure, line.estimator, line.size): _with_error(line.mean, line.error)
        for line in evaluation.summary(measure)
    }
    rows = [
        [*who, *(found.get((*who, size), "-") for size in evaluation.sizes)]
        for who in evaluation.contestants
        if any((*who, size) in found for size in evaluation.sizes)
    ]
    return ["structure", "estimator", *(f"{size:,}" for size in evaluation.sizes)], rows


def text_of(evaluation: CrossEvaluation) -> str:
    """All tables as plain text."""
    blocks = [title_of(evaluation)]
    for title, grid in tables_of(evaluation) if evaluation.cells else ():
        blocks.append(f"{title}\n{_aligned(grid)}" if title else _aligned(grid))
    return "\n\n".join(blocks)


def tables_of(evaluation: CrossEvaluation, measure: str = DETAILED) -> list[tuple[str, Grid]]:
    """All tables with their titles, which may be empty; one measure is told in detail."""
    if evaluation.by_size:
        return [
            (f"{MEASURES[name]} by rows to learn from", curve_table(evaluation, name))
            for name in dict.fromkeys(("accuracy", measure))
        ]
    return [("", means_table(evaluation)), ("", detail_table(evaluation, measure))]


def _aligned(grid: Grid) -> str:
    cells = [grid[0], *grid[1]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return "\n".join(_line(row, widths) for row in cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        f"{cell:<{width}}" if k < 2 else f"{cell:>{width}}"
        for k, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if math.isfinite(value) else str(value)


def _with_error(value: float | None, error: float | None) -> str:
    return _number(value) if error is None else f"{_number(value)} ± {error:.3f}"


def _cut(name: str | None) -> str:
    if name is None:
        return "-"
    return name if len(name) <= N_LETTERS else f"{name[: N_LETTERS - 3]}..."
