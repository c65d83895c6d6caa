from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from search_oracles import FOUR, all_on_five, is_legal, random_rows, scores_of_all

import consilience as cs
from consilience.errors import InputError, MemoryLimitError, ModelError
from consilience.structure.searches import family_sets, set_scores, shortest_path

SCORES = (
    cs.BIC(),
    cs.AIC(),
    cs.scores.EBIC(5),
    cs.scores.LogLikelihood(),
    cs.BDeu(),
    cs.BDeu(ess=20),
    cs.scores.QNML(),
    cs.scores.K2(),
    cs.scores.FNML(),
    cs.scores.BDs(),
)

CONSTRAINTS = (
    {"require": [("D", "A")]},
    {"forbid": [("A", "B"), ("B", "A"), ("C", "D")]},
    {"tiers": [["C", "D"], ["A", "B"]]},
    {"tiers": [["D"], ["B"], ["C"], ["A"]]},
    {"require": [("B", "A"), ("D", "A")], "forbid": [("C", "A")]},
)

BOTH = pytest.mark.parametrize("search", [cs.Exact, cs.searches.AStar])


@BOTH
@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_no_graph_on_four_nodes_is_better(search, score, seed):
    table = random_rows("ABCD", seed)
    best = scores_of_all(FOUR, table, score).max()
    found = cs.search(table, score=score, search=search())
    assert found.score == pytest.approx(best, rel=1e-9)
    assert found.stopped_by == "optimum"


