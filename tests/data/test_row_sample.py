"""A sample of rows by the hash of their numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from table_equality import assert_same

import consilience as cs
from consilience.statistics.engines import Batches


def _numbered(n_rows: int) -> cs.Table:
    rng = np.random.default_rng(n_rows)
    frame = {"x": np.arange(n_rows) + 0.5, "s": rng.choice(list("abc"), n_rows).tolist()}
    frame["hospital"] = rng.choice(["va", "cleveland"], n_rows).tolist()
    return cs.read(frame, source="hospital", states={"s": list("abc")})


@given(cuts=st.lists(st.integers(0, 60), max_size=6), size=st.integers(1, 70))
def test_the_sample_does_not_depend_on_the_partition(cuts, size):
    table = _numbered(60)
    ends = [0, *sorted(cuts), 60]
    parts = [table.take(slice(a, b)) for a, b in pairwise(ends)]
    whole = Batches(table.schema, [table], sample=size).scout()
    assert whole.n_rows == min(size, 60)
    assert_same(Batches(table.schema, parts, sample=size).scout(), whole)


def test_every_row_is_sampled_about_as_often():
    table = cs.read({"x": np.arange(100_000) + 0.5})
    chosen = Batches(table.schema, [table], sample=10_000).scout()["x"]
    per_tenth = np.histogram(chosen, bins=10, range=(0, 100_000))[0]
    assert len(np.unique(chosen)) == 10_000
    assert np.abs(per_tenth - 1000).max() < 150  # five standard deviations


def test_no_rows_give_an_empty_sample():
    table = _numbered(3)
    assert Batches(table.schema, []).scout().n_rows == 0


def test_a_sample_of_no_rows_is_refused():
    with pytest.raises(cs.ConsilienceError, match="sample must be a whole number of at least 1"):
        Batches(_numbered(3).schema, [], sample=0)
