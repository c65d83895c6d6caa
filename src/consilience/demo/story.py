"""The demonstration: what the library sees in five hospitals, shown on a terminal.

Read it as an example of the public interface: each section asks the library one question.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

import consilience as cs
from consilience import _write
from consilience._typing import Floats
from consilience.demo.hospitals import REASONS, SOURCE, STATES, make_hospitals
from consilience.parameters.estimator import Estimator
from consilience.show.text import outline

__all__ = ["DAG", "STRONG", "WAYS", "compare", "tell"]

DAG = cs.DAG.parse(
    "[age][sex][smoking|sex][diabetes|age][hypertension|age][disease|age:smoking]"
    "[chest_pain|disease:diabetes][ecg|disease:hypertension][troponin|disease]"
)

WAYS: dict[str, Estimator] = {
    "pooled": cs.Pooled(cs.Dirichlet(per_cell=1)),
    "separate": cs.Separate(cs.Dirichlet(per_cell=1)),
    "hierarchical": cs.HDC(),
}
N_FOLDS = 5

STRONG = 3.0
"""Nats of evidence that are worth mentioning: odds of 20 to 1."""


def tell(console: Console, *, svg_path: Path | None = None) -> None:
    """Tell the whole story; write a model and a picture to a temporary folder or where asked."""
    start = time.perf_counter()
    console.print("[bold]Five hospitals, one network[/]")
    table = cs.read(make_hospitals(), source=SOURCE, states=STATES)
    tell_data(console, table)
    net = cs.fit(DAG, table, WAYS["hierarchical"])
    tell_differences(console, net)
    tell_comparison(console, table, compare(table))
    tell_answers(console, net)
    tell_files(console, net, svg_path)
    seconds = time.perf_counter() - start
    console.print(f"\nAll this took {seconds:.1f} s (a first run also compiles and takes longer).")


def tell_data(console: Console, table: cs.Table) -> None:
    """What was read, and what is missing where."""
    _heading(console, "1. The data")
    console.print(str(table.describe()), markup=False)
    gaps = [name for name in table.variables if any(m[name] for m in table.missing.values())]
    grid = _grid("hospital", "rows", *gaps)
    for f, hospital in enumerate(table.sources):
        rows = np.equal(table.column(SOURCE), f)
        shares = [_percent(table.missing[hospital][name]) for name in gaps]
        grid.add_row(hospital, f"{rows.sum():,}", *shares)
    console.print("\nRows, and the share missing in each column with gaps:\n")
    console.print(grid)
    never = [
        f"The {hospital} hospital never recorded {name}."
        for hospital, shares in table.missing.items()
        for name in gaps
        if shares[name] == 1
    ]
    console.print(*never)


def tell_differences(console: Console, net: cs.Network) -> None:
    """Which families differ between the hospitals, by the evidence for sharing their tables."""
    _heading(console, "2. Where the hospitals differ")
    console.print(
        "How much more probable the rows are if the hospitals' tables are tied together but may\n"
        "differ, or are separate, than if all hospitals share one table (log evidence, nats).\n"
    )
    grid = _grid("family", "hierarchical", "separate", "verdict", left=("family", "verdict"))
    for child, gain in sorted(gains(net).items(), key=lambda item: -max(item[1].values())):
        parents = net.dag.without(SOURCE).parents(child)
        verdict = "the hospitals differ" if max(gain.values()) > STRONG else "one table will do"
        grid.add_row(
            f"{child}{' | ' if parents else ''}{', '.join(parents)}",
            *(f"{gain[way]:+.0f}" for way in ("hierarchical", "separate")),
            verdict,
        )
    console.print(grid)
    console.print("The rows were made so that exactly three families differ:")
    for child, reason in REASONS.items():
        console.print(f"  {child}: {reason}")


def tell_comparison(console: Console, table: cs.Table, scores: Mapping[str, Floats]) -> None:
    """How well each way of sharing predicts rows that were not used to fit it."""
    _heading(console, "3. One table for all hospitals, one for each, or something between?")
    console.print(
        f"Mean log-likelihood of a row, held out in one of {N_FOLDS} folds, what is missing\n"
        "summed out; higher is better.\n"
    )
    grid = _grid("hospital", "rows", *scores)
    everything = np.ones(table.n_rows, bool)
    parts = [(h, np.equal(table.column(SOURCE), f)) for f, h in enumerate(table.sources)]
    for hospital, rows in [*parts, ("all", everything)]:
        means = [float(score[rows].mean()) for score in scores.values()]
        shown = [_starred(mean, max(means)) for mean in means]
        grid.add_row(hospital, f"{rows.sum():,}", *shown)
    console.print(grid)
    console.print(
        "A hospital with many rows can afford tables of its own; one with few is better served by\n"
        "the rows of all. The hierarchy learns from the rows how strongly to tie them together."
    )


def tell_answers(console: Console, net: cs.Network) -> None:
    """The network, and one question asked for every hospital, an unknown one and a new one."""
    _heading(console, "4. One network answers for every hospital")
    console.print(repr(net) + "\n", markup=False)
    console.print(outline(net.dag.without(SOURCE)), markup=False)
    low, high = cs.estimators.parameter_intervals(net, "disease", level=0.95)
    case = {"age": "50-69", "smoking": "yes"}
    yes = net.variables["disease"].code("yes")
    grid = _grid("hospital", "P(disease)", "95 % interval")
    for f, hospital in enumerate(net.variables[SOURCE].discrete_states):
        cell = (f, *(net.variables[name].code(state) for name, state in case.items()), yes)
        belief = net.query("disease", given={**case, SOURCE: hospital})
        grid.add_row(hospital, f"{belief['yes']:.2f}", f"{low[cell]:.2f} to {high[cell]:.2f}")
    unknown = net.query("disease", given=case)
    grid.add_row("(not known)", f"{unknown['yes']:.2f}", "")
    console.print("\nDisease in a smoker aged 50-69; few rows make wide intervals, and a hospital")
    console.print("never seen before ('new_source') has what the others have in common:\n")
    console.print(grid)


def gains(net: cs.Network) -> dict[str, dict[str, float]]:
    """Log evidence of tied and of separate tables less that of pooled ones, for each family."""
    return {
        child: {
            way: value - evidence["pooled"] for way, value in evidence.items() if way != "pooled"
        }
        for child, evidence in net.record.pooling.items()
    }


def tell_files(console: Console, net: cs.Network, svg_path: Path | None) -> None:
    """Save the model and its picture, and say what to do with them."""
    _heading(console, "5. Files")
    folder = Path(tempfile.mkdtemp(prefix="consilience-"))
    model, picture = folder / "hospitals.json", svg_path or folder / "hospitals.svg"
    cs.save(net, model)
    _write.write_text(cs.svg(net, title="Five hospitals"), picture)
    console.print(
        f"model    {model}", f"picture  {picture}", sep="\n", markup=False, soft_wrap=True
    )
    console.print("\nTry next:")
    for command in (
        f"show {model} --node troponin",
        f"query {model} disease --given {SOURCE}=new_source --given troponin=high",
        f"sample {model} 5 --given {SOURCE}=island",
    ):
        console.print(f"  consilience {command}", markup=False, soft_wrap=True)


def compare(table: cs.Table) -> dict[str, Floats]:
    """Log-likelihood of each held-out row given its hospital, for three ways of sharing."""
    scores = {way: np.zeros(table.n_rows) for way in WAYS}
    fold = np.arange(table.n_rows) % N_FOLDS
    for k in range(N_FOLDS):
        training, held_out = table.take(fold != k), table.take(fold == k)
        for way, estimator in WAYS.items():
            net = cs.fit(DAG, training, estimator)
            share = np.log(net.tables[SOURCE].table)[held_out.source_codes]
            scores[way][fold == k] = net.log_likelihood(held_out) - share
    return scores


def _heading(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/]\n")


def _grid(*columns: str, left: Iterable[str] = ("hospital",)) -> Grid:
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in columns:
        grid.add_column(name, justify="left" if name in left else "right")
    return grid


def _percent(share: float) -> str:
    return "-" if share == 0 else f"{share:.0%}"


def _starred(mean: float, best: float) -> str:
    return f"[bold]{mean:.3f}*[/]" if mean == best else f"{mean:.3f} "
