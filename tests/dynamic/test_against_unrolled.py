"""The answers in time against static inference on the unrolled network."""

from __future__ import annotations

import numpy as np
import pytest
from sequences_made_up import (
    counts_apart,
    family_beliefs,
    log_of_inputs,
    panel_of,
    random_dynamic,
    static_counts,
    static_given,
    wide_row,
    worst_difference,
)

import consilience as cs
from consilience.dynamic.evidence_in_time import evidence_of
from consilience.dynamic.lagged_names import at
from consilience.dynamic.timeline import Families, Timeline

CASES = [
    ("discrete", 1, {"n_nodes": 4, "n_hidden": 2}),
    ("discrete", 2, {"n_nodes": 3, "n_hidden": 1, "inputs": 1}),
    ("discrete", 3, {"n_nodes": 2, "n_hidden": 1, "sources": 2}),
    ("linear", 1, {"n_nodes": 3, "n_hidden": 1, "inputs": 1, "sources": 2}),
    ("linear", 2, {"n_nodes": 3, "n_hidden": 0}),
    ("linear", 3, {"n_nodes": 2, "n_hidden": 1}),
    ("emissions", 1, {"n_nodes": 4, "n_hidden": 2, "inputs": 1}),
    ("emissions", 2, {"n_nodes": 3, "n_hidden": 1, "sources": 2}),
]


@pytest.mark.parametrize("knows_source", [True, False])
@pytest.mark.parametrize(("kind", "order", "shape"), CASES)
def test_filter_smooth_mpe_and_likelihood_are_those_of_the_unrolled_network(
    kind, order, shape, knows_source
):
    if not knows_source and not shape.get("sources"):
        pytest.skip("there is no source to be unknown")
    rng = np.random.default_rng(order + len(kind))
    net = random_dynamic(rng, kind=kind, order=order, **shape)
    panel = panel_of(rng, net, [order + 2, 1, order], knows_source=knows_source)
    assert worst_difference(net, panel) < (1e-10 if kind != "linear" else 1e-8)


@pytest.mark.parametrize(("kind", "order", "shape"), CASES[:3])
def test_expected_counts_are_the_sum_over_slices(kind, order, shape):
    rng = np.random.default_rng(order)
    net = random_dynamic(rng, kind=kind, order=order, **shape)
    panel = panel_of(rng, net, [order + 3, order, 1])
    assert counts_apart(net, panel, static_counts) < 1e-10 * len(panel)
    assert counts_apart(net, panel, family_beliefs) < 1e-12


@pytest.mark.parametrize("order", [1, 2])
def test_expected_moments_are_the_sum_over_slices(order):
    rng = np.random.default_rng(order)
    net = random_dynamic(rng, kind="linear", order=order, n_nodes=2, n_hidden=1)
    panel = panel_of(rng, net, [order + 3, order + 1])
    timeline = Timeline(net, evidence_of(net, panel), memory_limit=2**30)
    _, _, sums = timeline.expect(Families.of(net))
    for key, one in sums.items():
        parts = []
        for s in range(panel.n_sequences):
            unrolled = net.unroll(int(panel.lengths[s]))
            row = wide_row(unrolled, static_given(net, panel, s))
            expected = cs.expected_counts(unrolled, row)
            steps = range(int(panel.lengths[s]))
            nodes = [key] if key in unrolled.variables else [at(key, t) for t in steps]
            early = {at(key, t) for t in range(order)} & set(sums)
            parts += [expected[n] for n in nodes if n == key or n not in early]
        weight = sum(float(p.weight.sum()) for p in parts)
        mean = sum(p.weight[0, 0] * p.mean[0, 0] for p in parts) / weight
        scatter = sum(
            p.scatter[0, 0] + p.weight[0, 0] * np.outer(p.mean[0, 0] - mean, p.mean[0, 0] - mean)
            for p in parts
        )
        assert one.weight.sum() == pytest.approx(weight)
        np.testing.assert_allclose(one.mean[0], mean, atol=1e-8)
        np.testing.assert_allclose(one.scatter[0], scatter, atol=1e-8)


def test_rows_of_one_hidden_chain_have_the_same_statistics_by_both_ways():
    rng = np.random.default_rng(5)
    net = cs.dynamic.from_hmm(
        rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(4), 3)
    )
    panel = panel_of(rng, net, [*map(int, rng.integers(1, 30, 40))], gaps=0.0)
    timeline = Timeline(net, evidence_of(net, panel), memory_limit=2**30)
    log, counts, _ = timeline.expect(Families.of(net))
    timeline.chain = None
    log_too, counts_too, _ = timeline.expect(Families.of(net))
    np.testing.assert_allclose(log, log_too, atol=1e-10)
    np.testing.assert_allclose(counts, counts_too, atol=1e-9)


def test_inputs_count_nothing():
    rng = np.random.default_rng(0)
    net = random_dynamic(rng, kind="discrete", order=1, n_nodes=2, n_hidden=1, inputs=1)
    panel = panel_of(rng, net, [3])
    unrolled, given = net.unroll(3), static_given(net, panel, 0)
    assert log_of_inputs(net, unrolled, given) == pytest.approx(3 * np.log(0.5))
    assert net.n_parameters == sum(
        one.n_parameters for one in Families.of(net).distributions.values()
    )
