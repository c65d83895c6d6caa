from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import DataError, InputError, MemoryLimitError
from consilience.statistics.engines import Batches, Memory, centered
from consilience.statistics.request import MomentsBySets


@st.composite
def tables(draw: st.DrawFn) -> cs.Table:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n_rows = draw(st.integers(1, 60))
    values = rng.normal(draw(st.sampled_from([0.0, 1e8])), 1.0, (n_rows, 2))
    values[rng.random(values.shape) < 0.1] = np.nan
    weights = rng.integers(0, 3, n_rows) if draw(st.booleans()) else None
    return cs.Table(
        cs.Schema(
            {"x": cs.Variable("x"), "y": cs.Variable("y"), "g": cs.Variable("g", ("0", "1"))},
            cs.Variable("site", ("s", "t")),
        ),
        {"x": values[:, 0], "y": values[:, 1], "g": rng.integers(-1, 2, n_rows).astype(np.int8)},
        rng.integers(0, 2, n_rows).astype(np.int8),
        weights,
    )


@given(table=tables(), by_source=st.booleans(), by=st.sampled_from([(), ("g",)]))
def test_moments_equal_those_of_numpy_group_by_group(table, by_source, by):
    got = cs.moments(table, ["x", "y"], by=by, by_source=by_source)
    values = np.stack([table.columns["x"], table.columns["y"]], axis=1)
    weights = np.ones(table.n_rows, int) if table.weights is None else table.weights
    for f in range(2 if by_source else 1):
        for j in range(2 if by else 1):
            mask = ~np.isnan(values).any(axis=1)
            mask &= (table.source_codes == f) | (not by_source)
            mask &= (table.columns["g"] == j) | (not by)
            rows = np.repeat(values[mask], weights[mask], axis=0)
            assert got.weight[f, j] == len(rows)
            if len(rows):
                np.testing.assert_allclose(
                    got.mean[f, j], rows.mean(axis=0), rtol=1e-14, atol=1e-13
                )
                expected = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
                # Values near 1e8 carry an error of 1e-8 each.
                np.testing.assert_allclose(got.scatter[f, j], expected, rtol=1e-12, atol=1e-5)


@given(table=tables(), cut=st.integers(0, 60))
def test_split_and_merge_is_the_whole(table, cut):
    parts = [table.take(slice(0, cut)), table.take(slice(cut, None))]
    whole = cs.moments(table, ["x", "y"], by=["g"], by_source=True)
    merged = cs.moments(Batches(table.schema, parts), ["x", "y"], by=["g"], by_source=True)
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(merged.scatter, whole.scatter, rtol=1e-10, atol=1e-6)
    np.testing.assert_array_equal(merged.n_rows, whole.n_rows)


@given(table=tables())
def test_pooled_moments_are_those_without_sources(table):
    kept = cs.moments(table, ["x", "y"], by_source=True).pooled()
    direct = cs.moments(table, ["x", "y"])
    np.testing.assert_allclose(kept.scatter, direct.scatter, rtol=1e-10, atol=1e-6)
    np.testing.assert_allclose(kept.n_incomplete, direct.n_incomplete)


def test_large_means_keep_the_digits_of_the_variance():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 200_000)
    shifted = cs.read({"x": x + 1e8}, continuous=["x"])
    plain = cs.read({"x": x}, continuous=["x"])
    variances = [cs.moments(t, ["x"]).covariance[0, 0, 0, 0] for t in (shifted, plain)]
    assert variances[0] == pytest.approx(variances[1], rel=1e-7)


def test_the_answer_has_the_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(centered, "ROWS_PER_BLOCK", 100)
    table = cs.read({"x": np.random.default_rng(0).normal(size=1234)}, continuous=["x"])
    answers = [cs.moments(Memory(table, threads=n), ["x"]).scatter for n in (1, 2, 3)]
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("few", [0, 16], ids=["sorted", "row by row"])
def test_moments_by_several_sets_have_the_bits_of_each_set_alone(monkeypatch, few):
    monkeypatch.setattr(centered, "ROWS_PER_BLOCK", 100)
    monkeypatch.setattr(centered, "ROWS_PER_GROUP", 20)
    monkeypatch.setattr(centered, "FEW", few)
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=500), "y": rng.normal(size=500)}
    states = {name: rng.integers(0, n, 500).astype(str) for name, n in (("a", 2), ("b", 3))}
    engine = Memory(cs.read(columns | states, discrete=["a", "b"]))
    sets = ((), ("a",), ("b",), ("a", "b"))
    together = engine.gather(MomentsBySets(("x", "y"), sets))
    for by, one in zip(sets, together, strict=True):
        alone = cs.moments(engine, ["x", "y"], by=by)
        assert one.given == alone.given
        np.testing.assert_array_equal(one.scatter, alone.scatter)


def test_moments_of_a_discrete_variable_are_refused():
    table = cs.read({"g": ["a", "b"], "x": [1.5, 2.5]})
    with pytest.raises(InputError, match="'g' is discrete"):
        cs.moments(table, ["g"])
    with pytest.raises(InputError, match="by 'x': it is continuous"):
        cs.moments(table, ["x"], by=["x"])


@pytest.mark.parametrize("wrong", [{"names": "xy"}, {"names": ["x"], "by": "ab"}], ids=str)
def test_one_text_is_no_list_of_names(wrong):
    columns = {"x": [1.5, 2.5], "y": [0.5, 1.5], "a": ["0", "1"], "b": ["0", "1"]}
    [name] = [name for name, value in wrong.items() if isinstance(value, str)]
    with pytest.raises(InputError, match=f"moments: {name} must be a list of names, got the text"):
        cs.moments(cs.read(columns, discrete=["a", "b"]), **wrong)


def test_moments_beyond_the_limit_are_refused():
    table = cs.read({"x": [1.5, 2.5]})
    with pytest.raises(MemoryLimitError, match="moments of 1 variables"):
        cs.moments(table, ["x"], memory_limit=8)


def test_moments_of_different_variables_do_not_merge():
    table = cs.read({"x": [1.5, 2.5], "y": [1.5, 2.5]})
    with pytest.raises(DataError, match="cannot be merged"):
        cs.moments(table, ["x"]).merge(cs.moments(table, ["y"]))
