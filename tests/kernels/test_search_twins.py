"""Steps of searches against plain Python on small graphs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from test_lattice_twins import cheapest, cost_of, random_lists

import consilience as cs
from consilience.kernels import climbing, orders

N = 5


def is_acyclic(arcs):
    reach = arcs.astype(bool)
    for _ in range(N):
        reach = reach | (reach.astype(int) @ reach.astype(int) > 0)
    return not reach.diagonal().any()


def paths(arcs):
    reach = arcs > 0
    for _ in range(N):
        reach = reach | (reach.astype(int) @ arcs.astype(int) > 0)
    return reach.astype(np.uint8)


def moves(arcs, gains, tie):
    """All legal moves in their order: gain, kind, from, to, and the graph after it."""
    plain, turned = [], []
    for j in range(N):
        for i in range(N):
            after = arcs.copy()
            if i != j and arcs[i, j]:
                after[i, j] = 0
                plain.append((gains[j, i] + 2 * tie, climbing.DELETE, i, j, after))
                after = after.copy()
                after[j, i] = 1
                if is_acyclic(after):
                    turned.append((gains[j, i] + gains[i, j], climbing.REVERSE, i, j, after))
            elif i != j and not arcs[j, i]:
                after[i, j] = 1
                if is_acyclic(after):
                    plain.append((gains[j, i], climbing.ADD, i, j, after))
    return [*plain, *turned]


@pytest.mark.parametrize("seed", range(12))
def test_a_step_makes_the_first_of_the_best_legal_moves(seed):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag([f"v{i}" for i in range(N)], p_arc=0.5, seed=seed)
    arcs = dag.to_adjacency().astype(np.uint8)
    gains = np.round(rng.normal(0, 2, (N, N)), 1)
    np.fill_diagonal(gains, -np.inf)
    tie, least, now, aspiration = 1e-9, [0.0, -5.0][seed % 2], 3, 2.0
    blocked = rng.integers(0, 6, (N, N))
    parents, n_parents = np.zeros((N, N), np.int64), arcs.sum(axis=0).astype(np.int64)
    for j in range(N):
        parents[j, : n_parents[j]] = np.flatnonzero(arcs[:, j])
    best, twin, slack = least, (0.0, climbing.NONE, 0, 0, arcs.copy()), 0.0
    for one in moves(arcs, gains, tie):
        is_free = blocked[one[2], one[3]] <= now or one[0] > aspiration
        if one[0] > best + slack and is_free:
            best, twin, slack = one[0], one, tie
    move, above = np.zeros(3, np.int64), paths(arcs).T.copy()
    graph = (arcs, parents, n_parents, above)
    state = (*graph, gains, gains.max(axis=1), blocked)
    limits = now, least, aspiration, tie
    spare = np.empty((2, N), np.int64)
    gain = climbing.make_best_move(*state, np.arange(N), *limits, move, spare)
    assert gain == pytest.approx(twin[0])
    assert move[0] == twin[1]
    if twin[1] != climbing.NONE:
        assert move.tolist() == list(twin[1:4])
    np.testing.assert_array_equal(arcs, twin[4])
    np.testing.assert_array_equal(above, paths(arcs).T)
    for j in range(N):
        assert parents[j, : n_parents[j]].tolist() == np.flatnonzero(arcs[:, j]).tolist()


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
