"""Laws that tie networks with continuous nodes to those without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from inference_oracles import findings, networks
from mixed_oracles import drawn_row, random_evidence, random_mixed
from scipy.stats import norm

import consilience as cs
from consilience.errors import ImpossibleEvidenceError, InputError
from consilience.inference.evidence import evidence_of
from consilience.inference.junction import JunctionTree
from consilience.inference.ways import Exact

LONELY = cs.LinearGaussian(cs.Variable("lonely"), (), 1.0, [], 2.0)


def with_lonely(net: cs.Network) -> cs.Network:
    return cs.Network.of([*net.distributions.values(), LONELY], source=net.source)


def with_holes(table: cs.Table, rng: np.random.Generator, share: float) -> cs.Table:
    columns = {}
    for name, column in table.columns.items():
        gap = np.nan if column.dtype == float else -1
        is_gap = rng.random(table.n_rows) < share
        columns[name] = np.where(is_gap, gap, column).astype(column.dtype)
    return cs.Table(table.schema, columns, table.source_codes, table.weights)


@given(data=st.data())
def test_a_lonely_node_changes_no_answer_about_others(data):
    net = data.draw(networks(max_nodes=5))
    evidence = data.draw(findings(net))
    grown = with_lonely(net)
    try:
        expected = net.marginals(evidence)
    except ImpossibleEvidenceError:
        with pytest.raises(ImpossibleEvidenceError):
            grown.marginals(evidence)
        return
    found = grown.marginals({**evidence, "lonely": 3.0})
    for name, belief in expected.items():
        np.testing.assert_allclose(found[name].values, belief.values, atol=1e-12)
    assert grown.marginals(evidence)["lonely"].sd == pytest.approx(2.0)
    log = cs.log_probability(grown, {**evidence, "lonely": 3.0})
    assert log == pytest.approx(
        cs.log_probability(net, evidence) + norm(1, 2).logpdf(3.0), abs=1e-10
    )
    best, plain = grown.mpe(evidence), net.mpe(evidence)
    assert {name: best[name] for name in plain} == dict(plain)


@given(seed=st.integers(0, 10**6))
def test_a_lonely_column_changes_no_answer_about_rows(seed):
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(5)]
    net = cs.random_network(cs.random_dag(names, p_arc=0.5, seed=seed), n_states=2, seed=seed)
    grown = with_lonely(net)
    rows = with_holes(grown.sample(20, seed=seed), rng, 0.4)
    plain = rows.select(names)
    values = rows.column("lonely")
    own = np.where(np.isnan(values), 0.0, norm(1, 2).logpdf(values))
    np.testing.assert_allclose(grown.log_likelihood(rows), net.log_likelihood(plain) + own)
    np.testing.assert_allclose(grown.posteriors(rows, "x2"), net.posteriors(plain, "x2"))
    counts, fewer = cs.expected_counts(grown, rows), cs.expected_counts(net, plain)
    for name in names:
        np.testing.assert_allclose(counts[name], fewer[name], atol=1e-10)


@given(seed=st.integers(0, 10**6))
def test_equal_regressions_in_all_states_are_as_if_cut_off(seed):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(["a", "b", "c"], p_arc=0.6, seed=seed)
    net = cs.random_network(dag, n_states=3, seed=seed)
    tied = cs.LinearGaussian(
        LONELY.child, (net.variables["a"],), np.ones(3), np.zeros((3, 0)), np.full(3, 2.0)
    )
    grown = cs.Network.of([*net.distributions.values(), tied])
    value, state = float(rng.normal(1, 2)), net.variables["b"].states[0]
    for name in ("a", "c"):
        np.testing.assert_allclose(
            grown.query(name, {"b": state, "lonely": value}).values,
            net.query(name, {"b": state}).values,
            atol=1e-12,
        )


@pytest.mark.parametrize("seed", range(20))
def test_observed_continuous_nodes_are_likelihoods_of_their_parents(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 6, p_arc=0.5)
    row = drawn_row(net, seed)
    values = {name: float(row[name]) for name in net.regressions}
    plain = cs.Network.of(list(net.tables.values())) if net.tables else None
    if plain is None:
        return
    sets, log = {}, 0.0
    for name, local in net.regressions.items():
        parents = np.array([[values[v.name] for v in local.continuous]])
        n = local.sd.size
        each = local.log_densities(np.arange(n), np.repeat(parents, n, axis=0), values[name])
        scope = tuple(v.name for v in local.discrete)
        if scope:
            before = sets.get(scope, 1.0)
            sets[scope] = before * np.exp(each).reshape(local.sd.shape)
        else:
            log += float(each[0])
    tree = JunctionTree.of(plain, scopes=tuple(sets))
    evidence = evidence_of(plain.variables, {})
    evidence = type(evidence)({}, {}, {}, log, sets=sets)
    with tree.propagated(evidence) as beliefs:
        assert beliefs.log_evidence == pytest.approx(cs.log_probability(net, values), abs=1e-9)
        for name, expected in beliefs.marginals().items():
            np.testing.assert_allclose(net.query(name, values).values, expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(25))
def test_all_marginals_are_the_answers_one_by_one(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 8, p_arc=0.4)
    evidence = random_evidence(rng, net, drawn_row(net, seed), share=0.3)
    for name, belief in net.marginals(evidence).items():
        alone = net.query(name, evidence)
        if net.variables[name].is_continuous:
            assert (belief.mean, belief.sd) == pytest.approx((alone.mean, alone.sd), abs=1e-9)
        else:
            np.testing.assert_allclose(belief.values, alone.values, atol=1e-12)


def far_apart() -> cs.Network:
    """Two values that each exclude a state by more than a float holds, over different sets."""
    d, e = cs.Variable("d", ("a", "b")), cs.Variable("e", ("u", "v"))
    x, y = cs.Variable("x"), cs.Variable("y")
    one = np.array([0.0, 60.0])
    return cs.Network.of(
        [
            cs.Categorical(d, (), [0.5, 0.5]),
            cs.Categorical(e, (), [0.5, 0.5]),
            cs.LinearGaussian(x, (d,), one, np.zeros((2, 0)), np.ones(2)),
            cs.LinearGaussian(
                y,
                (d, e),
                np.array([[70.0, 71.0], [0.0, 1.0]]),
                np.zeros((2, 2, 0)),
                np.ones((2, 2)),
            ),
        ]
    )


def test_densities_that_no_float_holds_are_compared_in_logarithms():
    net = far_apart()
    given = {"x": 0.0, "y": 0.0}  # log densities: d = a 0 and -2450, d = b -1800 and 0
    assert net.query("d", given)["b"] == pytest.approx(1.0)
    assert net.marginals(given)["d"]["b"] == pytest.approx(1.0)
    assert net.mpe(given)["d"] == "b"
    rows = cs.Table(
        cs.Schema(net.variables),
        {
            "d": np.full(3, -1, np.int8),
            "e": np.full(3, -1, np.int8),
            "x": np.zeros(3),
            "y": np.array([0.0, 70.0, np.nan]),
        },
    )
    answer = net.posteriors(rows, "d")
    np.testing.assert_allclose(answer, [[0, 1], [1, 0], [1, 0]], atol=1e-12)
    assert np.isfinite(net.log_likelihood(rows)).all()
    assert net.sample(5, given=given, seed=1).column("d").tolist() == [1] * 5


def test_a_choice_of_how_to_answer_is_checked():
    with pytest.raises(InputError, match=r"by must be a choice such as cs\.inference\.Exact"):
        far_apart().query("d", by=2**20)
    with pytest.raises(InputError, match="Exact: memory_limit must be positive"):
        Exact(memory_limit=0)
