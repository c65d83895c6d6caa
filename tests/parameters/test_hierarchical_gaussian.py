"""Tied regressions: against dense mixed models, closed forms, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.linalg import block_diag
from scipy.stats import multivariate_t

import consilience as cs
from consilience.errors import DataError
from consilience.parameters.regression_evidence import evidence_of_pooled_regressions
from consilience.parameters.standardized import standardized
from consilience.parameters.tied import Equations, misfit, tie, tied_by
from consilience.statistics.engines import Batches

DAG = cs.DAG.parse("[g][x][y|g:x]")
SIMPLE = cs.DAG.parse("[x][y|x]")


def rows_of(n_rows=120, seed=0, n_sources=5, spread=1.0):
    rng = np.random.default_rng(seed)
    source, g = rng.integers(0, n_sources, n_rows), rng.integers(0, 2, n_rows)
    x = rng.normal(10, 2, n_rows)
    slope = 1 + spread * rng.normal(0, 1, n_sources)
    y = g + slope[source] * x + rng.normal(0, 1, n_rows)
    labels = np.array([f"f{i}" for i in range(n_sources)])
    return {"source": labels[source], "g": np.array(["a", "b"])[g], "x": x, "y": y}


def read(rows, **options):
    return cs.read(rows, source="source", states={"g": ["a", "b"]}, **options)


def fitted(rows, spread=None, **options):
    net = cs.fit(DAG, read(rows, **options), gaussian=cs.estimators.HierarchicalGaussian(spread))
    return net["y"]


class Dense:
    """The mixed model of one joint state with full matrices of all rows."""

    def __init__(self, seed, sizes=(7, 4, 1, 9)):
        rng = np.random.default_rng(seed)
        self.designs = [np.stack([np.ones(n), rng.normal(0, 1, n)], axis=1) for n in sizes]
        effects = rng.normal(0, 1, (len(sizes), 2))
        self.parts = [
            x @ b + rng.normal(0, 1, len(x)) for x, b in zip(self.designs, effects, strict=True)
        ]
        self.x, self.y = np.concatenate(self.designs), np.concatenate(self.parts)

    def equations(self):
        matrix = np.array([x.T @ x for x in self.designs])[:, None]
        vector = np.array([x.T @ y for x, y in zip(self.designs, self.parts, strict=True)])[:, None]
        constant = np.array([y @ y for y in self.parts])[:, None]
        freedom = np.array([len(self.y) - 2.0])
        none = np.zeros((1, 2, 2))
        return Equations(matrix, vector, constant, np.arange(2), none, freedom)

    def covariance(self, spread):
        blocks = [x @ np.diag(spread) @ x.T for x in self.designs]
        return np.eye(len(self.y)) + block_diag(*blocks)

    def solve(self, spread):
        """Common mean, sources' coefficients, residual and restricted deviance."""
        inverse = np.linalg.inv(self.covariance(spread))
        normal = self.x.T @ inverse @ self.x
        common = np.linalg.solve(normal, self.x.T @ inverse @ self.y)
        error = self.y - self.x @ common
        residual = error @ inverse @ error
        weighted = np.split(inverse @ error, np.cumsum([len(x) for x in self.designs])[:-1])
        means = [common + spread * (x.T @ e) for x, e in zip(self.designs, weighted, strict=True)]
        freedom = len(self.y) - 2
        determinants = np.linalg.slogdet(self.covariance(spread))[1] + np.linalg.slogdet(normal)[1]
        return common, means, residual, freedom * np.log(residual / freedom) + determinants


