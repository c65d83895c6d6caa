from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given as example, settings, strategies as st
from inference_oracles import full_joint, margin

import consilience as cs
from consilience.errors import InputError, MemoryLimitError, ModelError

WAYS = cs.inference
DRAWING = [WAYS.LogicSampling, WAYS.LikelihoodWeighting, WAYS.AdaptiveImportance, WAYS.Gibbs]


def discrete(seed: int = 1, n: int = 5) -> cs.Network:
    dag = cs.random_dag([f"x{i}" for i in range(n)], p_arc=0.5, max_parents=2, seed=seed)
    return cs.random_network(dag, n_states=2 + seed % 2, seed=seed)


def mixed() -> cs.Network:
    ill, sex = cs.Variable("ill", ("no", "yes")), cs.Variable("sex", ("F", "M"))
    dose, bp, late = cs.Variable("dose"), cs.Variable("bp"), cs.Variable("late", ("no", "yes"))
    return cs.Network.of(
        [
            cs.Categorical(sex, (), [0.4, 0.6]),
            cs.Categorical(ill, (sex,), [[0.7, 0.3], [0.5, 0.5]]),
            cs.LinearGaussian(dose, (sex,), [1.0, 1.5], [[], []], [1.0, 0.8]),
            cs.LinearGaussian(bp, (ill, dose), [3.0, 4.0], [[0.5], [0.8]], [1.0, 1.3]),
            cs.Logistic(
                late, (ill, bp), [[0.0, -2.0], [0.0, -1.0]], [[[0.0], [0.4]], [[0.0], [0.7]]]
            ),
        ]
    )


def is_near(found, exact, n_errors=5.0):
    away = np.abs(found.values - exact.values)
    return bool((away <= n_errors * found.standard_errors + 1e-12).all())


@pytest.mark.parametrize("way", DRAWING)
def test_estimates_of_discrete_networks_are_within_their_standard_errors(way):
    for seed in range(3):
        net = discrete(seed)
        given = {"x4": net.variables["x4"].discrete_states[0]}
        found = net.query("x0", given, by=way(draws=20_000, seed=seed))
        assert is_near(found, net.query("x0", given))
        assert found.effective_size > 200


@pytest.mark.parametrize("way", DRAWING[1:])
@pytest.mark.parametrize("given", [{"bp": 5.0}, {"late": "yes", "dose": 2.0}])
def test_estimates_of_mixed_and_logistic_networks(way, given):
    net = mixed()
    by = way(draws=40_000, seed=2)
    exact = net.query("ill", given, by=WAYS.Exact(draws=200_000))
    found = net.query("ill", given, by=by)
    away = np.abs(found.values - exact.values)
    assert (away <= 5 * found.standard_errors + 0.004).all()
    name = "dose" if "dose" not in given else "bp"
    mean = net.query(name, given, by=by)
    assert abs(mean.mean - net.query(name, given).mean) <= 5 * float(mean.standard_errors[0]) + 0.01


@pytest.mark.parametrize("way", DRAWING)
def test_all_marginals_come_from_one_run(way):
    net = discrete(4)
    given = {"x1": net.variables["x1"].discrete_states[1]}
    exact, found = net.marginals(given), net.marginals(given, by=way(draws=20_000))
    assert found.keys() == exact.keys()
    assert all(is_near(found[name], exact[name], 6.0) for name in exact)


@pytest.mark.parametrize("way", [*DRAWING, WAYS.LoopyPropagation])
def test_plain_numbers_keep_the_error(way):
    net = discrete(3)
    states = {n: v.discrete_states for n, v in net.variables.items()}
    event, given = {"x0": states["x0"][0]}, {"x4": states["x4"][0]}
    by = way() if way is WAYS.LoopyPropagation else way(error=0.004)
    near = 0.15 if way is WAYS.LoopyPropagation else 0.02
    assert net.probability(event, given, by=by) == pytest.approx(
        net.probability(event, given), abs=near
    )
    rows = net.sample(2, seed=1)
    if way not in (WAYS.Gibbs, WAYS.LogicSampling):
        assert net.log_likelihood(rows, by=by) == pytest.approx(net.log_likelihood(rows), abs=0.1)
    assert net.posteriors(rows, "x0", by=by) == pytest.approx(net.posteriors(rows, "x0"), abs=near)


def test_gibbs_tells_the_probability_of_findings_by_the_chain_rule():
    net = mixed()
    given = {"bp": 5.0, "late": "yes"}
    by = WAYS.Gibbs(error=0.02, chains=300, burn_in=20)
    assert cs.log_probability(net, given, by=by) == pytest.approx(
        cs.log_probability(net, given), abs=0.08
    )


