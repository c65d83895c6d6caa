"""Small networks with three sources, shared by the tests of the simulators."""

from __future__ import annotations

import numpy as np

import consilience as cs
from consilience.distributions.categorical import Categorical
from consilience.network.network import Network

SOURCES = ("north", "south", "west")
TARGET = "c"


def three_sources(arcs=(), *, n_features=5, n_states=3, n_classes=2, total=6.0, seed=0):
    """Naive Bayes with more arcs between the features, the source a parent of every node."""
    features = [f"x{i}" for i in range(n_features)]
    user_arcs = [*((TARGET, x) for x in features), *arcs]
    dag = cs.DAG([*(("f", name) for name in (TARGET, *features)), *user_arcs])
    sizes = dict.fromkeys(features, n_states) | {"f": 3, TARGET: n_classes}
    drawn = cs.random_network(dag, n_states=sizes, total=total, seed=seed)
    source = cs.Variable("f", SOURCES)
    local = [
        Categorical(
            source if each.child.name == "f" else each.child, renamed(each, source), each.table
        )
        for each in drawn.distributions.values()
    ]
    return Network.of(local, source="f")


def renamed(local, source):
    return tuple(source if parent.name == "f" else parent for parent in local.given)


def pooled(net):
    """The network of the sources' means: enough of a pooled table for the simulators."""
    local = [
        Categorical(each.child, each.given[1:], each.table.mean(axis=0))
        for name, each in net.distributions.items()
        if name != "f"
    ]
    return Network.of(local)


def one_node(rows):
    """A source without influence on anything but one node, and rows (sources, states) of it."""
    rows = np.asarray(rows, float)
    source = cs.Variable("f", tuple(f"f{k}" for k in range(len(rows))))
    x = cs.Variable("x", tuple(f"s{k}" for k in range(rows.shape[1])))
    local = [
        Categorical(source, (), np.full(len(rows), 1 / len(rows))),
        Categorical(x, (source,), rows),
    ]
    return Network.of(local, source="f")


def one_pooled(row):
    x = cs.Variable("x", tuple(f"s{k}" for k in range(len(row))))
    return Network.of([Categorical(x, (), row)])


def assert_same_tables(one, other):
    assert one.dag.nodes == other.dag.nodes
    for name in one.distributions:
        np.testing.assert_array_equal(one[name].table, other[name].table)
