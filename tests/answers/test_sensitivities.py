from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as example, strategies as st
from inference_oracles import networks
from test_findings import made_up, mixed, two_hospitals

import consilience as cs
from consilience.answers.sensitivities import Flip
from consilience.errors import ConsilienceError, InputError, ModelError

STEP = 1e-6


def moved(net: cs.Network, name: str, place: tuple[int, ...], by: float) -> cs.Network:
    """One parameter changed; the others of a row of a table in proportion."""
    local = net[name]
    if isinstance(local, cs.Categorical):
        *parents, k = place
        state = local.child.discrete_states[k]
        value = float(local.table[place])
        return Flip(name, tuple(parents), state, value, value + by, "", "").applied(net)
    parameters = local.parameters.copy()
    parameters[place] += by
    return cs.Network({**net.distributions, name: local.with_parameters(parameters)}, net.source)


def finite_difference(net, answer, name, place):
    value = float(net[name].parameters[place])
    is_entry = isinstance(net[name], cs.Categorical)
    up = STEP if not is_entry or value + STEP <= 1 else 0.0
    down = STEP if not is_entry or value - STEP >= 0 else 0.0
    high, low = answer(moved(net, name, place, up)), answer(moved(net, name, place, -down))
    return (high - low) / (up + down)


def check(net, query, given, answer, *, nodes=None, tolerance=1e-6):
    found = cs.sensitivity(net, query, given)
    assert found.answer == pytest.approx(answer(net), abs=1e-10)
    for name in nodes or net.distributions:
        shape = net[name].parameters.shape
        if isinstance(net[name], cs.Categorical) and shape[-1] == 1:
            continue
        for place in np.ndindex(*shape):
            expected = finite_difference(net, answer, name, place)
            own = found.derivatives[name][(..., *place)]
            assert own == pytest.approx(expected, abs=tolerance, rel=tolerance), (name, place)


@example(seed=st.integers(0, 500))
def test_derivatives_are_finite_differences(seed):
    net = made_up(n=4, seed=seed)
    given = {"x3": net.variables["x3"].discrete_states[0]}
    check(net, "x0", given, lambda one: one.query("x0", given).values)


def test_an_event_and_a_likelihood():
    net = made_up(n=4, seed=5)
    state = net.variables["x1"].discrete_states[1]
    weights = {s: 1.0 + i for i, s in enumerate(net.variables["x2"].discrete_states)}
    given = {"x2": cs.Likelihood(weights)}
    check(net, {"x1": state}, given, lambda one: one.query("x1", given)[state])


def test_a_joint_query_has_an_axis_for_each_variable():
    net = made_up(n=4, seed=2)
    found = cs.sensitivity(net, ["x0", "x2"])
    shape = tuple(net.variables[n].n_states for n in ("x0", "x2"))
    assert found.answer.shape == shape
    assert found.derivatives["x1"].shape == (*shape, *net["x1"].table.shape)


def test_entries_of_zero_and_one_have_derivatives():
    a, b = cs.Variable("a", ("x", "y", "z")), cs.Variable("b", ("no", "yes"))
    net = cs.Network.of(
        [
            cs.Categorical(a, (), [0.5, 0.5, 0.0]),
            cs.Categorical(b, (a,), [[1.0, 0.0], [0.3, 0.7], [0.4, 0.6]]),
        ]
    )
    found = cs.sensitivity(net, {"b": "yes"})
    assert found.derivatives["a"][2] == pytest.approx(0.6 - 0.35)
    assert found.derivatives["b"][0] == pytest.approx([-0.5, 0.5])


def clg() -> cs.Network:
    ill, sex = cs.Variable("ill", ("no", "yes")), cs.Variable("sex", ("F", "M"))
    dose, bp, pulse = cs.Variable("dose"), cs.Variable("bp"), cs.Variable("pulse")
    late = cs.Variable("late", ("no", "yes"))
    return cs.Network.of(
        [
            cs.Categorical(sex, (), [0.4, 0.6]),
            cs.Categorical(ill, (sex,), [[0.7, 0.3], [0.5, 0.5]]),
            cs.LinearGaussian(dose, (sex,), [1.0, 1.5], [[], []], [1.0, 0.8]),
            cs.LinearGaussian(bp, (ill, dose), [3.0, 4.0], [[0.5], [0.8]], [1.0, 1.3]),
            cs.LinearGaussian(pulse, (bp,), 1.0, [0.7], 0.9),
            cs.Logistic(
                late, (ill, bp), [[0.0, 0.3], [0.0, -0.2]], [[[0.0], [0.4]], [[0.0], [0.7]]]
            ),
        ]
    )


@pytest.mark.parametrize("given", [{"pulse": 4.0}, {"pulse": 4.0, "dose": 1.2, "sex": "F"}])
def test_regressions_have_derivatives_by_intercept_slope_and_sd(given):
    net = clg()
    nodes = [n for n in net.distributions if n != "late"]
    check(net, "ill", given, lambda one: one.query("ill", given).values, nodes=nodes)


@pytest.mark.parametrize("given", [{"pulse": 4.0}, {}, {"ill": "yes", "pulse": 3.0}, {"bp": 2.0}])
def test_means_have_derivatives(given):
    net = clg()
    nodes = [n for n in net.distributions if n != "late"]
    check(net, "dose", given, lambda one: one.query("dose", given).mean, nodes=nodes)