def test_intervals_of_continuous_variables_are_events():
    net = mixed()
    exact = net.probability({"dose": (1, 2)}, {"bp": 5.0})
    found = net.probability({"dose": (1, 2)}, {"bp": 5.0}, by=WAYS.LikelihoodWeighting())
    assert found == pytest.approx(exact, abs=0.02)


def test_a_joint_posterior_and_a_mixed_one():
    net, given = mixed(), {"bp": 5.0}
    by = WAYS.LikelihoodWeighting(draws=50_000)
    assert is_near(net.query(["sex", "ill"], given, by=by), net.query(["sex", "ill"], given))
    both = net.query(["ill", "dose"], given, by=by)
    exact = net.query("dose", {**given, "ill": "yes"})
    assert both["yes"].mean == pytest.approx(exact.mean, abs=0.1)


def test_stopping_rules():
    net = discrete(2)
    assert net.query("x0", by=WAYS.LogicSampling(draws=500)).effective_size == 500
    found = net.query("x0", by=WAYS.LikelihoodWeighting(error=0.002))
    assert found.standard_errors.max() <= 0.002
    assert net.query("x0", by=WAYS.LikelihoodWeighting(seconds=0.01)).effective_size > 0
    event = {"x0": net.variables["x0"].discrete_states[0]}
    with pytest.raises(InputError, match=r"standard error is 0\.\d+ after 100 draws"):
        net.probability(event, by=WAYS.LogicSampling(draws=100))


def test_the_same_seed_gives_the_same_answer():
    net = discrete(2)
    one, two = (
        net.query("x0", by=WAYS.LikelihoodWeighting(draws=5000, seed=7)).values for _ in "ab"
    )
    assert np.array_equal(one, two)


def test_no_draw_that_meets_the_evidence_is_an_error_that_says_so():
    x, y = cs.Variable("x", ("a", "b")), cs.Variable("y", ("a", "b"))
    net = cs.Network.of(
        [cs.Categorical(x, (), [1.0, 0.0]), cs.Categorical(y, (x,), [[1.0, 0.0], [0.5, 0.5]])]
    )
    with pytest.raises(InputError, match="none of 1,000 draws meets what is given"):
        net.query("x", {"y": "b"}, by=WAYS.LogicSampling(draws=1000))
    with pytest.raises(ModelError, match="'x' has probabilities of zero"):
        net.query("x", {"y": "a"}, by=WAYS.Gibbs())
    with pytest.raises(InputError, match="continuous variable 'bp'"):
        mixed().query("ill", {"bp": 1.0}, by=WAYS.LogicSampling())


def test_improbable_evidence_is_drawn_towards():
    names = [f"x{i}" for i in range(12)]
    variables = {n: cs.Variable(n, ("no", "yes")) for n in names}
    local = [cs.Categorical(variables["x0"], (), [0.999, 0.001])]
    for a, b in pairwise(names):
        local.append(cs.Categorical(variables[b], (variables[a],), [[0.999, 0.001], [0.1, 0.9]]))
    net = cs.Network.of(local)
    given = {"x11": "yes"}
    plain = net.query("x5", given, by=WAYS.LikelihoodWeighting(draws=20_000))
    found = net.query("x5", given, by=WAYS.AdaptiveImportance(draws=20_000))
    assert found.effective_size > 10 * plain.effective_size
    assert is_near(found, net.query("x5", given))


@settings(max_examples=15)
@example(seed=st.integers(0, 500))
def test_loopy_propagation_is_exact_on_polytrees(seed):
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(7)]
    arcs = []
    for i in range(1, 7):
        other = names[rng.integers(i)]
        arcs.append((other, names[i]) if rng.random() < 0.5 else (names[i], other))
    net = cs.random_network(cs.DAG(arcs, nodes=names), n_states=2, seed=seed)
    given = {names[0]: net.variables[names[0]].discrete_states[0]}
    exact, found = net.marginals(given), net.marginals(given, by=WAYS.LoopyPropagation())
    for name in exact:
        assert found[name].values == pytest.approx(exact[name].values, abs=1e-8)
        assert found[name].propagation.is_settled
    assert cs.log_probability(net, given, by=WAYS.LoopyPropagation()) == pytest.approx(
        cs.log_probability(net, given), abs=1e-7
    )


def test_loopy_propagation_of_continuous_nodes_on_a_tree():
    net, loopy = mixed(), WAYS.LoopyPropagation()
    given = {"bp": 5.0, "late": "yes"}
    exact, found = (net.marginals(given, by=by) for by in (None, loopy))
    assert found["ill"].values == pytest.approx(exact["ill"].values, abs=0.05)
    y = cs.LinearGaussian(
        cs.Variable("y"), (net.variables["ill"],), [0.0, 2.0], [[], []], [1.0, 1.0]
    )
    tree = cs.Network.of([net["sex"], net["ill"], y])
    exact, found = (tree.marginals({"sex": "F"}, by=by) for by in (None, loopy))
    assert found["y"].mean == pytest.approx(exact["y"].mean)
    assert found["y"].sd == pytest.approx(exact["y"].sd)
    one = tree.query(["sex", "ill"], {"y": 1.5}, by=loopy)
    assert one.values == pytest.approx(tree.query(["sex", "ill"], {"y": 1.5}).values, abs=1e-8)


