"""The loops of a hidden chain against sums over all paths, and lanes against single sequences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from consilience.kernels.interface import LANES, expect_chain, expect_chains


def all_paths(start, moves, likelihoods, symbols):
    """Log-likelihood, first states, moves and symbols, summed over all paths."""
    k = len(start)
    total, first, pairs, sums = 0.0, np.zeros(k), np.zeros((k, k)), np.zeros_like(likelihoods)
    for path in product(range(k), repeat=len(symbols)):
        weight = start[path[0]]
        for t, state in enumerate(path):
            weight *= likelihoods[symbols[t], state] * (moves[path[t - 1], state] if t else 1.0)
        total += weight
        first[path[0]] += weight
        for t, state in enumerate(path):
            sums[symbols[t], state] += weight
            if t:
                pairs[path[t - 1], state] += weight
    return np.log(total), first / total, pairs / total, sums / total


def single(start, moves, likelihoods, symbols, weight=1.0):
    k = len(start)
    first, pairs, sums = np.zeros(k), np.zeros((k, k)), np.zeros_like(likelihoods)
    room = np.empty((len(symbols), k)), np.empty(len(symbols))
    log = expect_chain(start, moves, likelihoods, symbols, weight, first, pairs, sums, *room)
    return log, first, pairs * moves, sums


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    k, m = 3, 4
    likelihoods = np.vstack([rng.random((m, k)), np.ones((1, k))])
    return rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), likelihoods


@pytest.mark.parametrize("length", [1, 2, 6])
def test_a_chain_is_the_sum_over_all_paths(chain, length):
    symbols = np.random.default_rng(length).integers(0, 4, length)
    found = single(*chain, symbols)
    for one, wanted in zip(found, all_paths(*chain, symbols), strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-12)


def test_lanes_are_single_sequences_side_by_side(chain):
    rng = np.random.default_rng(1)
    lengths = np.sort(rng.integers(1, 9, LANES))[::-1].copy()
    symbols = np.full((1, int(lengths[0]), LANES), 4)
    weights = rng.random((1, LANES))
    k = 3
    first, pairs, sums = np.zeros(k), np.zeros((k, k)), np.zeros_like(chain[2])
    wanted = [np.zeros(k), np.zeros((k, k)), np.zeros_like(chain[2])]
    logs = []
    for lane in range(LANES):
        mine = rng.integers(0, 4, lengths[lane])
        symbols[0, : lengths[lane], lane] = mine
        log, *parts = single(*chain, mine, weights[0, lane])
        logs.append(log)
        wanted = [total + part for total, part in zip(wanted, parts, strict=True)]
    found = np.zeros((1, LANES))
    expect_chains(*chain, symbols, lengths[None, :], weights, first, pairs, sums, found)
    np.testing.assert_allclose(found[0], logs, atol=1e-12)
    np.testing.assert_allclose(first, wanted[0], atol=1e-12)
    np.testing.assert_allclose(pairs * chain[1], wanted[1], atol=1e-12)
    np.testing.assert_allclose(sums[:4], wanted[2][:4], atol=1e-12)


def test_an_impossible_sequence_has_minus_infinity(chain):
    start, moves, likelihoods = chain
    likelihoods[0] = 0.0
    with np.errstate(divide="ignore"):
        assert single(start, moves, likelihoods, np.array([1, 0, 1]))[0] == -np.inf
