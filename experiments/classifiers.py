"""The classifiers as they come, beside other estimators on the same graph and the class prior.

``NaiveBayesClassifier()`` and ``TANClassifier()`` without any argument but the column of sources,
on real tables; and with the numbers kept (``discretize=False``) beside ``Quantiles(4)``. A repeat
is one stratified shuffle of the rows: the first are for training, the next 2,000 at most are
tested. Gaps stay gaps. The measure is the mean log loss of the test rows, in nats; differences are
paired by repeat.

    CONSILIENCE_DATA=... python experiments/classifiers.py run [--repeats 10] [--problem adult-500]
    python experiments/classifiers.py summary

``run`` can be stopped and goes on where it was; ``summary`` prints markdown and says of every line
whether it meets the bars: the default is nowhere above the class prior by more than two standard
errors and within 0.03 of the best of the list, and numbers kept are no worse than cut at quartiles
by more than two standard errors. Two tables are noise, of 60 training rows each: 20 normal columns,
and 10 of heavy tails (Student's t, 1.5 degrees of freedom), with 20 % of one class; there numbers
kept may lose 0.02 to the class prior.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cells
import click
import numpy as np
import pandas as pd
import preparation
from chain_data import EICU_NUMBERS, EICU_STATES

import consilience as cs

N_TEST = 2000
SEED = 5_000_011
MARGIN, MOST_LOST = 0.03, 0.02

DEFAULT, PRIOR, KEPT, CUT = "default", "class prior", "numbers kept", "Quantiles(4)"
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "Dirichlet(ess=1)": cs.Dirichlet,
    "Dirichlet(ess=10)": lambda: cs.Dirichlet(ess=10),
    "HDMCS()": cs.HDMCS,
    "HDC()": cs.HDC,
    "Calibrated()": cs.classify.Calibrated,
}
CLASSIFIERS = {"naive Bayes": cs.NaiveBayesClassifier, "TAN": cs.TANClassifier}

COMPAS = [
    *("sex", "age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"),
    *("c_jail_days", "c_charge_degree", "race"),
]
EICU = list(dict.fromkeys([*EICU_NUMBERS, *EICU_STATES, *preparation.EICU[:-1]]))


@dataclass(frozen=True)
class Problem:
    """Where rows come from: a data set, its columns and class, training rows, its source."""

    data: str
    target: str
    n_train: int
    columns: tuple[str, ...] | None = None
    source: str | None = None
    only: tuple[str, str] | None = None


def _adult(n_train: int) -> Problem:
    columns = preparation.every_row("adult").columns.drop("income")
    return Problem("adult", "income", n_train, tuple(columns))


def _noise(name: str) -> Problem:
    return Problem(name, "class", 60, tuple(f"x{k}" for k in range(NOISE[name][0])))


NOISE = {"noise": (20, None), "noise, heavy tails": (10, 1.5)}
"""Columns, and degrees of freedom of their distribution; None is the normal one."""

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "adult-500": lambda: _adult(500),
    "adult-5000": lambda: _adult(5000),
    "diabetes": lambda: Problem("diabetes", "readmitted", 5000, preparation.DIABETES[:-1]),
    "compas": lambda: Problem("compas", "two_year_recid", 4000, tuple(COMPAS)),
    "heart": lambda: Problem("heart", "disease", 600, preparation.HEART[:-1], "source"),
    "heart, no sources": lambda: Problem("heart", "disease", 600, preparation.HEART[:-1]),
    "eicu": lambda: Problem("eicu", "hospitaldischargestatus", 1200, tuple(EICU), "hospitalid"),
    "eicu, no sources": lambda: Problem("eicu", "hospitaldischargestatus", 1200, tuple(EICU)),
    "cleveland": lambda: Problem(
        "heart", "disease", 200, preparation.HEART[:-1], only=("source", "cleveland")
    ),
    **{name: lambda name=name: _noise(name) for name in NOISE},
}
WITH_NUMBERS = ("cleveland", "adult-500", "adult-5000", *NOISE)
COMPARED = tuple(name for name in PROBLEMS if name != "cleveland")

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """All methods of one graph on the same rows."""

    problem: str
    structure: str
    repeat: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/classifiers"))
@click.option("--repeats", default=10, show_default=True)
@click.option("--problem", "problems", multiple=True, type=click.Choice([*PROBLEMS]))
@click.option("--processes", default=1, show_default=True)
def run(out: Path, repeats: int, problems: tuple[str, ...], processes: int) -> None:
    """Compute the cells that are missing."""
    keys = [
        Cell(problem, structure, repeat)
        for problem in problems or PROBLEMS
        for repeat in range(repeats)
        for structure in CLASSIFIERS
    ]
    settings = {"n_test": N_TEST, "seed": SEED, "estimators": [*ESTIMATORS]}
    cells.run(
        out / "cells.jsonl",
        keys,
        work,
        processes=processes,
        title="classifiers",
        settings=settings,
    )


@main.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/classifiers"))
def summary(out: Path) -> None:
    """Markdown of the cells that are finished."""
    frame = pd.DataFrame(cells.finished(out / "cells.jsonl"))
    print("\n".join([*_compared(frame), "", *_numbers(frame)]))


def work(cell: Cell) -> list[Row]:
    """A row for each method."""
    problem = PROBLEMS[cell.problem]()
    frame, labels = rows_of(cell.problem)
    train, test = _split(labels, problem.n_train, cell.repeat)
    kind = CLASSIFIERS[cell.structure]
    made: dict[str, Callable[[], Any]] = {}
    if cell.problem in COMPARED:
        made[DEFAULT] = lambda: kind(source=problem.source)
        for name, estimator in ESTIMATORS.items():
            made[name] = lambda estimator=estimator: kind(estimator(), source=problem.source)
    if cell.problem in WITH_NUMBERS:
        made[KEPT] = lambda: kind(source=problem.source, discretize=False)
        made[CUT] = lambda: kind(source=problem.source, discretize=cs.Quantiles(4))
    rows = [_prior(labels, train, test)]
    for name, make in made.items():
        begun = time.perf_counter()
        classifier = make().fit(frame.iloc[train], labels.iloc[train])
        seconds = time.perf_counter() - begun
        beliefs = classifier.predict_proba(frame.iloc[test])
        place = np.searchsorted(classifier.classes_, labels.iloc[test])
        of_truth = beliefs[np.arange(len(test)), place]
        loss = float(-np.log(np.maximum(of_truth, 1e-300)).mean())
        rows.append({"method": name, "log_loss": loss, "seconds": round(seconds, 3)})
    return rows


@lru_cache(maxsize=2)
def rows_of(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Features, the source among them if it is used, and the class of each row."""
    problem = PROBLEMS[name]()
    frame = noise(*NOISE[name]) if name in NOISE else preparation.raw(problem.data)
    if problem.only is not None:
        column, value = problem.only
        frame = frame[frame[column] == value].reset_index(drop=True)
    columns = [*(problem.columns or ()), *([problem.source] if problem.source else [])]
    return frame[columns], frame[problem.target].astype(str)


