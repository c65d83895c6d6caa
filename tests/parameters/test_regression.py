"""Least squares from moments: numbers of others, brute force, and what breaks regressions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import consilience as cs
from consilience.errors import DataError

EFFECT = cs.DAG.parse("[drug][dose][age][effect|drug:dose:age]")


def rows_of(n_rows=40, seed=0, mean=0.0):
    rng = np.random.default_rng(seed)
    drug = rng.integers(0, 2, n_rows)
    dose, age = rng.normal(mean, 1, n_rows), rng.normal(50, 9, n_rows)
    effect = 1 + 2 * drug + (1.5 - drug) * (dose - mean) + 0.1 * age + rng.normal(0, 0.5, n_rows)
    return {"drug": np.array(["a", "b"])[drug], "dose": dose, "age": age, "effect": effect}


def read(rows, **options):
    return cs.read(rows, states={"drug": ["a", "b"]}, **options)


def lstsq(rows, is_used):
    """Intercept, slopes and residual sum of squares by the dense design matrix."""
    x = np.stack([np.ones(is_used.sum()), rows["dose"][is_used], rows["age"][is_used]], axis=1)
    found, *_ = np.linalg.lstsq(x, rows["effect"][is_used], rcond=None)
    return found, ((rows["effect"][is_used] - x @ found) ** 2).sum()


@given(n_rows=st.integers(20, 60), seed=st.integers(0, 1000))
def test_each_joint_state_has_its_own_least_squares(n_rows, seed):
    rows = rows_of(n_rows, seed)
    for unbiased in (True, False):
        local = cs.fit(EFFECT, read(rows), cs.MLE(unbiased=unbiased))["effect"]
        for j, state in enumerate("ab"):
            is_used = rows["drug"] == state
            if is_used.sum() <= 3:
                continue
            found, residual = lstsq(rows, is_used)
            np.testing.assert_allclose(local.parameters[j, :3], found, rtol=1e-7, atol=1e-9)
            freedom = is_used.sum() - 3 * unbiased
            assert local.sd[j] == pytest.approx((residual / freedom) ** 0.5, rel=1e-7)


@pytest.mark.data
def test_gaussian_test_has_the_coefficients_of_bnlearn(data_dir):
    table = cs.read(data_dir / "bnlearn" / "gaussian.test.csv.gz")
    net = cs.fit(cs.DAG.parse("[A][B][E][G][C|A:B][D|B][F|A:D:E:G]"), table, cs.MLE())
    c = [2.0010831585, 1.9959014103, 1.9991077310, 0.5089771984]
    f = [-0.0060473209, 1.9948530411, 1.0056369092, 1.0025770025, 1.4943732652, 0.9961474863]
    np.testing.assert_allclose(net["C"].parameters, c, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(net["F"].parameters, f, rtol=1e-8, atol=1e-10)


@pytest.mark.data
def test_marks_has_the_values_of_the_lecture(data_dir):
    names = ["MECH", "VECT", "ALG", "ANL", "STAT"]
    table = cs.read(data_dir / "bnlearn" / "marks.csv", continuous=names)
    dag = cs.DAG.parse("[ALG][ANL|ALG][VECT|ALG][MECH|ALG:VECT][STAT|ALG:ANL]")
    net = cs.fit(dag, table, cs.MLE())
    expected = {
        "ALG": [50.602273, 112.885972],
        "ANL": [-3.574130, 0.993156, 110.302130],
        "MECH": [-12.364758, 0.548405, 0.465869, 195.281480],
        "STAT": [-11.192011, 0.765350, 0.316406, 158.922831],
        "VECT": [12.418309, 0.754365, 109.865350],
    }
    for name, numbers in expected.items():
        found = [*net[name].parameters[:-1], net[name].variance]
        np.testing.assert_allclose(found, numbers, atol=1e-6)
    assert net.n_parameters == 16


@pytest.mark.data
def test_rats_has_the_values_of_the_lecture(data_dir):
    table = cs.read(data_dir / "series" / "rats.csv", continuous=["W1", "W2"])
    net = cs.fit(cs.DAG.parse("[Drug][W1|Drug][W2|Drug:W1]"), table, cs.MLE())
    np.testing.assert_allclose(net["W1"].intercept, [7, 7.5, 14.75], atol=1e-6)
    np.testing.assert_allclose(net["W1"].variance, [2.571429, 2, 11.071429], atol=1e-6)
    np.testing.assert_allclose(net["W2"].intercept, [1.027778, -1.678571, -1.835484], atol=1e-6)
    np.testing.assert_allclose(
        net["W2"].coefficients[:, 0], [0.888889, 1.357143, 0.819355], atol=1e-6
    )
    np.testing.assert_allclose(net["W2"].variance, [3.212963, 4.035714, 1.911828], atol=1e-6)


@pytest.mark.data
def test_clgaussian_test_has_the_log_likelihood_of_bnlearn(data_dir):
    table = cs.read(data_dir / "bnlearn" / "clgaussian.test.csv.gz")
    dag = cs.DAG.parse("[A][B][C][H][D|A:H][F|B:C][E|B:D][G|A:D:E:F]")
    net = cs.fit(dag, table, cs.MLE())
    total = sum(local_log_density(net[name], table) for name in dag.nodes)
    assert total == pytest.approx(-20074.13346093722, rel=1e-10)
    assert net.n_parameters == 51


def local_log_density(local, table):
    """Sum over the rows of the log density of a node given its parents."""
    discrete = [variable for variable in local.given if not variable.is_continuous]
    state = np.zeros(table.n_rows, int)
    for variable in discrete:
        state = state * variable.n_states + table.column(variable.name)
    child = table.column(local.child.name)
    if not local.child.is_continuous:
        return np.log(local.rows[state, child]).sum()
    values = [table.column(v.name) for v in local.given if v.is_continuous]
    mean = local.means(state, np.stack([*values, child], axis=1)[:, :-1])
    variance = local.variance.ravel()[state]
    return -0.5 * (np.log(2 * np.pi * variance) + (child - mean) ** 2 / variance).sum()


def test_a_mean_of_1e8_gives_the_coefficients_of_centred_data():
    far, near = rows_of(400, mean=1e8), rows_of(400)
    near["dose"] = far["dose"] - 1e8  # what is left of the digits
    one = cs.fit(EFFECT, read(far), cs.MLE())["effect"]
    two = cs.fit(EFFECT, read(near), cs.MLE())["effect"]
    np.testing.assert_allclose(one.coefficients, two.coefficients, rtol=1e-6)
    np.testing.assert_allclose(one.sd, two.sd, rtol=1e-6)


@pytest.mark.parametrize("mean", [0.0, 1e8])
def test_collinear_parents_have_the_fit_of_smallest_norm(mean):
    rows = rows_of(mean=mean)
    rows["age"] = 2 * rows["dose"] + 1
    net = cs.fit(EFFECT, read(rows), cs.MLE())
    alone = cs.fit(EFFECT.remove("age", "effect"), read(rows), cs.MLE())
    # Equal shares on the scale of correlations; together the slope of one parent alone.
    slope = net["effect"].coefficients
    np.testing.assert_allclose(slope[:, 0], 2 * slope[:, 1], rtol=1e-6)
    together = slope @ [1.0, 2.0]
    np.testing.assert_allclose(together, alone["effect"].coefficients[:, 0], rtol=1e-6)
    np.testing.assert_allclose(net["effect"].sd, alone["effect"].sd, rtol=1e-6)
    assert any("smallest norm" in note and "'effect' (2 of 2)" in note for note in net.record.notes)


def test_a_constant_parent_has_no_slope():
    rows = rows_of() | {"age": np.full(40, 41.3)}
    net = cs.fit(EFFECT, read(rows), cs.MLE())
    assert (net["effect"].coefficients[:, 1] == 0).all()
    assert np.isfinite(net["effect"].parameters).all()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1])
def test_a_constant_child_has_a_sd_of_zero(value):
    rows = rows_of() | {"effect": np.full(40, value)}
    net = cs.fit(EFFECT, read(rows, continuous=["effect"]), cs.MLE())
    assert (net["effect"].sd == 0).all()
    np.testing.assert_allclose(net["effect"].intercept, value)
    assert any("sd is zero" in note and "'effect' (2 of 2)" in note for note in net.record.notes)


def test_a_joint_state_with_too_few_rows_is_joined_by_average_ones():
    rows = rows_of(30)
    rows["drug"] = np.array(["a"] * 27 + ["b"] * 3)
    net = cs.fit(EFFECT, read(rows), cs.MLE())
    # Least squares on its three rows, and on all thirty with a weight of four together.
    weights = np.concatenate([np.ones(3), np.full(30, 4 / 30)])
    X = np.stack([np.ones(30), rows["dose"], rows["age"]], axis=1)
    X, y = np.concatenate([X[27:], X]), np.concatenate([rows["effect"][27:], rows["effect"]])
    root = np.sqrt(weights)
    beta, residual, *_ = np.linalg.lstsq(X * root[:, None], y * root, rcond=None)
    np.testing.assert_allclose(net["effect"].parameters[1, :3], beta, rtol=1e-8)
    assert net["effect"].variance[1] == pytest.approx(residual[0] / (7 * 27 / 30))
    own, _ = lstsq(rows, rows["drug"] == "a")
    np.testing.assert_allclose(net["effect"].parameters[0, :3], own, rtol=1e-8)
    assert net.record.unidentified["effect"] == 1
    assert any("Too few rows" in n and "'effect' (1 of 2)" in n for n in net.record.notes)


def test_a_joint_state_without_rows_has_the_regression_of_all():
    rows = rows_of(30) | {"drug": np.array(["a"] * 30)}
    net = cs.fit(EFFECT, read(rows), cs.MLE())
    np.testing.assert_allclose(net["effect"].parameters[1], net["effect"].parameters[0], rtol=1e-9)


def test_a_family_with_too_few_rows_is_named():
    rows = {name: column[:3] for name, column in rows_of().items()}
    with pytest.raises(DataError, match=r"family of 'effect' has 3 complete rows.* at least 4"):
        cs.fit(EFFECT, read(rows), cs.MLE())


def test_a_source_with_too_few_rows_for_itself_is_named():
    rows = rows_of() | {"source": np.array(["north"] * 38 + ["south"] * 2)}
    with pytest.raises(DataError, match=r"source 'south': the family of 'effect'") as error:
        cs.fit(EFFECT, read(rows, source="source"), cs.Separate(cs.MLE()))
    assert error.value.culprits == {"variable": "effect", "source": "south"}


def test_separate_regressions_are_those_of_each_source():
    rows = rows_of(60) | {"source": np.array(["north", "south"])[np.arange(60) % 2]}
    net = cs.fit(EFFECT, read(rows, source="source"), cs.Separate(cs.MLE()))
    assert net["effect"].parents == ("source", "drug", "dose", "age")
    for f, source in enumerate(["north", "south"]):
        part = {name: column[rows["source"] == source] for name, column in rows.items()}
        del part["source"]
        alone = cs.fit(EFFECT, read(part), cs.MLE())["effect"]
        np.testing.assert_allclose(net["effect"].parameters[f], alone.parameters, rtol=1e-8)


def test_least_squares_keeps_the_posterior_under_a_flat_prior():
    rng = np.random.default_rng(5)
    x, g = rng.normal(100.0, 2.0, 60), np.repeat(["a", "b"], 30)
    y = 3.0 * x + (g == "b") + rng.normal(size=60)
    net = cs.fit(cs.DAG.parse("[g][x][y|g:x]"), cs.read({"g": g, "x": x, "y": y}), cs.MLE())
    low, high = cs.estimators.parameter_intervals(net, "y", level=0.9)
    for k, state in enumerate("ab"):
        design = np.column_stack([np.ones(30), x[g == state]])
        beta, left, *_ = np.linalg.lstsq(design, y[g == state], rcond=None)
        errors = np.sqrt(left[0] / 28 * np.diag(np.linalg.inv(design.T @ design)))
        ends = stats.t(28).ppf(0.95) * errors
        np.testing.assert_allclose(low[k, :2], beta - ends, rtol=1e-8)
        np.testing.assert_allclose(high[k, :2], beta + ends, rtol=1e-8)
        sds = np.sqrt(left[0] / stats.chi2(28).ppf([0.95, 0.05]))
        np.testing.assert_allclose([low[k, 2], high[k, 2]], sds, rtol=1e-8)


def test_joint_states_with_too_few_rows_have_the_posterior_of_what_they_are_joined_by():
    rng = np.random.default_rng(6)
    rows = {"g": ["a"] * 40 + ["b"], "y": rng.normal(5.0, 1.0, 41)}
    net = cs.fit(cs.DAG.parse("[g][y|g]"), cs.read(rows))
    low, high = cs.estimators.parameter_intervals(net, "y")
    assert np.isfinite([low, high]).all()
    assert high[1, 0] - low[1, 0] > 3 * (high[0, 0] - low[0, 0])


def test_collinear_parents_have_no_spread_where_the_rows_say_nothing():
    rng = np.random.default_rng(7)
    x = rng.normal(size=50)
    rows = {"x": x, "twice": 2 * x, "y": x + rng.normal(size=50)}
    net = cs.fit(cs.DAG([("x", "y"), ("twice", "y")]), cs.read(rows))
    drawn = np.array([one["y"].coefficients for one in cs.draws(net, 50, seed=1)])
    ratio = drawn[:, 0] / drawn[:, 1]  # the direction of smallest norm, standardized
    np.testing.assert_allclose(ratio, 2.0, rtol=1e-6)
    alone = cs.fit(cs.DAG([("x", "y")]), cs.read(rows))
    one = cs.intervals(alone, "y", {"x": 1.0}, draws=2000, seed=1)
    both = cs.intervals(net, "y", {"x": 1.0, "twice": 2.0}, draws=2000, seed=1)
    np.testing.assert_allclose(one["mean"], both["mean"], atol=0.05)


def test_variances_over_n_have_no_posterior():
    net = cs.fit(cs.DAG(nodes=["y"]), cs.read({"y": [1.0, 2.0, 4.0]}), cs.MLE(unbiased=False))
    assert net["y"].posterior is None


def test_one_value_in_a_joint_state_is_not_taken_for_a_law_if_the_child_varies_elsewhere():
    gain = np.concatenate([np.zeros(90), np.linspace(0.0, 10.0, 60)])
    table = cs.read({"g": ["a"] * 90 + ["b"] * 60, "gain": gain}, continuous=["gain"])
    net = cs.fit(cs.DAG.parse("[g][gain|g]"), table)
    assert 0 < net["gain"].sd[0] < 0.2 * net["gain"].sd[1]
    here, other = np.zeros(1, int), np.full(1, 3.0)
    assert np.isfinite(net["gain"].log_densities(here, np.empty((1, 0)), other)).all()
    same = {"g": ["a"] * 90 + ["b"] * 60, "gain": [1.0] * 90 + [2.0] * 60}
    law = cs.read(same, continuous=["gain"])
    np.testing.assert_array_equal(cs.fit(cs.DAG.parse("[g][gain|g]"), law)["gain"].sd, 0)


@pytest.mark.parametrize("total", [2.01, 2.9])
def test_weights_that_add_up_to_less_than_one_row_more_than_coefficients_are_too_few(total):
    rows = cs.read({"x": [0.1, 1.0, 2.0, 3.5], "y": [1.0, 0.5, 2.0, 2.2]})
    weighed = replace(rows, weights=np.full(4, total / 4))
    with pytest.raises(DataError, match="needs at least 3"):
        cs.fit(cs.DAG([("x", "y")]), weighed)


def test_a_joint_state_of_small_weights_is_tied_to_the_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    table = cs.read({"drug": ["a"] * 30 + ["b"] * 10, "x": x, "y": x + rng.normal(size=40)})
    weighed = replace(table, weights=np.repeat([1.0, 0.201], [30, 10]))  # 2.01 rows of b
    net = cs.fit(cs.DAG([("drug", "y"), ("x", "y")]), weighed)
    low, high = cs.estimators.parameter_intervals(net, "y")
    assert np.isfinite([low, high]).all()
    assert np.abs(high).max() < 10
    tenths = cs.read({"x": x[:30], "y": x[:30] ** 2})  # 30 weights of 0.1 are three rows
    assert cs.fit(cs.DAG([("x", "y")]), replace(tenths, weights=np.full(30, 0.1)))["y"].sd > 0
