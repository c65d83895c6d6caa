"""EM, variational Bayes and log-likelihoods over rows in parts: the bits of one table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.incomplete import em
from consilience.inference.case_requests import CasesRequest, RowsOfEngine, prepared
from consilience.inference.cases import Cases
from consilience.inference.whole_sums import WholeSums
from consilience.statistics.engines import Batches, Memory

DAG = cs.DAG([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")])


def _gappy(n_rows: int, seed: int, *, weights: str = "none", sources: bool = False) -> cs.Table:
    rng = np.random.default_rng(seed)
    full = cs.random_network(DAG, n_states=3, seed=3).sample(n_rows, seed=seed)
    columns = {
        name: np.where(rng.random(n_rows) < 0.3, -1, column).astype(column.dtype)
        for name, column in full.columns.items()
    }
    drawn = {
        "none": None,
        "whole": rng.integers(0, 4, n_rows),
        "fractional": rng.random(n_rows) + 0.01,
    }[weights]
    if not sources:
        return cs.Table(full.schema, columns, weights=drawn)
    source = cs.Variable("hospital", ("u", "v"))
    schema = cs.Schema(dict(full.schema.variables), source)
    return cs.Table(schema, columns, rng.integers(0, 2, n_rows).astype(np.int8), drawn)


def _parts(table: cs.Table, cuts: list[int]) -> Batches:
    ends = [0, *sorted(cuts), table.n_rows]
    return Batches(table.schema, [table.take(slice(a, b)) for a, b in pairwise(ends)])


def _assert_same_tables(one: cs.Network, other: cs.Network) -> None:
    for name in one.variables:
        np.testing.assert_array_equal(one[name].table, other[name].table, err_msg=name)


@given(
    cuts=st.lists(st.integers(0, 80), max_size=12),
    weights=st.sampled_from(["none", "whole", "fractional"]),
    seed=st.integers(0, 3),
)
@settings(max_examples=15, deadline=None)
def test_em_has_the_same_bits_for_any_partition(cuts, weights, seed):
    table, how = _gappy(80, seed, weights=weights), cs.EM(iterations=6)
    whole = cs.em(DAG, table, cs.Dirichlet(), choice=how)
    parts = cs.em(DAG, _parts(table, cuts), cs.Dirichlet(), choice=how)
    _assert_same_tables(parts.network, whole.network)
    assert parts.log_likelihood == whole.log_likelihood
    np.testing.assert_array_equal(parts.objective, whole.objective)


def test_a_request_for_each_step_has_the_same_bits(monkeypatch):
    table = _gappy(60, 1)
    whole = cs.em(DAG, table, cs.Dirichlet(), choice=cs.EM(iterations=4))
    monkeypatch.setattr(em, "prepared", RowsOfEngine.of)
    stepwise = cs.em(DAG, _parts(table, [13, 40]), cs.Dirichlet(), choice=cs.EM(iterations=4))
    _assert_same_tables(stepwise.network, whole.network)
    assert stepwise.log_likelihood == whole.log_likelihood


def test_cases_that_do_not_fit_are_asked_for_step_by_step():
    table = _gappy(200, 2)
    net = cs.fit(DAG, table, cs.Dirichlet(), gaps=cs.AvailableCases())
    parts = _parts(table, [50, 90])
    assert isinstance(prepared(parts, CasesRequest(net)), Cases)
    found = prepared(parts, CasesRequest(net, memory_limit=3000))
    assert isinstance(found, RowsOfEngine)
    whole = Cases.of(net, table).expected(net)
    np.testing.assert_array_equal(
        RowsOfEngine.of(parts, CasesRequest(net)).expected(net).counts, whole.counts
    )


@pytest.mark.parametrize("sources", [False, True])
def test_fit_fills_gaps_on_any_engine(sources):
    table = _gappy(90, 4, sources=sources)
    _assert_same_tables(cs.fit(DAG, _parts(table, [7, 60])), cs.fit(DAG, table))


def test_hidden_nodes_and_random_starts_on_any_engine():
    table = _gappy(90, 5)
    dag = cs.DAG([*DAG.arcs, ("h", "b"), ("h", "e")])
    how = {"hidden": {"h": 2}, "choice": cs.EM(iterations=5, restarts=2), "seed": 1}
    whole = cs.em(dag, table, cs.Dirichlet(), **how)
    parts = cs.em(dag, _parts(table, [30]), cs.Dirichlet(), **how)
    _assert_same_tables(parts.network, whole.network)
    assert parts.starts == whole.starts


def test_variational_bayes_has_the_same_bits_for_any_partition():
    table = _gappy(70, 6)
    whole, parts = (cs.gaps.variational(DAG, rows) for rows in (table, _parts(table, [9, 9, 50])))
    assert parts.bound == whole.bound
    _assert_same_tables(parts.network, whole.network)


def test_continuous_columns_agree_to_rounding():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 200)
    y = x + rng.normal(size=200)
    frame = {"x": [None if rng.random() < 0.2 else str(v) for v in x], "y": y}
    table, dag = cs.read(frame), cs.DAG([("x", "y")])
    whole, parts = (cs.em(dag, rows).network for rows in (table, _parts(table, [60])))
    np.testing.assert_allclose(parts["x"].table, whole["x"].table, rtol=1e-7)
    np.testing.assert_allclose(parts["y"].intercept, whole["y"].intercept, rtol=1e-7)


def test_log_likelihoods_stand_in_the_order_of_the_parts_and_their_sum_is_exact():
    table = _gappy(50, 7, weights="fractional")
    net = cs.fit(DAG, table, cs.Dirichlet())
    parts = _parts(table, [11, 30])
    np.testing.assert_array_equal(net.log_likelihood(parts), net.log_likelihood(table))
    total = cs.inference.total_log_likelihood(net, table)
    assert cs.inference.total_log_likelihood(net, parts) == total
    assert total == pytest.approx(float(table.weights @ net.log_likelihood(table)), rel=1e-9)


def test_one_number_for_each_row_is_guarded():
    table = _gappy(50, 7)
    net = cs.fit(DAG, table, cs.Dirichlet())
    with pytest.raises(cs.ConsilienceError, match="total_log_likelihood"):
        net.log_likelihood(_parts(table, [11]), by=cs.inference.Exact(memory_limit=300))


def test_an_impossible_start_is_refused_on_any_engine():
    table = _gappy(50, 8)
    net = cs.fit(DAG, table, cs.MLE(), gaps=cs.AvailableCases())
    sure = {"e": np.tile([1.0, 0.0, 0.0], (3, 1))}
    start = cs.Network.of(
        [one if n not in sure else one.with_parameters(sure[n]) for n, one in net.tables.items()]
    )
    with pytest.raises(cs.ConsilienceError, match="the probability zero"):
        cs.em(DAG, _parts(table, [20]), cs.MLE(), start=start)


def test_sums_do_not_depend_on_units_or_order():
    shares, weights = np.array([[0.25, 1 / 3, 1.0]]), np.array([3, 1, 2])
    whole = WholeSums.none(1, 1)
    whole = whole._replace(counts=whole.dot(shares, weights)).with_logs(
        np.array([-1.5, -0.3, 0.0]), weights
    )
    finer = WholeSums.none(1, 2**36)
    finer = finer._replace(counts=finer.dot(shares, weights << 36)).with_logs(
        np.array([-1.5, -0.3, 0.0]), weights << 36
    )
    np.testing.assert_array_equal(whole.values, finer.values)
    assert whole.log_likelihood == finer.log_likelihood
    np.testing.assert_array_equal(whole.merge(finer).values, 2 * whole.values)


def test_a_part_without_rows_changes_nothing():
    table = _gappy(40, 9)
    net = cs.fit(DAG, table, cs.Dirichlet())
    none = Batches(table.schema, [])
    assert cs.inference.total_log_likelihood(net, none) == 0.0
    cases = prepared(none, CasesRequest(net))
    assert cases.expected(net).counts.sum() == 0
    assert prepared(Memory(table), CasesRequest(net)).merge(cases).counted.sum() > 0
