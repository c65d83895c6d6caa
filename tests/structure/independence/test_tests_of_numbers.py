"""Tests of continuous and mixed variables, and of several sources."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as cs
from consilience.statistics.engines.batches import Batches

ind = cs.independence


def numbers(seed=1, n=80):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    x, y = z + rng.normal(size=n), 0.3 * z + rng.normal(size=n)
    group = rng.integers(0, 3, n)
    return cs.read(
        {
            "x": x,
            "y": y,
            "z": z,
            "k": [f"k{g}" for g in group],
            "b": rng.integers(0, 2, n).astype(str),
        },
        discrete=["k", "b"],
        continuous=["x", "y", "z"],
    )


def residuals(target, *others):
    design = np.column_stack([np.ones(len(target)), *others])
    return target - design @ np.linalg.lstsq(design, target, rcond=None)[0]


def test_exact_t_and_fisher_z_are_those_of_partial_correlations():
    rows = numbers()
    x, y, z = (rows.column(name) for name in "xyz")
    r = np.corrcoef(residuals(x, z), residuals(y, z))[0, 1]
    t = abs(r) * np.sqrt((80 - 3) / (1 - r * r))
    exact = ind.test(rows, "x", "y", ["z"], by=ind.ExactT())
    assert (exact.statistic, exact.df) == pytest.approx((t, 77))
    assert exact.p_value == pytest.approx(2 * stats.t.sf(t, 77))
    fisher = ind.test(rows, "y", "x", ["z"], by=ind.FisherZ())
    assert fisher.statistic == pytest.approx(np.arctanh(abs(r)) * np.sqrt(80 - 4))
    assert fisher.p_value == pytest.approx(2 * stats.norm.sf(fisher.statistic))
    assert fisher.df == np.inf
    alone = ind.test(rows, "x", "y", by=ind.ExactT())
    assert alone.p_value == pytest.approx(stats.pearsonr(x, y).pvalue)


def test_a_copy_of_a_given_variable_changes_nothing_and_a_constant_is_independent():
    rows = numbers()
    frame = rows.to_frame().assign(copy=rows.column("z") * 2, one=1.0)
    more = cs.read(frame, discrete=["k", "b"], continuous=["x", "y", "z", "copy", "one"])
    once = ind.test(rows, "x", "y", ["z"], by=ind.ExactT())
    twice = ind.test(more, "x", "y", ["z", "copy"], by=ind.ExactT())
    assert (twice.statistic, twice.df) == pytest.approx((once.statistic, once.df))
    assert ind.test(more, "x", "one", by=ind.ExactT()).p_value == 1.0
    assert ind.test(more, "copy", "z", by=ind.ExactT()).p_value == 0.0
    assert ind.test(more, "copy", "x", ["z"], by=ind.ExactT()).p_value == 1.0


def test_gaps_of_other_columns_do_not_matter():
    rows = numbers()
    frame = rows.to_frame()
    frame.loc[:9, "z"] = np.nan
    more = cs.read(frame, discrete=["k", "b"], continuous=["x", "y", "z"])
    assert ind.test(more, "x", "y", by=ind.ExactT()).n_rows == 80
    assert ind.test(more, "x", "y", ["z"], by=ind.ExactT()).n_rows == 70


def likelihood(target, designs, groups):
    """Log-likelihood of regressions with a variance for each group, and the terms of its mean."""
    total, mean, n_parameters = 0.0, 0.0, 0
    for group in np.unique(groups):
        mine = groups == group
        n, p = mine.sum(), 1 + len(designs)
        rss = (residuals(target[mine], *(d[mine] for d in designs)) ** 2).sum()
        total += n * np.log(rss / n)
        mean += n * (_digamma((n - p) / 2) + np.log(2 / n))
        n_parameters += p + 1
    return total, mean, n_parameters


def _digamma(value):
    from scipy.special import digamma

    return digamma(value)


@pytest.mark.parametrize("given", [(), ("z",), ("b",), ("b", "z")])
@pytest.mark.parametrize("other", ["k", "y"])
def test_likelihood_ratios_of_regressions_are_scaled_to_their_mean(given, other):
    rows = numbers(n=200)
    target = rows.column("x")
    designs = [rows.column(name) for name in given if name == "z"]
    groups = rows.column("b").astype(int) if "b" in given else np.zeros(200, int)
    less = likelihood(target, designs, groups)
    if other == "k":
        more = likelihood(target, designs, groups * 3 + rows.column("k"))
    else:
        more = likelihood(target, [*designs, rows.column("y")], groups)
    ratio, mean, df = less[0] - more[0], less[1] - more[1], more[2] - less[2]
    found = ind.test(rows, "x", other, given, by=ind.LikelihoodRatio())
    assert found.df == df
    assert found.statistic == pytest.approx(ratio * df / mean)
    assert found.p_value == pytest.approx(stats.chi2.sf(ratio * df / mean, df))
    assert found == ind.test(rows, "x", other, given, by=ind.LikelihoodRatio())


def test_discrete_variables_given_numbers_are_tested_by_logistic_regression():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression

    rows = numbers(n=300)
    z, b, k = rows.column("z"), rows.column("b"), rows.column("k")

    def fitted(some):
        model = LogisticRegression(C=1e10, max_iter=5000, tol=1e-10).fit(z[some, None], b[some])
        return model.predict_log_proba(z[some, None])[np.arange(some.sum()), b[some]].sum()

    less = fitted(np.ones(300, bool))
    more = sum(fitted(k == state) for state in range(3))
    found = ind.test(rows, "k", "b", ["z"], by=ind.LikelihoodRatio())
    assert found.df == 4
    assert found.statistic == pytest.approx(2 * (more - less), rel=1e-4)


def test_discrete_variables_alone_have_g_square():
    rows = numbers(n=300)
    one = ind.test(rows, "k", "b", by=ind.LikelihoodRatio())
    two = ind.test(rows, "k", "b", by=ind.GSquare(adjusted=True))
    assert (one.statistic, one.df, one.p_value) == (two.statistic, two.df, two.p_value)


def test_rows_in_parts_give_the_same_mixed_tests():
    rows = numbers(n=200)
    parts = Batches(rows.schema, [rows.take(slice(0, 70)), rows.take(slice(70, 200))])
    for asked in (("x", "k", ["b"]), ("x", "y", ["z", "k"]), ("k", "b", ["x"]), ("k", "b", ["z"])):
        one = ind.test(rows, *asked, by=ind.LikelihoodRatio())
        two = ind.test(parts, *asked, by=ind.LikelihoodRatio())
        assert two.statistic == pytest.approx(one.statistic, rel=1e-6)
        assert (two.df, two.n_rows) == (one.df, one.n_rows)


def of_sources(n=150):
    return cs.read(
        {f"s{seed}": numbers(seed, n + 10 * seed).to_frame() for seed in range(3)},
        discrete=["k", "b"],
        continuous=["x", "y", "z"],
    )


@pytest.mark.parametrize(
    ("test", "x", "y"),
    [
        (ind.GSquare(), "k", "b"),
        (ind.PearsonX2(adjusted=True), "k", "b"),
        (ind.LikelihoodRatio(), "x", "k"),
        (ind.LikelihoodRatio(), "x", "y"),
    ],
    ids=repr,
)
def test_statistics_and_degrees_of_freedom_of_sources_add_up(test, x, y):
    alone = [ind.test(numbers(s, 150 + 10 * s), x, y, by=test) for s in range(3)]
    found = ind.test(of_sources(), x, y, by=ind.Stratified(of=test))
    assert found.statistic == pytest.approx(sum(one.statistic for one in alone))
    assert found.df == sum(one.df for one in alone)
    assert found.n_rows == sum(one.n_rows for one in alone)


@pytest.mark.parametrize("test", [ind.ExactT(), ind.FisherZ()], ids=repr)
def test_t_and_z_of_sources_add_up_as_chi_square_of_the_same_p(test):
    alone = [ind.test(numbers(s, 150 + 10 * s), "x", "y", ["z"], by=test) for s in range(3)]
    found = ind.test(of_sources(), "x", "y", ["z"], by=ind.Stratified(of=test))
    assert found.df == 3
    assert found.statistic == pytest.approx(sum(stats.chi2.isf(one.p_value, 1) for one in alone))


@pytest.mark.parametrize("way", ["fisher", "stouffer"])
def test_combined_p_values_are_those_of_scipy(way):
    test = ind.GSquare()
    alone = [ind.test(numbers(s, 150 + 10 * s), "k", "b", by=test) for s in range(3)]
    weights = [np.sqrt(one.n_rows) for one in alone]
    by_scipy = stats.combine_pvalues(
        [one.p_value for one in alone], way, None if way == "fisher" else weights
    )
    found = ind.test(of_sources(), "k", "b", by=ind.Combined(of=test, by=way))
    assert (found.statistic, found.p_value) == pytest.approx(tuple(by_scipy))


def test_margins_that_differ_between_sources_fake_no_dependence():
    rng = np.random.default_rng(2)
    frames = {
        name: {"x": rng.binomial(1, p, 400).astype(str), "y": rng.binomial(1, p, 400).astype(str)}
        for name, p in (("u", 0.2), ("v", 0.8))
    }
    rows = cs.read(frames)
    assert ind.test(rows, "x", "y").is_independent
    assert not ind.test(rows, "x", "y", by=ind.GSquare()).is_independent
    assert cs.learn(rows, search=cs.PC()).arcs == ()


P_VALUES = {
    "X²": (ind.PearsonX2(), 3, 3, False),
    "permutation": (ind.Permutation(of=ind.PearsonX2(), draws=99), 3, 3, False),
    "mixed": (ind.LikelihoodRatio(), 4, 0, False),
    "exact t": (ind.ExactT(), 0, 0, True),
}


@pytest.mark.parametrize("name", P_VALUES)
def test_p_values_of_independent_variables_are_uniform(name):
    test, r, c, _ = P_VALUES[name]
    rng = np.random.default_rng(7)
    columns, discrete = {}, []
    for i in range(150):
        for side, n_states in (("x", r), ("y", c)):
            column = rng.normal(size=250) if not n_states else rng.integers(0, n_states, 250)
            columns[f"{side}{i}"] = column.astype(str) if n_states else column
            discrete += [f"{side}{i}"] * bool(n_states)
    rows = cs.read(columns, discrete=discrete)
    found = ind.tests(rows, [(f"x{i}", f"y{i}") for i in range(150)], by=test)
    assert stats.kstest([one.p_value for one in found], "uniform").pvalue > 0.001