@given(seed=st.integers(0, 500), spread=st.tuples(st.floats(0, 5), st.floats(0, 5)))
def test_the_tied_solution_is_that_of_the_dense_mixed_model(seed, spread):
    dense, spread = Dense(seed), np.array(spread)
    common, means, residual, deviance = dense.solve(spread)
    tied = tied_by(dense.equations(), spread)
    np.testing.assert_allclose(tied.common[0], common, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(tied.mean[:, 0], means, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(tied.residual[0], residual, rtol=1e-8)
    assert tied.deviance == pytest.approx(deviance, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_the_learned_spread_has_the_least_dense_deviance(seed):
    dense = Dense(seed, sizes=(7, 4, 1, 9, 12, 5))
    spread = tie(dense.equations()).spread
    least = dense.solve(spread)[3]
    for factor in (0.5, 0.9, 1.1, 2.0):
        for k in range(2):
            other = np.maximum(spread, 1e-6)
            other[k] *= factor
            assert dense.solve(other)[3] >= least - 1e-6


@pytest.mark.parametrize("between", [0.0, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_balanced_design_has_the_closed_form_of_the_analysis_of_variance(between, seed):
    n_sources, n = 8, 12
    rng = np.random.default_rng(seed)
    y = 5 + between * rng.normal(0, 1, (n_sources, 1)) + rng.normal(0, 1, (n_sources, n))
    source = np.repeat([f"f{i}" for i in range(n_sources)], n)
    table = cs.read({"source": source, "y": y.ravel()}, source="source")
    local = cs.fit(cs.DAG(nodes=["y"]), table, gaussian=cs.estimators.HierarchicalGaussian())["y"]
    mean_square_between = n * y.mean(axis=1).var(ddof=1)
    mean_square_within = y.var(axis=1, ddof=1).mean()
    component = max(0.0, (mean_square_between - mean_square_within) / n)
    residual = mean_square_within if component else y.var(ddof=1)
    shrinkage = component / (component + residual / n)
    expected = y.mean() + shrinkage * (y.mean(axis=1) - y.mean())
    np.testing.assert_allclose(local.intercept[:-1], expected, rtol=1e-7)
    assert local.intercept[-1] == pytest.approx(y.mean(), rel=1e-9)
    np.testing.assert_allclose(local.variance[:-1], residual, rtol=1e-7)
    of_common = (component + residual / n) / n_sources
    assert local.variance[-1] == pytest.approx(residual + component + of_common, rel=1e-7)


def test_without_spread_all_sources_have_the_pooled_regression():
    rows = rows_of()
    tied = fitted(rows, 0.0)
    pooled = cs.fit(DAG, read(rows), gaussian=cs.estimators.TiedVariances())["y"]
    np.testing.assert_allclose(tied.coefficients, np.broadcast_to(pooled.coefficients, (6, 2, 1)))
    np.testing.assert_allclose(tied.sd[:-1], np.broadcast_to(pooled.sd, (5, 2)))


def test_with_a_large_spread_each_source_has_its_own_regression():
    rows = rows_of()
    tied = fitted(rows, 1e8)
    own = cs.fit(DAG, read(rows), cs.Separate(cs.MLE()))["y"]
    np.testing.assert_allclose(tied.coefficients[:-1], own.coefficients, rtol=1e-6)
    np.testing.assert_allclose(tied.intercept[:-1], own.intercept, rtol=1e-5)


def test_sources_that_do_not_differ_are_pooled():
    rows = rows_of(600, spread=0.0)
    tied, own = fitted(rows), cs.fit(DAG, read(rows), cs.Separate(cs.MLE()))["y"]
    assert tied.coefficients[:-1].std() < 0.3 * own.coefficients.std()


def test_a_source_of_one_row_keeps_to_the_common_regression():
    rows = rows_of(121, spread=0.2)
    rows["source"][-1] = "small"
    local = fitted(rows)
    j = 0 if rows["g"][-1] == "a" else 1
    small, common = local.coefficients[-2], local.coefficients[-1]
    np.testing.assert_array_equal(small[1 - j], common[1 - j])
    assert abs(small[j] - common[j]) < 0.2
    assert local.sd[-2, 1 - j] == local.sd[-1, 1 - j] > local.sd[-2, j]


def test_a_source_without_rows_is_like_a_new_one():
    table = read(rows_of() | {"source": np.array(["f0", "f1", "f2"] * 40)})
    table = table.take(table.column("source") != 1)
    local = cs.fit(DAG, table, gaussian=cs.estimators.HierarchicalGaussian())["y"]
    np.testing.assert_array_equal(local.parameters[1], local.parameters[3])


def test_one_source_has_its_own_regression_and_the_record_says_so():
    rows = rows_of(40) | {"source": np.array(["f0"] * 40)}
    net = cs.fit(DAG, read(rows), gaussian=cs.estimators.HierarchicalGaussian())
    plain = cs.fit(DAG, read(rows), cs.MLE())["y"]
    assert net["y"].parents == ("source", "g", "x")
    for f in range(2):
        np.testing.assert_allclose(net["y"].coefficients[f], plain.coefficients)
    assert any("Only one source" in note and "'y'" in note for note in net.record.notes)


def test_a_table_without_sources_has_one_regression_and_no_source_node():
    rows = {name: column for name, column in rows_of(40).items() if name != "source"}
    net = cs.fit(DAG, cs.read(rows), gaussian=cs.estimators.HierarchicalGaussian())
    assert net["y"].parents == ("g", "x")
    plain = cs.fit(DAG, cs.read(rows), gaussian=cs.estimators.TiedVariances())["y"]
    np.testing.assert_allclose(net["y"].parameters, plain.parameters)


def test_a_joint_state_with_too_few_rows_borrows_from_all():
    rows = rows_of()
    rows["g"] = np.array(["a"] * 119 + ["b"])
    net = cs.fit(DAG, read(rows), gaussian=cs.estimators.HierarchicalGaussian())
    assert any("Too few rows" in note and "'y' (1 of 2)" in note for note in net.record.notes)
    everything = cs.fit(SIMPLE, read(rows), gaussian=cs.estimators.HierarchicalGaussian())["y"]
    # The spread is learned from the other state, so only its neighbourhood agrees.
    np.testing.assert_allclose(net["y"].coefficients[:, 1], everything.coefficients, rtol=0.01)


def test_too_few_rows_in_all_are_refused():
    rows = {name: column[:2] for name, column in rows_of().items()}
    with pytest.raises(DataError, match="family of 'y' has 2 complete rows"):
        cs.fit(
            SIMPLE, cs.read(rows, source="source"), gaussian=cs.estimators.HierarchicalGaussian()
        )


@pytest.mark.parametrize("kind", ["collinear", "constant parent", "constant child", "exact"])
def test_degenerate_columns_give_finite_numbers(kind):
    rows = rows_of(mean := 60)
    x = rows["x"]
    rows["z"] = {"collinear": 3 * x - 1, "constant parent": np.full(mean, 2.5)}.get(kind, x**2)
    if kind == "constant child":
        rows["y"] = np.full(mean, 7.25)
    if kind == "exact":
        rows["y"] = 2 * x - rows["z"]
    dag = cs.DAG.parse("[g][x][z][y|g:x:z]")
    net = cs.fit(
        dag, read(rows, continuous=["y", "z"]), gaussian=cs.estimators.HierarchicalGaussian()
    )
    local, rng = net["y"], np.random.default_rng(0)
    assert np.isfinite(local.parameters).all()
    assert np.isfinite(local.posterior.interval(0.9)).all()
    assert np.isfinite(local.posterior.draw(rng)).all()
    assert (local.sd == 0).all() == (kind in ("constant child", "exact"))


def test_sources_that_are_exact_by_themselves_keep_their_own_lines():
    rows = rows_of()
    slope = {f"f{i}": i for i in range(5)}
    rows["y"] = np.array([slope[f] for f in rows["source"]]) * rows["x"]
    net = cs.fit(DAG, read(rows), gaussian=cs.estimators.HierarchicalGaussian())
    expected = [slope[f] for f in net.variables["source"].states[:-1]]
    np.testing.assert_allclose(net["y"].coefficients[:-1, 0, 0], expected, atol=1e-4)


def test_a_mean_of_1e8_changes_no_slope():
    rows = rows_of()
    far = rows | {"x": rows["x"] + 1e8}
    near = rows | {"x": far["x"] - 1e8}
    one, two = fitted(far), fitted(near)
    np.testing.assert_allclose(one.coefficients, two.coefficients, rtol=1e-6)
    np.testing.assert_allclose(one.sd, two.sd, rtol=1e-6)


def test_the_order_of_rows_and_sources_does_not_matter():
    rows = rows_of()
    order = np.random.default_rng(1).permutation(120)
    turned = {name: column[order] for name, column in rows.items()}
    one = cs.fit(DAG, read(rows), gaussian=cs.estimators.HierarchicalGaussian())
    two = cs.fit(DAG, read(turned), gaussian=cs.estimators.HierarchicalGaussian())
    first, second = (net.variables["source"].states for net in (one, two))
    where = [second.index(name) for name in first]
    np.testing.assert_allclose(
        one["y"].parameters, two["y"].parameters[where], rtol=1e-5, atol=1e-6
    )


def test_a_row_of_weight_two_is_two_rows():
    rows = rows_of()
    twice = {name: np.concatenate([column, column[:40]]) for name, column in rows.items()}
    weighted = rows | {"n": np.array([2] * 40 + [1] * 80)}
    one, two = fitted(twice), fitted(weighted, weight="n")
    np.testing.assert_allclose(one.parameters, two.parameters, rtol=1e-6)


def test_batches_are_the_whole():
    table = read(rows_of())
    parts = [table.take(slice(0, 0)), table.take(slice(0, 7)), table.take(slice(7, 120))]
    one = cs.fit(DAG, table, gaussian=cs.estimators.HierarchicalGaussian())["y"]
    two = cs.fit(DAG, Batches(table.schema, parts), gaussian=cs.estimators.HierarchicalGaussian())[
        "y"
    ]
    np.testing.assert_allclose(one.parameters, two.parameters, rtol=1e-6)


def test_draws_have_the_variance_and_the_intervals_of_the_posterior():
    local = fitted(rows_of(200))
    rng = np.random.default_rng(0)
    drawn = np.array([local.posterior.draw(rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.var(axis=0), local.posterior.variance(), rtol=0.2)
    low, high = local.posterior.interval(0.8)
    share = ((drawn > low) & (drawn < high)).mean(axis=0)
    np.testing.assert_allclose(share, 0.8, atol=0.03)


def test_the_evidence_of_pooling_is_that_of_dense_student_densities():
    rng = np.random.default_rng(0)
    source = np.repeat(["f0", "f1", "f2"], [6, 4, 5])
    x = rng.normal(0, 1, 15)
    rows = {"source": source, "x": x, "y": rng.normal(0, 1, 15) + x * (source == "f1")}
    table = cs.read(rows, source="source")
    moments = cs.moments(table, ["x", "y"], by_source=True)
    found = evidence_of_pooled_regressions(moments)
    scale = standardized(moments)
    design = np.stack([np.ones(15), (x - scale.center[0]) / scale.unit[0]], axis=1)
    same = source[:, None] == source

    def evidence(covariance):
        loc = np.full(15, scale.level)
        return multivariate_t.logpdf(rows["y"], loc, scale.variance * covariance, df=1)

    pooled = np.eye(15) + design @ design.T
    assert found["pooled"] == pytest.approx(evidence(pooled), rel=1e-9)
    apart = np.eye(15) + same * (design @ design.T)
    assert found["separate"] == pytest.approx(evidence(apart), rel=1e-9)
    first = np.array([[scale.level, 0.0]])
    equations = Equations(
        *scale.equations(moments, first), np.arange(2), np.zeros((1, 2, 2)), np.array([15.0]), 1.0
    )
    spread = tie(equations).spread
    tied = pooled + same * (design * spread @ design.T)
    expected = evidence(tied) - np.log(3)
    assert found["hierarchical"] == pytest.approx(expected, rel=1e-9)
    assert np.isfinite(misfit(equations, spread)).all()


def test_the_evidence_favours_what_made_the_rows():
    together = cs.fit(
        SIMPLE, read(rows_of(400, spread=0.0)), gaussian=cs.estimators.HierarchicalGaussian()
    )
    apart = cs.fit(SIMPLE, read(rows_of(400)), gaussian=cs.estimators.HierarchicalGaussian())
    one, two = together.record.pooling["y"], apart.record.pooling["y"]
    assert one["pooled"] > one["hierarchical"]
    assert two["hierarchical"] > two["pooled"] + 10


def test_a_source_keeps_its_own_sd_in_a_joint_state_that_borrows():
    rows = {**rows_of(), "g": np.full(120, "a")}
    local = fitted(rows)  # no source has a row of b, all have rows of a
    np.testing.assert_allclose(local.parameters[:, 1], local.parameters[:, 0], rtol=1e-12)
    assert local.sd[-1, 1] > local.sd[0, 1] == local.sd[1, 1]


def test_pooled_sources_are_not_said_to_be_one():
    rows = read(rows_of())
    choice = cs.Pooled(cs.estimators.HierarchicalGaussian())
    assert cs.fit(DAG, rows, cs.Dirichlet(), gaussian=choice).record.notes == ()
