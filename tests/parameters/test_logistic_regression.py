"""Logistic nodes: against general optimizers, sampled posteriors, and separated states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

import consilience as cs
from consilience.errors import DataError, InputError
from consilience.parameters.logistic import logistic_fits
from consilience.statistics.engines import Batches, Memory

FAMILY = cs.Family("y", ("g", "x", "z"))
DAG = cs.DAG.parse("[g][x][z][y|g:x:z]")
STATES = {"g": ["a", "b"], "y": ["u", "v", "w"]}


def rows_of(n_rows=300, seed=0, n_sources=4, spread=0.5):
    rng = np.random.default_rng(seed)
    source, g = rng.integers(0, n_sources, n_rows), rng.integers(0, 2, n_rows)
    x, z = rng.normal(100, 5, n_rows), rng.normal(0, 1, n_rows)
    slope = 0.2 + spread * 0.2 * rng.normal(0, 1, n_sources)
    linear = np.stack([np.zeros(n_rows), slope[source] * (x - 100) + g, z - 0.5], axis=1)
    y = (linear + rng.gumbel(0, 1, linear.shape)).argmax(axis=1)
    return {
        "source": np.array([f"f{i}" for i in range(n_sources)])[source],
        "g": np.array(["a", "b"])[g],
        "x": x,
        "z": z,
        "y": np.array(["u", "v", "w"])[y],
    }


def read(rows, *, states=STATES, source=None, **options):
    kept = {name: column for name, column in rows.items() if source or name != "source"}
    return cs.read(kept, states=states, source=source, **options)


def log_likelihood(b, rows, is_used):
    x = np.stack([np.ones(is_used.sum()), rows["x"][is_used] - 100, rows["z"][is_used]], axis=1)
    y = np.searchsorted(["u", "v", "w"], rows["y"][is_used])
    linear = np.concatenate([np.zeros((len(x), 1)), x @ b.reshape(2, 3).T], axis=1)
    return (linear[np.arange(len(y)), y] - logsumexp(linear, axis=1)).sum()


def test_without_ridge_the_fit_maximizes_the_likelihood():
    rows = rows_of()
    [fit] = logistic_fits(Memory(read(rows)), [FAMILY], ridge=0.0)
    total = 0.0
    for j, state in enumerate("ab"):
        is_used = rows["g"] == state
        best = minimize(
            lambda b, used=is_used: -log_likelihood(b, rows, used), np.zeros(6), tol=1e-9
        )
        expected = best.x.reshape(2, 3)
        np.testing.assert_allclose(
            fit.distribution.coefficients[j, 1:], expected[:, 1:], rtol=1e-4, atol=1e-5
        )
        at_100 = fit.distribution.intercept[j, 1:] + 100 * fit.distribution.coefficients[j, 1:, 0]
        np.testing.assert_allclose(at_100, expected[:, 0], rtol=1e-4, atol=1e-5)
        total -= best.fun
    assert fit.log_likelihood == pytest.approx(total, rel=1e-9)
    assert (fit.distribution.intercept[:, 0] == 0).all()
    assert fit.n_rows == 300


def test_the_ridge_is_a_symmetric_prior_of_standardized_coefficients():
    rows, ridge = rows_of(), 3.0
    table = read(rows)
    local = cs.fit(cs.DAG([("x", "y")]), table, logistic=cs.estimators.LogisticRegression(ridge))[
        "y"
    ]
    x = (rows["x"] - rows["x"].mean()) / rows["x"].std()
    y = np.searchsorted(["u", "v", "w"], rows["y"])
    first = np.log(np.bincount(y) + 0.5)

    def objective(b):
        linear = b[:3] + np.outer(x, b[3:])
        fit = (linear[np.arange(300), y] - logsumexp(linear, axis=1)).sum()
        return -fit + ridge / 2 * (((b[:3] - first) ** 2).sum() + (b[3:] ** 2).sum())

    best = minimize(objective, np.zeros(6), tol=1e-9).x
    np.testing.assert_allclose(
        local.coefficients[:, 0], (best[3:] - best[3]) / rows["x"].std(), rtol=1e-4, atol=1e-6
    )


def test_the_order_of_the_states_changes_no_probability():
    rows = rows_of()
    turned = {"g": ["b", "a"], "y": ["w", "u", "v"]}
    one = cs.fit(DAG, read(rows))["y"]
    two = cs.fit(DAG, read(rows, states=turned))["y"]
    at = np.array([[97.0, 0.3], [104.0, -1.0]])
    p = np.exp(one.log_probabilities(np.array([0, 1]), at))
    q = np.exp(two.log_probabilities(np.array([1, 0]), at))
    np.testing.assert_allclose(p, q[:, [1, 2, 0]], rtol=1e-7)


def test_a_row_of_weight_two_is_two_rows():
    rows = rows_of()
    twice = {name: np.concatenate([column, column[:90]]) for name, column in rows.items()}
    weighted = rows | {"n": np.array([2] * 90 + [1] * 210)}
    one = cs.fit(DAG, read(twice))["y"]
    two = cs.fit(DAG, read(weighted, weight="n"))["y"]
    np.testing.assert_allclose(one.parameters, two.parameters, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "choice", [cs.estimators.LogisticRegression(), cs.estimators.HierarchicalLogistic()], ids=repr
)
def test_batches_and_other_orders_of_rows_give_the_same_fit(choice):
    table = read(rows_of(), source="source")
    parts = [table.take(slice(200, 300)), table.take(slice(0, 0)), table.take(slice(0, 200))]
    one = cs.fit(DAG, table, logistic=choice, gaussian=cs.estimators.HierarchicalGaussian())["y"]
    batches = Batches(table.schema, parts)
    two = cs.fit(DAG, batches, logistic=choice, gaussian=cs.estimators.HierarchicalGaussian())["y"]
    np.testing.assert_allclose(one.parameters, two.parameters, rtol=1e-5, atol=1e-6)


def test_families_are_fitted_together_as_alone():
    engine = Memory(read(rows_of()))
    families = [FAMILY, cs.Family("g", ("x",)), cs.Family("y", ("z",))]
    together = logistic_fits(engine, families)
    for family, fit in zip(families, together, strict=True):
        [alone] = logistic_fits(engine, [family])
        np.testing.assert_array_equal(fit.distribution.parameters, alone.distribution.parameters)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_separated_states_have_finite_coefficients(ridge):
    table = cs.read({"x": np.arange(20.0) + 0.5, "y": np.array(["u"] * 10 + ["v"] * 10)})
    net = cs.fit(cs.DAG([("x", "y")]), table, logistic=cs.estimators.LogisticRegression(ridge))
    assert np.isfinite(net["y"].parameters).all()
    assert net["y"].coefficients[1, 0] > 0
    assert np.isfinite(net["y"].posterior.variance()).all()
    is_noted = any("separate the states" in note and "'y' (1)" in note for note in net.record.notes)
    assert is_noted == (ridge == 0)
    assert net.record.unidentified["y"] == (ridge == 0)


def test_a_joint_state_without_rows_has_the_shares_of_all_rows():
    rows = rows_of()
    rows["g"] = np.array(["a"] * 300)
    local = cs.fit(DAG, read(rows))["y"]
    shares = np.array([(rows["y"] == state).sum() for state in "uvw"]) + 0.5
    found = np.exp(local.log_probabilities(np.array([1]), np.array([[100.0, 0.0]])))[0]
    np.testing.assert_allclose(found, shares / shares.sum(), rtol=1e-9)


@pytest.mark.parametrize("kind", ["collinear", "constant", "one state", "unseen state"])
def test_degenerate_columns_give_finite_numbers(kind):
    rows, states = rows_of(60), STATES
    if kind == "collinear":
        rows["z"] = 2 * rows["x"] - 1
    if kind == "constant":
        rows["z"] = np.full(60, 3.3)
    if kind == "one state":
        rows["y"], states = np.array(["u"] * 60), STATES | {"y": ["u"]}
    if kind == "unseen state":
        rows["y"] = np.where(rows["y"] == "w", "u", rows["y"])
    table = read(rows, states=states, source="source", continuous=["z"])
    for choice in (
        cs.estimators.LogisticRegression(0),
        cs.estimators.LogisticRegression(),
        cs.estimators.HierarchicalLogistic(),
    ):
        local = cs.fit(DAG, table, logistic=choice)["y"]
        assert np.isfinite(local.parameters).all()
        assert np.isfinite(local.posterior.interval(0.9)).all()
        assert np.isfinite(local.posterior.draw(np.random.default_rng(0))).all()


def test_a_mean_of_1e8_changes_no_slope():
    rows = rows_of()
    far = rows | {"x": rows["x"] + 1e8}
    near = rows | {"x": far["x"] - 1e8}
    one, two = (cs.fit(DAG, read(each))["y"] for each in (far, near))
    np.testing.assert_allclose(one.coefficients, two.coefficients, rtol=1e-6, atol=1e-8)


def test_the_posterior_is_close_to_an_importance_sample():
    rows = rows_of(400)
    is_used = np.ones(400, bool)
    net = cs.fit(
        cs.DAG.parse("[x][z][y|x:z]"), read(rows), logistic=cs.estimators.LogisticRegression(0)
    )
    posterior, rng = net["y"].posterior, np.random.default_rng(0)
    drawn = np.array([posterior.draw(rng) for _ in range(3000)])
    b = drawn[:, 1:].copy()
    b[..., 0] += 100 * b[..., 1]
    flat = b.reshape(3000, 6)
    center, covariance = flat.mean(axis=0), np.cov(flat.T)
    apart = flat - center
    proposal = -0.5 * np.einsum("ij,jk,ik->i", apart, np.linalg.inv(covariance), apart)
    target = np.array([log_likelihood(one, rows, is_used) for one in flat])
    weight = np.exp(target - proposal - logsumexp(target - proposal))
    mean = weight @ flat
    variance = weight @ (flat - mean) ** 2
    np.testing.assert_allclose(mean, center, atol=0.4 * np.sqrt(np.diag(covariance)).max())
    np.testing.assert_allclose(variance[1:3], np.diag(covariance)[1:3], rtol=0.25)
    np.testing.assert_allclose(drawn.var(axis=0), posterior.variance(), rtol=0.15)


def test_sources_that_do_not_differ_have_the_pooled_fit():
    rows = rows_of(800, spread=0.0, seed=3)
    table = read(rows, source="source")
    tied = cs.fit(DAG, table)["y"]
    pooled = cs.fit(DAG, table, cs.MLE())["y"]
    apart = cs.fit(DAG, table, cs.Separate(cs.MLE()))["y"]
    difference = np.abs(tied.coefficients[:-1] - pooled.coefficients).max()
    assert difference < 0.3 * np.abs(apart.coefficients - pooled.coefficients).max()
    assert tied.parents == apart.parents == ("source", "g", "x", "z")
    assert pooled.parents == ("g", "x", "z")


def test_sources_with_many_rows_keep_their_own_slopes():
    rows = rows_of(6000, spread=3.0)
    table = read(rows, source="source")
    net = cs.fit(DAG, table)
    apart = cs.fit(DAG, table, cs.Separate(cs.MLE()))["y"]
    np.testing.assert_allclose(
        net["y"].coefficients[:-1, :, 1, 0], apart.coefficients[:, :, 1, 0], atol=0.08
    )
    assert net["y"].coefficients[:-1, 0, 1, 0].std() > 0.2
    assert net.variables["source"].states[-1] == "new_source"


def test_a_new_source_has_the_common_mean_and_the_spread_of_the_others():
    local = cs.fit(DAG, read(rows_of(6000, spread=3.0), source="source"))["y"]
    variance = local.posterior.variance()
    assert variance[-1, 0, 1, 1] > 5 * variance[0, 0, 1, 1]
    rng = np.random.default_rng(0)
    drawn = np.array([local.posterior.draw(rng) for _ in range(2000)])
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.25)
    low, high = local.posterior.interval(0.8)
    share = ((drawn > low) & (drawn < high)).mean(axis=0)[..., 1:, :]
    np.testing.assert_allclose(share, 0.8, atol=0.05)


def test_a_source_without_rows_is_like_a_new_one():
    table = read(rows_of(), source="source")
    table = table.take(table.column("source") != 1)
    local = cs.fit(DAG, table)["y"]
    np.testing.assert_allclose(local.parameters[1], local.parameters[-1], rtol=1e-9, atol=1e-9)


def test_a_family_of_another_kind_is_refused():
    with pytest.raises(InputError, match="'y' given 'g' is not of this kind"):
        logistic_fits(Memory(read(rows_of())), [cs.Family("y", ("g",))])


def test_a_family_without_complete_rows_is_named():
    rows = rows_of(20) | {"x": np.full(20, np.nan)}
    with pytest.raises(DataError, match="family of 'y' given 'x' has no complete rows"):
        logistic_fits(Memory(read(rows, continuous=["x"])), [cs.Family("y", ("x",))])


@pytest.mark.parametrize(
    "choice", [cs.estimators.LogisticRegression, cs.estimators.HierarchicalLogistic]
)
def test_a_ridge_below_zero_is_refused(choice):
    with pytest.raises(InputError, match=f"{choice.__name__}: ridge must be zero or more, got -1"):
        choice(ridge=-1)
