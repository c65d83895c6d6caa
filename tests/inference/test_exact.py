from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from inference_oracles import findings, fit_softly, full_joint, margin, networks

import consilience as cs
from consilience.errors import (
    ImpossibleEvidenceError,
    InputError,
    MemoryLimitError,
    UnknownNameError,
)
from consilience.inference import junction
from consilience.inference.evidence import evidence_of
from consilience.inference.junction import MOST_TREES, JunctionTree, compiled
from consilience.inference.queries import query
from consilience.inference.ways import Exact

ROUNDING = {"rtol": 1e-10, "atol": 1e-13}


@given(net=networks(), data=st.data())
def test_every_exact_method_equals_the_full_joint(net, data):
    known = data.draw(findings(net))
    table = full_joint(net, known)
    assume(table.sum() > 0)
    posterior = table / table.sum()
    asked = data.draw(st.lists(st.sampled_from(list(net.variables)), max_size=3, unique=True))
    belief = net.query(asked, given=known)
    np.testing.assert_allclose(belief.values, margin(net, posterior, asked), **ROUNDING)
    for name, one in net.marginals(given=known).items():
        np.testing.assert_allclose(one.values, margin(net, posterior, [name]), **ROUNDING)
    log_evidence = math.log(table.sum())
    assert cs.log_probability(net, known) == pytest.approx(log_evidence, abs=1e-11)
    tree = compiled(net)
    evidence = evidence_of(net.variables, known)
    assert tree.log_evidence(evidence) == pytest.approx(log_evidence, abs=1e-11)
    with tree.propagated(evidence) as beliefs:
        for name, local in net.distributions.items():
            family = [*local.parents, name]
            expected = margin(net, posterior, family)
            np.testing.assert_allclose(beliefs.family(name), expected, **ROUNDING)
    best = net.mpe(given=known)
    assert best.log_probability == pytest.approx(math.log(table.max()), abs=1e-11)
    assert probability_of(net, table, best) == pytest.approx(table.max(), rel=1e-10)
    free = [name for name in asked if name not in evidence.known]
    if free:
        best = net.map(free, given=known)
        summed = margin(net, table, free)
        assert best.log_probability == pytest.approx(math.log(summed.max()), abs=1e-11)


def probability_of(net: cs.Network, table: np.ndarray, states: cs.inference.Explanation) -> float:
    """Of the states, maximized over what they leave open (the known ones)."""
    at = tuple(
        net.variables[name].code(states[name]) if name in states else slice(None)
        for name in net.variables
    )
    return float(np.max(table[at]))


@given(net=networks(max_nodes=5), data=st.data(), k=st.integers(1, 12))
def test_the_k_best_explanations_are_those_of_the_full_joint(net, data, k):
    known = data.draw(findings(net))
    table = full_joint(net, known)
    assume(table.sum() > 0)
    expected = np.sort(table[table > 0].ravel())[::-1][:k]
    found = cs.most_probable(net, k, given=known)
    np.testing.assert_allclose(
        [math.exp(one.log_probability) for one in found], expected, rtol=1e-9
    )
    assert len({tuple(sorted(one.items())) for one in found}) == len(found)


@settings(max_examples=15)
@given(net=networks(max_nodes=5), data=st.data(), seed=st.integers(0, 999))
def test_soft_evidence_comes_out_and_changes_the_rest_least(net, data, seed):
    known = data.draw(findings(net))
    free = [name for name in net.variables if name not in known]
    assume(free)
    table = full_joint(net, known)
    assume(np.all(table.sum() > 0))
    rng = np.random.default_rng(seed)
    soft = {}
    for name in free[:2]:
        now = margin(net, table, [name])
        wanted = np.where(now > 0, rng.dirichlet(np.ones(len(now))), 0)
        soft[name] = wanted / wanted.sum()
    assume(len(soft) == 1 or np.all(margin(net, table, list(soft)) > 0))
    given_all = dict(known)
    for name, wanted in soft.items():
        states = net.variables[name].states
        given_all[name] = cs.Soft(dict(zip(states, wanted, strict=True)))
    fitted = fit_softly(net, table, soft)
    for name, one in net.marginals(given=given_all).items():
        np.testing.assert_allclose(one.values, margin(net, fitted, [name]), atol=1e-9)


