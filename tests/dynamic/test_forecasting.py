"""Forecasts: exact laws against the unrolled network, draws, intervals, inputs."""

from __future__ import annotations

import numpy as np
import pytest
from sequences_made_up import panel_of, random_dynamic, static_given

import consilience as cs
from consilience.dynamic.lagged_names import at
from consilience.errors import InputError, ModelError

dynamic = cs.dynamic


@pytest.mark.parametrize("kind", ["discrete", "linear", "emissions"])
@pytest.mark.parametrize("order", [1, 2])
def test_coming_steps_are_those_of_the_unrolled_network(kind, order):
    rng = np.random.default_rng(order)
    net = random_dynamic(rng, kind=kind, order=order, n_nodes=3, n_hidden=1)
    panel = panel_of(rng, net, [3, 1])
    future = net.forecast(panel, 2)
    for s in range(2):
        length = int(panel.lengths[s])
        unrolled, given = net.unroll(length + 2), static_given(net, panel, s)
        for h in range(2):
            for name in net.transition:
                wanted = unrolled.query(at(name, length + h), given=given)
                if net.variables[name].is_continuous:
                    assert future.mean[name][2 * s + h] == pytest.approx(float(wanted.mean))
                    assert future.sd[name][2 * s + h] ** 2 == pytest.approx(float(wanted.variance))
                else:
                    np.testing.assert_allclose(
                        future.probabilities[name][2 * s + h], wanted.values, atol=1e-10
                    )


def var_panel(length=60, seed=0):
    net = dynamic.from_var(["a", "b"], [1.0, 0.0], [[[0.6, 0.2], [0.0, 0.5]]], np.eye(2))
    frame = net.sample(2, length, seed=seed).to_frame()
    return dynamic.read_panel(frame, sequence="sequence", time="time")


def test_intervals_are_normal_without_hidden_states():
    panel = var_panel()
    net = dynamic.fit(dynamic.vector_autoregression(["a", "b"]), panel, cs.MLE())
    future = net.forecast(panel, 3)
    ends = future.interval("a", 0.9)
    np.testing.assert_allclose(ends.mean(axis=1), future.mean["a"], rtol=1e-9)
    np.testing.assert_allclose(np.diff(ends)[:, 0] / future.sd["a"], 2 * 1.6448536, rtol=1e-6)
    assert future.panel.times.tolist() == [60, 61, 62, 60, 61, 62]
    assert list(future.to_frame().columns[:4]) == ["sequence", "time", "a", "a sd"]
    with pytest.raises(InputError, match="level"):
        future.interval("a", 1.5)


def test_draws_are_wider_and_come_back_with_their_seed():
    panel = var_panel(20)
    dag = dynamic.vector_autoregression(["a", "b"])
    for estimator in (cs.MLE(), cs.estimators.NormalInverseGamma()):
        net = dynamic.fit(dag, panel, estimator)
        plain, drawn = net.forecast(panel, 2), net.forecast(panel, 2, draws=600, seed=1)
        assert (drawn.sd["a"] > plain.sd["a"] * 0.95).all()
        np.testing.assert_allclose(drawn.mean["a"], plain.mean["a"], atol=0.4)
        again = net.forecast(panel, 2, draws=600, seed=1)
        np.testing.assert_array_equal(again.drawn["a"], drawn.drawn["a"])


def test_draws_of_hidden_states_agree_with_the_exact_law():
    hmm = dynamic.from_hmm([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]])
    frame = hmm.sample(40, 20, seed=3).to_frame()
    panel = dynamic.read_panel(
        frame, sequence="sequence", time="time", columns=["x"], discrete=["x"]
    )
    net = dynamic.fit(
        dynamic.hidden_markov(["x"]),
        panel,
        cs.Dirichlet(ess=1),
        hidden={"z": 2},
        gaps=cs.EM(restarts=0),
    )
    few = panel.take(["1", "2"])
    exact, drawn = net.forecast(few, 2), net.forecast(few, 2, draws=1500, seed=2)
    np.testing.assert_allclose(drawn.probabilities["z"], exact.probabilities["z"], atol=0.06)
    np.testing.assert_allclose(drawn.probabilities["x"], exact.probabilities["x"], atol=0.06)


def test_a_distribution_without_a_posterior_cannot_be_drawn():
    net = dynamic.from_var(["a"], [0.0], [[[0.5]]], [[1.0]])
    panel = dynamic.read_panel({"a": [0.5, 1.5]})
    with pytest.raises(ModelError, match="'a' has no posterior"):
        net.forecast(panel, 2, draws=10)


def test_inputs_are_needed_for_every_step():
    rows = {"dose": [0.5, 1.5, 0.25, 2.5, 1.0, 0.0, 3.5], "y": [1.0, 2.5, 1.5, 3.0, 2.0, 1.5, 4.5]}
    panel = dynamic.read_panel(rows, inputs=["dose"], continuous=["dose", "y"])
    net = dynamic.fit(cs.DAG([("dose", "y"), ("y(t-1)", "y")]), panel, cs.MLE())
    assert net.inputs == ("dose",)
    with pytest.raises(InputError, match="needed for every step"):
        net.forecast(panel, 2)
    low = net.forecast(panel, 2, inputs={"dose": [0.0, 0.0]})
    high = net.forecast(panel, 2, inputs={"dose": [1.0, 0.0]})
    slope = dict(zip(net["y"].parents, net["y"].coefficients, strict=True))["dose"]
    assert high.mean["y"][0] - low.mean["y"][0] == pytest.approx(slope)
    with pytest.raises(cs.ConsilienceError, match="inputs need 2 rows, one a step; got 1"):
        net.forecast(panel, 2, inputs={"dose": [0.5]})
    with pytest.raises(cs.ConsilienceError, match="no value in row 2"):
        net.forecast(panel, 2, inputs={"dose": [0.5, None]})
    with pytest.raises(cs.ConsilienceError, match="no value in any row; give it a column"):
        net.forecast(panel, 2, inputs={"dosis": [0.5, 1.0]})
