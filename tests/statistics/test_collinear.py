"""Columns that are nearly functions of each other, judged by exact fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from exact_regression import exact_fit, relative_error
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import DataError, PrecisionError
from consilience.statistics.digits import loses_digits
from consilience.statistics.engines import Batches, Memory
from consilience.statistics.many_regressions import RegressionBatch

NEARNESS = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]
FAMILIES = {"y": ["x"], "x": ["y"], "z": ["x", "y"]}

nearness = pytest.mark.parametrize("e", NEARNESS)
family = pytest.mark.parametrize("child", FAMILIES)


def columns_of(e, n=200, seed=0):
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(1.0, 1.0, n), rng.normal(size=n)
    y = x + e * noise
    return {"x": x, "y": y, "z": x - 2 * y + 3 * noise + rng.normal(size=n)}


def fit_of(columns, child, weights=None, mask=slice(None)):
    names = [*FAMILIES[child], child]
    kept = None if weights is None else weights[mask]
    return exact_fit([columns[name][mask] for name in names], kept)


def graph(child):
    return cs.DAG([(parent, child) for parent in FAMILIES[child]])


def read(columns, **options):
    return cs.read(columns, continuous=["x", "y", "z"], **options)


@family
@nearness
def test_the_log_likelihood_of_a_family_is_that_of_exact_arithmetic(e, child):
    columns = columns_of(e)
    found = cs.node_scores(graph(child), read(columns), cs.scores.LogLikelihood())[child]
    assert relative_error(found, fit_of(columns, child).log_likelihood) < 1e-12


@family
@nearness
def test_coefficients_are_those_of_exact_arithmetic(e, child):
    columns = columns_of(e)
    expected = fit_of(columns, child)
    local = cs.fit(graph(child), read(columns), gaussian=cs.MLE())[child]
    for found, slope in zip(local.coefficients, expected.slopes, strict=True):
        assert relative_error(found, slope) < 1e-14
    # The intercept is exact for the slopes as they are, rounded.
    size = 1e-15 * max(1.0, *map(abs, local.coefficients))
    assert float(local.intercept) == pytest.approx(float(expected.intercept), abs=10 * size)
    variance = float(expected.left / (expected.weight - 1 - len(expected.slopes)))
    assert float(local.sd) == pytest.approx(math.sqrt(variance), rel=1e-12)


@family
@nearness
def test_the_fitted_network_has_the_log_likelihood_of_exact_arithmetic(e, child):
    columns = columns_of(e)
    alone = [exact_fit([columns[parent]]).log_likelihood for parent in FAMILIES[child]]
    expected = fit_of(columns, child).log_likelihood + sum(alone, Decimal(0))
    table = read(columns)
    net = cs.fit(graph(child), table, gaussian=cs.MLE())
    assert relative_error(math.fsum(net.log_likelihood(table)), expected) < 1e-8


@nearness
def test_a_search_judges_as_exact_arithmetic_does(e):
    columns = columns_of(e)
    found = cs.search(read(columns), score=cs.BIC(), search=cs.Exact())
    price = Decimal(math.log(200) / 2)
    expected = sum(
        exact_fit([columns[name] for name in (*found.dag.parents(node), node)]).log_likelihood
        - price * (2 + len(found.dag.parents(node)))
        for node in found.dag.nodes
    )
    assert relative_error(found.score, expected) < 1e-12
    assert len(found.dag.arcs) == 3


@family
@pytest.mark.parametrize("kind", ["plain", "whole", "fractional"])
def test_weights_and_batches_change_nothing(child, kind):
    columns = columns_of(1e-7)
    rng = np.random.default_rng(1)
    weights = {"plain": None, "whole": rng.integers(1, 4, 200), "fractional": rng.random(200)}[kind]
    table = read(columns if weights is None else columns | {"w": weights}, **_weight(weights))
    parts = Batches(table.schema, [table.take(slice(0, 70)), table.take(slice(70, 200))])
    expected = fit_of(columns, child, weights).log_likelihood
    for rows in (table, parts):
        found = cs.node_scores(graph(child), rows, cs.scores.LogLikelihood())[child]
        assert relative_error(found, expected) < 1e-12


def _weight(weights):
    return {} if weights is None else {"weight": "w"}


@family
def test_each_state_and_each_source_has_its_own_digits(child):
    columns, state = columns_of(1e-7), np.arange(200) % 2
    columns["y"] = np.where(state == 0, columns["y"], columns_of(1e-7, seed=9)["y"])
    expected = sum(fit_of(columns, child, mask=state == g).log_likelihood for g in (0, 1))
    named = columns | {"g": [["a", "b"][g] for g in state]}
    by_state = cs.DAG([*graph(child).arcs, ("g", child)])
    found = cs.node_scores(by_state, read(named, discrete=["g"]), cs.scores.LogLikelihood())[child]
    assert relative_error(found, expected) < 1e-12
    by_source = cs.scores.PerSource(cs.scores.LogLikelihood())
    found = cs.node_scores(graph(child), read(named, source="g"), by_source)[child]
    assert relative_error(found, expected) < 1e-12


def test_sources_that_differ_in_their_means_are_judged_within():
    columns, source = columns_of(1e-7), np.arange(200) % 2
    columns["y"] = columns["y"] + source
    named = columns | {"g": [["a", "b"][g] for g in source]}
    found = cs.search(
        read(named, source="g"), score=cs.scores.BySource(cs.BIC()), search=cs.Exact()
    )
    assert np.isfinite(found.score)
    assert {"x", "y"} in [set(arc) for arc in found.dag.arcs]


@given(
    seed=st.integers(0, 1000),
    e=st.sampled_from(NEARNESS),
    shift=st.sampled_from([0.0, 1.0, -8.0, 64.0]),
    scale=st.sampled_from([1.0, 0.25, 1024.0, -2.0]),
)
def test_units_change_nothing_but_the_units(seed, e, shift, scale):
    # Values on a grid, so that a shift and a scale by powers of two round nothing.
    columns = {k: np.round(v * 2.0**40) / 2.0**40 for k, v in columns_of(e, 40, seed).items()}
    moved = columns | {"y": scale * (columns["y"] + shift)}
    scores = [
        cs.node_scores(graph("z"), read(one), cs.scores.LogLikelihood())["z"]
        for one in (columns, moved)
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-10)


@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 60), max_size=3))
def test_fine_moments_of_parts_merge_into_those_of_the_whole(seed, cuts):
    columns = columns_of(1e-8, 60, seed) | {"g": list("ab") * 30}
    table = read(columns, discrete=["g"])
    ends = [0, *sorted(cuts), 60]
    parts = [table.take(slice(a, b)) for a, b in pairwise(ends)]
    merged, whole = (
        cs.moments(rows, ["x", "y"], by=["g"], fine=True)
        for rows in (Batches(table.schema, parts), table)
    )
    for one in (merged, whole):
        (left,) = _left(one.without_states())
        assert relative_error(left, exact_fit([columns["x"], columns["y"]]).left) < 1e-12
    np.testing.assert_allclose(_left(merged), _left(whole), rtol=1e-12)


def _left(moments):
    batch = RegressionBatch.of(moments, [cs.Family("y", ("x",))])
    return batch.residuals().left[:, 0].tolist()


def test_plain_moments_say_that_their_digits_are_lost():
    table = read(columns_of(1e-7))
    plain = cs.moments(table, ["x", "y"])
    assert loses_digits(plain)
    with pytest.raises(PrecisionError, match="'y' and 'x' are so nearly functions") as told:
        RegressionBatch.of(plain, [cs.Family("y", ("x",))]).residuals()
    assert told.value.culprits["column"] == "y"


def test_rows_of_ordinary_columns_are_read_once(monkeypatch):
    asked = []
    inside = Memory.moments
    monkeypatch.setattr(
        Memory, "moments", lambda self, one: asked.append(one.fine) or inside(self, one)
    )
    for e in (1.0, 1e-2, 1e-3):
        cs.learn(read(columns_of(e)))
    assert asked.count(True) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u: x.copy(),
        lambda x, u: 2 * x,
        lambda x, u: 0.1 * x + 0.7,
        lambda x, u: x + u,
        lambda x, u: x / 3 - 7 * u + 1000,
    ],
)
def test_a_function_of_other_columns_up_to_rounding_is_one(function):
    rng = np.random.default_rng(3)
    x, u = rng.normal(5.0, 2.0, (2, 300))
    table = cs.read({"x": x, "u": u, "y": function(x, u)})
    with pytest.raises(DataError, match=r"column 'y' is a linear function of .* in every row"):
        cs.learn(table)
    net = cs.fit(cs.DAG([("x", "y"), ("u", "y")]), table, gaussian=cs.MLE())
    assert float(net["y"].sd) == 0


@pytest.mark.parametrize("e", [1e-4, 1e-7])
def test_a_duplicate_among_near_functions_shares_its_coefficient(e):
    columns = columns_of(e) | {"copy": columns_of(e)["x"]}
    dag = cs.DAG([("x", "z"), ("copy", "z"), ("y", "z")])
    net = cs.fit(dag, read(columns), gaussian=cs.MLE())
    slope_x, slope_y = map(float, fit_of(columns, "z").slopes)
    named = dict(zip([v.name for v in net["z"].continuous], net["z"].coefficients, strict=True))
    assert named["copy"] == pytest.approx(named["x"], rel=1e-9)
    assert named["copy"] + named["x"] == pytest.approx(slope_x, rel=1e-9)
    assert named["y"] == pytest.approx(slope_y, rel=1e-9)
    assert any(note.startswith("Constant or collinear parents") for note in net.record.notes)


def test_scores_refuse_collinear_columns_that_are_too_small_or_large_for_fine_moments():
    for scale, size in ((1e-150, "small"), (1e150, "large")):
        columns = columns_of(1e-6)
        columns |= {name: columns[name] * scale for name in "xy"}
        with pytest.raises(DataError, match=f"the values of '[xy]' are too {size}"):
            cs.node_scores(graph("z"), read(columns), cs.scores.LogLikelihood())


def test_a_small_column_of_its_own_does_not_disturb_collinear_ones():
    columns = columns_of(1e-6)
    small = np.random.default_rng(1).normal(size=200) * 1e-150
    table = cs.read(columns | {"w": small})
    dag = cs.DAG([("x", "z"), ("y", "z")], nodes=["w"])
    found = cs.node_scores(dag, table, cs.scores.LogLikelihood())["z"]
    assert relative_error(found, fit_of(columns, "z").log_likelihood) < 1e-12
