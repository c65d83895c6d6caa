from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as example, strategies as st
from inference_oracles import full_joint, margin
from scipy.special import entr, xlogy
from test_findings import made_up, mixed, two_hospitals

import consilience as cs
from consilience.answers.quadrature import joint_information
from consilience.errors import InputError
from consilience.network.mixture import Mixture


def brute_force(net, target, given, name, loss=None):
    joint = full_joint(net, given)
    table = margin(net, joint / joint.sum(), [target, name])

    def cost(p):
        return (loss @ p).min() if loss is not None else entr(p).sum()

    now = cost(table.sum(axis=1))
    return now - sum(
        table[:, x].sum() * cost(table[:, x] / table[:, x].sum())
        for x in range(table.shape[1])
        if table[:, x].sum() > 0
    )


@example(seed=st.integers(0, 300))
def test_values_and_their_order_are_those_of_brute_force(seed):
    net = made_up(seed=seed)
    given = {"x4": net.variables["x4"].discrete_states[seed % 2]}
    found = cs.information_value(net, "x1", given)
    expected = {n: brute_force(net, "x1", given, n) for n in found.values}
    assert dict(found.values) == pytest.approx(expected, abs=1e-10)
    assert min(found.values.values()) >= 0
    for n, value in found.values.items():
        if net.dag.is_separated(n, "x1", given=["x4"]):
            assert value == 0.0
    ranked = list(found.values.values())
    assert ranked == sorted(ranked, reverse=True)


@example(seed=st.integers(0, 100))
def test_a_stated_loss_is_reduced_as_brute_force_says(seed):
    net = made_up(seed=seed)
    states = net.variables["x0"].discrete_states
    rng = np.random.default_rng(seed)
    table = rng.random((3, len(states)))
    loss = {f"d{i}": dict(zip(states, row, strict=True)) for i, row in enumerate(table)}
    found = cs.information_value(net, "x0", loss=loss)
    for n, value in found.values.items():
        assert value == pytest.approx(brute_force(net, "x0", {}, n, table), abs=1e-10)


def test_questions_come_in_greedy_order_with_what_they_tell_together():
    net = made_up(n=5, seed=7)
    found = cs.information_value(net, "x0", n_questions=3)
    first = found.questions[0]
    assert first.value == pytest.approx(max(found.values.values()))
    joint = full_joint(net)

    def together(names):
        table = margin(net, joint, ["x0", *names]).reshape(len(net.variables["x0"].states), -1)
        return entr(table.sum(axis=1)).sum() + entr(table.sum(axis=0)).sum() - entr(table).sum()

    chosen: list[str] = []
    for question in found.questions:
        left = [n for n in found.values if n not in chosen]
        best = max(left, key=lambda n: together([*chosen, n]))
        assert question.name == best
        chosen.append(best)
        assert question.value == pytest.approx(together(chosen), abs=1e-10)


def test_costs_rank_by_value_per_cost_and_by_value_less_cost():
    net = made_up(seed=3)
    plain = cs.information_value(net, "x0")
    best = next(iter(plain.values))
    dear = cs.information_value(net, "x0", costs={best: 1e9})
    assert list(dear.values)[-1] == best or plain.values[list(dear.values)[-1]] == 0.0
    states = net.variables["x0"].discrete_states
    loss = {s: {t: float(s != t) for t in states} for s in states}
    found = cs.information_value(net, "x0", loss=loss, costs=dict.fromkeys(plain.values, 0.25))
    assert found.columns["gain"][0] == pytest.approx(found.columns["value"][0] - 0.25)


def test_a_continuous_variable_is_integrated_over():
    net = mixed()
    found = cs.information_value(net, "ill", {"dose": 1.0}).values["bp"]
    x = np.linspace(0, 260, 200_001)
    p = np.array([0.7, 0.3])
    density = np.stack(
        [
            np.exp(-0.5 * ((x - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))
            for m, s in ((112, 8), (134, 9))
        ]
    )
    both = p @ density
    expected = (p[:, None] * density * np.log(density / both)).sum() * (x[1] - x[0])
    assert found == pytest.approx(expected, abs=1e-8)


def test_information_about_a_continuous_target_is_mutual():
    net = mixed()
    one = cs.information_value(net, "bp", among=["ill"]).values["ill"]
    assert one == pytest.approx(
        cs.information_value(net, "ill", among=["bp"]).values["bp"], abs=1e-8
    )
    sure = cs.information_value(net, "bp", {"ill": "yes"}, among=["dose"]).values["dose"]
    share = 16.0 / (16.0 + 81.0)
    assert sure == pytest.approx(-0.5 * np.log(1 - share))
    mixture = cs.information_value(net, "bp", among=["dose"]).values["dose"]
    draws = net.sample(20_000, seed=1)
    b, d = draws.column("bp"), draws.column("dose")
    belief, first, second = net.query(["bp", "dose"]), net.query("bp"), net.query("dose")
    logs = (
        np.log(belief.density(np.stack([b, d], axis=1)))
        - np.log(first.density(b))
        - np.log(second.density(d))
    )
    assert mixture == pytest.approx(logs.mean(), abs=4 * logs.std() / np.sqrt(len(logs)))


def test_a_difference_is_that_of_two_sources():
    net = two_hospitals()
    a, b = (cs.information_value(net, "ill", {"hospital": h}).values["test"] for h in "ab")
    assert cs.information_value(net, "ill", between=("a", "b")).values["test"] == (
        pytest.approx(a - b)
    )
    assert "hospital" not in cs.information_value(net, "ill").values


def test_mistakes_are_named():
    net = two_hospitals()
    with pytest.raises(InputError, match="'ill' is given"):
        cs.information_value(net, "ill", {"ill": "yes"})
    with pytest.raises(InputError, match="every decision and every state of 'ill'"):
        cs.information_value(net, "ill", loss={"treat": {"yes": 1.0}})
    with pytest.raises(InputError, match="cannot be a question"):
        cs.information_value(net, "ill", among=["ill"])
    with pytest.raises(InputError, match="continuous"):
        cs.information_value(mixed(), "bp", loss={"a": {}})


@pytest.mark.parametrize("loss", ["treat", {}, {"treat": 3}, {"treat": {"no": "much", "yes": 1}}])
def test_a_loss_that_is_no_table_is_refused(loss):
    x, y = cs.Variable("x", ("no", "yes")), cs.Variable("y", ("no", "yes"))
    net = cs.Network.of(
        [cs.Categorical(x, (), [0.5, 0.5]), cs.Categorical(y, (x,), [[0.9, 0.1], [0.2, 0.8]])]
    )
    with pytest.raises(InputError, match="loss"):
        cs.information_value(net, "x", loss=loss)
    with pytest.raises(InputError, match="a variable is wanted"):
        cs.information_value(net, ["x"])


def test_information_of_many_components_is_that_of_a_fine_grid():
    rng, k = np.random.default_rng(4), 60
    angle, sds = rng.uniform(0, np.pi, k), rng.uniform(0.5, 2.0, (k, 2))
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).T
    covariances = turned @ (sds[:, :, None] ** 2 * turned.swapaxes(1, 2))
    means = 3 * rng.normal(size=(k, 2))
    joint = Mixture(("x", "y"), rng.dirichlet(np.ones(k)), means, covariances)
    x, step = np.linspace(-20, 20, 401, retstep=True)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    p = joint.density(grid) * step**2
    rows, columns = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
    expected = (xlogy(p, p) - xlogy(p, rows * columns)).sum()
    assert joint_information(joint) == pytest.approx(expected, rel=3e-3)
