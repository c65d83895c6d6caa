from __future__ import annotations

import numpy as np
import pytest

from consilience.kernels.cases import CaseArrays, expect_cases


def random_cases(n_joint, n_families, rng, *, scale=1.0):
    """Cases of one hidden set; every family has its cells for the joint states apart."""
    n_cases, n_blocks = 7, 5
    inside = np.tile(np.arange(n_joint) * n_blocks, n_families)
    start = np.arange(n_families) * n_joint * n_blocks
    offset = (start + rng.integers(0, n_blocks, (n_cases, n_families))).ravel()
    cases = CaseArrays(
        np.zeros(n_cases, np.int32),
        rng.integers(1, 4, n_cases).astype(float),
        np.arange(n_cases + 1, dtype=np.int64) * n_families,
        offset.astype(np.int32),
        np.array([n_joint], np.int64),
        np.array([n_families], np.int64),
        inside.astype(np.int32),
        np.array([0, inside.size], np.int64),
    )
    return cases, scale * rng.uniform(0.1, 1.0, n_families * n_joint * n_blocks)


def twin(cases, theta):
    """The formula in logarithms, case by case."""
    counts, total = np.zeros_like(theta), 0.0
    n, families = int(cases.n_joint[0]), int(cases.n_families[0])
    for c, weight in enumerate(cases.weight):
        offset = cases.offset[cases.first[c] : cases.first[c + 1]]
        places = offset[:, None] + cases.inside.reshape(families, n)
        with np.errstate(divide="ignore"):
            logs = np.log(theta[places]).sum(axis=0)
        if logs.max() == -np.inf:
            total = -np.inf
            continue
        shares = np.exp(logs - logs.max())
        total += weight * (np.log(shares.sum()) + logs.max())
        for family in places:
            counts[family] += weight * shares / shares.sum()
    return counts, total


@pytest.mark.parametrize("n_joint", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("n_families", [1, 3, 8, 21])
def test_expected_counts_are_those_of_the_formula(n_joint, n_families):
    cases, theta = random_cases(n_joint, n_families, np.random.default_rng([n_joint, n_families]))
    counts = np.zeros_like(theta)
    total = expect_cases(cases, theta, counts, np.empty(n_joint))
    expected, log_sum = twin(cases, theta)
    np.testing.assert_allclose(counts, expected, rtol=1e-12)
    assert total == pytest.approx(log_sum, rel=1e-12)


@pytest.mark.parametrize("n_joint", [2, 3, 4, 6])
def test_products_of_many_small_numbers_do_not_underflow(n_joint):
    cases, theta = random_cases(n_joint, 64, np.random.default_rng(n_joint), scale=1e-30)
    counts = np.zeros_like(theta)
    total = expect_cases(cases, theta, counts, np.empty(n_joint))
    expected, log_sum = twin(cases, theta)
    np.testing.assert_allclose(counts, expected, rtol=1e-10)
    assert total == pytest.approx(log_sum, rel=1e-12)


@pytest.mark.parametrize("n_joint", [2, 3, 4, 6])
def test_impossible_cases_are_not_counted(n_joint):
    cases, theta = random_cases(n_joint, 2, np.random.default_rng(3))
    first = cases.offset[: 2 * len(cases.weight) : 2]
    theta[first[0] + cases.inside[:n_joint]] = 0.0
    counts = np.zeros_like(theta)
    assert expect_cases(cases, theta, counts, np.empty(n_joint)) == -np.inf
    np.testing.assert_allclose(counts, twin(cases, theta)[0], rtol=1e-12)
    assert counts.sum() == pytest.approx(2 * cases.weight[first != first[0]].sum())
