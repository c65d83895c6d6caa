"""Log-likelihood, gradient and Hessian of logistic families: brute force and merging."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import MemoryLimitError
from consilience.statistics.engines import Batches, Memory
from consilience.statistics.logistic import LogisticPoint, LogisticRequest

FIELDS = ("log_likelihood", "weight", "gradient", "hessian", "n_rows")


def table_of(n_rows=40, seed=0, *, weights=None):
    rng = np.random.default_rng(seed)
    columns = {
        "f": np.array(["f0", "f1", "f2"])[rng.integers(0, 3, n_rows)],
        "g": np.array(["a", "b", None])[rng.choice(3, n_rows, p=[0.5, 0.4, 0.1])],
        "x": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(5, 2, n_rows)),
        "z": rng.normal(0, 1, n_rows),
        "y": np.array(["u", "v", "w"])[rng.integers(0, 3, n_rows)],
    }
    states = {"g": ["a", "b"], "y": ["u", "v", "w"]}
    options = {} if weights is None else {"weight": "n"}
    columns |= {} if weights is None else {"n": weights}
    return cs.read(columns, source="f", states=states, **options)


def point_of(n_sources, seed=1):
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(0, 0.5, (n_sources, 2, 2, 3))
    return LogisticPoint(
        "y", ("g",), ("x", "z"), coefficients, np.array([5.0, 0.1]), np.array([2.0, 0.9])
    )


def log_likelihood(table, point, coefficients, *, by_source):
    """Row by row, for each source and joint state."""
    total = np.zeros(coefficients.shape[:2])
    for i in range(table.n_rows):
        g, y = table.column("g")[i], table.column("y")[i]
        z = np.array([table.column("x")[i], table.column("z")[i]])
        if g < 0 or y < 0 or np.isnan(z).any():
            continue
        f = table.column("f")[i] if by_source else 0
        design = np.append(1.0, (z - point.center) / point.scale)
        linear = np.append(0.0, coefficients[f, g] @ design)
        weight = 1.0 if table.weights is None else table.weights[i]
        total[f, g] += weight * (linear[y] - np.log(np.exp(linear).sum()))
    return total


@pytest.mark.parametrize("by_source", [False, True])
def test_the_derivatives_are_those_of_the_likelihood(by_source):
    table, point = table_of(weights=np.arange(40) % 3 + 0.5), point_of(3 if by_source else 1)
    [found] = Memory(table).gather(LogisticRequest((point,), by_source))
    at = point.coefficients

    def likelihood(step):
        return log_likelihood(table, point, at + step, by_source=by_source)

    np.testing.assert_allclose(found.log_likelihood, likelihood(np.zeros_like(at)), rtol=1e-12)
    h, units = 1e-4, np.eye(6).reshape(6, 2, 3)
    for k, unit in enumerate(units):
        slope = (likelihood(h * unit) - likelihood(-h * unit)) / (2 * h)
        np.testing.assert_allclose(
            found.gradient.reshape(*slope.shape, 6)[..., k], slope, atol=1e-6
        )
        for m, other in enumerate(units):
            corners = [
                a * b * likelihood(h * (a * unit + b * other)) for a in (1, -1) for b in (1, -1)
            ]
            curve = -sum(corners) / (4 * h * h)
            np.testing.assert_allclose(found.hessian[..., k, m], curve, atol=1e-5)


@given(cuts=st.lists(st.integers(0, 40), max_size=4), seed=st.integers(0, 100))
def test_parts_merge_into_the_whole(cuts, seed):
    table, request = table_of(seed=seed), LogisticRequest((point_of(3), point_of(3, 2)), True)
    ends = [0, *sorted(cuts), 40]
    parts = [table.take(slice(a, b)) for a, b in pairwise(ends)]
    whole = Memory(table).gather(request)
    merged = Batches(table.schema, parts).gather(request)
    for one, two in zip(whole, merged, strict=True):
        for field in FIELDS:
            np.testing.assert_allclose(getattr(one, field), getattr(two, field), atol=1e-10)


def test_a_row_of_weight_two_is_two_rows():
    table, request = table_of(), LogisticRequest((point_of(1),))
    twice = table.take(np.concatenate([np.arange(40), np.arange(10)]))
    weighted = table_of(weights=np.array([2] * 10 + [1] * 30))
    [one], [two] = Memory(twice).gather(request), Memory(weighted).gather(request)
    for field in FIELDS:
        np.testing.assert_allclose(getattr(one, field), getattr(two, field), atol=1e-10)


def test_rows_with_a_gap_count_for_nothing_but_the_number_of_rows():
    table = table_of()
    [found] = Memory(table).gather(LogisticRequest((point_of(1),)))
    is_complete = (table.column("g") >= 0) & ~np.isnan(table.column("x"))
    assert found.weight.sum() == is_complete.sum()
    assert found.n_rows.tolist() == [40]


def test_an_answer_beyond_the_limit_is_refused():
    with pytest.raises(MemoryLimitError, match="derivatives of 1 logistic families"):
        Memory(table_of()).gather(LogisticRequest((point_of(1),), memory_limit=100))
