"""Arithmetic with twice the digits against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from consilience.kernels.fine import (
    add_rows_finely,
    combine_finely,
    intercepts_finely,
    merge_finely,
    misfits_finely,
    regress_finely,
    solve_finely,
)

PRECISE = 1e-28


def rows_of(n=40, seed=0):
    rng = np.random.default_rng(seed)
    x, u, v, w = rng.normal(3.0, 1.0, (4, n))
    return np.stack([x, x + 1e-7 * u, v, x + v + 1e-4 * w], axis=1)


def moments_of(values, weights):
    """Weight, mean, scatter and what rounding leaves of them, of one group."""
    d = values.shape[1]
    weight, mean = np.array([weights.sum()]), np.full((1, d), 3.0)
    scatter, mean_rest, rest = np.zeros((1, d, d)), np.zeros((1, d)), np.zeros((1, d, d))
    code = np.zeros(len(values), np.int64)
    add_rows_finely(values, weights, code, weight, mean, scatter, mean_rest, rest)
    return weight, mean, scatter, mean_rest, rest


def exact(values, weights):
    rows = [[Fraction(v) for v in row] for row in values.tolist()]
    w = [Fraction(v) for v in weights.tolist()]
    d, n = len(rows[0]), sum(w)
    mean = [sum(a * row[i] for a, row in zip(w, rows, strict=True)) / n for i in range(d)]
    scatter = [
        [
            sum(a * (r[i] - mean[i]) * (r[j] - mean[j]) for a, r in zip(w, rows, strict=True))
            for j in range(d)
        ]
        for i in range(d)
    ]
    return mean, scatter


def error(high, low, expected):
    found = [Fraction(a) + Fraction(b) for a, b in zip(high.ravel(), low.ravel(), strict=True)]
    size = max(map(abs, expected))
    return max(abs(float((a - b) / size)) for a, b in zip(found, expected, strict=True))


def flat(matrix):
    return [value for row in matrix for value in row]


def test_moments_have_twice_the_digits():
    values = rows_of()
    weights = np.arange(40) % 3 + 1.0
    _, mean, scatter, mean_rest, rest = moments_of(values, weights)
    expected_mean, expected = exact(values, weights)
    assert error(mean, mean_rest, expected_mean) < PRECISE
    assert error(scatter, rest, flat(expected)) < PRECISE


@pytest.mark.parametrize("cut", [0, 13, 40])
def test_parts_merge_into_the_moments_of_the_whole(cut):
    values = rows_of(seed=1)
    weights = np.ones(40)
    left, right = (moments_of(values[p], weights[p]) for p in (slice(cut), slice(cut, None)))
    merge_finely(*left, *right)
    weight, mean, scatter, mean_rest, rest = left
    expected_mean, expected = exact(values, weights)
    assert weight[0] == 40
    assert error(mean, mean_rest, expected_mean) < PRECISE
    assert error(scatter, rest, flat(expected)) < PRECISE


def solved(scatter, parents, child):
    rows = [[scatter[i][j] for j in (*parents, child)] for i in parents]
    for i in range(len(parents)):
        for j in range(i + 1, len(parents)):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    slopes = [Fraction(0)] * len(parents)
    for i in reversed(range(len(parents))):
        known = sum(rows[i][j] * slopes[j] for j in range(i + 1, len(parents)))
        slopes[i] = (rows[i][-1] - known) / rows[i][i]
    both = zip(slopes, parents, strict=True)
    return slopes, scatter[child][child] - sum(b * scatter[p][child] for b, p in both)


def test_what_regressions_leave_is_that_of_fractions():
    values = rows_of(seed=2)
    weight, mean, scatter, _, rest = moments_of(values, np.ones(40))
    families = [(1, [0]), (0, [1]), (3, [0, 1]), (3, [0, 1, 2])]
    children = np.array([child for child, _ in families])
    starts = np.cumsum([0, *(len(parents) for _, parents in families)])
    parents = np.array([one for _, some in families for one in some])
    left, log_det, rank = np.empty((1, 4)), np.empty((1, 4)), np.empty((1, 4), np.int64)
    wanted = np.array([[True, True, True, True]])
    regress_finely(
        weight, mean, scatter, rest, children, starts, parents, 0.0, wanted, left, rank, log_det
    )
    _, products = exact(values, np.ones(40))
    for f, (child, some) in enumerate(families):
        assert left[0, f] == pytest.approx(
            float(solved(products, some, child)[1]), rel=1e-12, abs=0
        )
        assert rank[0, f] == len(some)
    assert log_det[0, 2] == pytest.approx(
        float(np.log(scatter[0, 0, 0]) + np.log(left[0, 0])), rel=1e-14
    )


def test_slopes_intercepts_and_roots_are_those_of_fractions():
    values = rows_of(seed=3)
    weight, mean, scatter, mean_rest, rest = moments_of(values, np.ones(40))
    slopes, root, null, intercept = (
        np.empty((1, 3)),
        np.empty((1, 4, 4)),
        np.empty((1, 3, 3)),
        np.empty(1),
    )
    solve_finely(weight, mean, scatter, rest, slopes, root, null)
    intercepts_finely(mean, mean_rest, slopes, intercept)
    means, products = exact(values, np.ones(40))
    expected, left = solved(products, [0, 1, 2], 3)
    np.testing.assert_allclose(slopes[0], [float(b) for b in expected], rtol=1e-12)
    rounded = means[3] - sum(Fraction(b) * m for b, m in zip(slopes[0], means, strict=False))
    assert intercept[0] == pytest.approx(float(rounded), rel=1e-15)
    np.testing.assert_allclose(root[0].T @ root[0], scatter[0], rtol=1e-13)
    assert root[0, 3, 3] ** 2 == pytest.approx(float(left), rel=1e-12, abs=0)
    assert not null.any()


def test_a_function_of_others_has_a_combination_that_is_zero():
    values = rows_of(seed=4)
    values[:, 2] = values[:, 0] + 2 * values[:, 3]
    values = values[:, [0, 3, 2, 1]]
    weight, mean, scatter, _, rest = moments_of(values, np.ones(40))
    slopes, root, null = np.empty((1, 3)), np.empty((1, 4, 4)), np.empty((1, 3, 3))
    solve_finely(weight, mean, scatter, rest, slopes, root, null)
    np.testing.assert_allclose(null[0, 2], [1.0, 2.0, -1.0], rtol=1e-12)
    assert root[0, 2].tolist() == [0.0] * 4
    assert slopes[0, 2] == 0


def test_misfits_and_combinations_are_sums_over_rows():
    values = rows_of(seed=5)
    whole = moments_of(values, np.ones(40))
    part = moments_of(values[:15], np.ones(15))
    family = np.array([1]), np.array([0, 1]), np.array([0])
    out = np.zeros((1, 1))
    weight, mean, scatter, mean_rest, rest = whole
    around = float(weight[0]), mean[0], scatter[0], mean_rest[0], rest[0]
    misfits_finely(*around, *part, *family, np.array([[True]]), out)
    means, products = exact(values, np.ones(40))
    (slope,), _ = solved(products, [0], 1)
    rows = [[Fraction(v) for v in row] for row in values.tolist()]
    gaps = [row[1] - means[1] - slope * (row[0] - means[0]) for row in rows]
    assert out[0, 0] == pytest.approx(float(sum(g * g for g in gaps[:15])), rel=1e-12, abs=0)

    combination, level = np.array([[-1.0, 1.0, 0.0, 0.0]]), np.array([0.0])
    error_of, along, spread = np.empty(1), np.empty((1, 4)), np.empty(1)
    combine_finely(*whole[1:], np.zeros(4), combination, level, error_of, along, spread)
    assert error_of[0] == pytest.approx(float(means[1] - means[0]), rel=1e-12, abs=0)
    expected = [products[i][1] - products[i][0] for i in range(4)]
    np.testing.assert_allclose(along[0], [float(v) for v in expected], rtol=1e-12)
    assert spread[0] == pytest.approx(float(expected[1] - expected[0]), rel=1e-12, abs=0)
