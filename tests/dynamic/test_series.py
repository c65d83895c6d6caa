"""Public series: reference numbers computed elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs

pytestmark = pytest.mark.data
dynamic = cs.dynamic
NAMES = ["e", "prod", "rw", "U"]


@pytest.fixture
def nile(data_dir):
    return dynamic.read_panel(data_dir / "series" / "nile.csv", time="year", continuous=["flow"])


@pytest.fixture
def canada(data_dir):
    path = data_dir / "series" / "canada.csv"
    return dynamic.read_panel(path, time="quarter", columns=NAMES, continuous=NAMES)


def two_levels():
    states = ("high", "low")
    z = cs.Variable("z", states)
    return dynamic.DynamicNetwork(
        cs.Network.of([cs.Categorical(cs.Variable("z(0)", states), (), [0.5, 0.5])]),
        [
            cs.Categorical(z, (cs.Variable("z(t-1)", states),), [[0.9, 0.1], [0.1, 0.9]]),
            cs.LinearGaussian(
                cs.Variable("flow"), (z,), [1100, 850], np.zeros((2, 0)), np.sqrt([15000, 15000])
            ),
        ],
        hidden=("z",),
    )


def test_two_levels_of_the_nile(nile):
    start = two_levels()
    assert start.log_likelihood(nile)[0] == pytest.approx(-636.1414061, abs=1e-7)
    story = dynamic.em(
        dynamic.hidden_markov(["flow"]),
        nile,
        cs.MLE(unbiased=False),
        hidden={"z": ["high", "low"]},
        start=start,
        choice=cs.EM(tolerance=1e-12),
    )
    net = story.network
    assert story.log_likelihood == pytest.approx(-629.8044564, abs=1e-6)
    np.testing.assert_allclose(net["flow"].intercept, [1097.1525, 850.7565], atol=1e-3)
    np.testing.assert_allclose(net["flow"].sd, [133.748, 124.446], atol=1e-3)
    high = net.smooth(nile).probabilities["z"][:, 0]
    assert high[nile.times == 1898][0] == pytest.approx(0.83013, abs=1e-5)
    assert high[nile.times == 1899][0] == pytest.approx(0.05347, abs=1e-5)
    path = net.mpe(nile)
    changes = np.flatnonzero(np.diff(path.panel.rows.column("z"))) + 1
    assert nile.times[changes].tolist() == [1899]
    assert path.log_probability[0] == pytest.approx(-630.0572102, abs=1e-6)


def test_canada_is_the_vector_autoregression_of_the_packages(canada):
    net = dynamic.fit(
        dynamic.vector_autoregression(NAMES, order=2),
        canada,
        cs.MLE(unbiased=False),
        initial=dynamic.Conditional(),
    )
    assert net.log_likelihood(canada)[0] == pytest.approx(-175.818568137, abs=1e-8)
    assert net.n_parameters == 46
    first = dynamic.to_var(net).coefficients[0][0]
    np.testing.assert_allclose(first, [1.6378206, 0.1672717, -0.0631186, 0.2655848], atol=1e-7)
    future = net.forecast(canada, 8)
    means = [future.mean[name][-1] for name in NAMES]
    sds = [future.sd[name][-1] for name in NAMES]
    np.testing.assert_allclose(means, [968.482723, 418.711029, 476.145371, 4.126745], atol=1e-5)
    np.testing.assert_allclose(sds, [2.004261, 2.032941, 1.799072, 1.101868], atol=1e-5)


def test_the_order_of_canada(canada):
    by_bic = dynamic.choose_order(canada, range(1, 9))
    assert by_bic.order == 1
    assert by_bic.scores[1] == pytest.approx(-248.113191, abs=1e-5)
    assert by_bic.scores[2] == pytest.approx(-248.228082, abs=1e-5)
    assert dynamic.choose_order(canada, range(1, 9), score=cs.AIC()).order == 3


@pytest.mark.parametrize(("order", "least"), [(1, 107606.73), (2, 122649.63)])
def test_the_graph_of_the_motor(data_dir, order, least):
    panel = dynamic.read_panel(data_dir / "series" / "motor.csv.gz")
    found = dynamic.search(panel, order, score=cs.BIC(), search=cs.HillClimb(tabu=10, restarts=100))
    assert found.score >= least
    assert dynamic.search(panel, order, score=cs.BIC(), seed=1).score > least - 20
    assert all("(t-" not in end for _, end in found.dag.arcs)
