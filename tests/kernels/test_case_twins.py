"""Hidden parts of rows against plain Python."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from test_expected_cases_twin import random_cases

from consilience._freeze import read_only
from consilience.inference.case_graph import flat_lists
from consilience.kernels import cases

CHILDREN = {0: [2], 1: [2, 3], 2: [4], 3: [], 4: []}
NEIGHBORS = {0: [1, 2], 1: [0, 2, 3], 2: [0, 1, 4], 3: [1], 4: [2]}


def lists(of):
    """Lists by variable as one array, and where each begins."""
    flat = np.array([u for v in range(5) for u in of[v]], np.int64)
    return flat, np.cumsum([0, *(len(of[v]) for v in range(5))]).astype(np.int64)


def random_codes(seed, n_rows=30):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n_rows, 5)).astype(np.int32)
    codes[rng.random(codes.shape) < 0.5] = -1
    codes[0], codes[1] = -1, 0
    return codes


def below(v):
    return {v} | {w for u in CHILDREN[v] for w in below(u)}


@pytest.mark.parametrize("seed", range(3))
def test_barren_values_have_nothing_known_below(seed):
    codes = random_codes(seed)
    before = codes.copy()
    cases.hide_barren(codes, *lists(CHILDREN))
    for row, old in zip(codes, before, strict=True):
        for v in range(5):
            is_barren = all(old[u] == -1 for u in below(v))
            assert row[v] == (-2 if is_barren else old[v])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hides", [False, True])
def test_hidden_sets_are_connected_parts_with_their_barren_children(seed, hides):
    codes = random_codes(seed)
    if hides:
        cases.hide_barren(codes, *lists(CHILDREN))
    rows, first, members = cases.hidden_sets(codes, *lists(NEIGHBORS), *lists(CHILDREN))
    found = [
        (int(r), members[a:b].tolist()) for r, (a, b) in zip(rows, pairwise(first), strict=True)
    ]
    twin = []
    for i, row in enumerate(codes):
        left = [v for v in range(5) if row[v] == -1]
        while left:
            part, waiting = set(), [left[0]]
            while waiting:
                v = waiting.pop()
                if v not in part:
                    part.add(v)
                    waiting += [u for u in NEIGHBORS[v] if row[u] == -1]
            barren = {5 + u for v in part for u in CHILDREN[v] if row[u] == -2}
            twin.append((i, [*sorted(part), *sorted(barren)]))
            left = [v for v in left if v not in part]
    assert found == twin


def test_cases_are_pairs_of_one_set_whose_families_start_alike():
    rng = np.random.default_rng(4)
    codes = rng.integers(-1, 3, (50, 4)).astype(np.int32)
    rows, of_set = np.arange(50), rng.integers(0, 2, 50).astype(np.int32)
    touched, touched_first = np.array([0, 2, 1, 2, 3]), np.array([0, 2, 5])
    start = read_only(np.array([0, 9, 18]))
    axes, strides = np.array([0, 1, 1, 2, 3, 0], np.int32), np.array([3, 1, 3, 1, 1, 3])
    axes_first, own = np.array([0, 2, 4, 6, 6]), rng.integers(50, 53, (50, 1))
    first = np.append(0, np.cumsum(np.diff(touched_first)[of_set])).astype(np.int64)
    offset, key = np.empty(first[-1], np.int32), np.empty(50, np.uint64)
    cases.case_offsets(
        *(codes, rows, of_set, first, touched, touched_first, start, axes, strides, axes_first),
        *(own, offset, key),
    )
    twin = []
    for i in range(50):
        families = touched[touched_first[of_set[i]] : touched_first[of_set[i] + 1]]
        places = [start[f] if f < 3 else own[i, 0] for f in families]
        for k, f in enumerate(families):
            for a in range(axes_first[f], axes_first[f + 1]):
                places[k] += strides[a] * max(codes[i, axes[a]], 0)
        twin.append((int(of_set[i]), tuple(map(int, places))))
    assert [tuple(offset[a:b]) for a, b in pairwise(first)] == [t[1] for t in twin]
    order, case_of = np.lexsort((key, of_set)), np.empty(50, np.int64)
    leaders = cases.merge_cases(order, of_set, first, offset, case_of)
    assert len(leaders) == len(set(twin))
    assert all(twin[leaders[case_of[i]]] == twin[i] for i in range(50))


def test_joint_states_of_a_set_lead_into_its_families_by_strides():
    n_states, shapes = np.array([2, 3, 2, 1]), {0: (0, 1), 1: (2,), 2: (1, 0, 2), 3: (3,)}
    sizes = {f: [n_states[v] for v in axes] for f, axes in shapes.items()}
    strides = {f: [int(np.prod(one[i + 1 :])) for i in range(len(one))] for f, one in sizes.items()}
    sets, touched = [(0, 1), (), (1, 2, 3)], [(0, 2), (), (0, 1, 2, 3)]
    axes, axes_first = flat_lists(list(shapes.values()))
    n_joint = [int(np.prod(n_states[list(one)])) for one in sets]
    first = np.cumsum([0, *(len(f) * n for f, n in zip(touched, n_joint, strict=True))])
    inside = np.full(first[-1], -1, np.int32)
    cases.joint_places(
        *(*flat_lists(sets), *flat_lists(touched), n_states, axes.astype(np.int32)),
        *(flat_lists(list(strides.values()))[0], axes_first, inside, first),
    )
    twin = []
    for members, families in zip(sets, touched, strict=True):
        for f in families:
            for joint in product(*(range(n_states[v]) for v in members)):
                state = dict(zip(members, joint, strict=True))
                at = [state.get(v, 0) * d for v, d in zip(shapes[f], strides[f], strict=True)]
                twin.append(sum(at))
    np.testing.assert_array_equal(inside, twin)


@pytest.mark.parametrize("n_joint", [1, 2, 5])
def test_drawn_cases_are_where_the_uniform_number_falls(n_joint):
    rng = np.random.default_rng(n_joint)
    arrays, theta = random_cases(n_joint, 3, rng)
    n = int(arrays.weight.sum())
    uniforms, counts = rng.random(n), np.zeros_like(theta)
    states = np.empty(n, np.int32)
    assert cases.draw_cases(arrays, theta, uniforms, counts, states, np.empty(n_joint))
    twin, u = np.zeros_like(theta), 0
    for c, weight in enumerate(arrays.weight):
        places = arrays.offset[arrays.first[c] : arrays.first[c + 1], None]
        places = places + arrays.inside.reshape(3, n_joint)
        share = theta[places].prod(axis=0)
        ends = np.cumsum(share) / share.sum()
        for _ in range(int(weight)):
            state = min(int((ends <= uniforms[u]).sum()), n_joint - 1)
            assert states[u] == state
            np.add.at(twin, places[:, state], 1)
            u += 1
    np.testing.assert_array_equal(counts, twin)


def test_an_impossible_case_is_not_drawn():
    arrays, theta = random_cases(2, 1, np.random.default_rng(1))
    n = int(arrays.weight.sum())
    arguments = np.zeros(n), np.zeros_like(theta), np.empty(n, np.int32), np.empty(2)
    assert not cases.draw_cases(arrays, np.zeros_like(theta), *arguments)


def test_a_leaf_says_what_its_column_of_the_table_says():
    rng = np.random.default_rng(5)
    codes, table = rng.integers(-1, 3, 20).astype(np.int32), rng.dirichlet(np.ones(3), 2)
    table[0, 1] = 0.0
    likelihood, log_scale = rng.uniform(0.1, 1.0, (2, 20)), rng.normal(size=20)
    likelihood[1, 3], codes[3] = 0.0, 1
    twin, twin_scale = likelihood.copy(), log_scale.copy()
    cases.leaf_likelihoods(codes, read_only(table), likelihood, log_scale)
    for i, code in enumerate(codes):
        if code >= 0:
            twin[:, i] *= table[:, code]
            if twin[:, i].any():
                twin_scale[i] += np.log(twin[:, i].max())
                twin[:, i] /= twin[:, i].max()
    np.testing.assert_allclose(likelihood, twin, rtol=1e-14)
    np.testing.assert_allclose(log_scale, twin_scale, rtol=1e-14)
    counts, wanted = np.ones((2, 3)), np.ones((2, 3))
    cases.leaf_counts(codes, likelihood, counts)
    for code, belief in zip(codes, likelihood.T, strict=True):
        if code >= 0:
            wanted[:, code] += belief
    np.testing.assert_allclose(counts, wanted, rtol=1e-13)
