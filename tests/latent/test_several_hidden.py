"""Groups with more than one hidden node, required arcs and moves of blocks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import consilience as cs
from consilience.errors import ConsilienceError
from consilience.latent.joint import blocks_of
from consilience.latent.moves import _block_neighbors

BINARY = ("no", "yes")
X, Y = ("x0", "x1", "x2", "x3"), ("y0", "y1", "y2")
GROUPS = {"A": X, "B": X, "C": Y}


def network(seed: int = 0) -> cs.Network:
    """A and B with four children in common, C with three of its own; A -> C."""
    rng = np.random.default_rng(seed)
    a, b, c = (cs.Variable(name, BINARY) for name in "ABC")
    local = [cs.Categorical(a, (), [0.5, 0.5]), cs.Categorical(b, (), [0.6, 0.4])]
    local.append(cs.Categorical(c, (a,), [[0.9, 0.1], [0.1, 0.9]]))
    for name in X:
        yes = rng.uniform(0.02, 0.98, (2, 2))
        local.append(cs.Categorical(cs.Variable(name, BINARY), (a, b), np.stack([1 - yes, yes], 2)))
    clear = [[0.9, 0.1], [0.1, 0.9]]
    of_c = [cs.Categorical(cs.Variable(name, BINARY), (c,), clear) for name in Y]
    return cs.Network.of([*local, *of_c])


@pytest.fixture(scope="module")
def table():
    return network().sample(300, seed=1).select([*X, *Y])


def test_posteriors_of_nodes_that_share_their_variables_are_those_of_the_network(table):
    net = network()
    found = cs.latent.Influence(net, cs.DAG([("A", "C")], list("ABC")), GROUPS, 0.0, 0.0, (), "")
    rows = table.take(slice(0, 20))
    frame = rows.to_frame()
    for name, ours in found.posteriors(rows).items():
        for i, row in enumerate(frame.to_dict("records")):
            np.testing.assert_allclose(ours[i], net.query(name, row).values, atol=1e-12)


def test_soft_completions_have_the_expected_counts_of_all_hidden_nodes(table):
    net = network()
    rows = table.take(slice(0, 20))
    [(_, completed)] = cs.latent.SoftCompletion((1,)).complete(net, rows, GROUPS)
    counted = np.zeros((2, 2, 2))
    for row in rows.to_frame().to_dict("records"):
        counted += net.query(["A", "B", "C"], row).values
    found = np.zeros_like(counted)
    frame = completed.to_frame()
    weights = np.asarray(completed.weights)
    for states, weight in zip(frame[["A", "B", "C"]].to_numpy(), weights, strict=True):
        found[tuple(BINARY.index(state) for state in states)] += weight
    np.testing.assert_allclose(found, counted, atol=1e-6)


def test_the_variables_of_a_group_depend_on_all_its_hidden_nodes(table):
    found = cs.influence(table, GROUPS, n_states=2, alone=cs.EM(restarts=1), iterations=2)
    assert {found.network.dag.parents(name) for name in X} == {("A", "B")}
    assert {found.network.dag.parents(name) for name in Y} == {("C",)}
    assert found.dag.nodes == ("A", "B", "C")
    assert cs.svg(found).count("x0") >= 1


def test_required_arcs_are_in_every_graph_and_forbidden_ones_in_none(table):
    found = cs.influence(
        table,
        GROUPS,
        n_states=2,
        require=[("C", "B")],
        forbid=[("A", "C"), ("C", "A")],
        alone=cs.EM(restarts=1),
        iterations=3,
    )
    assert ("C", "B") in found.dag.arcs
    assert not {("A", "C"), ("C", "A")} & set(found.dag.arcs)
    assert found.trace[1].note == "required arcs"


def test_moves_of_blocks_add_remove_and_turn_all_arcs_between_two_groups():
    dag = cs.DAG([("A", "C")], list("ABCD"))
    found = {frozenset(one.arcs) for one in _block_neighbors(dag, 3, [("A", "B"), ("C", "D")])}
    there = frozenset(product("AB", "CD"))
    back = frozenset((b, a) for a, b in there)
    assert found == {there, back, frozenset()}
    assert not list(_block_neighbors(dag, 3, [("A",), ("C",)]))
    few = {frozenset(one.arcs) for one in _block_neighbors(dag, 1, [("A", "B"), ("C", "D")])}
    assert few == {frozenset()}


def test_blocks_are_hidden_nodes_with_the_same_variables():
    assert blocks_of(GROUPS) == [("A", "B"), ("C",)]


def test_groups_that_share_only_some_variables_are_refused(table):
    with pytest.raises(ConsilienceError, match="unless both have the same variables"):
        cs.influence(table, {"A": X, "B": X[:2]}, n_states=2)
    with pytest.raises(ConsilienceError, match="names a variable twice"):
        cs.influence(table, {"A": ("x0", "x0")}, n_states=2)
    with pytest.raises(ConsilienceError, match=r"cycle|required"):
        cs.influence(table, GROUPS, n_states=2, require=[("A", "C"), ("C", "A")])
