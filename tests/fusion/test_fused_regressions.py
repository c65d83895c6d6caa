from __future__ import annotations

import numpy as np
import pytest
from fusion_cases import gaussian_rows, slices
from hypothesis import given, strategies as st

import consilience as cs
from consilience.data.table import Table
from consilience.fusion.family_answers import Wanted
from consilience.fusion.opinions import opinions_of
from consilience.fusion.voters import Voter

DAG = cs.DAG.parse("[w][x][y|x][z|w:x:y]")
LINE = cs.DAG.parse("[x][y|x][z|x:y]")


def fused(table: Table, sizes, choice, dag=DAG):
    return one_family(slices(table, sizes), choice, dag, "z")


def one_family(tables, choice, dag, child):
    voters = [Voter(name, dag, rows) for name, rows in tables.items()]
    first = next(iter(tables.values())).variables
    wanted = Wanted(first[child], tuple(first[p] for p in dag.parents(child)))
    [opinions], _ = opinions_of([wanted], voters)
    return choice.pool(opinions, np.ones(len(opinions)))


def least_squares(table: Table, names):
    design = np.column_stack([np.ones(table.n_rows), *(table.column(n) for n in names)])
    beta, *_ = np.linalg.lstsq(design, table.column("z"), rcond=None)
    left = table.column("z") - design @ beta
    return beta, left @ left / (table.n_rows - len(beta)), design


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8).filter(lambda s: sum(s) > 40),
    seed=st.integers(0, 10_000),
    shift=st.sampled_from([0.0, -30.0, 1e3]),
)
def test_fusing_with_matrices_is_the_pooled_regression_for_any_slices(sizes, seed, shift):
    table = gaussian_rows(sum(sizes), np.random.default_rng(seed), shift=shift)
    found = fused(table, sizes, cs.fusion.PrecisionMatrices(), LINE)
    beta, variance, _ = least_squares(table, ["x", "y"])
    # The intercept is that of lines through rows at ``shift``: it has the digits of their product.
    tolerance = 1e-10 * max(1.0, abs(shift))
    np.testing.assert_allclose(found.coefficients, beta[1:], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.intercept, beta[0], rtol=1e-10, atol=tolerance)
    np.testing.assert_allclose(found.sd**2, variance, rtol=1e-9)


def test_fusing_with_matrices_is_the_merged_fit_in_every_joint_state():
    table = gaussian_rows(300, np.random.default_rng(7))
    found = fused(table, [3, 2, 95, 50, 150], cs.fusion.PrecisionMatrices())
    pooled = cs.fit(DAG, table, cs.MLE())["z"]
    np.testing.assert_allclose(found.parameters, pooled.parameters, rtol=1e-10)


def test_the_papers_weights_are_the_inverse_variances_of_each_coefficient():
    table = gaussian_rows(90, np.random.default_rng(3))
    found = fused(table, [40, 50], cs.fusion.InverseVariance(), LINE)
    betas, weights = [], []
    for rows in slices(table, [40, 50]).values():
        centered = {name: rows.column(name) - table.column(name).mean() for name in ("x", "y")} | {
            "z": rows.column("z")
        }
        local = Table(rows.select(["x", "y", "z"]).schema, centered)
        beta, variance, design = least_squares(local, ["x", "y"])
        betas.append(beta)
        weights.append(1 / (variance * np.diag(np.linalg.inv(design.T @ design))))
    beta = np.average(betas, axis=0, weights=weights)
    at_zero = beta[0] - sum(beta[1 + k] * table.column(n).mean() for k, n in enumerate(("x", "y")))
    np.testing.assert_allclose(found.coefficients, beta[1:])
    np.testing.assert_allclose(found.intercept, at_zero)


