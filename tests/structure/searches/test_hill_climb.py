from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import consilience as cs
from consilience.errors import GraphError, InputError, ModelError
from consilience.kernels import climbing
from consilience.structure.searches import climber
from consilience.structure.searches.class_masks import bits
from consilience.structure.searches.climber import Climber, _ancestors
from consilience.structure.searches.judge import mask_of

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


class Books:
    """The books of a graph, as a climber has them."""

    def __init__(self, dag):
        self.names = list(dag.nodes)
        n = len(self.names)
        sets = [mask_of(map(self.names.index, dag.parents(name))) for name in self.names]
        self.parents = np.array([[mask] for mask in sets], np.uint64)
        self.above = np.array([[mask] for mask in _ancestors(sets)], np.uint64)
        self.changed, self.row = np.zeros(n, np.uint8), np.arange(n)
        self.spare = np.empty((4, n + 1), np.int64)

    def shake(self, rng, n_turns, n_moves):
        n = len(self.names)
        free, none = 1 - np.eye(n, dtype=np.uint8), np.zeros((n, 1), np.uint64)
        numbers = rng.random(3 * (n_turns + n_moves))
        books = self.parents, self.above, self.changed, self.row, self.spare
        climbing.shake(*books, free, none, n, n_turns, n_moves, numbers)

    def sets(self):
        return [int(one) for one in self.parents[:, 0]]

    def dag(self):
        arcs = [(self.names[i], self.names[j]) for j, m in enumerate(self.sets()) for i in bits(m)]
        return cs.DAG(arcs, self.names)  # refuses a cycle


@given(seed=st.integers(0, 10_000), n=st.integers(1, 9))
def test_random_walks_keep_the_books_of_the_graph(seed, n):
    rng = np.random.default_rng(seed)
    books = Books(cs.random_dag([f"v{i}" for i in range(n)], p_arc=0.4, seed=rng))
    before = books.sets()
    books.shake(rng, 10, 20)
    books.dag()
    assert [int(one) for one in books.above[:, 0]] == _ancestors(books.sets())
    for j, mask in enumerate(books.sets()):
        assert books.changed[j] == (books.row[j] < 0)
        assert books.changed[j] or before[j] == mask


def test_turning_covered_arcs_stays_in_the_equivalence_class():
    rng = np.random.default_rng(3)
    dag = cs.random_dag([f"v{i}" for i in range(8)], p_arc=0.4, seed=rng)
    books = Books(dag)
    books.shake(rng, 200, 0)
    assert books.dag() != dag
    assert cs.shd(books.dag(), dag) == 0


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
    asked, fetch = 0, Climber.fetch

    def interrupted(self, families):
        nonlocal asked
        asked += 1  # at first for the families without parents, then after each move
        if asked > 3:
            raise KeyboardInterrupt
        fetch(self, families)

    monkeypatch.setattr(Climber, "fetch", interrupted)
    monkeypatch.setattr(climber, "FEW_VALUES", 0)  # else families of later moves come with these
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
