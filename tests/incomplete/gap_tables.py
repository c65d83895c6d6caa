"""Tables with gaps, and brute force over all completions of their rows."""

from __future__ import annotations

import itertools
import math

import numpy as np

import consilience as cs


def with_holes(table: cs.Table, share: float, rng: np.random.Generator) -> cs.Table:
    """The table with values taken out at random."""
    columns = {
        name: np.where(rng.random(table.n_rows) < share, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    return cs.Table(table.schema, columns, table.source_codes, table.weights, origins=table.origins)


def random_case(seed: int, *, max_nodes: int = 6, n_rows: int = 30) -> tuple[cs.Network, cs.Table]:
    """A random network and rows of it with gaps; some columns may be missing altogether."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(int(rng.integers(1, max_nodes + 1)))]
    dag = cs.random_dag(names, p_arc=float(rng.uniform(0, 0.9)), max_parents=3, seed=seed)
    n_states = {name: int(rng.integers(2, 4)) for name in names}
    net = cs.random_network(dag, n_states=n_states, seed=seed)
    table = with_holes(net.sample(n_rows, seed=seed), float(rng.uniform(0, 0.7)), rng)
    return net, table


def row_posteriors(net: cs.Network, table: cs.Table) -> list[dict[tuple[int, ...], float]]:
    """For each row the probability, jointly with what is known, of each of its completions."""
    names = list(net.variables)
    answer = []
    for i in range(table.n_rows):
        known = [int(table.column(name)[i]) for name in names]
        ranges = [
            [code] if code >= 0 else range(net.variables[name].n_states)
            for name, code in zip(names, known, strict=True)
        ]
        answer.append({states: joint(net, states) for states in itertools.product(*ranges)})
    return answer


def joint(net: cs.Network, states: tuple[int, ...]) -> float:
    at = dict(zip(net.variables, states, strict=True))
    return math.prod(
        float(local.table[tuple(at[p] for p in (*local.parents, name))])
        for name, local in net.tables.items()
    )


def barren(net: cs.Network, table: cs.Table, i: int) -> set[str]:
    """Nodes of which neither their value nor that of any descendant is known in a row."""
    known = {name for name in net.variables if table.column(name)[i] >= 0}
    return {name for name in net.variables if not known & {name, *net.dag.descendants([name])}}


def expected_by_hand(net: cs.Network, table: cs.Table) -> tuple[dict[str, np.ndarray], float]:
    """Expected counts, without barren families, and log-likelihood over all completions."""
    counts = {name: np.zeros(local.table.shape) for name, local in net.tables.items()}
    log_likelihood = 0.0
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    for i, weighed in enumerate(row_posteriors(net, table)):
        total = sum(weighed.values())
        log_likelihood += weights[i] * math.log(total)
        left_out = barren(net, table, i)
        for states, weight in weighed.items():
            at = dict(zip(net.variables, states, strict=True))
            for name in set(counts) - left_out:
                place = tuple(at[p] for p in (*net.tables[name].parents, name))
                counts[name][place] += weights[i] * weight / total
    return counts, log_likelihood