@given(net=networks(max_nodes=6), data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
def test_impossible_evidence_is_refused_and_a_conflict_named(net, data):
    known = data.draw(findings(net))
    assume(full_joint(net, known).sum() == 0)
    with pytest.raises(ImpossibleEvidenceError, match="probability zero") as caught:
        net.marginals(given=known)
    conflict = caught.value.culprits["conflict"]
    assert full_joint(net, {name: known[name] for name in conflict}).sum() == 0
    for left_out in conflict:
        rest = {name: known[name] for name in conflict if name != left_out}
        assert full_joint(net, rest).sum() > 0
    assert cs.log_probability(net, known) == -math.inf


def sprinkler() -> cs.Network:
    rain, wet = cs.Variable("rain", ("yes", "no")), cs.Variable("wet", ("yes", "no"))
    return cs.Network.of(
        [
            cs.Categorical(rain, (), np.array([0.2, 0.8])),
            cs.Categorical(wet, (rain,), np.array([[1.0, 0.0], [0.25, 0.75]])),
        ]
    )


def test_a_belief_goes_by_the_names_of_states():
    belief = sprinkler().query("rain", given={"wet": "yes"})
    assert belief["yes"] == pytest.approx(0.5)
    assert belief.names == ("rain",)
    assert sprinkler().query(["wet", "rain"])["no", "no"] == pytest.approx(0.6)


def test_a_known_variable_can_be_asked_for():
    belief = sprinkler().query(["rain", "wet"], given={"wet": "no"})
    assert belief["no", "no"] == pytest.approx(1)
    assert belief["no", "yes"] == 0


def test_probabilities_of_events_and_of_events_given_others():
    net = sprinkler()
    assert net.probability({"wet": "yes"}) == pytest.approx(0.4)
    assert net.probability({"rain": "yes"}, given={"wet": "yes"}) == pytest.approx(0.5)
    with pytest.raises(InputError, match="both in the event and given"):
        net.probability({"wet": "yes"}, given={"wet": "yes"})
    with pytest.raises(ImpossibleEvidenceError, match="rain=yes, wet=no"):
        net.probability({}, given={"rain": "yes", "wet": "no"})


def test_a_finding_that_is_impossible_by_itself_is_named_alone():
    coin = cs.Variable("coin", ("heads", "tails"))
    net = cs.Network.of([cs.Categorical(coin, (), np.array([1.0, 0.0]))])
    with pytest.raises(ImpossibleEvidenceError, match="by itself: coin=tails"):
        net.query("coin", given={"coin": "tails"})


def test_setting_a_node_cuts_it_from_its_parents():
    net = sprinkler().do({"wet": "yes"})
    assert net.query("rain")["yes"] == pytest.approx(0.2)
    assert net.dag.parents("wet") == ()


def test_bad_questions_are_named():
    net = sprinkler()
    with pytest.raises(UnknownNameError, match=r"unknown node 'rian'.*Did you mean 'rain'"):
        net.query("rian")
    with pytest.raises(UnknownNameError, match="unknown node 'snow'"):
        net.query("rain", given={"snow": "yes"})
    with pytest.raises(UnknownNameError, match="'wet' has no state 'maybe'"):
        net.query("rain", given={"wet": "maybe"})
    with pytest.raises(InputError, match="each variable once"):
        net.query(["rain", "rain"])
    with pytest.raises(InputError, match="must not be empty"):
        net.query("rain", given={"wet": set()})
    with pytest.raises(InputError, match=r"cs\.Likelihood"):
        net.query("rain", given={"wet": {"yes": 0.5}})
    with pytest.raises(InputError, match=r"sum to one, got 0\.5"):
        net.query("rain", given={"wet": cs.Soft({"yes": 0.5})})
    with pytest.raises(InputError, match="at least one"):
        net.query("rain", given={"wet": cs.Likelihood({"yes": 0.0})})
    for value in (cs.Soft({"yes": 1.0}), cs.Likelihood({"yes": 4.0, "no": 4.0})):
        with pytest.raises(InputError, match="an event is states or sets of states"):
            net.probability({"wet": value})
    with pytest.raises(InputError, match="must not be given"):
        net.map(["wet"], given={"wet": "yes"})
    for names in (5, [["rain"]], None):
        with pytest.raises(InputError, match="by name or by a list of names"):
            net.query(names)
    with pytest.raises(InputError, match="do: states are given as a mapping"):
        net.do(["wet"])


def test_the_cost_is_known_and_bounded_before_anything_is_allocated():
    names = [f"x{i}" for i in range(40)]
    dag = cs.DAG([(a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 6]])
    net = cs.random_network(dag, seed=1)
    cost = net.cost("x39")
    assert cost.largest_table >= 2**6
    assert cost.bytes == 8 * cost.total_cells
    assert set(cost.cliques[0]) <= set(names)
    with pytest.raises(MemoryLimitError, match=r"largest clique has .* cells: 'x.*inference\.Best"):
        query(net, "x39", by=Exact(memory_limit=100))
    with pytest.raises(MemoryLimitError):
        JunctionTree.of(net, memory_limit=100)


def test_barren_and_separated_parts_cost_nothing():
    dag = cs.DAG.parse("[a][b|a][c|b][d|c][e|d]")
    net = cs.random_network(dag, seed=1)
    assert net.cost("a").total_cells == 2
    assert net.cost("a", given={"b": "0"}).total_cells == 2
    assert net.cost("e", given={"c": "0"}).total_cells == 4


def test_a_chain_of_two_thousand_nodes_does_not_underflow():
    n = 2000
    names = [f"x{i}" for i in range(n)]
    dag = cs.DAG(itertools.pairwise(names))
    net = cs.random_network(dag, seed=1)
    row = np.zeros(n, int)
    forward = net["x0"].table[:1].copy()
    log_expected = math.log(forward[0])
    vector = net["x1"].table[0].copy()
    for name in names[2:]:
        vector = vector @ net[name].table
    log_expected += math.log(vector[row[-1]])
    known = {"x0": "0", f"x{n - 1}": "0"}
    assert cs.log_probability(net, known) == pytest.approx(log_expected, rel=1e-12)
    evidence = evidence_of(net.variables, known)
    assert compiled(net).log_evidence(evidence) == pytest.approx(log_expected, rel=1e-12)
    everything = dict.fromkeys(names, "0")
    expected = sum(math.log(net[name].table[(0,) * net[name].table.ndim]) for name in names)
    assert cs.log_probability(net, everything) == pytest.approx(expected, rel=1e-12)
    assert math.exp(expected) == 0.0  # the probability itself underflows
    middle = net.marginals(given=known)["x1000"]
    assert middle.values.sum() == pytest.approx(1, abs=1e-12)


def test_a_tree_is_compiled_once_and_kept_with_its_network():
    net = sprinkler()
    assert compiled(net) is compiled(net)


def test_rows_are_answered_by_trees_kept_with_their_network(monkeypatch):
    net = sprinkler()
    target, rows = next(iter(net.variables)), net.sample(20, seed=1)
    gaps = cs.simulate.with_gaps(rows, cs.simulate.MCAR(0.5), seed=1)
    first = net.log_likelihood(gaps), net.posteriors(gaps, target)
    monkeypatch.delattr(JunctionTree, "of")
    np.testing.assert_array_equal(net.log_likelihood(gaps), first[0])
    np.testing.assert_array_equal(net.posteriors(gaps, target), first[1])


def test_the_trees_asked_for_last_are_kept():
    net, _ = star(MOST_TREES + 1)
    main = compiled(net)
    for i in range(MOST_TREES + 1):
        assert compiled(net, last=[f"x{i}"]) is compiled(net, last=[f"x{i}"])
        assert compiled(net) is main
    assert len(junction._COMPILED[net]) == MOST_TREES


def star(n_features: int) -> tuple[cs.Network, dict[str, str]]:
    """A class with many binary features, and states of the features that take turns."""
    dag = cs.DAG([("c", f"x{i}") for i in range(n_features)])
    net = cs.random_network(dag, seed=1)
    rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    local = [
        one if name == "c" else cs.Categorical(one.child, one.given, rows)
        for name, one in net.distributions.items()
    ]
    return cs.Network.of(local), {f"x{i}": str(i % 2) for i in range(n_features)}


@pytest.mark.parametrize("unit", [1e-120, 1e-60, 1e60, 1e120])
def test_tables_of_any_unit_change_the_evidence_by_its_logarithm(unit):
    dag = cs.DAG([(f"x{i:02d}", f"x{i + 1:02d}") for i in range(20)])
    net = cs.random_network(dag, seed=1)
    tree, evidence = compiled(net), evidence_of(net.variables, {"x20": "0"})
    scaled = tree.with_tables({name: unit * one.table for name, one in net.tables.items()})
    expected = tree.log_evidence(evidence) + len(net.tables) * math.log(unit)
    assert scaled.log_evidence(evidence) == pytest.approx(expected, rel=1e-12)


def test_a_hub_with_a_thousand_neighbors_does_not_underflow():
    net, known = star(1000)
    exact = net.query("c", given=known).values
    np.testing.assert_allclose(net.marginals(given=known)["c"].values, exact, atol=1e-12)
    known.pop("x0")
    row = cs.read({name: [state] for name, state in known.items()}, schema=net.variables)
    log_probability = cs.log_probability(net, known)
    np.testing.assert_allclose(net.log_likelihood(row), [log_probability], rtol=1e-12)
    belief = net.query("c", given=known).values
    np.testing.assert_allclose(net.posteriors(row, "c"), [belief], atol=1e-12)
    counts = cs.expected_counts(net, row)
    np.testing.assert_allclose(counts["c"], belief, atol=1e-12)


def test_soft_distributions_that_contradict_each_other_are_refused():
    a, b = cs.Variable("a", ("0", "1")), cs.Variable("b", ("0", "1"))
    net = cs.Network.of(
        [cs.Categorical(a, (), np.full(2, 0.5)), cs.Categorical(b, (a,), np.eye(2))]
    )
    given = {"a": cs.Soft({"0": 0.5, "1": 0.5}), "b": cs.Soft({"0": 0.6, "1": 0.4})}
    with pytest.raises(InputError, match="cannot hold at once"):
        net.query("a", given=given)


def test_threads_that_share_a_network_get_the_same_bits():
    dag = cs.random_dag(25, n_arcs=40, max_parents=3, seed=4)
    net = cs.random_network(dag, n_states=3, seed=4)
    bodies = [{"X1": str(i % 3), "X9": str(i // 3 % 3)} for i in range(9)] * 4
    serial = [net.marginals(given=body)["X20"].values for body in bodies]
    with ThreadPoolExecutor(6) as pool:
        parallel = list(pool.map(lambda body: net.marginals(given=body)["X20"].values, bodies))
    for one, other in zip(serial, parallel, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_children", [4, 6, 8, 16, 24])
@pytest.mark.parametrize("p", [1e-60, 1e-100, 1e-160, 1e-200])
def test_factors_that_exclude_each_other_in_turn_lose_no_digits(n_children, p):
    tables = [[[p, 1 - p], [0.5, 0.5]], [[0.5, 0.5], [p, 1 - p]]]
    cause = cs.Variable("c", ("u", "v"))
    names = [f"x{i}" for i in range(n_children)]
    net = cs.Network.of(
        [
            cs.Categorical(cause, (), [0.4, 0.6]),
            *(
                cs.Categorical(cs.Variable(name, ("a", "b")), (cause,), tables[i % 2])
                for i, name in enumerate(names)
            ),
        ]
    )
    seen = dict.fromkeys(names, "a")
    log_evidence = n_children / 2 * (np.log(p) + np.log(0.5))  # the same for u and v
    assert net.query("c", given=seen)["u"] == pytest.approx(0.4, rel=1e-9)
    assert net.marginals(given=seen)["c"]["u"] == pytest.approx(0.4, rel=1e-9)
    rows = cs.read({name: ["a"] for name in names} | {"c": [None]}, schema=net.variables)
    assert net.log_likelihood(rows)[0] == pytest.approx(log_evidence, rel=1e-12)
    assert net.posteriors(rows, "c")[0, 0] == pytest.approx(0.4, rel=1e-9)
