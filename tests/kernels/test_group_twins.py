"""Joint counts of groups of variables, and lists of toggled parents, against plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from test_kernel_twins import SIZES, joint, packed

from consilience.kernels.counting import BLOCK, count_groups, count_toggles, toggle_sizes
from consilience.kernels.regressions import list_toggles


@pytest.mark.parametrize("n_rows", [1, 64, 3000])
@pytest.mark.parametrize("is_complete", [False, True])
def test_groups_have_the_joint_counts_of_base_and_extension(n_rows, is_complete):
    columns = np.random.default_rng(n_rows).integers(0, np.array(SIZES)[:, None], (5, n_rows))
    bits, first = packed(columns)
    base_start, base = np.array([0, 2, 2, 3]), np.array([4, 1, 2])
    extension_start, extension = np.array([0, 2, 3, 5]), np.array([0, 3, 2, 4, 0])
    bases = [(4, 1), (4, 1), (), (2,), (2,)]
    twins = [joint(columns, [*b, e]) for b, e in zip(bases, extension, strict=True)]
    out_start = np.cumsum([0, *(twin.size for twin in twins)])
    out = np.zeros(out_start[-1], np.int64)
    complete, scratch = np.full(5, is_complete), np.empty((10, BLOCK), np.uint64)
    starts = (base_start, base, extension_start, extension, out_start)
    sizes, n_words = np.array(SIZES), bits.shape[1]
    for part in ((0, n_words // 2), (n_words // 2, n_words)):
        count_groups(
            bits, first, sizes, complete, *starts, *part, scratch, np.empty(BLOCK, np.int64), out
        )
    np.testing.assert_array_equal(out, np.concatenate([twin.ravel() for twin in twins]))


@pytest.mark.parametrize("n_rows", [0, 1, 3000, 40_000])
def test_families_are_counted_with_their_neighbors_in_one_call(n_rows):
    columns = np.random.default_rng(n_rows).integers(0, np.array(SIZES)[:, None], (5, n_rows))
    bits, first = packed(columns)
    asked = [((4, 1, 0), 1, (2, 3)), ((3,), 0, ()), ((2, 3, 0), 2, (4,))]  # the first has a source
    members = np.array([v for base, _, others in asked for v in (*base, *others)])
    begin, n_base, n_parents = np.array([0, 5, 6, 10]), np.array([3, 1, 3]), np.array([1, 0, 2])
    axes = [[4, 1, 0], [4, 0], [4, 1, 0, 2], [4, 1, 0, 3], [3], [2, 3, 0], [3, 0], [2, 0]]
    twins = [joint(columns, one) for one in [*axes, [2, 3, 0, 4]]]
    sizes = np.array(SIZES)
    n_counts, most = toggle_sizes(sizes, members, begin, n_base, n_parents)
    assert (n_counts, most) == (sum(twin.size for twin in twins), 18)
    out, shapes = np.zeros(n_counts, np.int64), np.empty((9, 4), np.int64)
    scratch, place = np.empty((most, BLOCK), np.uint64), np.empty(5, np.int64)
    what = (members, begin, n_base, n_parents)
    count_toggles(bits, first, sizes, *what, bits.shape[1], scratch, place, out, shapes)
    np.testing.assert_array_equal(out, np.concatenate([twin.ravel() for twin in twins]))
    assert shapes.tolist() == [
        *([3, 3, 2, 1], [3, 1, 2, 1], [3, 3, 2, 4], [3, 3, 2, 2], [1, 1, 2, 1]),
        *([1, 8, 2, 1], [1, 2, 2, 1], [1, 4, 2, 1], [1, 8, 2, 3]),
    ]


def test_toggled_families_lack_a_parent_or_have_one_more():
    for parents, candidates in (([3, 1], [0, 4, 2]), ([], [5]), ([2], [])):
        k, n = len(parents), len(candidates)
        starts = np.empty(2 + k + n, np.int64)
        everyone = np.empty(k * k + n * (k + 1), np.int64)
        list_toggles(np.array(parents, np.int64), np.array(candidates, np.int64), starts, everyone)
        found = [part.tolist() for part in np.split(everyone, starts[1:-1])]
        without = [[p for p in parents if p != gone] for gone in parents]
        assert found == [parents, *without, *([*parents, one] for one in candidates)]
        assert starts[0] == 0
        assert starts[-1] == len(everyone)
