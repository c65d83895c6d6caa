from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import consilience as cs
from consilience.errors import DataError, ImpossibleEvidenceError, InputError, UnknownNameError
from consilience.inference.sampling import sample


def chain(n_states: int = 3, total: float | None = None) -> cs.Network:
    dag = cs.DAG.parse("[a][b|a][c|a:b]")
    return cs.random_network(dag, n_states=n_states, total=total, seed=1)


@pytest.mark.parametrize("n_states", [1, 2, 3, 4, 5, 30])
def test_frequencies_follow_the_tables(n_states):
    net = chain(n_states, total=3.0 * n_states)
    table = net.sample(60_000, seed=3)
    [counts] = cs.count(table, [cs.Family("c", ("a", "b"))])
    rows = counts.table[0]
    expected = rows.sum(axis=1, keepdims=True) * net["c"].rows
    kept = expected > 5
    if n_states > 1:
        # Cells expected to be rare are left out; their share makes the sums agree again.
        observed = rows[kept] * expected[kept].sum() / rows[kept].sum()
        assert chisquare(observed, expected[kept]).pvalue > 1e-3


def test_a_state_of_probability_zero_is_never_drawn():
    coin = cs.Variable("coin", ("never", "heads", "tails", "no"))
    net = cs.Network.of([cs.Categorical(coin, (), np.array([0.0, 0.5, 0.5, 0.0]))])
    assert set(np.unique(net.sample(100_000, seed=2).columns["coin"])) == {1, 2}


def test_rows_do_not_depend_on_the_number_of_threads():
    tables = [sample(chain(), 70_000, given={}, seed=7, threads=n) for n in (1, 2, 3)]
    for name in "abc":
        np.testing.assert_array_equal(tables[0].columns[name], tables[1].columns[name])
        np.testing.assert_array_equal(tables[0].columns[name], tables[2].columns[name])


def test_the_same_seed_gives_the_same_rows_and_another_seed_others():
    first, again, other = (chain().sample(500, seed=seed).columns["c"] for seed in (1, 1, 2))
    assert (first == again).all()
    assert not (first == other).all()


def test_a_shorter_sample_is_the_beginning_of_a_longer_one():
    short, long = chain().sample(10, seed=4), chain().sample(50_000, seed=4)
    np.testing.assert_array_equal(short.columns["c"], long.columns["c"][:10])


def test_nodes_of_one_sample_are_independent_where_the_graph_says_so():
    dag = cs.DAG(nodes=["a", "b"])
    table = cs.random_network(dag, n_states=4, total=40, seed=5).sample(100_000, seed=6)
    [counts] = cs.count(table, [cs.Family("a", ("b",))])
    rows = counts.table[0]
    expected = rows.sum(axis=1, keepdims=True) * rows.sum(axis=0) / rows.sum()
    assert chisquare(rows.ravel(), expected.ravel(), ddof=6).pvalue > 1e-3


def test_the_source_of_the_network_is_the_source_of_the_rows():
    net = chain()
    sourced = cs.Network(net.distributions, source="a")
    table = sourced.sample(100, seed=1)
    assert table.source == "a"
    assert table.sources == ("0", "1", "2")
    assert set(table.variables) == {"b", "c"}


def tied() -> cs.Network:
    """A hierarchical network of few rows, so that its reserved source is probable: 1/5."""
    one = {"a": ["x", "y"], "b": ["x", "y"]}
    other = {"a": ["x", "y"], "b": ["y", "y"]}
    table = cs.read({"north": one, "south": other}, source="place")
    return cs.fit(cs.DAG([("a", "b")]), table, cs.HDMCS())


@pytest.mark.parametrize(
    "given", [None, {"a": "x"}, {"b": cs.Soft({"x": 0.7, "y": 0.3})}, {"place": ["north", "south"]}]
)
def test_rows_come_from_the_sources_that_the_network_knows(given):
    net = tied()
    assert net.variables["place"].states == ("north", "south", "new_source")
    table = net.sample(20_000, given=given, seed=1)
    assert table.sources == ("north", "south")
    limited = {"place": ["north", "south"], **(given or {})}
    for name in ("place", "a", "b"):
        if name == "place" or name not in limited:
            expected = net.query(name, given=limited).values
            shares = np.bincount(table.column(name), minlength=len(expected)) / table.n_rows
            np.testing.assert_allclose(shares, expected[: len(shares)], atol=0.02)
    assert cs.fit(net.dag.without("place"), table).variables["place"] == net.variables["place"]


