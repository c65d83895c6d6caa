from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given as example, strategies as st
from inference_oracles import full_joint, margin

import consilience as cs
from consilience.errors import ConsilienceError, ImpossibleEvidenceError, InputError


def made_up(n: int = 5, seed: int = 1) -> cs.Network:
    dag = cs.random_dag([f"x{i}" for i in range(n)], p_arc=0.5, max_parents=3, seed=seed)
    return cs.random_network(dag, n_states=2 + seed % 2, seed=seed)


def states(net: cs.Network, names: list[str], seed: int) -> dict[str, str]:
    rng = np.random.default_rng(seed)
    return {n: str(rng.choice(net.variables[n].discrete_states)) for n in names}


def probability(net: cs.Network, given: dict[str, str]) -> float:
    return float(full_joint(net, given).sum())


@example(seed=st.integers(0, 200))
def test_conflict_is_the_log_of_the_product_over_the_joint(seed):
    net = made_up(seed=seed)
    found = states(net, ["x0", "x2", "x4"], seed)
    joint = probability(net, found)
    alone = {n: probability(net, {n: s}) for n, s in found.items()}
    answer = cs.conflict(net, found)
    assert answer.total == pytest.approx(math.log(math.prod(alone.values()) / joint), abs=1e-10)
    for n in found:
        rest = probability(net, {k: v for k, v in found.items() if k != n})
        assert answer.by_finding[n] == pytest.approx(math.log(alone[n] * rest / joint), abs=1e-10)


def test_one_finding_has_no_conflict():
    assert cs.conflict(
        made_up(), {"x1": "s0"} if False else states(made_up(), ["x1"], 0)
    ).total == (pytest.approx(0.0, abs=1e-12))


@example(seed=st.integers(0, 60))
def test_shares_are_means_over_all_orders_of_what_a_finding_adds(seed):
    net = made_up(seed=seed)
    names = ["x1", "x3", "x4"]
    found = states(net, names, seed)

    @cache
    def belief_of(held):
        table = full_joint(net, {n: found[n] for n in held})
        return margin(net, table, ["x0"]) / table.sum()

    def belief(held):
        return belief_of(frozenset(held))

    expected = dict.fromkeys(names, 0.0)
    for order in itertools.permutations(names):
        for i, n in enumerate(order):
            expected[n] = expected[n] + (belief(order[: i + 1]) - belief(order[:i])) / 6
    answer = cs.explain(net, "x0", found)
    for n in names:
        assert answer.shares[n] == pytest.approx(expected[n], abs=1e-10)
        others = [m for m in names if m != n]
        assert answer.left_out[n] == pytest.approx(belief(names) - belief(others), abs=1e-10)
    assert sum(answer.shares.values()) == pytest.approx(answer.after - answer.before, abs=1e-10)


def mixed() -> cs.Network:
    ill, dose, bp = cs.Variable("ill", ("no", "yes")), cs.Variable("dose"), cs.Variable("bp")
    return cs.Network.of(
        [
            cs.Categorical(ill, (), [0.7, 0.3]),
            cs.LinearGaussian(dose, (), 1.0, [], 1.0),
            cs.LinearGaussian(bp, (ill, dose), [110.0, 130.0], [[2.0], [4.0]], [8.0, 9.0]),
        ]
    )


def test_the_mean_of_a_continuous_target_is_explained():
    net = mixed()
    answer = cs.explain(net, "bp", {"ill": "yes", "dose": 3.0})
    assert answer.after[0] == pytest.approx(142.0)
    assert answer.before[0] == pytest.approx(0.7 * 112 + 0.3 * 134)
    assert sum(answer.shares.values()) == pytest.approx(answer.after - answer.before)
    assert "bp" in repr(answer)


def test_more_than_twelve_findings_have_no_shares():
    net = made_up(n=16)
    answer = cs.explain(net, "x0", states(net, [f"x{i}" for i in range(2, 15)], 4))
    assert answer.shares is None
    assert len(answer.left_out) == 13


def test_virtual_evidence_and_densities_are_findings_too():
    net = mixed()
    given = {"ill": cs.Likelihood({"no": 1.0, "yes": 3.0}), "bp": 150.0}
    answer = cs.conflict(net, given)
    one, two = (cs.log_probability(net, {n: given[n]}) for n in given)
    assert answer.total == pytest.approx(one + two - cs.log_probability(net, given))


