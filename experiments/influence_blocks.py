"""Influence between groups of which one has two hidden nodes: is the graph found again?

Group X has the hidden nodes A and B of two states and eight binary variables, each of which depends
on both; the groups Y and Z have one hidden node, C and D, of two states and five variables each. A
and B influence C, and C influences D. Tables of the hidden nodes are 0.9 / 0.1 for roots of even
shares; observed variables follow a logistic function of their hidden nodes with weights of 1.5 to
3. Printed is in how many repeats the class of the graph is found, up to the names of A and B;
with A -> C required; and by moves of single arcs alone.

    python experiments/influence_blocks.py [--repeats 20] [--rows 2000]
"""

from __future__ import annotations

from itertools import product

import click
import numpy as np

import consilience as cs

BINARY = ("no", "yes")
GROUPS = {
    "A": tuple(f"x{i}" for i in range(8)),
    "B": tuple(f"x{i}" for i in range(8)),
    "C": tuple(f"y{i}" for i in range(5)),
    "D": tuple(f"z{i}" for i in range(5)),
}
TRUE = cs.DAG([("A", "C"), ("B", "C"), ("C", "D")], tuple(GROUPS))


@click.command(help=__doc__)
@click.option("--repeats", default=20, show_default=True)
@click.option("--rows", default=2000, show_default=True)
def main(repeats: int, rows: int) -> None:
    ways = {
        "search, then moves of arcs and blocks": {},
        "A -> C required": {"require": [("A", "C")]},
        "moves only": {"relearn": cs.latent.AfterMove()},
    }
    for name, options in ways.items():
        found = [is_found(seed, rows, options) for seed in range(repeats)]
        click.echo(f"{name}: {sum(found)} of {repeats}")


def is_found(seed: int, n_rows: int, options: dict[str, object]) -> bool:
    """Whether the class is that of the true graph, the names of A and B left open."""
    table = truth(seed).sample(n_rows, seed=seed).select(observed())
    dag = cs.influence(table, GROUPS, n_states=2, seed=seed, **options).dag
    turned = {"A": "B", "B": "A"}
    other = cs.DAG([(turned.get(a, a), turned.get(b, b)) for a, b in dag.arcs], dag.nodes)
    return 0 in (cs.shd(dag, TRUE), cs.shd(other, TRUE))


def observed() -> list[str]:
    return list(dict.fromkeys(name for names in GROUPS.values() for name in names))


def truth(seed: int) -> cs.Network:
    """The network that rows are drawn from."""
    rng = np.random.default_rng([11, seed])
    hidden = {name: cs.Variable(name, BINARY) for name in GROUPS}
    local = [cs.Categorical(hidden[name], (), [0.5, 0.5]) for name in ("A", "B")]
    either = np.array([[[0.95, 0.05], [0.5, 0.5]], [[0.4, 0.6], [0.05, 0.95]]])
    local.append(cs.Categorical(hidden["C"], (hidden["A"], hidden["B"]), either))
    local.append(cs.Categorical(hidden["D"], (hidden["C"],), [[0.85, 0.15], [0.15, 0.85]]))
    for block in (("A", "B"), ("C",), ("D",)):
        for k, name in enumerate(GROUPS[block[0]]):
            weights = rng.uniform(1.5, 3.0, len(block)) * rng.choice([-1, 1], len(block))
            if len(block) == 2:
                weights[(k + 1) % 2] *= 0.4  # one of the two matters more
            local.append(logistic_table(name, [hidden[one] for one in block], weights))
    return cs.Network.of(local)


def logistic_table(name: str, parents: list[cs.Variable], weights: np.ndarray) -> cs.Categorical:
    table = np.empty((2,) * len(parents) + (2,))
    for states in product(range(2), repeat=len(parents)):
        yes = 1 / (1 + np.exp(-(weights * (2 * np.array(states) - 1)).sum() / 2 * 1.5))
        table[states] = [1 - yes, yes]
    return cs.Categorical(cs.Variable(name, BINARY), tuple(parents), table)


if __name__ == "__main__":
    main()
