"""What every estimator promises, whatever it does with the sources."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.statistics.engines import Batches

ESTIMATORS = [
    *[cs.MLE(), cs.Dirichlet(), cs.Dirichlet(per_cell=0.5), cs.estimators.Shrinkage(), cs.HDC()],
    *[cs.HDS(), cs.HDS(s=3.0, alpha0=0.5, pseudo_count=1)],
    *[cs.HDMJS(), cs.HDMJS(s=cs.Gamma(4, 0.1))],
    *[cs.HDMCS(), cs.HDMCS(s=2.0), cs.HDMCS(s=cs.Gamma(4, 0.1), alpha0=0.5)],
    *[cs.estimators.Adaptive(), cs.estimators.Adaptive(s=cs.Gamma(4, 0.1))],
    *[cs.Pooled(cs.HDMCS()), cs.Pooled(cs.HDS()), cs.Separate(cs.MLE()), cs.Separate(cs.HDMJS())],
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
GRAPH = cs.DAG.parse("[a][b|a][c|a:b]")
STATES = {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"]}


def rows_of(n_rows=60, seed=0, n_sources=3):
    """A frame of three columns whose states, and their shares, differ by source."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, n_sources, n_rows)
    a = (rng.random(n_rows) < 0.2 + 0.2 * source).astype(int)
    b = np.minimum(rng.integers(0, 3, n_rows), a + 1)
    c = (rng.random(n_rows) < np.where(a == 1, 0.8, 0.3)).astype(int)
    columns = {"a": a, "b": b, "c": c}
    return {name: column.astype(str) for name, column in columns.items()} | {
        "source": np.array([f"f{i}" for i in source])
    }


def read(rows, **options):
    return cs.read(rows, source="source", states=STATES, **options)


def assert_same_tables(one, two, *, tolerance=1e-9):
    """Equal tables, states matched by name."""
    for name, local in one.distributions.items():
        axes = [local.parents.index(parent) for parent in two[name].parents]
        table = local.table.transpose([*axes, local.table.ndim - 1])
        for axis, variable in enumerate((*two[name].given, two[name].child)):
            order = [one.variables[variable.name].states.index(s) for s in variable.states]
            table = table.take(order, axis=axis)
        np.testing.assert_allclose(table, two[name].table, atol=tolerance)


def test_every_estimator_is_in_the_contract():
    known = {type(estimator).__name__ for estimator in ESTIMATORS}
    public = {
        name
        for name in cs.estimators.__all__
        if callable(getattr(getattr(cs.estimators, name), "estimate", None))
    }
    assert known == public


@every_estimator
@given(n_rows=st.integers(1, 40), seed=st.integers(0, 30), n_sources=st.integers(1, 4))
@settings(max_examples=12)
def test_rows_of_every_table_sum_to_one(estimator, n_rows, seed, n_sources):
    net = cs.fit(GRAPH, read(rows_of(n_rows, seed, n_sources)), estimator)
    for local in net.distributions.values():
        assert np.all(local.table >= 0)
        np.testing.assert_allclose(local.table.sum(axis=-1), 1, atol=1e-12)


@every_estimator
def test_the_order_of_rows_does_not_matter(estimator):
    rows = rows_of()
    order = np.random.default_rng(1).permutation(60)
    first = {name: column[order] for name, column in rows.items()}
    assert_same_tables(cs.fit(GRAPH, read(rows), estimator), cs.fit(GRAPH, read(first), estimator))


@every_estimator
def test_the_order_of_states_does_not_matter(estimator):
    rows = rows_of()
    turned = {name: states[::-1] for name, states in STATES.items()}
    one = cs.fit(GRAPH, read(rows), estimator)
    two = cs.fit(GRAPH, cs.read(rows, source="source", states=turned), estimator)
    assert_same_tables(one, two)


@every_estimator
def test_the_order_and_the_names_of_sources_do_not_matter(estimator):
    rows = rows_of()
    names = {"f0": "z", "f1": "y", "f2": "x"}
    renamed = rows | {"source": np.array([names[one] for one in rows["source"]])}
    one = cs.fit(GRAPH, read(rows), estimator)
    two = cs.fit(GRAPH, read(renamed), estimator)
    for local, other in zip(one.distributions.values(), two.distributions.values(), strict=True):
        np.testing.assert_allclose(local.table, other.table, atol=1e-12)
    order = np.argsort(rows["source"], kind="stable")[::-1]
    last_first = {name: column[order] for name, column in rows.items()}
    assert_same_tables(one, cs.fit(GRAPH, read(last_first), estimator))


@every_estimator
def test_the_order_of_parents_does_not_matter(estimator):
    rows = rows_of()
    one = cs.fit(GRAPH, read(rows), estimator)
    two = cs.fit(cs.DAG.parse("[b|a][c|b:a][a]"), read(rows), estimator)
    assert_same_tables(one, two)


@every_estimator
def test_a_row_of_weight_two_is_two_rows(estimator):
    rows = rows_of()
    twice = {name: np.concatenate([column, column[:20]]) for name, column in rows.items()}
    weighted = rows | {"n": np.array([2] * 20 + [1] * 40)}
    one = cs.fit(GRAPH, read(twice), estimator)
    two = cs.fit(GRAPH, read(weighted, weight="n"), estimator)
    assert_same_tables(one, two, tolerance=1e-12)


@every_estimator
def test_batches_are_the_whole(estimator):
    table = read(rows_of())
    parts = [table.take(slice(0, 0)), table.take(slice(0, 7)), table.take(slice(7, 60))]
    one = cs.fit(GRAPH, table, estimator)
    two = cs.fit(GRAPH, Batches(table.schema, parts), estimator)
    for name, local in one.distributions.items():
        np.testing.assert_array_equal(local.table, two[name].table)


@every_estimator
def test_an_estimator_is_named_in_the_record(estimator):
    assert cs.fit(GRAPH, read(rows_of()), estimator).record.method == repr(estimator)


@every_estimator
def test_an_estimator_says_what_it_does_with_the_sources(estimator):
    net = cs.fit(GRAPH, read(rows_of()), estimator)
    assert ("source" in net["a"].parents) == type(estimator).by_source
    has_new = "new_source" in net.variables["source"].states
    assert has_new == getattr(type(estimator), "adds_new_source", False)


@every_estimator
def test_every_estimator_approaches_the_truth_of_every_source(estimator):
    truth = cs.random_network(GRAPH, n_states={"a": 2, "b": 3, "c": 2}, total=9, seed=2)
    table = truth.sample(60_000, seed=3)
    rows = {name: np.asarray(table.variables[name].states)[table.columns[name]] for name in "abc"}
    rows["source"] = np.array(["f0", "f1"])[np.arange(60_000) % 2]
    states = {name: list(variable.states) for name, variable in truth.variables.items()}
    net = cs.fit(GRAPH, cs.read(rows, source="source", states=states), estimator)
    for name in "abc":
        expected = truth[name].table
        found = net[name].table[0] if type(estimator).by_source else net[name].table
        np.testing.assert_allclose(found, expected, atol=0.03)
