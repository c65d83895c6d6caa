"""Hidden continuous nodes in time: filter, smoother, likelihood, EM, matrices."""

from __future__ import annotations

import numpy as np
import pytest
from gaussian_oracle import differences, whole_sums
from sequences_made_up import panel_of, random_dynamic

import consilience as cs
from consilience.dynamic.evidence_in_time import evidence_of
from consilience.dynamic.timeline import Families, Timeline
from consilience.errors import InputError, MemoryLimitError, ModelError

dynamic = cs.dynamic
LEVEL = cs.DAG([("level(t-1)", "level"), ("level", "flow")])
KNOWN = {
    "level": dynamic.Known(intercept=0.0, coefficients={"level(t-1)": 1.0}),
    "flow": dynamic.Known(intercept=0.0, coefficients={"level": 1.0}),
}


def regression(child, parents, coefficients, sd, intercept=0.0):
    given = tuple(cs.Variable(name) for name in parents)
    return cs.LinearGaussian(cs.Variable(child), given, intercept, coefficients, sd)


def local_level(observation, state, first):
    return dynamic.DynamicNetwork(
        cs.Network.of([regression("level(0)", (), (), np.sqrt(first))]),
        [
            regression("level", ("level(t-1)",), [1.0], np.sqrt(state)),
            regression("flow", ("level",), [1.0], np.sqrt(observation)),
        ],
        hidden=("level",),
    )


def random_state_space(seed, variance=None):
    """A random network with hidden continuous nodes, and a panel of it with gaps."""
    rng = np.random.default_rng(seed)
    order = 1 + seed % 3
    net = random_dynamic(
        rng, kind="linear", order=order, n_nodes=3, n_hidden=1 + seed % 2, inputs=seed % 2
    )
    early = []
    for name, local in net.initial.distributions.items():
        base = name.rsplit("(", 1)[0]
        is_own = base in net.hidden and not dynamic_is_tied(net, name)
        first = rng.uniform(1, 100) if variance is None else variance
        if is_own:
            local = cs.LinearGaussian(
                local.child, (), 0.0 if variance else float(rng.normal()), [], np.sqrt(first)
            )
        early.append(local)
    wide = dynamic.DynamicNetwork(cs.Network.of(early), net.transition, net.hidden, net.inputs)
    return wide, panel_of(rng, net, [order + 3, 1, order], gaps=0.3)


def dynamic_is_tied(net, node):
    name, step = node.rsplit("(", 1)
    lags = [p for p in net.transition[name].parents if "(t-" in p]
    return all(int(p.rsplit("(t-", 1)[1][:-1]) <= int(step[:-1]) for p in lags)


@pytest.mark.parametrize("seed", range(6))
def test_hidden_continuous_nodes_against_the_unrolled_network_in_50_digits(seed):
    assert max(differences(*random_state_space(seed)).values()) < 1e-8


@pytest.mark.parametrize("seed", range(6, 9))
def test_diffuse_first_laws_cost_no_digits(seed):
    assert max(differences(*random_state_space(seed, variance=1e6)).values()) < 1e-8


def sums_apart(net, panel):
    """The largest relative difference of the statistics of EM from sums over the slices."""
    timeline = Timeline(net, evidence_of(net, panel), memory_limit=2**30)
    _, _, sums = timeline.expect(Families.of(net))
    worst, own = 0.0, {name for name in sums if "(" in name}
    for key, one in sums.items():
        early = [k for k in range(net.order) if f"{key}({k})" in own]
        wanted = whole_sums(
            net,
            panel,
            key,
            lambda length, key=key, early=early: (
                [int(key.rsplit("(", 1)[1][:-1])]
                if key in own
                else [t for t in range(length) if t not in early]
            ),
        )
        m = np.array([1.0, *one.mean[0]])
        found = one.weight[0] * np.outer(m, m)
        found[1:, 1:] += one.scatter[0]
        scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
        worst = max(worst, float((np.abs(found - wanted) / scale).max()))
    return worst


@pytest.mark.parametrize("seed", [0, 1, 2, 10])
def test_the_statistics_of_em_are_sums_over_slices(seed):
    assert sums_apart(*random_state_space(seed, variance=1e6 if seed > 9 else None)) < 1e-8


