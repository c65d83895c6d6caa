"""Tables and figures of the study of fusion."""

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

__all__ = ["figures", "tables", "votes_of_a_seed"]

Row = Mapping[str, Any]
MEASURES = ("shd", "tp", "fp", "fn")
ORDERS = ("row by row", "strongest first", "strongest first, reversed")
TRUE_ARCS = ("AC", "BC", "BD", "AF", "DF", "EF", "GF")
COLORS = {"row by row": "#D55E00", "strongest first": "#0072B2"}


def tables(parts: Mapping[str, Sequence[Row]]) -> str:
    """All tables as markdown."""
    paper, variants, heart = parts["paper"], parts["variants"], parts["heart"]
    return "\n".join(
        [
            "The paper's study: mean and standard error over the seeds\n",
            _measures(paper),
            "\nDifferences of SHD on the same rows\n",
            _differences(paper),
            "\nCoefficients\n",
            _coefficients(paper),
            "\nSHD, variants\n",
            _crossed(variants, "graph", "shd", 2),
            "\nMean log-likelihood of a new row, variants\n",
            _crossed(variants, "network", "fit", 3),
            "\nHeart by hospital, rows left out\n",
            _heart(heart),
            "",
        ]
    )


def _measures(rows: Sequence[Row]) -> str:
    groups = {"a single source": [r for r in rows if r["what"] == "source"]}
    for order in ORDERS:
        for t in sorted({r["threshold"] for r in rows if r["what"] == order}):
            chosen = [r for r in rows if r["what"] == order and r["threshold"] == t]
            groups[f"{order}, threshold {t}"] = chosen
    for name in _rules(rows):
        groups[name] = [r for r in rows if r["what"] == name]
    lines = [
        [name, *(_text(*_by_seed(chosen, measure)) for measure in MEASURES)]
        for name, chosen in groups.items()
    ]
    return _markdown(["", "SHD", "TP", "FP", "FN"], lines)


def _rules(rows: Sequence[Row]) -> list[str]:
    known = {"source", "coefficient", *ORDERS}
    return list(dict.fromkeys(r["what"] for r in rows if r["what"] not in known))


def _by_seed(rows: Sequence[Row], measure: str) -> tuple[float, float]:
    """Mean over seeds of the means within a seed, and its standard error."""
    return mean_and_error(_means(rows, measure))


def _means(rows: Sequence[Row], measure: str) -> list[float]:
    seeds = sorted({r["seed"] for r in rows})
    return [float(np.mean([r[measure] for r in rows if r["seed"] == s])) for s in seeds]


def _differences(rows: Sequence[Row]) -> str:
    def of(what: str, threshold: int | None = None) -> list[float]:
        return _means(
            [r for r in rows if r["what"] == what and r.get("threshold") == threshold], "shd"
        )

    pairs = {f"{name} less a single source": (of(name), of("source")) for name in _rules(rows)}
    pairs["best score: strongest first less row by row"] = (
        of("best score"),
        of("best score, row by row"),
    )
    for order in ORDERS[1:]:
        one = np.mean([of(order, t) for t in range(1, 9)], axis=0)
        other = np.mean([of("row by row", t) for t in range(1, 9)], axis=0)
        pairs[f"mean of all thresholds: {order} less row by row"] = (one, other)
    lines = [[name, _text(*paired(*both))] for name, both in pairs.items()]
    return _markdown(["", "SHD"], lines)


def _coefficients(rows: Sequence[Row]) -> str:
    told = [r for r in rows if r["what"] == "coefficient"]
    found = [r for r in told if r["arc"][::-1] not in TRUE_ARCS]  # turned round, which is not false
    lines = []
    for by, t in _keys(found):
        chosen = [r for r in found if r["by"] == by and r.get("threshold") == t]
        true = [r for r in chosen if r["is_true"] and r["has_all"]]
        false = [r for r in chosen if not r["is_true"] and r["has_all"]]
        lines.append(
            [
                by if t is None else f"{by}, threshold {t}",
                _text(*_by_seed(true, "error"), 4) if true else "",
                f"{np.sqrt(np.mean([r['error'] ** 2 for r in true])):.4f}" if true else "",
                f"{len(false) / len({r['seed'] for r in chosen}):.2f}",
                _text(*_by_seed(false, "value"), 4) if false else "",
                f"{np.mean([abs(r['value']) for r in false]):.4f}" if false else "",
                f"{max(abs(r['value']) for r in chosen if not r['is_true']):.2f}"
                if any(not r["is_true"] for r in chosen)
                else "",
            ]
        )
    header = [
        "",
        "error of true parents",
        "root mean square",
        "false parents a seed",
        "their mean",
        "mean size",
        "largest, also beside missed parents",
    ]
    return _markdown(header, lines)


def _keys(rows: Iterable[Row]) -> list[tuple[str, int | None]]:
    return list(dict.fromkeys((r["by"], r.get("threshold")) for r in rows))


