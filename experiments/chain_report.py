"""Tables, numbers and the figure of the study of the chain.

In each cell (problem, structure, number of rows) and for each measure, HDC is compared with the
*best* variant of HDMJS and HDMCS, which is the one whose mean on the test rows is best: a choice
that nobody could have made beforehand, and that favours the variants. So it is with the best of
those variants that the study behind HDC's design compared it with; that study did not learn s, or
set it by the number of states, together with a pseudo-count. Differences are paired over the
repeats; one of more than two standard errors is a win or a loss, any other a tie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from cells import mean_and_error, paired, write_csv

from consilience.errors import DataError

__all__ = ["PRIOR", "write"]

MEASURES = {"log_loss": -1, "brier": -1, "joint": -1, "accuracy": 1}
"""Each measure and the sign that makes more of it better."""

HEADINGS = {"log_loss": "log loss", "brier": "Brier", "joint": "joint", "accuracy": "accuracy"}
OURS = ("HDC-EB", "HDC-LOO")
PRIOR = "class prior"
BEST, BEST_OF_FIRST = "best variant", "best of the first study's"
NOT_IN_FIRST = ("+1 s=r", "+1 s learned")
CELL = ["problem", "structure", "n_rows"]
OUTCOMES = ("win", "tie", "loss")
SIMULATED = ("diverge", "permute")
TITLES = {
    "heart": "heart, 4 hospitals",
    "eicu": "eICU, 186 hospitals",
    "compas": "COMPAS, 6 races",
}

Row = dict[str, Any]


def write(parts: Sequence[Sequence[Row]], out: Path) -> str:
    """Write all results to the folder and return the tables as markdown.

    A repeat of a cell counts if every part has it.
    """
    frame = _whole(parts)
    differences = _differences(frame)
    write_csv(_means(frame), out / "means.csv")
    write_csv(differences, out / "differences.csv")
    _figure(differences, out / "log_loss.png")
    text = _markdown(frame, differences)
    (out / "summary.md").write_text(text, encoding="utf-8")
    return text


def _whole(parts: Sequence[Sequence[Row]]) -> pd.DataFrame:
    """The rows of all parts whose cell and repeat no part lacks, real data first."""
    frames = [pd.DataFrame(rows).set_index([*CELL, "repeat"]) for rows in parts]
    common = frames[0].index.unique()
    for frame in frames[1:]:
        common = common.intersection(frame.index.unique(), sort=False)
    whole = pd.concat([frame[frame.index.isin(common)] for frame in frames])
    n_splits = whole.groupby(level=list(range(len(CELL) + 1)))["split"].nunique()
    if (n_splits > 1).any():
        raise DataError(
            f"the parts were made from other rows in {(n_splits > 1).sum()} of {len(n_splits)} "
            "cells. Make them again from the same data and with the same version."
        )
    rows = whole.reset_index()
    is_simulated = rows["problem"].str.startswith(SIMULATED)
    return pd.concat([rows[~is_simulated], rows[is_simulated]])


def _cells(frame: pd.DataFrame) -> Iterable[tuple[Row, pd.DataFrame]]:
    """Each cell's key, and its rows."""
    for key, part in frame.groupby(CELL, sort=False):
        yield dict(zip(CELL, key, strict=True)), part


def _means(frame: pd.DataFrame) -> list[Row]:
    rows = []
    for cell, part in _cells(frame):
        for method, own in part.groupby("method", sort=False):
            row = cell | {"method": method, "repeats": len(own)}
            for measure in MEASURES:
                if own[measure].notna().all():
                    row[measure], row[f"{measure}_error"] = mean_and_error(own[measure])
            rows.append(row)
    return rows


def _differences(frame: pd.DataFrame) -> list[Row]:
    """Ours minus each variant, minus the best of them and minus the class prior, by cell."""
    rows = []
    for cell, part in _cells(frame):
        for measure, sign in MEASURES.items():
            values = part.pivot_table(index="repeat", columns="method", values=measure)
            variants = [name for name in values if name not in (*OURS, PRIOR)]
            means = sign * values[variants].mean()
            first = [name for name in variants if not name.endswith(NOT_IN_FIRST)]
            others = {BEST: means.idxmax(), BEST_OF_FIRST: means[first].idxmax()}
            others |= {name: name for name in variants}
            if PRIOR in values:
                others[PRIOR] = PRIOR
            for ours in (name for name in OURS if name in values):
                for against, name in others.items():
                    difference, error = paired(values[ours], values[name])
                    rows.append(
                        cell
                        | {"measure": measure, "ours": ours, "against": against, "variant": name}
                        | {"difference": difference, "error": error}
                        | {"outcome": _outcome(sign * difference, error)}
                    )
    return rows


def _outcome(gain: float, error: float) -> str:
    if abs(gain) <= 2 * error:
        return "tie"
    return "win" if gain > 0 else "loss"


