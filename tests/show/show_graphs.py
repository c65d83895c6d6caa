"""Graphs and networks for the tests of this room."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.graph.dag import DAG
from consilience.network.network import Network

ASIA = DAG.parse(
    "[asia][smoke][tub|asia][lung|smoke][bronc|smoke][either|lung:tub][xray|either][dysp|bronc:either]"
)


@st.composite
def dags(draw, max_nodes=12):
    """Any graph on a few nodes, isolated ones and several parts included."""
    names = [f"n{i}" for i in range(draw(st.integers(0, max_nodes)))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []
    return DAG(arcs, nodes=draw(st.permutations(names)))


@st.composite
def sized_dags(draw, max_nodes=12):
    """A graph and the sizes of its boxes."""
    dag = draw(dags(max_nodes))
    size = st.tuples(st.floats(20, 300), st.floats(10, 120))
    return dag, {name: draw(size) for name in dag.nodes}


def network(dag, n_states=2, source=None, sources=("north", "south"), with_posterior=False):
    """A network with this graph whose tables hold every number once."""
    rng = np.random.default_rng(1)
    states = tuple("abcdefghijklmnop"[:n_states])
    variables = {name: Variable(name, sources if name == source else states) for name in dag.nodes}
    local = []
    for name in dag.nodes:
        given = tuple(variables[parent] for parent in dag.parents(name))
        shape = [variable.n_states for variable in (*given, variables[name])]
        counts = rng.gamma(2.0, 5.0, shape) + 1
        posterior = DirichletPosterior(counts) if with_posterior else None
        table = counts / counts.sum(axis=-1, keepdims=True)
        local.append(Categorical(variables[name], given, table, posterior))
    return Network.of(local, source=source)


def with_source(dag, children, source="hospital"):
    """The graph with one more root."""
    return DAG([*((source, child) for child in children), *dag.arcs], nodes=[source, *dag.nodes])
