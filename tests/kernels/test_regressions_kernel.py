"""The kernels of regressions against their plain NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.kernels.regressions import has_lost, log_likelihoods, misfits, regress

FAMILIES = [(0, []), (0, [1]), (0, [1, 2]), (3, [1, 2]), (3, [1, 4]), (4, [3, 0, 1, 2]), (4, [0])]


def flat(families):
    children = np.array([child for child, _ in families])
    starts = np.cumsum([0, *(len(parents) for _, parents in families)])
    return children, starts, np.array([i for _, parents in families for i in parents], np.int64)


def rows_of(n_groups=3, n_rows=20, n_variables=5, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_groups, n_variables, n_variables))
    return rng.normal(size=(n_groups, n_rows, n_variables)) @ mixing + rng.normal(size=5)


def moments_of(rows):
    mean = rows.mean(axis=-2)
    centered = rows - mean[..., None, :]
    return mean, np.swapaxes(centered, -1, -2) @ centered


def run(moments, families, ridge=0.0, n_rows=20.0):
    mean, scatter = moments
    shape = len(scatter), len(families)
    left, log_det, rank = np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
    lost, weight = np.empty(shape, bool), np.full(len(scatter), n_rows)
    n_lost = regress(weight, mean, scatter, *flat(families), ridge, left, rank, log_det, lost)
    assert n_lost == lost.sum()
    return left, rank, log_det, lost


def regress_twin(scatter, families, ridge=0.0):
    """Residuals by solving the normal equations, on the scale of correlations."""
    found = []
    for products in scatter:
        full = products + ridge * np.eye(len(products))
        for child, parents in families:
            block, along = full[np.ix_(parents, parents)], full[parents, child]
            slopes = np.linalg.solve(block, along) if parents else np.empty(0)
            log_det = np.linalg.slogdet(block)[1] if parents else 0.0
            found.append((full[child, child] - along @ slopes, len(parents), log_det))
    columns = [np.array(column).reshape(len(scatter), -1) for column in zip(*found, strict=True)]
    return tuple(columns)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_residuals_ranks_and_determinants_are_those_of_the_normal_equations(ridge):
    mean, scatter = moments_of(rows_of())
    *answers, lost = run((mean, scatter), FAMILIES, ridge)
    assert not lost.any()
    for found, expected in zip(answers, regress_twin(scatter, FAMILIES, ridge), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_the_order_of_families_does_not_matter():
    moments = moments_of(rows_of(seed=1))
    order = np.random.default_rng(2).permutation(len(FAMILIES))
    turned = run(moments, [FAMILIES[i] for i in order])
    for found, expected in zip(turned, run(moments, FAMILIES), strict=True):
        np.testing.assert_allclose(found, expected[:, order], rtol=1e-12)


def test_a_collinear_parent_changes_nothing_and_adds_no_rank():
    rows = rows_of(n_groups=1)
    rows[..., 2] = 3.0 * rows[..., 1] - 7.0
    rows[..., 4] = 5.0
    families = [(0, [1]), (0, [1, 2]), (0, [2, 1]), (0, [4, 1]), (0, [1, 2, 3])]
    left, rank, _, lost = run(moments_of(rows), families)
    np.testing.assert_allclose(left[0, 1:4], left[0, 0], rtol=1e-9)
    assert rank.tolist() == [[1, 1, 1, 1, 2]]
    assert lost.tolist() == [[False, True, True, False, True]]


def test_a_family_is_lost_if_little_is_left_and_there_are_rows_to_tell():
    rows = rows_of(n_groups=1, n_rows=1000)
    rows[..., 0] = rows[..., 1] - 0.5 * rows[..., 3] + 1e-4 * rows[..., 4]
    assert run(moments_of(rows), [(0, [1, 3])])[3].all()
    assert not run(moments_of(rows), [(0, [1, 3])], n_rows=3.0)[3].any()
    assert not run(moments_of(rows), [(0, [1, 4])])[3].any()


def test_one_regression_of_the_last_variable_is_lost_where_the_family_is():
    rows = rows_of()
    moments = moments_of(rows)
    assert not has_lost(np.full(3, 20.0), *moments)
    rows[1, :, 4] = rows[1, :, 0] + 1e-5 * rows[1, :, 4]
    moments = moments_of(rows)
    assert has_lost(np.full(3, 20.0), *moments)
    assert run(moments, [(4, [0, 1, 2, 3])])[3].ravel().tolist() == [False, True, False]


def test_large_means_take_digits():
    rows = rows_of(n_groups=1, n_rows=1000)
    rows[..., 0] = rows[..., 1] - 0.5 * rows[..., 3] + 0.1 * rows[..., 4]
    assert not run(moments_of(rows), [(0, [1, 3])])[3].any()
    assert run(moments_of(rows + 1e8), [(0, [1, 3])])[3].all()


def likelihood_twin(weight, families, left, rank):
    values, poor = np.zeros(len(families)), np.zeros(left.shape, bool)
    for g, n in enumerate(weight):
        for f, (_, parents) in enumerate(families):
            poor[g, f] = n > 0 and (n <= len(parents) + 1 or left[g, f] == 0)
            if n > 0 and not poor[g, f]:
                variance = left[g, f] / (n - 1 - rank[g, f])
                values[f] -= n / 2 * np.log(2 * np.pi * variance) + left[g, f] / 2 / variance
    return values, poor


def test_likelihoods_leave_out_groups_without_a_variance():
    rows = rows_of(n_groups=4, n_rows=6)
    weight = np.array([6.0, 6.0, 0.0, 3.0])
    left, rank, *_ = run(moments_of(rows), FAMILIES)
    left[1, 1] = 0.0
    out, poor = np.empty(len(FAMILIES)), np.empty(left.shape, bool)
    n_poor = log_likelihoods(weight, flat(FAMILIES)[1], left, rank, out, poor)
    values, expected = likelihood_twin(weight, FAMILIES, left, rank)
    np.testing.assert_array_equal(poor, expected)
    np.testing.assert_allclose(out, values, rtol=1e-12)
    assert n_poor == poor.sum() > 0


def test_misfits_are_sums_of_squares_around_the_line_of_all_rows():
    rows = rows_of(seed=3)
    every = rows.reshape(-1, 5)
    (center, total), (mean, scatter) = moments_of(every), moments_of(rows)
    wanted = np.random.default_rng(0).random((3, len(FAMILIES))) < 0.7
    out = np.zeros(wanted.shape)
    misfits(total, center, scatter, mean, np.full(3, 20.0), *flat(FAMILIES), wanted, out)
    for f, (child, parents) in enumerate(FAMILIES):
        design = np.column_stack([np.ones(len(every)), every[:, parents]])
        line = np.linalg.lstsq(design, every[:, child], rcond=None)[0]
        gaps = rows[..., child] - line[0] - rows[..., parents] @ line[1:]
        np.testing.assert_allclose(out[:, f], np.where(wanted[:, f], (gaps**2).sum(axis=1), 0.0))
