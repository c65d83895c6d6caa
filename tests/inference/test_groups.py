"""Rows grouped by what they agree about, so that its axes can be sliced away."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import ImpossibleEvidenceError
from consilience.inference import groups
from consilience.inference.evidence import Evidence
from consilience.inference.expectation import expected_counts
from consilience.inference.junction import JunctionTree
from consilience.inference.whole_sums import UNIT, WholeSums

N_ROWS, N_SOURCES = 400, 30


def network() -> cs.Network:
    """A TAN network in which every node has the source as a parent."""
    dag = cs.DAG.parse("[place][t|place][x|place:t][y|place:t:x][z|place:t:y]")
    sizes = {"place": N_SOURCES, "t": 2, "x": 3, "y": 3, "z": 2}
    net = cs.random_network(dag, n_states=sizes, seed=1)
    return cs.Network.of(list(net.distributions.values()), source="place")


def gappy(net: cs.Network, *, knows_source: bool) -> cs.Table:
    rng, table = np.random.default_rng(3), net.sample(N_ROWS, seed=2)
    columns = {
        name: np.where(rng.random(N_ROWS) < 0.4, -1, column).astype(column.dtype)
        for name, column in table.columns.items()
    }
    if knows_source:
        return cs.Table(table.schema, columns, source_codes=table.source_codes)
    columns["place"] = np.where(rng.random(N_ROWS) < 0.2, -1, table.source_codes).astype(np.int8)
    return cs.Table(cs.Schema(net.variables), columns)


def set_costs(monkeypatch: pytest.MonkeyPatch, cost: float) -> None:
    monkeypatch.setattr(groups, "GROUP_COST", cost)
    monkeypatch.setattr(groups, "CELL_COST", 0.0)


@pytest.mark.parametrize("knows_source", [True, False])
def test_grouping_the_rows_changes_no_answer(monkeypatch, knows_source):
    net = network()
    table = gappy(net, knows_source=knows_source)
    set_costs(monkeypatch, np.inf)
    together = [net.posteriors(table, name) for name in ("t", "x")]
    log_likelihood, counts = net.log_likelihood(table), expected_counts(net, table)
    for cost in (0.0, 10.0, 1000.0):  # group by everything, by a few variables, by the source
        set_costs(monkeypatch, cost)
        for name, expected in zip(("t", "x"), together, strict=True):
            np.testing.assert_allclose(net.posteriors(table, name), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(net.log_likelihood(table), log_likelihood, rtol=0, atol=1e-12)
        for name, found in expected_counts(net, table).items():
            np.testing.assert_allclose(found, counts[name], rtol=0, atol=1e-11)


def test_many_rows_are_grouped_by_a_source_that_is_a_parent_of_every_node():
    net = network()
    tree = JunctionTree.of(net)
    table = net.sample(20_000, seed=1)
    codes = np.stack([table.column(name) for name in net.variables]).astype(np.int64)
    found = groups._worth_grouping_by(tree, np.arange(len(codes)), codes)
    assert found[0] == tree.index["place"]


def test_one_row_is_sliced_at_everything_it_knows():
    net = network()
    tree = JunctionTree.of(net)
    codes = np.array([[3], [-1], [0], [1], [-1]])
    found = groups._worth_grouping_by(tree, np.arange(5), codes)
    assert sorted(found) == [0, 2, 3]


def test_the_first_impossible_row_is_named_whatever_its_group():
    net = cs.fit(
        cs.DAG([("x", "y"), ("t", "x")]),
        cs.read({"t": ["0", "1"], "x": ["a", "b"], "y": ["u", "v"]}),
        cs.MLE(),
    )
    table = cs.read({"x": ["b", "a", "b"], "y": ["v", "v", "u"]}, schema=net.variables)
    with pytest.raises(ImpossibleEvidenceError, match="row 2 has probability zero"):
        expected_counts(net, table)


def likelihood_over(scope: tuple[str, ...], n_rows: int) -> np.ndarray:
    sizes = [network().variables[name].n_states for name in scope]
    return np.random.default_rng(5).uniform(0.1, 1.0, (*sizes, n_rows))


@pytest.mark.parametrize("cost", [0.0, 1000.0, np.inf])
def test_a_likelihood_over_a_set_is_a_child_of_it_that_was_seen(monkeypatch, cost):
    """The child is a binary node whose table in each row is the likelihood of that row."""
    set_costs(monkeypatch, cost)
    net, scope = network(), ("z", "x")
    table = gappy(net, knows_source=True).take(slice(0, 40))
    likelihood = likelihood_over(scope, table.n_rows)
    columns = {name: table.column(name) for name in net.variables}
    batch = groups.Batch(JunctionTree.of(net, scopes=[scope]), columns, 40, {scope: likelihood})
    belief = {scope: np.empty_like(likelihood)}
    sums = WholeSums.none(1, 1)
    found, log_evidence = batch.expected_sums(np.ones(40, np.int64), sums.dot, belief)
    counts = {name: one[0] / UNIT for name, one in batch.by_family(found).items()}
    total = np.zeros(net["y"].table.shape)
    for i in range(table.n_rows):
        seen = np.stack([likelihood[..., i], 1 - likelihood[..., i]], axis=-1)
        parents = tuple(net.variables[name] for name in scope)
        child = cs.Categorical(cs.Variable("seen", ("yes", "no")), parents, seen)
        grown = cs.Network.of([*net.distributions.values(), child], source="place")
        known = {
            n: v.states[table.column(n)[i]]
            for n, v in net.variables.items()
            if table.column(n)[i] >= 0
        }
        given = {**known, "seen": "yes"}
        assert log_evidence[i] == pytest.approx(cs.log_probability(grown, given), abs=1e-11)
        both = grown.query(list(scope), given=given).values
        np.testing.assert_allclose(belief[scope][..., i], both, atol=1e-12)
        total += grown.query([*net["y"].parents, "y"], given=given).values
    np.testing.assert_allclose(counts["y"], total, atol=1e-9)  # 40 rows, each rounded to 2^-36


def test_one_body_of_evidence_takes_likelihoods_over_sets_too():
    net, scope = network(), ("z", "x", "t")
    tree = JunctionTree.of(net, scopes=[scope])
    likelihood = likelihood_over(scope, 1)
    batch = groups.Batch(tree, {"place": np.array([3])}, 1, {scope: likelihood})
    evidence = Evidence({"place": 3}, {}, {}, sets={scope: likelihood[..., 0]})
    assert tree.log_evidence(evidence) == pytest.approx(batch.log_evidence()[0], abs=1e-12)
