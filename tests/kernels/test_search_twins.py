"""Steps of searches against plain Python on small graphs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from test_lattice_twins import cheapest, cost_of, random_lists

from consilience.kernels import orders


@pytest.mark.parametrize("seed", range(4))
def test_free_variables_are_those_whose_cheapest_set_fits(seed):
    lists = random_lists(6, seed)
    for placed in range(0, 64, 5):
        twin = placed
        for _ in range(6):
            for x in range(6):
                if cheapest(lists, x, twin) == 0:
                    twin |= 1 << x
        assert orders.with_free(*lists, placed) == twin


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_steps", [3, 1000])
def test_expanding_states_ends_at_the_cost_of_the_best_order(seed, n_steps):
    lists = random_lists(5, seed)
    best = min(cost_of(lists, order) for order in permutations(range(5)))
    first, pattern_start = np.array([0, 2, 5]), np.array([0, 4, 12])
    patterns = np.empty(12)
    orders.fill_pattern(*lists, 0, 2, 4, 0, patterns[:4])
    orders.fill_pattern(*lists, 2, 3, 8, 0, patterns[4:])
    keys, cost, came_from = np.full(256, orders.EMPTY), np.zeros(256), np.zeros(256, np.int64)
    came_by, rank, heap = np.zeros(256, np.int8), np.empty(256), np.empty(256, np.int64)
    begin = orders.with_free(*lists, 0)
    keys[orders.find(keys, begin)], heap[0], rank[0] = begin, begin, 0.0
    counters = np.array([1, 1])
    table = (keys, cost, came_from, came_by, rank, heap, counters)
    status = orders.MORE
    while status == orders.MORE:
        status = orders.expand(*lists, first, pattern_start, patterns, best + 1.0, *table, n_steps)
    assert status == orders.GOAL
    assert cost[orders.find(keys, 31)] == best


def test_nothing_is_left_where_no_order_is_below_the_bound():
    lists = random_lists(5, 1)
    best = min(cost_of(lists, order) for order in permutations(range(5)))
    keys, cost, came_from = np.full(256, orders.EMPTY), np.zeros(256), np.zeros(256, np.int64)
    came_by, rank, heap = np.zeros(256, np.int8), np.empty(256), np.empty(256, np.int64)
    begin = orders.with_free(*lists, 0)
    keys[orders.find(keys, begin)], heap[0], rank[0] = begin, begin, 0.0
    none = (np.array([0, 5]), np.array([0, 32]), np.zeros(32))
    table = (keys, cost, came_from, came_by, rank, heap, np.array([1, 1]))
    assert best > 0
    assert orders.expand(*lists, *none, best, *table, 1000) == orders.NOTHING_LEFT
