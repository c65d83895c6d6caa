from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.errors import GraphError, InputError, ModelError
from consilience.kernels import climbing
from consilience.structure.searches.climber import Climber, _ancestors

FIRST = cs.HillClimb(tabu=0, restarts=0)


def random_rows(n_nodes: int, n_rows: int, seed: int) -> cs.Table:
    rng = np.random.default_rng(seed)
    dag = cs.random_dag(n_nodes, p_arc=0.5, seed=rng)
    n_states = {node: int(rng.integers(2, 4)) for node in dag.nodes}
    return cs.random_network(dag, n_states=n_states, seed=rng).sample(n_rows, seed=rng)


def toggles(dag: cs.DAG):
    """Graphs with one arc more or less, by child, then parent."""
    for end, start in permutations(sorted(dag.nodes), 2):
        if (start, end) in dag.arcs:
            yield dag.remove(start, end)
        elif (end, start) not in dag.arcs and end not in dag.ancestors(start):
            yield dag.add(start, end)


def reversals(dag: cs.DAG):
    """Graphs with one arc turned round, by child, then parent."""
    for start, end in sorted(dag.arcs, key=lambda arc: arc[::-1]):
        if start not in dag.remove(start, end).ancestors(end):
            yield dag.reverse(start, end)


@given(seed=st.integers(0, 10_000), n_nodes=st.integers(1, 6))
def test_no_move_from_the_first_optimum_gains(seed, n_nodes):
    table = random_rows(n_nodes, 200, seed)
    found = cs.search(table, search=FIRST)
    assert found.score == pytest.approx(cs.score(found.dag, table, cs.BIC()), rel=1e-12)
    for other in [*toggles(found.dag), *reversals(found.dag)]:
        assert cs.score(other, table, cs.BIC()) <= found.score + 1e-6


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_the_climb_is_that_of_the_best_move_each_time(seed):
    table = random_rows(5, 300, seed)
    dag, is_done = cs.DAG(nodes=sorted(table.variables)), False
    while not is_done:
        best, best_score, is_done = dag, cs.score(dag, table, cs.BIC()), True
        for other in [*toggles(dag), *reversals(dag)]:
            if (score := cs.score(other, table, cs.BIC())) > best_score + 1e-6:
                best, best_score, is_done = other, score, False
        dag = best
    assert cs.learn(table, search=FIRST) == dag


def has_detour(arcs, i, j):
    """Whether a path other than the arc itself leads from i to j."""
    others = arcs.copy()
    others[i, j] = 0
    return bool(_ancestors(others)[j, i])


@given(seed=st.integers(0, 10_000), n=st.integers(1, 9))
def test_random_walks_keep_the_books_of_the_graph(seed, n):
    rng = np.random.default_rng(seed)
    dag = cs.random_dag([f"v{i}" for i in range(n)], p_arc=0.4, seed=rng)
    arcs = dag.to_adjacency().astype(np.uint8)
    parents, n_parents = np.zeros((n, n), np.int64), arcs.sum(axis=0).astype(np.int64)
    for j in range(n):
        parents[j, : n_parents[j]] = np.flatnonzero(arcs[:, j])
    above, changed = _ancestors(arcs), np.zeros(n, np.uint8)
    free, none = 1 - np.eye(n, dtype=np.uint8), np.zeros((n, n), np.uint8)
    before = arcs.copy()
    graph = (arcs, parents, n_parents, above, np.empty((2, n), np.int64))
    climbing.shake(*graph, free, none, n, 10, 20, rng.random(90), changed)
    moves = [(climbing.DELETE, i, j) for i, j in np.argwhere(arcs).tolist() if 0 in (i, j)]
    moves += [(climbing.REVERSE, i, j) for i, j in np.argwhere(arcs).tolist()[-1:] if min(i, j) > 0]
    moves = [one for one in moves if one[0] == climbing.DELETE or not has_detour(arcs, *one[1:])]
    for one in moves:
        climbing.make_move(*graph, *one)
        changed[list(one[1:] if one[0] == climbing.REVERSE else one[2:])] = 1
    assert not arcs[0].any()
    assert not arcs[:, 0].any()
    cs.DAG.from_adjacency(arcs, [f"v{i}" for i in range(n)])  # refuses a cycle
    np.testing.assert_array_equal(above, _ancestors(arcs))
    for j in range(n):
        assert parents[j, : n_parents[j]].tolist() == np.flatnonzero(arcs[:, j]).tolist()
        assert changed[j] or (before[:, j] == arcs[:, j]).all()


def test_turning_covered_arcs_stays_in_the_equivalence_class():
    names = [f"v{i}" for i in range(8)]
    rng = np.random.default_rng(3)
    dag = cs.random_dag(names, p_arc=0.4, seed=rng)
    arcs = dag.to_adjacency().astype(np.uint8)
    parents, n_parents = np.zeros((8, 8), np.int64), arcs.sum(axis=0).astype(np.int64)
    for j in range(8):
        parents[j, : n_parents[j]] = np.flatnonzero(arcs[:, j])
    graph = (arcs, parents, n_parents, _ancestors(arcs), np.empty((2, 8), np.int64))
    free, none = 1 - np.eye(8, dtype=np.uint8), np.zeros((8, 8), np.uint8)
    climbing.shake(*graph, free, none, 8, 200, 0, rng.random(600), np.zeros(8, np.uint8))
    turned = cs.DAG.from_adjacency(arcs, names)
    assert turned != dag
    assert cs.shd(turned, dag) == 0


