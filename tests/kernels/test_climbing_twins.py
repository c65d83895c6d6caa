"""Steps of climbs against plain Python on small graphs."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.kernels import climbing

N = 5
TIE = 1e-9


def words(sets):
    """Boolean rows as rows of words."""
    packed = np.packbits(sets.astype(bool), axis=1, bitorder="little")
    found = np.zeros((len(sets), (sets.shape[1] + 63) // 64), np.uint64)
    found.view(np.uint8)[:, : packed.shape[1]] = packed
    return found


def flags(sets, n):
    """Rows of words as rows of zeros and ones."""
    return np.unpackbits(sets.view(np.uint8), axis=1, count=n, bitorder="little")


def paths(arcs):
    reach = arcs > 0
    for _ in range(len(arcs)):
        reach = reach | (reach.astype(int) @ arcs.astype(int) > 0)
    return reach


def is_acyclic(arcs):
    return not paths(arcs).diagonal().any()


class Graph:
    """The books of a graph, as a climber has them."""

    def __init__(self, arcs):
        n = len(arcs)
        self.n = n
        self.parents, self.above = words(arcs.T), words(paths(arcs).T)
        self.changed, self.row = np.zeros(n, np.uint8), np.full(n, -1)
        self.spare = np.empty((4, n + 1), np.int64)

    def books(self):
        return self.parents, self.above, self.changed, self.row

    def arcs(self):
        return flags(self.parents, self.n).T

    def check(self):
        np.testing.assert_array_equal(flags(self.above, self.n).T, paths(self.arcs()))


def moves(arcs, gains):
    """All legal moves in their order: gain, kind, from, to, and the graph after it."""
    plain, turned = [], []
    for j in range(N):
        for i in range(N):
            after = arcs.copy()
            if i != j and arcs[i, j]:
                after[i, j] = 0
                plain.append((gains[j, i] + 2 * TIE, climbing.DELETE, i, j, after))
                after = after.copy()
                after[j, i] = 1
                if is_acyclic(after):
                    turned.append((gains[j, i] + gains[i, j], climbing.REVERSE, i, j, after))
            elif i != j and not arcs[j, i]:
                after[i, j] = 1
                if is_acyclic(after):
                    plain.append((gains[j, i], climbing.ADD, i, j, after))
    return [*plain, *turned]


def rows_of(graph, near, gains):
    """One row for each family of a graph, with these gains."""
    keys = np.column_stack([graph.parents, np.arange(N, dtype=np.uint64)])
    slots = np.full(32, -1)
    climbing.enter(keys, slots, 0, N)
    starts = np.concatenate([[0], np.cumsum(near.sum(axis=1))[:-1]])
    own = -10.0 - np.arange(N)
    scores = gains + own[:, None]
    np.fill_diagonal(scores, own)
    largest = np.array([(scores - own[:, None])[j, near[j]].max() for j in range(N)])
    return words(near), keys, slots, starts, largest, scores[near]


@pytest.mark.parametrize("seed", range(16))
def test_a_step_makes_the_first_of_the_best_legal_moves(seed):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag([f"v{i}" for i in range(N)], p_arc=0.5, seed=seed)
    arcs = dag.to_adjacency().astype(np.uint8)
    graph = Graph(arcs)
    near = np.ones((N, N), bool)
    if seed % 4 == 3:  # all that are joined must be near
        near = (rng.random((N, N)) < 0.5) | (arcs + arcs.T > 0) | np.eye(N, dtype=bool)
        near |= near.T
    gains = np.where(near, np.round(rng.normal(0, 2, (N, N)), 1), -np.inf)
    tabu, is_at_loss = (2, True) if seed % 2 else (0, False)
    required = arcs.T * (rng.random((N, N)) < 0.2)
    blocked = np.array([[*rng.permutation(N)[:2], 10], [0, 0, 0], [1, 2, 5], [2, 3, 4]])
    time, score, best = 3, float(-10.0 * N - sum(range(N))), -58.0
    aspiration = best - score + TIE if tabu else np.inf
    limit, slack, twin = (-np.inf if is_at_loss else TIE), 0.0, None
    for one in moves(arcs, gains):
        gain, kind, i, j, _ = one
        pairs = [{a, b} for a, b, until in blocked.tolist() if until > time + 1]
        is_free = {i, j} not in pairs or gain > aspiration
        is_kept = kind != climbing.ADD and required[j, i]
        if gain > limit + slack and is_free and not is_kept:
            limit, slack, twin = gain, TIE, one
    state = np.array([time, int(is_at_loss), 0, 0, 0, 0])
    levels = np.array([0.0, best, TIE])
    status = climbing.climb(
        *graph.books(),
        np.zeros(N),
        *rows_of(graph, near, gains),
        words(required),
        blocked,
        np.arange(N),
        graph.spare,
        state,
        levels,
        tabu,
        1,
    )
    assert levels[climbing.SCORE] == pytest.approx(score)
    if twin is None:
        assert status == climbing.OPTIMUM
        assert state[climbing.KIND] == climbing.NONE
    else:
        assert status == climbing.MISSING  # the new family has no row
        assert state[climbing.KIND :].tolist() == list(twin[1:4])
        np.testing.assert_array_equal(graph.arcs(), twin[4])
    graph.check()


@pytest.mark.parametrize("seed", range(8))
def test_the_likely_move_of_a_child_is_its_best_legal_addition_or_deletion(seed):
    rng = np.random.default_rng(seed)
    arcs = cs.random_dag([f"v{i}" for i in range(N)], p_arc=0.5, seed=seed).to_adjacency()
    graph, near = Graph(arcs.astype(np.uint8)), np.ones((N, N), bool)
    gains, required = rng.normal(0, 2, (N, N)), arcs.T * (rng.random((N, N)) < 0.3)
    near, _, _, starts, largest, values = rows_of(graph, near, gains)
    row, chosen = np.arange(N), np.empty(N, np.int64)
    row[N - 1] = -1
    twin = np.full(N, -1)
    for _, kind, i, j, _ in sorted(moves(arcs, gains), key=lambda one: one[0] * -1):
        is_kept = kind == climbing.DELETE and required[j, i]
        if kind != climbing.REVERSE and gains[j, i] > TIE and not is_kept and twin[j] < 0:
            twin[j] = i
    twin[N - 1] = -1
    climbing.likely(
        graph.parents,
        graph.above,
        row,
        -10.0 - np.arange(N),
        near,
        starts,
        largest,
        values,
        words(required),
        np.arange(N),
        TIE,
        chosen,
    )
    assert chosen.tolist() == twin.tolist()


def test_a_climb_at_a_loss_ends_when_it_has_found_nothing_for_long():
    graph = Graph(np.zeros((N, N), np.uint8))
    near = np.ones((N, N), bool)
    rows = rows_of(graph, near, np.full((N, N), -1.0))
    books = (*graph.books(), np.zeros(N), *rows, words(~near), np.zeros((4, 3), np.int64))
    state, levels = np.array([0, 3, 1, 0, 0, 0]), np.array([0.0, 0.0, TIE])
    more = (np.arange(N), graph.spare, state, levels)
    assert climbing.climb(*books, *more, 2, 5) == climbing.TIRED
    state[:], levels[climbing.BEST] = [0, 3, 1, 0, 0, 0], -100.0  # it was above the best before
    assert climbing.climb(*books, *more, 2, 5) == climbing.OPTIMUM
    assert state[climbing.SINCE_BEST] == 0
    assert climbing.climb(*books, *more, 2, 0) == climbing.MORE


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [5, 70])
def test_other_parents_are_given_unless_they_close_a_cycle(seed, n):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag([f"v{i:02}" for i in range(n)], n_arcs=n, seed=seed)
    arcs = dag.to_adjacency().astype(np.uint8)
    for j in rng.permutation(n)[:5].tolist():
        graph = Graph(arcs)
        new = rng.random(n) < 3 / n
        new[j] = False
        after = arcs.copy()
        after[:, j] = new
        is_legal = climbing.rewire(*graph.books(), graph.spare, j, words(new[None])[0])
        assert is_legal == is_acyclic(after)
        np.testing.assert_array_equal(graph.arcs(), after if is_legal else arcs)
        graph.check()


def test_rows_are_found_by_child_and_parents():
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(0, 50, (40, 3)).astype(np.uint64), axis=0)
    slots = np.full(128, -1)
    climbing.enter(keys, slots, 0, 10)
    climbing.enter(keys, slots, 10, len(keys))
    assert sorted(slots[slots >= 0].tolist()) == list(range(len(keys)))
    again = slots.copy()
    climbing.enter(keys, slots, 0, len(keys))  # each is found where it stands
    np.testing.assert_array_equal(slots, again)
