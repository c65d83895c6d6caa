"""Hidden continuous nodes of networks without time: factors."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import DataError, InputError

FACTOR = cs.DAG([("g", child) for child in "abcde"])


def five_columns(rng, n_rows=2000):
    factor = rng.normal(size=n_rows)
    loadings, sds = np.array([1.0, -0.8, 0.5, 1.2, 0.3]), np.array([0.5, 1.0, 1.5, 0.7, 1.0])
    return 3.0 + factor[:, None] * loadings + sds * rng.normal(size=(n_rows, 5))


def test_a_hidden_root_with_gaussian_children_is_factor_analysis():
    from sklearn.decomposition import FactorAnalysis

    rows = five_columns(np.random.default_rng(1))
    story = cs.em(FACTOR, cs.read(dict(zip("abcde", rows.T, strict=True))), hidden={"g": float})
    peer = FactorAnalysis(1, tol=1e-10, max_iter=100_000, svd_method="lapack").fit(rows)
    found = np.array([story.network[child].coefficients.item() for child in "abcde"])
    wanted = peer.components_[0] * np.sign(peer.components_[0, 0])
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert story.log_likelihood == pytest.approx(peer.score(rows) * len(rows), rel=1e-9)
    variances = [story.network[child].variance.item() for child in "abcde"]
    np.testing.assert_allclose(variances, peer.noise_variance_, rtol=1e-4)


def test_zero_unit_and_sign_follow_the_rule_from_any_start():
    rows = cs.read(dict(zip("abcde", five_columns(np.random.default_rng(2), 300).T, strict=True)))
    nets = [cs.fit(FACTOR, rows, hidden={"g": float}, seed=seed) for seed in (1, 2)]
    for net in nets:
        assert net["g"].parameters.tolist() == pytest.approx([0.0, 1.0])
        assert net["a"].coefficients.item() > 0
        assert any("zero, unit and sign" in note for note in net.record.notes)
    for child in "abcde":
        np.testing.assert_allclose(nets[0][child].parameters, nets[1][child].parameters, atol=1e-4)


def mixed_rows(rng, n_rows=120):
    group = rng.integers(0, 2, n_rows)
    other = np.where(rng.random(n_rows) < 0.2 + 0.5 * group, 1, 0)
    factor = rng.normal(size=n_rows)
    x = group + (1.0 + group) * factor + 0.5 * rng.normal(size=n_rows)
    y = 2.0 - 0.7 * factor + rng.normal(size=n_rows)
    w = 0.5 * x + factor + rng.normal(size=n_rows)
    x[:10] = np.nan
    return cs.read(
        {
            "group": np.array(["u", "v"])[group],
            "other": [None, None, *np.array(["p", "q"])[other][2:]],
            "x": x,
            "y": y,
            "w": w,
        }
    )


MIXED = cs.DAG([("group", "other"), ("group", "x"), ("g", "x"), ("g", "y"), ("g", "w"), ("x", "w")])


def quadrature(net, table):
    """Log-likelihood of all rows by brute-force integration over the hidden node."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    total = 0.0
    frame = table.to_frame()
    for row in frame.itertuples():
        like = 0.0
        for state, other in ((row.group, o) for o in ("p", "q")):
            if row.other in ("p", "q") and row.other != other:
                continue
            group = net["group"].child.states.index(state)
            prob = net["group"].table[group]
            prob *= net["other"].table[group, net["other"].child.states.index(other)]
            xs, at_x = ([row.x], [1.0]) if row.x == row.x else (None, None)
            inner = 0.0
            for g, weight in zip(nodes, weights, strict=True):
                local = net["x"]
                mean_x = local.intercept[group] + local.coefficients[group, 0] * g
                if xs is None:
                    points = mean_x + local.sd[group] * nodes
                    at_x_now = weights
                else:
                    points, at_x_now = np.array(xs), np.array(at_x)
                    at_x_now = at_x_now * density(points, mean_x, local.sd[group])
                w = net["w"]
                slopes = dict(zip(w.parents, w.coefficients, strict=True))
                mean_w = w.intercept + slopes["g"] * g + slopes["x"] * points
                y = net["y"]
                part = density(row.y, y.intercept + y.coefficients[0] * g, y.sd)
                inner += weight * part * (at_x_now * density(row.w, mean_w, w.sd)).sum()
            like += prob * inner
        total += np.log(like)
    return total


