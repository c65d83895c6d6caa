"""Graphs from rows with gaps: prices of PNAL, structural EM, and complete rows alone.

Rows are drawn from a known network, and a share of all values, chosen at random, is taken out. The
measure is the structural Hamming distance (SHD) between the classes of the learned and the true
graph. All methods see the same rows; "no gaps" sees them before the values are taken out.

    python experiments/incomplete_graphs.py run --data FOLDER [--repeats 10]
    python experiments/incomplete_graphs.py summary

``--data`` is the folder of public data sets. ``run`` can be stopped and goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from cells import finished, mean_and_error, run

import consilience as cs
from consilience.data.table import Table

SEARCH = cs.HillClimb(restarts=20)
NETWORKS = ("learning.test", "asia", "alarm")
SIZES = (500, 5000)
SHARES = (0.05, 0.1, 0.3, 0.5)
FEWER = {"alarm": 5}
"""Networks with fewer repeats, and how many times fewer."""

Row = dict[str, Any]
RESULTS = click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results/incomplete_graphs")
)


@dataclass(frozen=True)
class Cell:
    network: str
    n_rows: int
    share: float
    repeat: int


def _by_complete_rows(table: Table) -> cs.DAG:
    """The graph of the rows without gaps; without arcs if there are none."""
    rows = table.take(np.logical_and.reduce([column >= 0 for column in table.columns.values()]))
    if not rows.n_rows:
        return cs.DAG(nodes=list(table.variables))
    return cs.learn(rows, score=cs.BIC(), search=SEARCH)


METHODS: dict[str, Callable[[Table], cs.DAG]] = {
    "complete rows": _by_complete_rows,
    "PNAL 0.08": lambda rows: cs.learn(rows, score=cs.scores.PNAL(c=0.08), search=SEARCH),
    "PNAL 0.16": lambda rows: cs.learn(rows, score=cs.scores.PNAL(c=0.16), search=SEARCH),
    "PNAL 0.25": lambda rows: cs.learn(rows, score=cs.scores.PNAL(c=0.25), search=SEARCH),
    "PNAL 0.5": lambda rows: cs.learn(rows, score=cs.scores.PNAL(c=0.5), search=SEARCH),
    "structural EM": lambda rows: cs.learn(rows, search=SEARCH),
}


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("run")
@click.option("--data", type=click.Path(exists=True, path_type=Path), envvar="CONSILIENCE_DATA")
@click.option("--repeats", default=10, show_default=True)
@RESULTS
def run_all(data: Path, repeats: int, results: Path) -> None:
    """Compute what is not there yet."""
    keys = [
        Cell(network, n_rows, share, repeat)
        for network, n_rows, share in product(NETWORKS, SIZES, SHARES)
        for repeat in range(max(1, repeats // FEWER.get(network, 1)))
    ]
    nets = {name: network_of(name, data) for name in NETWORKS}
    run(
        results / "cells.jsonl",
        keys,
        lambda key: learned(key, nets[key.network]),
        title="incomplete graphs",
        settings={"methods": list(METHODS), "search": repr(SEARCH)},
    )


@main.command()
@RESULTS
def summary(results: Path) -> None:
    """Print the table of the cells that are finished."""
    rows = finished(results / "cells.jsonl")
    methods = ["no gaps", *METHODS]
    lines = [
        "| | rows | missing | " + " | ".join(methods) + " |",
        "|---" * (3 + len(methods)) + "|",
    ]
    for network, n_rows, share in product(NETWORKS, SIZES, SHARES):
        here = [
            r for r in rows if (r["network"], r["n_rows"], r["share"]) == (network, n_rows, share)
        ]
        if here:
            means = [
                mean_and_error([r["shd"] for r in here if r["method"] == m])[0] for m in methods
            ]
            cells = " | ".join(f"{mean:.1f}" for mean in means)
            lines.append(f"| {network} | {n_rows:,} | {share:.0%} | {cells} |")
    click.echo("\n".join(lines))


def network_of(name: str, data: Path) -> cs.Network:
    """The network that rows are drawn from."""
    if name != "learning.test":
        return cs.load(data / "networks" / f"{name}.bif")
    rows = cs.read(data / "bnlearn" / "learning.test.csv")
    return cs.fit(cs.DAG.parse("[A][C][F][B|A][D|A:C][E|B:F]"), rows, cs.MLE())


def learned(key: Cell, net: cs.Network) -> list[Row]:
    """Distance of the learned from the true graph, for each method."""
    rng = np.random.default_rng([key.repeat, key.n_rows])
    full = net.sample(key.n_rows, seed=rng)
    gaps = with_gaps(full, key.share, rng)
    found = {name: learn(gaps) for name, learn in METHODS.items()}
    found["no gaps"] = cs.learn(full, search=SEARCH)
    return [{"method": name, "shd": cs.shd(dag, net.dag)} for name, dag in found.items()]


def with_gaps(table: Table, share: float, rng: np.random.Generator) -> Table:
    """The table with a share of its values taken out completely at random."""
    columns = {
        name: np.where(rng.random(table.n_rows) < share, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    return cs.Table(table.schema, columns)


if __name__ == "__main__":
    main()
