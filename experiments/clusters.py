"""Clusters of sources: is the partition found again, and what do hospitals look like?

**Partition.** Twelve sources of 300 rows from three networks of eight binary nodes with at most two
parents, four sources each. The networks have a common graph and tables, but two families of each
are drawn anew: one parent is exchanged for another, and the rows of the table come from a uniform
Dirichlet. Graphs are not given. Printed is in how many seeds the partition is the true one.

**Alike.** The same with one network for all: in how many seeds there is one cluster.

**Hospitals.** The four hospitals of the heart data and the largest twenty of the eICU demo.

    python experiments/clusters.py partition [--seeds 20] [--alike 20]
    CONSILIENCE_DATA=... python experiments/clusters.py hospitals
"""

from __future__ import annotations

import click
import numpy as np
from preparation import prepared

import consilience as cs
from consilience.fusion.united_tables import complete_rows

NAMES = tuple(f"x{i}" for i in range(8))
BINARY = ("no", "yes")
N_SOURCES, N_ROWS, N_NETWORKS = 12, 300, 3
HEART = ("age", "sex", "cp", "restecg", "thalach", "exang", "oldpeak", "disease")
EICU = ("age", "gender", "heartrate", "meanbp", "vent", "motor", "hospitaldischargestatus")
LARGEST = 20


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--seeds", default=20, show_default=True)
@click.option("--alike", default=20, show_default=True)
def partition(seeds: int, alike: int) -> None:
    """Partitions of sources from three networks, and from one."""
    found = [is_found(seed) for seed in range(seeds)]
    click.echo(f"three networks: the partition in {sum(found)} of {seeds} seeds")
    one = [n_clusters_of_one(seed) == 1 for seed in range(alike)]
    click.echo(f"one network: one cluster in {sum(one)} of {alike} seeds")


@main.command()
def hospitals() -> None:
    """Heart and eICU."""
    click.echo(cs.fusion.clusters(heart()))
    eicu = complete_rows(prepared("eicu by hospital").table.select(EICU))
    sizes = np.bincount(np.asarray(eicu.source_codes), minlength=len(eicu.sources))
    largest = [eicu.sources[i] for i in np.argsort(-sizes)[:LARGEST]]
    frame = eicu.to_frame()
    kept = frame[frame[eicu.source].isin(largest)]
    click.echo(cs.fusion.clusters(cs.read(kept.astype(str), source=eicu.source)))


def heart() -> cs.Table:
    """The complete rows of the four hospitals."""
    return complete_rows(prepared("heart by hospital").table.select(HEART))


def is_found(seed: int) -> bool:
    rng = np.random.default_rng([5, seed])
    common = drawn_dag(rng), rng
    nets = changed_networks(*common)
    tables = {f"s{k}": nets[k % N_NETWORKS].sample(N_ROWS, seed=rng) for k in range(N_SOURCES)}
    found = cs.fusion.clusters(read(tables))
    wanted = {frozenset(f"s{k}" for k in range(i, N_SOURCES, N_NETWORKS)) for i in range(3)}
    return {frozenset(part) for part in found.members} == wanted


def n_clusters_of_one(seed: int) -> int:
    rng = np.random.default_rng([6, seed])
    net = cs.random_network(drawn_dag(rng), seed=rng)
    return len(
        cs.fusion.clusters(
            read({f"s{k}": net.sample(N_ROWS, seed=rng) for k in range(N_SOURCES)})
        ).members
    )


def read(tables: dict[str, cs.Table]) -> cs.Table:
    frames = {name: table.to_frame() for name, table in tables.items()}
    states = {name: table.variables[name].states for table in tables.values() for name in NAMES}
    return cs.read(frames, states=states)


def drawn_dag(rng: np.random.Generator) -> cs.DAG:
    return cs.random_dag(list(NAMES), n_arcs=9, max_parents=2, seed=rng)


def changed_networks(dag: cs.DAG, rng: np.random.Generator) -> list[cs.Network]:
    """Three networks: each has two families of its own, the others are common."""
    base = cs.random_network(dag, seed=rng)
    return [changed(base, rng) for _ in range(N_NETWORKS)]


def changed(base: cs.Network, rng: np.random.Generator) -> cs.Network:
    dag, local = base.dag, dict(base.distributions)
    order = dag.topological_order()
    able = [n for n in order if dag.parents(n) and order.index(n) > len(dag.parents(n))]
    for node in rng.choice(able, 2, replace=False):
        parents = list(dag.parents(str(node)))
        before = [n for n in order[: order.index(str(node))] if n not in parents]
        if before:
            parents[int(rng.integers(len(parents)))] = str(rng.choice(before))
        given = tuple(base.variables[parent] for parent in parents)
        table = rng.dirichlet([1.0, 1.0], size=(2,) * len(given))
        local[str(node)] = cs.Categorical(base.variables[str(node)], given, table)
    return cs.Network(local)


if __name__ == "__main__":
    main()
