"""Variational Bayes EM: a bound on the evidence that never falls, exact without gaps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from gap_tables import random_case, with_holes
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.errors import InputError

PAIR = cs.DAG([("x", "y")])


def log_evidence(dag: cs.DAG, table: cs.Table, ess: float) -> float:
    """Log of the sum, over all completions of all rows, of the Bayesian Dirichlet score."""
    names = list(table.variables)
    holes = [(name, i) for name in names for i in np.flatnonzero(table.column(name) < 0)]
    ranges = [range(table.variables[name].n_states) for name, _ in holes]
    scores = []
    for states in itertools.product(*ranges):
        columns = {name: table.column(name).copy() for name in names}
        for (name, i), state in zip(holes, states, strict=True):
            columns[name][i] = state
        filled = cs.Table(table.schema, columns)
        scores.append(cs.score(dag, filled, cs.BDeu(ess=ess)))
    return float(np.logaddexp.reduce(scores))


@pytest.mark.parametrize("ess", [0.5, 1.0, 8.0])
def test_without_gaps_the_bound_is_the_evidence(ess):
    net = cs.random_network(cs.DAG([("x", "y"), ("x", "z"), ("y", "z")]), n_states=3, seed=1)
    rows = net.sample(60, seed=1)
    found = cs.gaps.variational(net.dag, rows, cs.Dirichlet(ess=ess))
    assert found.bound == pytest.approx(cs.score(net.dag, rows, cs.BDeu(ess=ess)), rel=1e-12)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_the_bound_is_below_the_evidence_by_half_a_logarithm_a_parameter_at_most(seed):
    rng = np.random.default_rng(seed)
    net = cs.random_network(PAIR, n_states=2, seed=seed)
    rows = net.sample(25, seed=seed)
    x, y = rows.column("x").copy(), rows.column("y").copy()
    x[rng.permutation(25)[:6]] = -1
    table = cs.Table(rows.schema, {"x": x, "y": y})
    exact = log_evidence(PAIR, table, 1.0)
    bound = cs.gaps.variational(PAIR, table, cs.Dirichlet(ess=1)).bound
    n_free = 3
    assert -1e-9 <= exact - bound <= 0.5 * n_free * np.log(25)


@given(seed=st.integers(0, 10**6))
def test_the_bound_never_falls(seed):
    net, table = random_case(seed, max_nodes=5, n_rows=20)
    choice = cs.gaps.VariationalBayes(iterations=40, tolerance=1e-14)
    found = cs.gaps.variational(net.dag, table, cs.Dirichlet(ess=2), choice=choice)
    assert np.all(np.diff(found.trace) >= -1e-10)
    assert found.bound == found.trace[-1]


def test_the_posteriors_are_dirichlets_around_the_expected_counts():
    net, table = random_case(4, n_rows=40)
    found = cs.gaps.variational(net.dag, table, cs.Dirichlet(per_cell=1)).network
    for local in found.tables.values():
        assert np.allclose(local.posterior.mean(), local.table)
        assert np.all(local.posterior.concentration >= 1)
    assert "VariationalBayes" in found.record.method


def test_the_bound_finds_the_number_of_hidden_states():
    dag = cs.DAG([("kind", f"x{i}") for i in range(6)])
    kind = cs.Variable("kind", ("1", "2"))
    rng = np.random.default_rng(1)
    truth = cs.Network.of(
        [
            cs.Categorical(kind, (), [0.6, 0.4]),
            *(
                cs.Categorical(
                    cs.Variable(f"x{i}", ("a", "b", "c")), (kind,), rng.dirichlet([1, 1, 1], 2)
                )
                for i in range(6)
            ),
        ]
    )
    rows = truth.sample(1500, seed=2).select([f"x{i}" for i in range(6)])
    bounds = [
        cs.gaps.variational(dag, rows, hidden={"kind": k}, seed=1).bound for k in (1, 2, 3, 4)
    ]
    assert int(np.argmax(bounds)) == 1


def test_fit_takes_it_as_a_choice():
    rows = with_holes(
        cs.random_network(PAIR, n_states=2, seed=3).sample(50, seed=3),
        0.2,
        np.random.default_rng(3),
    )
    net = cs.fit(PAIR, rows, gaps=cs.gaps.VariationalBayes())
    assert np.allclose(net["y"].table, cs.gaps.variational(PAIR, rows).network["y"].table)


def test_another_prior_is_refused():
    rows = cs.read({"x": ["a", None], "y": ["a", "b"]})
    with pytest.raises(InputError, match=r"cs\.Dirichlet"):
        cs.gaps.variational(PAIR, rows, cs.MLE())
