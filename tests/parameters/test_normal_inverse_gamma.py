"""Conjugate regressions: against brute-force posteriors, and their laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import consilience as cs
from consilience.distributions.normal_inverse_gamma import NormalInverseGammaPosterior
from consilience.errors import DataError, InputError

DAG = cs.DAG([("x", "y")])


def rows_of(n_rows=12, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 2, n_rows)
    return {"x": x, "y": 1 + 0.5 * x + rng.normal(0, 1, n_rows)}


def posterior_by_grid(rows, precision, degrees):
    """Means of slope, its square and of the variance, by summing over a grid of all parameters."""
    x, y = rows["x"], rows["y"]
    n = len(x)
    z = (x - x.mean()) / x.std()
    design = np.stack([np.ones(n), z], axis=1)
    found, residual, *_ = np.linalg.lstsq(design, y, rcond=None)
    first = residual[0] / (n - 2)
    log_variance = np.linspace(np.log(first) - 3.5, np.log(first) + 4, 150)
    variance = np.exp(log_variance)
    width = 6 * np.sqrt(first)
    a = np.linspace(found[0] - width, found[0] + width, 151)
    b = np.linspace(found[1] - width, found[1] + width, 151)
    grid_a, grid_b, grid_v = np.meshgrid(a, b, variance, indexing="ij")
    squares = sum((one - grid_a - grid_b * at) ** 2 for one, at in zip(y, z, strict=True))
    told = np.trace(design.T @ design @ np.linalg.inv(design.T @ design + precision * np.eye(2)))
    log_density = (
        -n / 2 * np.log(grid_v)
        - squares / (2 * grid_v)
        - (1 - told / 2) * np.log(grid_v)
        - precision * ((grid_a - y.mean()) ** 2 + grid_b**2) / (2 * grid_v)
        + stats.invgamma.logpdf(grid_v, degrees / 2, scale=degrees / 2 * first)
        + np.log(grid_v)  # the grid is even in the logarithm of the variance
    )
    weight = np.exp(log_density - logsumexp(log_density))
    slope = grid_b / x.std()
    return (
        (weight * slope).sum(),
        (weight * slope**2).sum() - (weight * slope).sum() ** 2,
        (weight * np.sqrt(grid_v)).sum(),
        (weight * grid_v).sum() - (weight * np.sqrt(grid_v)).sum() ** 2,
    )


@pytest.mark.parametrize(("precision", "degrees"), [(0.01, 1.0), (3.0, 5.0)])
def test_the_posterior_is_that_of_a_grid(precision, degrees):
    rows = rows_of()
    local = cs.fit(DAG, cs.read(rows), cs.estimators.NormalInverseGamma(precision, degrees))["y"]
    slope, of_slope, sd, of_sd = posterior_by_grid(rows, precision, degrees)
    assert local.coefficients[0] == pytest.approx(slope, rel=1e-3)
    variance = local.posterior.variance()
    assert variance[1] == pytest.approx(of_slope, rel=1e-2)
    assert variance[2] == pytest.approx(of_sd, rel=1e-2)
    rng = np.random.default_rng(0)
    drawn = np.array([local.posterior.draw(rng) for _ in range(4000)])
    assert drawn[:, 2].mean() == pytest.approx(sd, rel=0.02)


def test_intervals_hold_the_stated_share_of_the_draws():
    local = cs.fit(DAG, cs.read(rows_of()), cs.estimators.NormalInverseGamma())["y"]
    rng = np.random.default_rng(1)
    drawn = np.array([local.posterior.draw(rng) for _ in range(8000)])
    for level in (0.5, 0.9):
        low, high = local.posterior.interval(level)
        share = ((drawn > low) & (drawn < high)).mean(axis=0)
        np.testing.assert_allclose(share, level, atol=0.02)
        np.testing.assert_allclose(drawn.var(axis=0), local.posterior.variance(), rtol=0.15)


def test_intervals_cover_what_they_say_with_few_rows():
    rng = np.random.default_rng(3)
    names = [f"x{i}" for i in range(4)]
    dag = cs.DAG([(name, "y") for name in names])
    truth = np.array([1.0, 0.5, -1.0, 2.0, 0.0, 1.5])
    hits = np.zeros(6)
    for _ in range(300):
        x = rng.normal(size=(10, 4))
        y = truth[0] + x @ truth[1:5] + rng.normal(0, truth[5], 10)
        rows = cs.read({**dict(zip(names, x.T, strict=True)), "y": y}, continuous=[*names, "y"])
        low, high = cs.estimators.parameter_intervals(
            cs.fit(dag, rows, cs.estimators.NormalInverseGamma()), "y"
        )
        hits += (low < truth) & (truth < high)
    share = hits / 300
    assert share.min() > 0.89  # 95 % less three standard errors, and a little for the prior
    assert share.max() < 0.99


def test_a_vanishing_prior_gives_least_squares():
    table = cs.read(rows_of())
    one = cs.fit(DAG, table, cs.estimators.NormalInverseGamma(1e-12, 1e-12))["y"]
    two = cs.fit(DAG, table, cs.MLE())["y"]
    np.testing.assert_allclose(one.parameters, two.parameters, rtol=1e-8)


def test_a_large_precision_shrinks_slopes_to_zero_and_keeps_the_mean():
    rows = rows_of()
    local = cs.fit(DAG, cs.read(rows), cs.estimators.NormalInverseGamma(precision=1e9))["y"]
    assert abs(local.coefficients[0]) < 1e-6
    assert local.intercept == pytest.approx(rows["y"].mean())


def test_units_of_the_variables_do_not_matter():
    rows = rows_of()
    changed = {"x": 1e3 * rows["x"] - 7e5, "y": 0.01 * rows["y"] + 40}
    one = cs.fit(DAG, cs.read(rows), cs.estimators.NormalInverseGamma(2.0, 3.0))["y"]
    two = cs.fit(DAG, cs.read(changed), cs.estimators.NormalInverseGamma(2.0, 3.0))["y"]
    np.testing.assert_allclose(two.coefficients, one.coefficients * 1e-5, rtol=1e-9)
    np.testing.assert_allclose(two.sd, one.sd * 0.01, rtol=1e-9)


def test_a_joint_state_without_rows_has_the_prior():
    rows = rows_of() | {"g": np.array(["a"] * 12)}
    table = cs.read(rows, states={"g": ["a", "b"]})
    net = cs.fit(cs.DAG.parse("[g][x][y|g:x]"), table, gaussian=cs.estimators.NormalInverseGamma())
    assert net["y"].intercept[1] == pytest.approx(rows["y"].mean())
    assert net["y"].coefficients[1, 0] == 0
    assert np.isinf(net["y"].posterior.variance()[1]).all()
    assert all(np.isfinite(end).all() for end in cs.estimators.parameter_intervals(net, "y"))


def test_a_constant_child_is_certain():
    net = cs.fit(
        cs.DAG(nodes=["y"]), cs.read({"y": [1.5, 1.5]}), gaussian=cs.estimators.NormalInverseGamma()
    )
    low, high = cs.estimators.parameter_intervals(net, "y")
    np.testing.assert_array_equal(low, [1.5, 0.0])
    np.testing.assert_array_equal(high, [1.5, 0.0])
    assert not net["y"].posterior.variance().any()


def test_the_variance_of_a_sd_is_continuous_where_its_formula_changes():
    nothing = np.empty(0)

    def variance(shape):
        one = NormalInverseGammaPosterior(
            np.array([0.0]), np.eye(1), np.array(shape), np.array(shape), nothing, nothing
        )
        return one.variance()[1]

    assert variance(9_999.9) == pytest.approx(variance(10_000.1), rel=1e-4)


def test_one_row_is_too_few():
    with pytest.raises(DataError, match="family of 'y' has 1 complete rows"):
        cs.fit(
            cs.DAG(nodes=["y"]), cs.read({"y": [1.5]}), gaussian=cs.estimators.NormalInverseGamma()
        )


@pytest.mark.parametrize("name", ["precision", "degrees"])
def test_sizes_of_the_prior_must_be_positive(name):
    with pytest.raises(InputError, match=f"NormalInverseGamma: {name} must be positive, got 0"):
        cs.estimators.NormalInverseGamma(**{name: 0})


def test_a_constant_child_is_told_in_the_record():
    rows = cs.read({"x": [1.5, 1.5, 1.5], "y": [0.5, 1.5, 2.7]}, continuous=["x", "y"])
    net = cs.fit(cs.DAG(nodes=["x", "y"]), rows, cs.estimators.NormalInverseGamma())
    assert net["x"].sd == 0
    assert net.record.notes == ("Constant, so that the sd is zero: 'x'.",)
