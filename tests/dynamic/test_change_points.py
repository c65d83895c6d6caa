"""Change points: exact sums over all segmentations, and graphs whose parameters change."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

import consilience as cs
from consilience.dynamic.change_choices import ChangePoints, SegmentPrior
from consilience.dynamic.lagged_rows import lagged_table
from consilience.dynamic.segmentations import FamilyRows
from consilience.errors import DataError, InputError
from consilience.statistics.family import Family

dynamic = cs.dynamic
CHOICE = ChangePoints(hazard=0.2, prior=SegmentPrior(0.3, 0.5, 2.0, 1.5, 0.8, ess=2.0))


def enumerated(families, n, choice):
    """Probabilities of changes and the log evidence by brute force over all segmentations."""
    evidence = np.zeros((n, n + 1))
    for one in families:
        one.add_evidence(slice(0, n), choice.prior, evidence)
    logs, flags = [], []
    for changes in product([0, 1], repeat=n - 1):
        ends = [0, *(t + 1 for t in range(n - 1) if changes[t]), n]
        parts = sum(evidence[a, b] for a, b in pairwise(ends))
        k = sum(changes)
        prior = k * np.log(choice.hazard) + (n - 1 - k) * np.log1p(-choice.hazard)
        logs.append(parts + prior)
        flags.append(changes)
    total = np.logaddexp.reduce(logs)
    weights = np.exp(np.array(logs) - total)
    best = flags[int(np.argmax(logs))]
    return np.append(0.0, weights @ np.array(flags)), total, logs[0], best


def columns(rng, n=10):
    return {
        "a": rng.normal(size=n),
        "b": np.cumsum(rng.normal(size=n)),
        "k": rng.choice(["u", "v", "w"], n),
        "m": rng.choice(["p", "q"], n),
    }


@pytest.mark.parametrize("nodes", [["a"], ["b"], ["k"], ["a", "b", "k"]])
@pytest.mark.parametrize("lag", [0, 1])
def test_sums_over_segmentations_are_those_of_enumeration(nodes, lag):
    rng = np.random.default_rng(len(nodes) + lag)
    panel = dynamic.read_panel(columns(rng, 10 + lag), continuous=["a", "b"])
    arcs = [("a", "b"), ("m", "b"), ("m", "k")]
    arcs += [("b(t-1)", "b"), ("b(t-1)", "a"), ("k(t-1)", "k")] if lag else []
    dag = cs.DAG(arcs)
    found = dynamic.change_points(dag, panel, CHOICE, together=[nodes])[nodes[0]]
    table = lagged_table(panel, lag)
    families = [FamilyRows.of(Family(n, dag.parents(n)), table) for n in nodes]
    probability, total, none, best = enumerated(families, 10, CHOICE)
    np.testing.assert_allclose(found.probability[lag:], probability, atol=1e-10)
    assert found.log_evidence == pytest.approx(total, abs=1e-10)
    assert found.log_evidence_none == pytest.approx(none, abs=1e-10)
    assert [one.start for one in found.segments] == [
        lag,
        *(lag + 1 + t for t in range(9) if best[t]),
    ]


def test_sequences_have_their_own_change_points_and_evidence_adds_up():
    rng = np.random.default_rng(3)
    values = rng.normal(size=14)
    both = dynamic.read_panel(
        {"s": ["x"] * 8 + ["y"] * 6, "a": values}, sequence="s", continuous=["a"]
    )
    dag = cs.DAG([("a(t-1)", "a")])
    whole = dynamic.change_points(dag, both, CHOICE)["a"]
    parts = [
        dynamic.change_points(dag, dynamic.read_panel({"a": v}, continuous=["a"]), CHOICE)["a"]
        for v in (values[:8], values[8:])
    ]
    assert whole.log_evidence == pytest.approx(sum(p.log_evidence for p in parts))
    np.testing.assert_allclose(whole.probability, np.concatenate([p.probability for p in parts]))
    assert whole.probability[[0, 1, 8, 9]].tolist() == [0.0] * 4


def test_rows_without_a_value_say_nothing_and_are_counted():
    values = [0.1, 0.2, np.nan, 5.0, 5.1, 4.9]
    panel = dynamic.read_panel({"a": values}, continuous=["a"])
    found = dynamic.change_points(cs.DAG(nodes=["a"]), panel, CHOICE)["a"]
    assert found.n_incomplete == 1
    assert np.isfinite(found.log_evidence)


def test_a_graph_is_scored_by_the_sum_over_segmentations():
    rng = np.random.default_rng(4)
    panel = dynamic.read_panel(
        {"a": rng.normal(size=20), "b": rng.normal(size=20)}, continuous=["a", "b"]
    )
    dag = cs.DAG([("a(t-1)", "a"), ("a(t-1)", "b")])
    found = dynamic.change_points(dag, panel, CHOICE)
    total = sum(found[name].log_evidence for name in ("a", "b"))
    assert dynamic.score(dag, panel, CHOICE) == pytest.approx(total)


def changing(rng, n=120):
    """Two series; the second follows the first with a sign that changes half-way."""
    a, b = np.zeros(n), np.zeros(n)
    for t in range(1, n):
        a[t] = 0.5 * a[t - 1] + rng.normal()
        b[t] = (0.9 if t < n // 2 else -0.9) * a[t - 1] + rng.normal()
    return dynamic.read_panel({"a": a, "b": b}, continuous=["a", "b"])


def test_an_arc_whose_sign_changes_is_found():
    panel = changing(np.random.default_rng(5))
    choice = ChangePoints(hazard=1 / 120)
    dag = dynamic.learn(panel, instantaneous=False, score=choice, search=cs.Exact())
    assert ("a(t-1)", "b") in dag.arcs
    assert ("a(t-1)", "b") not in dynamic.learn(panel, instantaneous=False).arcs
    found = dynamic.change_points(dag, panel, choice)
    assert abs(int(found["b"].probability.argmax()) - 60) <= 3
    prior = cs.scores.MAP(choice, cs.scores.VariableSelection(0.2))
    assert ("a(t-1)", "b") in dynamic.learn(panel, instantaneous=False, score=prior).arcs


def test_names_and_choices_are_checked():
    panel = dynamic.read_panel({"a": [1.0, 2.0, 3.5], "k": list("xyx")}, continuous=["a"])
    dag = cs.DAG([("a(t-1)", "a")])
    with pytest.raises(InputError, match="hazard"):
        ChangePoints(hazard=1.5)
    with pytest.raises(InputError, match="prior"):
        ChangePoints(prior=3.0)
    with pytest.raises(cs.ConsilienceError, match="shape"):
        SegmentPrior(shape=-1.0)
    with pytest.raises(cs.ConsilienceError, match="nobody"):
        dynamic.change_points(dag, panel, together=[["nobody"]])
    with pytest.raises(InputError, match="two groups"):
        dynamic.change_points(dag, panel, together=[["a"], ["a"]])
    with pytest.raises(InputError, match="'k' is discrete"):
        dynamic.change_points(cs.DAG([("a", "k")]), panel)
    with pytest.raises(InputError, match="order"):
        cs.score(cs.DAG(nodes=["k"]), cs.read({"k": list("xyx")}), ChangePoints())
    gaps = dynamic.read_panel({"a": [1.0, np.nan, 3.5, 2.0]}, continuous=["a"])
    with pytest.raises(DataError, match="'a"):
        dynamic.learn(gaps, score=ChangePoints())
    with pytest.raises(cs.ConsilienceError, match="nobody"):
        dynamic.change_points(dag, panel)["nobody"]


@pytest.mark.data
def test_nile_changed_in_1899(data_dir):
    path = data_dir / "series" / "nile.csv"
    panel = dynamic.read_panel(path, time="year", continuous=["flow"])
    prior = SegmentPrior(mean=1000.0, precision=0.01, shape=1.0, scale=1e4)
    choice = ChangePoints(hazard=0.01, prior=prior)
    found = dynamic.change_points(cs.DAG(nodes=["flow"]), panel, choice)["flow"]
    assert found.probability[28] == pytest.approx(0.761383, abs=1e-6)
    assert found.probability[27] == pytest.approx(0.113555, abs=1e-6)
    assert found.log_evidence == pytest.approx(-642.926693, abs=1e-6)
    assert found.log_evidence_none == pytest.approx(-662.553107, abs=1e-6)
    assert [one.start for one in found.segments] == [1871, 1899]
