from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as cs
from consilience.errors import InputError, ModelError


def fitted(n: int = 200, seed: int = 1) -> cs.Network:
    dag = cs.random_dag(["a", "b", "c", "d"], p_arc=0.6, max_parents=2, seed=seed)
    truth = cs.random_network(dag, n_states=2, seed=seed)
    return cs.fit(dag, truth.sample(n, seed=seed), cs.Dirichlet(per_cell=1))


def test_a_root_has_the_interval_of_its_beta_posterior():
    table = cs.read({"x": ["a"] * 12 + ["b"] * 30})
    net = cs.fit(cs.DAG(nodes=["x"]), table, cs.Dirichlet(per_cell=1))
    found = cs.intervals(net, "x", level=0.9, draws=4_000)
    expected = stats.beta(13, 31).ppf([0.05, 0.95])
    assert found["a"] == pytest.approx(expected, abs=0.012)
    assert found.answer == pytest.approx([13 / 44, 31 / 44])


def test_tables_at_once_are_networks_one_by_one():
    net = fitted()
    given = {"d": net.variables["d"].discrete_states[1]}
    found = cs.intervals(net, "a", given, draws=1000, seed=3)
    each = [one.query("a", given).values for one in cs.draws(net, 1000, seed=4)]
    assert found.sd == pytest.approx(np.std(each, axis=0), rel=0.12)
    assert found.low == pytest.approx(np.quantile(each, 0.025, axis=0), abs=4 * found.sd[0] / 25)


def test_an_event_is_the_sum_of_its_states():
    net = fitted()
    state = net.variables["a"].discrete_states[0]
    one = cs.intervals(net, {"a": state}, seed=1)
    assert one.low[0] == pytest.approx(cs.intervals(net, "a", seed=1).low[0])


def sources() -> cs.Table:
    rng = np.random.default_rng(1)
    shares = {"s": (60, 0.2), "t": (60, 0.6), "u": (10, 0.4)}
    return cs.read(
        {
            name: {"x": np.where(rng.random(n) < p, "yes", "no").tolist()}
            for name, (n, p) in shares.items()
        }
    )


def test_sources_a_new_one_all_and_a_difference():
    net = cs.fit(cs.DAG(nodes=["x"]), sources(), cs.HDMCS(s=cs.Gamma(4, 0.1)))
    width = {}
    for name in ("s", "u", "new_source"):
        low, high = cs.intervals(net, "x", {"source": name})["yes"]
        width[name] = high - low
    assert width["s"] < width["u"] < width["new_source"]
    everyone = cs.intervals(net, "x")
    assert np.ptp(everyone["yes"]) < width["s"]
    difference = cs.intervals(net, "x", between=("s", "t"))
    assert difference["yes"][1] < 0
    assert difference.answer == pytest.approx(
        net.query("x", {"source": "s"}).values - net.query("x", {"source": "t"}).values
    )
    assert difference.between == ("s", "t")


def test_continuous_answers_have_intervals_of_mean_and_sd():
    rng = np.random.default_rng(2)
    table = cs.read({"x": rng.normal(5.0, 2.0, 50).tolist()})
    net = cs.fit(cs.DAG(nodes=["x"]), table, cs.estimators.NormalInverseGamma())
    found = cs.intervals(net, "x", draws=500)
    assert found.states == ("mean", "sd")
    assert found.sd[0] == pytest.approx(2.0 / np.sqrt(50), rel=0.3)


def test_only_what_matters_needs_a_posterior():
    rows = cs.read({"a": ["x", "y"] * 10, "b": ["x", "x", "y", "y"] * 5})
    net = cs.fit(cs.DAG([("a", "b")]), rows, cs.Dirichlet(per_cell=1))
    plain = net["b"].with_parameters(net["b"].table)
    mixed = cs.Network({"a": net["a"], "b": plain})
    assert cs.intervals(mixed, "a").low.shape == (2,)
    with pytest.raises(ModelError, match="'b' has no posterior"):
        cs.intervals(mixed, "b")


def test_mistakes_are_named():
    net = fitted()
    with pytest.raises(InputError, match="level"):
        cs.intervals(net, "a", level=1.5)
    with pytest.raises(InputError, match="'a' is given"):
        cs.intervals(net, "a", {"a": net.variables["a"].discrete_states[0]})


@pytest.mark.parametrize("level", ["high", None, 0.0, 1.5])
def test_a_level_that_is_no_share_is_refused(level):
    net = cs.fit(cs.DAG(nodes=["x"]), cs.read({"x": ["a", "b"]}), cs.Dirichlet(per_cell=1))
    with pytest.raises(InputError, match="level"):
        cs.intervals(net, "x", level=level)


def test_a_node_below_what_is_asked_and_given_needs_no_posterior():
    rows = {"ill": ["yes", "no"] * 6, "fever": np.linspace(36.0, 41.0, 12)}
    net = cs.fit(cs.DAG.parse("[ill][fever|ill]"), cs.read(rows, continuous=["fever"]))
    alone = cs.fit(cs.DAG(nodes=["ill"]), cs.read({"ill": rows["ill"]}))
    assert cs.intervals(net, "ill")["yes"] == cs.intervals(alone, "ill")["yes"]
    bare = cs.Network(
        {**net.distributions, "fever": net["fever"].with_parameters(net["fever"].parameters)}
    )
    with pytest.raises(ModelError, match="'fever' has no posterior"):
        cs.intervals(bare, "ill", {"fever": 38.0})


def test_a_default_fit_of_numbers_in_one_source_has_intervals():
    rng = np.random.default_rng(3)
    dose = rng.normal(50.0, 5.0, 40)
    rows = {"dose": dose, "effect": 2.0 + 0.3 * dose + rng.normal(0.0, 1.0, 40)}
    net = cs.fit(cs.DAG([("dose", "effect")]), cs.read(rows))
    found = cs.intervals(net, "effect", {"dose": 52.0}, level=0.9, draws=4000, seed=1)
    x = np.column_stack([np.ones(40), dose])
    beta, left, *_ = np.linalg.lstsq(x, rows["effect"], rcond=None)
    at = np.array([1.0, 52.0])
    error = np.sqrt(left[0] / 38 * at @ np.linalg.inv(x.T @ x) @ at)
    classical = at @ beta + error * stats.t(38).ppf([0.05, 0.95])
    np.testing.assert_allclose(found["mean"], classical, atol=0.05 * error)
