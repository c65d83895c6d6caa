"""Graphs by the variational bound, and numbers of states of hidden chains.

**Graphs.** learning.test (5,000 rows, six variables) with every value missing completely at random
with probability 0.2; graphs are searched for by the variational bound on their evidence. Printed is
in how many repeats the class of the true graph is found.

**Chains.** 20 sequences of 100 steps from a hidden chain of three states, which stays with
probability 0.9 and else goes to one of the others; four symbols with the probabilities .7 .1 .1 .1,
.1 .7 .1 .1 and .1 .1 .4 .4. One to five states are tried. Printed is in how many repeats three are
chosen.

    CONSILIENCE_DATA=... python experiments/bounds.py graphs [--repeats 10]
    python experiments/bounds.py chains [--repeats 20] [--criterion bic|bound|held-out]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import numpy as np

import consilience as cs
from consilience.data.table import Table

TRUE = cs.DAG.parse("[A][C][F][B|A][D|A:C][E|B:F]")
MISSING = 0.2
SYMBOLS = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]])
N_SEQUENCES, N_STEPS, STAYS = 20, 100, 0.9
CRITERIA = {
    "bic": cs.BIC(),
    "bound": cs.gaps.VariationalBayes(),
    "held-out": cs.scores.CrossValidated(),
}


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--repeats", default=10, show_default=True)
def graphs(repeats: int) -> None:
    """Structure by the variational bound on rows with gaps."""
    bound = cs.StructuralEM(em=cs.gaps.VariationalBayes())
    found = [cs.shd(cs.learn(with_gaps(seed), gaps=bound), TRUE) == 0 for seed in range(repeats)]
    click.echo(f"class found by the variational bound: {sum(found)} of {repeats}")


@main.command()
@click.option("--repeats", default=20, show_default=True)
@click.option("--criterion", default="bic", type=click.Choice(list(CRITERIA)), show_default=True)
def chains(repeats: int, criterion: str) -> None:
    """Numbers of states of a hidden chain of three."""
    graph = cs.dynamic.hidden_markov(["symbol"])
    chosen = [
        cs.dynamic.hidden_states(
            graph, sequences(seed), "z", range(1, 6), criterion=CRITERIA[criterion]
        ).n_states
        for seed in range(repeats)
    ]
    click.echo(f"three states chosen by {criterion}: {chosen.count(3)} of {repeats}")


def with_gaps(seed: int) -> Table:
    """learning.test with values missing completely at random."""
    folder = os.environ.get("CONSILIENCE_DATA")
    path = Path(folder or "") / "bnlearn" / "learning.test.csv"
    if not folder or not path.exists():
        sys.exit(f"no data: {path.name} is needed in the folder bnlearn of CONSILIENCE_DATA.")
    table, rng = cs.read(path), np.random.default_rng(seed)
    columns = {
        name: np.where(rng.random(table.n_rows) < MISSING, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    return Table(table.schema, columns)


def sequences(seed: int) -> cs.dynamic.Panel:
    """Sequences of the hidden chain."""
    rng = np.random.default_rng(seed)
    who, symbols = [], []
    for k in range(N_SEQUENCES):
        state = int(rng.integers(3))
        for step in range(N_STEPS):
            if step and rng.random() > STAYS:
                state = (state + int(rng.integers(1, 3))) % 3
            who.append(f"{k + 1}")
            symbols.append("abcd"[int(rng.choice(4, p=SYMBOLS[state]))])
    return cs.dynamic.read_panel({"who": who, "symbol": symbols}, sequence="who")


if __name__ == "__main__":
    main()
