"""Sums over all graphs: against the enumeration of all DAGs on four and five variables."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from consilience.averaging.lattice_draws import place_of, set_at
from consilience.averaging.lattice_sums import OrderModular, UniformGraphs
from consilience.graph.random import all_dags


@cache
def graphs(p):
    """All graphs as sets of parents, their arcs, and the number of orders of each."""
    names = [str(i) for i in range(p)]
    found = [
        [sum(1 << int(parent) for parent in dag.parents(name)) for name in names]
        for dag in all_dags(names)
    ]
    parents = np.array(found)
    arcs = parents[:, None, :] >> np.arange(p)[None, :, None] & 1
    return parents, arcs, np.array([n_orders(tuple(one)) for one in found])


def n_orders(parents):
    p = len(parents)

    @cache
    def after(placed):
        if placed == (1 << p) - 1:
            return 1
        able = [x for x in range(p) if not placed >> x & 1 and parents[x] & ~placed == 0]
        return sum(after(placed | 1 << x) for x in able)

    return after(0)


def enumerated(weights, prior):
    """Probability of each graph and the log of the sum of all weights."""
    p = len(weights)
    parents, _, orders = graphs(p)
    log = sum(weights[x, place_of(parents[:, x], x)] for x in range(p))
    log = log + (np.log(orders) if isinstance(prior, OrderModular) else 0.0)
    top = log.max()
    shares = np.exp(log - top)
    return shares / shares.sum(), top + np.log(shares.sum())


PRIORS = [OrderModular(), UniformGraphs()]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_arcs_of_five_variables_are_those_of_all_29281_graphs(prior):
    rng = np.random.default_rng(1)
    for spread in (0.5, 5.0, 200.0):
        weights = spread * rng.normal(size=(5, 16)) - 1000.0
        shares, log_total = enumerated(weights, prior)
        sums = prior.sums(weights)
        assert len(shares) == 29281
        assert sums.log_total == pytest.approx(log_total, rel=1e-13)
        assert sums.arcs() == pytest.approx(np.tensordot(shares, graphs(5)[1], 1), abs=1e-10)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_sets_that_are_illegal_are_in_no_graph(prior, seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(4, 8))
    weights[rng.random((4, 8)) < 0.3] = -np.inf
    weights[:, 0] = 0.0  # some graph is legal
    shares, log_total = enumerated(weights, prior)
    sums = prior.sums(weights)
    assert sums.log_total == pytest.approx(log_total, abs=1e-12)
    assert sums.arcs() == pytest.approx(np.tensordot(shares, graphs(4)[1], 1), abs=1e-12)
    assert sums.families[weights == -np.inf].max(initial=0.0) == 0.0


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_graphs_are_drawn_with_their_probabilities(prior):
    rng = np.random.default_rng(2)
    weights = 1.5 * rng.normal(size=(4, 8))
    shares, _ = enumerated(weights, prior)
    sums = prior.sums(weights)
    times = Counter(tuple(sums.draw(rng)) for _ in range(6000))
    seen = np.array([times[tuple(one)] for one in graphs(4)[0].tolist()])
    assert seen.sum() == 6000
    likely = shares > 5 / 6000
    expected = 6000 * shares[likely]
    statistic = ((seen[likely] - expected) ** 2 / expected).sum()
    assert statistic < likely.sum() + 4 * np.sqrt(2 * likely.sum())


def test_draws_need_a_required_parent():
    weights = np.full((3, 4), -np.inf)
    weights[0, 0] = weights[1, 1] = weights[2, 0] = 0.0  # x0 -> x1 in every graph
    for prior in PRIORS:
        assert prior.sums(weights).draw(np.random.default_rng(0)) == [0, 1, 0]


def test_places_and_sets_are_inverse():
    places = np.arange(32)
    for child in range(6):
        sets = set_at(places, child)
        assert not (sets >> child & 1).any()
        assert (place_of(sets, child) == places).all()


def test_many_variables_with_equal_weights_have_equal_arcs():
    weights = -6.0 * np.bitwise_count(np.arange(1 << 11)).astype(float)
    arcs = UniformGraphs().sums(np.tile(weights, (12, 1))).arcs()
    others = arcs[~np.eye(12, dtype=bool)]
    assert np.ptp(others) < 1e-12
