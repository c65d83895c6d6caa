from __future__ import annotations

import numpy as np
import pytest
from fusion_cases import gaussian_rows, slices
from scipy import stats

import consilience as cs
from consilience.data.table import Table
from consilience.fusion.heterogeneity import of_counts
from consilience.parameters.uncertainty import parameter_intervals

DAG = cs.DAG.parse("[x][y|x][z|x:y]")
SIZES = [40, 30, 50]


def lines(rows: int, *, seed: int = 0, shift: float = 0.0) -> Table:
    return gaussian_rows(rows, np.random.default_rng(seed), shift=shift).select(["x", "y", "z"])


def fused(tables, choice) -> cs.fusion.Fusion:
    arcs = list(DAG.arcs)
    search = cs.HillClimb(tabu=0, restarts=0)
    return cs.fuse(tables, parameters=choice, require=arcs, search=search, threshold=len(tables))


def designed(table: Table, names=("x", "y")):
    design = np.column_stack([np.ones(table.n_rows), *(table.column(n) for n in names)])
    beta, *_ = np.linalg.lstsq(design, table.column("z"), rcond=None)
    left = table.column("z") - design @ beta
    freedom = table.n_rows - design.shape[1]
    return beta, np.linalg.inv(design.T @ design), float(left @ left), freedom


@pytest.mark.parametrize("choice", [None, cs.fusion.PrecisionMatrices()])
@pytest.mark.parametrize("shift", [0.0, 200.0])
def test_pooled_rows_have_the_t_intervals_of_the_regression_on_all_rows(choice, shift):
    table = lines(120, shift=shift)
    net = fused(slices(table, SIZES), choice).network
    beta, inverse, residual, freedom = designed(table)
    low, high = parameter_intervals(net, "z", level=0.9)
    width = stats.t.ppf(0.95, freedom) * np.sqrt(np.diag(inverse) * residual / freedom)
    np.testing.assert_allclose(low[:-1], beta - width, rtol=1e-7)
    np.testing.assert_allclose(high[:-1], beta + width, rtol=1e-7)
    np.testing.assert_allclose(high[-1], np.sqrt(residual / stats.chi2.ppf(0.05, freedom)))


def test_precisions_of_coefficients_add_where_sources_are_weighted_by_them():
    table = lines(120)
    net = fused(slices(table, SIZES), cs.fusion.InverseVariance()).network
    found = [designed(rows) for rows in slices(table, SIZES).values()]
    precision = sum(1 / (np.diag(inv) * rss / free) for _, inv, rss, free in found)
    freedom = sum(free for *_, free in found)
    # A Student t with these degrees of freedom is wider than the normal by freedom / (freedom - 2).
    wanted = freedom / (freedom - 2) / precision[1:]
    np.testing.assert_allclose(net["z"].posterior.variance()[1:-1], wanted, rtol=1e-9)


def test_a_linear_pool_of_networks_knows_what_a_weighted_mean_knows():
    parts = slices(lines(120), SIZES)
    nets = {name: cs.fit(DAG, t, cs.estimators.NormalInverseGamma()) for name, t in parts.items()}
    net = cs.fuse(nets, weights={"s0": 2, "s1": 1, "s2": 1}).network
    rng, shares = np.random.default_rng(1), np.array([0.5, 0.25, 0.25])
    each = [[one["z"].posterior.draw(rng) for one in nets.values()] for _ in range(4000)]
    drawn = np.einsum("f,dfk->dk", shares, np.array(each))
    np.testing.assert_allclose(
        net["z"].posterior.variance()[:-1], drawn.var(axis=0)[:-1], rtol=0.12
    )


def test_parents_in_another_order_keep_what_is_known_about_them():
    table = lines(60)
    ways = [cs.DAG.parse("[x][y|x][z|x:y]"), cs.DAG.parse("[x][y|x][z|y:x]")]
    nets = [cs.fit(dag, table, cs.estimators.NormalInverseGamma()) for dag in ways]
    one = cs.fuse({"a": nets[0], "b": nets[0]}).network["z"]
    both = cs.fuse(dict(zip("ab", nets, strict=True))).network["z"]
    np.testing.assert_allclose(both.posterior.variance(), one.posterior.variance(), rtol=1e-9)
    assert nets[1]["z"].parents != one.parents


@pytest.mark.parametrize("choice", [cs.fusion.LinearPool(), cs.fusion.InverseVariance()])
def test_tables_that_agree_add_their_counts(choice):
    ill = cs.read({"ill": ["yes"] * 12 + ["no"] * 28})
    net = cs.fit(cs.DAG(nodes=["ill"]), ill, cs.Dirichlet(per_cell=1))
    four = cs.fuse(dict.fromkeys("abcd", net), parameters=choice).network["ill"]
    assert four.posterior.concentration.sum() + 1 == pytest.approx(4 * 43)
    np.testing.assert_allclose(four.posterior.mean(), net["ill"].table)


def test_fused_networks_are_drawn_asked_for_intervals_and_kept_in_files(tmp_path):
    found = fused(slices(lines(120), SIZES), cs.fusion.InverseVariance()).network
    cs.save(found, tmp_path / "fused.json")
    loaded = cs.load(tmp_path / "fused.json")
    one, other = (next(iter(cs.draws(net, 1, seed=3))) for net in (found, loaded))
    np.testing.assert_array_equal(one["z"].parameters, other["z"].parameters)
    answer = cs.intervals(found, "z", {"x": 1.0}, draws=50)
    assert answer.low[0] < answer.answer[0] < answer.high[0]


