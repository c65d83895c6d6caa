"""The best score of all graphs, and the end of climbs that reach it."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.structure.searches import hill_climb
from consilience.structure.searches.ceiling import best_possible


def _table(p, n_rows=40, seed=1):
    rng = np.random.default_rng(seed)
    columns, last = {}, rng.integers(0, 2, n_rows)
    for j in range(p):
        last = (last + (rng.random(n_rows) < 0.25)) % 2
        columns[f"v{j}"] = [f"s{x}" for x in last]
    return cs.read(columns)


@pytest.mark.parametrize("wanted", [{}, {"require": [("v3", "v0")], "forbid": [("v0", "v1")]}])
@pytest.mark.parametrize("score", [cs.BIC(), cs.BDeu(ess=5), cs.AIC()])
def test_no_restart_finds_more_than_the_best_of_all(monkeypatch, score, wanted):
    for seed in range(5):
        table = _table(5, seed=seed)
        found = cs.search(table, score=score, **wanted)
        best = cs.search(table, score=score, search=cs.Exact(), **wanted)
        assert found.score == pytest.approx(best.score, rel=1e-9)


def test_a_climb_at_the_best_score_is_not_begun_anew(monkeypatch):
    begun = []
    walk = hill_climb._walk_away
    monkeypatch.setattr(hill_climb, "_walk_away", lambda *given: (begun.append(1), walk(*given)))
    with_end = cs.search(_table(5), search=cs.HillClimb())
    assert len(begun) < 100
    monkeypatch.setattr(hill_climb, "best_possible", lambda task, scores: np.inf)
    without = cs.search(_table(5), search=cs.HillClimb())
    assert len(begun) >= 100
    assert with_end.dag == without.dag


@pytest.mark.parametrize("table", [_table(7), cs.read({"x": [0.5, 1.5, 2.0], "y": list("aba")})])
def test_many_or_continuous_variables_have_no_end_but_patience(monkeypatch, table):
    found = []
    monkeypatch.setattr(
        hill_climb,
        "best_possible",
        lambda task, scores: found.append(best_possible(task, scores)) or found[0],
    )
    cs.search(table, search=cs.HillClimb(restarts=2))
    assert found == [np.inf]


def test_a_function_of_the_user_is_not_asked_about_all_families(monkeypatch):
    found = []
    monkeypatch.setattr(
        hill_climb,
        "best_possible",
        lambda task, scores: found.append(best_possible(task, scores)) or found[0],
    )
    score = cs.scores.CustomScore(lambda counts: float(counts.values.max()))
    cs.search(_table(4), score=score, search=cs.HillClimb(restarts=1))
    assert found == [np.inf]