def test_the_papers_weights_agree_with_the_pooled_regression_within_monte_carlo_error():
    differences, errors = [], []
    truth = np.array([1.0, 1.0, -0.5])
    for seed in range(60):
        table = gaussian_rows(400, np.random.default_rng(seed))
        table = table.take(table.column("w") == 0)
        sizes = [table.n_rows // 5] * 5
        by_coefficient = fused(table, sizes, cs.fusion.InverseVariance(), LINE)
        pooled = fused(table, sizes, cs.fusion.PrecisionMatrices(), LINE)
        one, two = (f.parameters[..., :-1] for f in (by_coefficient, pooled))
        differences.append(one - two)
        errors.append([one - truth, two - truth])
    differences, errors = np.array(differences), np.array(errors)
    standard_error = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
    assert np.all(np.abs(differences.mean(axis=0)) < 3 * standard_error)
    sd = errors.std(axis=0)
    assert np.all(differences.std(axis=0) < 0.6 * sd[1])
    assert np.all(sd[0] < 1.15 * sd[1])  # Gauss and Markov: no better than the pooled one


def test_a_source_with_too_few_rows_has_no_say_by_coefficient():
    table = gaussian_rows(103, np.random.default_rng(2))
    with_three = fused(table, [50, 50, 3], cs.fusion.InverseVariance(), LINE)
    without = fused(table, [50, 50], cs.fusion.InverseVariance(), LINE)
    np.testing.assert_allclose(with_three.sd, without.sd)
    np.testing.assert_allclose(with_three.coefficients, without.coefficients, rtol=1e-8)


def test_where_no_source_has_enough_rows_they_are_merged():
    table = gaussian_rows(60, np.random.default_rng(4))
    found = fused(table, [3] * 20, cs.fusion.InverseVariance(), LINE)
    beta, _, _ = least_squares(table, ["x", "y"])
    np.testing.assert_allclose(found.coefficients, beta[1:], rtol=1e-9)


def test_too_few_rows_in_all_sources_are_an_error():
    table = gaussian_rows(3, np.random.default_rng(4))
    with pytest.raises(ValueError, match="'z' has 3 complete rows in all sources together"):
        fused(table, [1, 2], cs.fusion.PrecisionMatrices(), LINE)


def test_an_exact_relation_gives_no_infinite_weights():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 40))
    table = Table(
        gaussian_rows(40, rng).select(["x", "y", "z"]).schema, {"x": x, "y": y, "z": 2 * x - y + 1}
    )
    for choice in (cs.fusion.InverseVariance(), cs.fusion.PrecisionMatrices()):
        found = fused(table, [20, 20], choice, LINE)
        np.testing.assert_allclose(found.coefficients, [2, -1])
        assert float(found.sd) == pytest.approx(0, abs=1e-6)


def test_collinear_parents_give_the_fit_of_smallest_norm():
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    noise = rng.normal(size=60)
    table = Table(
        gaussian_rows(60, rng).select(["x", "y", "z"]).schema, {"x": x, "y": 2 * x, "z": x + noise}
    )
    found = fused(table, [30, 30], cs.fusion.PrecisionMatrices(), LINE)
    pooled = cs.fit(LINE, table)["z"]
    np.testing.assert_allclose(found.parameters, pooled.parameters, rtol=1e-9)


def test_tables_are_merged_or_weighted_by_the_inverse_of_their_posterior_variances():
    net = cs.random_network(cs.DAG([("a", "b")]), n_states=3, seed=2)
    tables = {"s": net.sample(40, seed=1), "t": net.sample(90, seed=2)}
    merged = one_family(tables, cs.fusion.PrecisionMatrices(), net.dag, "b")
    both = cs.fit(
        net.dag,
        cs.read({k: t.to_frame() for k, t in tables.items()}, schema=net.variables),
        cs.Dirichlet(),
    )
    np.testing.assert_allclose(merged.table, both["b"].table)
    local = [cs.fit(net.dag, t, cs.Dirichlet())["b"] for t in tables.values()]
    weights = [1 / one.posterior.variance() for one in local]
    mean = np.average([one.table for one in local], axis=0, weights=weights)
    expected = mean / mean.sum(axis=1, keepdims=True)
    found = one_family(tables, cs.fusion.InverseVariance(), net.dag, "b")
    np.testing.assert_allclose(found.table, expected)
