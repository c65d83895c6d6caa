"""Graphs from related data sets: the hierarchical score against pooled and separate ones.

**Recovery.** Eight sources of 50 rows share a random graph of 8 variables (two or three states, 10
arcs, at most 2 parents). The tables of a source are drawn around common ones (Dirichlet with a
total of 100, so that they are nearly alike) and then made to diverge by delta
(``consilience.simulate.diverge``). Graphs are learned by the default search; the measure is the
structural Hamming distance (SHD) between the classes of the learned and the true graph. All scores
see the same rows, and all deltas the same graphs.

**Invention.** Variables of three states are independent in every source, but their margins differ:
each source's is drawn from a Dirichlet with the total ``spread`` around a common one, which is even
(a spread of 3 then makes all margins equally likely) or itself drawn uniformly ("skewed": mostly
far from even). For two variables in four sources the measure is the share of runs in which the arc
has a better score than none; for eight variables in eight sources of 100 rows, the number of arcs
of the learned graph, out of 28 pairs.

    python experiments/related.py run [--repeats 50] [--processes 1]
    python experiments/related.py summary

``run`` can be stopped and goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from cells import finished, mean_and_error, run

import consilience as cs
from consilience.data.table import Table, code_type
from consilience.data.variable import Schema, Variable
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.network.network import Network

SCORES: dict[str, Any] = {
    "BHD": cs.BHD(s=10, ess=10),
    "pooled BDeu 1": cs.BDeu(ess=1),
    "pooled BDeu 10": cs.BDeu(ess=10),
    "separate BDeu 1": cs.scores.PerSource(cs.BDeu(ess=1)),
    "separate BDeu 10": cs.scores.PerSource(cs.BDeu(ess=10)),
}
DELTAS = (0.0, 0.2, 0.4, 0.6, 0.8)
COMMON = ("even", "skewed")
SPREADS = (3.0, 10.0)
SIZES = (20, 100, 500)
N_SOURCES, N_ROWS, N_VARIABLES, N_ARCS = 8, 50, 8, 10
NEARLY_ALIKE = 100.0
PAIRS_PER_CELL = 6
"""Runs with two variables are short: so many make a cell, 300 with 50 repeats."""

Row = dict[str, Any]
RESULTS = click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results/related")
)


@dataclass(frozen=True)
class Recovery:
    delta: float
    repeat: int


@dataclass(frozen=True)
class Pair:
    common: str
    spread: float
    n_rows: int
    repeat: int


@dataclass(frozen=True)
class Eight:
    common: str
    spread: float
    repeat: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("run")
@click.option("--repeats", default=50, show_default=True)
@click.option("--processes", default=1, show_default=True)
@RESULTS
def run_all(repeats: int, processes: int, results: Path) -> None:
    """Compute what is not there yet."""
    settings = {name: repr(score) for name, score in SCORES.items()}
    every = range(repeats)
    studies: dict[str, tuple[Any, Sequence[Any]]] = {
        "pair": (invented_arc, [Pair(*key) for key in product(COMMON, SPREADS, SIZES, every)]),
        "eight": (invented_arcs, [Eight(*key) for key in product(COMMON, SPREADS, every)]),
        "recovery": (recovered, [Recovery(*key) for key in product(DELTAS, every)]),
    }
    for name, (work, keys) in studies.items():
        path = results / f"{name}.jsonl"
        run(path, keys, work, processes=processes, title=f"related {name}", settings=settings)


@main.command()
@RESULTS
def summary(results: Path) -> None:
    """Write the tables of the cells that are finished."""
    recovery = finished(results / "recovery.jsonl")
    text = "\n".join(
        [
            "SHD between classes, eight sources of 50 rows: mean and standard error\n",
            _table(recovery, ("delta",), "shd"),
            "SHD less that of BHD on the same rows\n",
            _table(_less_that_of_bhd(recovery), ("delta",), "shd"),
            f"Arcs found; {N_ARCS} are true\n",
            _table(recovery, ("delta",), "arcs"),
            "How much the sources differ: mean total variation between the tables of two\n",
            _table([row | {"score": "all"} for row in recovery], ("delta",), "divergence"),
            "Share of runs that invent the arc of two independent variables, four sources\n",
            _table(finished(results / "pair.jsonl"), ("common", "spread", "n_rows"), "invented"),
            "Arcs invented among 28 pairs of independent variables, eight sources of 100 rows\n",
            _table(finished(results / "eight.jsonl"), ("common", "spread"), "invented"),
        ]
    )
    (results / "tables.md").write_text(text, encoding="utf-8")
    click.echo(text)


def recovered(key: Recovery) -> list[Row]:
    """Distance of the learned from the true graph, for each score."""
    rng = np.random.default_rng([1, key.repeat])
    names = [f"X{i}" for i in range(N_VARIABLES)]
    dag = cs.random_dag(names, n_arcs=N_ARCS, max_parents=2, seed=rng)
    sizes = {name: int(rng.integers(2, 4)) for name in names}
    pooled = cs.random_network(dag, n_states=sizes, seed=rng)
    net = cs.simulate.diverge(_with_sources(pooled, rng), pooled, key.delta)
    table = _rows_by_source(net, N_ROWS, rng)
    found = {name: cs.learn(table, score=score) for name, score in SCORES.items()}
    return [
        {
            "score": name,
            "shd": cs.shd(learned, dag),
            "arcs": len(learned.arcs),
            "divergence": cs.simulate.realized_divergence(net),
        }
        for name, learned in found.items()
    ]


def invented_arc(key: Pair) -> list[Row]:
    """For each score the share of some runs in which two independent variables are joined."""
    joined = dict.fromkeys(SCORES, 0)
    for one in range(PAIRS_PER_CELL):
        rng = np.random.default_rng([2, key.repeat, one])
        table = _independent(2, 4, key.n_rows, key, rng)
        for name, score in SCORES.items():
            arc, none = (
                cs.score(graph, table, score)
                for graph in (cs.DAG([("X0", "X1")]), cs.DAG(nodes=["X0", "X1"]))
            )
            joined[name] += arc > none
    return [{"score": name, "invented": n / PAIRS_PER_CELL} for name, n in joined.items()]


def invented_arcs(key: Eight) -> list[Row]:
    """For each score the arcs of a graph learned from independent variables."""
    rng = np.random.default_rng([3, key.repeat])
    table = _independent(N_VARIABLES, N_SOURCES, 100, key, rng)
    return [
        {"score": name, "invented": len(cs.learn(table, score=score).arcs)}
        for name, score in SCORES.items()
    ]


def _with_sources(pooled: Network, rng: np.random.Generator) -> Network:
    """A network with a source, whose tables are nearly those of a network without."""
    source = Variable("source", tuple(f"f{i}" for i in range(N_SOURCES)))
    local = [Categorical(source, (), np.full(N_SOURCES, 1 / N_SOURCES))]
    for one in pooled.distributions.values():
        sizes = NEARLY_ALIKE * np.maximum(one.table, 1e-6)
        tables = np.stack([DirichletPosterior(sizes).draw(rng) for _ in range(N_SOURCES)])
        local.append(Categorical(one.child, (source, *one.given), tables))
    return Network.of(local, source="source")


def _rows_by_source(net: Network, n_rows: int, rng: np.random.Generator) -> Table:
    """As many rows of every source."""
    parts = [
        net.sample(n_rows, given={"source": f}, seed=rng)
        for f in net.variables["source"].discrete_states
    ]
    columns = {
        name: np.concatenate([part.column(name) for part in parts]) for name in parts[0].variables
    }
    source = np.repeat(np.arange(len(parts)), n_rows).astype(code_type(len(parts)))
    return Table(parts[0].schema, columns, source)


def _independent(
    n_variables: int, n_sources: int, n_rows: int, key: Pair | Eight, rng: np.random.Generator
) -> Table:
    """Independent variables of three states whose margins differ by source."""
    names = [f"X{i}" for i in range(n_variables)]
    variables = {name: Variable(name, ("0", "1", "2")) for name in names}
    columns = {}
    for name in names:
        drawn = rng.dirichlet(np.ones(3))
        common = np.full(3, 1 / 3) if key.common == "even" else np.maximum(drawn, 1e-6)
        margins = rng.dirichlet(key.spread * common, size=n_sources)
        parts = [rng.choice(3, n_rows, p=margin) for margin in margins]
        columns[name] = np.concatenate(parts).astype(code_type(3))
    source = Variable("source", tuple(f"f{i}" for i in range(n_sources)))
    codes = np.repeat(np.arange(n_sources), n_rows).astype(code_type(n_sources))
    return Table(Schema(variables, source), columns, codes)


def _less_that_of_bhd(rows: list[Row]) -> list[Row]:
    bhd = {(row["delta"], row["repeat"]): row["shd"] for row in rows if row["score"] == "BHD"}
    return [
        row | {"shd": row["shd"] - bhd[row["delta"], row["repeat"]]}
        for row in rows
        if row["score"] != "BHD"
    ]


def _table(rows: list[Row], keys: tuple[str, ...], measure: str) -> str:
    """Markdown: a line for each combination of keys, a column for each score."""
    scores = list(dict.fromkeys(row["score"] for row in rows))
    lines = [" | ".join([*keys, *scores]), " | ".join(["---"] * (len(keys) + len(scores)))]
    for values in sorted({tuple(row[key] for key in keys) for row in rows}):
        cells = [
            mean_and_error(
                row[measure]
                for row in rows
                if row["score"] == score and tuple(row[key] for key in keys) == values
            )
            for score in scores
        ]
        texts = [value if isinstance(value, str) else f"{value:g}" for value in values]
        texts += [f"{mean:.2f} ± {error:.2f}" for mean, error in cells]
        lines.append(" | ".join(texts))
    return "\n".join(f"| {line} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