def test_the_statistic_of_regressions_is_the_f_test_of_all_sources_against_one():
    table = lines(120)
    found = fused(slices(table, SIZES), cs.fusion.PrecisionMatrices()).heterogeneity["z"]
    _, _, whole, _ = designed(table)
    each = [designed(rows) for rows in slices(table, SIZES).values()]
    within, left = sum(rss for _, _, rss, _ in each), sum(free for *_, free in each)
    ratio = (whole - within) / 6 / (within / left)
    assert (found.statistic, found.freedom) == (pytest.approx(6 * ratio), 6)
    assert found.p_value == pytest.approx(stats.f.sf(ratio, 6, left))


def test_merged_rows_and_matrices_have_the_same_statistic():
    parts = slices(gaussian_rows(200, np.random.default_rng(2)), [80, 60, 60])
    one, other = (
        cs.fuse(parts, parameters=c, threshold=2).heterogeneity
        for c in (None, cs.fusion.PrecisionMatrices())
    )
    assert {n: h.statistic for n, h in one.items()} == pytest.approx(
        {n: h.statistic for n, h in other.items()}
    )


def test_the_statistic_of_a_table_is_pearsons():
    counts = np.array([[[12.0, 5.0, 9.0]], [[3.0, 9.0, 20.0]], [[8.0, 1.0, 4.0]]])
    found = of_counts(counts)
    wanted = stats.chi2_contingency(counts[:, 0], correction=False)
    assert (found.statistic, found.freedom) == (pytest.approx(wanted.statistic), wanted.dof)
    assert found.p_value == pytest.approx(wanted.pvalue)


def test_states_and_parent_states_without_rows_take_no_freedom():
    counts = np.zeros((3, 2, 3))
    counts[:2, 0, :2] = [[3, 4], [5, 1]]
    assert of_counts(counts).freedom == 1
    assert of_counts(counts[:1]) is None


def test_sources_that_differ_are_told_with_their_statistic():
    parts = slices(lines(150), [50, 50, 50])
    turned = parts["s2"]
    columns = dict(turned.columns) | {"z": -np.asarray(turned.column("z"))}
    parts["s2"] = Table(turned.schema, columns)
    for choice in (None, cs.fusion.InverseVariance()):
        found = fused(parts, choice)
        assert found.heterogeneity["z"].p_value < 1e-6 < found.heterogeneity["y"].p_value
        assert found.heterogeneity["z"].i_squared > 0.5
        [note] = [note for note in found.notes if "too narrow" in note]
        assert "'z' (Q " in note
        assert note in found.network.record.notes


def test_sources_that_are_alike_are_not_told_to_differ():
    found = fused(slices(lines(150), [50, 50, 50]), None)
    assert set(found.heterogeneity) == {"x", "y", "z"}
    assert not found.notes


def test_finished_networks_that_differ_are_told_as_well():
    parts = slices(lines(150), [50, 50, 50])
    nets = {n: cs.fit(DAG, t, cs.estimators.NormalInverseGamma()) for n, t in parts.items()}
    alike = cs.fuse(nets).heterogeneity["z"]
    line = nets["s2"]["z"]
    moved = cs.LinearGaussian(line.child, line.given, 9.0, line.coefficients, line.sd)
    assert alike.freedom == 6
    assert alike.p_value > 0.001
    bare = cs.Network({**nets["s2"].distributions, "z": moved})
    assert "z" not in cs.fuse({**nets, "s2": bare}).heterogeneity


@pytest.mark.parametrize(
    ("estimator", "told", "within"),
    [(cs.Dirichlet(), 3, 1e-6), (cs.HDC(), 2, 0.05)],  # variances of a chain are from draws
)
def test_states_in_another_order_keep_what_is_known(estimator, told, within):
    dag = cs.DAG([("drug", "ill"), ("drug", "bp")])

    def net(seed: int, drugs: list[str], ills: list[str]) -> cs.Network:
        rng = np.random.default_rng(seed)
        drug = rng.choice(["a", "b", "c"], 40)
        rows = {"drug": drug, "ill": rng.choice(["no", "yes"], 40), "bp": rng.normal(size=40)}
        return cs.fit(dag, cs.read(rows, states={"drug": drugs, "ill": ills}), estimator)

    same = cs.fuse({"p": net(0, [*"abc"], ["no", "yes"]), "q": net(1, [*"abc"], ["no", "yes"])})
    turned = cs.fuse({"p": net(0, [*"abc"], ["no", "yes"]), "q": net(1, [*"cab"], ["yes", "no"])})
    assert set(turned.heterogeneity) == set(same.heterogeneity)
    assert len(same.heterogeneity) >= told
    for name, one in turned.heterogeneity.items():
        assert one.statistic == pytest.approx(same.heterogeneity[name].statistic, rel=within)
        ends, wanted = (parameter_intervals(f.network, name) for f in (turned, same))
        np.testing.assert_allclose(ends, wanted, rtol=within, atol=1e-9)
