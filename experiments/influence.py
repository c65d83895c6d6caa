"""Influence between naive Bayes models: Figure 5 of Ajoodha and Rosman, made again.

**Figure.** The truth is an influence network of 10 models with 5 observed variables each, all of
three states; its 24 arcs between the hidden nodes are the largest number possible with at most 3
parents. Every row of every table is drawn from a symmetric Dirichlet of a total of 5 (the paper's
"prior of 5", 5/3 a state) or 3 (uniform). Four networks are learned from the same rows: with a
random graph of 24 arcs, without arcs, with the graph that ``consilience.influence`` learns, and
with the true graph; parameters always by EM from where the models alone lead. The measure is the
relative entropy of the truth to the learned network over the 50 observed variables, in nats: the
mean difference of log-likelihoods of 10,000 rows that are the same for all.

**Classes.** Latent class models with 4 classes, 12 features of three states and 5,000 rows: how
often BIC finds the number of classes, and how well the classes agree with the true ones.

**Real.** Groups of columns of the eICU demo, with the gaps that they have.

    python experiments/influence.py run [--repeats 10] [--sizes 100,500,...] [--prior 5,3]
    python experiments/influence.py classes [--repeats 20]
    CONSILIENCE_DATA=folder python experiments/influence.py real
    python experiments/influence.py summary

``run`` and ``classes`` can be stopped and go on where they were.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import influence_report as report
import numpy as np
from cells import finished, run
from preparation import raw

import consilience as cs

N_MODELS, N_OBSERVED, N_STATES, N_ARCS, MAX_PARENTS = 10, 5, 3, 24, 3
SIZES = (100, 500, 2_000, 10_000, 20_000)
TOTALS = (5.0, 3.0)
N_TEST = 10_000
N_CLASSES, N_FEATURES, CLASS_ROWS = 4, 12, 5_000
MOST_CLASSES = 6

EICU = {
    "consciousness": ("eyes", "motor", "verbal", "meds"),
    "breathing": ("intubated", "vent", "respiratoryrate", "fio2", "pao2", "pco2", "ph"),
    "circulation": ("heartrate", "meanbp", "temperature"),
    "kidneys": ("creatinine", "bun", "urine", "dialysis", "sodium"),
    "blood": ("wbc", "hematocrit", "albumin", "bilirubin", "glucose"),
    "outcome": ("unitdischargestatus", "hospitaldischargestatus", "unit_los_hours"),
}
MEASURED = 12
"""Columns with more values than this are cut into three states at quantiles."""

Row = dict[str, Any]
RESULTS = click.option(
    "--results", "--out", type=click.Path(path_type=Path), default=Path("results/influence")
)


@dataclass(frozen=True)
class Cell:
    total: float
    n_rows: int
    repeat: int


@dataclass(frozen=True)
class ClassCell:
    repeat: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("run")
@click.option("--repeats", default=10, show_default=True)
@click.option("--sizes", default=",".join(map(str, SIZES)), show_default=True)
@click.option("--prior", default=",".join(f"{t:g}" for t in TOTALS), show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--processes", default=1, show_default=True)
@RESULTS
def run_all(repeats: int, sizes: str, prior: str, seed: int, processes: int, results: Path) -> None:
    """Figure 5: compute what is not there yet."""
    rows = [int(size) for size in sizes.split(",")]
    totals = [float(total) for total in prior.split(",")]
    keys = [Cell(*key) for key in product(totals, rows, range(repeats))]
    settings = {"seed": seed, "n_test": N_TEST, "models": N_MODELS, "arcs": N_ARCS}
    run(
        results / "figure.jsonl",
        sorted(keys, key=lambda key: (key.n_rows, key.repeat)),
        partial(compared, seed=seed),
        processes=processes,
        title="influence",
        settings=settings,
    )


@main.command()
@click.option("--repeats", default=20, show_default=True)
@click.option("--processes", default=1, show_default=True)
@RESULTS
def classes(repeats: int, processes: int, results: Path) -> None:
    """Latent classes: compute what is not there yet."""
    run(
        results / "classes.jsonl",
        [ClassCell(repeat) for repeat in range(repeats)],
        found_classes,
        processes=processes,
        title="latent classes",
        settings={"n_rows": CLASS_ROWS, "most": MOST_CLASSES},
    )
    click.echo(report.classes(finished(results / "classes.jsonl"), N_CLASSES))


@main.command()
@click.option("--seed", default=0, show_default=True)
@RESULTS
def real(seed: int, results: Path) -> None:
    """Groups of columns of the eICU demo."""
    table = stays()
    groups = {name: list(columns) for name, columns in EICU.items()}
    found = cs.influence(table, groups, n_states=3, seed=seed)
    results.mkdir(parents=True, exist_ok=True)
    gain = left_out(table, groups, seed)
    text = report.real(found, table.n_rows, gain)
    (results / "real.md").write_text(text, encoding="utf-8")
    (results / "influence-eicu.svg").write_text(cs.svg(found), encoding="utf-8")
    report.save(cs.plot(found).figure, results / "influence-eicu.png")
    click.echo(text)


@main.command()
@RESULTS
def summary(results: Path) -> None:
    """Tables and the figure of the cells that are finished."""
    rows = finished(results / "figure.jsonl")
    text = report.tables(rows)
    (results / "tables.md").write_text(text, encoding="utf-8")
    report.figure(rows, results / "influence.png")
    click.echo(text)


def compared(key: Cell, *, seed: int = 1) -> list[Row]:
    """Relative entropy, accuracy and distance of the four networks learned from the same rows."""
    rng = np.random.default_rng([seed, int(key.total * 1000), key.repeat])
    dag, groups, net = truth(key.total, rng)
    test = net.sample(N_TEST, seed=rng)
    random = cs.random_dag(list(groups), n_arcs=N_ARCS, max_parents=MAX_PARENTS, seed=rng)
    rows = net.sample(max(key.n_rows, *SIZES), seed=rng).take(slice(0, key.n_rows))
    observed = [name for names in groups.values() for name in names]
    train, unseen = rows.select(observed), test.select(observed)
    hidden = {name: test.column(name) for name in groups}
    known = cs.latent.Influence(net, dag, groups, 0.0, 0.0, (), "truth")
    reached, best = known.row_log_likelihoods(unseen), known.accuracy(unseen, hidden)
    graphs = {"random": random, "none": cs.DAG(nodes=list(groups)), "learned": None, "true": dag}
    told = []
    for name, graph in graphs.items():
        start = time.perf_counter()
        found = (
            cs.influence(train, groups, n_states=N_STATES, seed=key.repeat)
            if graph is None
            else cs.latent.influence_network(
                graph, train, groups, n_states=N_STATES, seed=key.repeat
            )
        )
        seconds = time.perf_counter() - start
        accuracy = list(found.accuracy(unseen, hidden).values())
        fit = found.row_log_likelihoods(unseen)
        told.append(
            {
                "graph": name,
                "entropy": float(np.mean(reached - fit)),
                "error": float(np.std(reached - fit) / np.sqrt(N_TEST)),
                "accuracy": float(np.mean(accuracy)),
                "lowest": float(min(accuracy)),
                "highest": float(max(accuracy)),
                "accuracy of the truth": float(np.mean(list(best.values()))),
                "shd": cs.shd(found.dag, dag),
                "arcs": len(found.dag.arcs),
                "bic": found.score,
                "seconds": seconds,
            }
        )
    return told


def truth(
    total: float, rng: np.random.Generator
) -> tuple[cs.DAG, dict[str, list[str]], cs.Network]:
    """The graph over the hidden nodes, the groups, and the network."""
    names = [f"L{i + 1}" for i in range(N_MODELS)]
    groups = {name: [f"{name}.{j + 1}" for j in range(N_OBSERVED)] for name in names}
    dag = cs.random_dag(names, n_arcs=N_ARCS, max_parents=MAX_PARENTS, seed=rng)
    arcs = [(name, one) for name, observed in groups.items() for one in observed]
    whole = cs.DAG([*dag.arcs, *arcs])
    return dag, groups, cs.random_network(whole, n_states=N_STATES, total=total, seed=rng)


def found_classes(key: ClassCell) -> list[Row]:
    """The number of classes that BIC finds, and how the classes agree with the true ones.

    Shares of the classes are drawn from a Dirichlet of 10 a class, the rows of the features' tables
    uniformly.
    """
    rng = np.random.default_rng([7, key.repeat])
    names = [f"x{j + 1}" for j in range(N_FEATURES)]
    whole = cs.random_network(
        cs.DAG([("class", name) for name in names]),
        n_states={"class": N_CLASSES} | dict.fromkeys(names, 3),
        seed=rng,
    )
    shares = cs.Categorical(whole.variables["class"], (), rng.dirichlet(np.full(N_CLASSES, 10.0)))
    net = cs.Network.of([shares, *(whole[name] for name in names)])
    rows = net.sample(CLASS_ROWS, seed=rng)
    table, true = rows.select(names), rows.column("class")
    start = time.perf_counter()
    found = cs.latent_classes(table, range(1, MOST_CLASSES + 1), seed=key.repeat)
    fitted = next(one for one in found.tried if one.n_states == N_CLASSES)
    labels = fitted.network.posteriors(table, "class").argmax(axis=1)
    best = net.posteriors(table, "class").argmax(axis=1)
    return [
        {
            "found": found.n_states,
            "agreement": cs.latent.label_agreement(labels, true),
            "of the truth": cs.latent.label_agreement(best, true),
            "seconds": time.perf_counter() - start,
        }
    ]


def stays() -> cs.Table:
    """First stays of the eICU demo; measured columns cut into three states."""
    frame = raw("eicu")[[name for columns in EICU.values() for name in columns]]
    measured = [name for name in frame.columns if frame[name].nunique() > MEASURED]
    return cs.read(
        frame,
        discretize={name: cs.Quantiles(3) for name in measured},
        discrete=[name for name in frame.columns if name not in measured],
    )


def left_out(
    table: cs.Table, groups: Mapping[str, Sequence[str]], seed: int, folds: int = 5
) -> list[float]:
    """How much better a row of each fold is predicted with the learned arcs than without."""
    fold = np.random.default_rng(seed).permutation(table.n_rows) % folds
    gains = []
    for i in range(folds):
        train, test = table.take(fold != i), table.take(fold == i)
        learned = cs.influence(train, groups, n_states=3, seed=seed)
        none = cs.latent.influence_network(cs.DAG(nodes=list(groups)), train, groups, seed=seed)
        gain = learned.row_log_likelihoods(test) - none.row_log_likelihoods(test)
        gains.append(float(gain.mean()))
    return gains


if __name__ == "__main__":
    main()
