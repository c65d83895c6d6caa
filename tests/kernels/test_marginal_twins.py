"""Classes of rows and tables of many sets of parents against plain sums."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.kernels.marginals import number_classes
from consilience.statistics.marginals import Marginals


def test_rows_of_one_class_agree_in_all_that_stands_below():
    rng, n_rows = np.random.default_rng(1), 40
    n_states = np.array([2, 3, 2, 4])
    columns = rng.integers(0, n_states[:, None], (4, n_rows)).astype(np.int32)
    ends = rng.integers(0, 3, n_rows)
    classes, n_classes = np.empty((5, n_rows), np.int32), np.empty(5, np.int64)
    classes[0], n_classes[0] = ends, 3
    number_classes(columns, n_states, classes, n_classes, np.empty(8 * n_rows, np.int32))
    for v in range(5):
        keys = [(ends[i], *columns[:v, i][::-1]) for i in range(n_rows)]
        pairs = set(zip(keys, classes[v].tolist(), strict=True))
        assert len(pairs) == len(set(keys)) == len(set(classes[v].tolist()))
        assert classes[v].max() < n_classes[v]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by_source", [False, True])
def test_sum_tables_gives_the_tables_of_all_sets_of_parents(seed, by_source):
    rng, sizes = np.random.default_rng(seed), (2, 3, 2, 3)
    cells = rng.integers(0, 3, (2 if by_source else 1, *sizes, 2)) * (rng.random((*sizes, 2)) < 0.3)
    variables = [cs.Variable(f"v{i}", tuple("abc"[:r])) for i, r in enumerate(sizes)]
    child, site = cs.Variable("x", ("0", "1")), cs.Variable("f", ("s", "t"))
    table = cells.reshape(len(cells), -1, 2).astype(np.int64)
    source = site if by_source else None
    joint = cs.Counts(child, tuple(variables), source, table, table.sum(axis=(1, 2)))
    sets = np.flatnonzero(rng.random(16) < 0.8)
    batches = list(Marginals(joint).batches(sets))
    found = np.concatenate([batch.table for batch in batches])
    start = 0
    for mask in sets:
        kept = [v for v in range(4) if mask >> v & 1][::-1]
        gone = tuple(1 + v for v in range(4) if v not in kept)
        sums = cells.sum(axis=gone)
        left = sorted(kept)
        order = [0, *(1 + left.index(v) for v in kept), 1 + len(kept)]
        twin = sums.transpose(order).reshape(len(cells), -1, 2)
        twin = twin[:, twin.any(axis=(0, 2))]
        np.testing.assert_array_equal(found[start : start + twin.size], twin.ravel())
        start += twin.size
    assert start == found.size


def test_sum_tables_is_what_marginals_call():
    assert "sum_tables" in Marginals._sum.__code__.co_names
