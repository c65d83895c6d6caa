from __future__ import annotations

import numpy as np
import pytest
from fusion_cases import votes_of

import consilience as cs
from consilience.fusion.choosing import choose
from consilience.fusion.united_tables import pooled_table

ARC, NONE = cs.DAG([("a", "b")]), cs.DAG(nodes=["a", "b"])


@pytest.mark.parametrize(("n_sources", "expected"), [(2, 2), (3, 2), (7, 4), (8, 5)])
def test_a_majority_is_more_than_half(n_sources, expected):
    assert cs.fusion.Majority().threshold(votes_of([ARC] * n_sources)) == expected


def test_a_majority_of_weighted_votes_is_the_lowest_level_above_half():
    weights = {"s0": 1.6, "s1": 1.0, "s2": 0.4}
    votes = votes_of([ARC, cs.DAG([("b", "a")]), NONE], weights=weights)
    assert cs.fusion.Majority().threshold(votes) == pytest.approx(1.6)
    weights = {"s0": 1.4, "s1": 1.4, "s2": 1.2}
    assert cs.fusion.Majority().threshold(votes_of([ARC, NONE, NONE], weights=weights)) == 3.0


def family_scores(dag, rows, score):
    return np.array(list(cs.node_scores(dag, rows, score).values()))


@pytest.mark.parametrize("shared", [True, False])
def test_the_best_score_is_that_of_the_best_graph_of_all_thresholds(shared):
    truth = cs.random_network(cs.DAG.parse("[a][b|a][c|b][d|b:c]"), n_states=2, seed=5)
    tables = {f"s{k}": truth.sample(80, seed=k) for k in range(5)}
    fused = cs.fuse(
        tables, threshold=cs.fusion.BestScore(cs.AIC(), shared), search=cs.HillClimb(0, 0)
    )
    rows = pooled_table(tables)

    def judged(dag):
        together = family_scores(dag, rows, cs.AIC())
        apart = family_scores(dag, rows, cs.scores.PerSource(cs.AIC()))
        return (together if shared else np.maximum(together, apart)).sum()

    graphs = [choose(fused.votes, t, cs.fusion.StrongestFirst())[0] for t in range(1, 6)]
    reached = choose(fused.votes, fused.threshold, cs.fusion.StrongestFirst())[0]
    assert judged(reached) == pytest.approx(max(map(judged, graphs)))
    assert reached == fused.dag


def test_sources_that_differ_do_not_make_dense_graphs_score_best():
    rng = np.random.default_rng(3)
    tables = {}
    for k, share in enumerate((0.1, 0.1, 0.9, 0.9)):  # independent, but margins differ together
        x, y = (rng.random((2, 150)) < share).astype(int).astype(str)
        tables[f"s{k}"] = cs.read({"x": x.tolist(), "y": y.tolist()})
    votes = votes_of([cs.DAG([("x", "y")]), *[cs.DAG(nodes=["x", "y"])] * 3])
    rows = pooled_table(tables)

    def graph_at(level):
        return choose(votes, level, cs.fusion.StrongestFirst())[0]

    assert cs.fusion.BestScore(shared=True).threshold(votes, graph_at, rows) == 1  # x -> y enters
    assert cs.fusion.BestScore().threshold(votes, graph_at, rows) == 4


def test_a_score_that_keeps_the_sources_apart_is_taken_as_it_is():
    rows = {"a": list("xxyy") * 10, "b": list("xxyy") * 10}
    fused = cs.fuse({"s": rows, "t": rows}, threshold=cs.fusion.BestScore(cs.BHD()))
    assert fused.rule.startswith("BestScore(score=BHD(")
    assert len(fused.dag.arcs) == 1


def test_of_equally_good_thresholds_the_highest_is_taken():
    rows = {"a": list("xxyy") * 10, "b": list("xxyy") * 10}
    fused = cs.fuse({"s": rows, "t": rows, "u": rows})
    assert fused.threshold == 3
    assert fused.rule == "BestScore(score=BIC(), shared=False)"


def test_graphs_alone_cannot_be_scored():
    with pytest.raises(ValueError, match=r"BestScore: the graphs cannot be scored.*Majority"):
        cs.fuse([ARC, ARC], threshold=cs.fusion.BestScore())


def test_a_threshold_beyond_the_sources_is_refused():
    with pytest.raises(ValueError, match="above 0 and at most 2, the number of sources; got 3"):
        cs.fuse([ARC, NONE], threshold=3)
    with pytest.raises(ValueError, match="threshold must be a choice such as"):
        cs.fuse([ARC, NONE], threshold="majority")


def test_a_score_must_be_a_score():
    with pytest.raises(ValueError, match="BestScore: score must be a choice"):
        cs.fusion.BestScore(score="bic")


def test_a_vote_without_arcs_has_a_threshold_all_the_same():
    rows = np.random.default_rng(1).integers(0, 2, (2, 400)).astype(str)
    tables = [{"a": rows[0, k::2].tolist(), "b": rows[1, k::2].tolist()} for k in range(2)]
    fused = cs.fuse(tables)
    assert fused.dag == NONE
    assert fused.threshold == 2
