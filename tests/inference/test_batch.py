from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from inference_oracles import full_joint, margin, networks

import consilience as cs
from consilience.errors import DataError, ImpossibleEvidenceError, UnknownNameError
from consilience.inference import groups
from consilience.inference.expectation import expected_counts


@st.composite
def rows_with_gaps(draw: st.DrawFn, net: cs.Network) -> cs.Table:
    n_rows, seed = draw(st.integers(1, 12)), draw(st.integers(0, 999))
    gaps = draw(st.sampled_from([0.0, 0.3, 1.0]))
    rng = np.random.default_rng(seed)
    table = net.sample(n_rows, seed=seed)
    columns = {
        name: np.where(rng.random(n_rows) < gaps, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    return cs.Table(table.schema, columns)


def known_in(net: cs.Network, table: cs.Table, row: int) -> dict[str, str]:
    return {
        name: net.variables[name].states[column[row]]
        for name, column in table.columns.items()
        if column[row] >= 0
    }


@given(net=networks(max_nodes=6), data=st.data())
def test_every_row_is_answered_like_a_query_of_its_own(net, data):
    table = data.draw(rows_with_gaps(net))
    target = data.draw(st.sampled_from(list(net.variables)))
    posteriors, log_likelihood = net.posteriors(table, target), net.log_likelihood(table)
    for row in range(table.n_rows):
        known = known_in(net, table, row)
        assert log_likelihood[row] == pytest.approx(
            math.log(full_joint(net, known).sum()), abs=1e-11
        )
        known.pop(target, None)
        expected = margin(net, full_joint(net, known), [target])
        np.testing.assert_allclose(posteriors[row], expected / expected.sum(), atol=1e-12)


@given(net=networks(max_nodes=5), data=st.data())
def test_expected_counts_are_sums_of_posteriors_of_families(net, data):
    table = data.draw(rows_with_gaps(net))
    counts = expected_counts(net, table)
    for name, local in net.distributions.items():
        family = [*local.parents, name]
        expected = np.zeros(local.table.shape)
        for row in range(table.n_rows):
            joint = full_joint(net, known_in(net, table, row))
            expected += margin(net, joint / joint.sum(), family)
        np.testing.assert_allclose(counts[name], expected, atol=1e-10)


def test_blocks_and_threads_do_not_change_an_answer(monkeypatch):
    dag = cs.DAG.parse("[a][b|a][c|a:b][d|c]")
    net = cs.random_network(dag, n_states=3, seed=1)
    table = net.sample(2000, seed=2)
    columns = {
        name: np.where(np.arange(2000) % 3 == i, -1, c).astype(np.int8)
        for i, (name, c) in enumerate(table.columns.items())
    }
    gappy = cs.Table(table.schema, columns)
    whole = net.posteriors(gappy, "d")
    monkeypatch.setattr(groups, "MOST_ROWS", 7)
    np.testing.assert_array_equal(net.posteriors(gappy, "d"), whole)


def test_an_impossible_row_is_marked():
    net = cs.fit(
        cs.DAG([("x", "y")]), cs.read({"x": ["a", "b"], "y": ["u", "v"], "z": ["0", "0"]}), cs.MLE()
    )
    table = cs.read({"x": ["a", "a"], "y": ["u", "v"]})
    assert net.log_likelihood(table)[1] == -np.inf
    longer = cs.fit(
        cs.DAG([("x", "y"), ("t", "x")]),
        cs.read({"t": ["0", "1"], "x": ["a", "b"], "y": ["u", "v"]}),
        cs.MLE(),
    )
    np.testing.assert_array_equal(longer.posteriors(table, "t"), [[1, 0], [1, 0]])
    both = cs.read({"x": ["a", "a"], "y": ["u", "v"], "t": [None, None]}, states={"t": ["0", "1"]})
    np.testing.assert_allclose(longer.log_likelihood(both), [math.log(0.5), -np.inf])
    with pytest.raises(ImpossibleEvidenceError, match="row 2 has probability zero"):
        expected_counts(longer, both)


def test_an_impossible_row_has_no_posterior():
    net = cs.fit(
        cs.DAG([("t", "x"), ("t", "y"), ("y", "w")]),
        cs.read({"t": ["0", "1"], "x": ["a", "b"], "y": ["u", "v"], "w": ["p", "q"]}),
        cs.MLE(),
    )
    table = cs.read({"x": ["a", "a"], "y": ["u", "v"], "w": ["p", "q"]})
    np.testing.assert_array_equal(net.posteriors(table, "t"), [[1, 0], [0, 0]])
    gap = cs.read({"x": ["a", "a"], "w": ["p", "q"]}, schema=net.variables)
    np.testing.assert_array_equal(net.posteriors(gap, "t"), [[1, 0], [0, 0]])


def test_columns_that_are_no_nodes_and_the_target_itself_are_not_used():
    net = cs.random_network(cs.DAG([("t", "x")]), seed=1)
    table = cs.read(
        {"x": ["0", "1"], "t": ["0", "0"], "other": ["u", "v"]},
        discrete=["x", "t"],
        states={"t": ["0", "1"]},
    )
    alone = cs.read({"x": ["0", "1"]})
    np.testing.assert_array_equal(net.posteriors(table, "t"), net.posteriors(alone, "t"))


def test_states_are_matched_by_name_and_unknown_ones_refused():
    net = cs.random_network(cs.DAG([("t", "x")]), seed=1)
    turned = cs.read({"x": ["1", "0"]}, states={"x": ["1", "0"]})
    straight = cs.read({"x": ["1", "0"]})
    np.testing.assert_array_equal(net.posteriors(turned, "t"), net.posteriors(straight, "t"))
    with pytest.raises(DataError, match="column 'x', row 2: the state '7' is not known"):
        net.posteriors(cs.read({"x": ["1", "7"]}), "t")
    with pytest.raises(UnknownNameError, match="unknown node 'z'"):
        net.posteriors(straight, "z")


def test_a_column_that_the_table_lacks_is_refused_unless_said_to_be_missing():
    net = cs.random_network(cs.DAG([("t", "x")]), seed=1)
    misspelt = cs.read({"t": ["0", "1"], "xx": ["0", "1"]})
    for ask in (net.log_likelihood, lambda table: net.posteriors(table, "t")):
        with pytest.raises(DataError, match="no column 'x', which is a node of the network"):
            ask(misspelt)


def test_a_table_without_any_node_gives_the_prior():
    net = cs.random_network(cs.DAG([("t", "x")]), seed=1)
    table = cs.read({"other": ["u", "v"]}, schema=net.variables)
    np.testing.assert_allclose(net.posteriors(table, "t"), [net["t"].table] * 2)
    np.testing.assert_allclose(net.log_likelihood(table), [0, 0])


def test_an_impossible_value_elsewhere_in_the_graph_leaves_no_posterior():
    a, b, c = (cs.Variable(name, ("0", "1")) for name in "abc")
    net = cs.Network.of(
        [
            cs.Categorical(a, (), np.array([0.3, 0.7])),
            cs.Categorical(b, (a,), np.array([[0.2, 0.8], [0.6, 0.4]])),
            cs.Categorical(c, (), np.array([1.0, 0.0])),
        ]
    )
    rows = cs.read({"c": ["0", "1"]}, schema=net.variables)
    np.testing.assert_allclose(net.posteriors(rows, "a"), [[0.3, 0.7], [0, 0]])


def test_no_rows_have_no_counts():
    net = cs.random_network(cs.DAG([("t", "x")]), seed=1)
    assert expected_counts(net, net.sample(0, seed=1))["x"].tolist() == [[0, 0], [0, 0]]
