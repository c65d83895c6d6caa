"""Scores of flat tables against the formulas, table by table."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from consilience._freeze import read_only
from consilience.kernels import scoring

SHAPES = np.array([[1, 3, 2, 1], [2, 2, 3, 2], [1, 1, 1, 1], [3, 1, 4, 2], [1, 2, 2, 3]])


def flat(seed):
    """Tables with the axes (sources, outer, states, inner), some parent states without rows."""
    rng = np.random.default_rng(seed)
    tables = [rng.integers(0, 6, shape) * (rng.random(shape) < 0.6) for shape in SHAPES]
    tables[0][:, 0] = 0
    table = read_only(np.concatenate([one.ravel() for one in tables]).astype(np.int64))
    rows = [np.moveaxis(one, 2, -1).reshape(-1, one.shape[2]) for one in tables]
    return table, read_only(SHAPES.astype(np.int64)), rows  # as batches have them: compiled once


@pytest.mark.parametrize("seed", range(3))
def test_log_likelihoods_are_those_of_relative_frequencies(seed):
    table, shapes, rows = flat(seed)
    out, totals = np.empty(len(rows)), np.empty(len(rows), np.int64)
    scoring.log_likelihoods(table, shapes, out, totals)
    for k, n in enumerate(rows):
        twin = xlogy(n, n).sum() - xlogy(n.sum(axis=1), n.sum(axis=1)).sum()
        assert out[k] == pytest.approx(twin, rel=1e-12, abs=1e-12)
        assert totals[k] == n.sum()


@pytest.mark.parametrize("seed", range(3))
def test_parent_states_seen_are_those_with_rows(seed):
    table, shapes, rows = flat(seed)
    out = np.empty(len(rows), np.int64)
    scoring.parent_states_seen(table, shapes, out)
    assert out.tolist() == [int(n.any(axis=1).sum()) for n in rows]


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_log_evidences_are_ratios_of_gamma_functions(step, scale):
    table, shapes, rows = flat(1)
    rng, sizes = np.random.default_rng(2), SHAPES.prod(axis=1)
    prior = rng.uniform(0.1, 3.0, sizes.sum() if step else len(rows))
    place = np.cumsum([0, *sizes[:-1]]) if step else np.arange(len(rows))
    out = np.empty(len(rows))
    scoring.log_evidences(table, shapes, scale, prior, place, step, out)
    for k, n in enumerate(rows):
        cells = prior[place[k] + step * np.arange(sizes[k])].reshape(SHAPES[k])
        a, n = np.moveaxis(cells, 2, -1).reshape(n.shape), n / scale
        twin = (gammaln(a + n) - gammaln(a)).sum()
        twin += (gammaln(a.sum(axis=1)) - gammaln((a + n).sum(axis=1))).sum()
        assert out[k] == pytest.approx(twin, rel=1e-11, abs=1e-11)


def normalizer(n, r):
    """The sum over all ways to share n rows among r states."""
    total = 0.0
    for parts in product(range(n + 1), repeat=r):
        if sum(parts) == n:
            ways = math.factorial(n) / math.prod(math.factorial(k) for k in parts)
            total += ways * math.prod((k / n) ** k for k in parts if k)
    return total


def test_pair_normalizers_are_sums_over_all_pairs():
    out = np.empty(9)
    scoring.fill_pair_normalizers(out)
    np.testing.assert_allclose(out, [1.0, *(normalizer(n, 2) for n in range(1, 9))], rtol=1e-13)


def test_log_normalizers_are_those_of_all_parent_states():
    table, shapes, rows = flat(3)
    pairs, out = np.empty(4), np.empty(len(rows))
    scoring.fill_pair_normalizers(pairs)
    scoring.log_normalizers(table, shapes, pairs, out)
    for k, n in enumerate(rows):
        twin = sum(math.log(normalizer(int(m.sum()), len(m))) for m in n if m.any())
        assert out[k] == pytest.approx(twin, rel=1e-4)  # few pairs: the expansion from 4 rows on
    exact = np.empty(64)
    scoring.fill_pair_normalizers(exact)
    scoring.log_normalizers(table, shapes, exact, out)
    for k, n in enumerate(rows):
        twin = sum(math.log(normalizer(int(m.sum()), len(m))) for m in n if m.any())
        assert out[k] == pytest.approx(twin, rel=1e-12, abs=1e-12)