def test_rows_of_a_converged_history_have_the_answers_of_single_steps():
    net = local_level(2.0, 1.0, 5.0)
    panel = dynamic.read_panel(
        net.sample(2, 400, seed=1).to_frame().drop(columns="level"),
        sequence="sequence",
        time="time",
        continuous=["flow"],
    )
    flow = panel.rows.column("flow")[:400]
    mean, variance, log = 0.0, 5.0, 0.0
    for t, y in enumerate(flow):
        variance += 1.0 if t else 0.0
        spread = variance + 2.0
        log -= 0.5 * (np.log(2 * np.pi * spread) + (y - mean) ** 2 / spread)
        mean, variance = mean + variance / spread * (y - mean), 2.0 * variance / spread
    found = net.filter(panel)
    assert found.log_likelihood[0] == pytest.approx(log, rel=1e-12)
    assert found.mean["level"][399] == pytest.approx(mean, rel=1e-12)
    assert found.sd["level"][399] == pytest.approx(np.sqrt(variance), rel=1e-12)


def test_histories_that_do_not_fit_the_memory_are_refused():
    net, rng = local_level(2.0, 1.0, 5.0), np.random.default_rng(0)
    flow = np.where(rng.random(200) < 0.5, np.nan, rng.normal(size=200))
    panel = dynamic.read_panel({"flow": flow}, continuous=["flow"])
    with pytest.raises(MemoryLimitError, match="covariances of 200 rows"):
        net.smooth(panel, memory_limit=80 * 200)


def test_a_level_without_noise_is_a_mean():
    net = local_level(1.0, 0.0, 1e12)
    panel = dynamic.read_panel({"flow": [1.0, 2.0, 6.0]}, continuous=["flow"])
    beliefs = net.smooth(panel)
    np.testing.assert_allclose(beliefs.mean["level"], 3.0, rtol=1e-9)
    np.testing.assert_allclose(beliefs.sd["level"], np.sqrt(1 / 3), rtol=1e-9)


def test_em_keeps_what_is_known_and_never_falls():
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.normal(size=80))
    panel = dynamic.read_panel({"flow": level + rng.normal(size=80)}, continuous=["flow"])
    story = dynamic.em(
        LEVEL, panel, cs.MLE(unbiased=False), hidden={"level": float}, known=KNOWN, seed=1
    )
    assert story.network["level"].coefficients.tolist() == [1.0]
    assert story.network["flow"].intercept.item() == 0.0
    assert (np.diff(story.objective) >= -1e-9).all()
    assert story.network.log_likelihood(panel).sum() == pytest.approx(story.log_likelihood)
    assert any("Known in part" in note for note in story.network.record.notes)


def test_what_nothing_identifies_is_said_in_the_record():
    panel = dynamic.read_panel({"flow": [1.0, 2.0, 1.5, 3.0, 2.5, 1.0]}, continuous=["flow"])
    net = dynamic.fit(LEVEL, panel, hidden={"level": float}, gaps=cs.EM(restarts=0, iterations=20))
    assert any("zero, unit and sign" in note for note in net.record.notes)
    assert net.initial["level(0)"].sd.item() == pytest.approx(1e3)


def test_an_sd_and_a_table_may_be_known():
    rng = np.random.default_rng(3)
    state = np.repeat(rng.integers(0, 2, 30), 5)
    rows = {"x": np.where(state, "a", "b"), "y": rng.normal(size=150)}
    panel = dynamic.read_panel(rows, continuous=["y"])
    dag = cs.DAG([("z(t-1)", "z"), ("z", "x"), ("y(t-1)", "y")])
    table = [[0.9, 0.1], [0.2, 0.8]]
    net = dynamic.fit(
        dag,
        panel,
        cs.MLE(),
        hidden={"z": 2},
        gaps=cs.EM(restarts=0),
        known={"z": dynamic.Known(table=table), "y": dynamic.Known(sd=2.0)},
    )
    assert sorted(net["z"].table.ravel().tolist()) == pytest.approx(sorted(np.ravel(table)))
    assert net["y"].sd.item() == 2.0


def test_known_numbers_of_a_recorded_regression_leave_the_rest_to_least_squares():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=50), rng.normal(size=50)
    y = 1.0 + 2.0 * a - b + rng.normal(size=50)
    panel = dynamic.read_panel({"a": a, "b": b, "y": y}, continuous=["a", "b", "y"])
    dag = cs.DAG([("a", "y"), ("b", "y"), ("y(t-1)", "y")])
    known = {"y": dynamic.Known(intercept=1.0, coefficients={"a": 2.0})}
    net = dynamic.fit(dag, panel, cs.MLE(), known=known)
    rest = (y - 2.0 * a - 1.0)[1:]
    design = np.stack([b[1:], y[:-1]], axis=1)
    slopes, residual = np.linalg.lstsq(design, rest, rcond=None)[:2]
    order = [net["y"].parents.index(name) for name in ("a", "b", "y(t-1)")]
    np.testing.assert_allclose(net["y"].coefficients[order], [2.0, *slopes], rtol=1e-10)
    assert net["y"].sd.item() == pytest.approx(np.sqrt(residual[0] / 47))