def test_restarts_and_the_tabu_list_only_help():
    table = random_rows(8, 400, seed=5)
    scores = [
        cs.search(table, search=search).score
        for search in (FIRST, cs.HillClimb(tabu=10, restarts=0), cs.HillClimb(restarts=50))
    ]
    assert scores == sorted(scores)
    assert scores[2] > scores[0]


def test_an_interrupted_climb_keeps_the_moves_it_made(monkeypatch):
    table = random_rows(8, 400, seed=5)
    moves, made = 0, Climber._make_move

    def interrupted(climber, now, least, *more):
        nonlocal moves
        moves += 1
        if moves > 3:
            raise KeyboardInterrupt
        return made(climber, now, least, *more)

    monkeypatch.setattr(Climber, "_make_move", interrupted)
    found = cs.search(table, search=FIRST)
    assert found.stopped_by == "interrupt"
    assert len(found.dag.arcs) == 3


@pytest.mark.parametrize("seed", range(4))
def test_constant_columns_have_no_arcs(seed):
    rng = np.random.default_rng(seed)
    columns = {f"v{i:02}": rng.integers(0, 2, 200) for i in range(12)}
    for i in range(2, 12):
        noise = rng.random(200) < 0.1
        columns[f"v{i:02}"] = columns[f"v{i - 1:02}"] ^ columns[f"v{i - 2:02}"] ^ noise
    table = cs.read({**{k: v.astype(str) for k, v in columns.items()}, "c": ["a"] * 200})
    for score in (cs.BIC(), cs.scores.K2()):
        dag = cs.learn(table, score=score, search=cs.HillClimb(restarts=10), seed=seed)
        assert not any("c" in arc for arc in dag.arcs)
    start = cs.HillClimb(start=cs.searches.RandomStart(2.0), restarts=0)
    assert not any("c" in arc for arc in cs.learn(table, search=start, seed=seed).arcs)


def test_families_that_are_too_large_are_left_out_and_noted():
    rng = np.random.default_rng(1)
    table = cs.read({f"v{i}": rng.integers(0, 4, 300).astype(str) for i in range(8)})
    for start in (None, cs.searches.RandomStart(3.0)):
        found = cs.search(table, search=cs.HillClimb(start=start, restarts=30), memory_limit=2000)
        assert found.stopped_by == "optimum"
        assert "exceeded the memory limit" in found.notes[0]


def test_a_score_that_cannot_judge_a_family_leaves_it_out_and_says_so():
    class Picky:
        score_equivalent, by_source = True, False

        def local(self, batch):
            large = np.array([len(counts.given) > 1 for counts in batch])
            return np.where(large, -np.inf, cs.BIC().local(batch))

        def refusal(self, family):
            return f"{family.child!r} has too many parents."

    table = random_rows(6, 400, seed=5)
    found = cs.search(table, score=Picky(), search=cs.HillClimb(restarts=5))
    assert max(len(found.dag.parents(node)) for node in found.dag.nodes) == 1
    assert "could not be judged" in found.notes[0]
    with pytest.raises(ModelError, match="too many parents"):
        cs.score(cs.DAG.parse("[X1][X2][X3|X1:X2]"), table, Picky())
    with pytest.raises(ModelError, match="'X3' has too many parents"):
        cs.learn(table, score=Picky(), require=[("X1", "X3"), ("X2", "X3")])


def test_tiers_may_come_from_a_generator():
    table = cs.read({"x": list("ab") * 20, "y": list("ab") * 20})
    assert cs.learn(table, tiers=(tier for tier in [["x"], ["y"]])).arcs == (("x", "y"),)


@pytest.mark.parametrize(
    "start", [cs.searches.RandomStart(2.0), cs.searches.TreeStart(), cs.DAG([("X2", "X1")])]
)
def test_every_start_leads_to_an_optimum(start):
    table = random_rows(4, 500, seed=2)
    found = cs.search(table, search=cs.HillClimb(start=start))
    assert found.score == pytest.approx(cs.search(table).score, rel=1e-9)


def test_a_start_with_a_node_that_is_no_variable_is_refused():
    table = random_rows(3, 50, seed=2)
    with pytest.raises(GraphError, match="'nobody'"):
        cs.learn(table, search=cs.HillClimb(start=cs.DAG(nodes=["nobody"])))


def test_the_start_graph_is_where_an_empty_climb_ends():
    table = cs.read({"x": ["a", "b"] * 50, "y": ["a", "b"] * 50, "z": ["a", "b"] * 50})
    start = cs.DAG([("z", "y"), ("y", "x")])
    assert cs.learn(table, search=cs.HillClimb(tabu=0, restarts=0, start=start)) == start


@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        ({"tabu": -1}, "tabu"),
        ({"restarts": 1.5}, "restarts"),
        ({"max_parents": -1}, "max_parents"),
        ({"start": "empty"}, "start"),
    ],
)
def test_wrong_parameters_are_named(wrong, culprit):
    with pytest.raises(InputError, match=culprit):
        cs.HillClimb(**wrong)
