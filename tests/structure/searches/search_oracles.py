"""Slow and plain definitions that the searches are judged by."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

import consilience as cs
from consilience.graph import all_dags

FOUR = tuple(all_dags(("A", "B", "C", "D")))


@cache
def all_on_five():
    """All graphs on five nodes, made for the first test that asks."""
    return tuple(all_dags(("A", "B", "C", "D", "E")))


def random_rows(names, seed, n_rows=150):
    """Rows of a random network over these names, with two or three states."""
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(list(names), p_arc=0.6, seed=rng)
    n_states = {node: int(rng.integers(2, 4)) for node in dag.nodes}
    return cs.random_network(dag, n_states=n_states, total=1.0, seed=rng).sample(n_rows, seed=rng)


def families_of(nodes):
    return [
        cs.Family(child, parents)
        for child in nodes
        for n in range(len(nodes))
        for parents in combinations([node for node in nodes if node != child], n)
    ]


def scores_of_all(dags, table, score):
    """Score of each graph, from the scores of all families."""
    families = families_of(sorted(table.variables))
    values = score.local(cs.count(table, families, by_source=score.by_source))
    known = {
        (family.child, frozenset(family.parents)): value
        for family, value in zip(families, values, strict=True)
    }
    return np.array(
        [sum(known[node, frozenset(dag.parents(node))] for node in dag.nodes) for dag in dags]
    )


def is_legal(dag, *, require=(), forbid=(), tiers=(), max_parents=None):
    rank = {node: k for k, tier in enumerate(tiers) for node in tier}
    arcs = set(dag.arcs)
    return (
        arcs.issuperset(require)
        and arcs.isdisjoint(forbid)
        and not any(a in rank and b in rank and rank[a] > rank[b] for a, b in arcs)
        and (max_parents is None or all(len(dag.parents(n)) <= max_parents for n in dag.nodes))
    )