def test_a_reserved_source_in_any_place_is_left_out():
    place, a = cs.Variable("place", ("u", "new_source", "v")), cs.Variable("a", ("u", "v"))
    copies = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    net = cs.Network.of(
        [cs.Categorical(place, (), [0.2, 0.5, 0.3]), cs.Categorical(a, (place,), copies)],
        source="place",
    )
    table = net.sample(500, seed=1)
    assert table.sources == ("u", "v")
    np.testing.assert_array_equal(table.column("place"), table.column("a"))


@pytest.mark.parametrize(
    "asked",
    [
        "new_source",
        {"north", "new_source"},
        cs.Soft({"south": 0.5, "new_source": 0.5}),
        cs.Likelihood({"south": 1, "new_source": 3}),
    ],
)
def test_the_reserved_source_is_drawn_if_asked_for(asked):
    net = tied()
    table = net.sample(200, given={"place": asked}, seed=1)
    assert table.sources == ("north", "south", "new_source")
    assert 2 in table.source_codes
    with pytest.raises(DataError, match="Give the source another name"):
        cs.fit(net.dag.without("place"), table, cs.HDMCS())


def test_the_reserved_source_is_drawn_if_it_was_set_from_outside():
    assert set(tied().do({"place": "new_source"}).sample(9, seed=1).source_codes) == {2}


def test_given_states_are_fixed_and_the_rest_follows():
    net = chain()
    table = net.sample(50_000, given={"a": "2"}, seed=1)
    assert (table.columns["a"] == 2).all()
    shares = np.bincount(table.columns["b"], minlength=3) / 50_000
    np.testing.assert_allclose(shares, net["b"].table[2], atol=0.01)  # four standard errors


@pytest.mark.parametrize(
    "given",
    [
        {"c": "1"},
        {"b": {"0", "2"}, "c": "0"},
        {"c": cs.Likelihood({"0": 3, "1": 1})},
        {"a": cs.Soft({"0": 0.7, "2": 0.3})},
    ],
    ids=["state", "set", "likelihood", "soft"],
)
def test_rows_given_anything_follow_the_posterior(given):
    net = cs.random_network(cs.DAG.parse("[a][b|a][c|a:b][d|c][e]"), n_states=3, seed=1)
    table = net.sample(40_000, given=given, seed=5)
    [counts] = cs.count(table, [cs.Family("e", ("a", "b", "c", "d"))])
    observed = counts.table.ravel()
    expected = 40_000 * net.query(["a", "b", "c", "d", "e"], given=given).values.ravel()
    assert np.all(observed[expected == 0] == 0)
    kept = expected > 5
    scaled = observed[kept] * expected[kept].sum() / observed[kept].sum()
    assert chisquare(scaled, expected[kept]).pvalue > 1e-3


def test_impossible_evidence_cannot_be_sampled():
    table = cs.read({"x": ["a", "b"], "y": ["u", "v"]})
    net = cs.fit(cs.DAG([("x", "y")]), table, cs.MLE())
    for given in ({"x": "a", "y": "v"}, {"x": {"a"}, "y": cs.Likelihood({"v": 1.0})}):
        with pytest.raises(ImpossibleEvidenceError, match="probability zero"):
            net.sample(5, given=given)


def test_an_unknown_node_or_state_is_named():
    with pytest.raises(UnknownNameError, match="unknown node 'z'"):
        chain().sample(10, given={"z": "0"})
    with pytest.raises(UnknownNameError, match="no state '9'"):
        chain().sample(10, given={"a": "9"})


def test_no_rows_are_a_table_all_the_same():
    assert chain().sample(0, seed=1).n_rows == 0


def test_a_negative_number_of_rows_is_refused():
    with pytest.raises(InputError, match="at least 0, got -1"):
        chain().sample(-1)