def two_hospitals() -> cs.Network:
    source = cs.Variable("hospital", ("a", "b"))
    ill, test = cs.Variable("ill", ("no", "yes")), cs.Variable("test", ("no", "yes"))
    return cs.Network.of(
        [
            cs.Categorical(source, (), [0.4, 0.6]),
            cs.Categorical(ill, (source,), [[0.9, 0.1], [0.6, 0.4]]),
            cs.Categorical(
                test, (source, ill), [[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]]]
            ),
        ],
        source="hospital",
    )


@pytest.mark.parametrize("ask", [cs.conflict, lambda n, g, **k: cs.explain(n, "ill", g, **k)])
def test_a_difference_is_that_of_two_sources(ask):
    net = two_hospitals()
    given = {"test": "yes"} if ask is not cs.conflict else {"test": "yes", "ill": "no"}
    a, b = (ask(net, {**given, "hospital": h}) for h in ("a", "b"))
    both = ask(net, given, between=("a", "b"))
    assert both.between == ("a", "b")
    if ask is cs.conflict:
        assert both.total == pytest.approx(a.total - b.total)
        assert both.by_finding["ill"] == pytest.approx(a.by_finding["ill"] - b.by_finding["ill"])
    else:
        assert both.after == pytest.approx(a.after - b.after)
        assert both.shares["test"] == pytest.approx(a.shares["test"] - b.shares["test"])


def test_mistakes_are_named():
    net = two_hospitals()
    with pytest.raises(InputError, match="no findings"):
        cs.conflict(net, {})
    with pytest.raises(InputError, match="'ill' is given"):
        cs.explain(net, "ill", {"ill": "yes"})
    with pytest.raises(InputError, match="two sources are wanted"):
        cs.conflict(net, {"ill": "yes"}, between=("a", "a"))
    with pytest.raises(InputError, match="is given already"):
        cs.conflict(net, {"hospital": "a", "ill": "yes"}, between=("a", "b"))
    with pytest.raises(InputError, match="has no source"):
        cs.conflict(mixed(), {"ill": "yes"}, between=("a", "b"))
    one = cs.Variable("x", ("a", "b"))
    sure = cs.Network.of([cs.Categorical(one, (), [1.0, 0.0])])
    with pytest.raises(ImpossibleEvidenceError):
        cs.conflict(sure, {"x": "b"})


def test_arc_strengths_are_mean_hellinger_distances():
    net = two_hospitals()
    table = net["test"].table

    def distance(p, q):
        return math.sqrt(1 - sum(math.sqrt(a * b) for a, b in zip(p, q, strict=True)))

    found = cs.inference.arc_strengths(net).values
    expected = np.mean([distance(table[f, 0], table[f, 1]) for f in (0, 1)])
    assert found["ill", "test"] == pytest.approx(expected)
    same = cs.Network.of(
        [
            net["ill"].__class__(net.variables["hospital"], (), [0.5, 0.5]),
            cs.Categorical(net.variables["ill"], (net.variables["hospital"],), [[0.3, 0.7]] * 2),
        ]
    )
    assert cs.inference.arc_strengths(same).values["hospital", "ill"] == 0.0


def test_arc_strengths_of_regressions_are_those_of_normal_distributions():
    found = cs.inference.arc_strengths(mixed()).values
    s, away = 8.0**2 + 9.0**2, (134.0 - 112.0) ** 2
    overlap = math.sqrt(2 * 8 * 9 / s) * math.exp(-away / (4 * s))
    assert found["ill", "bp"] == pytest.approx(math.sqrt(1 - overlap))
    assert 0 < found["dose", "bp"] < 1


def test_arc_strengths_of_one_source_and_of_the_difference_of_two():
    net = two_hospitals()
    first, second = net.variables["hospital"].discrete_states[:2]
    table = net["test"].table
    each = [math.sqrt(1 - float(np.sqrt(table[f, 0] * table[f, 1]).sum())) for f in (0, 1)]
    one = cs.inference.arc_strengths(net, first)
    assert one.values["ill", "test"] == pytest.approx(each[0])
    assert all(arc[0] != "hospital" for arc in one.values)
    two = cs.inference.arc_strengths(net, between=(first, second))
    assert two.values["ill", "test"] == pytest.approx(each[0] - each[1])
    with pytest.raises(InputError, match="no source"):
        cs.inference.arc_strengths(mixed(), "a")


@pytest.mark.parametrize("between", [5, "ab", ["a"], [["a"], ["b"]], ("a", "a")])
def test_what_is_no_pair_of_sources_is_refused(between):
    with pytest.raises(ConsilienceError):
        cs.conflict(two_hospitals(), {"ill": "yes"}, between=between)