@pytest.mark.parametrize(
    ("known", "word"),
    [
        ({"level": dynamic.Known(coefficients={"flow": 1.0})}, "flow"),
        ({"nobody": dynamic.Known(sd=1.0)}, "nobody"),
        ({"level": 3.0}, "Known"),
        ({"level": dynamic.Known(table=[1.0])}, "table"),
        ({"level": dynamic.Known(intercept=[1.0, 2.0])}, "shape"),
        ([1], "map"),
    ],
)
def test_what_cannot_be_known_is_refused_by_name(known, word):
    panel = dynamic.read_panel({"flow": [1.0, 2.0, 1.5]}, continuous=["flow"])
    with pytest.raises(cs.ConsilienceError, match=word):
        dynamic.fit(LEVEL, panel, hidden={"level": float}, known=known)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dynamic.Known(sd=0.0),
        lambda: dynamic.Known(sd="a"),
        lambda: dynamic.Known(coefficients=[1.0]),
        lambda: dynamic.Diffuse(variance=-1.0),
    ],
)
def test_choices_refuse_numbers_that_cannot_be(make):
    with pytest.raises(InputError):
        make()


def test_matrices_of_a_state_space_model_come_back():
    rng = np.random.default_rng(1)
    root, other = rng.normal(size=(3, 3)), rng.normal(size=(2, 2))
    said = {
        "A": 0.3 * rng.normal(size=(3, 3)),
        "C": rng.normal(size=(2, 3)),
        "process": root @ root.T,
        "noise": other @ other.T,
        "B": rng.normal(size=(3, 1)),
        "D": rng.normal(size=(2, 1)),
        "mean": rng.normal(size=3),
        "covariance": np.diag([1.0, 2.0, 3.0]) + 0.5,
    }
    net = dynamic.from_state_space(**said)
    found = dynamic.to_state_space(net)
    for name, wanted in said.items():
        np.testing.assert_allclose(getattr(found, name), wanted, rtol=1e-10, atol=1e-12)
    assert (found.hidden, found.observed, found.inputs) == (
        ("z1", "z2", "z3"),
        ("x1", "x2"),
        ("u1",),
    )


def test_a_model_with_matrices_has_the_textbook_filter():
    rng = np.random.default_rng(2)
    move, show = np.array([[0.8, 0.3], [-0.2, 0.6]]), np.array([[1.0, 0.5]])
    process, noise = np.array([[1.0, 0.4], [0.4, 0.5]]), np.array([[0.7]])
    push, lift = np.array([[0.5], [1.0]]), np.array([[2.0]])
    net = dynamic.from_state_space(
        move, show, process, noise, B=push, D=lift, mean=[1.0, -1.0], covariance=np.eye(2)
    )
    u, y = rng.normal(size=12), rng.normal(size=12)
    y[[3, 4]] = np.nan
    panel = dynamic.read_panel({"x1": y, "u1": u}, continuous=["x1", "u1"], inputs=["u1"])
    found = net.filter(panel)
    m, p, log = np.array([1.0, -1.0]), np.eye(2), 0.0
    for t in range(12):
        if t:
            m, p = move @ m + push[:, 0] * u[t], move @ p @ move.T + process
        if not np.isnan(y[t]):
            spread = (show @ p @ show.T + noise)[0, 0]
            away = y[t] - (show @ m)[0] - lift[0, 0] * u[t]
            log -= 0.5 * (np.log(2 * np.pi * spread) + away**2 / spread)
            gain = (p @ show.T)[:, 0] / spread
            m, p = m + gain * away, p - np.outer(gain, show @ p)
        assert found.mean["z2"][t] == pytest.approx(m[1], rel=1e-10)
        assert found.sd["z1"][t] == pytest.approx(np.sqrt(p[0, 0]), rel=1e-10)
    assert found.log_likelihood[0] == pytest.approx(log, rel=1e-10)


