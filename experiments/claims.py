"""The seed's claims as paired differences, from the cells that are finished.

Every number is a mean over repeats of (one estimator - another) on the same rows, with its standard
error; positive accuracy and negative log loss speak for the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cells import finished, mean_and_error, paired
from summaries import grouped, markdown

__all__ = ["all_claims"]

Row = dict[str, Any]

WITH_ONE = (
    ("HDMCS*+1 s={a}", "BMD a={a}"),
    ("HDMCS*+1 s={a}", "MLE"),
    ("HDS+1 s={a}", "BMD a={a}"),
)
WITHOUT = (
    ("HDMCS* s={a}", "BMD a={a}"),
    ("HDMCS* s={a}", "BDeu a={a}"),
    ("HDS s={a}", "BMD a={a}"),
)


def all_claims(results: Path) -> str:
    """One table a claim; a claim whose study has not been run is left out."""
    found = []
    for title, study, table in CLAIMS:
        path = results / f"{study}.jsonl"
        if path.exists():
            found.append(f"### {title}\n\n{table(finished(path))}")
    return "\n\n".join(found)


def richer_graphs(rows: Sequence[Row]) -> str:
    lines = [
        [data, f"{ours} - {other}", structure, *_over(part, ours, other, "accuracy", "n")]
        for data, of_data in grouped(rows, "data")
        for ours, other in _at(10, *WITH_ONE, *WITHOUT)
        for structure, part in grouped(of_data, "structure")
    ]
    sizes = sorted({row["n"] for row in rows})
    return markdown(["data", "accuracy", "graph", *sizes], lines)


def equal_on_all_rows(rows: Sequence[Row]) -> str:
    lines = []
    for data, of_data in grouped(rows, "data"):
        for structure, part in grouped(of_data, "structure"):
            means = {
                name: float(np.mean([row["accuracy"] for row in of_name]))
                for name, of_name in grouped(part, "estimator")
                if name != "class prior"
            }
            low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            cells = [f"{means[name]:.4f} ({name})" for name in (low, high)]
            difference, error = _pair(part, high, low, "accuracy")
            lines.append([data, structure, *cells, f"{difference:.4f} ± {error:.4f}"])
    return markdown(["data", "graph", "lowest accuracy", "highest accuracy", "difference"], lines)


def slowest_on_diabetes(rows: Sequence[Row]) -> str:
    lines = [
        [structure, f"{ours} - {other}", *_over(part, ours, other, "accuracy", "n")]
        for structure, part in grouped(_only(rows, data="diabetes"), "structure")
        for alpha in (1, 10)
        for ours, other in _at(
            alpha,
            ("HDMCS*+1 s={a}", "BMD a={a}"),
            ("HDMCS*+1 s={a}", "HDS+1 s={a}"),
            ("HDMCS*+1 s={a}", "HDMJS+1 s={a}"),
            ("HDMCS* s={a}", "BMD a={a}"),
        )
    ]
    return markdown(["graph", "accuracy", *sorted({row["n"] for row in rows})], lines)


def hurt_by_divergence(rows: Sequence[Row]) -> str:
    rows = _only(rows, simulator="seed")
    deltas = sorted({row["delta"] for row in rows})
    lines = [
        [data, structure, f"{ours} - {other}", *_over(part, ours, other, "accuracy", "delta")]
        for data, of_data in grouped(rows, "data")
        for structure, part in grouped(of_data, "structure")
        for ours, other in _at(10, ("HDMCS*+1 s={a}", "BMD a={a}"), ("HDMJS+1 s={a}", "BMD a={a}"))
    ]
    return markdown(["data", "graph", "accuracy", *(f"{delta:g}" for delta in deltas)], lines)


def small_and_diverging(rows: Sequence[Row]) -> str:
    pairs = (
        ("HDMCS*+1 s={a}", "BMD a={a}"),
        ("HDMCS* s={a}", "BMD a={a}"),
        ("HDMCS*+1 s={a}", "MLE"),
    )
    return _both(rows, _at(10, *pairs))


def joint_states(rows: Sequence[Row]) -> str:
    pairs = (("HDMJS+1 s={a}", "HDMCS*+1 s={a}"), ("HDMJS s={a}", "HDMCS* s={a}"))
    return _both(rows, [*_at(10, *pairs), *_at(1, *pairs), ("HDMJS s=r'", "HDMCS* s=r")])


def _both(rows: Sequence[Row], pairs: Sequence[tuple[str, str]]) -> str:
    rows = [row for row in _only(rows, simulator="seed") if row["delta"] in (0, 0.2, 0.4, 0.6, 0.8)]
    lines = [
        [data, structure, f"{ours} - {other}", n, *_over(part, ours, other, "accuracy", "delta")]
        for data, of_data in grouped(rows, "data")
        for structure, of_structure in grouped(of_data, "structure")
        for ours, other in pairs
        for n, part in grouped(of_structure, "n")
    ]
    return markdown(["data", "graph", "accuracy", "N", "0", "0.2", "0.4", "0.6", "0.8"], lines)


def _at(alpha: int, *pairs: tuple[str, str]) -> list[tuple[str, str]]:
    return [(ours.format(a=alpha), other.format(a=alpha)) for ours, other in pairs]


def _only(rows: Sequence[Row], **fields: Any) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def _over(rows: Sequence[Row], ours: str, other: str, measure: str, field: str) -> list[str]:
    cells = dict(grouped(rows, field))
    pairs = (_pair(cells[value], ours, other, measure) for value in sorted(cells))
    return [f"{mean:+.3f} ± {error:.3f}" for mean, error in pairs]


def _pair(rows: Sequence[Row], ours: str, other: str, measure: str) -> tuple[float, float]:
    by_name = dict(grouped(rows, "estimator"))
    values = [{row["repeat"]: row[measure] for row in by_name[name]} for name in (ours, other)]
    common = sorted(values[0].keys() & values[1].keys())
    if len(common) < 2:
        return mean_and_error([values[0][i] - values[1][i] for i in common])
    return paired(*([part[i] for i in common] for part in values))


CLAIMS = (
    ("Richer graphs help hierarchies", "sizes", richer_graphs),
    ("All methods are equal on all rows", "full", equal_on_all_rows),
    ("HDMCS* is the slowest on Diabetes", "sizes", slowest_on_diabetes),
    ("Divergence hurts naive Bayes more than TAN", "divergence", hurt_by_divergence),
    ("HDMCS* is worse than plain estimates with few rows", "both", small_and_diverging),
    ("Joint states share more with few rows", "both", joint_states),
)
