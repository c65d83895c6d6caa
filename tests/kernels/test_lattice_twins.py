"""Kernels for exact search against plain twins."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from consilience._freeze import read_only
from consilience.kernels import lattice, orders


def subsets(mask):
    bits = [v for v in range(mask.bit_length()) if mask >> v & 1]
    return [
        sum(1 << v for v in some) for n in range(len(bits) + 1) for some in combinations(bits, n)
    ]


def place(mask, child):
    return (mask & (1 << child) - 1) | (mask >> child + 1 << child)


def test_best_of_subsets_is_the_largest_value_within_each_set():
    values = np.random.default_rng(1).normal(size=64)
    wanted = [max(values[s] for s in subsets(mask)) for mask in range(64)]
    lattice.best_of_subsets(values)
    assert values.tolist() == wanted


def test_undominated_sets_are_better_than_all_their_subsets():
    values = np.round(np.random.default_rng(2).normal(size=64), 1)
    is_kept, best = np.empty(64, bool), values.copy()
    lattice.undominated(best, 0.0, is_kept)
    for mask in range(64):
        proper = [values[s] for s in subsets(mask) if s != mask]
        assert is_kept[mask] == (not proper or values[mask] > max(proper))
        assert best[mask] == max(values[s] for s in subsets(mask))


def test_differences_are_those_of_a_set_with_and_without_the_child():
    of_set = np.random.default_rng(3).normal(size=32)
    of_set[0b10111] = -np.inf
    out = np.empty(16)
    lattice.differences(of_set, 2, 0b11011, 0b00001, 3, out)
    for parents in range(32):
        if parents >> 2 & 1:
            continue
        is_legal = parents & 1 and parents.bit_count() <= 3 and parents != 0b10011
        wanted = of_set[parents | 0b100] - of_set[parents] if is_legal else -np.inf
        assert out[place(parents, 2)] == wanted


def test_the_best_graph_over_each_set_is_that_of_its_best_order():
    rng = np.random.default_rng(4)
    of_child = rng.normal(size=(5, 16))
    for values in of_child:
        lattice.best_of_subsets(values)
    best = np.empty(32)
    lattice.best_of_sets(of_child, best, 0, 7)
    lattice.best_of_sets(of_child, best, 7, 32)
    for members in range(32):
        bits = [v for v in range(5) if members >> v & 1]
        totals = [
            sum(of_child[x, place(sum(1 << y for y in order[:k]), x)] for k, x in enumerate(order))
            for order in permutations(bits)
        ]
        assert best[members] == pytest.approx(max(totals), abs=1e-12)


def random_lists(n, seed):
    """For each of n variables some sets of the others with whole costs, cheapest first."""
    rng = np.random.default_rng(seed)
    parts = []
    for x in range(n):
        sets = rng.permutation([s for s in range(1 << n) if s and not s >> x & 1])[:8]
        costs = np.sort(rng.integers(0, 50, 9)).astype(float)
        parts.append(([*sets, 0], costs - costs[0]))
    start = np.cumsum([0, *(len(sets) for sets, _ in parts)]).astype(np.int64)
    sets = np.concatenate([sets for sets, _ in parts]).astype(np.int64)
    costs = np.concatenate([costs for _, costs in parts])
    return tuple(map(read_only, (start, sets, costs)))  # as searches have them: compiled once


def cheapest(lists, x, available):
    start, sets, costs = lists
    return next(costs[k] for k in range(start[x], start[x + 1]) if sets[k] & ~available == 0)


def cost_of(lists, order, extra=0):
    total = 0.0
    for k, x in enumerate(order):
        total += cheapest(lists, x, extra | sum(1 << y for y in order[:k]))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_pattern_is_the_cost_of_the_best_order_of_what_is_left(seed):
    lists = random_lists(6, seed)
    out = np.empty(8)
    orders.fill_pattern(*lists, 2, 3, 8, 5, out)
    orders.fill_pattern(*lists, 2, 3, 5, 0, out)
    for placed in range(8):
        left = [2 + v for v in range(3) if not placed >> v & 1]
        others = 0b100011 | placed << 2
        assert out[placed] == min(cost_of(lists, order, others) for order in permutations(left))


def climbed(lists, order):
    n = len(order)
    bits = read_only(np.tile(1 << np.arange(n, dtype=np.int64), (n, 1)))
    order, before, now = np.array(order, np.int64), np.zeros(n, np.int64), np.zeros(n)
    orders.place_order(order, bits, *lists, before, now)
    assert now.sum() == cost_of(lists, order.tolist())
    while (gain := orders.move_best(order, bits, *lists, before, now, 0.0)) > 0:
        assert gain > 0
    return order.tolist(), now.sum()


@pytest.mark.parametrize("seed", range(5))
def test_no_move_of_one_variable_improves_an_order_at_rest(seed):
    lists = random_lists(6, seed)
    order, cost = climbed(lists, range(6))
    assert sorted(order) == list(range(6))
    assert cost == cost_of(lists, order)
    for x in order:
        rest = [y for y in order if y != x]
        for k in range(6):
            assert cost_of(lists, [*rest[:k], x, *rest[k:]]) >= cost


def test_minimal_sets_contain_no_set_before_them():
    sets = np.array([0b1100, 0b0110, 0b1110, 0b0010, 0b0111, 0b1001, 0b0010], np.int64)
    is_kept = np.empty(len(sets), bool)
    orders.mark_minimal(sets, 9, is_kept)
    assert is_kept.tolist() == [True, True, False, True, False, True, False]
    orders.mark_minimal(sets, 2, is_kept)
    assert is_kept.tolist() == [True, True, False, True, False, True, True]


def test_states_are_found_again_after_the_table_grew():
    rng = np.random.default_rng(5)
    wanted = np.unique(rng.integers(0, 1 << 60, 400))
    small = (
        np.full(1024, orders.EMPTY),
        np.zeros(1024),
        np.zeros(1024, np.int64),
        np.zeros(1024, np.int8),
    )
    for k, key in enumerate(wanted):
        at = orders.find(small[0], int(key))
        small[0][at], small[1][at], small[2][at], small[3][at] = key, k, k + 1, k % 50
    large = (
        np.full(4096, orders.EMPTY),
        np.zeros(4096),
        np.zeros(4096, np.int64),
        np.zeros(4096, np.int8),
    )
    orders.rehash(*small, *large)
    for k, key in enumerate(wanted):
        at = orders.find(large[0], int(key))
        assert (large[0][at], large[1][at], large[2][at], large[3][at]) == (key, k, k + 1, k % 50)
