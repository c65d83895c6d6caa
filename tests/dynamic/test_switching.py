"""Switching networks: collapsed paths of regimes against the exact sum over all of them."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import ndtr

import consilience as cs
from consilience.errors import InputError, MemoryLimitError, ModelError

dynamic = cs.dynamic
REGIMES = np.array([[0.95, 0.05], [0.1, 0.9]])
SLOPES, VARIANCES = (0.95, 0.5), (0.1, 1.5)


def switching():
    states = ("calm", "wild")
    regime, level, x = cs.Variable("s", states), cs.Variable("z"), cs.Variable("x")
    past, before = cs.Variable("s(t-1)", states), cs.Variable("z(t-1)")
    return dynamic.DynamicNetwork(
        cs.Network.of(
            [
                cs.Categorical(cs.Variable("s(0)", states), (), [0.5, 0.5]),
                cs.LinearGaussian(cs.Variable("z(0)"), (), 0.0, [], 1.0),
            ]
        ),
        [
            cs.Categorical(regime, (past,), REGIMES),
            cs.LinearGaussian(
                level, (regime, before), np.zeros(2), np.array(SLOPES)[:, None], np.sqrt(VARIANCES)
            ),
            cs.LinearGaussian(x, (level,), 0.0, [1.0], np.sqrt(0.5)),
        ],
        hidden=("s", "z"),
    )


def rows_of(seed, n=10):
    frame = switching().sample(1, n, seed=seed).to_frame()
    return frame["x"].to_numpy().copy()


def kalman(y, path):
    """Log density of a series and smoothed means and variances given a path of regimes."""
    n = len(y)
    mean, cov = np.zeros(n), np.zeros((n, n))
    cov[0, 0] = 1.0
    for t in range(1, n):
        a = SLOPES[path[t]]
        cov[t, :t] = a * cov[t - 1, :t]
        cov[:t, t] = cov[t, :t]
        cov[t, t] = a**2 * cov[t - 1, t - 1] + VARIANCES[path[t]]
    known = ~np.isnan(y)
    block = cov[np.ix_(known, known)] + 0.5 * np.eye(known.sum())
    gain = np.linalg.solve(block, cov[known]).T
    away = y[known]
    log = -0.5 * (
        known.sum() * np.log(2 * np.pi)
        + np.linalg.slogdet(block)[1]
        + away @ np.linalg.solve(block, away)
    )
    return log, mean + gain @ away, np.diag(cov - gain @ cov[known])


def exact(y):
    logs, paths, means, variances = [], [], [], []
    for path in product([0, 1], repeat=len(y)):
        log, m, v = kalman(y, path)
        log += np.log(0.5) + sum(np.log(REGIMES[a, b]) for a, b in pairwise(path))
        logs.append(log)
        paths.append(path)
        means.append(m)
        variances.append(v)
    total = np.logaddexp.reduce(logs)
    w = np.exp(np.array(logs) - total)
    mean = w @ np.array(means)
    sd = np.sqrt(w @ (np.array(variances) + (np.array(means) - mean) ** 2))
    return total, w @ np.array(paths), mean, sd


def apart(seed, window):
    y = rows_of(seed)
    total, wild, _, _ = exact(y)
    panel = dynamic.read_panel({"x": y}, continuous=["x"])
    beliefs = switching().smooth(panel, by=dynamic.Collapse(window=window))
    log = abs(beliefs.log_likelihood[0] - total)
    return log, np.abs(beliefs.probabilities["s"][:, 1] - wild).max()


@pytest.mark.parametrize("window", [6, 9])
def test_a_window_of_the_whole_sequence_is_exact(window):
    y = rows_of(1, 6)
    y[3] = np.nan
    total, wild, mean, sd = exact(y)
    panel = dynamic.read_panel({"x": y}, continuous=["x"])
    choice = dynamic.Collapse(window=window)
    beliefs = switching().smooth(panel, by=choice)
    assert beliefs.log_likelihood[0] == pytest.approx(total, abs=1e-10)
    assert switching().log_likelihood(panel, by=choice)[0] == pytest.approx(total, abs=1e-10)
    np.testing.assert_allclose(beliefs.probabilities["s"][:, 1], wild, atol=1e-10)
    np.testing.assert_allclose(beliefs.mean["z"], mean, atol=1e-10)
    np.testing.assert_allclose(beliefs.sd["z"], sd, atol=1e-10)
    assert beliefs.approximation == ""


def test_filtering_sees_the_rows_so_far():
    y = rows_of(2, 6)
    panel = dynamic.read_panel({"x": y}, continuous=["x"])
    beliefs = switching().filter(panel, by=dynamic.Collapse(window=6))
    for t in (0, 3, 5):
        _, wild, mean, sd = exact(y[: t + 1])
        assert beliefs.probabilities["s"][t, 1] == pytest.approx(wild[t], abs=1e-10)
        assert beliefs.mean["z"][t] == pytest.approx(mean[t], abs=1e-10)
        assert beliefs.sd["z"][t] == pytest.approx(sd[t], abs=1e-10)


def test_a_window_of_four_is_close_and_says_that_it_is_approximate():
    found = np.array([apart(seed, 4) for seed in range(4)])
    assert found[:, 0].max() < 0.001
    assert found[:, 1].max() < 0.05
    panel = dynamic.read_panel({"x": rows_of(0)}, continuous=["x"])
    beliefs = switching().smooth(panel, by=dynamic.Collapse())
    assert "Collapse(window=4)" in beliefs.approximation
    assert "approximately" in repr(beliefs)


def test_known_regimes_give_the_exact_answers_of_a_filter():
    frame = switching().sample(2, 8, seed=3).to_frame().drop(columns="z")
    wide = dynamic.DynamicNetwork(switching().initial, switching().transition, hidden=("z",))
    panel = dynamic.read_panel(
        frame, sequence="sequence", time="time", continuous=["x"], states={"s": ["calm", "wild"]}
    )
    plain, collapsed = wide.smooth(panel), wide.smooth(panel, by=dynamic.Collapse(window=1))
    np.testing.assert_allclose(plain.log_likelihood, collapsed.log_likelihood, atol=1e-10)
    np.testing.assert_allclose(plain.mean["z"], collapsed.mean["z"], atol=1e-10)
    np.testing.assert_allclose(plain.sd["z"], collapsed.sd["z"], atol=1e-10)


def test_what_is_exact_anyhow_is_so_by_collapsing_all():
    net = dynamic.from_hmm([0.6, 0.4], [[0.9, 0.1], [0.3, 0.7]], [[0.8, 0.2], [0.3, 0.7]])
    panel = net.sample(2, 7, seed=1)
    plain, collapsed = net.smooth(panel), net.smooth(panel, by=dynamic.Collapse(window=7))
    np.testing.assert_allclose(plain.probabilities["z"], collapsed.probabilities["z"], atol=1e-12)
    np.testing.assert_allclose(plain.log_likelihood, collapsed.log_likelihood, atol=1e-12)


def test_without_a_choice_the_cost_is_refused_and_the_choice_named():
    panel = dynamic.read_panel({"x": rows_of(0)}, continuous=["x"])
    with pytest.raises(ModelError, match="Collapse"):
        switching().smooth(panel)
    with pytest.raises(MemoryLimitError, match="window"):
        switching().smooth(panel, by=dynamic.Collapse(window=10), memory_limit=2**16)
    with pytest.raises(InputError, match="Collapse"):
        switching().smooth(panel, by=4)
    with pytest.raises(InputError, match="window"):
        dynamic.Collapse(window=0)


def test_a_forecast_by_collapsing_is_the_mixture_over_all_paths():
    y = rows_of(4, 5)
    panel = dynamic.read_panel({"x": y}, continuous=["x"])
    future = switching().forecast(panel, 3, by=dynamic.Collapse(window=8))
    longer = np.append(y, [np.nan] * 3)
    _, wild, mean, sd = exact(longer)
    np.testing.assert_allclose(future.probabilities["s"][:, 1], wild[5:], atol=1e-10)
    np.testing.assert_allclose(future.mean["z"], mean[5:], atol=1e-10)
    np.testing.assert_allclose(future.mean["x"], mean[5:], atol=1e-10)
    np.testing.assert_allclose(future.sd["x"], np.sqrt(sd[5:] ** 2 + 0.5), atol=1e-10)
    assert future.approximation == ""
    low, high = future.interval("x", 0.8)[2]
    weights, means, sds = future.parts["x"]
    below = [float(weights[2] @ ndtr((end - means[2]) / sds[2])) for end in (low, high)]
    np.testing.assert_allclose(below, [0.1, 0.9], atol=1e-9)


def test_a_forecast_with_a_short_window_says_that_it_is_approximate():
    y = rows_of(4, 7)
    panel = dynamic.read_panel({"x": y}, continuous=["x"])
    future = switching().forecast(panel, 2, by=dynamic.Collapse(window=4))
    _, wild, mean, _ = exact(np.append(y, [np.nan] * 2))
    assert "Collapse(window=4)" in future.approximation
    assert "approximately" in repr(future)
    assert future.probabilities["s"][:, 1] == pytest.approx(wild[-2:], abs=0.05)
    assert future.mean["z"] == pytest.approx(mean[-2:], abs=0.05)
    with pytest.raises(InputError, match="not both"):
        switching().forecast(panel, 2, by=dynamic.Collapse(), draws=5)


def test_an_autoregression_between_regimes_is_forecast_beside_its_recorded_values():
    states = ("a", "b")
    now, past = cs.Variable("s", states), cs.Variable("s(t-1)", states)
    slopes, sds, shift = (0.9, -0.5), (0.5, 1.0), (0.0, 1.0)
    net = dynamic.DynamicNetwork(
        cs.Network.of(
            [
                cs.Categorical(cs.Variable("s(0)", states), (), [0.5, 0.5]),
                cs.LinearGaussian(cs.Variable("x(0)"), (), 0.0, [], 1.0),
            ]
        ),
        [
            cs.Categorical(now, (past,), [[0.9, 0.1], [0.2, 0.8]]),
            cs.LinearGaussian(
                cs.Variable("x"), (now, cs.Variable("x(t-1)")), shift, [[s] for s in slopes], sds
            ),
        ],
        hidden=("s",),
    )
    panel = dynamic.read_panel({"x": [0.3, -0.2, 1.5, 0.1]}, continuous=["x"])
    with pytest.raises(ModelError, match="Collapse"):
        net.forecast(panel, 1)
    future = net.forecast(panel, 1, by=dynamic.Collapse(window=1))
    regime = net.filter(panel).probabilities["s"][-1] @ [[0.9, 0.1], [0.2, 0.8]]
    means = np.array(shift) + np.array(slopes) * 0.1
    assert future.mean["x"][0] == pytest.approx(regime @ means)
    spread = regime @ (np.array(sds) ** 2 + (means - regime @ means) ** 2)
    assert future.sd["x"][0] == pytest.approx(np.sqrt(spread))


def most_probable(y):
    """The best path of regimes, with the most probable levels and missing values, by trying all."""
    best, found = -np.inf, None
    n = len(y)
    for path in product([0, 1], repeat=n):
        prior = np.zeros((n, n))
        prior[0, 0] = 1.0
        for t in range(1, n):
            a = SLOPES[path[t]]
            row = np.eye(n)[t] - a * np.eye(n)[t - 1]
            prior += np.outer(row, row) / VARIANCES[path[t]]
        known = ~np.isnan(y)
        precision = prior + np.diag(known / 0.5)
        level = np.linalg.solve(precision, np.where(known, y, 0.0) / 0.5)
        parts = [np.log(0.5), -0.5 * level[0] ** 2 - 0.5 * np.log(2 * np.pi)]
        for t in range(1, n):
            variance = VARIANCES[path[t]]
            away = level[t] - SLOPES[path[t]] * level[t - 1]
            parts.append(np.log(REGIMES[path[t - 1], path[t]]))
            parts.append(-0.5 * (away**2 / variance + np.log(2 * np.pi * variance)))
        gap = (y - level)[known]
        parts.append(float(-0.5 * (gap @ gap / 0.5 + n * np.log(2 * np.pi * 0.5))))
        if sum(parts) > best:
            best, found = sum(parts), (path, level)
    return best, found


@pytest.mark.parametrize("seed", [1, 5])
def test_the_most_probable_path_is_that_of_trying_all(seed):
    y = rows_of(seed, 8)
    y[4] = np.nan
    best, (states, level) = most_probable(y)
    panel = dynamic.read_panel({"x": y}, continuous=["x"])
    path = switching().mpe(panel, by=dynamic.Collapse(window=8))
    assert path.log_probability[0] == pytest.approx(best, abs=1e-9)
    assert tuple(path.panel.rows.column("s")) == states
    np.testing.assert_allclose(path.panel.rows.column("z"), level, atol=1e-9)
    assert path.approximation == ""


@pytest.mark.parametrize("window", [1, 3])
def test_a_path_found_in_short_windows_has_its_own_probability(window):
    y = rows_of(3, 9)
    best, _ = most_probable(y)
    panel = dynamic.read_panel({"x": y}, continuous=["x"])
    path = switching().mpe(panel, by=dynamic.Collapse(window=window))
    assert best - 1.0 < path.log_probability[0] <= best + 1e-9
    assert "most probable so far" in path.approximation
    filled = path.panel.to_frame()
    frame = {name: filled[name].to_numpy() for name in ("s", "z", "x")}
    whole = dynamic.read_panel(frame, continuous=["z", "x"], states={"s": ["calm", "wild"]})
    plain = dynamic.DynamicNetwork(switching().initial, switching().transition)
    assert plain.log_likelihood(whole)[0] == pytest.approx(path.log_probability[0], abs=1e-9)


def test_what_has_an_exact_answer_is_answered_exactly_though_a_window_is_given():
    net = dynamic.from_var(["x"], [0.0], [[[0.3]], [[0.2]], [[0.1]]], [[1.0]])
    rows = dynamic.read_panel({"x": [1.0, np.nan, 2.0, 1.0, np.nan, 0.0]}, continuous=["x"])
    beliefs = net.smooth(rows, by=dynamic.Collapse(window=1))
    assert beliefs.approximation == ""
    np.testing.assert_array_equal(beliefs.mean["x"], net.smooth(rows).mean["x"])
