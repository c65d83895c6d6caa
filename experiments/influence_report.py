"""Tables and figures of the study of influence networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from cells import mean_and_error, paired

import consilience as cs

mpl.use("Agg")
import matplotlib.pyplot as plt

__all__ = ["classes", "figure", "real", "save", "tables"]

Row = Mapping[str, Any]
GRAPHS = {"random": "#777777", "none": "#D55E00", "learned": "#0072B2", "true": "#009E73"}
PRIORS = {5.0: "Dirichlet of total 5", 3.0: "Dirichlet(1), total 3"}


def tables(rows: Sequence[Row]) -> str:
    """All tables as markdown."""
    parts = []
    for total in sorted({row["total"] for row in rows}, reverse=True):
        chosen = [row for row in rows if row["total"] == total]
        parts += [
            f"### Tables from a {PRIORS.get(total, f'Dirichlet of total {total:g}')}\n",
            "Relative entropy over the observed variables (nats): mean and standard error\n",
            _crossed(chosen, "entropy", 4),
            "Differences on the same rows\n",
            _differences(chosen),
            "Share of test rows whose hidden states are told, mean over the hidden nodes\n",
            _accuracy(chosen),
            "Arcs learned (24 are true), SHD between classes of graphs, seconds\n",
            _graphs(chosen),
            _claims(chosen),
        ]
    return "\n".join(parts)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Relative entropy against the number of rows, one panel for each prior."""
    totals = sorted({row["total"] for row in rows}, reverse=True)
    drawn, axes = plt.subplots(
        1, len(totals), figsize=(4.6 * len(totals), 3.6), layout="constrained", squeeze=False
    )
    for ax, total in zip(axes[0], totals, strict=True):
        chosen = [row for row in rows if row["total"] == total]
        for name, color in GRAPHS.items():
            sizes = _sizes(chosen)
            cells = [mean_and_error(_of(chosen, n, name, "entropy")) for n in sizes]
            means, errors = zip(*cells, strict=True)
            bars = [2 * e if np.isfinite(e) else 0.0 for e in errors]
            ax.errorbar(sizes, means, bars, color=color, marker="o", markersize=4, label=name)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(PRIORS.get(total, f"total {total:g}"), fontsize=10)
        ax.set_xlabel("rows")
        ax.grid(color="#eeeeee")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("relative entropy (mean, two standard errors)")
    axes[0, -1].legend(frameon=False, fontsize=9)
    save(drawn, path)


def classes(rows: Sequence[Row], true: int) -> str:
    """How often the number of classes was found, and how the classes agree."""
    n_found = sum(row["found"] == true for row in rows)
    differences = [row["of the truth"] - row["agreement"] for row in rows]
    lines = [
        ["number of classes found", f"{n_found} of {len(rows)}"],
        ["agreement with the true classes", _text(*mean_and_error(_all(rows, "agreement")))],
        ["of the true parameters", _text(*mean_and_error(_all(rows, "of the truth")))],
        ["largest loss", f"{max(differences):.4f}"],
        ["seconds", f"{np.mean(_all(rows, 'seconds')):.1f}"],
    ]
    return _markdown(["latent classes", ""], lines)


def real(found: cs.latent.Influence, n_rows: int, gains: Sequence[float]) -> str:
    """The graph of the real example, and what it is worth."""
    none = found.trace[0]
    arcs = ", ".join(f"{start} → {end}" for start, end in found.dag.arcs) or "none"
    lines = [
        ["rows", f"{n_rows:,}"],
        ["arcs", arcs],
        ["BIC of the observed rows, models alone", f"{none.score:,.1f}"],
        ["with arcs", f"{found.score:,.1f}"],
        ["log-likelihood of a row left out, gain over none", _text(*mean_and_error(gains))],
    ]
    return _markdown(["eICU", ""], lines)


def save(drawn: Any, path: Path) -> None:
    drawn.savefig(path, dpi=150)
    plt.close(drawn)


def _crossed(rows: Sequence[Row], measure: str, digits: int) -> str:
    lines = [
        [
            f"{n:,}",
            *(_text(*mean_and_error(_of(rows, n, name, measure)), digits) for name in GRAPHS),
        ]
        for n in _sizes(rows)
    ]
    return _markdown(["rows", *GRAPHS], lines)


def _differences(rows: Sequence[Row]) -> str:
    lines = []
    for n in _sizes(rows):
        learned = _of(rows, n, "learned", "entropy")
        others = (_of(rows, n, name, "entropy") for name in ("none", "true"))
        lines.append([f"{n:,}", *(_text(*paired(learned, other), 4) for other in others)])
    return _markdown(["rows", "learned less none", "learned less true"], lines)


def _accuracy(rows: Sequence[Row]) -> str:
    lines = []
    for n in _sizes(rows):
        lowest = np.mean(_of(rows, n, "learned", "lowest"))
        highest = np.mean(_of(rows, n, "learned", "highest"))
        lines.append(
            [
                f"{n:,}",
                *(f"{np.mean(_of(rows, n, name, 'accuracy')):.3f}" for name in GRAPHS),
                f"{lowest:.3f} to {highest:.3f}",
                f"{np.mean(_of(rows, n, 'true', 'accuracy of the truth')):.3f}",
            ]
        )
    header = ["rows", *GRAPHS, "learned, lowest to highest node", "true parameters"]
    return _markdown(header, lines)


def _graphs(rows: Sequence[Row]) -> str:
    lines = []
    for n in _sizes(rows):
        cells = [mean_and_error(_of(rows, n, "learned", one)) for one in ("arcs", "shd")]
        lines.append(
            [
                f"{n:,}",
                *(_text(*cell, 1) for cell in cells),
                f"{np.mean(_of(rows, n, 'random', 'shd')):.1f}",
                f"{np.mean(_of(rows, n, 'learned', 'seconds')):.0f}",
            ]
        )
    return _markdown(["rows", "arcs", "SHD learned", "SHD random", "seconds"], lines)


def _claims(rows: Sequence[Row]) -> str:
    """The three claims in words."""
    cells = {}
    for n in _sizes(rows):
        learned = _of(rows, n, "learned", "entropy")
        cells[n] = [paired(learned, _of(rows, n, name, "entropy")) for name in ("none", "true")]
    worse = [n for n, (less_none, _) in cells.items() if less_none[0] > 2 * less_none[1]]
    better = [n for n, (less_none, _) in cells.items() if less_none[0] < -2 * less_none[1]]
    start = next((n for n in cells if all(m in better for m in cells if m >= n)), None)
    gaps = ", ".join(f"{less_true[0]:.3f}" for _, less_true in cells.values())
    return (
        f"Worse than none by two standard errors at: {worse or 'no size'}. Better by two standard "
        f"errors from {start if start is None else f'{start:,}'} rows on. Gap to the true graph by "
        f"size: {gaps}.\n"
    )


def _sizes(rows: Sequence[Row]) -> list[int]:
    return sorted({row["n_rows"] for row in rows})


def _of(rows: Sequence[Row], n_rows: int, graph: str, measure: str) -> list[float]:
    chosen = [row for row in rows if row["n_rows"] == n_rows and row["graph"] == graph]
    return [row[measure] for row in sorted(chosen, key=lambda row: row["repeat"])]


def _all(rows: Sequence[Row], measure: str) -> list[float]:
    return [row[measure] for row in rows]


def _text(mean: float, error: float, digits: int = 3) -> str:
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