def test_networks_that_are_no_state_space_model_are_refused_by_name():
    with pytest.raises(ModelError, match="to_var"):
        dynamic.to_state_space(dynamic.from_var(["a"], [0.0], [[[0.5]]], [[1.0]]))
    net = dynamic.DynamicNetwork(
        cs.Network.of([regression("z(0)", (), (), 1.0), regression("x(0)", (), (), 1.0)]),
        [
            regression("z", ("z(t-1)",), [1.0], 1.0),
            regression("x", ("z", "x(t-1)"), [1.0, 1.0], 1.0),
        ],
        hidden=("z",),
    )
    with pytest.raises(ModelError, match="'x'"):
        dynamic.to_state_space(net)


@pytest.mark.data
def test_nile_has_the_numbers_of_the_textbook(data_dir):
    path = data_dir / "series" / "nile.csv"
    panel = dynamic.read_panel(path, time="year", continuous=["flow"])
    net = local_level(15099.0, 1469.1, 1e7)
    beliefs, at_1899 = net.smooth(panel), 28
    assert beliefs.log_likelihood[0] == pytest.approx(-641.585578459, abs=1e-8)
    assert beliefs.mean["level"][at_1899] == pytest.approx(950.930012, abs=1e-6)
    assert beliefs.sd["level"][at_1899] == pytest.approx(48.236469, abs=1e-6)
    future = net.forecast(panel, steps=10)
    assert future.mean["flow"][-1] == pytest.approx(798.370293, abs=1e-6)
    assert future.sd["flow"][-1] == pytest.approx(183.908015, abs=1e-6)


@pytest.mark.data
def test_nile_with_forty_years_missing(data_dir):
    import pandas as pd

    frame = pd.read_csv(data_dir / "series" / "nile.csv").astype(float)
    gone = frame.year.between(1891, 1910) | frame.year.between(1931, 1950)
    frame.loc[gone, "flow"] = np.nan
    panel = dynamic.read_panel(frame, time="year", continuous=["flow"])
    beliefs = local_level(15099.0, 1469.1, 1e7).smooth(panel)
    assert beliefs.log_likelihood[0] == pytest.approx(-389.626977526, abs=1e-8)
    assert beliefs.mean["level"][29] == pytest.approx(903.420003, abs=1e-6)
    assert beliefs.sd["level"][29] == pytest.approx(98.564729, abs=1e-6)


@pytest.mark.data
def test_em_of_nile_reaches_the_maximum_in_few_steps(data_dir):
    path = data_dir / "series" / "nile.csv"
    panel = dynamic.read_panel(path, time="year", continuous=["flow"])
    story = dynamic.em(
        LEVEL,
        panel,
        cs.MLE(unbiased=False),
        hidden={"level": float},
        initial=dynamic.Diffuse(variance=1e7),
        known=KNOWN,
        start=local_level(10000.0, 5000.0, 1e7),
    )
    assert story.n_iterations <= 60
    assert story.log_likelihood == pytest.approx(-641.585578346, abs=1e-8)
    assert story.network["flow"].variance.item() == pytest.approx(15099.685, rel=1e-6)
    assert story.network["level"].variance.item() == pytest.approx(1468.500, rel=1e-6)


@pytest.mark.data
def test_gas_in_order_three_with_nearly_diffuse_first_laws(data_dir):
    import pandas as pd

    frame = pd.read_csv(data_dir / "series" / "ukgas.csv")
    frame["y"] = np.log(frame.gas)
    panel = dynamic.read_panel(frame, time="quarter", columns=["y"], continuous=["y"])
    early = ("level(0)", "slope(0)", "season(0)", "season(1)", "season(2)")
    past = ("season(t-1)", "season(t-2)", "season(t-3)")
    net = dynamic.DynamicNetwork(
        cs.Network.of([regression(name, (), (), 100.0) for name in early]),
        [
            regression("level", ("level(t-1)", "slope(t-1)"), [1.0, 1.0], np.sqrt(1e-4)),
            regression("slope", ("slope(t-1)",), [1.0], np.sqrt(1e-5)),
            regression("season", past, [-1.0] * 3, np.sqrt(2e-3)),
            regression("y", ("level", "season"), [1.0, 1.0], np.sqrt(1e-3)),
        ],
        hidden=("level", "slope", "season"),
    )
    beliefs = net.smooth(panel)
    assert beliefs.log_likelihood[0] == pytest.approx(49.083386921, abs=1e-8)
    last = {"level": 6.535928569, "slope": 0.024799304, "season": 0.138461671}
    assert {k: beliefs.mean[k][-1] for k in last} == pytest.approx(last, abs=1e-8)
    assert beliefs.mean["level"][40] == pytest.approx(5.223325028, abs=1e-8)
