"""Counts that are kept, in memory and on disk."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.statistics.engines import Batches
from consilience.statistics.toggles import ToggleRequest


def _rows(seed: int = 0) -> Batches:
    rng = np.random.default_rng(seed)
    frame = {name: rng.choice(list("abc"), 60).tolist() for name in "wxyz"}
    frame["place"] = rng.choice(["u", "v"], 60).tolist()
    table = cs.read(frame, source="place", states={name: list("abc") for name in "wxyz"})
    return Batches(table.schema, [table.take(slice(0, 20)), table.take(slice(20, 60))])


FAMILIES = [cs.Family("x", ("y", "z")), cs.Family("w"), cs.Family("x", ("z", "y"))]


@pytest.mark.parametrize("by_source", [False, True])
def test_counts_are_asked_for_once_and_are_the_same_on_disk(tmp_path, by_source):
    rows = _rows()
    plain = cs.count(rows, FAMILIES, by_source=by_source)
    for n_passes in (2, 1):  # the fingerprint takes one
        cached = cs.engines.Cached(rows, tmp_path)
        for _ in range(2):
            found = cs.count(cached, FAMILIES, by_source=by_source)
            for one, other in zip(found, plain, strict=True):
                assert one.family == other.family
                np.testing.assert_array_equal(one.table, other.table)
                np.testing.assert_array_equal(one.n_rows, other.n_rows)
        assert cached.n_passes == n_passes


def test_neighbors_of_a_family_are_kept_like_families():
    cached = cs.engines.Cached(_rows())
    request = ToggleRequest(cs.Family("x", ("y",)), ("w", "z"))
    one, two = cached.gather(request), cached.gather(request)
    plain = list(_rows().gather(request))
    for found in (one, two):
        assert [a.table.tolist() for a in found] == [a.table.tolist() for a in plain]
    cs.count(cached, [cs.Family("x"), cs.Family("x", ("y", "z"))])
    assert cached.n_passes == 1


def test_other_rows_are_not_taken_for_these(tmp_path):
    cs.count(cs.engines.Cached(_rows(0), tmp_path), FAMILIES)
    other = cs.engines.Cached(_rows(1), tmp_path)
    found, plain = cs.count(other, FAMILIES), cs.count(_rows(1), FAMILIES)
    assert all((a.table == b.table).all() for a, b in zip(found, plain, strict=True))


def test_a_fingerprint_does_not_depend_on_the_partition(tmp_path):
    rows = _rows()
    cs.count(cs.engines.Cached(rows, tmp_path), FAMILIES)
    parts = [part.take(slice(a, a + 7)) for part in rows.parts for a in range(0, 40, 7)]
    again = cs.engines.Cached(Batches(rows.schema, parts), tmp_path)
    cs.count(again, FAMILIES)
    assert again.n_passes == 1


def test_a_search_on_kept_counts_has_the_bits_of_the_plain_one(tmp_path):
    plain = cs.search(_rows(), search=cs.GES())
    first = cs.search(cs.engines.Cached(_rows(), tmp_path), search=cs.GES())
    again = cs.engines.Cached(_rows(), tmp_path)
    second = cs.search(again, search=cs.GES())
    assert plain.score == first.score == second.score
    assert plain.dag == first.dag == second.dag
    assert again.n_passes <= 2
