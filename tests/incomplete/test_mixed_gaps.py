"""Graphs, bounds and statistics of mixed rows with gaps."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.inference.cases import Cases
from consilience.inference.completion import completions, expected_values
from consilience.statistics.engines.memory import Memory
from consilience.statistics.engines.spread import Spread
from consilience.statistics.request import MomentRequest

TRUTH = cs.DAG.parse("[g][x|g][y|g:x][z|y]")


def columns(n_rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 2, n_rows)
    x = rng.normal(2.0 * g, 1.0)
    y = np.where(g == 1, 2.0 - x, x) + rng.normal(size=n_rows)
    z = y + rng.normal(size=n_rows)
    return {"g": np.array(["no", "yes"], object)[g], "x": x, "y": y, "z": z}


def with_holes(found: dict[str, np.ndarray], share: float, seed: int = 1) -> dict[str, np.ndarray]:
    rng, holed = np.random.default_rng(seed), {}
    for name, column in found.items():
        holed[name] = column.copy()
        holed[name][rng.random(len(column)) < share] = None if column.dtype == object else np.nan
    return holed


def test_one_gap_changes_neither_the_graph_nor_the_score():
    whole = columns(300)
    plain = cs.search(cs.read(whole))
    for name in whole:
        holed = {key: column.copy() for key, column in whole.items()}
        holed[name][7] = None if name == "g" else np.nan
        found = cs.search(cs.read(holed))
        assert found.judged_by == "BIC(), rows completed by structural EM"
        assert cs.shd(found.dag, plain.dag) == 0
        assert found.score == pytest.approx(plain.score, abs=6)


def test_the_graph_of_mixed_rows_is_found_with_a_fifth_missing():
    found = cs.search(cs.read(with_holes(columns(1500), 0.2)))
    assert cs.shd(found.dag, cs.learn(cs.read(columns(1500)))) == 0
    scores = [step.score for step in found.trace]
    assert scores == sorted(scores)


def test_means_that_differ_by_source_make_no_arcs_of_rows_with_gaps():
    rng = np.random.default_rng(2)
    place = np.repeat(["oslo", "rome", "bonn", "riga"], 100)
    shift = np.repeat(rng.normal(0, 2, (4, 3)), 100, axis=0)
    values = shift + rng.normal(size=(400, 3))
    values[rng.random(values.shape) < 0.1] = np.nan
    table = cs.read({"place": place, **dict(zip("abc", values.T, strict=True))}, source="place")
    found = cs.search(table)
    assert found.dag.arcs == ()
    assert set(found.by_source.values()) == {"intercepts by source"}
    assert cs.learn(table, score=cs.BIC()).arcs


def test_a_column_that_is_constant_in_a_source_does_not_stop_the_search():
    found = columns(300, 3)
    found["place"] = np.repeat(["oslo", "rome", "bonn"], 100)
    found["z"][:100] = 0.0
    found["y"][5] = np.nan
    assert cs.search(cs.read(found, source="place")).dag.nodes


def test_completed_rows_with_their_spread_have_the_expected_moments():
    net = cs.fit(TRUTH, cs.read(columns(200)), cs.MLE())
    table = cs.read(with_holes(columns(60), 0.4), schema=net.variables)
    found = completions(net, table, 1e-7)
    known = {name: table.column(name)[found.rows] for name in net.regressions}
    values, spread = expected_values(net, {**found.codes, **known})
    codes = {name: column.astype(np.int8) for name, column in found.codes.items()}
    filled = cs.Table(table.schema, {**codes, **values}, None, found.shares)
    engine = Memory(filled, spread=[Spread(*one) for one in spread])
    expected = Cases.of(net, table, keeps_barren=True).expected(net)
    for name, moments in expected.moments.items():
        by = tuple(v.name for v in moments.given)
        one = engine.gather(MomentRequest(moments.names, by))
        np.testing.assert_allclose(one.weight, moments.weight, rtol=1e-5)
        np.testing.assert_allclose(one.mean, moments.mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(one.scatter, moments.scatter, rtol=1e-4, atol=1e-4, err_msg=name)


def test_the_variational_bound_of_mixed_rows_never_falls():
    table = cs.read(with_holes(columns(200), 0.3))
    found = cs.gaps.variational(TRUTH, table, cs.Dirichlet(ess=2))
    assert (np.diff(found.trace) >= -1e-8 * abs(found.bound)).all()
    assert found.network["g"].posterior is not None
    assert found.network["y"].sd.shape == (2,)


def test_the_variational_bound_without_gaps_is_evidence_and_likelihood():
    table = cs.read(columns(100))
    found = cs.gaps.variational(TRUTH, table, cs.Dirichlet(ess=1))
    alone = cs.DAG(nodes=["g"])
    highest = cs.fit(TRUTH, table, cs.MLE(unbiased=False)).log_likelihood(table).sum()
    of_states = cs.score(alone, table, cs.scores.LogLikelihood())
    evidence = cs.score(alone, table, cs.BDeu(ess=1))
    assert found.bound == pytest.approx(highest - of_states + evidence, rel=1e-9)


def test_expected_counts_have_moments_of_continuous_nodes():
    table = cs.read(columns(50))
    net = cs.fit(TRUTH, table, cs.MLE())
    found = cs.expected_counts(net, table)
    assert list(found) == list(net.variables)
    assert found["g"].sum() == 50
    assert found["y"].names == ("x", "y")
    assert found["y"].weight.sum() == pytest.approx(50)