def _markdown(frame: pd.DataFrame, differences: Sequence[Row]) -> str:
    n_repeats = frame.groupby(CELL)["repeat"].nunique()
    n_variants = len({row["variant"] for row in differences} - {PRIOR})
    best = [row for row in differences if row["against"] == BEST]
    problems = list(dict.fromkeys(row["problem"] for row in best))
    against = list(dict.fromkeys(row["against"] for row in differences))
    groups: dict[str, Callable[[Row], bool]] = {
        "all cells": lambda row: True,
        "real data": lambda row: not row["problem"].startswith(SIMULATED),
        "simulated": lambda row: row["problem"].startswith(SIMULATED),
        **{f"N = {n}": lambda row, n=n: row["n_rows"] == n for n in sorted(set(frame["n_rows"]))},
        **{name: lambda row, name=name: row["problem"] == name for name in problems},
    }
    repeats = {n_repeats.min(), n_repeats.max()}
    parts = [
        f"{len(n_repeats)} cells of {' to '.join(map(str, sorted(repeats)))} repeats, "
        f"{n_variants} variants. Win / tie / loss of HDC at two standard errors.",
        "**Against the best variant of each cell**",
        _table("cells", {name: list(filter(is_in, best)) for name, is_in in groups.items()}),
        "**Against each variant, all cells**",
        _table(
            "against", {name: [r for r in differences if r["against"] == name] for name in against}
        ),
        "**Log loss minus that of the best variant** (± standard error; losses in bold)",
        _difference_table([row for row in best if row["measure"] == "log_loss"]),
        "**Means over all cells of a problem**: log loss / Brier / joint / accuracy",
        _mean_table(frame),
    ]
    return "\n\n".join(parts) + "\n"


def _table(corner: str, groups: dict[str, list[Row]]) -> str:
    """Outcomes by group (rows), measure and method (columns)."""
    columns = [(measure, ours) for measure in MEASURES for ours in OURS]
    head = [f"{HEADINGS[measure]} {ours.removeprefix('HDC-')}" for measure, ours in columns]
    body = []
    for name, rows in groups.items():
        tally = Counter((row["measure"], row["ours"], row["outcome"]) for row in rows)
        counts = [" / ".join(str(tally[(*column, one)]) for one in OUTCOMES) for column in columns]
        body.append([name, *(text if text != "0 / 0 / 0" else "-" for text in counts)])
    return _lines([corner, *head], body)


def _difference_table(rows: Sequence[Row]) -> str:
    sizes = sorted({row["n_rows"] for row in rows})
    texts = {
        (row["problem"], row["structure"], row["ours"], row["n_rows"]): _difference(row)
        for row in rows
    }
    lines = dict.fromkeys(key[:3] for key in texts)
    body = [
        [
            problem,
            structure.upper(),
            ours,
            *(texts.get((problem, structure, ours, n), "") for n in sizes),
        ]
        for problem, structure, ours in lines
    ]
    return _lines(["problem", "structure", "ours", *(f"N = {n}" for n in sizes)], body)


def _difference(row: Row) -> str:
    text = f"{row['difference']:+.3f} ± {row['error']:.3f}"
    return {"win": text, "tie": f"{text} (tie)", "loss": f"**{text}**"}[row["outcome"]]


def _mean_table(frame: pd.DataFrame) -> str:
    """Means over sizes, structures and repeats, by method and problem."""
    problems = list(dict.fromkeys(frame["problem"]))
    means = frame.groupby(["method", "problem"])[list(MEASURES)].mean()
    methods = sorted(set(frame["method"]), key=lambda name: (name not in OURS, name == PRIOR, name))
    body = []
    for method in methods:
        cells = []
        for problem in problems:
            values = means.loc[(method, problem)] if (method, problem) in means.index else []
            cells.append(" / ".join("-" if pd.isna(v) else f"{v:.3f}" for v in values))
        body.append([method, *cells])
    return _lines(["method", *problems], body)


def _lines(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _figure(differences: Sequence[Row], path: Path) -> None:
    """Log loss minus that of the best variant, a panel for each problem."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    chosen = [r for r in differences if r["measure"] == "log_loss" and r["against"] == BEST]
    problems = list(dict.fromkeys(row["problem"] for row in chosen))
    sizes = sorted({row["n_rows"] for row in chosen})
    n_lines = -(-len(problems) // 3)
    figure, axes = plt.subplots(
        n_lines,
        3,
        figsize=(10, 2.7 * n_lines + 0.6),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, problem in zip(axes.flat, problems, strict=False):
        _panel(axis, [row for row in chosen if row["problem"] == problem], sizes)
        axis.set_title(TITLES.get(problem, problem.replace("-", ", ") + " sources"), fontsize=10)
    for axis in axes.flat[len(problems) :]:
        axis.set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("difference in log loss")
    for axis in axes.flat[max(len(problems) - 3, 0) : len(problems)]:
        axis.tick_params(labelbottom=True)
        axis.set_xlabel("training rows")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(axis: Any, rows: Sequence[Row], sizes: Sequence[int]) -> None:
    axis.axhline(0.0, color="0.4", linewidth=0.8)
    colors = dict(zip(OURS, ("tab:blue", "tab:orange"), strict=True))
    lines = [(ours, structure) for ours in OURS for structure in ("nb", "tan")]
    for k, (ours, structure) in enumerate(lines):
        own = [row for row in rows if (row["ours"], row["structure"]) == (ours, structure)]
        axis.errorbar(
            [sizes.index(row["n_rows"]) + (k - 1.5) * 0.09 for row in own],
            [row["difference"] for row in own],
            [2 * row["error"] for row in own],
            color=colors[ours],
            marker="o" if structure == "nb" else "^",
            markersize=4,
            markerfacecolor=colors[ours] if structure == "nb" else "white",
            linestyle="-" if structure == "nb" else "--",
            linewidth=1.0,
            elinewidth=0.9,
            capsize=1.5,
            label=f"{ours}, {structure.upper()}",
        )
    axis.set_xticks(range(len(sizes)), [str(n) for n in sizes])
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