def noise(n_columns: int, tail: float | None) -> pd.DataFrame:
    """Rows whose columns say nothing about the class."""
    rng, n_rows = np.random.default_rng([SEED, n_columns]), 20_000
    size = (n_rows, n_columns)
    values = rng.normal(size=size) if tail is None else rng.standard_t(tail, size=size)
    frame = pd.DataFrame(values, columns=[f"x{k}" for k in range(n_columns)])
    return frame.assign(**{"class": np.where(np.arange(n_rows) % 5 == 0, "yes", "no")})


def _split(labels: pd.Series, n_train: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    table = cs.read({"class": labels.tolist()})
    seed = np.random.default_rng([SEED, repeat])
    order = cs.simulate.stratified_order(table, by=["class"], seed=seed)
    return order[:n_train], order[n_train : n_train + N_TEST]


def _prior(labels: pd.Series, train: np.ndarray, test: np.ndarray) -> Row:
    classes, counts = np.unique(labels.iloc[train], return_counts=True)
    shares = (counts + 1 / len(classes)) / (counts.sum() + 1)
    of_truth = shares[np.searchsorted(classes, labels.iloc[test])]
    return {"method": PRIOR, "log_loss": float(-np.log(of_truth).mean()), "seconds": 0.0}


def _losses(frame: pd.DataFrame, problem: str, structure: str) -> pd.DataFrame:
    """Log losses, one row a repeat and one column a method."""
    part = frame[(frame["problem"] == problem) & (frame["structure"] == structure)]
    return part.pivot_table(index="repeat", columns="method", values="log_loss")


def _compared(frame: pd.DataFrame) -> list[str]:
    methods = [PRIOR, DEFAULT, *ESTIMATORS]
    heading = ["table", "graph", *methods, "default - prior", "default - best", "s", "bars"]
    lines = _heading(heading)
    for problem in COMPARED:
        for structure in CLASSIFIERS:
            losses = _losses(frame, problem, structure)
            if len(losses) < 2:
                continue
            means = losses.mean()
            gap, error = cells.paired(losses[DEFAULT], losses[PRIOR])
            behind = means[DEFAULT] - means[list(ESTIMATORS)].min()
            is_met = gap <= 2 * error and behind <= MARGIN
            texts = [problem, structure, *(f"{means[name]:.3f}" for name in methods)]
            texts += [f"{gap:.3f} ± {error:.3f}", f"{behind:.3f}"]
            texts += [f"{_seconds(frame, problem, structure):.1f}", "met" if is_met else "MISSED"]
            lines.append(_line(texts))
    return lines


def _numbers(frame: pd.DataFrame) -> list[str]:
    lines = _heading(["table", "graph", PRIOR, KEPT, CUT, "kept - prior", "kept - cut", "bar"])
    for problem in WITH_NUMBERS:
        for structure in CLASSIFIERS:
            losses = _losses(frame, problem, structure)
            if len(losses) < 2:
                continue
            texts = [problem, structure]
            texts += [f"{losses[name].mean():.3f}" for name in (PRIOR, KEPT, CUT)]
            excess, about = cells.paired(losses[KEPT], losses[PRIOR])
            gap, error = cells.paired(losses[KEPT], losses[CUT])
            is_met = excess <= MOST_LOST if problem in NOISE else gap <= 2 * error
            texts += [f"{excess:.4f} ± {about:.4f}", f"{gap:.4f} ± {error:.4f}"]
            lines.append(_line([*texts, "met" if is_met else "MISSED"]))
    return lines


def _seconds(frame: pd.DataFrame, problem: str, structure: str) -> float:
    part = frame[(frame["problem"] == problem) & (frame["structure"] == structure)]
    return float(part.loc[part["method"] == DEFAULT, "seconds"].median())


def _heading(names: Sequence[str]) -> list[str]:
    return [_line(names), _line(["---"] * len(names))]


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


if __name__ == "__main__":
    main()
