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
        rng.integers(1, 4, n_cases),
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
    counts, logs = np.zeros_like(theta), []
    n, families = int(cases.n_joint[0]), int(cases.n_families[0])
    for c, weight in enumerate(cases.weight):
        offset = cases.offset[cases.first[c] : cases.first[c + 1]]
        places = offset[:, None] + cases.inside.reshape(families, n)
        with np.errstate(divide="ignore"):
            each = np.log(theta[places]).sum(axis=0)
        if each.max() == -np.inf:
            logs.append(-np.inf)
            continue
        shares = np.exp(each - each.max())
        logs.append(np.log(shares.sum()) + each.max())
        for family in places:
            counts[family] += weight * shares / shares.sum()
    return counts, np.array(logs)


def expected(cases, theta, *, unit=2.0**36, n_digits=1):
    """What the kernel finds: whole numbers, and the log of each case."""
    counts = np.zeros((n_digits, len(theta)), np.int64)
    totals, log_scales = np.empty((2, len(cases.of_set)))
    room = np.empty(int(cases.n_joint[0])), np.empty((2, int(cases.n_joint[0])), np.int64)
    expect_cases(cases, theta, unit, counts, totals, log_scales, *room)
    with np.errstate(divide="ignore"):
        return counts, np.log(totals) + log_scales


@pytest.mark.parametrize("n_joint", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("n_families", [1, 3, 8, 21])
def test_expected_counts_are_those_of_the_formula(n_joint, n_families):
    cases, theta = random_cases(n_joint, n_families, np.random.default_rng([n_joint, n_families]))
    counts, logs = expected(cases, theta)
    wanted, wanted_logs = twin(cases, theta)
    # Rounded to 2^-36 in each of seven cases.
    np.testing.assert_allclose(counts[0] / 2.0**36, wanted, rtol=0, atol=7 * 4 * 2.0**-37)
    np.testing.assert_allclose(logs, wanted_logs, rtol=1e-12)


@pytest.mark.parametrize("n_joint", [2, 3, 4, 6])
def test_products_of_many_small_numbers_do_not_underflow(n_joint):
    cases, theta = random_cases(n_joint, 64, np.random.default_rng(n_joint), scale=1e-30)
    counts, logs = expected(cases, theta)
    wanted, wanted_logs = twin(cases, theta)
    np.testing.assert_allclose(counts[0] / 2.0**36, wanted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(logs, wanted_logs, rtol=1e-12)


@pytest.mark.parametrize("n_joint", [2, 3, 4, 6])
def test_impossible_cases_are_not_counted(n_joint):
    cases, theta = random_cases(n_joint, 2, np.random.default_rng(3))
    first = cases.offset[: 2 * len(cases.weight) : 2]
    theta[first[0] + cases.inside[:n_joint]] = 0.0
    counts, logs = expected(cases, theta)
    wanted, wanted_logs = twin(cases, theta)
    np.testing.assert_array_equal(logs == -np.inf, first == first[0])
    np.testing.assert_array_equal(logs == -np.inf, wanted_logs == -np.inf)
    np.testing.assert_allclose(counts[0] / 2.0**36, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_joint", [2, 3, 4, 6])
def test_digits_of_fractional_weights_are_those_of_the_product(n_joint):
    rng = np.random.default_rng(n_joint)
    cases, theta = random_cases(n_joint, 3, rng)
    heavy = cases._replace(weight=rng.integers(1, 2**50, len(cases.weight)))
    high, low = expected(heavy, theta, n_digits=2)[0].astype(object)
    exact = np.zeros(len(theta), object)
    for c, weight in enumerate(heavy.weight.tolist()):
        alone = cases._replace(weight=np.where(np.arange(len(cases.weight)) == c, 1, 0))
        exact += expected(alone, theta)[0][0].astype(object) * weight
    np.testing.assert_array_equal(high * 2**40 + low, exact)