def density(x, mean, sd):
    return np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))


def test_with_discrete_nodes_and_gaps_the_likelihood_is_that_of_quadrature():
    table = mixed_rows(np.random.default_rng(5), 60)
    story = cs.em(MIXED, table, cs.MLE(), hidden={"g": float}, choice=cs.EM(restarts=0))
    assert story.log_likelihood == pytest.approx(quadrature(story.network, table), rel=1e-7)
    assert (np.diff(story.objective) >= -1e-8).all()


def test_the_end_of_the_climb_is_a_top():
    table = mixed_rows(np.random.default_rng(6))
    story = cs.em(MIXED, table, cs.MLE(unbiased=False), hidden={"g": float})
    net = story.network
    for name in ("x", "y", "w"):
        local = net[name]
        for place in np.ndindex(local.parameters.shape):
            for step in (-1e-3, 1e-3):
                numbers = np.array(local.parameters)
                numbers[place] += step
                moved = cs.Network(
                    {**net.distributions, name: local.with_parameters(numbers)}, net.source
                )
                wide = cs.read(table.to_frame().assign(g=np.nan), schema=dict(net.variables))
                assert moved.log_likelihood(wide).sum() <= story.log_likelihood + 1e-6


def test_a_hidden_node_may_depend_on_groups_and_on_another_one():
    rng = np.random.default_rng(7)
    group = rng.integers(0, 2, 400)
    skill = 1.5 * group + rng.normal(size=400)
    deep = 0.8 * skill + 0.5 * rng.normal(size=400)
    noise = rng.normal(size=(4, 400))
    table = cs.read(
        {
            "group": np.array(["u", "v"])[group],
            **{f"x{i}": skill + 0.5 * noise[i] for i in range(2)},
            **{f"y{i}": deep + 0.5 * noise[2 + i] for i in range(2)},
        }
    )
    arcs = [("group", "skill"), ("skill", "deep"), ("skill", "x0"), ("skill", "x1")]
    dag = cs.DAG([*arcs, ("deep", "y0"), ("deep", "y1")])
    net = cs.fit(dag, table, cs.MLE(), hidden={"skill": float, "deep": float}, seed=3)
    at = net.variables["group"].states.index("v")
    first = net.variables["group"].states[0]
    away = net["skill"].intercept[1] * (1 if at == 1 else -1)
    assert net["skill"].intercept[0] == pytest.approx(0.0)
    assert net["skill"].sd[0] == pytest.approx(1.0), first
    assert away == pytest.approx(1.5, abs=0.3)
    assert net["x0"].coefficients.item() > 0


def test_several_sources_are_served():
    rows = five_columns(np.random.default_rng(8), 200)
    frame = dict(zip("abcde", rows.T, strict=True))
    table = cs.read({**frame, "site": ["s", "t"] * 100}, source="site")
    net = cs.fit(FACTOR, table, cs.MLE(), hidden={"g": float})
    assert net["b"].coefficients.item() < 0 < net["a"].coefficients.item()


def test_a_discrete_child_of_a_hidden_continuous_node_is_refused_by_name():
    table = cs.read({"a": [1.0, 2.0, 3.5], "kind": ["x", "y", "x"]})
    with pytest.raises(DataError, match="'kind' is a discrete child of 'g'"):
        cs.fit(cs.DAG([("g", "a"), ("g", "kind")]), table, hidden={"g": float})


def test_other_types_than_float_are_refused():
    table = cs.read({"a": [1.0, 2.0, 3.5]})
    with pytest.raises(InputError, match="float"):
        cs.fit(cs.DAG([("g", "a")]), table, hidden={"g": str})
