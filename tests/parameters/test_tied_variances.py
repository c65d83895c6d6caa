"""Residual variances that the joint states of the discrete parents lend each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import InputError
from consilience.parameters.lent_variance import with_lent

FORK = cs.DAG.parse("[g][x|g]")


def read(groups, *, shift=0.0, seed=0):
    """One normal column with so many rows in each group, whose means are ``shift`` apart."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(len(groups)), groups)
    return cs.read({"g": g.astype(str), "x": rng.normal(size=len(g)) + shift * g}, discrete=["g"])


def fitted(table, gaussian=None):
    return cs.fit(FORK, table, gaussian=gaussian)["x"]


@given(
    residual=st.lists(st.floats(0, 100), min_size=1, max_size=5),
    data=st.data(),
    lent=st.floats(0.1, 10),
)
def test_each_joint_state_gets_a_share_of_every_other(residual, data, lent):
    freedom = data.draw(
        st.lists(st.floats(0.5, 50), min_size=len(residual), max_size=len(residual))
    )
    n = len(residual)
    left, free = with_lent(
        np.array(residual),
        np.array(freedom),
        np.ones(n, bool),
        is_constant=np.ones(n, bool),
        lent=lent,
    )
    share = lent / sum(freedom)
    for j in range(n):
        others = [i for i in range(n) if i != j]
        assert left[j] == pytest.approx(residual[j] + share * sum(residual[i] for i in others))
        assert free[j] == pytest.approx(freedom[j] + share * sum(freedom[i] for i in others))


def test_variances_that_truly_differ_are_not_lent():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(0, 1000, 400), rng.normal(0, 1, 400)])
    table = cs.read({"g": ["a"] * 400 + ["b"] * 400, "x": x})
    np.testing.assert_allclose(fitted(table).sd, fitted(table, cs.MLE()).sd, rtol=1e-6)


@pytest.mark.parametrize("source", [None, "h"])
def test_many_rows_of_one_value_keep_their_mean(source):
    rng = np.random.default_rng(3)
    columns = {
        "g": ["a"] * 200 + ["b"] * 200,
        "x": np.append(np.zeros(200), rng.normal(90, 9, 200)),
    }
    if source:
        columns[source] = np.tile(["u", "v"], 200)
    local = fitted(cs.read(columns, source=source))
    np.testing.assert_allclose(local.intercept[..., 0], 0.0, atol=0.5)
    assert ((local.sd[..., 0] > 0) & (local.sd[..., 0] < 3)).all()


def test_one_joint_state_has_the_variance_of_least_squares():
    table = cs.read({"x": [1.5, 2.5, 4.0, 3.0]})
    one = cs.fit(cs.DAG(nodes=["x"]), table)["x"]
    np.testing.assert_array_equal(
        one.parameters, cs.fit(cs.DAG(nodes=["x"]), table, cs.MLE())["x"].parameters
    )


def test_with_many_rows_the_others_do_not_matter():
    table = read([5000, 5000])
    np.testing.assert_allclose(fitted(table).sd, fitted(table, cs.MLE()).sd, rtol=1e-3)


def test_coefficients_are_those_of_least_squares_however_far_groups_are_apart():
    table = read([40, 4, 30], shift=100.0)
    one, plain = fitted(table), fitted(table, cs.MLE())
    np.testing.assert_array_equal(one.intercept, plain.intercept)
    assert (one.sd < 2).all()


def test_two_rows_that_are_close_by_chance_do_not_make_another_row_impossible():
    x = np.append(np.random.default_rng(1).normal(size=60), [0.3, 0.31])
    table = cs.read({"g": ["a"] * 60 + ["b"] * 2, "x": x})
    plain, tied = fitted(table, cs.MLE()), fitted(table)
    assert plain.sd[1] < 0.01
    assert 0.5 < tied.sd[1] < 1.5


@pytest.mark.parametrize("source", [None, "source"])
def test_a_rare_class_is_not_predicted_worse_than_by_its_share(source):
    losses = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        ill = np.arange(260) < 6  # in three of 200 rows, and in three of 60 others
        ill[[3, 4, 5, -1, -2, -3]] = [False, False, False, True, True, True]
        columns = {f"x{i}": rng.normal(size=260) for i in range(4)} | {
            "ill": np.where(ill, "yes", "no"),
            "source": rng.choice(["f", "h"], 260),
        }
        if source is None:
            columns.pop("source")
        states = {"ill": ["no", "yes"]}
        known = cs.read({k: v[:200] for k, v in columns.items()}, states=states, source=source)
        new = cs.read({k: v[200:] for k, v in columns.items()}, states=states, source=source)
        net = cs.fit(cs.naive_bayes(known, target="ill"), known)
        seen = net.posteriors(new, "ill")[np.arange(60), np.asarray(new.columns["ill"])]
        losses.append(-np.log(seen).mean())
    assert max(losses) < 1.0  # 0.22 by the share; least squares: 8 in the worst of them


def test_what_is_lent_must_be_positive():
    with pytest.raises(InputError, match="lent must be positive"):
        cs.estimators.TiedVariances(lent=0)


def test_gaps_end_with_the_same_rule():
    table = read([60, 4])
    columns = table.to_frame()
    columns.loc[:5, "g"] = None
    net = cs.fit(FORK, cs.read(columns, discrete=["g"]))
    plain = cs.fit(FORK, cs.read(columns, discrete=["g"]), gaussian=cs.MLE())
    np.testing.assert_allclose(net["x"].intercept, plain["x"].intercept, atol=1e-6)
    assert (net["x"].sd != plain["x"].sd).all()
