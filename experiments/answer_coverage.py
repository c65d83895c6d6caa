"""Do credible intervals of answers cover the truth as often as they say?

Tables are drawn from the prior that is fitted, rows from the tables, and a query with evidence is
asked of the fitted network; the interval should cover what the true network says in 90 of 100
cases. For hierarchical fits the strength, the bases and the tables of each source are drawn from
their prior, and one source is left without rows: the source never seen.

    python experiments/answer_coverage.py [--plain 4000] [--hierarchical 1000] [--seed 1]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from cells import run

import consilience as cs
from consilience._typing import Floats

LEVEL, N_DRAWS = 0.9, 1000
DAG = cs.DAG([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
N_STATES = {"a": 2, "b": 3, "c": 2, "d": 2}
SIZES = {"one": 20, "two": 60, "three": 150}
STRENGTH = cs.Gamma(4.0, 0.2)


@dataclass(frozen=True)
class DataSet:
    """One simulated data set: tables of one source, or of several by their hierarchy."""

    is_hierarchical: bool
    seed: int
    repeat: int


def covered(key: DataSet) -> dict[str, bool]:
    """Which intervals of a data set cover the truth."""
    rng = np.random.default_rng(np.random.SeedSequence(key.seed, spawn_key=(key.repeat,)))
    return hierarchical(rng) if key.is_hierarchical else plain(rng)


def plain(rng: np.random.Generator) -> dict[str, bool]:
    """Whether the interval of a query covers the truth, rows of one source."""
    truth = cs.random_network(DAG, n_states=N_STATES, seed=rng)
    rows = truth.sample(int(rng.integers(10, 200)), seed=rng)
    net = cs.fit(DAG, rows, cs.Dirichlet(per_cell=1))
    return {"one source": is_covered(net, truth, question(net, rng), rng)}


def hierarchical(rng: np.random.Generator) -> dict[str, bool]:
    """The same by source, for a new one and for the difference of two."""
    truth = true_sources(rng)
    parts = {
        name: truth.sample(round(size), given={"source": name}, seed=rng)
        for name, size in SIZES.items()
    }
    frames = {name: part.to_frame().drop(columns="source") for name, part in parts.items()}
    states = {name: truth.variables[name].discrete_states for name in DAG.nodes}
    net = cs.fit(DAG, cs.read(frames, states=states), cs.HDMCS(s=STRENGTH))
    target, given = question(net, rng)
    found = {
        name: is_covered(net, truth, (target, {**given, "source": name}), rng)
        for name in (*SIZES, "new_source")
    }
    one, three = (
        truth.query(target, {**given, "source": source}).values[0] for source in ("one", "three")
    )
    between = cs.intervals(
        net, target, given, level=LEVEL, draws=N_DRAWS, seed=rng, between=("one", "three")
    )
    is_between = bool(between.low[0] <= one - three <= between.high[0])
    return {**found, "one less three": is_between}


def shares(keys: Sequence[DataSet], results: Path) -> dict[str, float]:
    """Share of the data sets in which each interval covers the truth."""
    rows = run(results / "covered.jsonl", keys, covered, title="answer coverage")
    fields = {field.name for field in dataclasses.fields(DataSet)}
    names = [name for name in rows[0] if name not in fields] if rows else []
    return {name: float(np.mean([row[name] for row in rows])) for name in names}


def true_sources(rng: np.random.Generator) -> cs.Network:
    """A network whose tables are drawn from the hierarchy, the source never seen among them."""
    source = cs.Variable("source", (*SIZES, "new_source"))
    variables = {
        name: cs.Variable(name, tuple(f"{k}" for k in range(r))) for name, r in N_STATES.items()
    }
    local = [cs.Categorical(source, (), np.full(len(SIZES) + 1, 1 / (len(SIZES) + 1)))]
    for name in DAG.nodes:
        given = [variables[parent] for parent in DAG.parents(name)]
        shape = [v.n_states for v in given]
        s = rng.gamma(STRENGTH.shape, 1 / STRENGTH.rate)
        table = np.empty((len(SIZES) + 1, *shape, N_STATES[name]))
        for parent in np.ndindex(*shape):
            base = rng.dirichlet(np.ones(N_STATES[name]))
            for f in range(len(table)):
                table[(f, *parent)] = draw(s * base, rng)
        local.append(cs.Categorical(variables[name], (source, *given), table))
    return cs.Network.of(local, source="source")


def draw(concentration: Floats, rng: np.random.Generator) -> Floats:
    """A row of a table, safe for small concentrations."""
    row = rng.dirichlet(np.maximum(concentration, 1e-3)) + 1e-12
    return row / row.sum()


def question(net: cs.Network, rng: np.random.Generator) -> tuple[str, dict[str, str]]:
    """A variable, and states of two others."""
    target, *others = rng.permutation(list(DAG.nodes))[:3]
    given = {str(n): str(rng.choice(net.variables[n].discrete_states)) for n in others}
    return str(target), given


def is_covered(
    net: cs.Network,
    truth: cs.Network,
    asked: tuple[str, dict[str, str]],
    rng: np.random.Generator,
) -> bool:
    """Whether the interval of the first state covers what the true network says."""
    target, given = asked
    found = cs.intervals(net, target, given, level=LEVEL, draws=N_DRAWS, seed=rng)
    return bool(found.low[0] <= truth.query(target, given).values[0] <= found.high[0])


@click.command()
@click.option("--plain", "n_plain", default=4000, show_default=True)
@click.option("--hierarchical", "n_hierarchical", default=1000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--results", type=click.Path(path_type=Path), default=Path("results/answer_coverage"))
def main(n_plain: int, n_hierarchical: int, seed: int, results: Path) -> None:
    """Coverage of 90 % credible intervals of answers; finished data sets are kept."""
    for is_hierarchical, n in ((True, n_hierarchical), (False, n_plain)):
        found = shares([DataSet(is_hierarchical, seed, repeat) for repeat in range(n)], results)
        for name, share in found.items():
            print(f"{name}, {n} data sets: {share:.2%}", flush=True)


if __name__ == "__main__":
    main()
