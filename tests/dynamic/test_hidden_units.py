"""Hidden continuous nodes whatever the unit and the zero of what shows them."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError

dynamic = cs.dynamic
GRAPH = cs.DAG([("level(t-1)", "level"), ("level", "flow")])
WALK = dynamic.Known(intercept=0.0, coefficients={"level(t-1)": 1.0})
SHOWS = dynamic.Known(intercept=0.0, coefficients={"level": 1.0})


def flows(n=60):
    rng = np.random.default_rng(0)
    return 10 + np.cumsum(rng.normal(size=n)) + 2 * rng.normal(size=n)


def fitted(flow, initial=None):
    panel = dynamic.read_panel({"flow": flow}, continuous=["flow"])
    net = dynamic.fit(
        GRAPH,
        panel,
        cs.MLE(unbiased=False),
        hidden={"level": float},
        known={"level": WALK, "flow": SHOWS},
        initial=initial,
    )
    return net, float(net.log_likelihood(panel)[0])


@pytest.mark.parametrize("unit", [1e-9, 1e6])
def test_the_unit_of_a_column_does_not_matter(unit):
    net, log = fitted(flows(), dynamic.Diffuse(1e6))
    other, log_other = fitted(flows() * unit, dynamic.Diffuse(1e6 * unit**2))
    assert log_other + 60 * np.log(unit) == pytest.approx(log, abs=1e-6)
    assert float(other["level"].sd) / unit == pytest.approx(float(net["level"].sd), rel=1e-5)
    assert float(other["flow"].sd) / unit == pytest.approx(float(net["flow"].sd), rel=1e-5)


def test_columns_of_very_different_units_have_levels_of_their_own():
    graph = cs.DAG([("a(t-1)", "a"), ("a", "x"), ("b(t-1)", "b"), ("b", "y")])
    known = {
        "a": dynamic.Known(intercept=0.0, coefficients={"a(t-1)": 1.0}),
        "x": dynamic.Known(intercept=0.0, coefficients={"a": 1.0}),
        "b": dynamic.Known(intercept=0.0, coefficients={"b(t-1)": 1.0}),
        "y": dynamic.Known(intercept=0.0, coefficients={"b": 1.0}),
    }
    panel = dynamic.read_panel({"x": flows(), "y": 1e9 * flows()}, continuous=["x", "y"])
    net = dynamic.fit(
        graph,
        panel,
        cs.MLE(unbiased=False),
        hidden={"a": float, "b": float},
        known=known,
        initial=dynamic.Diffuse(1e24),
    )
    alone, _ = fitted(flows(), dynamic.Diffuse(1e24))
    assert float(net["a"].sd) == pytest.approx(float(alone["level"].sd), rel=1e-3)
    assert float(net["b"].sd) == pytest.approx(1e9 * float(alone["level"].sd), rel=1e-3)


def test_a_level_far_from_zero_costs_no_digits():
    near, _ = fitted(flows(), dynamic.Diffuse(1e20))
    far, _ = fitted(flows() + 1e8, dynamic.Diffuse(1e20))
    assert float(far["level"].sd) == pytest.approx(float(near["level"].sd), rel=1e-4)
    assert float(far["flow"].sd) == pytest.approx(float(near["flow"].sd), rel=1e-4)


def test_a_first_law_that_is_not_diffuse_is_said():
    net, _ = fitted(flows() + 1e6)
    assert any("'level' has the sd 1e+03" in note for note in net.record.notes)
    fine, _ = fitted(flows())
    assert not any("not diffuse" in note for note in fine.record.notes)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_constant_column_is_refused_by_name(value):
    with pytest.raises(DataError, match="constant"):
        fitted(np.full(20, value))
