"""Four hospitals with gaps: one network from all rows against what is usually done.

The four tables of the heart disease data lack 0 to 98 % of a column. Disease (present or not) is
predicted for held-out patients of all hospitals, whatever they lack, from the other columns and the
hospital. Splits are stratified by hospital and disease, 70 % to learn from. Numbers are cut at the
quartiles of the training rows.

- **all rows**: one network for all hospitals, tied by a hierarchy, gaps filled by EM; what
  ``consilience learn heart.csv --source hospital --target disease --structure tan`` does;
- **complete rows**: the same from the rows without any gap, which is what dropping incomplete rows
  leaves;
- **each hospital alone**: a network of its own for each, from its own rows and the columns that it
  recorded at all, gaps filled by EM;
- **available rows**: as the first, with each family learned from the rows complete for it.

    CONSILIENCE_DATA=folder python experiments/heart.py [--splits 20] [--structure tan]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pandas as pd

import consilience as cs
from consilience._typing import Floats

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
NUMBERS = ("age", "trestbps", "chol", "thalach", "oldpeak")
TARGET, SOURCE = "disease", "hospital"

Learner = Callable[[cs.Table, Callable[[cs.Table], cs.DAG]], Callable[[cs.Table], Floats]]


def heart(folder: Path) -> pd.DataFrame:
    """The rows of the four hospitals; a cholesterol of zero is a gap, disease is num above zero."""
    frame = pd.concat([pd.read_csv(folder / "heart" / f"{name}.csv") for name in HOSPITALS])
    frame["chol"] = frame["chol"].where(frame["chol"] > 0)
    frame[TARGET] = np.where(frame["num"] > 0, "yes", "no")
    return frame.drop(columns="num").rename(columns={"source": SOURCE}).reset_index(drop=True)


def all_rows(
    train: cs.Table, graph: Callable[[cs.Table], cs.DAG], gaps: object = None
) -> Callable[[cs.Table], Floats]:
    """One network for all hospitals."""
    net = cs.fit(graph(train), train, gaps=gaps)  # type: ignore[arg-type]
    return lambda test: net.posteriors(test, TARGET)


def available_rows(
    train: cs.Table, graph: Callable[[cs.Table], cs.DAG]
) -> Callable[[cs.Table], Floats]:
    """One network, each family from the rows complete for it."""
    return all_rows(train, graph, cs.AvailableCases())


def complete_rows(
    train: cs.Table, graph: Callable[[cs.Table], cs.DAG]
) -> Callable[[cs.Table], Floats]:
    """One network from the rows without a gap."""
    is_complete = np.all([column >= 0 for column in train.columns.values()], axis=0)
    return all_rows(train.take(is_complete), graph)


def each_alone(
    train: cs.Table, graph: Callable[[cs.Table], cs.DAG]
) -> Callable[[cs.Table], Floats]:
    """A network for each hospital from its own rows."""
    nets = {}
    for code, name in enumerate(train.sources):
        own = train.take(train.column(SOURCE) == code)
        seen = [column for column, codes in own.columns.items() if (codes >= 0).any()]
        own = own.select(seen)
        alone = cs.Table(cs.Schema(own.variables), own.columns)
        nets[name] = cs.fit(graph(alone), alone)

    def predict(test: cs.Table) -> Floats:
        answer = np.empty((test.n_rows, 2))
        for code, name in enumerate(test.sources):
            rows = np.flatnonzero(test.column(SOURCE) == code)
            part = test.take(rows).select(list(nets[name].variables))
            answer[rows] = nets[name].posteriors(
                cs.Table(cs.Schema(part.variables), part.columns), TARGET
            )
        return answer

    return predict


WAYS: dict[str, Learner] = {
    "all rows": all_rows,
    "complete rows": complete_rows,
    "each hospital alone": each_alone,
    "available rows": available_rows,
}
STRUCTURES: dict[str, Callable[[cs.Table], cs.DAG]] = {
    "nb": lambda table: cs.naive_bayes(table, TARGET),
    "tan": lambda table: cs.tan(table, TARGET),
    "learned": lambda table: cs.learn(table, seed=1),
}


def one_split(frame: pd.DataFrame, structure: str, seed: int) -> pd.DataFrame:
    """Log loss, Brier score and accuracy of each way on the held-out rows of one split."""
    discrete = [name for name in frame if name not in (*NUMBERS, SOURCE)]
    whole = cs.read(frame, source=SOURCE, discrete=discrete, continuous=list(NUMBERS))
    order = cs.simulate.stratified_order(whole, by=[SOURCE, TARGET], seed=seed)
    n_train = int(0.7 * len(order))
    cut = {name: cs.Quantiles(4) for name in NUMBERS}
    train = cs.discretize(whole.take(order[:n_train]), cut)
    test = cs.read(frame.iloc[order[n_train:]], source=SOURCE, schema=train.schema)
    truth = test.column(TARGET)
    found = []
    for name, learn in WAYS.items():
        beliefs = np.clip(learn(train, STRUCTURES[structure])(test), 1e-12, None)
        right = beliefs[np.arange(test.n_rows), truth]
        found.append(
            {
                "way": name,
                "split": seed,
                "log loss": float(-np.log(right).mean()),
                "Brier score": float(2 * ((1 - right) ** 2).mean()),
                "accuracy": float((beliefs.argmax(axis=1) == truth).mean()),
            }
        )
    return pd.DataFrame(found)


def summary(results: pd.DataFrame) -> str:
    """Means, and paired differences to learning from all rows with their standard errors."""
    measures = ["log loss", "Brier score", "accuracy"]
    lines = ["| way | " + " | ".join(measures) + " |", "|---|" + "---|" * len(measures)]
    base = results[results.way == "all rows"].set_index("split")[measures]
    for name in WAYS:
        own = results[results.way == name].set_index("split")[measures]
        cells = [f"{own[m].mean():.3f}" for m in measures]
        if name != "all rows":
            apart = own - base
            errors = apart.std(ddof=1) / np.sqrt(len(apart))
            cells = [
                f"{cell} ({apart[m].mean():+.3f} ± {errors[m]:.3f})"
                for cell, m in zip(cells, measures, strict=True)
            ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


@click.command()
@click.option("--splits", type=int, default=20)
@click.option("--structure", type=click.Choice(list(STRUCTURES)), default="tan")
def main(splits: int, structure: str) -> None:
    """Print the table."""
    if "CONSILIENCE_DATA" not in os.environ:
        raise click.ClickException("the heart data are found through CONSILIENCE_DATA, not set.")
    frame = heart(Path(os.environ["CONSILIENCE_DATA"]))
    results = pd.concat([one_split(frame, structure, seed) for seed in range(splits)])
    print(summary(results))


if __name__ == "__main__":
    main()
