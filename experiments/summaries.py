"""Results as markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from cells import mean_and_error, paired
from preparation import CASES, Problem, every_row, prepared

__all__ = [
    "advi",
    "amplification",
    "by_delta",
    "by_delta_and_size",
    "by_size",
    "full",
    "shares",
    "variables",
]

Row = dict[str, Any]


def variables(name: str) -> str:
    """Tables A.1 and A.2: type, gaps and values of every column, and its states in the study."""
    case, frame, table = CASES[name], every_row(CASES[name].data), prepared(name).table
    lines = []
    for column in [*case.columns[:-1], case.source, case.columns[-1]]:
        values = frame[column].dropna()
        is_number = column in case.numbers
        span = f"{values.min()} to {values.max()}" if is_number else values.nunique()
        kind = "numeric" if is_number else "categorical"
        n_states = table.schema[column].n_states
        lines.append([column, kind, int(frame[column].isna().sum()), span, n_states])
    return markdown(["variable", "type", "missing", "values", "states in the study"], lines)


def shares(problem: Problem) -> str:
    """Figures 4.1 and 4.2 as numbers: rows by source and class."""
    table = problem.table
    states = table.variables[problem.target].discrete_states
    cells = pd.crosstab(table.source_codes, table.column(problem.target)).to_numpy()
    lines = [
        [name, *(f"{n:,} ({n / row.sum():.3f})" for n in row), f"{row.sum():,}"]
        for name, row in zip((*table.sources, "all"), [*cells, cells.sum(axis=0)], strict=True)
    ]
    return markdown([table.source, *states, "rows"], lines)


def full(rows: Sequence[Row]) -> str:
    """Accuracy, precision, recall, F1, log loss and Brier score, an estimator a line."""
    measures = ("accuracy", "precision", "recall", "f1", "log_loss", "brier")
    lines = [
        [name, *(_cell([row[measure] for row in of_name]) for measure in measures)]
        for name, of_name in grouped(rows, "estimator")
    ]
    return markdown(["estimator", *measures], lines)


def by_size(rows: Sequence[Row], measure: str) -> str:
    """Mean and standard error of a measure, an estimator a line and a size a column."""
    return _crossed(rows, measure, "n")


def by_delta(rows: Sequence[Row]) -> str:
    """Accuracy, an estimator a line and a delta a column."""
    return _crossed(rows, "accuracy", "delta")


def by_delta_and_size(rows: Sequence[Row], measure: str) -> str:
    """A line for each size and estimator, a column for each delta; means only."""
    deltas = sorted({row["delta"] for row in rows})
    lines = [
        [n, name, *(_mean(row[measure] for row in cell) for _, cell in grouped(part, "delta"))]
        for n, of_size in grouped(rows, "n")
        for name, part in grouped(of_size, "estimator")
    ]
    return markdown(["N", "estimator", *(f"{delta:g}" for delta in deltas)], lines)


def amplification(rows: Sequence[Row]) -> str:
    """Adult by schooling in 2 to 16 sources: what HDMCS* gains over pooled rows, in pairs."""
    lines = []
    wanted = [row for row in rows if row["data"].startswith("adult by education")]
    for structure, part in grouped(wanted, "structure"):
        for name in ("separate", "HDMJS s=10", "HDMCS* s=10", "HDMCS*+1 s=10", "HDC"):
            for measure in ("accuracy", "log_loss"):
                for n in (260, 4000):
                    cells = [
                        _gain(of_case, name, n, measure) for _, of_case in grouped(part, "data")
                    ]
                    lines.append([structure, name, measure.replace("_", " "), n, *cells])
    return markdown(
        ["structure", "estimator minus pooled", "measure", "N", "2", "4", "8", "16"], lines
    )


def advi(rows: Sequence[Row]) -> str:
    """Errors, seconds and the classifier, ADVI beside the exact answer."""
    lines = [
        [
            row["estimator"],
            row["n"],
            f"{row['largest_error']:.4f}",
            f"{row['median_error']:.4f}",
            f"{row['advi_seconds']:.1f}",
            f"{row['exact_seconds']:.4f}",
            f"{row['advi_accuracy']:.4f} / {row['exact_accuracy']:.4f}",
            f"{row['advi_log_loss']:.4f} / {row['exact_log_loss']:.4f}",
        ]
        for row in rows
    ]
    head = ["estimator", "N", "largest error", "median error", "ADVI, s", "exact, s"]
    return markdown([*head, "accuracy, ADVI / exact", "log loss, ADVI / exact"], lines)


def grouped(rows: Iterable[Row], field: str) -> list[tuple[Any, list[Row]]]:
    """Rows by the value of a field, in the order of first sight."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[field], []).append(row)
    return list(found.items())


def markdown(head: Sequence[Any], lines: Iterable[Sequence[Any]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def _crossed(rows: Sequence[Row], measure: str, field: str) -> str:
    values = sorted({row[field] for row in rows})
    lines = []
    for name, part in grouped(rows, "estimator"):
        cells = dict(grouped(part, field))
        lines.append([name, *(_cell([row[measure] for row in cells[v]]) for v in values)])
    return markdown(["estimator", *(f"{value:g}" for value in values)], lines)


def _cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    mean, error = mean_and_error(known)
    return f"{mean:.3f}" if not np.isfinite(error) else f"{mean:.3f} ± {error:.3f}"


def _mean(values: Iterable[float]) -> str:
    return f"{np.mean(list(values)):.3f}"


def _gain(rows: Sequence[Row], name: str, n: int, measure: str) -> str:
    found = dict(grouped([row for row in rows if row["n"] == n], "estimator"))
    ours, pooled = ([row[measure] for row in found[one]] for one in (name, "pooled"))
    mean, error = paired(ours, pooled)
    return f"{mean:+.3f} ± {error:.3f}"
