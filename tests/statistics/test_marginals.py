from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import consilience as cs
from consilience.statistics import marginals
from consilience.statistics.marginals import Marginals


@st.composite
def tables(draw):
    """A few rows of up to five variables, with or without sources and weights."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    n_rows = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    variables = [cs.Variable(f"x{k}", tuple(map(str, range(r)))) for k, r in enumerate(sizes)]
    columns = {v.name: rng.integers(0, v.n_states, n_rows).astype(np.int8) for v in variables}
    source = cs.Variable("f", ("u", "v", "w")) if draw(st.booleans()) else None
    codes = None if source is None else rng.integers(0, 3, n_rows).astype(np.int8)
    weights = rng.integers(0, 5, n_rows) if draw(st.booleans()) else None
    schema = cs.Schema({v.name: v for v in variables}, source)
    return cs.Table(schema, columns, source_codes=codes, weights=weights)


@given(table=tables(), by_source=st.booleans(), child=st.integers(0, 4))
def test_sums_of_the_joint_table_are_the_counts_of_every_subset(table, by_source, child):
    names = list(table.variables)
    target = names[child % len(names)]
    candidates = [name for name in names if name != target]
    (joint,) = cs.count(table, cs.Family(target, tuple(candidates)), by_source=by_source)
    sets = range(1 << len(candidates))
    found = [one for batch in Marginals(joint).batches(list(sets)) for one in batch]
    assert len(found) == len(sets)
    for mask, counts in zip(sets, found, strict=True):
        parents = tuple(candidates[v] for v in reversed(range(len(candidates))) if mask >> v & 1)
        (wanted,) = cs.count(table, cs.Family(target, parents), by_source=by_source)
        assert counts.family == wanted.family
        assert counts.n_parent_states == wanted.n_parent_states
        np.testing.assert_array_equal(counts.to_dense().table, wanted.to_dense().table)
        np.testing.assert_array_equal(counts.n_rows, wanted.n_rows)


def joint_of_many(n_variables=9, n_rows=200):
    rng = np.random.default_rng(1)
    frame = {f"x{k}": rng.integers(0, 2, n_rows).astype(str).tolist() for k in range(n_variables)}
    table = cs.read(frame)
    names = list(table.variables)
    (joint,) = cs.count(table, cs.Family(names[-1], tuple(names[:-1])))
    return joint


def flat(joint, sets):
    return [one.table.ravel().tolist() for b in Marginals(joint).batches(sets) for one in b]


def test_any_increasing_sets_may_be_asked_for():
    joint = joint_of_many()
    everything = flat(joint, range(256))
    chosen = np.flatnonzero(np.random.default_rng(2).random(256) < 0.2)
    assert flat(joint, chosen) == [everything[k] for k in chosen]


def test_small_batches_give_the_same_tables(monkeypatch):
    joint = joint_of_many()
    everything = flat(joint, range(256))
    monkeypatch.setattr(marginals, "CELLS_PER_BATCH", 1)
    monkeypatch.setattr(marginals, "FAMILIES_PER_BATCH", 50)
    assert flat(joint, range(256)) == everything


def test_states_that_were_not_seen_are_left_out_and_named():
    table = cs.read({"a": list("0012"), "b": list("0101"), "x": list("0011")})
    (joint,) = cs.count(table, cs.Family("x", ("a", "b")))
    (batch,) = Marginals(joint).batches([0b01, 0b11])
    assert batch.seen[0] is None
    assert batch.seen[1].tolist() == [[0, 0], [0, 1], [1, 0], [1, 2]]  # b first, then a
    assert batch.seen[0:2][0] is None
    assert batch.n_parent_states.tolist() == [3.0, 6.0]