@pytest.mark.parametrize("score", [cs.BIC(), cs.BDeu(ess=3), cs.scores.K2()], ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_no_graph_on_five_nodes_is_better(score, seed):
    table = random_rows("ABCDE", seed, n_rows=400)
    best = scores_of_all(all_on_five(), table, score).max()
    for search in (cs.Exact(), cs.searches.AStar()):
        assert cs.search(table, score=score, search=search).score == pytest.approx(best, rel=1e-9)


@BOTH
@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("max_parents", [None, 1])
def test_no_legal_graph_is_better(search, constraints, max_parents):
    table = random_rows("ABCD", 7)
    n_required = len(constraints.get("require", ()))
    limit = None if max_parents is None else max(max_parents, n_required)
    for score in (cs.BIC(), cs.BDeu(), cs.scores.K2()):
        legal = [
            dag
            for dag in FOUR
            if is_legal(dag, **constraints)
            and (limit is None or all(len(dag.parents(x)) <= max_parents for x in "BCD"))
            and (limit is None or len(dag.parents("A")) <= limit)
        ]
        best = scores_of_all(legal, table, score).max()
        found = cs.search(table, score=score, search=search(max_parents=max_parents), **constraints)
        assert is_legal(found.dag, **constraints)
        assert found.score == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("score", [cs.BIC(), cs.BDeu(), cs.scores.PerSource(cs.BDeu())], ids=repr)
def test_one_number_a_set_gives_the_scores_of_every_family(score, monkeypatch):
    rows = random_rows("ABCDEF", 3).to_frame()
    table = cs.read({"f": rows[:70], "g": rows[70:]})
    at_once = cs.search(table, score=score, search=cs.Exact())
    monkeypatch.setattr(family_sets, "is_cheaper", lambda task, rules: False)
    one_by_one = cs.search(table, score=score, search=cs.Exact())
    assert at_once.dag == one_by_one.dag
    assert at_once.score == pytest.approx(one_by_one.score, rel=1e-12)
    assert at_once.n_scored < one_by_one.n_scored


def test_pruning_saves_families_and_loses_nothing(monkeypatch):
    table = random_rows([f"x{i}" for i in range(9)], 1, n_rows=100)
    for at_once in (True, False):
        monkeypatch.setattr(family_sets, "is_cheaper", lambda task, rules, way=at_once: way)
        pruned = cs.search(table, search=cs.Exact())
        with monkeypatch.context() as unpruned:
            unpruned.setattr(family_sets, "pruning_of", lambda task, scores: None)
            whole = cs.search(table, search=cs.Exact())
        assert pruned.score == pytest.approx(whole.score, rel=1e-12)
        assert pruned.n_scored < 0.9 * whole.n_scored


@pytest.mark.parametrize("score", [cs.BIC(), cs.BDeu(ess=2), cs.scores.K2()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_both_exact_searches_give_the_same_graph(score, seed):
    table = random_rows([f"x{i}" for i in range(8)], seed, n_rows=600)
    exact, a_star = (
        cs.search(table, score=score, search=search) for search in (cs.Exact(), cs.searches.AStar())
    )
    assert exact.score == pytest.approx(a_star.score, rel=1e-9)
    assert exact.dag == a_star.dag


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_star_needs_no_large_groups(size, seed, monkeypatch):
    table = random_rows([f"x{i}" for i in range(9)], seed, n_rows=300)
    score = cs.BDeu(ess=10)
    best = cs.search(table, score=score, search=cs.Exact()).score
    monkeypatch.setattr(shortest_path, "LARGEST_GROUP", size)
    monkeypatch.setattr(shortest_path, "WORK", 1000)
    found = cs.search(table, score=score, search=cs.searches.AStar())
    assert found.score == pytest.approx(best, rel=1e-9)


def test_a_star_goes_beyond_the_variables_that_have_one_number_a_set(monkeypatch):
    monkeypatch.setattr(set_scores, "MOST_VARIABLES", 5)
    table = random_rows([f"x{i}" for i in range(9)], 4, n_rows=300)
    found = cs.search(table, search=cs.searches.AStar(max_parents=3))
    best = cs.search(table, search=cs.Exact(max_parents=3))
    assert found.score == pytest.approx(best.score, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_no_search_beats_the_exact_one(seed):
    names = [f"x{i}" for i in range(7)]
    table = random_rows(names, seed, n_rows=300)
    best = cs.search(table, search=cs.Exact()).score
    others = (
        cs.HillClimb(restarts=3),
        cs.searches.OrderSearch(restarts=10, max_parents=None),
        cs.searches.K2Search(names),
        cs.searches.ChowLiu(forest=True),
    )
    for search in others:
        assert cs.search(table, search=search).score <= best + 1e-9 * abs(best)


def test_equal_graphs_have_late_names_as_children():
    column = list("0011") * 10
    table = cs.read({"z": column, "y": column, "x": column})
    for search in (cs.Exact(), cs.searches.AStar()):
        assert set(cs.learn(table, search=search).arcs) == {("x", "y"), ("x", "z")}


@dataclass(frozen=True)
class Picky:
    """BIC, but A and C cannot be judged with two parents."""

    score_equivalent: ClassVar[bool] = True
    by_source: ClassVar[bool] = False

    def local(self, batch):
        is_judged = [self.judges(counts.family) for counts in batch]
        return np.where(is_judged, cs.BIC().local(batch), -np.inf)

    def judges(self, family):
        return family.child not in "AC" or len(family.parents) != 2

    def refusal(self, family):
        return f"{family} cannot be judged."


@pytest.mark.parametrize("seed", range(3))
def test_families_that_a_score_cannot_judge_are_left_out(seed):
    table, score = random_rows("ABCD", seed, n_rows=2000), Picky()
    judged = [
        dag for dag in FOUR if all(score.judges(cs.Family(x, dag.parents(x))) for x in dag.nodes)
    ]
    best = scores_of_all(judged, table, cs.BIC()).max()
    for search in (cs.Exact(), cs.searches.AStar(), cs.searches.OrderSearch(max_parents=None)):
        found = cs.search(table, search=search, score=score)
        assert found.score == pytest.approx(best, rel=1e-9)
        assert "could not be judged by the score" in found.notes[0]


def test_too_many_variables_are_refused_before_anything_is_scored():
    table = cs.read({f"x{i:02d}": ["0", "1"] for i in range(26)})
    with pytest.raises(MemoryLimitError, match="exact search over 26 variables would need") as told:
        cs.learn(table, search=cs.Exact())
    assert told.value.culprits["needed"] > told.value.culprits["limit"]


def test_too_many_sets_of_parents_are_refused():
    rng = np.random.default_rng(1)
    table = cs.read({f"x{i:02d}": rng.integers(0, 2, 9).astype(str).tolist() for i in range(30)})
    with pytest.raises(MemoryLimitError, match=r"'x00' has more than .* sets of parents"):
        cs.learn(table, search=cs.searches.AStar(), score=cs.BDeu())
    assert (
        len(cs.learn(table, search=cs.searches.AStar(max_parents=1), score=cs.BDeu()).nodes) == 30
    )


def test_too_many_variables_that_may_be_each_others_ancestors_are_refused():
    rng = np.random.default_rng(1)
    column = rng.integers(0, 2, 200)
    table = cs.read({f"x{i:02d}": column.astype(str).tolist() for i in range(64)})
    near = {(f"x{i:02d}", f"x{j:02d}") for i in range(64) for j in (i - 1, i + 1) if 0 <= j < 64}
    names = list(table.variables)
    far = [(a, b) for a in names for b in names if a != b and (a, b) not in near]
    with pytest.raises(MemoryLimitError, match=r"orders at most 62 variables .* here are 64"):
        cs.learn(table, search=cs.searches.AStar(max_parents=1), forbid=far)


def test_too_many_sets_of_variables_are_refused(monkeypatch):
    table = random_rows([f"x{i}" for i in range(9)], 2, n_rows=300)
    monkeypatch.setattr(shortest_path, "LARGEST_GROUP", 1)
    monkeypatch.setattr(shortest_path, "MOST_STATES", 10)
    monkeypatch.setattr(shortest_path, "FIRST_ROOM", 32)
    with pytest.raises(MemoryLimitError, match="more than 10 sets of variables"):
        cs.learn(table, search=cs.searches.AStar(), score=cs.BDeu(ess=10))


def test_a_score_that_wrongly_claims_equivalence_is_found_out():
    def lopsided(counts):
        return -float(len(counts.given)) * (1 + ord(counts.child.name[-1]))

    score = cs.scores.CustomScore(lopsided, name="lopsided", score_equivalent=True)
    table = random_rows("ABCD", 1)
    with pytest.raises(ModelError, match="says that it is the same for equivalent graphs"):
        cs.learn(table, search=cs.Exact(), score=score, require=[("B", "A"), ("C", "A")])


def test_wrong_parameters_are_refused():
    for search in (cs.Exact, cs.searches.AStar):
        with pytest.raises(InputError, match=f"{search.__name__}: max_parents must be a whole"):
            search(max_parents=-1)
