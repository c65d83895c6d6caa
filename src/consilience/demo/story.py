"""The demonstration: what the library sees in five hospitals, told on a terminal.

Read it as an example of the public interface: each section asks the library one question.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

import consilience as cs
from consilience._typing import Floats
from consilience.demo.differences import Difference, differences
from consilience.demo.hospitals import REASONS, SOURCE, STATES, make_hospitals
from consilience.show.text import outline

__all__ = ["DAG", "by_source", "compare", "tell"]

DAG = cs.DAG.parse(
    "[age][sex][smoking|sex][diabetes|age][hypertension|age][disease|age:smoking]"
    "[chest_pain|disease:diabetes][ecg|disease:hypertension][troponin|disease]"
)

PRIOR = cs.Dirichlet(per_cell=1)
N_FOLDS = 5


def tell(console: Console, *, svg_path: Path | None = None) -> None:
    """Tell the whole story; write a model and a picture to a temporary folder or where asked."""
    start = time.perf_counter()
    console.print("[bold]Five hospitals, one network[/]")
    table = cs.read(make_hospitals(), source=SOURCE, states=STATES)
    tell_data(console, table)
    found = differences(table, DAG)
    tell_differences(console, found)
    tell_comparison(console, table, compare(table))
    net = cs.fit(by_source(DAG, worthwhile(found)), table, PRIOR)
    tell_network(console, net)
    tell_files(console, net, svg_path)
    seconds = time.perf_counter() - start
    console.print(f"\nAll this took {seconds:.1f} s (a first run also compiles and takes longer).")


def tell_data(console: Console, table: cs.Table) -> None:
    """What was read, and what is missing where."""
    _heading(console, "1. The data")
    console.print(str(table.describe()), markup=False)
    gaps = [name for name in table.variables if any(m[name] for m in table.missing.values())]
    complete = is_complete(table)
    grid = _grid("hospital", "rows", "complete", *gaps)
    for f, hospital in enumerate(table.sources):
        rows = np.equal(table.column(SOURCE), f)
        shares = [_percent(table.missing[hospital][name]) for name in gaps]
        grid.add_row(hospital, f"{rows.sum():,}", f"{(rows & complete).sum():,}", *shares)
    console.print("\nRows, complete rows, and the share missing in each column with gaps:\n")
    console.print(grid)
    never = [
        f"The {hospital} hospital never recorded {name}."
        for hospital, shares in table.missing.items()
        for name in gaps
        if shares[name] == 1
    ]
    console.print(*never)


def tell_differences(console: Console, found: Iterable[Difference]) -> None:
    """Which families differ between the hospitals by more than chance would have it."""
    _heading(console, "2. Where the hospitals differ")
    console.print(
        "For each family: how much better tables of their own would fit the hospitals, how many\n"
        "parameters that would cost, and what is left after the penalty of BIC (all in nats).\n"
    )
    grid = _grid("family", "gain", "extra", "worth", "verdict", left=("family", "verdict"))
    for one in found:
        verdict = "own tables pay" if one.worth > 0 else "one table will do"
        parents = f" | {', '.join(one.family.parents)}" if one.family.parents else ""
        grid.add_row(
            f"{one.family.child}{parents}",
            f"{one.gain:.0f}",
            str(one.n_extra),
            f"{one.worth:+.0f}",
            verdict,
        )
    console.print(grid)
    console.print("The rows were made so that exactly three families differ:")
    for child, reason in REASONS.items():
        console.print(f"  {child}: {reason}")


def tell_comparison(console: Console, table: cs.Table, scores: Mapping[str, Floats]) -> None:
    """How well each way of sharing predicts rows that were not used to fit it."""
    _heading(console, "3. One table for all hospitals, or one for each?")
    console.print(
        f"Mean log-likelihood of a complete row, held out in one of {N_FOLDS} folds; higher is "
        "better.\n"
    )
    grid = _grid("hospital", "rows", *scores)
    means = {}
    for f, hospital in enumerate(table.sources):
        rows = np.equal(table.column(SOURCE), f) & is_complete(table)
        if rows.any():
            means[hospital] = {way: float(score[rows].mean()) for way, score in scores.items()}
            best = max(means[hospital].values())
            shown = [_starred(mean, best) for mean in means[hospital].values()]
        else:
            shown = ["-"] * len(scores)
        grid.add_row(hospital, f"{rows.sum():,}", *shown)
    console.print(grid)
    for better, worse in (("own", "pooled"), ("pooled", "own")):
        which = [name for name, mean in means.items() if mean[better] > mean[worse]]
        console.print(
            f"{better.capitalize()} tables beat {worse} ones in: {', '.join(which) or '-'}."
        )
    console.print(
        "A hospital with many rows can afford tables of its own; one with few is better served by\n"
        "the rows of all. The mixed network has own tables only for the families of section 2."
    )


def tell_network(console: Console, net: cs.Network) -> None:
    """The mixed network: its graph, and how sure it is of one probability in each hospital."""
    _heading(console, "4. The mixed network")
    console.print(repr(net) + "\n", markup=False)
    console.print(outline(net), markup=False)
    low, high = cs.intervals(net, "disease", level=0.95)
    age, smoking, yes = (net.variables[n].code(s) for n, s in CASE)
    grid = _grid("hospital", "P(disease)", "95 % interval")
    for f, hospital in enumerate(net.variables[SOURCE].discrete_states):
        cell = (f, age, smoking, yes)
        grid.add_row(
            hospital, f"{net['disease'].table[cell]:.2f}", f"{low[cell]:.2f} to {high[cell]:.2f}"
        )
    console.print("\nDisease in a smoker aged 50-69; few rows make wide intervals:\n")
    console.print(grid)


CASE = (("age", "50-69"), ("smoking", "yes"), ("disease", "yes"))


def tell_files(console: Console, net: cs.Network, svg_path: Path | None) -> None:
    """Save the model and its picture, and say what to do with them."""
    _heading(console, "5. Files")
    folder = Path(tempfile.mkdtemp(prefix="consilience-"))
    model, picture = folder / "hospitals.json", svg_path or folder / "hospitals.svg"
    cs.save(net, model)
    picture.write_text(cs.svg(net, title="Five hospitals"), encoding="utf-8")
    console.print(
        f"model    {model}", f"picture  {picture}", sep="\n", markup=False, soft_wrap=True
    )
    console.print("\nTry next:")
    for command in (f"show {model} --node troponin", f"sample {model} 5 --given {SOURCE}=island"):
        console.print(f"  consilience {command}", markup=False, soft_wrap=True)


def compare(table: cs.Table) -> dict[str, Floats]:
    """Log-likelihood of each held-out complete row given its hospital, for three ways of sharing.

    Rows that are not complete get zero. The families of the mixed network are chosen anew in every
    fold, without the rows that are held out.
    """
    ways: dict[str, Callable[[cs.Table], cs.DAG]] = {
        "pooled": lambda _: DAG,
        "own": lambda _: by_source(DAG, DAG.nodes),
        "mixed": lambda rows: by_source(DAG, worthwhile(differences(rows, DAG))),
    }
    scores = {way: np.zeros(table.n_rows) for way in ways}
    fold = np.arange(table.n_rows) % N_FOLDS
    for k in range(N_FOLDS):
        training, held_out = table.take(fold != k), (fold == k) & is_complete(table)
        rows = table.take(held_out)
        for way, graph in ways.items():
            net = cs.fit(graph(training), training, PRIOR)
            share = np.log(net[SOURCE].table)[rows.source_codes]
            scores[way][held_out] = net.log_likelihood(rows) - share
    return scores


def by_source(dag: cs.DAG, children: Iterable[str]) -> cs.DAG:
    """The graph in which the hospital is a parent of these nodes."""
    arcs = [(SOURCE, child) for child in children]
    return cs.DAG([*arcs, *dag.arcs], nodes=[SOURCE, *dag.nodes])


def worthwhile(found: Iterable[Difference]) -> list[str]:
    """The children of the families for which own tables pay."""
    return [one.family.child for one in found if one.worth > 0]


def is_complete(table: cs.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether nothing is missing, for each row."""
    return np.all([column >= 0 for column in table.columns.values()], axis=0)


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