def test_a_logistic_node_with_known_parents_has_derivatives():
    net, given = clg(), {"bp": 3.5, "late": "yes"}
    check(net, "ill", given, lambda one: one.query("ill", given).values)


def test_what_has_no_closed_form_is_refused_by_name():
    with pytest.raises(ModelError, match="'late' has continuous parents"):
        cs.sensitivity(clg(), "ill", {"late": "yes"})
    with pytest.raises(InputError, match="soft"):
        cs.sensitivity(clg(), "ill", {"sex": cs.Soft({"F": 0.5, "M": 0.5})})
    with pytest.raises(InputError, match="is given"):
        cs.sensitivity(clg(), "ill", {"ill": "yes"})
    with pytest.raises(InputError, match="alone"):
        cs.sensitivity(clg(), ["ill", "bp"])


@example(net=networks(max_nodes=5), seed=st.integers(0, 100))
def test_the_smallest_flip_flips_the_decision_and_less_does_not(net, seed):
    names = list(net.variables)
    target, other = names[0], names[-1]
    given = {} if target == other else {other: net.variables[other].discrete_states[0]}
    try:
        found = cs.sensitivity(net, target, given)
    except ConsilienceError:
        return
    now = net.query(target, given).values
    if found.flip is None or np.sort(now)[-1] - np.sort(now)[-2:][0] < 1e-6:
        return
    after = found.flip.applied(net).query(target, given).values
    assert after.argmax() != now.argmax()
    near = found.flip.value + 0.999 * (found.flip.new_value - found.flip.value)
    less = Flip(
        *[getattr(found.flip, f) for f in ("node", "parents", "state", "value")], near, "", ""
    )
    assert less.applied(net).query(target, given).values.argmax() == now.argmax()


def test_what_a_change_does_is_exact_for_tables():
    net = made_up(n=4, seed=8)
    found = cs.sensitivity(net, "x0", {"x3": net.variables["x3"].discrete_states[0]}, change=0.05)
    one = found.effects[0]
    local = net[one.node]
    state = local.child.code(one.parameter)
    codes = [
        v.code(text.split("=")[1])
        for v, text in zip(local.given, one.parents.split(", "), strict=False)
        if one.parents
    ]
    value = min(one.value + 0.05, 1.0)
    up = Flip(one.node, tuple(codes), local.child.discrete_states[state], one.value, value, "", "")
    belief = up.applied(net).query("x0", {"x3": net.variables["x3"].discrete_states[0]})
    assert one.high == pytest.approx(belief[found.focus])


def test_a_difference_between_two_sources_is_differentiated():
    net = two_hospitals()

    def difference(one):
        a, b = (one.query("ill", {"test": "yes", "hospital": h})["yes"] for h in "ab")
        return a - b

    found = cs.sensitivity(net, {"ill": "yes"}, {"test": "yes"}, between=("a", "b"))
    assert found.answer == pytest.approx(difference(net))
    for place in np.ndindex(2, 2, 2):
        expected = finite_difference(net, difference, "test", place)
        assert found.derivatives["test"][place] == pytest.approx(expected, abs=1e-6)


@pytest.mark.data
@pytest.mark.parametrize(("name", "query"), [("asia", "lung"), ("alarm", "HYPOVOLEMIA")])
def test_derivatives_of_real_networks(name, query, data_dir):
    net = cs.load(data_dir / "networks" / f"{name}.bif")
    rng = np.random.default_rng(1)
    others = [n for n in net.variables if n != query]
    row = net.sample(1, seed=2)
    given = {
        n: net.variables[n].discrete_states[int(row.column(n)[0])]
        for n in rng.choice(others, 3, replace=False)
    }
    places = [(n, p) for n in net.distributions for p in np.ndindex(*net[n].table.shape)]
    some = rng.choice(len(places), min(40, len(places)), replace=False)
    found = cs.sensitivity(net, query, given)
    for i in some:
        node, place = places[i]
        expected = finite_difference(net, lambda one: one.query(query, given).values, node, place)
        assert found.derivatives[node][(..., *place)] == pytest.approx(expected, abs=1e-6)


def test_the_record_is_a_table():
    found = cs.sensitivity(mixed(), "ill", {"bp": 120.0, "dose": 1.0})
    assert {"node", "derivative", "low", "high"} <= set(found.to_frame().columns)
    assert "Sensitivity of ill" in repr(found)


def test_states_may_have_any_name():
    x = cs.Variable("x", ("mean", "sd"))
    net = cs.Network.of([cs.Categorical(x, (), [0.4, 0.6])])
    found = cs.sensitivity(net, "x")
    assert found.answer.tolist() == pytest.approx([0.4, 0.6])
    assert "x=sd" in found.title
    y = cs.Variable("y", ("no", "yes"))
    net = cs.Network.of([cs.Categorical(y, (), [0.4, 0.6])])
    assert "y=yes" in cs.sensitivity(net, "y").title


def test_a_network_of_numbers_alone():
    x = np.array([0.0, 1.0, 2.0, 4.0])
    table = cs.read({"x": x, "y": 2 * x + [0.1, -0.1, 0.0, 0.2]}, continuous=["x", "y"])
    net = cs.fit(cs.DAG.parse("[x][y|x]"), table)
    check(net, "y", {}, lambda one: one.query("y").mean)
    check(net, "y", {"x": 1.0}, lambda one: one.query("y", {"x": 1.0}).mean)
