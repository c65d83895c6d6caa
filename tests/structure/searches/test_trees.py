from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from search_oracles import FOUR, random_rows, scores_of_all

import consilience as cs
from consilience.errors import MemoryLimitError, UnknownNameError
from consilience.structure.searches.task import Clock
from consilience.structure.trees import spanning_tree

TREES = [
    dag
    for dag in FOUR
    if len(dag.arcs) == 3 and all(len(dag.parents(node)) <= 1 for node in dag.nodes)
]
FORESTS = [dag for dag in FOUR if all(len(dag.parents(node)) <= 1 for node in dag.nodes)]


def edges(dag):
    return set(map(frozenset, dag.arcs))


@pytest.mark.parametrize("seed", range(4))
def test_no_tree_has_a_larger_likelihood(seed):
    table = random_rows("ABCD", seed)
    found = cs.search(table, score=cs.scores.LogLikelihood(), search=cs.searches.ChowLiu())
    assert len(found.dag.arcs) == 3
    assert found.score == pytest.approx(
        scores_of_all(TREES, table, cs.scores.LogLikelihood()).max()
    )


@pytest.mark.parametrize("score", [cs.BIC(), cs.BDeu(), cs.AIC()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_no_forest_has_a_better_score(score, seed):
    table = random_rows("ABCD", seed, n_rows=60)
    found = cs.search(table, score=score, search=cs.searches.ChowLiu(forest=True))
    assert found.score == pytest.approx(scores_of_all(FORESTS, table, score).max(), rel=1e-9)


def test_a_tree_is_whole_where_a_forest_is_not():
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 2, 300) for name in "abc"}
    table = cs.read(
        {name: column.astype(str).tolist() for name, column in columns.items()}
        | {"d": columns["a"].astype(str).tolist()}
    )
    assert len(cs.learn(table, search=cs.searches.ChowLiu()).arcs) == 3
    assert cs.learn(table, search=cs.searches.ChowLiu(forest=True)).arcs == (("a", "d"),)


def test_the_score_does_not_change_the_tree():
    table = random_rows("ABCD", 2)
    trees = [
        cs.learn(table, score=s, search=cs.searches.ChowLiu()) for s in (cs.BIC(), cs.scores.K2())
    ]
    assert trees[0] == trees[1]


@pytest.mark.parametrize("root", "ABCD")
def test_all_arcs_lead_away_from_the_root(root):
    table = random_rows("ABCD", 1)
    found = cs.learn(table, search=cs.searches.ChowLiu(root=root))
    assert found.parents(root) == ()
    assert all(len(found.parents(node)) == 1 for node in "ABCD" if node != root)
    assert edges(found) == edges(cs.learn(table, search=cs.searches.ChowLiu()))


def test_without_a_root_the_first_name_is_it():
    frame = random_rows("ABCD", 1).to_frame()
    assert (
        cs.learn(cs.read(frame[["D", "B", "A", "C"]]), search=cs.searches.ChowLiu()).parents("A")
        == ()
    )


def test_a_forest_has_the_root_in_its_tree_and_the_first_name_elsewhere():
    rows = [(a, a, c, c) for a, c in product("01", repeat=2)] * 10
    table = cs.read(dict(zip("abcd", map(list, zip(*rows, strict=True)), strict=True)))
    found = cs.learn(table, search=cs.searches.ChowLiu(root="d", forest=True))
    assert set(found.arcs) == {("d", "c"), ("a", "b")}


def test_an_edge_that_must_not_be_leaves_the_other_weights_apart():
    weights = np.array([[0, 1, 3, 2], [1, 0, 5, -np.inf], [3, 5, 0, 4], [2, -np.inf, 4, 0]])
    assert spanning_tree(weights) == [(0, 2), (1, 2), (2, 3)]


def wide_pair():
    """Two variables whose joint counts are large, and one of two states."""
    names = [f"s{i:03d}" for i in range(300)]
    return cs.read({"a": names, "b": names[::-1], "c": ["0", "1"] * 150})


def test_a_pair_that_is_too_large_for_memory_is_named():
    table = wide_pair()
    with pytest.raises(MemoryLimitError, match="counts of 'a' and 'b' exceed") as told:
        cs.learn(table, search=cs.searches.ChowLiu(), memory_limit=20_000)
    assert told.value.culprits == {"pair": ("a", "b")}
    forest = cs.search(table, search=cs.searches.ChowLiu(forest=True), memory_limit=20_000)
    assert frozenset("ab") not in edges(forest.dag)
    assert "exceeded the memory limit" in forest.notes[0]


def test_a_tree_reaches_variables_of_one_state_and_a_forest_does_not():
    table = cs.read({"a": list("0011") * 5, "b": list("0011") * 5, "c": ["0"] * 20})
    assert len(cs.learn(table, search=cs.searches.ChowLiu()).arcs) == 2
    assert cs.learn(table, search=cs.searches.ChowLiu(forest=True)).arcs == (("a", "b"),)


def test_tan_that_is_too_large_for_memory_or_time_says_so():
    with pytest.raises(MemoryLimitError, match=r"would need .*; the limit is"):
        cs.search(wide_pair(), search=cs.searches.TANSearch("c"), memory_limit=20_000)
    ticks = iter([False])  # the time is up when the tree is found
    table = random_rows("ABCD", 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clock, "is_over", lambda _: next(ticks, True))
        found = cs.search(table, search=cs.searches.TANSearch("C", root="B"), seconds=60)
    assert found.stopped_by == "seconds"
    assert found.dag == cs.tan(table, "C", root="B")


def test_tan_as_a_search_is_tan():
    table = random_rows("ABCD", 3)
    found = cs.search(table, search=cs.searches.TANSearch("C", root="B"))
    assert found.dag == cs.tan(table, "C", root="B")
    assert cs.learn(table, search=cs.searches.TANSearch("C")) == cs.tan(table, "C", root="A")


def test_unknown_names_are_refused():
    table = random_rows("ABCD", 3)
    with pytest.raises(UnknownNameError, match="unknown variable 'X'"):
        cs.learn(table, search=cs.searches.ChowLiu(root="X"))
    with pytest.raises(UnknownNameError, match="unknown variable 'X'"):
        cs.learn(table, search=cs.searches.TANSearch("X"))
    with pytest.raises(UnknownNameError, match="unknown feature 'C'"):
        cs.learn(table, search=cs.searches.TANSearch("C", root="C"))