def _crossed(rows: Sequence[Row], what: str, measure: str, digits: int) -> str:
    found = [r for r in rows if what in r]
    variants = list(dict.fromkeys(r["variant"] for r in found))
    names = list(dict.fromkeys(r[what] for r in found))
    lines = []
    for name in names:
        cells = [
            mean_and_error(r[measure] for r in found if r[what] == name and r["variant"] == variant)
            for variant in variants
        ]
        lines.append([name, *(_text(*cell, digits) for cell in cells)])
    return _markdown(["", *variants], lines)


def _heart(rows: Sequence[Row]) -> str:
    names = list(dict.fromkeys(r["network"] for r in rows))
    base = [r["fit"] for r in rows if r["network"] == "vote, merged"]
    lines = []
    for name in names:
        chosen = [r for r in rows if r["network"] == name]
        fits = [r["fit"] for r in chosen]
        lines.append(
            [
                name,
                _text(*mean_and_error(fits), 3),
                "" if name == "vote, merged" else _text(*paired(fits, base), 3),
                f"{np.mean([r['arcs'] for r in chosen]):.1f}",
            ]
        )
    header = ["", "log-likelihood of a row", "less that of the vote, merged", "arcs"]
    thresholds = [r["threshold"] for r in rows if r["network"] == "vote, merged"]
    note = f"\nThresholds: mean {np.mean(thresholds):.2f} of 4 votes.\n"
    return _markdown(header, lines) + note


def _text(mean: float, error: float, digits: int = 2) -> str:
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def figures(parts: Mapping[str, Sequence[Row]], results: Path) -> None:
    """SHD against the threshold, and by variant."""
    _thresholds(parts["paper"], results / "thresholds.png")
    _variants(parts["variants"], results / "variants.png")


def _thresholds(rows: Sequence[Row], path: Path) -> None:
    figure, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    for order, color in COLORS.items():
        levels = range(1, 9)
        cells = [
            _by_seed([r for r in rows if r["what"] == order and r["threshold"] == t], "shd")
            for t in levels
        ]
        means, errors = zip(*cells, strict=True)
        shift = 0.06 if order == "row by row" else -0.06
        ax.errorbar(
            [t + shift for t in levels],
            means,
            [2 * e for e in errors],
            color=color,
            marker="o",
            markersize=4,
            linewidth=1.3,
            label=f"vote, {order}",
        )
    lines = {"source": "#777777", "best score": "#009E73", "all rows": "#CC79A7"}
    words = {"source": "a single source", "best score": "vote, automatic threshold"}
    for name, color in lines.items():
        mean, _ = _by_seed([r for r in rows if r["what"] == name], "shd")
        ax.axhline(mean, color=color, linestyle="--", linewidth=1.2, label=words.get(name, name))
    ax.set_xlabel("threshold (of 8 sources)")
    ax.set_ylabel("SHD (mean, two standard errors)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _variants(rows: Sequence[Row], path: Path) -> None:
    found = [r for r in rows if "graph" in r]
    variants = list(dict.fromkeys(r["variant"] for r in found))
    looks = {
        "a source alone": ("#777777", "s"),
        "vote, best score": ("#009E73", "o"),
        "vote, held-out weights": ("#56B4E9", "P"),
        "vote of classes, majority": ("#0072B2", "^"),
        "all rows, pooled": ("#CC79A7", "D"),
        "all rows, by source": ("#E69F00", "v"),
    }
    figure, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
    for k, (name, (color, marker)) in enumerate(looks.items()):
        cells = [
            mean_and_error(r["shd"] for r in found if r["graph"] == name and r["variant"] == v)
            for v in variants
        ]
        means, errors = zip(*cells, strict=True)
        y = np.arange(len(variants)) + 0.13 * (k - 2.5)
        ax.errorbar(
            means,
            y,
            xerr=[2 * e for e in errors],
            fmt=marker,
            color=color,
            markersize=4.5,
            linewidth=1.2,
            label=name,
        )
    ax.set_yticks(range(len(variants)), variants)
    ax.invert_yaxis()
    ax.set_xlabel("SHD (mean, two standard errors)")
    ax.grid(axis="x", color="#eeeeee")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def votes_of_a_seed(fused: cs.fusion.Fusion, true: cs.DAG, results: Path) -> None:
    """The paper's Figures 2 and 3 for one seed, and the matrix of votes."""
    sources = np.ravel(cs.plot(fused, truth=true))
    sources[0].figure.savefig(results / "sources.png", dpi=110)
    levels = np.ravel(cs.plot(fused, "thresholds", truth=true, order=cs.fusion.RowByRow()))
    levels[0].figure.savefig(results / "fused.png", dpi=110)
    cs.plot(fused, "votes").figure.savefig(results / "votes.png", dpi=110)
    plt.close("all")
