"""Random networks: a graph, and tables drawn from Dirichlet distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from consilience import _check
from consilience._typing import Seed
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.graph.dag import DAG
from consilience.network.network import Network
from consilience.network.record import Record
from consilience.statistics.counts import MEMORY_LIMIT, check_table_size
from consilience.statistics.family import Family

__all__ = ["random_network"]


def random_network(
    dag: DAG,
    *,
    n_states: int | Mapping[str, int] = 2,
    total: float | None = None,
    seed: Seed = None,
) -> Network:
    """A network with this graph whose rows are drawn from a symmetric Dirichlet distribution.

    Parameters
    ----------
    dag
        The graph.
    n_states
        Number of states of every node, or of each; states are named ``"0"``, ``"1"``, ...
    total
        Sum of the Dirichlet's parameters in each row; by default one per state, which makes all
        rows equally likely. A small total makes rows extreme, a large one makes them alike.
    seed
        An int, a NumPy generator, or None for fresh entropy.
    """
    if isinstance(n_states, Mapping):
        _check.known("node of n_states", dag.nodes, n_states)
        sizes = {node: n_states[node] for node in dag.nodes}
    else:
        sizes = dict.fromkeys(dag.nodes, n_states)
    for node, size in sizes.items():
        _check.whole(f"random_network, node {node!r}", at_least=1, n_states=size)
    if total is not None:
        _check.positive("random_network", total=total)
    rng = _check.generator(seed)
    variables = {node: Variable(node, tuple(map(str, range(r)))) for node, r in sizes.items()}
    local = [_random_table(dag, node, variables, total, rng=rng) for node in dag.nodes]
    return Network.of(local, record=Record(method="random_network"))


def _random_table(
    dag: DAG,
    node: str,
    variables: Mapping[str, Variable],
    total: float | None,
    *,
    rng: np.random.Generator,
) -> Categorical:
    given = tuple(variables[parent] for parent in dag.parents(node))
    shape = tuple(variable.n_states for variable in (*given, variables[node]))
    check_table_size(Family(node, dag.parents(node)), math.prod(shape), MEMORY_LIMIT)
    cell = 1.0 if total is None else total / shape[-1]
    table = DirichletPosterior(np.full(shape, cell)).draw(rng)
    return Categorical(variables[node], given, table)
