"""Graphs from several sources: the default against pooled rows, where the truth is known.

- ``independent``: six columns that say nothing about each other, whose margins and means differ by
  source; the measure is the number of arcs invented.
- ``severity``: six binary columns with P(yes) = logistic(1.5 z), where z is one normal number a
  source; the same measure.
- ``sachs``, ``alarm``: rows of a known network, every table (1 - delta) times its own and delta
  times a random one of each source; the measure is the structural Hamming distance (SHD).
- ``regressions``: seven continuous columns with common slopes, with intercepts by source and
  without; SHD again.
- ``adult``: Adult by race, all rows; how many families the search could not judge.

    python experiments/source_graphs.py run --data FOLDER [--repeats 50] [--seeds 20]
    python experiments/source_graphs.py summary

``--data`` is the folder of public data sets. ``run`` can be stopped and goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from cells import finished, mean_and_error, paired, run

import consilience as cs
from consilience.data.table import Table
from consilience.structure.scores.score import Score

KINDS = ("discrete", "continuous", "mixed")
N_COLUMNS = 6
SIZES = {
    "independent": ((4, 100), (20, 100)),
    "severity": ((4, 100), (20, 100), (100, 100), (100, 20)),
    "sachs": ((4, 500), (10, 200), (20, 100)),
    "alarm": ((10, 200), (10, 1000), (50, 100)),
    "regressions": ((4, 100),),
}
DELTAS = {"sachs": (0.0, 0.2, 0.4, 0.6, 0.8), "alarm": (0.0,)}
SEVERITY = 1.5
REGRESSIONS = cs.DAG.parse("[a][b|a][c|a][d|b:c][e|d][f|c][g|e:f]")
SLOPE, SHIFT = 0.7, 1.0
METHODS: dict[str, Score | None] = {"default": None, "pooled": cs.BIC()}

Row = dict[str, Any]
RESULTS = click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results/source_graphs")
)


@dataclass(frozen=True)
class Cell:
    study: str
    kind: str
    delta: float
    n_sources: int
    n_rows: int
    repeat: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("run")
@click.option("--data", type=click.Path(exists=True, path_type=Path), envvar="CONSILIENCE_DATA")
@click.option("--repeats", default=50, show_default=True, help="Of independent columns.")
@click.option("--seeds", default=20, show_default=True, help="Of networks.")
@RESULTS
def run_all(data: Path, repeats: int, seeds: int, results: Path) -> None:
    """Compute what is not there yet."""
    nets = {name: cs.load(data / "networks" / f"{name}.bif") for name in DELTAS}
    for net in nets.values():  # loads the compiled loops, so that no cell pays for them
        learned(of_network(net, 2, 50, 0.5, np.random.default_rng(0)))
    run(
        results / "cells.jsonl",
        list(keys(repeats, seeds)),
        lambda key: cell(key, nets, data),
        title="source graphs",
        settings={"severity": SEVERITY, "slope": SLOPE, "shift": SHIFT},
    )


def keys(repeats: int, seeds: int) -> Iterable[Cell]:
    """All cells, the quick ones first."""
    for n_sources, n_rows in SIZES["independent"]:
        for kind in KINDS:
            yield from (
                Cell("independent", kind, 0.0, n_sources, n_rows, i) for i in range(repeats)
            )
    for n_sources, n_rows in SIZES["severity"]:
        yield from (Cell("severity", "discrete", 0.0, n_sources, n_rows, i) for i in range(repeats))
    for n_sources, n_rows in SIZES["regressions"]:
        for kind in ("shifted", "unshifted"):
            yield from (
                Cell("regressions", kind, 0.0, n_sources, n_rows, i) for i in range(repeats)
            )
    for name, deltas in DELTAS.items():
        for n_sources, n_rows in SIZES[name]:
            for delta in deltas:
                yield from (
                    Cell(name, "network", delta, n_sources, n_rows, i) for i in range(seeds)
                )
    yield Cell("adult", "race", 0.0, 5, 45222, 0)


def cell(key: Cell, nets: dict[str, cs.Network], data: Path) -> list[Row]:
    """What each method finds in the rows of a cell."""
    rng = np.random.default_rng([key.repeat, key.n_sources, key.n_rows])
    if key.study == "adult":
        return learned(adult(data))
    if key.study in nets:
        net = nets[key.study]
        return learned(of_network(net, key.n_sources, key.n_rows, key.delta, rng), net.dag)
    if key.study == "regressions":
        is_shifted = key.kind == "shifted"
        table = of_regressions(key.n_sources, key.n_rows, rng, is_shifted=is_shifted)
        return learned(table, REGRESSIONS)
    if key.study == "severity":
        return learned(of_severity(key.n_sources, key.n_rows, rng))
    return learned(of_independent(key.kind, key.n_sources, key.n_rows, rng))


def learned(table: Table, truth: cs.DAG | None = None) -> list[Row]:
    """Arcs, SHD, CPU seconds and families not judged, of each method; the default search."""
    rows = []
    for method, score in METHODS.items():
        begun = time.process_time()
        found = cs.search(table, score=score)
        seconds = time.process_time() - begun
        unjudged = sum("left out, the first being" in note for note in found.notes)
        row: Row = {"method": method, "arcs": len(found.dag.arcs), "seconds": seconds}
        row |= {"unjudged": unjudged, "n_scored": found.n_scored}
        rows.append(row if truth is None else row | {"shd": cs.shd(found.dag, truth)})
    return rows


def of_independent(kind: str, n_sources: int, n_rows: int, rng: np.random.Generator) -> Table:
    """Columns without dependence; of mixed ones every second is continuous."""
    source = np.repeat(np.arange(n_sources), n_rows)
    columns, continuous = {}, []
    for i in range(N_COLUMNS):
        name = f"x{i}"
        if kind == "discrete" or (kind == "mixed" and i % 2 == 0):
            shares = rng.dirichlet(np.ones(rng.integers(2, 4)), n_sources)
            ends = shares.cumsum(axis=1)[source, :-1]
            columns[name] = (rng.random(len(source))[:, None] > ends).sum(axis=1).astype(str)
        else:
            columns[name] = rng.normal(size=n_sources)[source] + rng.normal(size=len(source))
            continuous.append(name)
    return with_source(columns, source, continuous)


def of_severity(n_sources: int, n_rows: int, rng: np.random.Generator) -> Table:
    """Binary columns that all follow one number of each source."""
    source = np.repeat(np.arange(n_sources), n_rows)
    share = 1 / (1 + np.exp(-SEVERITY * rng.normal(size=n_sources)))[source]
    columns = {
        f"x{i}": np.where(rng.random(len(source)) < share, "yes", "no") for i in range(N_COLUMNS)
    }
    return with_source(columns, source)


def of_regressions(
    n_sources: int, n_rows: int, rng: np.random.Generator, *, is_shifted: bool
) -> Table:
    """Regressions with common slopes; the draws are the same with shifts and without."""
    source = np.repeat(np.arange(n_sources), n_rows)
    columns: dict[str, Any] = {}
    for node in REGRESSIONS.nodes:
        shift = SHIFT * rng.normal(size=n_sources)[source]
        noise = rng.normal(size=len(source))
        mean = sum((SLOPE * columns[parent] for parent in REGRESSIONS.parents(node)), start=0.0)
        columns[node] = mean + noise + (shift if is_shifted else 0.0)
    return with_source(columns, source, REGRESSIONS.nodes)


def of_network(
    net: cs.Network, n_sources: int, n_rows: int, delta: float, rng: np.random.Generator
) -> Table:
    """Rows of a network whose tables differ by source."""
    parts = []
    for _ in range(n_sources):
        tables = []
        for node in net.dag.nodes:
            local = net.tables[node]
            other = rng.dirichlet(np.ones(local.table.shape[-1]), local.table.shape[:-1])
            mixed = (1 - delta) * local.table + delta * other
            tables.append(cs.Categorical(local.child, local.given, mixed))
        parts.append(cs.Network.of(tables).sample(n_rows, seed=rng))
    columns = {node: np.concatenate([one.column(node) for one in parts]) for node in net.dag.nodes}
    source = cs.Variable("source", names_of(n_sources))
    codes = np.repeat(np.arange(n_sources), n_rows).astype(np.int8)
    return cs.Table(cs.Schema(dict(net.variables), source), columns, codes)


def adult(data: Path) -> Table:
    """Adult without rows that have gaps, by race; numbers are cut in quarters."""
    rows = cs.read(
        data / "adult.csv.gz",
        source="race",
        discretize={
            name: cs.Quantiles(4)
            for name in ("age", "fnlwgt", "hours-per-week", "capital-gain", "capital-loss")
        },
    )
    return rows.take(np.logical_and.reduce([column >= 0 for column in rows.columns.values()]))


def with_source(
    columns: dict[str, Any], source: np.ndarray[Any, Any], continuous: Sequence[str] = ()
) -> Table:
    names = np.array(names_of(int(source.max()) + 1))
    return cs.read(columns | {"source": names[source]}, source="source", continuous=continuous)


def names_of(n_sources: int) -> tuple[str, ...]:
    return tuple(f"s{i:03d}" for i in range(n_sources))


@main.command()
@RESULTS
def summary(results: Path) -> None:
    """Print the tables of the cells that are finished."""
    rows = finished(results / "cells.jsonl")
    click.echo(invented(rows) + "\n\n" + distances(rows) + "\n\n" + costs(rows))


def invented(rows: Sequence[Row]) -> str:
    """Arcs among columns that say nothing about each other."""
    lines = ["| columns | sources x rows | default | pooled BIC |", "|---|---|---|---|"]
    for study, kind, size, here in _groups(rows, ("independent", "severity")):
        what = f"{kind}, independent" if study == "independent" else "one severity a source"
        cells = [_text(mean_and_error(_values(here, m, "arcs"))) for m in METHODS]
        lines.append(f"| {what} | {size} | {' | '.join(cells)} |")
    return "\n".join(lines)


def distances(rows: Sequence[Row]) -> str:
    """SHD of the default and of pooled BIC, and the paired difference."""
    lines = [
        "| truth | sources x rows | default | pooled BIC | difference |",
        "|---|---|---|---|---|",
    ]
    for study, kind, size, here in _groups(rows, ("sachs", "alarm", "regressions")):
        both = [_values(here, method, "shd") for method in METHODS]
        what = f"seven regressions, {kind}" if study == "regressions" else f"{study}, {kind}"
        cells = [*map(_text, map(mean_and_error, both)), _text(paired(*both))]
        lines.append(f"| {what} | {size} | {' | '.join(cells)} |")
    return "\n".join(lines)


def costs(rows: Sequence[Row]) -> str:
    """CPU seconds of a search, and searches that left families out."""
    lines = [
        "| rows | sources x rows | default, s | pooled BIC, s | ratio | families left out |",
        "|---|---|---|---|---|---|",
    ]
    for study, _, size, here in _groups(rows, ("alarm", "adult")):
        seconds = [float(np.mean(_values(here, method, "seconds"))) for method in METHODS]
        left_out = sum(_values(here, "default", "unjudged"))
        ratio = seconds[0] / seconds[1]
        cells = f"{seconds[0]:.2f} | {seconds[1]:.2f} | {ratio:.1f} | {left_out:g}"
        lines.append(f"| {study} | {size} | {cells} |")
    return "\n".join(lines)


def _groups(
    rows: Sequence[Row], studies: Sequence[str]
) -> Iterable[tuple[str, str, str, list[Row]]]:
    """The rows of each setting of some studies, with its names."""
    setting: Callable[[Row], tuple[Any, ...]] = lambda row: tuple(  # noqa: E731
        row[name] for name in ("study", "kind", "delta", "n_sources", "n_rows")
    )
    for one in dict.fromkeys(map(setting, rows)):
        study, kind, delta, n_sources, n_rows = one
        if study in studies:
            label = f"delta {delta:g}" if kind == "network" else kind
            size = (
                f"{n_sources}, {n_rows:,} in all"
                if study == "adult"
                else f"{n_sources} x {n_rows:,}"
            )
            yield study, label, size, [row for row in rows if setting(row) == one]


def _values(rows: Sequence[Row], method: str, name: str) -> list[float]:
    return [row[name] for row in rows if row["method"] == method]


def _text(found: tuple[float, float]) -> str:
    return f"{found[0]:.2f} ± {found[1]:.2f}"


if __name__ == "__main__":
    main()
