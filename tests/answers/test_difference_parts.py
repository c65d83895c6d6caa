"""A difference between sources, split into another population and another mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.answers.difference_parts import PARTS, difference_parts


def by_source(seed: int, n_nodes: int = 6, n_sources: int = 3) -> cs.Network:
    """A random network of several sources: the tables of all nodes differ."""
    rng = np.random.default_rng(seed)
    plain = cs.random_network(cs.random_dag(n_nodes, p_arc=0.4, seed=seed), seed=seed)
    place = cs.Variable("place", tuple(f"p{k}" for k in range(n_sources)))
    nodes = [cs.Categorical(place, (), rng.dirichlet(np.ones(n_sources)))]
    for local in plain.tables.values():
        table = rng.dirichlet(np.ones(local.child.n_states), (n_sources, *local.table.shape[:-1]))
        nodes.append(cs.Categorical(local.child, (place, *local.given), table))
    return cs.Network.of(nodes, source="place")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("reference", [None, "p0"])
def test_the_parts_add_up_to_the_difference(seed, reference):
    net = by_source(seed)
    for node in net.variables:
        if node == "place":
            continue
        for found in difference_parts(net, node, reference=reference):
            at = {} if reference is None else {"place": reference}
            own = net.query(node, {"place": found.source}).values
            assert np.abs(found.difference - (own - net.query(node, at).values)).max() < 1e-12
            parts = found.population + found.mechanism
            assert np.abs(parts - found.difference).max() < 1e-12


def altered(seed: int) -> tuple[cs.Network, str]:
    """Two sources that are alike but for the table of one node in the second."""
    rng = np.random.default_rng(seed)
    plain = cs.random_network(cs.random_dag(7, p_arc=0.4, seed=seed), seed=seed)
    place = cs.Variable("place", ("a", "b"))
    chosen = str(rng.choice(list(plain.variables)))
    nodes = [cs.Categorical(place, (), [0.4, 0.6])]
    for name, local in plain.tables.items():
        other = local.table
        if name == chosen:
            other = rng.dirichlet(np.ones(local.child.n_states), local.table.shape[:-1])
        table = np.stack([local.table, other])
        nodes.append(cs.Categorical(local.child, (place, *local.given), table))
    return cs.Network.of(nodes, source="place"), chosen


@given(seed=st.integers(0, 10**6))
def test_one_altered_table_is_mechanism_there_and_population_below_it(seed):
    net, chosen = altered(seed)
    below = net.dag.without("place").descendants(chosen)
    for node in net.dag.without("place").nodes:
        (found,) = difference_parts(net, node, reference="a")
        mechanism, population = (np.abs(x).max() for x in (found.mechanism, found.population))
        assert (mechanism > 1e-12) == (node == chosen)
        assert (population > 1e-12) == (node in below)


def test_parents_that_cannot_happen_are_no_difference():
    place, x, y = (cs.Variable(n, ("0", "1")) for n in ("place", "x", "y"))
    net = cs.Network.of(
        [
            cs.Categorical(place, (), [0.5, 0.5]),
            cs.Categorical(x, (place,), [[1.0, 0.0], [0.5, 0.5]]),
            cs.Categorical(y, (x,), [[0.9, 0.1], [0.2, 0.8]]),
        ],
        source="place",
    )
    for found in difference_parts(net, "y"):
        assert np.isfinite(found.population).all()
        assert np.abs(found.mechanism).max() < 1e-15


def test_a_part_is_clear_where_many_rows_say_so():
    rows = {"x": ["a", "b"] * 200, "y": ["c"] * 300 + ["d"] * 100}
    more = {"x": ["a", "b"] * 200, "y": ["c"] * 100 + ["d"] * 300}
    table = cs.read({"one": rows, "two": more})
    net = cs.fit(cs.DAG([("x", "y")]), table, cs.HDMCS(s=5))
    (found,) = difference_parts(net, "y", reference="one", draws=200)
    assert found.is_clear("mechanism", "d")
    assert not found.is_clear("population", "d")
    for part in PARTS:
        low, high = found.ends[part]
        assert (low <= high).all()
    assert replace(found, ends={}).is_clear("mechanism", "d") is None
    assert "mechanism" in found._repr_html_()
    assert "two less one" in repr(found)


def test_a_node_without_a_table_is_refused_by_name():
    table = cs.read({"a": {"x": [1.0, 2.5, 3.0]}, "b": {"x": [2.0, 2.25, 5.0]}})
    net = cs.fit(cs.DAG(nodes=["x"]), table)
    with pytest.raises(cs.ConsilienceError, match="'x' is continuous"):
        difference_parts(net, "x")
    with pytest.raises(cs.ConsilienceError, match="no source"):
        difference_parts(cs.random_network(cs.random_dag(2, n_arcs=1, seed=1), seed=1), "X1")