def test_best_is_exact_where_it_fits_and_an_estimate_elsewhere():
    net = discrete(4, n=7)
    assert net.query("x0", by=WAYS.Best()).standard_errors is None
    small = WAYS.Best(memory_limit=8, draws=2000)
    assert (
        net.query("x0", {"x5": net.variables["x5"].discrete_states[0]}, by=small).standard_errors
        is not None
    )
    assert net.marginals(by=small)["x0"].effective_size > 100
    with pytest.raises(MemoryLimitError, match=r"cs\.inference\.Best\(\)"):
        net.marginals(by=WAYS.Exact(memory_limit=8))


@pytest.mark.parametrize("way", [*DRAWING, WAYS.LoopyPropagation])
def test_virtual_evidence(way):
    net = discrete(6)
    weights = {s: 1.0 + 3 * i for i, s in enumerate(net.variables["x4"].discrete_states)}
    given = {"x4": cs.Likelihood(weights)}
    by = way() if way is WAYS.LoopyPropagation else way(draws=20_000)
    joint = full_joint(net, given)
    found = net.query("x0", given, by=by).values
    assert found == pytest.approx(margin(net, joint, ["x0"]) / joint.sum(), abs=0.05)


@pytest.mark.parametrize("way", [*DRAWING, WAYS.LoopyPropagation])
def test_soft_evidence_is_refused(way):
    net = discrete(6)
    states = net.variables["x4"].discrete_states
    given = {"x4": cs.Soft(dict.fromkeys(states, 1 / len(states)))}
    with pytest.raises(InputError, match="soft evidence"):
        net.query("x0", given, by=way())


@pytest.mark.parametrize("way", DRAWING)
def test_an_error_stops_a_run_before_its_draws(way):
    net = discrete()
    found = net.query("x0", by=way(draws=10**9, error=0.05))
    assert found.standard_errors.max() <= 0.05


@pytest.mark.parametrize("way", DRAWING)
def test_events_are_answered_by_draws(way):
    net = mixed()
    event = (cs.Event("bp") > 4.0) | (cs.Event("ill") == "yes")
    found = net.probability(event, {"sex": "F"}, by=way(seed=1))
    assert found == pytest.approx(net.probability(event, {"sex": "F"}), abs=0.025)
    given = (cs.Event("sex") == "F") | (cs.Event("ill") == "yes")
    if way is not WAYS.Gibbs:  # the event is a node with zeros
        found = net.probability({"late": "yes"}, given, by=way(seed=1))
        exact = net.probability({"late": "yes"}, given)
        assert found == pytest.approx(exact, abs=0.025)


def test_an_event_by_loopy_propagation_is_refused():
    event = (cs.Event("bp") > 4.0) | (cs.Event("ill") == "yes")
    with pytest.raises(InputError, match="loopy propagation"):
        mixed().probability(event, by=WAYS.LoopyPropagation())


def test_gibbs_keeps_the_error_of_many_findings():
    net = discrete(4, n=9)
    row = {name: [v.discrete_states[0]] for name, v in list(net.variables.items())[2:]}
    table = cs.read(row, schema=net.variables)
    found = net.log_likelihood(table, by=WAYS.Gibbs(error=0.03, seed=1))
    assert found[0] == pytest.approx(net.log_likelihood(table)[0], abs=0.15)


def test_impossible_rows_have_no_likelihood_by_loopy_propagation():
    x = cs.Variable("x", ("a", "b"))
    net = cs.Network.of([cs.Categorical(x, (), [1.0, 0.0])])
    found = net.log_likelihood({"x": ["a", "b"]}, by=WAYS.LoopyPropagation())
    assert found.tolist() == [0.0, -np.inf]


def test_a_way_that_is_none_is_refused_for_complete_rows():
    net = discrete()
    rows = net.sample(3, seed=1)
    with pytest.raises(InputError, match="by must be a choice"):
        net.log_likelihood(rows, by=3)
    with pytest.raises(InputError, match="by must be a choice"):
        net.posteriors(rows, "x0", by="exact")


@pytest.mark.parametrize("wrong", [{"damping": "much"}, {"damping": 1.0}, {"memory_limit": -1}])
def test_loopy_propagation_checks_its_choices(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        WAYS.LoopyPropagation(**wrong)
