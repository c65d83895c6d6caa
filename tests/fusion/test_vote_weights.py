from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.fusion.source_weights import weights_of
from consilience.fusion.voters import Voter

NET = cs.random_network(cs.DAG.parse("[a][b|a][c|b]"), n_states=2, seed=1)
OTHER = cs.random_network(cs.DAG.parse("[c][b|c][a|c]"), n_states=2, seed=8)


def voter(name, n_rows, net=NET, seed=0):
    return Voter(name, net.dag, net.sample(n_rows, seed=seed))


def test_weights_sum_to_the_number_of_sources():
    voters = [voter("s", 10), voter("t", 30)]
    assert weights_of(cs.fusion.RowWeights(), voters) == {"s": 0.5, "t": 1.5}
    assert weights_of(cs.fusion.EqualWeights(), voters) == {"s": 1.0, "t": 1.0}
    assert weights_of({"s": 3, "t": 1}, voters) == {"s": 1.5, "t": 0.5}


def test_the_record_of_a_network_knows_its_rows():
    net = cs.fit(NET.dag, NET.sample(60, seed=1))
    voters = [Voter("s", net.dag, network=net), voter("t", 20)]
    assert weights_of(cs.fusion.RowWeights(), voters) == {"s": 1.5, "t": 0.5}
    with pytest.raises(ValueError, match="nobody knows how many rows source 'u' had"):
        weights_of(cs.fusion.RowWeights(), [Voter("u", NET.dag, network=NET)])


def test_a_source_that_foretells_the_others_badly_counts_less():
    voters = [voter(name, 200, seed=k) for k, name in enumerate("stuv")]
    odd = voter("odd", 200, OTHER, seed=9)
    weights = weights_of(cs.fusion.HeldOutWeights(), [*voters, odd])
    assert weights["odd"] < 0.8 * min(weights[v.name] for v in voters)


def test_held_out_weights_are_the_formula():
    voters = [voter("s", 40, seed=1), voter("t", 60, seed=2), voter("u", 50, OTHER, seed=3)]
    nets = [cs.fit(v.dag, v.table) for v in voters]
    fits = np.array([[net.log_likelihood(v.table).mean() for v in voters] for net in nets])
    others = ~np.eye(3, dtype=bool)
    by_rows = np.array([np.median(fits[others[:, g], g]) for g in range(3)])
    raw = np.exp([np.median((fits[f] - by_rows)[others[f]]) for f in range(3)])
    found = weights_of(cs.fusion.HeldOutWeights(), voters)
    np.testing.assert_allclose(list(found.values()), 3 * raw / raw.sum())


def test_sources_that_diverge_do_not_decide_about_those_that_agree():
    voters = [voter(name, 100, seed=k) for k, name in enumerate("stuvw")]
    odd = [voter(name, 100, OTHER, seed=9 + k) for k, name in enumerate("xyz")]
    weights = weights_of(cs.fusion.HeldOutWeights(), [*voters, *odd])
    agreeing = [weights[v.name] for v in voters]
    assert max(agreeing) < 1.5 * min(agreeing)
    assert max(weights[v.name] for v in odd) < min(agreeing)


def test_two_sources_judge_each_other_and_count_the_same():
    voters = [voter("s", 50, seed=1), voter("t", 50, OTHER, seed=2)]
    assert weights_of(cs.fusion.HeldOutWeights(), voters) == pytest.approx({"s": 1.0, "t": 1.0})


def test_sources_are_judged_on_the_variables_they_share():
    small = cs.DAG([("a", "b")])
    voters = [
        voter("s", 50, seed=1),
        Voter("t", small, NET.sample(50, seed=2).select(["a", "b"])),
        voter("u", 50, OTHER, seed=3),
    ]
    weights = weights_of(cs.fusion.HeldOutWeights(), voters)
    assert sum(weights.values()) == pytest.approx(3)
    assert weights["u"] < min(weights["s"], weights["t"])
    alone = Voter("x", cs.DAG(nodes=["c"]), NET.sample(9, seed=2).select(["c"]))
    with pytest.raises(ValueError, match="no variable that all sources have"):
        weights_of(cs.fusion.HeldOutWeights(), [alone, voters[1]])


@pytest.mark.parametrize(
    "choice", [cs.fusion.StrengthWeights(), cs.fusion.HeldOutWeights()], ids=repr
)
def test_weights_from_rows_need_rows(choice):
    with pytest.raises(ValueError, match="source 'g' has no rows, only a graph"):
        weights_of(choice, [Voter("g", NET.dag), voter("s", 9)])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"s": 1}, "weights: there is none for 't'"),
        ({"s": 1, "t": 1, "q": 1}, "unknown source 'q'"),
        ({"s": 1, "t": -1}, "weights: t must be zero or more"),
        ({"s": 0, "t": 0}, "at least one source"),
        ("rows", "weights must be a choice such as"),
    ],
    ids=["lacking", "unknown", "negative", "none", "text"],
)
def test_weights_that_cannot_be_used_are_named(weights, message):
    with pytest.raises((ValueError, KeyError), match=message):
        weights_of(weights, [voter("s", 9), voter("t", 9)])
