"""Priors over graphs and scores of one's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from score_data import read, rows_of

import consilience as cs
from consilience.errors import UnknownNameError
from consilience.statistics.counts import Counts
from consilience.structure.scores import custom

GRAPH = cs.DAG.parse("[a][b|a][c|a:b]")


def added(prior):
    table = read(rows_of())
    return cs.score(GRAPH, table, cs.scores.MAP(cs.BDeu(), prior)) - cs.score(
        GRAPH, table, cs.BDeu()
    )


def test_the_uniform_prior_adds_nothing():
    assert added(cs.scores.UniformPrior()) == 0


def test_variable_selection_adds_the_log_odds_of_every_arc():
    assert added(cs.scores.VariableSelection(0.2)) == pytest.approx(3 * math.log(0.25), rel=1e-9)


def test_arcs_add_the_log_odds_of_their_own_probabilities():
    prior = cs.scores.ArcPrior({("a", "b"): 0.9, ("b", "a"): 0.01}, others=0.25)
    assert added(prior) == pytest.approx(math.log(9) + 2 * math.log(1 / 3), rel=1e-9)


def test_odds_are_those_of_the_normalised_prior_over_two_graphs():
    prior = cs.scores.ArcPrior({("x", "y"): 0.8}, others=0.3)
    with_arc = prior.log_prior([cs.Family("y", ("x",)), cs.Family("x")]).sum()
    without = prior.log_prior([cs.Family("y"), cs.Family("x")]).sum()
    normalised = {True: 0.8 * (1 - 0.3), False: (1 - 0.8) * (1 - 0.3)}
    assert with_arc - without == pytest.approx(math.log(normalised[True] / normalised[False]))


def test_a_prior_of_arcs_is_equivalent_if_it_does_not_mind_their_direction():
    assert cs.scores.ArcPrior({("a", "b"): 0.9, ("b", "a"): 0.9}).score_equivalent
    assert cs.scores.ArcPrior({("a", "b"): 0.5}).score_equivalent
    assert not cs.scores.ArcPrior({("a", "b"): 0.9}).score_equivalent
    assert not cs.scores.MAP(cs.scores.K2(), cs.scores.UniformPrior()).score_equivalent
    assert cs.scores.MAP(cs.BHD(), cs.scores.UniformPrior()).by_source


def test_a_strong_prior_decides_the_direction_of_an_arc():
    rows = {"x": list("aabb") * 10, "y": list("aabb") * 9 + list("abab")}
    for arc in (("x", "y"), ("y", "x")):
        score = cs.scores.MAP(cs.BDeu(), cs.scores.ArcPrior({arc: 0.9}, others=0.1))
        assert cs.learn(cs.read(rows), score=score).arcs == (arc,)


@pytest.mark.parametrize("probability", [0, 1, 1.5, -0.1, math.nan, "0.5"])
def test_probabilities_lie_between_zero_and_one(probability):
    with pytest.raises(ValueError, match="VariableSelection: probability must be"):
        cs.scores.VariableSelection(probability)
    with pytest.raises(ValueError, match="ArcPrior: a -> b must be"):
        cs.scores.ArcPrior({("a", "b"): probability})
    with pytest.raises(ValueError, match="ArcPrior: others must be"):
        cs.scores.ArcPrior({}, others=probability)


@pytest.mark.parametrize("prior", [0.5, cs.scores.UniformPrior])
def test_a_prior_is_a_choice(prior):
    with pytest.raises(ValueError, match="MAP: prior must be a choice"):
        cs.scores.MAP(cs.BDeu(), prior)


def test_the_score_with_a_prior_is_a_choice():
    with pytest.raises(ValueError, match="MAP: score must be a choice"):
        cs.scores.MAP(cs.BDeu, cs.scores.UniformPrior())


MISSPELT = cs.scores.MAP(cs.BDeu(), cs.scores.ArcPrior({("a", "b"): 0.9, ("a", "cc"): 0.9}))


@pytest.mark.parametrize("score", [MISSPELT, cs.scores.MAP(MISSPELT, cs.scores.UniformPrior())])
def test_an_arc_between_variables_that_the_table_does_not_have_is_refused(score):
    table = read(rows_of())
    for asked in (
        lambda: cs.score(GRAPH, table, score),
        lambda: cs.learn(table, score=score),
        lambda: cs.search(table, score=score, search=cs.searches.ChowLiu(forest=True)),
    ):
        with pytest.raises(UnknownNameError, match="unknown variable of ArcPrior 'cc'") as caught:
            asked()
        assert caught.value.culprits["name"] == "cc"


def test_an_arc_of_the_source_is_refused():
    table = read(rows_of())
    prior = cs.scores.ArcPrior({(table.source, "a"): 0.9})
    with pytest.raises(UnknownNameError, match=f"unknown variable of ArcPrior '{table.source}'"):
        cs.score(GRAPH, table, cs.scores.MAP(cs.BDeu(), prior))


def test_arcs_of_variables_outside_the_graph_are_no_mistake():
    prior = cs.scores.ArcPrior({("c", "a"): 0.9})
    score = cs.scores.MAP(cs.BDeu(), prior)
    assert math.isfinite(cs.score(cs.DAG(nodes=["b"]), read(rows_of()), score))


# Scores of one's own.


def log_likelihood(counts):
    n = counts.values
    totals = np.broadcast_to(n.sum(axis=2, keepdims=True), n.shape)
    return (n[n > 0] * np.log(n[n > 0] / totals[n > 0])).sum()


def test_a_function_of_counts_is_a_score():
    table = read(rows_of())
    own = cs.scores.CustomScore(log_likelihood, name="likelihood", score_equivalent=True)
    expected = cs.score(GRAPH, table, cs.scores.LogLikelihood())
    assert cs.score(GRAPH, table, own) == pytest.approx(expected, rel=1e-12)
    assert own.score_equivalent


def test_a_function_may_see_the_sources_apart():
    table = read(rows_of())
    own = cs.scores.CustomScore(log_likelihood, by_source=True)
    expected = cs.score(GRAPH, table, cs.scores.PerSource(cs.scores.LogLikelihood()))
    assert cs.score(GRAPH, table, own) == pytest.approx(expected, rel=1e-12)


def test_a_function_sees_small_tables_in_full_and_large_ones_as_they_come(monkeypatch):
    shapes = []
    own = cs.scores.CustomScore(lambda counts: shapes.append(counts.table.shape) or 0.0)
    sparse = Counts(
        cs.Variable("c", ("0", "1")),
        (cs.Variable("a", ("0", "1")), cs.Variable("b", ("0", "1", "2"))),
        None,
        np.array([[[3, 1], [0, 2]]]),
        np.array([6]),
        seen=np.array([[0, 1], [1, 2]]),
    )
    own.local([sparse])
    own.local([sparse.to_dense()])
    monkeypatch.setattr(custom, "MOST_CELLS", 11)
    own.local([sparse])
    assert shapes == [(1, 6, 2), (1, 6, 2), (1, 2, 2)]


@pytest.mark.parametrize("value", [math.nan, -math.inf, None, "1", 1j, np.ones(2)])
def test_a_function_must_give_a_finite_number(value):
    own = cs.scores.CustomScore(lambda counts: value, name="mine")
    with pytest.raises(ValueError, match="the score 'mine' must give a finite number") as caught:
        cs.score(GRAPH, read(rows_of()), own)
    assert caught.value.culprits["family"] == cs.Family("a")


def test_a_score_of_ones_own_is_a_function():
    with pytest.raises(ValueError, match="CustomScore: function must be a function of Counts"):
        cs.scores.CustomScore(3)
