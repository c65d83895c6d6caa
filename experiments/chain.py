"""The hierarchical Dirichlet chain (HDC) on data it was not designed on.

HDC as it is (``HDC-EB``) and calibrated for its class (``HDC-LOO``) against sixteen variants of
HDMJS and HDMCS: s of 1, of 10, of one a state and learned under Gamma(4, 0.1), each with and
without a pseudo-count of 1. ``chain_data.py`` tells the problems and how rows are split; the tree
of TAN is learned on the training rows, or known where the network is simulated. All methods see the
same rows and the same graph.

Measures, each a mean over the test rows: log loss and Brier score of the class, accuracy, and the
joint negative log-likelihood of class and features given the source, in nats, gaps summed out.

    CONSILIENCE_DATA=... python experiments/chain.py run [--repeats 20] [--problem heart ...]
    python experiments/chain.py summary

``run`` can be stopped and goes on where it was; with ``--part`` the calibrated chain, or all else,
is left for another time. ``summary`` writes tables (markdown), numbers (csv) and a figure of the
cells that are finished.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import cells
import chain_data
import chain_report
import click
import numpy as np
from chain_report import PRIOR

import consilience as cs
from consilience.classify.shrinking import calibrated_chain
from consilience.parameters.source_node import source_shares, with_new_source

STRENGTHS: dict[str, float | cs.PerState | cs.Gamma] = {
    "s=1": 1.0,
    "s=10": 10.0,
    "s=r": cs.PerState(1),
    "s learned": cs.Gamma(4, 0.1),
}
ESTIMATORS: dict[str, Any] = {
    "HDC-EB": cs.HDC(),
    **{
        f"{choice.__name__}{'+1' if pseudo_count else ''} {label}": choice(
            s=s, pseudo_count=pseudo_count
        )
        for choice, pseudo_count, (label, s) in product(
            (cs.HDMJS, cs.HDMCS), (0, 1), STRENGTHS.items()
        )
    },
}
CALIBRATED = "HDC-LOO"
PARTS = ("hierarchies", "calibrated")
"""Each has a file of finished cells: the estimators above, and the calibrated chain."""

METHODS = {
    "hierarchies": {name: repr(estimator) for name, estimator in ESTIMATORS.items()},
    "calibrated": {CALIBRATED: "calibrated_chain(HDC())"},
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """All methods on the same rows."""

    problem: str
    structure: str
    n_rows: int
    repeat: int


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/chain"))
@click.option("--repeats", default=20, show_default=True)
@click.option("--problem", "problems", multiple=True, type=click.Choice([*chain_data.PROBLEMS]))
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS))
@click.option("--processes", default=1, show_default=True)
def run(
    out: Path, repeats: int, problems: tuple[str, ...], parts: tuple[str, ...], processes: int
) -> None:
    """Compute the cells that are missing; all problems and parts unless some are named."""
    keys = [
        Cell(problem, structure, n_rows, repeat)
        for problem in problems or chain_data.PROBLEMS
        for repeat in range(repeats)
        for structure in chain_data.STRUCTURES
        for n_rows in chain_data.SIZES
    ]
    work = {"hierarchies": hierarchies, "calibrated": calibrated}
    for part in parts or PARTS:
        settings = chain_data.SETTINGS | {"methods": METHODS[part]}
        path = out / f"{part}.jsonl"
        cells.run(
            path, keys, work[part], processes=processes, title=f"chain, {part}", settings=settings
        )


@main.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/chain"))
def summary(out: Path) -> None:
    """Tables, numbers and the figure of the cells of which all parts are finished."""
    parts = [cells.finished(out / f"{part}.jsonl") for part in PARTS]
    print(chain_report.write(parts, out))


def hierarchies(cell: Cell) -> list[Row]:
    """A row of measures for each estimator, and for the class prior."""
    trial = Trial.of(cell)
    train, root = trial.train, trial.root
    families = [cs.Family(node, trial.dag.parents(node)) for node in trial.dag.nodes]
    counts = cs.count(train, families, by_source=True)
    rows = []
    for method, estimator in ESTIMATORS.items():
        begun = time.perf_counter()
        net = cs.Network.of([root, *estimator.estimate(counts)], source=root.child.name)
        rows.append(trial.row(method, net, time.perf_counter() - begun))
    return [*rows, trial.prior_row()]


def calibrated(cell: Cell) -> list[Row]:
    """The row of measures of the calibrated chain."""
    trial = Trial.of(cell)
    begun = time.perf_counter()
    net = calibrated_chain(trial.dag, trial.train, trial.target)
    return [trial.row(CALIBRATED, net, time.perf_counter() - begun)]


@dataclass(frozen=True)
class Trial:
    """The rows and the graph of a cell."""

    train: cs.Table
    test: cs.Table
    target: str
    dag: cs.DAG

    @classmethod
    def of(cls, cell: Cell) -> Trial:
        split = chain_data.split(cell.problem, cell.structure, cell.repeat)
        train, test = split.at(cell.n_rows)
        learn = cs.naive_bayes if cell.structure == "nb" else cs.tan
        return cls(train, test, split.target, split.dag or learn(train, split.target))

    @property
    def root(self) -> cs.Categorical:
        """The distribution of the source node."""
        source = self.train.schema.source
        shares = np.bincount(self.train.source_codes, minlength=source.n_states)
        return source_shares(with_new_source(source), shares.astype(float))

    def row(self, method: str, net: cs.Network, seconds: float) -> Row:
        """Measures of a network on the test rows; the joint likelihood is given the source."""
        found = self._measures(net.posteriors(self.test, self.target))
        log_shares = np.log(net[self.root.child.name].table)[self.test.source_codes]
        joint = float((log_shares - net.log_likelihood(self.test)).mean())
        return {
            "method": method,
            **found,
            "joint": joint,
            "seconds": round(seconds, 4),
            "split": self.fingerprint(),
        }

    def fingerprint(self) -> int:
        """A number that tells rows that differ apart, so that parts are compared on the same."""
        columns = [
            column
            for table in (self.train, self.test)
            for column in (*table.columns.values(), table.source_codes)
        ]
        return zlib.crc32(b"".join(column.tobytes() for column in columns))

    def prior_row(self) -> Row:
        """Measures of the classes' shares, with one row more of each."""
        n_states = self.train.variables[self.target].n_states
        shares = np.bincount(self.train.column(self.target), minlength=n_states) + 1.0
        beliefs = np.tile(shares / shares.sum(), (self.test.n_rows, 1))
        return {"method": PRIOR, **self._measures(beliefs), "split": self.fingerprint()}

    def _measures(self, beliefs: np.ndarray) -> dict[str, float]:
        truth = self.test.column(self.target)
        of_truth = beliefs[np.arange(len(truth)), truth]
        squares = (beliefs**2).sum(axis=1) - 2 * of_truth + 1
        return {
            "log_loss": float(-np.log(of_truth).mean()),
            "brier": float(squares.mean()),
            "accuracy": float((beliefs.argmax(axis=1) == truth).mean()),
        }


if __name__ == "__main__":
    main()
