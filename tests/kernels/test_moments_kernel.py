"""The kernels of moments against their plain NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.kernels.moments import center, join

SIZES = np.array([2, 3])


def drawn(seed=0, n_rows=300, d=3):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(-1, size, n_rows) for size in (2, 4, 3)]).astype(np.int32)
    return rng.normal(1e6, 1.0, (d, n_rows)), rng.integers(0, 3, n_rows).astype(float), codes


def joint(codes):
    """The joint state of the first and the last variable, -1 if one is missing."""
    return np.where((codes[0] < 0) | (codes[2] < 0), -1, 3 * codes[0] + codes[2])


def test_joint_states_count_the_last_variable_fastest_and_leave_out_gaps():
    codes = drawn()[2]
    group = np.empty(codes.shape[1], np.int64)
    join(codes, np.array([0, 2]), SIZES, group)
    np.testing.assert_array_equal(group, joint(codes))


@pytest.mark.parametrize("d", [1, 3])
def test_centred_products_are_those_of_repeated_rows_group_by_group(d):
    values, weights, codes = drawn(d=d)
    weight, mean, scatter = np.zeros(6), np.zeros((6, d)), np.zeros((6, d, d))
    center(values, weights, codes, np.array([0, 2]), SIZES, weight, mean, scatter)
    for g in range(6):
        rows = np.repeat(values.T, np.where(joint(codes) == g, weights, 0).astype(int), axis=0)
        off = rows - rows.mean(axis=0)
        assert weight[g] == len(rows)
        np.testing.assert_allclose(mean[g], rows.mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(scatter[g], off.T @ off, rtol=1e-8, atol=1e-8)
