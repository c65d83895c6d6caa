"""What to do about gaps: six ways to parameters and four to graphs, under three mechanisms.

The truth is asia, alarm, or the graph of learning.test with its parameters from all 5,000 rows.
Rows are drawn from it and then lose 5 to 50 % of their values: completely at random (MCAR),
depending on columns that are always known (MAR), or depending on the lost value itself (MNAR). Rows
and gaps are the same for all ways, so that differences between ways are differences of pairs.

**Parameters**, for the true graph, always by ``Dirichlet(ess=1)``; the measure is the relative
entropy of the truth to what was estimated, in nats, exact.

- complete cases: only rows without any gap; nothing is measured where no row is left
- available cases: each family by the rows that are complete for it
- mode imputation: every gap filled with the most frequent state of its column
- EM: ``cs.fit(..., gaps=cs.EM())``, the default
- data augmentation: the posterior mean by ``cs.gaps.augment``
- no gaps: what the same rows give before they lose values

**Structure**; the measure is the SHD between the classes of the true and the learned graph.

- complete cases, mode imputation, no gaps: hill climbing with BIC
- structural EM: ``cs.learn(rows)``, the default
- PNAL: ``cs.learn(rows, score=cs.scores.PNAL())``

    CONSILIENCE_DATA=folder python experiments/missing.py run [--repeats 6]
        [--networks asia,alarm,learning.test] [--mechanisms MCAR,MAR,MNAR] [--out folder]
    CONSILIENCE_DATA=folder python experiments/missing.py summary

``run`` can be stopped and goes on where it was. alarm, which takes most of the time, has 1,000 rows
only and a third of the repeats.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import missing_report as report
import numpy as np
from cells import finished, run
from preparation import imputed

import consilience as cs

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
SIZES = {"asia": (1_000, 5_000), "learning.test": (1_000, 5_000), "alarm": (1_000,)}
CAUSES = {"asia": ("dysp", "smoke"), "learning.test": ("D", "E"), "alarm": ("BP", "EXPCO2")}
"""Columns that decide about the gaps of the others under MAR, and have none themselves."""

MECHANISMS = ("MCAR", "MAR", "MNAR")
FEWER = {"alarm": 3}
"""The repeats are divided by this."""

CHAINS, DRAWS, WARMUP = 2, 150, 100
LEARNING_TEST = "[A][C][F][B|A][D|A:C][E|B:F]"

Row = dict[str, Any]
RESULTS = click.option(
    "--results", "--out", type=click.Path(path_type=Path), default=Path("results/missing")
)


@dataclass(frozen=True)
class Cell:
    network: str
    n_rows: int
    mechanism: str
    share: float
    repeat: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("run")
@click.option("--repeats", default=6, show_default=True)
@click.option("--networks", default=",".join(SIZES), show_default=True)
@click.option("--mechanisms", default=",".join(MECHANISMS), show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--processes", default=1, show_default=True)
@RESULTS
def run_all(
    repeats: int, networks: str, mechanisms: str, seed: int, processes: int, results: Path
) -> None:
    """Compute what is not there yet; every repeat of everything before the next one."""
    keys = [
        Cell(name, n_rows, mechanism, share, repeat)
        for repeat in range(repeats)
        for name in chosen("networks", networks, tuple(SIZES))
        if repeat < max(1, repeats // FEWER.get(name, 1))
        for n_rows, mechanism, share in product(
            SIZES[name], chosen("mechanisms", mechanisms, MECHANISMS), SHARES
        )
    ]
    settings = {"seed": seed, "chains": CHAINS, "draws": DRAWS, "warmup": WARMUP}
    run(
        results / "cells.jsonl",
        keys,
        partial(compared, seed=seed),
        processes=processes,
        title="missing",
        settings=settings,
    )


@main.command()
@RESULTS
def summary(results: Path) -> None:
    """Tables and figures of the cells that are finished."""
    rows = finished(results / "cells.jsonl")
    text = report.tables(rows)
    (results / "tables.md").write_text(text, encoding="utf-8")
    for task in report.TASKS:
        report.figure(rows, task, results / f"missing-{task}.png")
    click.echo(text)


def chosen(option: str, text: str, known: tuple[str, ...]) -> list[str]:
    """The names of a list, each of which must be known."""
    names = text.split(",")
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}.", param_hint=option)
    return names


def compared(key: Cell, *, seed: int = 0) -> list[Row]:
    """All ways on the same rows with the same gaps."""
    net, whole, table, complete = drawn(key, seed=seed)
    told = [*parameters(net, whole, table, complete), *structures(net, whole, table, complete)]
    return [one | {"left": complete.n_rows} for one in told]


def drawn(key: Cell, *, seed: int = 0) -> tuple[cs.Network, cs.Table, cs.Table, cs.Table]:
    """The truth, its rows, the rows with gaps, and those of them that have none."""
    net = truth(key.network)
    place = list(SIZES).index(key.network)
    rng = np.random.default_rng([seed, place, key.n_rows, key.repeat])
    whole = net.sample(key.n_rows, seed=rng)
    cut = np.random.default_rng([seed, place, key.n_rows, key.repeat, round(1000 * key.share)])
    table = cs.simulate.with_gaps(whole, mechanism(key), seed=cut)
    return net, whole, table, without_gaps(table)


def parameters(
    net: cs.Network, whole: cs.Table, table: cs.Table, complete: cs.Table
) -> Iterator[Row]:
    """Relative entropy of the truth to what each way gives for the true graph."""
    prior = cs.Dirichlet(ess=1)
    ways: dict[str, Callable[[], cs.Network]] = {
        "complete cases": lambda: cs.fit(net.dag, complete, prior),
        "available cases": lambda: cs.fit(net.dag, table, prior, gaps=cs.AvailableCases()),
        "mode imputation": lambda: cs.fit(net.dag, imputed(table), prior),
        "EM": lambda: cs.fit(net.dag, table, prior, gaps=cs.EM()),
        "data augmentation": lambda: augmented(net.dag, table, prior),
        "no gaps": lambda: cs.fit(net.dag, whole, prior),
    }
    for way, fit in ways.items():
        is_empty = way == "complete cases" and complete.n_rows == 0
        start = time.perf_counter()
        found = None if is_empty else fit()
        seconds = time.perf_counter() - start
        value = None if found is None else cs.kl_divergence(net, found)
        yield {"task": "parameters", "way": way, "value": value, "seconds": seconds}


def structures(
    net: cs.Network, whole: cs.Table, table: cs.Table, complete: cs.Table
) -> Iterator[Row]:
    """SHD of what each way learns to the true graph."""
    ways: dict[str, Callable[[], cs.DAG]] = {
        "complete cases": lambda: cs.learn(complete),
        "mode imputation": lambda: cs.learn(imputed(table)),
        "structural EM": lambda: cs.learn(table),
        "PNAL": lambda: cs.learn(table, score=cs.scores.PNAL()),
        "no gaps": lambda: cs.learn(whole),
    }
    for way, learn in ways.items():
        is_empty = way == "complete cases" and complete.n_rows == 0
        start = time.perf_counter()
        found = None if is_empty else learn()
        seconds = time.perf_counter() - start
        value = None if found is None else cs.shd(found, net.dag)
        yield {"task": "structure", "way": way, "value": value, "seconds": seconds}


def augmented(dag: cs.DAG, table: cs.Table, prior: cs.Dirichlet) -> cs.Network:
    return cs.gaps.augment(
        dag, table, prior, chains=CHAINS, draws=DRAWS, warmup=WARMUP, seed=1
    ).network


def mechanism(key: Cell) -> cs.simulate.MCAR | cs.simulate.MAR | cs.simulate.MNAR:
    if key.mechanism == "MAR":
        return cs.simulate.MAR(key.share, causes=CAUSES[key.network])
    return cs.simulate.MCAR(key.share) if key.mechanism == "MCAR" else cs.simulate.MNAR(key.share)


def without_gaps(table: cs.Table) -> cs.Table:
    """The rows that have everything."""
    return table.take(np.all([table.column(name) >= 0 for name in table.variables], axis=0))


@cache
def truth(name: str) -> cs.Network:
    folder = os.environ.get("CONSILIENCE_DATA")
    if not folder:
        raise SystemExit("CONSILIENCE_DATA must name the folder of public data sets.")
    if name == "learning.test":
        rows = cs.read(Path(folder) / "bnlearn" / "learning.test.csv")
        return cs.fit(cs.DAG.parse(LEARNING_TEST), rows, cs.Dirichlet(ess=1))
    return cs.load(Path(folder) / "networks" / f"{name}.bif")


if __name__ == "__main__":
    main()
