"""Rows and networks at the edges of the one path: overruns, open nodes, point masses, outliers."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError, ModelError
from consilience.inference.ways import Exact

X, D = cs.Variable("x"), cs.Variable("d", ("0", "1"))
ILL = cs.Variable("ill", ("no", "yes"))


def rows(net: cs.Network, columns: dict[str, list[object]]) -> cs.Table:
    return cs.read(columns, schema=net.variables)


def test_likelihoods_that_rows_lack_do_not_overrun_the_lists_of_hidden_sets():
    a, b, c, e = (cs.Variable(name, ("0", "1")) for name in ("a", "b", "c", "e"))
    noisy = [[0.8, 0.2], [0.3, 0.7]]
    mean = np.array([[0.0, 1.0], [2.0, 4.0]])
    net = cs.Network.of(
        [
            cs.Categorical(a, (), [0.4, 0.6]),
            cs.Categorical(b, (), [0.5, 0.5]),
            cs.Categorical(c, (a,), noisy),
            cs.Categorical(e, (b,), noisy),
            cs.LinearGaussian(X, (a, b), mean, np.zeros((2, 2, 0)), np.ones((2, 2))),
        ]
    )
    table = net.sample(3000, seed=1)
    columns = {name: column.copy() for name, column in table.columns.items()}
    columns["x"][:2700] = np.nan
    for name in ("a", "b"):
        columns[name][:2705] = -1
    holed = cs.Table(table.schema, columns)
    story = cs.em(net.dag, holed, cs.MLE())
    assert story.log_likelihood == pytest.approx(
        story.network.log_likelihood(holed).sum(), rel=1e-9
    )
    found = cs.expected_counts(net, holed)
    belief = net.posteriors(holed.select(["b", "c", "e", "x"]), "a")
    known = columns["a"] >= 0
    total = belief[~known].sum(axis=0) + np.bincount(columns["a"][known], minlength=2)
    np.testing.assert_allclose(found["a"], total, rtol=1e-9)


def test_an_open_logistic_node_that_leads_to_nothing_adds_nothing():
    c = cs.Variable("c", ("0", "1"))
    net = cs.Network.of(
        [
            cs.LinearGaussian(X, (), 0.0, [], 1.0),
            cs.Logistic(ILL, (X,), [0.0, -5.0], [[0.0], [0.5]]),
            cs.Categorical(c, (ILL,), [[0.9, 0.1], [0.1, 0.9]]),
        ]
    )
    nothing = rows(net, {"x": [None], "ill": [None], "c": [None]})
    assert net.log_likelihood(nothing)[0] == pytest.approx(0.0, abs=1e-12)
    for name in ("ill", "c"):
        np.testing.assert_allclose(
            net.posteriors(nothing, name)[0], net.query(name).values, atol=1e-8
        )


def test_mixtures_of_normals_are_fitted_from_rows_alone():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    table = cs.read({"a": rng.normal(z * 4.0, 1), "b": rng.normal(-3.0 * z, 1.0 + z)})
    dag = cs.DAG([("h", "a"), ("h", "b")])
    story = cs.em(dag, table, cs.MLE(), hidden={"h": 2})
    assert story.log_likelihood == pytest.approx(-1146.09, abs=0.1)
    assert cs.gaps.variational(dag, table, hidden={"h": 2}).bound < story.log_likelihood


def test_an_outlier_in_the_only_state_left_stays_possible():
    e = cs.Variable("e", ("p", "q"))
    net = cs.Network.of(
        [
            cs.Categorical(D, (), [0.5, 0.5]),
            cs.Categorical(e, (D,), [[1.0, 0.0], [0.5, 0.5]]),
            cs.LinearGaussian(X, (D,), [0.0, 50.0], np.zeros((2, 0)), [1.0, 1.0]),
        ]
    )
    two = rows(net, {"d": [None, None], "e": ["q", "p"], "x": [0.0, 50.0]})
    assert np.isfinite(net.log_likelihood(two)).all()
    np.testing.assert_allclose(cs.expected_counts(net, two)["d"], [0.0, 2.0], atol=1e-12)
    six = rows(
        net,
        {
            "d": [None, None, "0", "0", "1", "1"],
            "e": ["q", "p", "p", "p", "q", "p"],
            "x": [0.0, 50.0, 0.1, -0.1, 50.3, 49.0],
        },
    )
    assert cs.em(net.dag, six, cs.MLE(), start=net).log_likelihood == pytest.approx(-23.05, abs=0.1)


def test_a_point_mass_beats_a_density_whatever_the_row_knows():
    net = cs.Network.of(
        [
            cs.Categorical(D, (), [0.5, 0.5]),
            cs.LinearGaussian(X, (D,), [0.0, 0.0], np.zeros((2, 0)), [0.0, 0.1]),
        ]
    )
    seen = rows(net, {"d": [None], "x": [0.0]})
    np.testing.assert_allclose(net.posteriors(seen, "d"), [[1.0, 0.0]])


def test_soft_evidence_minds_only_what_it_is_joined_to():
    net = cs.Network.of(
        [
            cs.Categorical(D, (), [0.3, 0.7]),
            cs.LinearGaussian(X, (), 0.0, [], 1.0),
            cs.Logistic(ILL, (X,), [0.0, -1.0], [[0.0], [0.5]]),
        ]
    )
    given = {"ill": "yes", "d": cs.Soft({"0": 0.5, "1": 0.5})}
    np.testing.assert_allclose(net.query("d", given=given).values, [0.5, 0.5])


def test_draws_refuse_a_sd_of_zero_by_name():
    rng = np.random.default_rng(0)
    x = 1e8 + 1e-8 * rng.normal(size=40)
    x[3] = np.nan
    d = rng.choice(["u", "v"], 40).astype(object)
    d[5] = None
    table = cs.read({"d": d, "x": x, "y": rng.normal(size=40)})
    with pytest.raises(ModelError, match="the sd of 'x'"):
        cs.gaps.augment(
            cs.DAG([("d", "x"), ("x", "y")]), table, chains=2, draws=5, warmup=3, seed=0
        )


def test_a_seed_that_is_none_is_refused_at_once():
    with pytest.raises(InputError, match="seed"):
        Exact(seed="a")
