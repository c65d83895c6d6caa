"""Regressions that EM climbs with in place of hierarchical ones: their step and their objective."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import consilience as cs
from consilience.parameters.drawn_together import DrawnTogether
from consilience.parameters.regression import log_likelihood_of


def moments_of(seed, n_rows=40, n_sources=3):
    rng = np.random.default_rng(seed)
    source, g = np.arange(n_rows) % n_sources, rng.integers(0, 2, n_rows)
    g[source == 0] = 0  # a source without rows of one joint state
    x = rng.normal(50, 4, n_rows)
    y = 2.0 * g + (1 + 0.3 * source) * x + rng.normal(0, 1, n_rows)
    rows = {
        "source": [f"f{i}" for i in source],
        "g": [f"g{i}" for i in g],
        "x": x,
        "y": y,
    }
    table = cs.read(rows, source="source", states={"g": ["g0", "g1", "g2"]})
    return cs.moments(table, ["x", "y"], by=["g"], by_source=True)


def objective(drawn, local, rows):
    n = rows.source.n_states
    known = cs.LinearGaussian(
        local.child,
        (rows.source, *local.given[1:]),
        local.intercept[:n],
        local.coefficients[:n],
        local.sd[:n],
    )
    return log_likelihood_of(known, rows) + drawn.log_prior({"y": local})


@given(seed=st.integers(0, 10**6))
def test_no_step_aside_is_higher_than_the_one_that_is_taken(seed):
    rows = moments_of(seed)
    drawn = DrawnTogether.of([moments_of(seed + 1)])
    local, rng = drawn.regress([rows])[0], np.random.default_rng(seed)
    best = objective(drawn, local, rows)
    for size in (1e-3, 1e-1):
        aside = cs.LinearGaussian(
            local.child,
            local.given,
            local.intercept + size * rng.normal(size=local.intercept.shape),
            local.coefficients * (1 + size * rng.normal(size=local.coefficients.shape)),
            local.sd * np.exp(size * rng.normal(size=local.sd.shape[1:])),
        )
        assert objective(drawn, aside, rows) <= best + 1e-9 * abs(best)
