"""Small influence networks with known truth."""

from __future__ import annotations

import numpy as np

import consilience as cs
from consilience.data.table import Table
from consilience.network.network import Network

GROUPS = {name: [f"{name}{j}" for j in range(4)] for name in "ABC"}


def influence_truth(arcs, *, groups=GROUPS, strength=0.85) -> Network:
    """Binary models whose observed variables, and whose children, copy them with some strength."""
    dag = cs.DAG(
        [*arcs, *((name, one) for name, observed in groups.items() for one in observed)],
        nodes=tuple(groups),
    )
    states = {node: cs.Variable(node, ("0", "1")) for node in dag.nodes}
    local = []
    for node in dag.nodes:
        given = tuple(states[parent] for parent in dag.parents(node))
        votes = np.indices((2,) * len(given)).sum(axis=0) if given else np.array(0.5)
        share = 0.5 + (strength - 0.5) * (2 * votes / max(len(given), 1) - 1)
        if not given:
            share = np.array(0.4)
        local.append(cs.Categorical(states[node], given, np.stack([1 - share, share], axis=-1)))
    return Network.of(local)


def rows_of(net: Network, n_rows: int, seed: int, groups=GROUPS) -> tuple[Table, Table]:
    """Observed columns, and hidden ones, of the same rows."""
    rows = net.sample(n_rows, seed=seed)
    observed = [name for names in groups.values() for name in names]
    return rows.select(observed), rows.select(list(groups))


def with_gaps(table: Table, share: float, seed: int) -> Table:
    """The table with values missing completely at random."""
    rng = np.random.default_rng(seed)
    columns = {
        name: np.where(rng.random(table.n_rows) < share, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    return Table(table.schema, columns)
